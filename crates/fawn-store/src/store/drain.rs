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
//! With [`miss_filter`](crate::Options::miss_filter), bases get filters ([`Filter`]) out of what
//! directories and tables leave of the index's budget, before the cache gets the rest. They change nothing of when a store
//! drains: with them it takes a third of what indexing everything would. Where they do not all fit, the slices that are
//! merged or loaded while there is no room go without, so that only there absent keys cost a read.

use std::sync::Arc;

use fawn_ring::Key;

use super::Store;
use crate::filter::Filter;
use crate::work::{Overwrites, SliceIndex, Work};

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

/// The state of draining.
#[derive(Debug, Default)]
pub(super) struct Draining {
    pub on: bool,
    /// Index bytes above which slices are merged in turn and puts are slowed. Not below what the records call for, and
    /// above it only while the store passes from indexing everything: then it goes down merge by merge.
    limit: u64,
    /// What the last merges and loads told of bases.
    overwrites: Overwrites,
}

impl Draining {
    /// The share of the records newer than a base that supersede one of it.
    pub fn superseding(&self) -> f64 {
        self.overwrites.superseding as f64 / self.overwrites.newer.max(1) as f64
    }
}

impl Store {
    /// Decides before anything is loaded, by the number of `records` that are sealed.
    pub(super) fn drain_from_the_start(&mut self, records: u64) {
        self.draining.on =
            self.options.drain.unwrap_or_else(|| self.full_index_bytes(records) > self.most_of_index(BEGIN));
        self.draining.limit = self.index_target();
    }

    /// Passes from one mode to the other where the records call for it. Called when all slices are loaded.
    pub(super) fn choose_mode(&mut self) {
        if self.options.drain.is_some() || self.sums.slices.total().unloaded > 0 {
            return;
        }
        let needed = self.full_index_bytes(self.sums.slices.total().live);
        if !self.draining.on && needed > self.most_of_index(BEGIN) {
            self.draining.on = true;
            self.draining.limit = self.index_target().max(self.cleaning.index_bytes);
        } else if self.draining.on && needed < self.most_of_index(END) {
            self.draining.on = false;
            for number in 0..self.slices.len() {
                let slice = self.slices.get_mut(number);
                if slice.base.is_some() && !slice.wanted {
                    slice.wanted = true;
                    let low = slice.interval.low;
                    let work = self.load_work(low, false, true);
                    self.work.push_back(work);
                }
            }
        }
    }

    /// What an index of so many records takes, directories included.
    fn full_index_bytes(&self, records: u64) -> u64 {
        (records as f64 * FULL_BYTES_A_RECORD) as u64 + self.cleaning.directory_bytes
    }

    fn most_of_index(&self, share: f64) -> u64 {
        (self.index_budget() as f64 * share) as u64
    }

    /// What the budget leaves for the index beside buffers, merges, the process itself and the least that the cache gets.
    pub(super) fn index_budget(&self) -> u64 {
        let options = &self.options;
        let beside = self.buffer_bytes() + options.merge_bytes() + options.process_bytes() + self.least_cache_bytes();
        self.options.memory.saturating_sub(beside).max(self.options.memory / 4)
    }

    /// Index bytes that the records call for while draining, and the filters that there are.
    fn index_target(&self) -> u64 {
        let records = self.sums.slices.total().records;
        (self.index_target_without_filters(records) + self.cleaning.filter_bytes).min(self.index_budget())
    }

    fn index_target_without_filters(&self, records: u64) -> u64 {
        let tables = (records as f64 * TABLE_BYTES_A_RECORD) as u64;
        self.cleaning.directory_bytes + tables.max(self.index_budget() / LEAST_SHARE)
    }

    /// Bytes that all filters together may take.
    fn filter_room(&self) -> u64 {
        if !self.draining.on || !self.options.miss_filter {
            return 0;
        }
        let slices = self.sums.slices.total();
        // Until slices tell what they hold, the segments do; what was drained of them counts, too.
        let records = if slices.unloaded == 0 {
            slices.records
        } else {
            self.segments.iter().flatten().map(|view| view.footer.records).sum()
        };
        self.index_budget().saturating_sub(self.index_target_without_filters(records))
    }

    /// Bytes of all filters but that of slice `number`.
    pub(super) fn filter_bytes_beside(&self, number: usize) -> u64 {
        self.cleaning.filter_bytes.saturating_sub(self.slices.get(number).filter_bytes())
    }

    /// Whether the base that a merge makes of this slice may have a filter.
    pub(super) fn has_room_for_filter(&self, slice: &Key) -> bool {
        let room = self.filter_room();
        self.slices.starting_at(slice).is_some_and(|number| {
            let own = (self.slices.get(number).records() as f64 * FILTER_BYTES_A_RECORD) as u64;
            room > 0 && self.filter_bytes_beside(number) + own <= room
        })
    }

    /// An index that was just built, without its filter where that does not fit beside `others`, the bytes of the others.
    pub(super) fn with_filter_that_fits(&self, index: SliceIndex, others: u64) -> SliceIndex {
        let fits = |filter: &Arc<Filter>| others + filter.bytes() as u64 <= self.filter_room();
        SliceIndex { filter: index.filter.filter(fits), ..index }
    }

    /// The load of a slice; `again`: it is loaded, and its index is built anew.
    pub(super) fn load_work(&self, slice: Key, wanted: bool, again: bool) -> Work {
        let has_filter =
            || self.slices.starting_at(&slice).is_some_and(|number| self.slices.get(number).filter.is_some());
        let filtered = self.filter_room() > self.cleaning.filter_bytes && !(again && has_filter());
        Work::Load { slice, wanted, again, drained: self.draining.on, filtered }
    }

    /// Index bytes above which slices are merged in turn.
    pub(super) fn index_limit(&self) -> u64 {
        if self.draining.on { self.draining.limit.max(self.index_target()) } else { self.index_budget() }
    }

    /// A merge has given `freed` bytes of index back: while the limit is above what the records call for, half of it is
    /// not used again.
    pub(super) fn lower_limit(&mut self, freed: u64) {
        self.draining.limit = self.draining.limit.saturating_sub(freed / 2).max(self.index_target());
    }

    /// Takes in what a merge or a load told; what was told before counts less and less.
    pub(super) fn note_overwrites(&mut self, told: Overwrites) {
        let Overwrites { newer, superseding } = &mut self.draining.overwrites;
        *newer += told.newer;
        *superseding += told.superseding;
        if *newer > self.cleaning.index_entries.max(1024) {
            *newer /= 2;
            *superseding /= 2;
        }
    }

    /// Whether a merge is under way that makes the index smaller; where some are stuck, the others have to be worth it.
    pub(super) fn is_making_room(&self) -> bool {
        let is_worth_it = self.sums.slices.total().stuck == 0 || self.index_is_crowded();
        self.draining.on && self.cleaning.merging && self.cleaning.failures == 0 && is_worth_it
    }

    /// How far the index is above its limit, from 0 to 1, where puts wait for merges altogether.
    pub(super) fn index_pressure(&self) -> f64 {
        if !self.draining.on {
            return 0.0;
        }
        let limit = self.index_limit();
        // Of what is stuck nothing is made smaller.
        let over = self.cleaning.index_bytes.saturating_sub(limit + self.sums.slices.total().stuck_index_bytes);
        (over as f64 * SLACK as f64 / limit.max(1) as f64).min(1.0)
    }
}
