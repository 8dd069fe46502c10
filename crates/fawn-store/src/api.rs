//! The types at the store's edge: what its owner asks and what it is told.

use std::sync::Arc;

use crate::flash::{FileId, FlashError};
use crate::format::page::PageBuf;
use crate::format::record::{Kind, Marks, Record};
use crate::sealed::directory::PageDirectory;

/// When a put is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// After the sync that covers it.
    Durable,
    /// At once; synced at most this many milliseconds later.
    Interval {
        /// Oldest age that an unsynced record may reach.
        ms: u32,
    },
    /// At once; durable when its segment is sealed. The commit log is not used.
    Memory,
}

/// A place in the order of a store's commits. An answer that carries a gate is released once
/// [`Store::durable`](crate::Store::durable) has reached it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gate(pub u64);

impl Gate {
    /// A reply with this gate waits for no batch.
    pub const NONE: Self = Self(0);
}

/// What a lookup found without reading, or what it needs.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// The newest version: never deleted, expired or flushed. Its kind is `Value` or `Stub`.
    Found {
        /// The record, borrowed from the store.
        record: Record<'a>,
        /// The answer waits for this.
        gate: Gate,
    },
    /// The key has no live version: it has none, or the newest one is a delete, has expired or was flushed.
    Absent {
        /// The answer waits for this (the delete record may not be durable yet).
        gate: Gate,
    },
    /// These pages decide: read them, then call [`Store::finish`](crate::Store::finish).
    Read(Read),
    /// The part of the index that knows is still being loaded after a restart; it is now loaded first. Look up
    /// again after the next [`Store::handle`](crate::Store::handle) that returns true.
    Loading,
    /// The part of the index that knows cannot be built: the segments it comes from are damaged.
    Damaged(Damage),
}

/// What the bytes of a [`Read`] said: the newest version as of the lookup that planned it, whatever was appended since
/// (but not what a later flush emptied).
#[derive(Debug)]
pub enum FinishedRead<'a> {
    /// The newest version, borrowed from the pages given.
    Found(Record<'a>),
    /// The key has no live version: it has none, or the newest one is a delete, has expired or was flushed.
    Absent {
        /// The answer waits for this (the flush that emptied the store may not be durable yet).
        gate: Gate,
    },
    /// The tag matched another key: read on.
    Read(Read),
    /// The pages are damaged: no value can be given.
    Damaged(Damage),
}

/// One read of whole pages, part of a lookup. It pins what it reads: every `Read` is handed back to
/// [`Store::finish`](crate::Store::finish) or [`Store::abandon`](crate::Store::abandon).
#[derive(Debug)]
#[must_use = "a read pins its segment until it is finished or abandoned"]
pub struct Read {
    /// The file to read.
    pub file: FileId,
    /// Number of the first page to read.
    pub first: u64,
    /// Number of pages, at least 1.
    pub count: u32,
    /// What is left to try after this one, newest first.
    pub(crate) rest: Rest,
}

/// What is left of a lookup. It can be carried on whatever was sealed and merged since it began: the view keeps the
/// files, and a key that had a newer version then was answered from the buffers.
#[derive(Debug)]
pub(crate) struct Rest {
    /// Still to try after this read, newest *last*. Almost always empty, and then without memory of its own.
    pub candidates: Vec<Candidate>,
    /// The view in which the lookup began; pinned.
    pub view: u64,
    /// The read is of a base alone, whose filter has let the key through.
    pub filtered: bool,
    /// Reads of the lookup so far, this one included.
    pub reads: u32,
}

/// A segment that may hold the key of a lookup.
#[derive(Debug)]
pub(crate) struct Candidate {
    /// Number of its file.
    pub file: u64,
    /// Page directory of the segment: it says which pages to read.
    pub directory: Arc<PageDirectory>,
}

/// Bytes on flash that are not what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file} is damaged at byte {offset}: {what}")]
pub struct Damage {
    /// The file that holds the damaged bytes.
    pub file: FileId,
    /// Byte offset of the first damaged page or record.
    pub offset: u64,
    /// What is wrong with the bytes, for people.
    pub what: String,
}

