//! What the manifest says: everything a store must know before it reads any other file.

use std::collections::BTreeMap;

use fawn_ring::{Interval, Key, Secret};

use super::codec::code_fields;
use crate::api::Damage;
use crate::flash::FileId;
use crate::format::page::PAGE_BYTES;
use crate::format::segment::Footer;
use crate::log::{LogPosition, LogShape};

/// Everything that a store's manifest records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Number of this store in its directory, from 0; always `< stores`.
    pub store: u32,
    /// Number of stores that the directory was made with.
    pub stores: u32,
    /// The keys that this store may hold.
    pub interval: Interval,
    /// The key of the hash that places keys.
    pub secret: Secret,
    /// No file has this number or a larger one.
    pub next_file: u64,
    /// Number of times that the store was opened for writing.
    pub generation: u64,
    /// Where the commit log begins and ends.
    pub log: LogState,
    /// The ranges, in key order; they tile `interval`.
    pub ranges: Vec<Range>,
    /// The slices, in key order; they tile `interval`.
    pub slices: Vec<Slice>,
    /// Every segment that some slice names, by number.
    pub segments: BTreeMap<u16, Segment>,
    /// Bytes of every large value, by file number.
    pub values: BTreeMap<u64, u64>,
    /// Totals since the store was made.
    pub counters: Counters,
    /// Stretches of keys that were emptied while segments that reach into them are still there.
    pub emptied: Vec<EmptiedInterval>,
    /// By what the other files are known to be of this store and of this time.
    pub bonds: Bonds,
}

/// By what a manifest knows the other files of its store from older copies of them, and from those of other stores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bonds {
    /// The log was durable up to here: a log that does not go through this place, and does not start behind it, is
    /// another one. At page 0 nothing is known: an older release wrote the manifest.
    pub reached: LogPosition,
    /// What segments hold ([`Footer::content`](crate::format::segment::Footer::content)), by file number. None of those that an
    /// older release wrote.
    pub contents: BTreeMap<u64, u32>,
}

/// The commit log, as recovery must find it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogState {
    /// Pages of the ring.
    pub ring_pages: u64,
    /// Recovery begins here: all older entries are in segments or in this manifest.
    pub start: LogPosition,
    /// The logical page at which a clean stop ended the log; `None` while the store is open.
    pub clean_end: Option<u64>,
}

/// A range: a stretch of keys with numbering, flushes and horizon of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Never reused within a cluster.
    pub instance: u64,
    /// The positions of the range's keys; both ends are ends of slices.
    pub interval: Interval,
    /// The current epoch; 0 outside a chain.
    pub epoch: u32,
    /// Sequence numbers from here on were never given out.
    pub seq_reserved: u64,
    /// Highest sequence number below [`LogState::start`]: recovery ignores records up to it.
    pub last_seq: u64,
    /// Records numbered up to here are flushed.
    pub flush_watermark: u64,
    /// Unix second of a flush that is due; 0 for none.
    pub flush_deadline: u32,
    /// Delete records numbered up to here have been dropped by merges.
    pub horizon: u64,
}

/// A slice of the key space: the unit of merging and of index loading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The positions of the slice's keys.
    pub interval: Interval,
    /// Numbers of the segments that may hold its keys, oldest first, none twice.
    pub parts: Vec<u16>,
    /// Delete records and expired records numbered up to here have been dropped from it by merges.
    pub horizon: u64,
}

/// A stretch of keys that was emptied: what is older is void for ever, whatever its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptiedInterval {
    /// The positions of the emptied keys.
    pub interval: Interval,
    /// Records of segments of a lower [`Segment::age`] are void.
    pub below: u64,
}

/// A sealed segment, as the manifest records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of its file.
    pub file: u64,
    /// Order of creation among all segments; larger is newer.
    pub age: u64,
    /// The parts of the segment's file, in pages.
    pub pages: SegmentPages,
    /// Number of records in the segment.
    pub records: u64,
    /// Bytes of its records.
    pub bytes: u64,
    /// Delete records among its records.
    pub deletes: u64,
    /// Lowest key position in it.
    pub low: Key,
    /// Highest key position in it.
    pub high: Key,
    /// Lowest sequence number in it.
    pub seq_low: u64,
    /// Highest sequence number in it.
    pub seq_high: u64,
    /// Records in it that expire.
    pub expiring: Expiring,
}

/// The parts of a segment's file, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentPages {
    /// Pages of records, from the start.
    pub data: u64,
    /// Pages of the page directory.
    pub directory: u64,
    /// Pages of what the index needs.
    pub fragments: u64,
    /// All pages of the file.
    pub total: u64,
}

/// How many records expire, and by when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expiring {
    /// Number of records that expire.
    pub records: u64,
    /// Unix second by which the last of them has expired; 0 when there is none.
    pub latest: u32,
}

/// Totals since the store was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes of records that users wrote, as far as sealed.
    pub user_bytes: u64,
    /// Bytes that seals wrote.
    pub sealed_bytes: u64,
    /// Bytes that merges wrote.
    pub merged_bytes: u64,
}

