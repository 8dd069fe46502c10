//! The sealed records of a store: slices, segments and what was emptied of them.

use std::cmp::Reverse;
use std::sync::Arc;

use fawn_ring::{Interval, Key};

use super::index::{Insertion, SegmentNumber};
use super::slices::{FailedMerge, Slice, Slices};
use super::totals::{SegmentStats, SliceStats, Sum, wrong};
use super::voids::Voids;
use crate::api::{Damage, Trouble};
use crate::format::manifest::EmptiedInterval;
use crate::format::page::PAGE_BYTES;
use crate::format::segment::Footer;
use crate::merge::Overwrites;
use crate::ranges::{EmptiedIntervals, voided_share};
use crate::work::{MergedSlice, Reclaim, SliceIndex, View};

/// What it costs to make room in a table, in entries: pieces of a table are laid out alike, and call for it at about the same
/// time.
const GROWTH_COST: usize = 128;
/// The part of a store's slices whose tables are built again at a time, and the least number of them: where slices are few,
/// tables are small.
const REBUILT_SHARE: usize = 16;
const LEAST_REBUILT: usize = 4;

/// What the index says of a key.
pub(crate) enum IndexAnswer {
    /// The segments that may hold it are known.
    Known {
        /// A base is the only one, and its filter has let the key through.
        filtered: bool,
        /// There is none, as a filter has refused the base.
        refused: bool,
    },
    /// The index of its slice is not loaded; the slice that begins there is to be loaded if nobody has asked before.
    Unloaded(Option<Key>),
    /// The index of its slice cannot be built.
    Damaged(Damage),
}

/// Index entries of a segment that was just sealed, of which some may be installed.
pub(crate) struct PendingEntries {
    number: SegmentNumber,
    prefixes: Vec<u64>,
    next: usize,
    record_bytes: u64,
}

impl PendingEntries {
    /// Those of segment `number`, in key order.
    pub(crate) fn new(number: SegmentNumber, footer: &Footer, prefixes: Vec<u64>) -> Self {
        Self { number, prefixes, next: 0, record_bytes: footer.bytes / footer.records.max(1) }
    }

    /// Whether all are installed.
    pub(crate) fn is_over(&self) -> bool {
        self.next == self.prefixes.len()
    }
}

/// Totals over everything sealed, as of the last [`refresh`](SealedRecords::refresh).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SealedTotals {
    /// Record bytes in all sealed segments of all slices.
    pub bytes: u64,
    /// Of these, bytes known to be superseded or void.
    pub garbage_bytes: u64,
    /// Of `bytes` and `garbage_bytes`, what is in slices that are not stuck.
    pub merged_bytes: u64,
    pub merged_garbage: u64,
    /// DRAM of all slices' indexes, page directories and filters included.
    pub index_bytes: u64,
    /// Of `index_bytes`, bytes of page directories.
    pub directory_bytes: u64,
    /// Of `index_bytes`, bytes of filters.
    pub filter_bytes: u64,
    /// Slots in all slices' indexes.
    pub slots: u64,
}

/// All slices and sealed segments of a store.
pub(crate) struct SealedRecords {
    slices: Slices,
    /// Sealed segments by number; index 0 is never used.
    segments: Vec<Option<View>>,
    /// Intervals of which older segments are void.
    emptied: EmptiedIntervals,
    slice_stats: Sum<SliceStats>,
    /// What each segment adds, by its number.
    segment_stats: Sum<SegmentStats>,
    totals: SealedTotals,
    /// The Unix second by which records are expired that nobody has asked for, by interval.
    times: Vec<(Interval, u32)>,
    /// What the last merges and loads told of bases.
    overwrites: Overwrites,
}

impl SealedRecords {
    /// Slices, each with its horizon, that are to be loaded, over these segments.
    pub(crate) fn new(
        slices: Vec<(Interval, u64)>,
        segments: Vec<Option<View>>,
        emptied: Vec<EmptiedInterval>,
    ) -> Self {
        let slices = slices.into_iter().map(|(interval, horizon)| Slice::unloaded(interval, horizon));
        Self {
            slices: Slices::new(slices.collect()),
            segments,
            emptied: EmptiedIntervals::new(emptied),
            slice_stats: Sum::default(),
            segment_stats: Sum::default(),
            totals: SealedTotals::default(),
            times: Vec::new(),
            overwrites: Overwrites::default(),
        }
    }

