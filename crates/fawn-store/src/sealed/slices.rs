//! The slices of a store: who indexes which interval of the key space.

use std::sync::Arc;

use fawn_ring::{Interval, Key};

use super::filter::Filter;
use super::index::Table;
use crate::api::Damage;
use crate::work::{Base, SliceIndex};

/// Slots of a slice that found no place in its lines, above which its newest parts are merged.
const MANY_SPILLED: usize = 64;
/// Entries below which a table is left as it is.
const LEAST_REBUILT: usize = 2048;
/// False matches for each absent key above which a table is built anew.
const MOST_FALSE_MATCHES: f64 = 1.0 / 500.0;

/// What is known of a slice's last merge, which failed.
#[derive(Clone)]
pub(crate) struct FailedMerge {
    pub why: String,
    /// It came upon damage: the uptime in seconds before which no merge of the slice is tried.
    pub again: Option<u64>,
}

/// One slice as the event loop sees it.
pub(crate) struct Slice {
    pub interval: Interval,
    /// The index of all its parts but the base; `None` until it is loaded after a restart.
    pub table: Option<Table>,
    /// The part that the index leaves out.
    pub base: Option<Base>,
    /// What the base surely does not hold. Slices that were one when it was built share it.
    pub filter: Option<Arc<Filter>>,
    /// Records of the base that were emptied, about.
    pub base_void: u64,
    /// Whether its load has been asked for by a lookup.
    pub wanted: bool,
    /// Why it cannot be loaded.
    pub damage: Option<Damage>,
    /// The device failed to read it: the next tick tries again.
    pub retry: bool,
    pub failed_merge: Option<FailedMerge>,
    /// Delete records and expired ones numbered up to here have been dropped by merges.
    pub horizon: u64,
    /// Record bytes of all its sealed parts.
    pub bytes: u64,
    /// Slots that are not void and whose position a newer one shares: superseded records, but for one in thousands.
    pub stale: u64,
    /// Slots of records that were emptied; none of them is stale.
    pub void: u64,
    /// Slots that found no place in the lines of its table when that was built.
    spilled_when_built: usize,
}

impl Slice {
    pub(crate) fn unloaded(interval: Interval, horizon: u64) -> Self {
        Self {
            interval,
            table: None,
            base: None,
            filter: None,
            base_void: 0,
            wanted: false,
            damage: None,
            retry: false,
            failed_merge: None,
            horizon,
            bytes: 0,
            stale: 0,
            void: 0,
            spilled_when_built: 0,
        }
    }

    /// A slice with its index, of which `before` had the keys.
    pub(crate) fn loaded(before: &Self, interval: Interval, horizon: u64, index: SliceIndex) -> Self {
        let mut slice = Self::unloaded(interval, horizon);
        (slice.base, slice.filter) = (before.base, before.filter.clone());
        slice.take(index);
        slice
    }

    /// Puts an index that was just built in place; what is void in it is still to be counted. A base that stays keeps its
    /// filter.
    pub(crate) fn take(&mut self, index: SliceIndex) {
        let stays = self.base.map(|base| base.number) == index.base.map(|base| base.number);
        self.filter = index.filter.or(self.filter.take().filter(|_| stays));
        (self.bytes, self.stale, self.void) = (index.bytes, index.stale, 0);
        (self.base, self.base_void) = (index.base, 0);
        self.spilled_when_built = index.table.spilled();
        self.table = Some(index.table);
    }

    /// Record bytes that a merge would free, as far as is known; `superseding` is the share of the records newer than a base
    /// that supersede one of it.
    pub(crate) fn garbage(&self, superseding: f64) -> u64 {
        let records = self.records();
        let gone = records - self.live(superseding).min(records);
        if records == 0 { 0 } else { (u128::from(self.bytes) * u128::from(gone) / u128::from(records)) as u64 }
    }

    /// Whether its merges fail over damage.
    pub(crate) fn is_stuck(&self) -> bool {
        self.failed_merge.as_ref().is_some_and(|failed| failed.again.is_some())
    }

    /// Whether too many slots found no place in the lines of its table. What found none when it was built would find none again:
    /// another merge pays only for what has come since.
    pub(crate) fn is_crowded(&self) -> bool {
        let many = |table: &Table| MANY_SPILLED.max(table.len() / 64).max(2 * self.spilled_when_built);
        self.table.as_ref().is_some_and(|table| table.spilled() > many(table))
    }