code_fields!(LogPosition { page, previous });
code_fields!(LogState { ring_pages, start, clean_end });
code_fields!(Range { instance, interval, epoch, seq_reserved, last_seq, flush_watermark, flush_deadline, horizon });
code_fields!(Slice { interval, parts, horizon });
code_fields!(EmptiedInterval { interval, below });
code_fields!(SegmentPages { data, directory, fragments, total });
code_fields!(Expiring { records, latest });
code_fields!(Segment { file, age, pages, records, bytes, deletes, low, high, seq_low, seq_high, expiring });
code_fields!(Counters { user_bytes, sealed_bytes, merged_bytes });
code_fields!(Bonds { reached, contents });
code_fields!(State {
    store,
    stores,
    interval,
    secret,
    next_file,
    generation,
    log,
    ranges,
    slices,
    segments,
    values,
    counters,
    emptied,
    bonds
});

impl EmptiedInterval {
    /// Whether what a segment of this age says of the key is void.
    #[inline]
    pub fn voids(&self, key: &Key, age: u64) -> bool {
        age < self.below && self.interval.contains(key)
    }
}

impl Slice {
    /// A slice without parts.
    pub(super) fn empty(interval: Interval) -> Self {
        Self { interval, parts: Vec::new(), horizon: 0 }
    }
}

impl Segment {
    /// What a footer says, of age 0.
    pub fn of(footer: &Footer) -> Self {
        Self {
            file: footer.file,
            age: 0,
            pages: SegmentPages {
                data: footer.data_pages,
                directory: footer.directory_pages,
                fragments: footer.fragment_pages,
                total: footer.total_pages(),
            },
            records: footer.records,
            bytes: footer.bytes,
            deletes: footer.deletes,
            low: footer.low,
            high: footer.high,
            seq_low: footer.seq_low,
            seq_high: footer.seq_high,
            expiring: Expiring { records: footer.expiring, latest: footer.latest_expiry },
        }
    }

    /// The stretch from its lowest to its highest key.
    pub fn interval(&self) -> Interval {
        Interval { low: self.low, high: self.high }
    }
}

impl State {
    /// A store that was just made: one range (instance `instance`, sequence numbers from 1), the interval divided into
    /// `slices` slices, an empty log of `ring_pages` pages.
    pub fn new(
        store: u32,
        stores: u32,
        interval: Interval,
        secret: Secret,
        instance: u64,
        slices: u32,
        ring_pages: u64,
    ) -> Self {
        Self {
            store,
            stores,
            interval,
            secret,
            next_file: 1,
            generation: 0,
            log: LogState { ring_pages, ..LogState::default() },
            ranges: vec![Range {
                instance,
                interval,
                epoch: 0,
                seq_reserved: 1,
                last_seq: 0,
                flush_watermark: 0,
                flush_deadline: 0,
                horizon: 0,
            }],
            slices: interval.divide(slices).into_iter().map(Slice::empty).collect(),
            segments: BTreeMap::new(),
            values: BTreeMap::new(),
            counters: Counters::default(),
            emptied: Vec::new(),
            bonds: Bonds::default(),
        }
    }

    /// What the commit log's reader and writer need to know.
    pub fn log_shape(&self) -> LogShape {
        LogShape { ring_pages: self.log.ring_pages, salt: self.log_salt() }
    }

    /// Start of the commit log's checksums: a hash under the secret, so that no client can compute it.
    pub fn log_salt(&self) -> u32 {
        let mut name = *b"fawn commit log of store ....";
        name[25..].copy_from_slice(&self.store.to_le_bytes());
        self.secret.position(&name).prefix() as u32
    }

    /// Whether the file that has this footer is segment `segment` of this store.
    ///
    /// # Errors
    /// [`Damage`]: it is another one.
    pub fn verify(&self, segment: &Segment, footer: &Footer) -> Result<(), Damage> {
        let content = self.bonds.contents.get(&segment.file).copied();
        let found = Segment { age: segment.age, ..Segment::of(footer) };
        if (found, footer.content) == (*segment, content) {
            return Ok(());
        }
        let what = "this is not the segment of that name in the manifest: one of the two is an older copy or from \
            another store; put back the latest one of this directory";
        let offset = (footer.total_pages() - 1) * PAGE_BYTES as u64;
        Err(Damage { file: FileId::Segment(segment.file), offset, what: what.to_owned() })
    }

    /// The range with this instance.
    pub fn range(&self, instance: u64) -> Option<&Range> {
        self.ranges.iter().find(|range| range.instance == instance)
    }

    /// Index of the slice that holds `key`; `None` outside the store's interval.
    pub fn slice_of(&self, key: &Key) -> Option<usize> {
        let index = self.slices.partition_point(|slice| slice.interval.high < *key);
        self.slices.get(index).is_some_and(|slice| slice.interval.contains(key)).then_some(index)
    }
}
