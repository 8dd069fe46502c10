//! What passes between a store's event-loop half and its maintenance half: work one way, events the other.

use std::ops::Range;
use std::sync::Arc;

use fawn_ring::{Interval, Key};

use crate::api::{Damage, Losses};
use crate::buffers::open_segment::OpenSegment;
use crate::flash::Space;
use crate::format::manifest::EmptiedInterval;
use crate::format::record::{Kind, Record};
use crate::format::segment::Footer;
use crate::log::LogPosition;
use crate::merge::{Overwrites, Void};
use crate::sealed::directory::PageDirectory;
use crate::sealed::filter::Filter;
use crate::sealed::index::{SegmentNumber, Table};

/// A range's state as of a place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeMark {
    /// The positions of the range's keys.
    pub interval: Interval,
    /// Instance of the range.
    pub instance: u64,
    /// The range's last sequence number.
    pub last_seq: u64,
    /// Records up to this sequence number are flushed.
    pub flush_watermark: u64,
    /// Unix second of a scheduled flush; 0 for none.
    pub flush_deadline: u32,
}

/// Work for the maintenance half.
pub enum MaintenanceWork {
    /// Write a frozen segment.
    Seal {
        /// The frozen segment to write.
        segment: Arc<OpenSegment>,
        /// Order among segments: the greater, the newer.
        age: u64,
        /// Where recovery begins once the segment is durable.
        log_start: LogPosition,
        /// The log is durable up to here, which is not before that place.
        reached: LogPosition,
        /// The ranges' state at that place.
        ranges: Vec<RangeMark>,
        /// Stretches of keys that were emptied before the segment was begun.
        emptied: Vec<EmptiedInterval>,
    },
    /// Build the index of the slice that begins at this position.
    Load {
        /// Start of the slice.
        slice: Key,
        /// A lookup waits for it.
        wanted: bool,
        /// The index is there but has outgrown its first size, or is of the other mode: build it anew.
        again: bool,
        /// Leave the slice's oldest part out of the index: it becomes its base.
        drained: bool,
        /// Build the base's filter.
        filtered: bool,
    },
    /// Merge the parts of a slice.
    Merge(MergeWork),
    /// Cut the slice that begins at this position in the middle: nothing is written but the manifest.
    CutSlice(Key),
    /// Give back what no reader needs any more.
    Reclaim(Reclaim),
    /// Read records of an interval, in key order.
    Scan {
        /// Number by which the store knows the scan.
        id: u64,
        /// What to read; its low end moves up from call to call.
        interval: Interval,
        /// Bytes of records at which to stop.
        max_bytes: usize,
        /// Which records the scan reads.
        wanted: ScanFilter,
    },
    /// Report the space on the device, and keep so many bytes of it for deletes and merges.
    Space {
        /// 0: as many as before.
        spare: u64,
    },
    /// Cut the range that holds the key after it.
    SplitRange(Key),
    /// Join the range that ends at this position to the next.
    MergeRanges(Key),
    /// Record the clean end of the log; the last work there is.
    Close {
        /// Where the last batch ends.
        log_end: LogPosition,
    },
}

/// How to merge a slice.
#[allow(clippy::struct_excessive_bools, reason = "each says one thing of the merge, in any combination")]
pub struct MergeWork {
    /// Start of the slice.
    pub slice: Key,
    /// Which records are void.
    pub void: Void,
    /// Segments of this age or a greater one stay out: they may hold keys that were emptied since.
    pub before: u64,
    /// Merge only the newest small parts: their keys are overwritten so often that their slots pile up.
    pub newest_only: bool,
    /// The slice's oldest part is its base, without index entries.
    pub drained: bool,
    /// Build the filters of new bases.
    pub filtered: bool,
    /// Seconds since the store was opened.
    pub uptime: u64,
    /// The log is durable up to here.
    pub reached: LogPosition,
    /// The device has no space but what stores keep: what the merge frees is given back at once.
    pub no_space: bool,
}

/// Which records a scan reads.
pub struct ScanFilter {
    /// Intervals that were emptied: older records of theirs are void.
    pub emptied: Vec<EmptiedInterval>,
    /// Which versions of the other keys the scan reads.
    pub versions: Versions,
}

/// Of each key the newest version, if it is
pub enum Versions {
    /// neither a delete record nor void.
    Live(Void),
    /// numbered above this; delete records and expired ones included.
    Since(u64),
}

impl ScanFilter {
    /// Whether the newest record of a key, in a segment of this age, is wanted.
    pub(crate) fn includes(&self, key: &Key, age: u64, record: &Record<'_>) -> bool {
        let is_wanted = match &self.versions {
            Versions::Live(void) => record.kind != Kind::Delete && !void.covers(key, record),
            Versions::Since(seq) => record.seq > *seq,
        };
        is_wanted && !self.emptied.iter().any(|emptied| emptied.voids(key, age))
    }
}

/// What may be given back to the device.
#[derive(Clone, Debug, Default)]
pub struct Reclaim {
    /// Segments that no slice names any more.
    pub segments: Vec<(SegmentNumber, u64)>,
    /// Keys that are not looked for any more in segments that other slices still use.
    pub drained: Vec<(u64, Interval)>,
    /// Value files whose stub is gone.
    pub values: Vec<u64>,
    /// Pages of `drained` are given back however few they are.
    pub at_once: bool,
}

