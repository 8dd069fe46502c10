//! Installing what the maintenance half has done, in bounded steps.

use super::Store;
use crate::api::Trouble;
use crate::format::page::PAGE_BYTES;
use crate::sealed::PendingEntries;
use crate::sealed::index::SegmentNumber;
use crate::work::{Event, MergedSlice, Reclaim, View};

impl Store {
    /// Takes an event. Its installation goes on in [`step`](Self::step). `true` when operations that were refused as
    /// busy or told to wait for a load should be tried again.
    pub fn handle(&mut self, event: Event) -> bool {
        self.events.push_back(event);
        self.step(0);
        self.installing.is_none()
    }

    /// Installs about `budget` index entries; `true` when there is more to do.
    pub fn step(&mut self, budget: usize) -> bool {
        let mut left = budget;
        loop {
            if let Some(entries) = &mut self.installing {
                left -= self.sealed.index_entries(entries, left);
                if !entries.is_over() {
                    return true;
                }
                self.installing = None;
                self.finish_seal();
            }
            let Some(event) = self.events.pop_front() else {
                // What the index has grown by, the cache gives back.
                return budget > 0 && self.cache.shrink();
            };
            self.begin(event);
        }
    }

    fn begin(&mut self, event: Event) {
        match event {
            Event::Sealed { segment, reclaim } => self.begin_seal(segment, reclaim),
            Event::Stalled => self.device.set_seal_stalled(true),
            Event::Loaded { slice, index, overwrites } => {
                let mode = self.cleaner.mode();
                self.sealed.install_loaded(&slice, index, |sealed| mode.filter_room(sealed));
                self.sealed.note_overwrites(overwrites);
                self.refresh_some();
                self.rebuild_outgrown();
                self.clean();
            }
            Event::LoadFailed { slice, damage, retry } => {
                if let Some(trouble) = self.sealed.note_failed_load(&slice, damage, retry) {
                    self.reports.push_trouble(trouble);
                }
                // The other slices may have waited for this one.
                self.clean();
            }
            Event::Merged { slice, outputs, is_partial, overwrites, written_bytes, lost, reclaim } => {
                self.write_stats.written.merged += written_bytes;
                if let Some(lost) = lost {
                    self.maintenance_stats.lost_records += lost.records;
                    self.reports.push_trouble(Trouble::Lost(lost));
                }
                if let Some(number) = self.sealed.slices().starting_at(&slice) {
                    self.sealed.note_overwrites(overwrites);
                    self.install_merge(number, outputs, is_partial, reclaim);
                }
            }
            Event::Merging { newer, dropped } => self.cleaner.note_progress(newer, dropped, &self.sealed),
            Event::MergeFailed { slice, why, over_damage } => self.note_failed_merge(&slice, why, over_damage),
            Event::Scanned(scanned) => self.reports.push_scanned(scanned),
            Event::Cut { slice, at, halves } => {
                if self.sealed.install_cut(&slice, &at, halves) {
                    self.refresh_some();
                }
            }
            Event::Ranges(ranges) => self.ranges.replace(&ranges),
            Event::Space(room) => {
                self.device.note(room, &self.sealed, &self.buffers);
                self.clean();
            }
            Event::Closed => self.closed = true,
            Event::Failed(why) => self.stop(why),
        }
    }

    fn begin_seal(&mut self, segment: Option<(SegmentNumber, View, Vec<u64>)>, reclaim: Reclaim) {
        self.maintenance_stats.seals += 1;
        self.device.set_seal_stalled(false);
        self.seal_awaited = false;
        self.reads.retire(reclaim, &mut self.work);
        let Some((number, view, prefixes)) = segment else {
            self.finish_seal();
            return;
        };
        self.write_stats.written.sealed += view.footer.total_pages() * PAGE_BYTES as u64;
        let entries = PendingEntries::new(number, &view.footer, prefixes);
        self.sealed.put_view(number, view, self.ranges.flushed_everywhere());
        if entries.is_over() {
            self.finish_seal();
        } else {
            self.installing = Some(entries);
        }
    }

    /// The oldest frozen segment is durable and indexed: drops it and recycles the log.
    fn finish_seal(&mut self) {
        self.log.recycle_to(self.buffers.drop_sealed());
        self.sealed.forget_emptied(self.buffers.oldest_frozen());
        self.work.begin_scans(&self.buffers);
        // What superseded the records of reads that were planned before has left the buffers.
        self.reads.advance(&mut self.work);
        self.refresh_some();
        self.seal_to_stop();
        self.rebuild_outgrown();
        self.clean();
    }

    /// Has tables built again that have outgrown the size they were made for.
    fn rebuild_outgrown(&mut self) {
        for low in self.sealed.take_outgrown() {
            self.work.push(self.cleaner.mode().load(low, false, true, &self.sealed));
        }
    }

    fn install_merge(&mut self, number: usize, outputs: Vec<MergedSlice>, is_partial: bool, mut reclaim: Reclaim) {
        // The merge knows what was sealed before it and beside it. A file that a newer record still names comes back to
        // the manifest when that record is sealed.
        reclaim.values.retain(|file| !self.buffers.names_value_file(*file));
        let slices = self.sealed.slices();
        let (before, bytes_before) = (slices.get(number).records(), self.sealed.totals().index_bytes);
        let count = outputs.len();
        let (mode, flushed) = (self.cleaner.mode(), self.ranges.flushed_everywhere());
        self.sealed.install_merge(number, outputs, is_partial, &reclaim, flushed, |sealed| mode.filter_room(sealed));
        self.reads.retire(reclaim, &mut self.work);
        self.cleaner.end_merge();
        self.maintenance_stats.merges += 1;
        self.refresh_some();
        self.sealed.forget_emptied(self.buffers.oldest_frozen());
        let slices = self.sealed.slices();
        let after: u64 = (number..number + count).map(|number| slices.get(number).records()).sum();
        self.flushed_entries = self.flushed_entries.saturating_sub(before.saturating_sub(after));
        let freed = bytes_before.saturating_sub(self.sealed.totals().index_bytes);
        self.cleaner.mode_mut().lower_limit(freed, &self.sealed);
        self.clean();
    }
}
