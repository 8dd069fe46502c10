//! Installing what the maintenance half has done, in bounded steps.

use fawn_ring::Key;

use super::Upkeep;
use super::turns::UpkeepContext;
use crate::api::Trouble;
use crate::format::page::PAGE_BYTES;
use crate::sealed::PendingEntries;
use crate::sealed::index::SegmentNumber;
use crate::work::{MaintenanceEvent, MergedSlice, Reclaim, View};

impl Upkeep {
    /// Takes an event, and installs what needs no index entries. `true`: nothing of it is left for
    /// [`step`](Self::step).
    pub(in crate::store) fn handle(&mut self, event: MaintenanceEvent, context: &mut UpkeepContext<'_>) -> bool {
        self.events.push_back(event);
        self.step(0, context);
        self.installing.is_none()
    }

    /// Installs about `budget` index entries; `true` when there is more to do.
    pub(in crate::store) fn step(&mut self, budget: usize, context: &mut UpkeepContext<'_>) -> bool {
        let mut left = budget;
        loop {
            if let Some(entries) = &mut self.installing {
                left -= self.sealed.index_entries(entries, left);
                if !entries.is_over() {
                    return true;
                }
                self.installing = None;
                self.finish_seal(context);
            }
            let Some(event) = self.events.pop_front() else {
                // What the index has grown by, the cache gives back.
                return budget > 0 && context.reads.shrink_cache();
            };
            self.install(event, context);
        }
    }

    fn install(&mut self, event: MaintenanceEvent, context: &mut UpkeepContext<'_>) {
        match event {
            MaintenanceEvent::Sealed { segment, reclaim } => self.begin_seal(segment, reclaim, context),
            MaintenanceEvent::Stalled => self.device.set_seal_stalled(true),
            MaintenanceEvent::Loaded { slice, index, overwrites } => {
                let mode = self.cleaner.mode();
                self.sealed.install_loaded(&slice, index, |sealed| mode.filter_room(sealed));
                self.sealed.note_overwrites(overwrites);
                self.refresh_some(context);
                self.rebuild_outgrown(context);
                self.clean(context);
            }
            MaintenanceEvent::LoadFailed { slice, damage, retry } => {
                if let Some(trouble) = self.sealed.note_failed_load(&slice, damage, retry) {
                    context.reports.push_trouble(trouble);
                }
                // The other slices may have waited for this one.
                self.clean(context);
            }
            MaintenanceEvent::Merged { slice, outputs, is_partial, overwrites, written_bytes, lost, reclaim } => {
                context.writes.note_merge(written_bytes);
                if let Some(lost) = lost {
                    self.stats.lost_records += lost.records;
                    context.reports.push_trouble(Trouble::Lost(lost));
                }
                if let Some(number) = self.sealed.slices().starting_at(&slice) {
                    self.sealed.note_overwrites(overwrites);
                    self.install_merge(number, outputs, is_partial, reclaim, context);
                }
            }
            MaintenanceEvent::Merging { newer, dropped } => self.cleaner.note_progress(newer, dropped, &self.sealed),
            MaintenanceEvent::MergeFailed { slice, why, over_damage } => {
                self.note_failed_merge(&slice, why, over_damage, context);
            }
            MaintenanceEvent::Scanned(scanned) => context.reports.push_scanned(scanned),
            MaintenanceEvent::Cut { slice, at, halves } => {
                if self.sealed.install_cut(&slice, &at, halves) {
                    self.refresh_some(context);
                }
                self.device.note_slices(&self.sealed, context.writes.buffers());
                if self.cleaner.end_cut(&slice) {
                    self.clean(context);
                }
            }
            MaintenanceEvent::Ranges(ranges) => context.writes.replace_ranges(&ranges),
            MaintenanceEvent::Space(room) => {
                self.note_room(room, context.writes.buffers());
                self.clean(context);
            }
            MaintenanceEvent::Closed => self.closed = true,
            MaintenanceEvent::Failed(why) => context.writes.stop(why),
        }
    }

