//! Draining: what is done where DRAM cannot index every record.
//!
//! A slice that is merged then gets a *base*, a run that its page directory alone finds, and only what was sealed since
//! takes index entries, until the slice's next turn. So the index is as large as the share `phi` of the records that is
//! still indexed: 4.7 bytes each; and as every merge rewrites a whole slice for the sake of what is newer than its base,
//! a smaller share costs more writing, about `2 + 1/(2 phi)` bytes for each that is put.
//!
//! The tables get [`TABLE_BYTES_A_RECORD`] and the record cache what is left; more for the tables would save writing, at
//! the price of reads.
//!
//! With [`miss_filter`](crate::Options::miss_filter), bases get filters ([`Filter`](crate::sealed::filter::Filter)) out of what
//! directories and tables leave of the index's budget, before the cache gets the rest. They change nothing of when a store
//! drains: with them it takes a third of what indexing everything would. Where they do not all fit, the slices that are
//! merged or loaded while there is no room go without, so that only there absent keys cost a read.

use fawn_ring::Key;

use super::budget::MemoryBudget;
use crate::options::Options;
use crate::sealed::SealedRecords;
use crate::work::MaintenanceWork;

/// Bytes that the tables may take for each record, together; the directories come on top, 0.1 bytes at 256-byte values.
const TABLE_BYTES_A_RECORD: f64 = 0.35;
/// What an entry takes in a table that holds every record.
const FULL_BYTES_A_RECORD: f64 = 4.71;
/// What a filter takes of a record of its base, at most but for the smallest bases.
const FILTER_BYTES_A_RECORD: f64 = 1.2;
/// Draining begins when the index of what is live, all of it, fills so much of the budget: beyond it, merges that only make
/// room for superseded records' entries would write as much as draining does.
const BEGIN: f64 = 0.85;
/// And it ends when that would fill no more than this.
const END: f64 = 0.5;
/// The part of the index's budget that the tables may always fill, however few records there are.
const LEAST_SHARE: u64 = 8;
/// Over the limit by this part of it, puts wait for merges altogether.
const SLACK: u64 = 12;

/// Bytes of a slot.
const SLOT_BYTES: u64 = 4;

/// Whether every record is indexed, or slices have bases.
#[derive(Debug)]
pub(crate) struct IndexMode {
    budget: MemoryBudget,
    /// The mode that the options fix; `None`: what is stored decides.
    fixed: Option<bool>,
    /// Bases get filters.
    miss_filter: bool,
    /// Merges make bases.
    drained: bool,
    /// Index bytes above which slices are merged in turn and puts are slowed. Not below what the records call for, and
    /// above it only while the store passes from indexing everything: then it goes down merge by merge.
    limit: u64,
}

impl IndexMode {
    /// Everything is indexed, until [`begin`](Self::begin) says otherwise.
    pub(super) fn new(options: &Options, segment_bytes: usize) -> Self {
        Self {
            budget: MemoryBudget::new(options, segment_bytes),
            fixed: options.drain,
            miss_filter: options.miss_filter,
            drained: false,
            limit: 0,
        }
    }

    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Whether merges make bases without index entries.
    pub(crate) fn is_drained(&self) -> bool {
        self.drained
    }

    /// Decides before anything is loaded, by the number of records that are sealed.
    pub(crate) fn begin(&mut self, sealed: &SealedRecords) {
        let records = sealed.views().map(|view| view.footer.records).sum();
        self.drained = self.fixed.unwrap_or_else(|| full_index_bytes(records, sealed) > self.most_of_index(BEGIN));
        self.limit = self.index_target(sealed);
    }

    /// Passes from one mode to the other where the records call for it. Whether everything is to be indexed from now on, and
    /// was not before. Called when all slices are loaded.
    pub(crate) fn choose(&mut self, sealed: &SealedRecords) -> bool {
        if self.fixed.is_some() || sealed.slice_total().unloaded > 0 {
            return false;
        }
        let needed = full_index_bytes(sealed.slice_total().live, sealed);
        if !self.drained && needed > self.most_of_index(BEGIN) {
            self.drained = true;
            self.limit = self.index_target(sealed).max(sealed.totals().index_bytes);
        } else if self.drained && needed < self.most_of_index(END) {
            self.drained = false;
            return true;
        }
        false
    }

    fn most_of_index(&self, share: f64) -> u64 {
        (self.budget.index_bytes() as f64 * share) as u64
    }

    /// Index bytes that the records call for while draining, and the filters that there are.
    fn index_target(&self, sealed: &SealedRecords) -> u64 {
        let records = sealed.slice_total().records;
        (self.index_target_without_filters(records, sealed) + sealed.totals().filter_bytes)
            .min(self.budget.index_bytes())
    }

    fn index_target_without_filters(&self, records: u64, sealed: &SealedRecords) -> u64 {
        let tables = (records as f64 * TABLE_BYTES_A_RECORD) as u64;
        sealed.totals().directory_bytes + tables.max(self.budget.index_bytes() / LEAST_SHARE)
    }

    /// Bytes that all filters together may take.
    pub(crate) fn filter_room(&self, sealed: &SealedRecords) -> u64 {
        if !self.drained || !self.miss_filter {
            return 0;
        }
        let slices = sealed.slice_total();
        // Until slices tell what they hold, the segments do; what was drained of them counts, too.
        let records =
            if slices.unloaded == 0 { slices.records } else { sealed.views().map(|view| view.footer.records).sum() };
        self.budget.index_bytes().saturating_sub(self.index_target_without_filters(records, sealed))
    }

