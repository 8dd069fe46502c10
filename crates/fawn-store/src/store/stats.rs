//! Figures that a store reports about itself.

use crate::api::Refusal;

/// What lies in some stretches of keys, about: see [`StoreContents::held_in`](super::StoreContents::held_in).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Holdings {
    /// Number of live keys.
    pub entries: f64,
    /// Bytes of their records.
    pub bytes: f64,
}

/// What was written to the device, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenBytes {
    /// Records that users wrote. Of those before the store was last opened, those that were sealed.
    pub user: u64,
    /// Pages of the commit log.
    pub log: u64,
    /// Files of sealed segments.
    pub sealed: u64,
    /// Files that merges wrote.
    pub merged: u64,
}

impl WrittenBytes {
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

/// The index of sealed records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexStats {
    /// Slots in the index, superseded ones included.
    pub slots: u64,
    /// DRAM of tables, page directories and filters.
    pub bytes: u64,
    /// Of `bytes`, bytes of page directories.
    pub directory_bytes: u64,
    /// Of `bytes`, filters of bases. One that slices share counts once.
    pub filter_bytes: u64,
    /// `bytes` a live sealed entry.
    pub bytes_per_entry: f64,
    /// Index bytes above which slices are merged in turn.
    pub limit: u64,
    /// Whether DRAM cannot index every record, so that merges make bases without index entries.
    pub draining: bool,
    /// Share of the sealed records that has index entries, from 0 to 1: 1 when every slice is indexed whole.
    pub phi: f64,
    /// Number of slices.
    pub slices: u64,
    /// Slices whose index is loaded.
    pub slices_loaded: u64,
}

/// The write buffers: the open segment and the frozen ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferStats {
    /// DRAM of the buffers, their indexes included.
    pub bytes: u64,
    /// DRAM of the open and frozen segments' hash indexes.
    pub index_bytes: u64,
}

/// The record cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// DRAM of the cache.
    pub bytes: u64,
    /// Records in the cache.
    pub entries: u64,
    /// Lookups that the cache answered.
    pub hits: u64,
    /// Lookups that got as far as the cache and were not answered.
    pub misses: u64,
}

/// Sealed segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentTotals {
    /// Number of sealed segments.
    pub segments: u64,
    /// Records in sealed segments of all slices, superseded ones included; about, where slices have bases.
    pub records: u64,
    /// Record bytes in sealed segments of all slices.
    pub bytes: u64,
    /// Of these, bytes known to be superseded, or void: deleted, expired, flushed or emptied. No record counts twice for
    /// having been both superseded and emptied.
    pub garbage_bytes: u64,
    /// Pages of sealed segment files, drained parts included.
    pub file_bytes: u64,
}

/// Lookups since the opening, and the reads that they asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Number of lookups.
    pub lookups: u64,
    /// Reads that lookups have asked for.
    pub reads: u64,
    /// Pages in these reads.
    pub pages: u64,
    /// Reads that did not hold the key sought.
    pub false_reads: u64,
    /// Lookups that found their item by reading.
    pub hits: u64,
    /// The reads of those lookups, false ones included.
    pub hit_reads: u64,
    /// Lookups that no read was needed for because a filter said that the base does not hold the key.
    pub filter_refused: u64,
    /// Reads of a base alone that does not hold the key, although its filter has let it through. Of all that filters have
    /// judged and bases do not hold, the share `filter_passed / (filter_passed + filter_refused)` is false.
    pub filter_passed: u64,
}

/// Records that were appended, and what was written to the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteStats {
    /// Records appended since the opening.
    pub appends: u64,
    /// Bytes of the appended records.
    pub bytes: u64,
    /// Records superseded before they were sealed.
    pub superseded: u64,
    /// Puts refused because the index had reached the memory budget.
    pub refused_memory: u64,
    /// Puts refused because only the device's reserve was left.
    pub refused_space: u64,
    /// Written to the device since the store was made.
    pub written: WrittenBytes,
    /// `written` as it was when the store was opened.
    pub written_before: WrittenBytes,
}

/// The commit log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Batches that were written since the opening.
    pub batches: u64,
    /// Empty batches beside these, written when the log was idle.
    pub marks: u64,
    /// Size of the commit log.
    pub bytes: u64,
    /// Of these, bytes that recovery would read.
    pub used_bytes: u64,
}

/// Seals and merges since the opening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaintenanceStats {
    /// Seals whose segment is in the index.
    pub seals: u64,
    /// Merges whose run is in the index.
    pub merges: u64,
    /// Merges that failed.
    pub merge_failures: u64,
    /// Why the last one failed.
    pub last_merge_failure: Option<String>,
    /// Records that merges found cannot be read any more: gets of their keys fail until they are written again.
    pub lost_records: u64,
}

/// The device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Size of the device; 0 when not known yet.
    pub bytes: u64,
    /// Free space on the device.
    pub free_bytes: u64,
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
    /// Record bytes that are not known to be superseded or void, sealed and buffered.
    pub live_bytes: u64,
    /// Bytes of DRAM that the store may use.
    pub memory_limit: u64,
    /// The index of sealed records.
    pub index: IndexStats,
    /// The write buffers.
    pub buffers: BufferStats,
    /// The record cache.
    pub cache: CacheStats,
    /// Sealed segments.
    pub sealed: SegmentTotals,
    /// Lookups and reads.
    pub reads: ReadStats,
    /// Appends, and what was written to the device.
    pub writes: WriteStats,
    /// The commit log.
    pub log: LogStats,
    /// Seals and merges.
    pub maintenance: MaintenanceStats,
    /// The device.
    pub device: DeviceStats,
}

impl WriteStats {
    /// Those of a store to which so much was written before.
    pub(super) fn beginning_with(written: WrittenBytes) -> Self {
        Self { written, written_before: written, ..Self::default() }
    }

    /// A write was refused for this reason.
    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        match refusal {
            Refusal::OutOfMemory | Refusal::CannotMerge(_) => self.refused_memory += 1,
            Refusal::NoSpace => self.refused_space += 1,
            _ => {}
        }
    }

    /// A record of `bytes` was appended.
    #[inline]
    pub(super) fn append(&mut self, bytes: usize, superseded: bool) {
        self.appends += 1;
        self.bytes += bytes as u64;
        self.superseded += u64::from(superseded);
    }
}