    fn begin_seal(
        &mut self,
        segment: Option<(SegmentNumber, View, Vec<u64>)>,
        reclaim: Reclaim,
        context: &mut UpkeepContext<'_>,
    ) {
        self.stats.seals += 1;
        self.device.set_seal_stalled(false);
        context.reads.retire(reclaim, context.work);
        let bytes = segment.as_ref().map_or(0, |(_, view, _)| view.footer.total_pages() * PAGE_BYTES as u64);
        context.writes.note_seal(bytes);
        let Some((number, view, prefixes)) = segment else {
            self.finish_seal(context);
            return;
        };
        let entries = PendingEntries::new(number, &view.footer, prefixes);
        let live = self.sealed.slice_total().live;
        self.live_before_seal = Some((live, live + view.footer.records));
        self.sealed.put_view(number, view, context.writes.ranges().flushed_everywhere());
        if entries.is_over() {
            self.finish_seal(context);
        } else {
            self.installing = Some(entries);
        }
    }

    /// The oldest frozen segment is durable and indexed: drops it and recycles the log.
    fn finish_seal(&mut self, context: &mut UpkeepContext<'_>) {
        context.writes.drop_sealed();
        if let Some((before, with_segment)) = self.live_before_seal.take() {
            let superseded = with_segment.saturating_sub(self.sealed.slice_total().live);
            // Those that were flushed are superseded as often as others.
            let share = context.writes.flushed_entries() as f64 / before.max(1) as f64;
            context.writes.note_dropped((superseded as f64 * share.min(1.0)).round() as u64);
        }
        self.sealed.forget_emptied(context.writes.buffers().oldest_frozen());
        context.work.begin_scans(context.writes.buffers());
        // What superseded the records of reads that were planned before has left the buffers.
        context.reads.advance(context.work);
        self.refresh_some(context);
        context.writes.seal_to_stop(self, context.work);
        self.rebuild_outgrown(context);
        self.clean(context);
    }

    /// Has tables built again that have outgrown the size they were made for.
    fn rebuild_outgrown(&mut self, context: &mut UpkeepContext<'_>) {
        for low in self.sealed.take_outgrown() {
            context.work.push(self.load(low, false, true));
        }
    }

    fn install_merge(
        &mut self,
        number: usize,
        outputs: Vec<MergedSlice>,
        is_partial: bool,
        mut reclaim: Reclaim,
        context: &mut UpkeepContext<'_>,
    ) {
        // The merge knows what was sealed before it and beside it. A file that a newer record still names comes back to
        // the manifest when that record is sealed.
        reclaim.values.retain(|file| !context.writes.buffers().names_value_file(*file));
        let slices = self.sealed.slices();
        let (before, bytes_before) = (slices.get(number).records(), self.sealed.totals().index_bytes);
        let count = outputs.len();
        let (mode, flushed) = (self.cleaner.mode(), context.writes.ranges().flushed_everywhere());
        self.sealed.install_merge(number, outputs, is_partial, &reclaim, flushed, |sealed| mode.filter_room(sealed));
        context.reads.retire(reclaim, context.work);
        self.cleaner.end_merge();
        self.stats.merges += 1;
        self.refresh_some(context);
        self.sealed.forget_emptied(context.writes.buffers().oldest_frozen());
        let slices = self.sealed.slices();
        let after: u64 = (number..number + count).map(|number| slices.get(number).records()).sum();
        context.writes.note_dropped(before.saturating_sub(after));
        let freed = bytes_before.saturating_sub(self.sealed.totals().index_bytes);
        self.cleaner.mode_mut().lower_limit(freed, &self.sealed);
        self.clean(context);
    }

    /// A merge of this slice has failed. Over damage it may again: the slice is stuck. Until it is merged after all, it is as
    /// if nothing in it were garbage: nothing waits for merges of it.
    fn note_failed_merge(&mut self, slice: &Key, why: String, over_damage: bool, context: &mut UpkeepContext<'_>) {
        self.stats.merge_failures += 1;
        let again = self.cleaner.fail_merge(over_damage, self.uptime);
        if let Some(is_known) = self.sealed.note_failed_merge(slice, &why, again) {
            if !is_known {
                context.reports.push_trouble(Trouble::CannotMerge(why.clone()));
            }
            self.refresh_some(context);
        }
        self.stats.last_merge_failure = Some(why);
        if over_damage {
            self.clean(context);
        }
    }
}