    /// Whether the base that a merge makes of this slice may have a filter.
    pub(crate) fn has_room_for_filter(&self, slice: &Key, sealed: &SealedRecords) -> bool {
        let room = self.filter_room(sealed);
        sealed.slices().starting_at(slice).is_some_and(|number| {
            let own = (sealed.slices().get(number).records() as f64 * FILTER_BYTES_A_RECORD) as u64;
            room > 0 && sealed.filter_bytes_beside(number) + own <= room
        })
    }

    /// The load of a slice; `again`: it is loaded, and its index is built again.
    pub(crate) fn load(&self, slice: Key, wanted: bool, again: bool, sealed: &SealedRecords) -> MaintenanceWork {
        let slices = sealed.slices();
        let has_filter = || slices.starting_at(&slice).is_some_and(|number| slices.get(number).filter.is_some());
        let filtered = self.filter_room(sealed) > sealed.totals().filter_bytes && !(again && has_filter());
        MaintenanceWork::Load { slice, wanted, again, drained: self.drained, filtered }
    }

    /// Index bytes above which slices are merged in turn.
    pub(crate) fn index_limit(&self, sealed: &SealedRecords) -> u64 {
        if self.drained { self.limit.max(self.index_target(sealed)) } else { self.budget.index_bytes() }
    }

    /// A merge has given `freed` bytes of index back: while the limit is above what the records call for, half of it is
    /// not used again.
    pub(crate) fn lower_limit(&mut self, freed: u64, sealed: &SealedRecords) {
        self.limit = self.limit.saturating_sub(freed / 2).max(self.index_target(sealed));
    }

    /// Whether it is slots that fill the index. Tables have a least size: where that fills it, merges would change nothing.
    pub(super) fn tables_fill_index(&self, sealed: &SealedRecords) -> bool {
        let (totals, slices) = (sealed.totals(), sealed.slice_total());
        let others = totals.directory_bytes + totals.filter_bytes + slices.stuck_index_bytes;
        (slices.slots - slices.stuck_slots) * SLOT_BYTES * 2 > self.index_limit(sealed).saturating_sub(others)
    }

    /// How far the index is above its limit, from 0 to 1, where puts wait for merges altogether.
    pub(super) fn index_pressure(&self, sealed: &SealedRecords) -> f64 {
        if !self.drained {
            return 0.0;
        }
        let limit = self.index_limit(sealed);
        // Of what is stuck nothing is made smaller.
        let over = sealed.totals().index_bytes.saturating_sub(limit + sealed.slice_total().stuck_index_bytes);
        (over as f64 * SLACK as f64 / limit.max(1) as f64).min(1.0)
    }
}

/// What an index of so many records takes, directories included.
fn full_index_bytes(records: u64, sealed: &SealedRecords) -> u64 {
    (records as f64 * FULL_BYTES_A_RECORD) as u64 + sealed.totals().directory_bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_ring::{Interval, Secret};

    fn mode(drain: Option<bool>, miss_filter: bool) -> IndexMode {
        let sizes = Options::new(Secret([1; 32]), 64 << 20);
        IndexMode::new(&Options { drain, miss_filter, ..sizes }, 1 << 20)
    }

    fn no_records() -> SealedRecords {
        SealedRecords::new(vec![(Interval::ALL, 0)], Vec::new(), Vec::new())
    }

    #[test]
    fn without_records_everything_is_indexed_unless_the_options_say_otherwise() {
        let sealed = no_records();
        for (drain, drained) in [(None, false), (Some(false), false), (Some(true), true)] {
            let mut mode = mode(drain, false);
            mode.begin(&sealed);
            assert_eq!(mode.is_drained(), drained, "{drain:?}");
            let load = mode.load(Key::MIN, true, false, &sealed);
            assert!(matches!(load, MaintenanceWork::Load { wanted: true, drained: by_load, .. } if by_load == drained));
        }
    }

    #[test]
    fn a_drained_index_has_a_lower_limit_which_merges_do_not_pass() {
        let sealed = no_records();
        let (mut whole, mut drained) = (mode(Some(false), false), mode(Some(true), false));
        whole.begin(&sealed);
        drained.begin(&sealed);
        assert_eq!(whole.index_limit(&sealed), whole.budget().index_bytes());
        let least = drained.budget().index_bytes() / LEAST_SHARE;
        assert_eq!(drained.index_limit(&sealed), least);
        drained.lower_limit(u64::MAX, &sealed);
        assert_eq!(drained.index_limit(&sealed), least);
    }

    #[test]
    fn only_bases_get_filters_and_only_if_the_options_say_so() {
        let sealed = no_records();
        for (drain, miss_filter, has_room) in [(true, true, true), (true, false, false), (false, true, false)] {
            let mut mode = mode(Some(drain), miss_filter);
            mode.begin(&sealed);
            assert_eq!(mode.filter_room(&sealed) > 0, has_room, "{drain} {miss_filter}");
            assert_eq!(mode.has_room_for_filter(&Key::MIN, &sealed), has_room);
        }
    }
}