    pub(crate) fn slices(&self) -> &Slices {
        &self.slices
    }

    /// The segments that there are.
    pub(crate) fn views(&self) -> impl Iterator<Item = &View> {
        self.segments.iter().flatten()
    }

    pub(crate) fn emptied(&self) -> &EmptiedIntervals {
        &self.emptied
    }

    pub(crate) fn emptied_mut(&mut self) -> &mut EmptiedIntervals {
        &mut self.emptied
    }

    pub(crate) fn totals(&self) -> &SealedTotals {
        &self.totals
    }

    /// The sum over all slices.
    pub(crate) fn slice_total(&self) -> &SliceStats {
        self.slice_stats.total()
    }

    /// What each slice adds to it.
    pub(crate) fn slice_stats(&self) -> &[SliceStats] {
        self.slice_stats.parts()
    }

    /// The sum over all segments.
    pub(crate) fn segment_total(&self) -> &SegmentStats {
        self.segment_stats.total()
    }

    /// By which times records expire that nobody asks for.
    pub(crate) fn times(&self) -> &[(Interval, u32)] {
        &self.times
    }

    pub(crate) fn set_times(&mut self, times: Vec<(Interval, u32)>) {
        self.times = times;
    }

    /// The segment that a slot names, if it is still there.
    #[inline]
    pub(crate) fn view(&self, number: SegmentNumber) -> Option<&View> {
        self.segments.get(usize::from(number.get()))?.as_ref()
    }

    /// The segment that a slot names.
    #[inline]
    pub(crate) fn live_view(&self, number: SegmentNumber) -> &View {
        self.view(number).expect("a slot names a live segment")
    }

    /// Puts the segments that may hold `key` into `candidates`, newest first.
    #[inline]
    pub(crate) fn find(&mut self, key: &Key, candidates: &mut Vec<SegmentNumber>) -> IndexAnswer {
        candidates.clear();
        let number = self.slices.find(key);
        let slice = self.slices.get_mut(number);
        let Some(table) = &slice.table else {
            if let Some(damage) = &slice.damage {
                return IndexAnswer::Damaged(damage.clone());
            }
            let is_asked_for = std::mem::replace(&mut slice.wanted, true);
            return IndexAnswer::Unloaded((!is_asked_for).then_some(slice.interval.low));
        };
        table.candidates(key.prefix(), candidates);
        // A key on a slice's border may have a slot in both slices; the segment may have left this one since.
        let (segments, emptied) = (&self.segments, &self.emptied);
        let may_hold = |number: &SegmentNumber| {
            let view = segments.get(usize::from(number.get())).and_then(Option::as_ref);
            view.is_some_and(|view| key.prefix() >= view.footer.low.prefix() && !emptied.voids(key, view.age))
        };
        candidates.retain(may_hold);
        let base = slice.base.map(|base| base.number);
        let high =
            |number: SegmentNumber| segments[usize::from(number.get())].as_ref().map(|view| view.footer.high.prefix());
        let base = base.filter(|base| may_hold(base) && high(*base).is_some_and(|high| high >= key.prefix()));
        // What is newer than the base is looked at first: only without it the filter alone decides.
        let alone = candidates.is_empty();
        let refused = base.is_some() && slice.filter.as_ref().is_some_and(|filter| !filter.may_hold(key.prefix()));
        let filtered = base.is_some() && slice.filter.is_some() && alone;
        candidates.extend(base.filter(|_| !refused));
        if candidates.len() > 1 {
            let age = |number: SegmentNumber| segments[usize::from(number.get())].as_ref().map_or(0, |view| view.age);
            candidates.sort_unstable_by_key(|number| Reverse(age(*number)));
            candidates.dedup();
        }
        IndexAnswer::Known { filtered, refused: refused && alone }
    }

    /// Takes in that slice `number` has changed.
    #[inline]
    fn count_slice(&mut self, number: usize) {
        let part = SliceStats::of(self.slices.get(number), self.superseding());
        self.slice_stats.set(number, part);
    }

    /// Takes in that segment `number` is another one, or none. Everything up to number `flushed` was flushed.
    fn count_segment(&mut self, number: usize, flushed: u64) {
        let part = self.segment_part(number, flushed);
        self.segment_stats.set(number, part);
    }

