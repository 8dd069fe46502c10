//! Merges, and when to refuse: the store's bounds on space and memory.

use super::Store;
use crate::api::{Refusal, Trouble};
use crate::cleaner::{Conditions, lacks_numbers};
use crate::work::{MergeWork, Work};
use fawn_ring::Key;

impl Store {
    /// Merges every slice, in turn: the paper's Compact, by hand.
    pub fn compact(&mut self) {
        self.cleaner.force(self.sealed.slices().len());
        self.clean();
    }

    /// Whether a merge is under way or due.
    pub fn is_cleaning(&self) -> bool {
        self.cleaner.is_busy()
    }

    /// Starts the next merge when one is due.
    pub(super) fn clean(&mut self) {
        // Slices whose index cannot be built are passed over; the others wait until all are loaded.
        if self.cleaner.is_merging() || self.stopped.is_some() || self.sealed.slice_total().loading > 0 {
            return;
        }
        // A merge gives what is old the age of what is new: the manifest knows before what was emptied.
        if self.sealed.emptied().has_unrecorded() || self.buffers.have_emptied() {
            return;
        }
        let (uptime, open_age) = (self.uptime, self.buffers.open_age());
        let (no_space, interval) = (self.device.is_full(), self.options.interval);
        let conditions = Conditions { uptime, open_age, no_space, interval };
        let Some((slice, newest_only)) = self.cleaner.begin_merge(&self.sealed, conditions) else { return };
        let mode = self.cleaner.mode();
        let (drained, filtered) = (mode.is_drained(), mode.has_room_for_filter(&slice, &self.sealed));
        let log = self.log.writer();
        let mut void = self.ranges.void(self.sealed.times().to_vec());
        // A merge makes nothing of a flush durable before the flush is.
        if self.ranges.flush_logged() > log.durable() {
            void.flushed.clear();
        }
        let (before, reached) = (open_age, log.durable_at());
        let work = MergeWork { slice, void, before, newest_only, drained, filtered, uptime, reached };
        self.work.push(Work::Merge(work));
    }

    /// A merge of this slice has failed. Over damage it may again: the slice is stuck. Until it is merged after all, it is as
    /// if nothing in it were garbage: nothing waits for merges of it.
    pub(super) fn note_failed_merge(&mut self, slice: &Key, why: String, over_damage: bool) {
        self.maintenance_stats.merge_failures += 1;
        let again = self.cleaner.fail_merge(over_damage, self.uptime);
        if let Some(is_known) = self.sealed.note_failed_merge(slice, &why, again) {
            if !is_known {
                self.reports.push_trouble(Trouble::CannotMerge(why.clone()));
            }
            self.refresh_some();
        }
        self.maintenance_stats.last_merge_failure = Some(why);
        if over_damage {
            self.clean();
        }
    }

    /// Refuses puts while memory or space is short, or merges are behind.
    pub(super) fn refuse_when_full(&mut self) -> Result<(), Refusal> {
        let index_is_full = self.cleaner.index_is_full(&self.sealed);
        if index_is_full && self.cleaner.is_making_room(&self.sealed) {
            return Err(Refusal::Busy);
        }
        if index_is_full || lacks_numbers(&self.sealed) {
            self.write_stats.refused_memory += 1;
            let failing = self.maintenance_stats.last_merge_failure.as_ref();
            let failing = failing.filter(|_| self.sealed.slice_total().failed > 0);
            return Err(failing.map_or(Refusal::OutOfMemory, |why| Refusal::CannotMerge(why.clone())));
        }
        if self.device.is_full() {
            if self.cleaner.is_freeing_space(&self.sealed) {
                return Err(Refusal::Busy);
            }
            self.write_stats.refused_space += 1;
            return Err(Refusal::NoSpace);
        }
        if self.cleaner.is_behind(&self.sealed) {
            return Err(Refusal::Busy);
        }
        Ok(())
    }

    /// How urgent it is that seals and merges go on, from 0, where they have all the time that there is, to 1, where something
    /// waits for them.
    ///
    /// Puts that wait for merges use what these free at once, while what nobody uses adds up: merges that are paced by
    /// this free as much as is put.
    pub fn urgency(&self) -> f64 {
        let frozen = self.buffers.frozen_count();
        let waits_for_seals = self.log.is_closing()
            || self.seal_awaited
            || self.work.has_waiting_scans()
            || frozen > 1
            || self.device.is_seal_stalled();
        if waits_for_seals
            || self.device.is_full()
            || self.cleaner.index_is_full(&self.sealed)
            || self.sealed.slice_total().crowded > 0
        {
            return 1.0;
        }
        let sealing = if frozen == 0 { 0.0 } else { self.buffers.open().fullness() };
        let pressure = self.cleaner.pressure(&self.sealed);
        if pressure == 0.0 {
            return sealing;
        }
        sealing.max(pressure).max(1.0 - self.cleaner.unused_credit())
    }

    /// Reads and batches of the log so far: for these somebody waits.
    pub fn waits(&self) -> u64 {
        self.read_stats.reads + self.log.batches()
    }

    /// Whether the device is full and deletes wait to be sealed: merges free what sealed records supersede, and the open segment may
    /// take many deletes. At most once in ten seconds: whoever is told so seals.
    pub fn take_early_seal(&mut self) -> bool {
        self.device.is_full()
            && self.buffers.frozen_count() == 0
            && self.stopped.is_none()
            && self.cleaner.take_early_seal(&self.sealed, self.uptime)
    }

    /// Takes in what has changed. Called after every install, never on the request path.
    pub(super) fn refresh_some(&mut self) {
        self.sealed.refresh_some(self.ranges.flushed_everywhere(), self.cleaner.turned_age());
        self.follow_totals();
    }

    /// As [`refresh_some`](Self::refresh_some), where up to `most` slices and segments are looked at again.
    pub(super) fn refresh(&mut self, most: usize) {
        self.sealed.refresh(most, self.ranges.flushed_everywhere(), self.cleaner.turned_age());
        self.follow_totals();
    }

    /// Gives the cache what indexes, buffers and the process itself leave of the budget, and changes the mode where what is
    /// stored calls for it.
    fn follow_totals(&mut self) {
        let index_bytes = self.sealed.totals().index_bytes;
        self.cache.set_target(self.cleaner.mode().budget().cache_bytes(index_bytes));
        if self.cleaner.mode_mut().choose(&self.sealed) {
            for low in self.sealed.take_drained() {
                self.work.push(self.cleaner.mode().load(low, false, true, &self.sealed));
            }
        }
    }
}
