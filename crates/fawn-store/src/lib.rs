//! FAWN-DS: a log-structured key-value store for flash (FAWN SOSP'09 §3.3), with no I/O of its own.
//!
//! Writes are sequential and large, a hit costs one read, DRAM holds a 4-byte hint a record. Flash is reached through
//! one trait ([`flash::Flash`]) and time is an argument, so that a simulator runs this very code. `fawn-flash` has the
//! real files and a blocking API for embedding.
//!
//! A put goes to the open segment (DRAM) and the commit log; a full open segment is sorted and written as an immutable
//! segment; each slice of the key space has an index over its sealed records; merges turn a slice's parts into one run
//! and give the space of superseded records back.
//!
//! # Layout
//!
//! * [`Store`]: the event-loop half; [`Maintenance`]: the half that blocks. [`api`]: what passes between a store and its
//!   owner. [`work`]: what passes between its halves. `open`: recovery.
//! * `buffers`: records that are not sealed. [`log`]: the commit log. `sealed`: segments, slices and their indexes.
//!   `cleaner`: what is merged next. `ranges`: numbering, flushes, emptied intervals.
//! * `format`: the bytes of files (`docs/data-log.md`). [`merge`]: the routine of merges. [`bulk`]: loads a store at rest.
//!   [`check`]: reads one whole.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod api;
mod buffers;
pub mod bulk;
mod cache;
pub mod check;
mod cleaner;
pub mod flash;
mod format;
pub mod log;
mod maintenance;
pub mod merge;
mod open;
mod options;
mod ranges;
mod sealed;
mod store;
pub mod timekeeper;
pub mod work;

pub use buffers::{WriteBuffers, open_segment};
pub use format::{large, manifest, page, record, segment};
pub use sealed::{directory, filter, index};

pub use api::{
    Ack, AppendReceipt, Batch, Damage, FinishedRead, Gate, Lookup, Losses, Read, Refusal, Trouble, Write, WrittenBatch,
};
pub use maintenance::{Maintenance, Step};
pub use open::{OpenError, Opening, Owner};
pub use options::{MAX_FROZEN, Options};
pub use ranges::RangeTable;
pub use store::{
    BufferStats, CacheStats, Count, CountedKeys, DeviceStats, Holdings, IndexStats, LogStats, MaintenanceStats,
    ReadStats, Replication, Reports, SegmentTotals, Stats, Store, StoreContents, Upkeep, WriteStats, WrittenBytes,
};