    fn segment_part(&self, number: usize, flushed: u64) -> SegmentStats {
        let Some(view) = self.segments.get(number).and_then(Option::as_ref) else { return SegmentStats::default() };
        // The slices count what is void.
        let footer = &view.footer;
        let gone = footer.deletes + expired(footer, &self.times);
        let gone = self.emptied.not_void(view, gone.max(footer.numbered_up_to(flushed)));
        SegmentStats {
            segments: 1,
            directory_bytes: view.directory.bytes() as u64,
            file_bytes: file_bytes(view),
            deletes: self.emptied.not_void(view, footer.deletes),
            garbage: footer.bytes / footer.records.max(1) * gone,
        }
    }

    /// Looks at the next `most` slices and segments again, and takes in what has changed of all. Merges have passed all
    /// segments below age `turned_age`. Called after every install, never on the request path.
    pub(crate) fn refresh(&mut self, most: usize, flushed: u64, turned_age: u64) {
        for number in self.slice_stats.next_turn(self.slices.len(), most) {
            self.count_slice(number);
        }
        for number in self.segment_stats.next_turn(self.segments.len(), most) {
            self.count_segment(number, flushed);
        }
        debug_assert_eq!(self.wrong_sum(flushed), None, "sums are what their parts add up to, and parts are of now");
        let unsliced = self.unsliced_garbage(turned_age);
        let (slices, segments) = (self.slice_stats.total(), self.segment_stats.total());
        // Of what no slice counts, stuck slices have their share.
        let merged_bytes = slices.bytes - slices.stuck_bytes;
        let share = merged_bytes as f64 / slices.bytes.max(1) as f64;
        let unsliced = (unsliced as f64 * share) as u64;
        self.totals = SealedTotals {
            bytes: slices.bytes,
            garbage_bytes: (slices.garbage + segments.garbage).min(slices.bytes),
            merged_bytes,
            merged_garbage: (slices.garbage - slices.stuck_garbage + unsliced).min(merged_bytes),
            index_bytes: slices.index_bytes + slices.filter_bytes + segments.directory_bytes,
            directory_bytes: segments.directory_bytes,
            filter_bytes: slices.filter_bytes,
            slots: slices.slots,
        };
    }

    /// Garbage of sealed segments that no slice counts and that merges free. What is stuck keeps every segment, also where
    /// all others have been merged since.
    fn unsliced_garbage(&self, turned_age: u64) -> u64 {
        if self.slice_stats.total().stuck == 0 {
            return self.segment_stats.total().garbage;
        }
        let parts = self.segments.iter().zip(self.segment_stats.parts());
        let is_young = |view: &View| view.age >= turned_age;
        parts.filter(|(view, _)| view.as_ref().is_some_and(is_young)).map(|(_, part)| part.garbage).sum()
    }

    /// What of the sums is not what adding up again gives, except for what depends on times, flushes and overwrites where
    /// that is looked at in turn.
    fn wrong_sum(&self, flushed: u64) -> Option<String> {
        let superseding = self.superseding();
        let slices = self.slices.iter().map(|slice| SliceStats::of(slice, superseding)).collect();
        let segments = (0..self.segments.len()).map(|number| self.segment_part(number, flushed)).collect();
        let slices = wrong(&self.slice_stats, slices, |now, kept| SliceStats {
            garbage: kept.garbage,
            stuck_garbage: kept.stuck_garbage,
            live: kept.live,
            ..now
        });
        let segments = wrong(&self.segment_stats, segments, |now, kept| SegmentStats {
            garbage: kept.garbage,
            deletes: kept.deletes,
            ..now
        });
        slices.or(segments)
    }

    /// The share of the records newer than a base that supersede one of it.
    pub(crate) fn superseding(&self) -> f64 {
        self.overwrites.superseding as f64 / self.overwrites.newer.max(1) as f64
    }

    /// Takes in what a merge or a load told; what was told before counts less and less.
    pub(crate) fn note_overwrites(&mut self, told: Overwrites) {
        let Overwrites { newer, superseding } = &mut self.overwrites;
        *newer += told.newer;
        *superseding += told.superseding;
        if *newer > self.totals.slots.max(1024) {
            *newer /= 2;
            *superseding /= 2;
        }
    }

    /// Puts a segment in its place.
    pub(crate) fn put_view(&mut self, number: SegmentNumber, view: View, flushed: u64) {
        let index = usize::from(number.get());
        if self.segments.len() <= index {
            self.segments.resize_with(index + 1, || None);
        }
        assert!(self.segments[index].is_none(), "a segment number is free before it is used again");
        self.segments[index] = Some(view);
        self.count_segment(index, flushed);
    }

