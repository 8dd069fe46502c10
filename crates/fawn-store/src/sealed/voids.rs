//! What was emptied and is still there: counted apart from what was superseded, each record once.
//!
//! A stretch of keys that is emptied may be filled again with the same keys, by a copy of the same range. What lies under
//! those is void already: it is not superseded besides. So each slice counts its void slots, and of the others those that
//! newer ones supersede. Both are counted where slots come, and anew where a stretch is emptied that ends within the
//! slice, and where an index arrives that was built without knowing of what was emptied.

use fawn_ring::{Interval, Key};

use super::index::{SegmentNumber, Table};
use super::slices::Slice;
use crate::format::manifest::EmptiedInterval;
use crate::work::{Base, View};

/// So many slots of an index, or entries of a buffer, are looked at to tell how many are void.
pub(crate) const LOOKED_AT: usize = 16_384;

/// Says which slots are void: segments that are gone, keys that were emptied.
#[derive(Clone, Copy)]
pub(crate) struct Voids<'a> {
    pub segments: &'a [Option<View>],
    pub emptied: &'a [EmptiedInterval],
}

impl Voids<'_> {
    /// The age of a segment; `None` for one that is gone, as it may be on the border of a slice.
    fn age(&self, number: SegmentNumber) -> Option<u64> {
        self.segments.get(usize::from(number.get()))?.as_ref().map(|view| view.age)
    }

    fn is_void(&self, key: &Key, number: SegmentNumber) -> bool {
        self.age(number).is_none_or(|age| self.emptied.iter().any(|emptied| emptied.voids(key, age)))
    }

    /// Counts a slot that was just inserted where `equal` others were.
    #[inline]
    pub(crate) fn count_inserted(self, slice: &mut Slice, prefix: u64, number: SegmentNumber, equal: u32) {
        if self.emptied.is_empty() {
            slice.stale += u64::from(equal > 0);
        } else {
            self.count_beside_void(slice, prefix, number, equal);
        }
    }

    #[cold]
    fn count_beside_void(self, slice: &mut Slice, prefix: u64, number: SegmentNumber, equal: u32) {
        let key = Key::lowest_with_prefix(prefix);
        if self.is_void(&key, number) {
            slice.void += 1;
            return;
        }
        let Some(table) = slice.table.as_ref().filter(|_| equal > 0) else { return };
        let mut all = Vec::new();
        table.candidates(prefix, &mut all);
        let live = all.iter().filter(|number| !self.is_void(&key, **number)).count();
        slice.stale += u64::from(live > 1);
    }

    /// The share of a slice's base that is void, keys being evenly spread.
    pub(crate) fn share_of_base(self, base: Base, slice: &Interval) -> f64 {
        let Some(age) = self.age(base.number) else { return 0.0 };
        let width = |keys: &Interval| (keys.high.prefix() - keys.low.prefix()) as f64 + 1.0;
        let emptied = self.emptied.iter().filter(|emptied| age < emptied.below);
        let common = emptied.filter(|emptied| emptied.interval.overlaps(slice)).map(|emptied| {
            width(&Interval::new(emptied.interval.low.max(slice.low), emptied.interval.high.min(slice.high)))
        });
        (common.sum::<f64>() / width(slice)).min(1.0)
    }

    /// Slots of a slice that are void, and others that newer ones supersede: of all, or as many looked at tell.
    pub(crate) fn count(self, table: &Table) -> (u64, u64) {
        let frame = table.frame();
        let ends = |emptied: &EmptiedInterval| {
            let end = |key: &Key| frame.position(key.prefix().clamp(frame.low(), frame.high()));
            let Interval { low, high } = emptied.interval;
            let overlaps = low.prefix() <= frame.high() && high.prefix() >= frame.low();
            overlaps.then(|| (end(&low)..=end(&high), emptied.below))
        };
        let emptied: Vec<_> = self.emptied.iter().filter_map(ends).collect();
        let is_void = |position: u64, number: SegmentNumber| {
            let voids = |age| emptied.iter().any(|(keys, below)| age < *below && keys.contains(&position));
            self.age(number).is_none_or(voids)
        };
        let (mut looked_at, mut void, mut stale) = (0u64, 0u64, 0.0);
        let mut all = Vec::new();
        for (position, number) in table.sample(LOOKED_AT) {
            looked_at += 1;
            if is_void(position, number) {
                void += 1;
                continue;
            }
            all.clear();
            table.candidates_at(position, &mut all);
            let live = all.iter().filter(|number| !is_void(position, **number)).count();
            // Of as many as share the position, all but one.
            stale += 1.0 - 1.0 / live.max(1) as f64;
        }
        let scale = table.len() as f64 / looked_at.max(1) as f64;
        let void = (void as f64 * scale).round() as u64;
        let void = void.min(table.len() as u64);
        (void, ((stale * scale).round() as u64).min(table.len() as u64 - void))
    }
}
