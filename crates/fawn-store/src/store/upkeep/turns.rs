//! What upkeep does in turn with the other parts of a store: ticks, merges that are due, the index's mode.

use fawn_ring::Interval;

use super::{ALL, REFRESHED_A_TICK, Upkeep};
use crate::cleaner::Conditions;
use crate::sealed::A_TURN;
use crate::store::lookup_path::LookupPath;
use crate::store::reports::Reports;
use crate::store::work_queue::WorkQueue;
use crate::store::write_path::WritePath;
use crate::work::{MaintenanceWork, MergeWork};

/// The other parts of a store, which upkeep changes when it installs what was done.
pub(in crate::store) struct UpkeepContext<'a> {
    pub writes: &'a mut WritePath,
    pub reads: &'a mut LookupPath,
    pub work: &'a mut WorkQueue,
    pub reports: &'a mut Reports,
}

/// What the store asks.
impl Upkeep {
    /// Decides, before anything is loaded, how records are indexed.
    pub(in crate::store) fn begin(&mut self, context: &mut UpkeepContext<'_>) {
        self.refresh(ALL, context);
        self.cleaner.mode_mut().begin(&self.sealed);
    }

    /// Merges every slice, in turn.
    pub(in crate::store) fn compact(&mut self, context: &mut UpkeepContext<'_>) {
        self.cleaner.force(self.sealed.slices().len());
        self.clean(context);
    }

    /// Makes everything void that was appended in `interval` before the open segment was begun.
    pub(in crate::store) fn empty(&mut self, interval: Interval, context: &mut UpkeepContext<'_>) {
        self.sealed.empty(interval, context.writes.buffers().open_age());
        self.sealed.forget_emptied(context.writes.buffers().oldest_frozen());
        context.reads.clear_cache(context.work);
        self.refresh(ALL, context);
    }

    /// To be called about once a second. By these times it is judged what has expired of the intervals; `None`: by the
    /// same as before.
    pub(in crate::store) fn tick(
        &mut self,
        times: Option<Vec<(Interval, u32)>>,
        now: u32,
        context: &mut UpkeepContext<'_>,
    ) {
        if let Some(times) = times {
            self.sealed.set_times(times);
        }
        context.writes.fire_flushes(now, self, context.work);
        let spare = self.device.kept_bytes(&self.sealed, context.writes.buffers());
        context.work.push(MaintenanceWork::Space { spare });
        self.uptime += 1;
        self.cleaner.forgive();
        // Tries the indexes again that the device failed to read.
        for low in self.sealed.take_retries() {
            context.work.push(self.load(low, true, false));
        }
        context.writes.mark_when_idle();
        self.refresh(REFRESHED_A_TICK, context);
        self.clean(context);
    }

    /// Whether the device is short of space and deletes wait to be sealed: merges free what sealed records supersede, and the open
    /// segment may take many deletes. At most once in ten seconds: the caller seals.
    pub(in crate::store) fn take_early_seal(&mut self, writes: &WritePath) -> bool {
        self.device.is_short()
            && writes.buffers().frozen_count() == 0
            && writes.stopped().is_none()
            && writes.holds_deletes()
            && self.cleaner.take_early_seal(&self.sealed, self.uptime)
    }

    /// How urgent it is that seals and merges go on, from 0, where they have all the time that there is, to 1, where something
    /// waits for them.
    ///
    /// Puts that wait for merges use what these free at once, while what nobody uses adds up: merges that are paced by
    /// this free as much as is put.
    pub(in crate::store) fn urgency(&self, writes: &WritePath, work: &WorkQueue) -> f64 {
        let frozen = writes.buffers().frozen_count();
        let waits_for_seals = writes.log().is_closing()
            || writes.awaits_seal()
            || work.has_waiting_scans()
            || frozen > 1
            || self.device.is_seal_stalled();
        if waits_for_seals
            || self.device.is_short()
            || self.cleaner.index_is_full(&self.sealed)
            || self.sealed.slice_total().crowded > 0
        {
            return 1.0;
        }
        let sealing = if frozen == 0 { 0.0 } else { writes.buffers().open().fullness() };
        let pressure = self.cleaner.pressure(&self.sealed);
        if pressure == 0.0 {
            return sealing;
        }
        sealing.max(pressure).max(1.0 - self.cleaner.unused_credit())
    }
}

impl Upkeep {
    /// Starts the next merge, or cut of a slice, when one is due.
    pub(super) fn clean(&mut self, context: &mut UpkeepContext<'_>) {
        let writes = &*context.writes;
        // Slices whose index cannot be built are passed over; the others wait until all are loaded.
        if self.cleaner.is_merging() || writes.stopped().is_some() || self.sealed.slice_total().loading > 0 {
            return;
        }
        if let Some(most) = self.device.slices_to_cut()
            && let Some(slice) = self.cleaner.begin_cut(&self.sealed, most)
        {
            context.work.push(MaintenanceWork::CutSlice(slice));
            return;
        }
        // A merge gives what is old the age of what is new: the manifest knows before what was emptied.
        if self.emptied().has_unrecorded() || writes.buffers().have_emptied() {
            return;
        }
        let (uptime, open_age, no_space) = (self.uptime, writes.buffers().open_age(), self.device.is_short());
        let conditions = Conditions { uptime, open_age, no_space };
        let Some((slice, newest_only)) = self.cleaner.begin_merge(&self.sealed, conditions) else { return };
        let mode = self.cleaner.mode();
        let (drained, filtered) = (mode.is_drained(), mode.has_room_for_filter(&slice, &self.sealed));
        let log = writes.log().writer();
        let mut void = writes.ranges().void(self.sealed.times().to_vec());
        // A merge makes nothing of a flush durable before the flush is.
        if writes.ranges().flush_logged() > log.durable() {
            void.flushed.clear();
        }
        let (before, reached) = (open_age, log.durable_at());
        let work = MergeWork { slice, void, before, newest_only, drained, filtered, uptime, reached, no_space };
        context.work.push(MaintenanceWork::Merge(work));
    }

    /// As [`refresh`](Self::refresh), after an install.
    pub(super) fn refresh_some(&mut self, context: &mut UpkeepContext<'_>) {
        self.refresh(A_TURN, context);
    }

    /// Takes in what has changed, and looks at up to `most` slices and segments again. Gives the cache what indexes, buffers
    /// and the process itself leave of the budget, and changes the mode where what is stored calls for it. Called after
    /// every install, never on the request path.
    pub(super) fn refresh(&mut self, most: usize, context: &mut UpkeepContext<'_>) {
        let flushed = context.writes.ranges().flushed_everywhere();
        self.sealed.refresh(most, flushed, self.cleaner.turned_age());
        let index_bytes = self.sealed.totals().index_bytes;
        context.reads.set_cache_bytes(self.cleaner.mode().budget().cache_bytes(index_bytes));
        if self.cleaner.mode_mut().choose(&self.sealed) {
            for low in self.sealed.take_drained() {
                context.work.push(self.load(low, false, true));
            }
        }
    }
}
