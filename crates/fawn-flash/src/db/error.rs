//! Why an operation on a [`Db`](super::Db) failed.

use fawn_store::flash::FlashError;
use fawn_store::record::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use fawn_store::{Damage, Losses, OpenError, Refusal};

use crate::directory::DirectoryError;

/// Why an operation on a [`Db`](super::Db) failed. Nothing was changed unless it says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory cannot be opened.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A store cannot be opened.
    #[error("store {store}: {source}")]
    Open {
        /// Number of the store that cannot be opened.
        store: usize,
        /// Why the store cannot be opened.
        source: OpenError,
    },
    /// The device failed to read or to write.
    #[error(transparent)]
    Flash(#[from] FlashError),
    /// Bytes on flash are not what was written. Never a wrong value: the key cannot be read.
    #[error("{0}; put the key again or delete it, or restore the directory from a copy")]
    Damage(#[from] Damage),
    /// A scan comes upon keys that cannot be read. It leaves them out and goes on.
    #[error(transparent)]
    Lost(#[from] Losses),
    /// A key is empty or too long.
    #[error("a key of {0} bytes: keys have 1 to {MAX_KEY_BYTES} bytes")]
    KeyLength(usize),
    /// A value is too long.
    #[error("a value of {0} bytes: values have at most {MAX_VALUE_BYTES} bytes")]
    ValueLength(usize),
    /// The device has only its reserve left.
    #[error("no space left for new records: free some on the device, or delete keys")]
    NoSpace,
    /// The index has reached the memory budget.
    #[error("the index has reached the memory budget: open with more memory, or delete keys")]
    OutOfMemory,
    /// The index has reached the memory budget, and merges, which would make it smaller, fail.
    #[error("the index has reached the memory budget, and merges fail: {0}; restore the directory from a copy")]
    CannotMerge(String),
    /// A write or sync failed earlier. Durable records are safe; nothing more is taken. After a failed durable put it
    /// is unknown whether the put will be there after the next opening.
    #[error("the store has stopped: {0}; check the device, then open it again")]
    Stopped(String),
    /// The `Db` was closed.
    #[error("the database is closed")]
    Closed,
}

impl Error {
    /// What a refusal that is not to be waited out means.
    pub(super) fn refused(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoSpace => Self::NoSpace,
            Refusal::OutOfMemory => Self::OutOfMemory,
            Refusal::CannotMerge(why) => Self::CannotMerge(why),
            Refusal::Stopped(why) => Self::Stopped(why),
            // Busy and too large are dealt with by those who append; nothing else is refused to them.
            other => Self::Stopped(other.to_string()),
        }
    }
}
