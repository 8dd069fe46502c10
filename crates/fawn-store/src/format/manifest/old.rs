//! The state as older versions wrote it. Versions 2 and 3 end before [`Bonds`].

use std::collections::BTreeMap;

use fawn_ring::{Interval, Secret};

use super::codec::code_fields;
use super::{Bonds, Counters, LogState, Range, Segment, Slice, State};

/// Version 1: slices had no horizons of their own, and nothing was emptied.
pub(super) struct StateV1 {
    store: u32,
    stores: u32,
    interval: Interval,
    secret: Secret,
    next_file: u64,
    generation: u64,
    log: LogState,
    ranges: Vec<Range>,
    slices: Vec<SliceV1>,
    segments: BTreeMap<u16, Segment>,
    values: BTreeMap<u64, u64>,
    counters: Counters,
}

struct SliceV1 {
    interval: Interval,
    parts: Vec<u16>,
}

code_fields!(SliceV1 { interval, parts });
code_fields!(StateV1 {
    store,
    stores,
    interval,
    secret,
    next_file,
    generation,
    log,
    ranges,
    slices,
    segments,
    values,
    counters
});

impl From<StateV1> for State {
    fn from(old: StateV1) -> Self {
        let horizon = |interval: &Interval| {
            let ranges = old.ranges.iter().filter(|range| range.interval.overlaps(interval));
            ranges.map(|range| range.horizon).max().unwrap_or(0)
        };
        let slices = old.slices.iter().map(|slice| Slice {
            interval: slice.interval,
            parts: slice.parts.clone(),
            horizon: horizon(&slice.interval),
        });
        Self {
            slices: slices.collect(),
            store: old.store,
            stores: old.stores,
            interval: old.interval,
            secret: old.secret,
            next_file: old.next_file,
            generation: old.generation,
            log: old.log,
            ranges: old.ranges,
            segments: old.segments,
            values: old.values,
            counters: old.counters,
            emptied: Vec::new(),
            bonds: Bonds::default(),
        }
    }
}
