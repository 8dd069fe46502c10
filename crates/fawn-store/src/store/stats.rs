//! Figures that a store reports about itself.

use super::Store;
use crate::open_segment::OpenSegment;
use crate::page::PAGE_BYTES;
use fawn_ring::{Interval, Key};

/// So many entries of a buffer are looked at to tell how many lie in some stretches of keys.
const LOOKED_AT: usize = 4096;

/// So many entries of a buffer are looked up in what is older, to tell how many are overwrites: less than a millisecond.
const LOOKED_UP: usize = 2048;

/// A stretch of keys that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The positions of the keys.
    pub keys: Interval,
    /// What is numbered up to here is gone.
    pub flushed: u64,
}

/// What lies in some stretches of keys, about: see [`Store::held_in`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Number of live keys.
    pub entries: f64,
    /// Bytes of their records.
    pub bytes: f64,
}

/// A count of what lies in some stretches of keys that is made in pieces: see [`Store::count_on`]. It begins again if a segment
/// is sealed or merged meanwhile.
#[derive(Debug)]
pub struct Count {
    parts: Vec<Stretch>,
    all: Vec<Interval>,
    /// Seals, merges and frozen buffers when it began.
    stamp: Option<(u64, u64, usize)>,
    /// The buffer that is counted next, and from which of its entries.
    next: (usize, usize),
    /// What the buffers hold of each part.
    held: Vec<Held>,
    /// What of it is counted twice.
    twice: Vec<Held>,
}

impl Count {
    /// One that begins. The stretches and intervals are those of [`Store::held_in`].
    pub fn new(parts: Vec<Stretch>, all: Vec<Interval>) -> Self {
        Self { parts, all, stamp: None, next: (0, 0), held: Vec::new(), twice: Vec::new() }
    }
}

/// What was written to the device, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records that users wrote. Of those before the store was last opened, those that were sealed.
    pub user: u64,
    /// Pages of the commit log.
    pub log: u64,
    /// Files of sealed segments.
    pub sealed: u64,
    /// Files that merges wrote.
    pub merged: u64,
}

impl Written {
    /// Bytes written for each byte that users wrote; 0 where they wrote nothing. Value files, which are written once, and
    /// the manifest are left out.
    pub fn amplification(&self) -> f64 {
        if self.user == 0 { 0.0 } else { (self.log + self.sealed + self.merged) as f64 / self.user as f64 }
    }

    /// The bytes of two stores together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            user: self.user + other.user,
            log: self.log + other.log,
            sealed: self.sealed + other.sealed,
            merged: self.merged + other.merged,
        }
    }

    /// What came after `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            log: self.log.saturating_sub(before.log),
            sealed: self.sealed.saturating_sub(before.sealed),
            merged: self.merged.saturating_sub(before.merged),
        }
    }
}

/// Counters of the event-loop half, since opening.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Since the store was made, but for what `appended_bytes` and the log say.
    pub written: Written,
    /// `written` as it was when the store was opened.
    pub written_before: Written,
    pub lookups: u64,
    pub reads: u64,
    pub pages_read: u64,
    pub false_reads: u64,
    pub read_hits: u64,
    pub hit_reads: u64,
    pub filter_refused: u64,
    pub filter_passed: u64,
    pub appends: u64,
    pub appended_bytes: u64,
    pub superseded: u64,
    pub batches: u64,
    pub marks: u64,
    pub seals: u64,
    pub merges: u64,
    pub merge_failures: u64,
    pub last_merge_failure: Option<String>,
    pub lost: u64,
    pub refused_memory: u64,
    pub refused_space: u64,
}

impl Counters {
    /// Those of a store to which so much was written before.
    pub(super) fn beginning_with(written: Written) -> Self {
        Self { written, written_before: written, ..Self::default() }
    }

    #[inline]
    pub(super) fn appended(&mut self, bytes: usize, superseded: bool) {
        self.appends += 1;
        self.appended_bytes += bytes as u64;
        self.superseded += u64::from(superseded);
    }
}