    /// Whether its table has outgrown the size it was made for, and false matches have become frequent.
    pub(crate) fn is_outgrown(&self) -> bool {
        let is_outgrown = |table: &Table| table.len() >= LEAST_REBUILT && table.false_match_rate() > MOST_FALSE_MATCHES;
        self.table.as_ref().is_some_and(is_outgrown)
    }

    /// Slots of its index.
    pub(crate) fn slots(&self) -> u64 {
        self.table.as_ref().map_or(0, |table| table.len() as u64)
    }

    /// Bytes of its filter; of one that slices share, its part.
    pub(crate) fn filter_bytes(&self) -> u64 {
        self.filter.as_ref().map_or(0, |filter| filter.bytes().div_ceil(Arc::strong_count(filter)) as u64)
    }

    /// Records of all its parts.
    pub(crate) fn records(&self) -> u64 {
        self.slots() + self.base.map_or(0, |base| base.records)
    }

    /// Records that are neither superseded nor void; `superseding` as in [`garbage`](Self::garbage).
    pub(crate) fn live(&self, superseding: f64) -> u64 {
        let newer = self.slots().saturating_sub(self.stale + self.void);
        let base = self.base.map_or(0, |base| base.records).saturating_sub(self.base_void);
        newer + base.saturating_sub((newer as f64 * superseding).round() as u64)
    }
}

/// All slices of a store, in key order; they tile its interval.
pub(crate) struct Slices {
    slices: Vec<Slice>,
    /// The slices' low ends, apart from them for the search.
    lows: Vec<Key>,
}

impl Slices {
    pub(crate) fn new(slices: Vec<Slice>) -> Self {
        let lows = slices.iter().map(|slice| slice.interval.low).collect();
        Self { slices, lows }
    }

    /// Number of the slice that holds `key`.
    #[inline]
    pub(crate) fn find(&self, key: &Key) -> usize {
        self.lows.partition_point(|low| low <= key).saturating_sub(1)
    }

    /// Number of the slice that begins at `low`.
    pub(crate) fn starting_at(&self, low: &Key) -> Option<usize> {
        self.lows.binary_search(low).ok()
    }

    pub(crate) fn len(&self) -> usize {
        self.slices.len()
    }

    #[inline]
    pub(crate) fn get(&self, number: usize) -> &Slice {
        &self.slices[number]
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> &mut Slice {
        &mut self.slices[number]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Slice> {
        self.slices.iter()
    }

    /// No delete record or expired record in `interval` with a number above this was ever dropped.
    pub(crate) fn horizon(&self, interval: &Interval) -> u64 {
        let slices = self.slices.iter().filter(|slice| slice.interval.overlaps(interval));
        slices.map(|slice| slice.horizon).max().unwrap_or(0)
    }

    /// Puts `outputs`, which tile slice `number`, in its place.
    pub(crate) fn replace(&mut self, number: usize, outputs: Vec<Slice>) {
        let lows: Vec<Key> = outputs.iter().map(|slice| slice.interval.low).collect();
        self.lows.splice(number..=number, lows);
        self.slices.splice(number..=number, outputs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed::index::SegmentNumber;

    #[test]
    fn what_found_no_place_when_a_table_was_built_asks_for_no_merge() {
        // Records of one key, of which two lines hold 32.
        let entries = |count: usize| vec![(7, SegmentNumber::MIN); count].into_iter();
        let (low, high) = (Key::lowest_with_prefix(0), Key::lowest_with_prefix(u64::MAX));
        let unloaded = Slice::unloaded(Interval { low, high }, 0);
        let table = Table::from_sorted(0, u64::MAX, 0, entries(200));
        let index = SliceIndex { table, base: None, filter: None, bytes: 0, stale: 0 };
        let mut slice = Slice::loaded(&unloaded, unloaded.interval, 0, index);
        assert!(!slice.is_crowded());
        let table = slice.table.as_mut().unwrap();
        for (prefix, segment) in entries(200) {
            table.insert(prefix, segment);
        }
        assert!(slice.is_crowded());
    }
}
