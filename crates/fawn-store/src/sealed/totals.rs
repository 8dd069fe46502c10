//! Totals over all slices and over all segments, kept while these change: to add thousands of them up again after each
//! install would hold the event loop up.
//!
//! What a slice or a segment adds is kept beside the total, so that where it changes the old is taken off and the new put
//! on. What it adds also depends on what is the same for all (the time, flushes, overwrites that merges found). So some of
//! them are looked at again each time, in turn, and a store of a few is looked at as a whole.

use std::ops::Range;

use super::slices::Slice;

/// So many slices and segments are looked at again after each install: some microseconds.
pub(crate) const A_TURN: usize = 64;

/// What something adds to a sum.
pub(super) trait Addend: Copy + Default + PartialEq {
    /// Of each figure of two, what `of` makes of them.
    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self;
}

/// Parts and their sum.
#[derive(Debug, Default)]
pub(super) struct Sum<P> {
    parts: Vec<P>,
    total: P,
    /// The next that is looked at anew.
    turn: usize,
}

impl<P: Addend> Sum<P> {
    /// The sum of all.
    #[inline]
    pub fn total(&self) -> &P {
        &self.total
    }

    /// What each part adds to the sum.
    pub fn parts(&self) -> &[P] {
        &self.parts
    }

    /// `number` adds `part` from here on.
    #[inline]
    pub fn set(&mut self, number: usize, part: P) {
        if self.parts.len() <= number {
            self.parts.resize(number + 1, P::default());
        }
        let old = std::mem::replace(&mut self.parts[number], part);
        self.total = self.total.each(old, |total, old| total - old).each(part, |total, new| total + new);
    }

    /// In the place of `number` there are so many, of which each adds nothing yet.
    pub fn replace(&mut self, number: usize, count: usize) {
        self.set(number, P::default());
        if count != 1 {
            self.parts.splice(number..=number, std::iter::repeat_n(P::default(), count));
        }
    }

    /// The next of `count` that are looked at anew, at most so many.
    pub fn next_turn(&mut self, count: usize, most: usize) -> Range<usize> {
        let first = if self.turn < count { self.turn } else { 0 };
        self.turn = first + most;
        // All of a few, wherever the last turn ended.
        if count <= most { 0..count } else { first..count.min(first + most) }
    }
}

/// What a slice adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SliceStats {
    /// Record bytes of its sealed parts.
    pub bytes: u64,
    /// Of these, bytes known to be superseded or void.
    pub garbage: u64,
    /// Records, superseded ones included.
    pub records: u64,
    /// Records that are neither superseded nor void.
    pub live: u64,
    /// Slots of its index.
    pub slots: u64,
    /// DRAM of its index.
    pub index_bytes: u64,
    /// DRAM of the filter of the slice's base.
    pub filter_bytes: u64,
    /// 1 if its index is not there.
    pub unloaded: u64,
    /// 1 if its index is not there, and not because it cannot be built.
    pub loading: u64,
    /// 1 if its load has failed and is to be tried again.
    pub retry: u64,
    /// 1 if too many slots found no place in its lines.
    pub crowded: u64,
    /// 1 if merges of it fail over damage.
    pub stuck: u64,
    /// `bytes`, `garbage`, `records`, `slots` and `index_bytes`, if it is stuck.
    pub stuck_bytes: u64,
    pub stuck_garbage: u64,
    pub stuck_records: u64,
    pub stuck_slots: u64,
    pub stuck_index_bytes: u64,
    /// 1 if its last merge has failed.
    pub failed: u64,
    /// 1 if its table has outgrown the size it was made for.
    pub outgrown: u64,
}

impl SliceStats {
    pub(super) fn of(slice: &Slice, superseding: f64) -> Self {
        let table = slice.table.as_ref();
        let (garbage, slots) = (slice.garbage(superseding), slice.slots());
        let index_bytes = table.map_or(0, |table| table.bytes() as u64);
        let is_stuck = slice.is_stuck();
        let if_stuck = |figure: u64| if is_stuck { figure } else { 0 };
        Self {
            bytes: slice.bytes,
            garbage,
            records: slice.records(),
            live: slice.live(superseding),
            slots,
            index_bytes,
            filter_bytes: slice.filter_bytes(),
            unloaded: u64::from(table.is_none()),
            loading: u64::from(table.is_none() && slice.damage.is_none()),
            retry: u64::from(slice.retry),
            crowded: u64::from(slice.is_crowded()),
            stuck: u64::from(is_stuck),
            stuck_bytes: if_stuck(slice.bytes),
            stuck_garbage: if_stuck(garbage),
            stuck_records: if_stuck(slice.records()),
            stuck_slots: if_stuck(slots),
            stuck_index_bytes: if_stuck(index_bytes),
            failed: u64::from(slice.failed_merge.is_some()),
            outgrown: u64::from(slice.is_outgrown()),
        }
    }
}

