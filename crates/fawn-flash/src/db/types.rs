//! What the calls of a [`Db`](super::Db) take and give.

use fawn_store::record::Record;
use fawn_store::{Ack, Stats};

use crate::files::Caching;
use crate::reader::ReadPath;

/// What a [`Db`](super::Db) is opened with.
#[derive(Clone, Copy, Debug)]
pub struct DbOptions {
    /// Memory for indexes, write buffers and the cache of records, bytes, all stores together. The more, the more
    /// gets need no read; the indexes alone take about 5 bytes a key. At least 4 MiB a store are sensible.
    pub memory: u64,
    /// Whether to keep filters where the memory cannot index every key, 1.2 bytes a key: gets of absent keys then need no
    /// read but one in 250 times.
    pub miss_filter: bool,
    /// When a put returns.
    pub ack: Ack,
    /// Stores to divide a new directory into; 0 for one a core. Ignored when the directory exists.
    pub stores: usize,
    /// Whether to go around the page cache.
    pub caching: Caching,
    /// Which path [`Db::get_many`](super::Db::get_many) reads by.
    pub reads: ReadPath,
    /// Bytes that are collected in memory and then written as one segment; 0 derives it from `memory`.
    pub segment_bytes: usize,
}

impl Default for DbOptions {
    /// 256 MiB, durable puts, a store a core, around the page cache.
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            miss_filter: false,
            ack: Ack::Durable,
            stores: 0,
            caching: Caching::Auto,
            reads: ReadPath::Auto,
            segment_bytes: 0,
        }
    }
}

/// When a conditional change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The change is made whatever the key's version.
    Always,
    /// When there is no such key.
    Absent,
    /// When there is such a key.
    Present,
    /// When the key's newest version is this one: compare and set.
    Version(u64),
}

impl Condition {
    /// Whether it holds for a key whose newest version is `version`, `None` when it is absent.
    pub(super) fn holds(self, version: Option<u64>) -> bool {
        match self {
            Self::Always => true,
            Self::Absent => version.is_none(),
            Self::Present => version.is_some(),
            Self::Version(wanted) => version == Some(wanted),
        }
    }
}

/// What became of a conditional change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the condition may not have held"]
pub enum WriteOutcome {
    /// The condition held, and the change was made.
    Stored {
        /// The key's new version.
        version: u64,
    },
    /// The condition did not hold.
    Refused {
        /// The key's version; `None` when it is absent.
        version: Option<u64>,
    },
}

/// What a value carries beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// For the caller's own use.
    pub flags: u32,
    /// Unix second from which the key is absent; 0 for never.
    pub expiry: u32,
}

/// A value with all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredItem {
    /// The value's bytes.
    pub value: Vec<u8>,
    /// What was given with it.
    pub extras: Extras,
    /// Its version: grows with every change of the key, never repeats, see [`Condition::Version`].
    pub version: u64,
}

impl StoredItem {
    pub(super) fn of(record: &Record<'_>) -> Self {
        Self {
            value: record.value.to_vec(),
            extras: Extras { flags: record.client_flags, expiry: record.expiry },
            version: record.seq,
        }
    }
}

/// Figures of a [`Db`](super::Db).
#[derive(Clone, Debug)]
pub struct DbStats {
    /// Figures of each store.
    pub stores: Vec<Stats>,
    /// `"O_DIRECT"` or `"page cache"`.
    pub files: &'static str,
    /// How [`Db::get_many`](super::Db::get_many) reads: `"io_uring"`, `"pread"`, or `"not used yet"`.
    pub reads: &'static str,
}

impl DbStats {
    /// The sum over all stores of what `figure` picks, for example live keys by `|store| store.entries`.
    pub fn sum(&self, figure: impl Fn(&Stats) -> u64) -> u64 {
        self.stores.iter().map(figure).sum()
    }
}
