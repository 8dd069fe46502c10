//! The commit log: what was appended since the last seal, in batches, read by recovery alone.
//!
//! One preallocated file of R pages is a ring. Positions are logical pages, 64 bits, growing for ever; logical page L
//! lives at file page L mod R. A batch is one write of whole pages and never wraps around the end of the file: a batch
//! too long for what is left there starts at the next multiple of R. Batches form a chain (position, generation,
//! checksum of the batch before), so that what an earlier lap or an earlier life left in the ring never parses as
//! current. An opening begins with a page of its own, which the manifest names: log and manifest know each other by it.
//! Every batch says how far the log was durable when it was closed, which is how recovery tells damage (an
//! error) from a torn tail (cut off). `docs/data-log.md` gives every byte.
//!
//! # Layout
//!
//! * [`Entry`]: what a batch carries.
//! * [`LogWriter`]: fills batches and hands them out.
//! * `group_commit`: when a batch leaves, and what waits for it.
//! * [`recover()`]: reads the ring after a restart.

mod batch;
mod entry;
mod group_commit;
mod recover;
mod writer;

pub use batch::{BATCH_HEADER_BYTES, MAX_BATCH_PAGES, VERSION};
pub use entry::{ENTRY_HEADER_BYTES, Entry};
pub(crate) use group_commit::ALL_RANGES;
pub use group_commit::GroupCommit;
pub use recover::{LogExpectation, LogRecovery, ReplayEntry, TornTail, recover, recover_intact, survey};
pub use writer::{ClosedBatch, LogFull, LogWriter};

use crate::flash::FlashError;

/// A place in the log at which a batch may begin, with what that batch must chain to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPosition {
    /// Number of the page since the log began: laps of the ring are counted through.
    pub page: u64,
    /// Checksum of the batch that ends here; 0 in a new log.
    pub previous: u32,
}

/// What stays the same in a log's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogShape {
    /// Pages of the ring.
    pub ring_pages: u64,
    /// Start of every checksum, drawn from the store's secret
    /// ([`State::log_salt`](crate::format::manifest::State::log_salt)), so that no value that a client stores can pose as a
    /// batch.
    pub salt: u32,
}

/// Why the log cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The device failed to read the log.
    #[error("the commit log cannot be read: {0}")]
    Flash(#[from] FlashError),
    /// A batch or an entry of a format that this version does not know.
    #[error("commit-log was written by a newer version ({what}, at byte {offset}): open the store with that version")]
    Newer {
        /// Byte offset in the file of the batch.
        offset: u64,
        /// What is not known.
        what: &'static str,
    },
    /// Bytes that were durable are not what was written.
    #[error(
        "commit-log is damaged at byte {offset}: {what}; acknowledged writes are missing, restore this store from a \
         replica or a copy"
    )]
    Damage {
        /// Byte offset in the file.
        offset: u64,
        /// What is wrong with the bytes.
        what: &'static str,
    },
    /// The log is not the one that the manifest speaks of.
    #[error(
        "commit-log is older than manifest-{manifest:016x} beside it, or belongs to another store: {what} (byte \
        {offset}); put back the latest commit-log of this directory, or restore this store from a replica or a copy"
    )]
    OlderLog {
        /// Number of the manifest beside the log.
        manifest: u64,
        /// Byte offset in the log at which it is missed.
        offset: u64,
        /// What the manifest names and the log lacks.
        what: &'static str,
    },
    /// The manifest does not know what the log has.
    #[error(
        "manifest-{manifest:016x} is older than the commit-log beside it, or belongs to another store: {what} (byte \
        {offset}); put back the latest manifest of this directory, or restore this store from a replica or a copy"
    )]
    OlderManifest {
        /// Number of the manifest beside the log.
        manifest: u64,
        /// Byte offset in the log at which that is seen.
        offset: u64,
        /// What the log has and the manifest does not know.
        what: &'static str,
    },
}