/// One version to append. The store adds epoch and sequence number.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// `Value`, `Delete` or `Stub`.
    pub kind: Kind,
    /// Whether the version is stale, and whether a client has won it.
    pub marks: Marks,
    /// The client's opaque flags.
    pub client_flags: u32,
    /// Unix second of expiry; 0 for never.
    pub expiry: u32,
    /// A cas that the client chose.
    pub client_cas: Option<u64>,
    /// The key's bytes, not its position.
    pub key: &'a [u8],
    /// The value; empty for a delete.
    pub value: &'a [u8],
}

impl<'a> Write<'a> {
    /// A plain value: no flags, no expiry.
    pub fn value(key: &'a [u8], value: &'a [u8]) -> Self {
        Self { kind: Kind::Value, marks: Marks::default(), client_flags: 0, expiry: 0, client_cas: None, key, value }
    }

    /// A version that deletes `key`.
    pub fn delete(key: &'a [u8]) -> Self {
        Self { kind: Kind::Delete, ..Self::value(key, b"") }
    }
}

/// An append that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendReceipt {
    /// The record's sequence number (its cas, unless the client chose one).
    pub seq: u64,
    /// The answer waits for this.
    pub gate: Gate,
}

/// Why an append was not taken. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The buffers are full until a seal or merge completes: try again after the next event.
    #[error("the write buffers are full")]
    Busy,
    /// The index has reached the memory budget.
    #[error("the index has reached the memory budget")]
    OutOfMemory,
    /// The index has reached the memory budget, and merges, which would make it smaller, fail.
    #[error("the index has reached the memory budget, and merges fail: {0}")]
    CannotMerge(String),
    /// The device has only its reserve left.
    #[error("no space left for new records")]
    NoSpace,
    /// The record is larger than this store takes in line; give the value a file of its own.
    #[error("the record is too large for a segment")]
    TooLarge,
    /// Two ranges were flushed at different sequence numbers and cannot be joined.
    #[error("the ranges were flushed separately and cannot be merged")]
    FlushedApart,
    /// The store has stopped after a failed write or sync.
    #[error("the store has stopped: {0}")]
    Stopped(String),
}

/// What whoever runs the store should know of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// A slice cannot be merged: nothing that is overwritten in it is given back.
    #[error("a slice cannot be merged, and its superseded records take space and memory: {0}")]
    CannotMerge(String),
    /// The index of a slice cannot be built.
    #[error("the index of a slice cannot be built, so gets there fail: {0}")]
    CannotLoad(Damage),
    /// A merge came upon damage.
    #[error("gets fail until the lost records are written again: {0}")]
    Lost(Losses),
}

/// Records that cannot be read any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {damage}", counted(*records))]
pub struct Losses {
    /// Number of records that cannot be read.
    pub records: u64,
    /// The first damage that took one.
    pub damage: Damage,
}

fn counted(records: u64) -> String {
    if records == 1 { "a record cannot be read".to_owned() } else { format!("{records} records cannot be read") }
}

impl Losses {
    /// Adds so many records to `all`, of which this damage took the first.
    pub fn add(all: &mut Option<Self>, records: u64, damage: &Damage) {
        all.get_or_insert_with(|| Self { records: 0, damage: damage.clone() }).records += records;
    }
}

/// A batch of the commit log on its way to flash.
#[derive(Debug)]
pub struct Batch {
    /// First page of the commit log that it fills.
    pub first: u64,
    /// The pages to write.
    pub pages: PageBuf,
    /// What is durable once it is written.
    pub gate: Gate,
}

/// What a [`Batch`] came to.
#[derive(Debug)]
pub struct WrittenBatch {
    /// The batch, whose buffer is used again.
    pub batch: Batch,
    /// Whether the batch is durable, or why the write failed.
    pub result: Result<(), FlashError>,
}