/// A store's figures. Bytes are bytes, counts are since opening unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Live keys: an estimate while overwrites are unresolved (a superseded record is told by its index position,
    /// which two keys share once in thousands; of large buffers, overwrites of what is older are told from a sample; a
    /// deleted key that came back counts as deleted until merged). What was emptied is told record by record in slices
    /// of thousands, from a sample in larger ones; deletions among it are told from the width of what was emptied.
    pub entries: u64,
    /// Live keys in the open and frozen segments.
    pub buffered_entries: u64,
    /// Live keys in sealed segments, also those that a newer record in a buffer supersedes.
    pub sealed_entries: u64,
    /// Slots in the index of sealed records, superseded ones included.
    pub index_slots: u64,
    /// DRAM of the index of sealed records: tables, page directories and filters.
    pub index_bytes: u64,
    /// Of `index_bytes`, bytes of page directories.
    pub directory_bytes: u64,
    /// Of these, filters of bases. One that slices share counts once.
    pub filter_bytes: u64,
    /// Whether DRAM cannot index every record, so that merges make bases without index entries.
    pub draining: bool,
    /// Index bytes above which slices are merged in turn.
    pub index_limit: u64,
    /// Share of the sealed records that has index entries, from 0 to 1: 1 when every slice is indexed whole.
    pub phi: f64,
    /// DRAM of the open and frozen segments' hash indexes.
    pub open_index_bytes: u64,
    /// `index_bytes` a live sealed entry.
    pub index_bytes_per_entry: f64,
    /// DRAM of the write buffers, their indexes included.
    pub buffer_bytes: u64,
    /// DRAM of the record cache.
    pub cache_bytes: u64,
    /// Records in the cache.
    pub cache_entries: u64,
    /// Lookups that the cache answered.
    pub cache_hits: u64,
    /// Lookups that got as far as the cache and were not answered.
    pub cache_misses: u64,
    /// Bytes of DRAM that the store may use.
    pub memory_limit: u64,
    /// Number of slices.
    pub slices: u64,
    /// Slices whose index is loaded.
    pub slices_loaded: u64,
    /// Number of sealed segments.
    pub segments: u64,
    /// Record bytes that are not known to be superseded or void, sealed and buffered.
    pub live_bytes: u64,
    /// Records in sealed segments of all slices, superseded ones included; about, where slices have bases.
    pub sealed_records: u64,
    /// Record bytes in sealed segments of all slices.
    pub sealed_bytes: u64,
    /// Of these, bytes known to be superseded, or void: deleted, expired, flushed or emptied. No record counts twice for
    /// having been both superseded and emptied.
    pub garbage_bytes: u64,
    /// Pages of sealed segment files, drained parts included.
    pub segment_file_bytes: u64,
    /// Lookups since the opening.
    pub lookups: u64,
    /// Reads that lookups have asked for.
    pub reads: u64,
    /// Pages in these reads.
    pub pages_read: u64,
    /// Reads that did not hold the key sought.
    pub false_reads: u64,
    /// Lookups that found their item by reading.
    pub read_hits: u64,
    /// The reads of those lookups, false ones included.
    pub hit_reads: u64,
    /// Lookups that no read was needed for because a filter said that the base does not hold the key.
    pub filter_refused: u64,
    /// Reads of a base alone that does not hold the key, although its filter has let it through. Of all that filters have
    /// judged and bases do not hold, the share `filter_passed / (filter_passed + filter_refused)` is false.
    pub filter_passed: u64,
    /// Records appended since the opening.
    pub appends: u64,
    /// Bytes of the appended records.
    pub appended_bytes: u64,
    /// Written to the device since the store was made.
    pub written: Written,
    /// `written` as it was when the store was opened.
    pub written_before: Written,
    /// Records superseded before they were sealed.
    pub superseded: u64,
    /// Batches of the commit log that were written.
    pub batches: u64,
    /// Empty batches beside these, written when the log was idle.
    pub marks: u64,
    /// Size of the commit log.
    pub log_bytes: u64,
    /// Of these, bytes that recovery would read.
    pub log_used_bytes: u64,
    /// Seals whose segment is in the index.
    pub seals: u64,
    /// Merges whose run is in the index.
    pub merges: u64,
    /// Merges that failed since the opening.
    pub merge_failures: u64,
    /// Why the last one failed.
    pub last_merge_failure: Option<String>,
    /// Records that merges since the opening found cannot be read any more: gets of their keys fail until they are written
    /// anew.
    pub lost_records: u64,
    /// Puts refused because the index had reached the memory budget.
    pub refused_memory: u64,
    /// Puts refused because only the device's reserve was left.
    pub refused_space: u64,
    /// Size of the device; 0 when not known yet.
    pub device_bytes: u64,
    /// Free space on the device.
    pub device_free_bytes: u64,
}

impl Store {
    /// Live keys in frozen and sealed segments, about, flushed ones included.
    pub(super) fn entries_beside_open(&self) -> u64 {
        let (slices, segments) = (self.sums.slices.total(), self.sums.segments.total());
        slices.live.saturating_sub(segments.deletes) + self.frozen_live().entries.round() as u64
    }

