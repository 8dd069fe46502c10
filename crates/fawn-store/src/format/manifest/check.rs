//! The invariants of a [`State`].

use std::collections::BTreeSet;

use fawn_ring::Interval;

use super::State;

/// Pages that no ring has (a pebibyte) and logical pages that no log reaches: arithmetic on places stays far from its
/// limits.
const MAX_RING_PAGES: u64 = 1 << 38;
const MAX_PAGE: u64 = 1 << 62;

impl State {
    /// Verifies what must always hold: slices and ranges tile the interval, range ends are slice ends, every part is a
    /// segment that reaches into its slice, every segment is a part, no file number is used twice or is still to come,
    /// places of the log are within bounds.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check(&self) -> Result<(), &'static str> {
        check(self)
    }
}

fn check(state: &State) -> Result<(), &'static str> {
    if state.store >= state.stores {
        return Err("the store's number is one of the directory's stores");
    }
    check_log(state)?;
    if !tile(state.slices.iter().map(|slice| slice.interval), state.interval) {
        return Err("slices tile the store's interval");
    }
    if !tile(state.ranges.iter().map(|range| range.interval), state.interval) {
        return Err("ranges tile the store's interval");
    }
    let ends: BTreeSet<_> = state.slices.iter().map(|slice| slice.interval.high).collect();
    if !state.ranges.iter().all(|range| ends.contains(&range.interval.high)) {
        return Err("ranges end where slices end");
    }
    let instances: BTreeSet<u64> = state.ranges.iter().map(|range| range.instance).collect();
    if instances.len() != state.ranges.len() {
        return Err("range instances are distinct");
    }
    if !state.ranges.iter().all(|range| range.last_seq < range.seq_reserved) {
        return Err("sequence numbers are reserved before they are given out");
    }
    check_segments(state)
}

fn check_log(state: &State) -> Result<(), &'static str> {
    let log = &state.log;
    if !(2..MAX_RING_PAGES).contains(&log.ring_pages)
        || log.start.page >= MAX_PAGE
        || state.bonds.reached.page >= MAX_PAGE
    {
        return Err("the log's places are within bounds");
    }
    if log.clean_end.is_some_and(|end| end < log.start.page || end - log.start.page > log.ring_pages) {
        return Err("the log ends within a lap of its start");
    }
    Ok(())
}

fn check_segments(state: &State) -> Result<(), &'static str> {
    if !state.segments.values().all(|segment| segment.low <= segment.high) {
        return Err("a segment's keys are in order");
    }
    let mut named = BTreeSet::new();
    for slice in &state.slices {
        let parts: BTreeSet<u16> = slice.parts.iter().copied().collect();
        if parts.len() != slice.parts.len() {
            return Err("a slice names a segment once");
        }
        named.extend(parts);
    }
    if !named.iter().all(|number| state.segments.contains_key(number)) {
        return Err("every part of a slice is a segment");
    }
    let reaches = |slice: &super::Slice| {
        slice.parts.iter().all(|number| state.segments[number].interval().overlaps(&slice.interval))
    };
    if !state.slices.iter().all(reaches) {
        return Err("a slice names only segments that reach into it");
    }
    if named.len() != state.segments.len() {
        return Err("every segment is a part of a slice");
    }
    let segments: BTreeSet<u64> = state.segments.values().map(|segment| segment.file).collect();
    let files: BTreeSet<u64> = segments.iter().chain(state.values.keys()).copied().collect();
    if files.len() != state.segments.len() + state.values.len() {
        return Err("file numbers are distinct");
    }
    if !state.bonds.contents.keys().all(|file| segments.contains(file)) {
        return Err("what a segment holds is told of segments that there are");
    }
    if files.last().is_some_and(|last| *last >= state.next_file) {
        return Err("the next file number is larger than all before");
    }
    Ok(())
}

/// Whether `parts` follow each other without a gap from one end of `whole` to the other.
pub(super) fn tile(parts: impl Iterator<Item = Interval>, whole: Interval) -> bool {
    let mut next = Some(whole.low);
    let mut last = None;
    for part in parts {
        if next != Some(part.low) || part.low > part.high {
            return false;
        }
        next = part.high.successor();
        last = Some(part.high);
    }
    last == Some(whole.high)
}
