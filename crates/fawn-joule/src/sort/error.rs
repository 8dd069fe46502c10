//! Why a sort, a generator or a validator could not do its work.

use std::io;
use std::path::{Path, PathBuf};

use fawn_meter::MeterError;
use fawn_report::amount::bytes;

/// Why records could not be made, sorted or validated. Each message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum SortError {
    /// A file or directory cannot be used as it has to be.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried, e.g. `read`.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file system is full.
    #[error("the file system of {} is full: free some space, or write elsewhere", path.display())]
    Full {
        /// What was written.
        path: PathBuf,
    },
    /// What is to be written would not fit.
    #[error(
        "the file system of {} has {} free, and {} are needed: free some space, or write elsewhere",
        dir.display(), bytes(*free as f64), bytes(*needed as f64)
    )]
    Space {
        /// The directory.
        dir: PathBuf,
        /// Bytes that are free.
        free: u64,
        /// Bytes that are needed.
        needed: u64,
    },
    /// A file does not consist of whole records.
    #[error(
        "{} has {size} bytes, which is no multiple of {record_bytes}: give the size of its records (--record-size), or \
        generate it again if it was cut off",
        path.display()
    )]
    PartialRecord {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        size: u64,
        /// Bytes of a record.
        record_bytes: usize,
    },
    /// A file shrank while it was read.
    #[error("{} became shorter while it was read: run the command again when nobody writes to it", path.display())]
    Shrunk {
        /// The file.
        path: PathBuf,
    },
    /// Somebody wrote to a file while it was read.
    #[error("{} was written to while it was read: run the command again when nobody writes to it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Records without a byte.
    #[error("a record has one byte or more: give --record-size 1 or more")]
    EmptyRecord,
    /// Keys without a byte.
    #[error("a key has one byte or more: give --key-size 1 or more")]
    EmptyKey,
    /// The key does not lie in the record.
    #[error("the key ends behind the record: give --key-offset and --key-size that together are at most --record-size")]
    Shape,
    /// Two passes need more memory.
    #[error("these records need {} of memory for two passes: give --memory that much, or fewer --threads", bytes(*needed as f64))]
    Memory {
        /// Bytes.
        needed: u64,
    },
    /// The system gives no memory.
    #[error("the system gives no {} of memory ({source}): give less --memory", bytes(*size as f64))]
    NoMemory {
        /// Bytes that were asked for.
        size: u64,
        /// What the system says.
        source: io::Error,
    },
    /// The meter cannot be read any more.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// Another thread of the same work has failed, and says why.
    #[error("another thread failed")]
    Stopped,
}

impl SortError {
    /// An error of the system, with what was tried. A full file system is an error of its own.
    pub fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        let (source, path) = (source.into(), path.to_owned());
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Io { doing, path, source },
        }
    }

    /// Whether another error says more.
    pub fn is_consequence(&self) -> bool {
        matches!(self, Self::Stopped)
    }
}

/// The error that says most, of work that several threads did.
///
/// # Errors
/// One of theirs, if there is any.
pub fn first_cause(results: impl IntoIterator<Item = Result<(), SortError>>) -> Result<(), SortError> {
    let mut consequence = Ok(());
    for result in results {
        match result {
            Err(error) if !error.is_consequence() => return Err(error),
            Err(error) => consequence = Err(error),
            Ok(()) => {}
        }
    }
    consequence
}