    /// Number of merges whose run is in the index.
    #[inline]
    pub fn merges(&self) -> u64 {
        self.counters.merges
    }

    /// What lies in each of `parts`, which lie side by side in order, of all that lies in `all`, beyond which the store has
    /// nothing: counted where little is buffered, else taken for a share of what is there, as keys are evenly spread.
    /// Overwrites are told as in [`Stats::entries`]. It takes milliseconds where much is buffered: a [`Count`] is made in
    /// pieces.
    pub fn held_in(&self, parts: &[Stretch], all: &[Interval]) -> Vec<Held> {
        let mut count = Count::new(parts.to_vec(), all.to_vec());
        loop {
            if let Some(held) = self.count_on(&mut count, usize::MAX) {
                return held;
            }
        }
    }

    /// Goes on with a count, by so many entries of buffers; what it came to, once it is done.
    pub fn count_on(&self, count: &mut Count, entries: usize) -> Option<Vec<Held>> {
        let stamp = (self.counters.seals, self.counters.merges, self.frozen.len());
        if count.stamp != Some(stamp) {
            let parts = count.parts.len();
            (count.stamp, count.next) = (Some(stamp), (0, 0));
            (count.held, count.twice) = (vec![Held::default(); parts], vec![Held::default(); parts]);
        }
        let parts = &count.parts;
        let part_of = |key: &Key| {
            let at = parts.partition_point(|part| part.keys.high < *key);
            parts.get(at).filter(|part| part.keys.low <= *key).map(|part| (at, part.flushed))
        };
        let (buffer, from) = count.next;
        if let Some((segment, _)) = self.buffers().nth(buffer) {
            let end = segment.keys().min(LOOKED_AT);
            let to = from.saturating_add(entries).min(end);
            self.add_buffered(buffer, (LOOKED_AT, &(from..to)), part_of, &mut count.held);
            let looked_up = from.min(LOOKED_UP)..to.min(LOOKED_UP);
            self.add_superseded(buffer, (LOOKED_UP, &looked_up), part_of, &mut count.twice);
            count.next = if to >= end { (buffer + 1, 0) } else { (buffer, to) };
            return None;
        }
        let held = count.parts.iter().zip(&count.held).zip(&count.twice);
        let held = held.map(|((part, buffered), twice)| {
            let sealed = self.sealed_in(part, &count.all);
            Held {
                entries: (sealed.entries + buffered.entries - twice.entries).max(0.0),
                bytes: (sealed.bytes + buffered.bytes - twice.bytes).max(0.0),
            }
        });
        Some(held.collect())
    }

    fn sealed_in(&self, part: &Stretch, all: &[Interval]) -> Held {
        let (mut entries, mut bytes) = (0.0, 0.0);
        let superseding = self.draining.superseding();
        for slice in self.slices.iter() {
            let share = share(&slice.interval.low, &slice.interval.high, &part.keys, all);
            entries += share * slice.live(superseding) as f64;
            bytes += share * slice.bytes.saturating_sub(slice.garbage(superseding)) as f64;
        }
        for view in self.segments.iter().flatten() {
            let footer = &view.footer;
            let flushed = self.not_emptied(view, footer.numbered_up_to(part.flushed));
            let gone = flushed.max(self.not_emptied(view, footer.deletes));
            let share = share(&footer.low, &footer.high, &part.keys, all);
            entries -= share * gone as f64;
            bytes -= share * footer.bytes as f64 * flushed as f64 / footer.records.max(1) as f64;
        }
        Held { entries: entries.max(0.0), bytes: bytes.max(0.0) }
    }

    /// Bytes of the sealed segments' files, and bytes that are free on the device: without a count of what is live.
    pub fn occupancy(&self) -> (u64, u64) {
        (self.sums.segments.total().file_bytes, self.space.map_or(0, |space| space.free))
    }