    /// Inserts entries of a segment that was just sealed, as many as `budget` pays for; returns what they cost.
    pub(crate) fn index_entries(&mut self, entries: &mut PendingEntries, budget: usize) -> usize {
        let mut cost = 0;
        // Slices that have got entries, in their order.
        let mut grown: Vec<usize> = Vec::new();
        if let Some(first) = entries.prefixes.get(entries.next) {
            let mut number = self.slices.find(&Key::lowest_with_prefix(*first));
            let voids = Voids { segments: &self.segments, emptied: self.emptied.all() };
            while let Some(prefix) = entries.prefixes.get(entries.next).filter(|_| cost < budget) {
                while self.slices.get(number).interval.high.prefix() < *prefix {
                    number += 1;
                }
                cost += 1;
                // A prefix on the border between slices may belong to either: it is indexed in both.
                let mut each = number;
                while each < self.slices.len() && self.slices.get(each).interval.low.prefix() <= *prefix {
                    let grew = insert(self.slices.get_mut(each), *prefix, entries.number, entries.record_bytes, voids);
                    cost += if grew { GROWTH_COST } else { 0 };
                    if grown.last().is_none_or(|last| *last < each) {
                        grown.push(each);
                    }
                    each += 1;
                }
                entries.next += 1;
            }
        }
        for number in grown {
            self.count_slice(number);
        }
        cost.min(budget)
    }

    /// Installs the index of the slice that begins at `slice`. All filters may take as many bytes as `filter_room` says.
    pub(crate) fn install_loaded(&mut self, slice: &Key, index: SliceIndex, filter_room: impl Fn(&Self) -> u64) {
        if let Some(number) = self.slices.starting_at(slice) {
            let index = self.with_filter_that_fits(index, self.filter_bytes_beside(number), filter_room);
            let slice = self.slices.get_mut(number);
            (slice.wanted, slice.damage) = (false, None);
            slice.take(index);
            self.count_void(number);
            self.count_slice(number);
        }
    }

    /// The index of the slice that begins at `slice` cannot be built. Returns what is to be reported of it.
    pub(crate) fn note_failed_load(&mut self, slice: &Key, damage: Damage, retry: bool) -> Option<Trouble> {
        let mut trouble = None;
        if let Some(number) = self.slices.starting_at(slice) {
            let slice = self.slices.get_mut(number);
            slice.wanted = false;
            if slice.table.is_none() {
                if slice.damage.as_ref() != Some(&damage) {
                    trouble = Some(Trouble::CannotLoad(damage.clone()));
                }
                (slice.damage, slice.retry) = (Some(damage), retry);
            }
            self.count_slice(number);
        }
        trouble
    }

    /// Low ends of slices whose load failed and is to be tried again.
    pub(crate) fn take_retries(&mut self) -> Vec<Key> {
        let mut lows = Vec::new();
        if self.slice_stats.total().retry == 0 {
            return lows;
        }
        for number in 0..self.slices.len() {
            let slice = self.slices.get_mut(number);
            if std::mem::take(&mut slice.retry) {
                lows.push(slice.interval.low);
                self.count_slice(number);
            }
        }
        lows
    }

    /// Low ends of slices whose tables are to be built again, as they have outgrown the size they were made for, where false
    /// matches become frequent: some of them at a time, as each is there twice until it is installed, and slices of one
    /// size outgrow it together.
    pub(crate) fn take_outgrown(&mut self) -> Vec<Key> {
        if self.slice_stats.total().outgrown == 0 || self.slices.iter().any(|slice| slice.wanted) {
            return Vec::new();
        }
        let most = self.slices.len().div_ceil(REBUILT_SHARE).max(LEAST_REBUILT);
        let parts = self.slice_stats.parts().iter().enumerate();
        let outgrown: Vec<usize> =
            parts.filter(|(_, part)| part.outgrown > 0).map(|(number, _)| number).take(most).collect();
        outgrown.into_iter().map(|number| self.want(number)).collect()
    }

