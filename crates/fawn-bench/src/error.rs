//! What can go wrong, each with what to do next.

use std::fmt;
use std::io;
use std::path::PathBuf;

use fawn_flash::DirectoryError;
use fawn_meter::MeterError;
use fawn_store::flash::FlashError;
use fawn_store::{Damage, OpenError, Refusal};

/// A number of bytes as a flag takes it, to the byte: `512M`, `1536M`, `1000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagBytes(pub u64);

impl fmt::Display for FlagBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
        match units.iter().find(|(unit, _)| self.0 >= *unit && self.0.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Why nothing was measured, or what a measurement has brought to light.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory holds something else.
    #[error("{path} is not empty and holds no measurements ({found:?} is there): choose an empty or a new directory")]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// What is there.
        found: String,
    },
    /// The directory holds other data than were asked for.
    #[error(
        "{path} holds {held_entries} entries of {held_bytes} bytes, not {entries} of {value_bytes}: choose another \
        directory, or delete them with --again"
    )]
    OtherData {
        /// The directory.
        path: PathBuf,
        /// Entries there.
        held_entries: u64,
        /// Bytes of a value there.
        held_bytes: usize,
        /// Entries that were asked for.
        entries: u64,
        /// Bytes of a value that were asked for.
        value_bytes: usize,
    },
    /// The data were loaded otherwise than is asked for, and can be loaded once.
    #[error(
        "{path} was loaded with {loaded}, not {asked}: give the same, or --again, which deletes it and loads again"
    )]
    OtherLoad {
        /// The directory.
        path: PathBuf,
        /// The flags that differ, as they were.
        loaded: String,
        /// As they are asked for.
        asked: String,
    },
    /// The notes beside the data cannot be understood.
    #[error(
        "{path} is not from this release ({reason}): remove it and the data beside it, or choose another directory"
    )]
    Journal {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file or a directory.
    #[error("{path}: {source}")]
    Io {
        /// Its name.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The data directory cannot be opened.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device, or the system's interface to it, has failed.
    #[error(transparent)]
    Flash(#[from] FlashError),
    /// What was read is damaged.
    #[error("{0}: the device, its memory or the store has damaged it")]
    Damage(#[from] Damage),
    /// A get gave something else than what was put.
    #[error(
        "the value of entry {index} is wrong: {found}, where {expected}; this is a bug of the store, or the device \
        corrupts data"
    )]
    Wrong {
        /// The entry.
        index: u64,
        /// What was found.
        found: String,
        /// What may be there.
        expected: String,
    },
    /// The memory budget does not suffice for so many entries.
    #[error(
        "the index has reached --memory {} after {entries} entries: give more memory, or fewer entries",
        FlagBytes(*memory)
    )]
    OutOfMemory {
        /// The budget in bytes.
        memory: u64,
        /// Entries that fit.
        entries: u64,
    },
    /// The store takes no puts.
    #[error("a put was refused: {0}")]
    Refused(#[from] Refusal),
    /// What a measurement is asked for does not go together.
    #[error("{0}")]
    Unfit(String),
    /// A process that was started to be killed did not do its part.
    #[error("the process that should load entries {0}")]
    Child(String),
    /// The program that measures other engines is not there.
    #[error(
        "{0} was not found: build it with `cargo build --release --manifest-path peers/Cargo.toml --target-dir \
        target` (CONTRIBUTING.md lists its dependencies), or give its path with --peer-program"
    )]
    NoPeers(PathBuf),
    /// That program does not have the engine.
    #[error("{engine} was not measured: {reason}; earlier results are kept")]
    NoEngine {
        /// The engine.
        engine: String,
        /// What it said.
        reason: String,
    },
    /// That program has failed.
    #[error("{engine} was not measured: {reason}; earlier results are kept")]
    Peer {
        /// The engine.
        engine: String,
        /// What it said.
        reason: String,
    },
    /// The meter has failed.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// Another program that was started has failed.
    #[error("fio failed: {0}; measure without it with --device own")]
    Fio(String),
}

impl Error {
    /// The error of an operation on a file or a directory.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { path, source }
    }
}
