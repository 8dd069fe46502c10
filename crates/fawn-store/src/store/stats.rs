//! Figures that a store reports about itself.

use super::Store;
use super::contents::LOOKED_UP;
use crate::page::PAGE_BYTES;
use fawn_ring::Key;

/// What lies in some stretches of keys, about: see [`Store::held_in`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Number of live keys.
    pub entries: f64,
    /// Bytes of their records.
    pub bytes: f64,
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
    /// The store's figures. It takes milliseconds where much is buffered.
    pub fn stats(&self) -> Stats {
        let (reads, writes, maintenance) = (&self.counters.reads, &self.counters.writes, &self.counters.maintenance);
        let (sealed, buffers, log) = (&self.sealed, &self.buffers, self.log.writer());
        let (totals, slices, segments) = (sealed.totals(), sealed.slice_total(), sealed.segment_total());
        let (sealed_records, sealed_entries) = (slices.records, slices.live);
        let open = buffers.open();
        let contents = self.contents();
        let in_frozen = contents.frozen_live();
        let buffered = open.live_keys() + in_frozen.entries.round() as usize;
        let beside = contents.entries_beside_open();
        let live = open.live_bytes() + in_frozen.bytes.round() as usize;
        let flushed = |key: &Key| Some((0, self.ranges.flushed(key)));
        let mut twice = [Held::default()];
        for buffer in 0..=buffers.frozen_count() {
            contents.add_superseded(buffer, (LOOKED_UP, &(0..LOOKED_UP)), flushed, &mut twice);
        }
        let [twice] = twice;
        let counted = beside.saturating_sub(self.flushed_entries) + open.live_keys() as u64;
        let bytes = totals.bytes.saturating_sub(totals.garbage_bytes) + live as u64;
        let space = self.device.seen();
        Stats {
            entries: counted.saturating_sub(twice.entries.round() as u64),
            buffered_entries: buffered as u64,
            sealed_entries: counted.saturating_sub(buffered as u64),
            index_slots: totals.slots,
            index_bytes: totals.index_bytes,
            directory_bytes: totals.directory_bytes,
            filter_bytes: totals.filter_bytes,
            draining: self.cleaner.mode().is_drained(),
            index_limit: self.cleaner.mode().index_limit(sealed),
            phi: if sealed_records == 0 { 1.0 } else { totals.slots as f64 / sealed_records as f64 },
            open_index_bytes: buffers.index_bytes(),
            index_bytes_per_entry: totals.index_bytes as f64 / (sealed_entries.max(1)) as f64,
            buffer_bytes: buffers.allocated(),
            cache_bytes: self.cache.bytes(),
            cache_entries: self.cache.len() as u64,
            cache_hits: self.cache.hits,
            cache_misses: self.cache.misses,
            memory_limit: self.options.memory,
            slices: sealed.slices().len() as u64,
            slices_loaded: sealed.slices().len() as u64 - slices.unloaded,
            segments: segments.segments,
            live_bytes: bytes.saturating_sub(twice.bytes.round() as u64),
            sealed_records,
            sealed_bytes: totals.bytes,
            garbage_bytes: totals.garbage_bytes,
            segment_file_bytes: segments.file_bytes,
            lookups: reads.lookups,
            reads: reads.reads,
            pages_read: reads.pages_read,
            false_reads: reads.false_reads,
            read_hits: reads.read_hits,
            hit_reads: reads.hit_reads,
            filter_refused: reads.filter_refused,
            filter_passed: reads.filter_passed,
            appends: writes.appends,
            appended_bytes: writes.appended_bytes,
            written: Written {
                user: self.counters.written.user + writes.appended_bytes,
                log: self.counters.written.log.max(log.position().page * PAGE_BYTES as u64),
                ..self.counters.written
            },
            written_before: self.counters.written_before,
            superseded: writes.superseded,
            batches: self.log.batches(),
            marks: self.log.marks(),
            log_bytes: log.ring_pages() * PAGE_BYTES as u64,
            log_used_bytes: (log.position().page - log.tail()) * PAGE_BYTES as u64,
            seals: maintenance.seals,
            merges: maintenance.merges,
            merge_failures: maintenance.merge_failures,
            last_merge_failure: maintenance.last_merge_failure.clone(),
            lost_records: maintenance.lost,
            refused_memory: writes.refused_memory,
            refused_space: writes.refused_space,
            device_bytes: space.map_or(0, |space| space.total),
            device_free_bytes: space.map_or(0, |space| space.free),
        }
    }
}