    /// Low ends of slices with bases, whose tables are to be built again to hold everything.
    pub(crate) fn take_drained(&mut self) -> Vec<Key> {
        let has_base = |number: &usize| {
            let slice = self.slices.get(*number);
            slice.base.is_some() && !slice.wanted
        };
        let drained: Vec<usize> = (0..self.slices.len()).filter(has_base).collect();
        drained.into_iter().map(|number| self.want(number)).collect()
    }

    fn want(&mut self, number: usize) -> Key {
        let slice = self.slices.get_mut(number);
        slice.wanted = true;
        slice.interval.low
    }

    /// Puts what a merge made of slice `number` in its place. A file that a merge emptied is gone from here on. All filters
    /// may take as many bytes as `filter_room` says.
    pub(crate) fn install_merge(
        &mut self,
        number: usize,
        outputs: Vec<MergedSlice>,
        is_partial: bool,
        reclaim: &Reclaim,
        flushed: u64,
        filter_room: impl Fn(&Self) -> u64,
    ) {
        for (segment, _) in &reclaim.segments {
            self.segments[usize::from(segment.get())] = None;
            self.count_segment(usize::from(segment.get()), flushed);
        }
        let mut slices = Vec::with_capacity(outputs.len());
        let mut filters = self.filter_bytes_beside(number);
        for output in outputs {
            if let Some((segment, view)) = output.run {
                self.put_view(segment, view, flushed);
            }
            let index = self.with_filter_that_fits(output.index, filters, &filter_room);
            filters += index.filter.as_ref().map_or(0, |filter| filter.bytes() as u64);
            let before = self.slices.get(number);
            let mut slice = Slice::loaded(before, output.interval, output.horizon, index);
            slice.failed_merge = before.failed_merge.clone().filter(|_| is_partial);
            slices.push(slice);
        }
        self.put_slices(number, slices);
    }

    /// A merge of the slice that begins at `slice` has failed. It is stuck until second `again` of the uptime, if that is
    /// given. Whether another merge of it failed for the same reason before; `None` if there is no such slice.
    pub(crate) fn note_failed_merge(&mut self, slice: &Key, why: &str, again: Option<u64>) -> Option<bool> {
        let number = self.slices.starting_at(slice)?;
        let failed = FailedMerge { why: why.to_owned(), again };
        let before = self.slices.get_mut(number).failed_merge.replace(failed);
        self.count_slice(number);
        Some(before.is_some_and(|before| before.why == why))
    }

