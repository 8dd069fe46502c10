//! Installing what the maintenance half has done, in bounded steps.

use std::sync::Arc;

use fawn_ring::{Interval, Key};

use super::slices::Slice;
use super::voided::Voids;
use super::{Install, RangeState, Store};
use crate::api::Trouble;
use crate::index::{Inserted, SegmentNumber};
use crate::page::PAGE_BYTES;
use crate::work::{Event, MergedSlice, RangeMark, Reclaim, SliceIndex, View};

/// What it costs to make room in a table, in entries: pieces of a table are laid out alike, and call for it at about the same
/// time.
const GROWTH_COST: usize = 128;
/// The part of a store's slices whose tables are built anew at a time, and the least number of them: where slices are few,
/// tables are small.
const REBUILT_SHARE: usize = 16;
const LEAST_REBUILT: usize = 4;

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
            if self.installing.is_some() {
                left -= self.install_entries(left);
                if self.installing.is_some() {
                    return true;
                }
            }
            let Some(event) = self.events.pop_front() else {
                // What the index has grown by, the cache gives back.
                return budget > 0 && self.shrink_cache();
            };
            self.begin(event);
        }
    }

    fn begin(&mut self, event: Event) {
        match event {
            Event::Sealed { segment, reclaim } => self.begin_seal(segment, reclaim),
            Event::Stalled => self.seal_stalled = true,
            Event::Loaded { slice, index, overwrites } => {
                if let Some(number) = self.slices.starting_at(&slice) {
                    let others = self.filter_bytes_beside(number);
                    let index = self.with_filter_that_fits(index, others);
                    let slice = self.slices.get_mut(number);
                    (slice.wanted, slice.damage) = (false, None);
                    slice.take(index);
                    self.count_void(number);
                    self.count_slice(number);
                }
                self.note_overwrites(overwrites);
                self.recount();
                self.rebuild_outgrown();
                self.clean();
            }
            Event::LoadFailed { slice, damage, retry } => {
                let mut told = None;
                if let Some(number) = self.slices.starting_at(&slice) {
                    let slice = self.slices.get_mut(number);
                    slice.wanted = false;
                    if slice.table.is_none() {
                        if slice.damage.as_ref() != Some(&damage) {
                            told = Some(Trouble::CannotLoad(damage.clone()));
                        }
                        (slice.damage, slice.retry) = (Some(damage), retry);
                    }
                    self.count_slice(number);
                }
                if let Some(trouble) = told {
                    self.note_trouble(trouble);
                }
                // The other slices may have waited for this one.
                self.clean();
            }
            Event::Merged { slice, outputs, is_partial, overwrites, written_bytes, lost, reclaim } => {
                self.counters.written.merged += written_bytes;
                if let Some(lost) = lost {
                    self.counters.lost += lost.records;
                    self.note_trouble(Trouble::Lost(lost));
                }
                if let Some(number) = self.slices.starting_at(&slice) {
                    self.note_overwrites(overwrites);
                    self.install_merge(number, outputs, is_partial, reclaim);
                }
            }
            Event::Merging { newer, dropped } => {
                self.note_progress(if self.draining.on { newer } else { dropped });
            }
            Event::MergeFailed { slice, why, over_damage } => self.note_failed_merge(&slice, why, over_damage),
            Event::Scanned(scanned) => self.scanned.push_back(scanned),
            Event::Cut { slice, at, halves } => self.install_cut(&slice, &at, halves),
            Event::Ranges(ranges) => self.install_ranges(&ranges),
            Event::Space(room) => {
                self.note_room(room);
                self.clean();
            }
            Event::Closed => self.closed = true,
            Event::Failed(why) => self.stop(why),
        }
    }

    fn begin_seal(&mut self, segment: Option<(SegmentNumber, View, Vec<u64>)>, reclaim: Reclaim) {
        self.counters.seals += 1;
        self.seal_stalled = false;
        self.seal_awaited = false;
        self.retire(reclaim);
        let Some((number, view, prefixes)) = segment else {
            self.finish_seal();
            return;
        };
        let record_bytes = view.footer.bytes / view.footer.records.max(1);
        self.counters.written.sealed += view.footer.total_pages() * PAGE_BYTES as u64;
        self.put_view(number, view);
        self.installing = Some(Install { number, prefixes, next: 0, record_bytes });
        if self.installing.as_ref().is_some_and(|install| install.prefixes.is_empty()) {
            self.installing = None;
            self.finish_seal();
        }
    }

    /// Inserts entries of the seal under way, as many as `budget` pays for; returns what they cost.
    fn install_entries(&mut self, budget: usize) -> usize {
        let Some(install) = &mut self.installing else {
            return 0;
        };
        let mut cost = 0;
        // Slices that have got entries, in their order.
        let mut grown: Vec<usize> = Vec::new();
        if let Some(first) = install.prefixes.get(install.next) {
            let mut number = self.slices.find(&Key::lowest_with_prefix(*first));
            let voids = Voids { segments: &self.segments, emptied: &self.emptied };
            while let Some(prefix) = install.prefixes.get(install.next).filter(|_| cost < budget) {
                while self.slices.get(number).interval.high.prefix() < *prefix {
                    number += 1;
                }
                cost += 1;
                // A prefix on the border between slices may belong to either: it is indexed in both.
                let mut each = number;
                while each < self.slices.len() && self.slices.get(each).interval.low.prefix() <= *prefix {
                    let grew = insert(self.slices.get_mut(each), *prefix, install.number, install.record_bytes, voids);
                    cost += if grew { GROWTH_COST } else { 0 };
                    if grown.last().is_none_or(|last| *last < each) {
                        grown.push(each);
                    }
                    each += 1;
                }
                install.next += 1;
            }
        }
        let is_over = install.next == install.prefixes.len();
        for number in grown {
            self.count_slice(number);
        }
        if is_over {
            self.installing = None;
            self.finish_seal();
        }
        cost.min(budget)
    }

    /// The oldest frozen segment is durable and indexed: drops it and recycles the log.
    fn finish_seal(&mut self) {
        let frozen = self.frozen.pop_front().expect("a seal completes a frozen segment");
        if !self.replaying {
            self.log.recycle_to(frozen.log_start);
        }
        self.forget_emptied();
        self.begin_scans();
        if let Ok(mut segment) = Arc::try_unwrap(frozen.segment) {
            segment.clear();
            if segment.capacity() == self.segment_bytes {
                self.spare.push(segment);
            }
        }
        // Reads planned before must not fill the cache any more: what superseded them has left the buffers.
        self.views.advance();
        self.reclaim();
        self.recount();
        self.seal_to_stop();
        self.rebuild_outgrown();
        self.clean();
    }

    /// Has tables built anew that have outgrown the size they were made for, where false matches become frequent: some of
    /// them at a time, as each is there twice until it is installed, and slices of one size outgrow it together.
    fn rebuild_outgrown(&mut self) {
        if self.sums.slices.total().outgrown == 0 || self.slices.iter().any(|slice| slice.wanted) {
            return;
        }
        let most = self.slices.len().div_ceil(REBUILT_SHARE).max(LEAST_REBUILT);
        let parts = self.sums.slices.parts().iter().enumerate();
        let outgrown: Vec<usize> =
            parts.filter(|(_, part)| part.outgrown > 0).map(|(number, _)| number).take(most).collect();
        for number in outgrown {
            let slice = self.slices.get_mut(number);
            slice.wanted = true;
            let low = slice.interval.low;
            let work = self.load_work(low, false, true);
            self.work.push_back(work);
        }
    }

    fn install_merge(&mut self, number: usize, outputs: Vec<MergedSlice>, is_partial: bool, mut reclaim: Reclaim) {
        // The merge knows what was sealed before it and beside it. A file that a newer record still names comes back to
        // the manifest when that record is sealed.
        reclaim.values.retain(|file| !self.buffers_name(*file));
        let (before, bytes_before) = (self.slices.get(number).records(), self.cleaning.index_bytes);
        let mut slices = Vec::with_capacity(outputs.len());
        for (segment, _) in &reclaim.segments {
            self.segments[usize::from(segment.get())] = None;
            self.count_segment(usize::from(segment.get()));
        }
        let count = outputs.len();
        let mut filters = self.filter_bytes_beside(number);
        for output in outputs {
            if let Some((segment, view)) = output.run {
                self.put_view(segment, view);
            }
            let index = self.with_filter_that_fits(output.index, filters);
            filters += index.filter.as_ref().map_or(0, |filter| filter.bytes() as u64);
            let before = self.slices.get(number);
            let mut slice = Slice::loaded(before, output.interval, output.horizon, index);
            slice.failed_merge = before.failed_merge.clone().filter(|_| is_partial);
            slices.push(slice);
        }
        self.put_slices(number, slices);
        self.retire(reclaim);
        self.cleaning.merging = false;
        self.cleaning.failures = 0;
        self.counters.merges += 1;
        self.recount();
        self.forget_emptied();
        let after: u64 = (number..number + count).map(|number| self.slices.get(number).records()).sum();
        let gone = before.saturating_sub(after);
        self.flushed_entries = self.flushed_entries.saturating_sub(gone);
        self.lower_limit(bytes_before.saturating_sub(self.cleaning.index_bytes));
        self.clean();
    }

    /// Begins a new view; what `reclaim` names is given back once no read of an earlier one is left.
    fn retire(&mut self, reclaim: Reclaim) {
        let before = self.views.advance();
        self.retired.push_back((before, reclaim));
        self.reclaim();
    }

    fn put_view(&mut self, number: SegmentNumber, view: View) {
        let index = usize::from(number.get());
        if self.segments.len() <= index {
            self.segments.resize_with(index + 1, || None);
        }
        assert!(self.segments[index].is_none(), "a segment number is free before it is used again");
        self.segments[index] = Some(view);
        self.count_segment(index);
    }

    /// Puts slices that tile slice `number` in its place.
    fn put_slices(&mut self, number: usize, slices: Vec<Slice>) {
        let count = slices.len();
        let shared = self.slices.get(number).filter.as_ref().map(Arc::as_ptr);
        self.slices.replace(number, slices);
        self.sums.slices.replace(number, count);
        for number in number..number + count {
            self.count_void(number);
            self.count_slice(number);
        }
        // Slices that were cut share a filter, and lie beside each other; how much of it is theirs has changed.
        let shares =
            |other: &usize| shared.is_some() && self.slices.get(*other).filter.as_ref().map(Arc::as_ptr) == shared;
        let before = (0..number).rev().take_while(shares);
        let others: Vec<usize> = before.chain((number + count..self.slices.len()).take_while(shares)).collect();
        for other in others {
            self.count_slice(other);
        }
    }

    fn install_cut(&mut self, slice: &Key, at: &Key, halves: Option<Box<[SliceIndex; 2]>>) {
        if let Some(number) = self.slices.starting_at(slice)
            && let Some((left, right)) = self.slices.get(number).interval.cut(at)
        {
            let before = self.slices.get(number);
            let horizon = before.horizon;
            let failed = before.failed_merge.clone();
            let mut slices = match halves.map(|halves| *halves) {
                Some([lower, upper]) => {
                    vec![Slice::loaded(before, left, horizon, lower), Slice::loaded(before, right, horizon, upper)]
                }
                None => vec![Slice::unloaded(left, horizon), Slice::unloaded(right, horizon)],
            };
            for slice in &mut slices {
                slice.failed_merge.clone_from(&failed);
            }
            self.put_slices(number, slices);
            self.recount();
        }
    }

    fn install_ranges(&mut self, ranges: &[(u64, Interval, u32)]) {
        let before = std::mem::take(&mut self.ranges);
        self.ranges = ranges
            .iter()
            .map(|(instance, interval, epoch)| {
                let parents = before.iter().filter(|range| range.mark.interval.overlaps(interval));
                let first =
                    before.iter().find(|range| range.mark.interval.overlaps(interval)).expect("ranges tile the store");
                let mut mark = RangeMark { instance: *instance, interval: *interval, ..first.mark };
                for parent in parents {
                    mark.last_seq = mark.last_seq.max(parent.mark.last_seq);
                    mark.flush_watermark = mark.flush_watermark.max(parent.mark.flush_watermark);
                    mark.flush_deadline = mark.flush_deadline.max(parent.mark.flush_deadline);
                }
                RangeState { mark, epoch: *epoch }
            })
            .collect();
    }
}

/// Indexes one record; whether its table had to make room.
#[inline]
fn insert(slice: &mut Slice, prefix: u64, number: SegmentNumber, record_bytes: u64, voids: Voids<'_>) -> bool {
    slice.bytes += record_bytes;
    let Some(table) = &mut slice.table else { return false };
    let Inserted { equal, grew } = table.insert(prefix, number);
    voids.count_inserted(slice, prefix, number, equal);
    grew
}