    /// The store's figures. It takes milliseconds where much is buffered.
    pub fn stats(&self) -> Stats {
        let cleaning = &self.cleaning;
        let counters = &self.counters;
        let (slices, segments) = (self.sums.slices.total(), self.sums.segments.total());
        let (sealed_records, sealed_entries) = (slices.records, slices.live);
        let frozen = || self.frozen.iter().map(|frozen| &*frozen.segment);
        let in_frozen = self.frozen_live();
        let buffered = self.open.live_keys() + in_frozen.entries.round() as usize;
        let beside = self.entries_beside_open();
        let live = self.open.live_bytes() + in_frozen.bytes.round() as usize;
        let flushed = |key: &Key| Some((0, self.ranges[self.range_of(key)].mark.flush_watermark));
        let mut twice = [Held::default()];
        for buffer in 0..=self.frozen.len() {
            self.add_superseded(buffer, (LOOKED_UP, &(0..LOOKED_UP)), flushed, &mut twice);
        }
        let [twice] = twice;
        let counted = beside.saturating_sub(self.flushed_entries) + self.open.live_keys() as u64;
        let bytes = cleaning.sealed_bytes.saturating_sub(cleaning.garbage_bytes) + live as u64;
        Stats {
            entries: counted.saturating_sub(twice.entries.round() as u64),
            buffered_entries: buffered as u64,
            sealed_entries: counted.saturating_sub(buffered as u64),
            index_slots: cleaning.index_entries,
            index_bytes: cleaning.index_bytes,
            directory_bytes: cleaning.directory_bytes,
            filter_bytes: cleaning.filter_bytes,
            draining: self.draining.on,
            index_limit: self.index_limit(),
            phi: if sealed_records == 0 { 1.0 } else { cleaning.index_entries as f64 / sealed_records as f64 },
            open_index_bytes: (self.open.index_bytes() + frozen().map(OpenSegment::index_bytes).sum::<usize>()) as u64,
            index_bytes_per_entry: cleaning.index_bytes as f64 / (sealed_entries.max(1)) as f64,
            buffer_bytes: (self.open.allocated()
                + frozen().map(OpenSegment::allocated).sum::<usize>()
                + self.spare.iter().map(OpenSegment::allocated).sum::<usize>()) as u64,
            cache_bytes: self.cache.bytes(),
            cache_entries: self.cache.len() as u64,
            cache_hits: self.cache.hits,
            cache_misses: self.cache.misses,
            memory_limit: self.options.memory,
            slices: self.slices.len() as u64,
            slices_loaded: self.slices.len() as u64 - slices.unloaded,
            segments: segments.segments,
            live_bytes: bytes.saturating_sub(twice.bytes.round() as u64),
            sealed_records,
            sealed_bytes: cleaning.sealed_bytes,
            garbage_bytes: cleaning.garbage_bytes,
            segment_file_bytes: segments.file_bytes,
            lookups: counters.lookups,
            reads: counters.reads,
            pages_read: counters.pages_read,
            false_reads: counters.false_reads,
            read_hits: counters.read_hits,
            hit_reads: counters.hit_reads,
            filter_refused: counters.filter_refused,
            filter_passed: counters.filter_passed,
            appends: counters.appends,
            appended_bytes: counters.appended_bytes,
            written: Written {
                user: counters.written.user + counters.appended_bytes,
                log: counters.written.log.max(self.log.position().page * PAGE_BYTES as u64),
                ..counters.written
            },
            written_before: counters.written_before,
            superseded: counters.superseded,
            batches: counters.batches,
            marks: counters.marks,
            log_bytes: self.log.ring_pages() * PAGE_BYTES as u64,
            log_used_bytes: (self.log.position().page - self.log.tail()) * PAGE_BYTES as u64,
            seals: counters.seals,
            merges: counters.merges,
            merge_failures: counters.merge_failures,
            last_merge_failure: counters.last_merge_failure.clone(),
            lost_records: counters.lost,
            refused_memory: counters.refused_memory,
            refused_space: counters.refused_space,
            device_bytes: self.space.map_or(0, |space| space.total),
            device_free_bytes: self.space.map_or(0, |space| space.free),
        }
    }
}

/// Of what lies from `low` to `high` and in `all`, the share that lies in `keys`.
fn share(low: &Key, high: &Key, keys: &Interval, all: &[Interval]) -> f64 {
    let width = |part: &Interval| {
        let (low, high) = (part.low.max(*low), part.high.min(*high));
        if low > high { 0.0 } else { (high.prefix() - low.prefix()) as f64 + 1.0 }
    };
    let (part, whole) = (width(keys), all.iter().map(width).sum::<f64>());
    if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_what_is_held_and_not_of_all_keys() {
        let parts = Interval::ALL.divide(4);
        let percent =
            |keys: &Interval, all: &[Interval]| (share(&Key::MIN, &Key::MAX, keys, all) * 100.0).round() as u32;
        assert_eq!((percent(&parts[0], &parts), percent(&parts[0], &parts[..2]), percent(&parts[0], &[])), (25, 50, 0));
        let of_upper = |keys: &Interval| (share(&parts[3].low, &parts[3].high, keys, &parts) * 100.0).round() as u32;
        assert_eq!((of_upper(&parts[0]), of_upper(&parts[3])), (0, 100));
    }
}