/// A sealed segment as lookups see it.
#[derive(Clone)]
pub struct View {
    /// Order among segments of a slice: the greater, the newer.
    pub age: u64,
    /// What the footer says.
    pub footer: Footer,
    /// The segment's page directory.
    pub directory: Arc<PageDirectory>,
}

impl View {
    /// Data pages that no lookup or merge outside `keys` reads; the end is below the start when there are none.
    pub(crate) fn drained_pages(&self, keys: &Interval) -> Range<u32> {
        // What lies below the keys ends with the pages of the key below them, what lies above begins with those of the
        // key above them; the directory is asked as lookups ask it.
        let first = match keys.low.predecessor() {
            Some(below) if below.prefix() >= self.footer.low.prefix() => self.directory.locate(below.prefix()).end,
            _ => 0,
        };
        let last = match keys.high.successor() {
            Some(above) if above.prefix() <= self.footer.high.prefix() => self.directory.locate(above.prefix()).start,
            _ => self.directory.pages(),
        };
        first..last
    }
}

/// The oldest part of a slice, where the index leaves it out: a lookup that finds nothing newer asks its page directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// Number of the base's segment.
    pub number: SegmentNumber,
    /// Records of it that lie in the slice; about, where it reaches beyond.
    pub records: u64,
}

/// How lookups find what is sealed of a slice.
pub struct SliceIndex {
    /// Slots of all its parts but the base.
    pub table: Table,
    /// The base; `None` when every part is in the table.
    pub base: Option<Base>,
    /// The base's filter; `None`: it has none, or the one that it had before stays.
    pub filter: Option<Arc<Filter>>,
    /// Record bytes of all its parts.
    pub bytes: u64,
    /// Records in the table known to be superseded by others in it.
    pub stale: u64,
}

/// One slice that a merge made.
pub struct MergedSlice {
    /// The positions of the slice's keys.
    pub interval: Interval,
    /// The run of the slice; `None` when no record survived.
    pub run: Option<(SegmentNumber, View)>,
    /// Its index, complete: the run and all segments sealed so far.
    pub index: SliceIndex,
    /// Delete records and expired ones numbered up to here have been dropped.
    pub horizon: u64,
}

/// What the maintenance half reports.
pub enum MaintenanceEvent {
    /// A frozen segment is durable.
    Sealed {
        /// The new segment and the prefixes of its records; `None` when no record was left to write.
        segment: Option<(SegmentNumber, View, Vec<u64>)>,
        /// Value files that only superseded stubs named.
        reclaim: Reclaim,
    },
    /// A seal waits for space on the device; the next [`Sealed`](Self::Sealed) says that it waits no longer.
    Stalled,
    /// A slice's index, covering every segment sealed so far.
    Loaded {
        /// Start of the slice.
        slice: Key,
        /// The index of the slice.
        index: SliceIndex,
        /// What a look at its base told.
        overwrites: Overwrites,
    },
    /// A slice's index cannot be built.
    LoadFailed {
        /// Start of the slice.
        slice: Key,
        /// What is damaged, or cannot be read.
        damage: Damage,
        /// The device failed to read it: that may pass.
        retry: bool,
    },
    /// A slice has been merged.
    Merged {
        /// Start of the slice that is replaced.
        slice: Key,
        /// Slices that take the place of the merged one.
        outputs: Vec<MergedSlice>,
        /// Older parts of the slice took no part.
        is_partial: bool,
        /// What the merge found out about the slice's base.
        overwrites: Overwrites,
        /// Bytes of files that it wrote.
        written_bytes: u64,
        /// Keys of which it found that damage has taken the newest version.
        lost: Option<Losses>,
        /// To be given back once no reader is left.
        reclaim: Reclaim,
    },
    /// A merge has come further: bytes of records that it has passed since it last told.
    Merging {
        /// Newer than the slice's oldest part: their index entries go when the merge is done.
        newer: u64,
        /// Superseded or void: their space goes.
        dropped: u64,
    },
    /// A slice cannot be merged; it stays as it is.
    MergeFailed {
        /// Start of the slice.
        slice: Key,
        /// Why the merge failed, for people.
        why: String,
        /// Something cannot be read: it will not be merged the next moment either.
        over_damage: bool,
    },
    /// Part of a scan.
    Scanned(ScanPart),
    /// A slice was cut after a key.
    Cut {
        /// Start of the slice.
        slice: Key,
        /// Position after which the slice was cut.
        at: Key,
        /// The indexes of its halves; `None`: they are loaded next.
        halves: Option<Box<[SliceIndex; 2]>>,
    },
    /// The ranges as they now are: instance, keys, epoch.
    Ranges(Vec<(u64, Interval, u32)>),
    /// Space on the device.
    Space(Room),
    /// All is recorded; the store may be dropped.
    Closed,
    /// A write or sync failed: the store must stop.
    Failed(String),
}

/// The space on the device, and who comes first.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Size and free space of the device.
    pub device: Space,
    /// Bytes that are kept for deletes and merges.
    pub spare: u64,
    /// What the next file of the manifest takes.
    pub manifest_bytes: u64,
}

/// Part of a scan.
#[derive(Debug)]
pub struct ScanPart {
    /// Number by which the store knows the scan.
    pub id: u64,
    /// Whole records, back to back, in key order.
    pub records: Vec<u8>,
    /// Where to go on; `None` at the end of the interval.
    pub next: Option<Key>,
    /// Keys of which damage has taken the newest version that was sealed: a get fails, too, if nothing newer was put since.
    pub lost: Option<Losses>,
    /// Why the scan cannot go on.
    pub error: Option<String>,
}