    /// Puts slices that tile slice `number` in its place.
    fn put_slices(&mut self, number: usize, slices: Vec<Slice>) {
        let count = slices.len();
        let shared = self.slices.get(number).filter.as_ref().map(Arc::as_ptr);
        self.slices.replace(number, slices);
        self.slice_stats.replace(number, count);
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

    /// The slice that begins at `slice` was cut after `at`. Whether there is such a slice.
    pub(crate) fn install_cut(&mut self, slice: &Key, at: &Key, halves: Option<Box<[SliceIndex; 2]>>) -> bool {
        let Some(number) = self.slices.starting_at(slice) else { return false };
        let Some((left, right)) = self.slices.get(number).interval.cut(at) else { return false };
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
        true
    }

    /// Makes everything void that is below age `below` in `interval`.
    pub(crate) fn empty(&mut self, interval: Interval, below: u64) {
        self.emptied.add(interval, below);
        // What comes there next may be of an earlier time.
        self.times.retain(|(keys, _)| !keys.overlaps(&interval));
        for number in self.slices.find(&interval.low)..=self.slices.find(&interval.high) {
            let slice = self.slices.get_mut(number);
            let keys = slice.interval;
            if interval.low <= keys.low && keys.high <= interval.high {
                (slice.void, slice.stale) = (slice.slots(), 0);
                slice.base_void = slice.base.map_or(0, |base| base.records);
            } else if interval.overlaps(&keys) {
                self.count_void(number);
            }
        }
    }

    /// Forgets what was emptied where nothing older is left; `oldest` is the age of the oldest frozen segment.
    pub(crate) fn forget_emptied(&mut self, oldest: u64) {
        let segments = &self.segments;
        self.emptied.retain(|emptied| {
            oldest < emptied.below || segments.iter().flatten().any(|view| voided_share(view, emptied) > 0.0)
        });
    }

    /// Counts again what is void and what is superseded of a slice into which something reaches that was emptied.
    fn count_void(&mut self, number: usize) {
        let slice = self.slices.get_mut(number);
        if !self.emptied.all().iter().any(|emptied| emptied.interval.overlaps(&slice.interval)) {
            return;
        }
        let voids = Voids { segments: &self.segments, emptied: self.emptied.all() };
        if let Some(table) = &slice.table {
            (slice.void, slice.stale) = voids.count(table);
        }
        if let Some(base) = slice.base {
            let share = voids.share_of_base(base, &slice.interval);
            slice.base_void = (base.records as f64 * share).round() as u64;
        }
    }

    /// Bytes of all filters except that of slice `number`.
    pub(crate) fn filter_bytes_beside(&self, number: usize) -> u64 {
        self.totals.filter_bytes.saturating_sub(self.slices.get(number).filter_bytes())
    }

    /// An index that was just built, without its filter where that does not fit beside `others`, the bytes of the others.
    fn with_filter_that_fits(&self, index: SliceIndex, others: u64, room: impl Fn(&Self) -> u64) -> SliceIndex {
        let filter = index.filter.filter(|filter| others + filter.bytes() as u64 <= room(self));
        SliceIndex { filter, ..index }
    }
}

/// Indexes one record; whether its table had to make room.
#[inline]
fn insert(slice: &mut Slice, prefix: u64, number: SegmentNumber, record_bytes: u64, voids: Voids<'_>) -> bool {
    slice.bytes += record_bytes;
    let Some(table) = &mut slice.table else { return false };
    let Insertion { equal, grew } = table.insert(prefix, number);
    voids.count_inserted(slice, prefix, number, equal);
    grew
}

/// Bytes of a segment's file.
fn file_bytes(view: &View) -> u64 {
    view.footer.total_pages() * PAGE_BYTES as u64
}

/// Records of a segment that have expired, about: where all that are to expire have by then.
fn expired(footer: &Footer, times: &[(Interval, u32)]) -> u64 {
    if footer.expiring == 0 {
        return 0;
    }
    let due = times.iter().filter(|(_, now)| footer.latest_expiry <= *now);
    let share: f64 = due.map(|(keys, _)| footer.share_in(keys)).sum();
    (footer.expiring as f64 * share.min(1.0)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed::A_TURN;
    use crate::sealed::index::Table;

    fn sealed(slices: usize) -> SealedRecords {
        let slices = Interval::ALL.divide(slices as u32).into_iter().map(|interval| (interval, 3));
        let mut sealed = SealedRecords::new(slices.collect(), Vec::new(), Vec::new());
        sealed.refresh(usize::MAX / 2, 0, 0);
        sealed
    }

    fn index(interval: Interval) -> SliceIndex {
        let (low, high) = (interval.low.prefix(), interval.high.prefix());
        let table = Table::from_sorted(low, high, 0, std::iter::empty());
        SliceIndex { table, base: None, filter: None, bytes: 0, stale: 0 }
    }

    #[test]
    fn a_slice_is_asked_for_once_until_it_is_loaded() {
        let mut sealed = sealed(2);
        let mut candidates = Vec::new();
        let asked = |answer| matches!(answer, IndexAnswer::Unloaded(Some(low)) if low == Key::MIN);
        assert!(asked(sealed.find(&Key::MIN, &mut candidates)));
        assert!(matches!(sealed.find(&Key::MIN, &mut candidates), IndexAnswer::Unloaded(None)));
        sealed.install_loaded(&Key::MIN, index(sealed.slices().get(0).interval), |_| 0);
        let known = sealed.find(&Key::MIN, &mut candidates);
        assert!(matches!(known, IndexAnswer::Known { filtered: false, refused: false }) && candidates.is_empty());
        sealed.refresh(A_TURN, 0, 0);
        assert_eq!((sealed.slice_total().unloaded, sealed.slices().horizon(&Interval::ALL)), (1, 3));
    }

    #[test]
    fn a_slice_that_is_cut_makes_two() {
        let mut sealed = sealed(1);
        let middle = Interval::ALL.divide(2)[0].high;
        assert!(sealed.install_cut(&Key::MIN, &middle, None) && !sealed.install_cut(&Key::MAX, &middle, None));
        assert_eq!((sealed.slices().len(), sealed.slice_total().loading), (2, 2));
        assert_eq!(sealed.note_failed_merge(&Key::MIN, "why", Some(5)), Some(false));
        assert_eq!((sealed.note_failed_merge(&Key::MIN, "why", None), sealed.slice_total().failed), (Some(true), 1));
    }
}