impl Addend for SliceStats {
    #[inline]
    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            bytes: of(self.bytes, other.bytes),
            garbage: of(self.garbage, other.garbage),
            records: of(self.records, other.records),
            live: of(self.live, other.live),
            slots: of(self.slots, other.slots),
            index_bytes: of(self.index_bytes, other.index_bytes),
            filter_bytes: of(self.filter_bytes, other.filter_bytes),
            unloaded: of(self.unloaded, other.unloaded),
            loading: of(self.loading, other.loading),
            retry: of(self.retry, other.retry),
            crowded: of(self.crowded, other.crowded),
            stuck: of(self.stuck, other.stuck),
            stuck_bytes: of(self.stuck_bytes, other.stuck_bytes),
            stuck_garbage: of(self.stuck_garbage, other.stuck_garbage),
            stuck_records: of(self.stuck_records, other.stuck_records),
            stuck_slots: of(self.stuck_slots, other.stuck_slots),
            stuck_index_bytes: of(self.stuck_index_bytes, other.stuck_index_bytes),
            failed: of(self.failed, other.failed),
            outgrown: of(self.outgrown, other.outgrown),
        }
    }
}

/// What a segment adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SegmentStats {
    /// Always 1, so that the sum is the number of segments.
    pub segments: u64,
    /// DRAM of its page directory.
    pub directory_bytes: u64,
    /// Bytes of its file.
    pub file_bytes: u64,
    /// Delete records that were not emptied.
    pub deletes: u64,
    /// Record bytes that are garbage though no slice counts them: of delete records, and of what has expired or was flushed.
    pub garbage: u64,
}

impl Addend for SegmentStats {
    #[inline]
    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            segments: of(self.segments, other.segments),
            directory_bytes: of(self.directory_bytes, other.directory_bytes),
            file_bytes: of(self.file_bytes, other.file_bytes),
            deletes: of(self.deletes, other.deletes),
            garbage: of(self.garbage, other.garbage),
        }
    }
}

/// The first of the parts that is not as `now` says, or the total that is not their sum; `lag` leaves out of a part of now
/// what may lag behind.
pub(super) fn wrong<P: Addend + std::fmt::Debug>(
    sum: &Sum<P>,
    mut now: Vec<P>,
    lag: impl Fn(P, P) -> P,
) -> Option<String> {
    now.resize(now.len().max(sum.parts.len()), P::default());
    let kept = |number: usize| sum.parts.get(number).copied().unwrap_or_default();
    let is_small = now.len() <= A_TURN;
    for (number, now) in now.iter().enumerate() {
        let expected = if is_small { *now } else { lag(*now, kept(number)) };
        if expected != kept(number) {
            return Some(format!("{number} adds {expected:?} and is counted as {:?}", kept(number)));
        }
    }
    let total = sum.parts.iter().fold(P::default(), |total, part| total.each(*part, |one, other| one + other));
    (total != sum.total).then(|| format!("all add up to {total:?} and are counted as {:?}", sum.total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bytes: u64) -> SliceStats {
        SliceStats { bytes, records: 1, ..SliceStats::default() }
    }

    #[test]
    fn a_sum_follows_what_comes_changes_and_is_replaced() {
        let mut sum = Sum::default();
        (0..5).for_each(|number| sum.set(number, part(10 + number as u64)));
        sum.set(3, part(1));
        assert_eq!((sum.total().bytes, sum.total().records), (10 + 11 + 12 + 1 + 14, 5));
        sum.replace(1, 3);
        assert_eq!((sum.total().bytes, sum.parts().len()), (10 + 12 + 1 + 14, 7));
        (1..4).for_each(|number| sum.set(number, part(2)));
        assert_eq!(sum.parts().iter().map(|part| part.bytes).collect::<Vec<_>>(), [10, 2, 2, 2, 12, 1, 14]);
        assert_eq!(wrong(&sum, sum.parts().to_vec(), |now, _| now), None);
        let mut other = sum.parts().to_vec();
        other[6].bytes += 1;
        assert!(wrong(&sum, other, |now, _| now).is_some_and(|what| what.starts_with("6 adds")));
    }

    #[test]
    fn all_have_their_turn_and_few_have_it_each_time() {
        let mut sum = Sum::<SliceStats>::default();
        let turns: Vec<_> = (0..5).map(|_| sum.next_turn(150, 64)).collect();
        assert_eq!(turns, [0..64, 64..128, 128..150, 0..64, 64..128]);
        assert_eq!((sum.next_turn(64, 64), sum.next_turn(10, 64), sum.next_turn(0, 64)), (0..64, 0..10, 0..0));
    }
}
