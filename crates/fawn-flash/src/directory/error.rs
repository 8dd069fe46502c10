//! [`DirectoryError`]: why a data directory cannot be opened.

use std::io;
use std::path::{Path, PathBuf};

use super::layout::FORMAT_VERSION;

/// Why a directory cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// Another process has it open.
    #[error("{path} is in use by {owner}: stop it or choose another directory")]
    InUse {
        /// Path of the directory.
        path: PathBuf,
        /// `process 1234`, or `another process` when its number is not known.
        owner: String,
    },
    /// Written by a newer version.
    #[error("{path} has format {found}, and this release reads formats up to {FORMAT_VERSION}: use a newer one")]
    NewerFormat {
        /// Path of the directory.
        path: PathBuf,
        /// Format that the directory names.
        found: u32,
    },
    /// The directory belongs to a node of a cluster.
    #[error(
        "{path} belongs to a node of a cluster: start it with `fawn node --dir {path}`, or print its data with \
        `fawn store dump {path}`"
    )]
    Member {
        /// Path of the directory.
        path: PathBuf,
    },
    /// It is another member's, or of another cluster.
    #[error("{path} cannot become the directory of {wanted}: it belongs to {kept}; choose another directory")]
    OtherMember {
        /// Path of the directory.
        path: PathBuf,
        /// Member and cluster that the directory belongs to.
        kept: String,
        /// Whose it was to be.
        wanted: String,
    },
    /// The permissions do not allow it.
    #[error("no permission for {path}: give this user read and write access or choose another directory")]
    Permission {
        /// The directory, or the part of it that was refused.
        path: PathBuf,
    },
    /// The file system takes no writes.
    #[error(
        "{path} is on a read-only file system: mount it for writing, or choose another directory; `fawn store` \
        reads it as it is"
    )]
    ReadOnly {
        /// The directory, or the part of it that was refused.
        path: PathBuf,
    },
    /// The device has no room for the stores that are to be made.
    #[error(
        "{path} has no room for a new store: its commit logs and first segments take {} MiB, and {} MiB are free; \
        give a smaller --memory, fewer --threads, or another device", .wanted.div_ceil(1 << 20), .free >> 20
    )]
    NoRoom {
        /// Path of the directory.
        path: PathBuf,
        /// Bytes that the stores take that are to be made.
        wanted: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The device is full.
    #[error("no space left for {path}: free some or choose another device")]
    NoSpace {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{path} is not a FAWN data directory and not empty (it contains {found:?}): choose an empty or new one")]
    Foreign {
        /// Path of the directory.
        path: PathBuf,
        /// A file that does not belong.
        found: String,
    },
    /// A part that must be there is missing or unreadable.
    #[error("{path} is damaged ({what}): restore it from a copy")]
    Damaged {
        /// The damaged file or the directory it is missing from.
        path: PathBuf,
        /// What is wrong with it, for people.
        what: String,
    },
    /// Anything else the system reports.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The error of a system call on `path`.
pub(super) fn io_error(path: &Path, source: io::Error) -> DirectoryError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => DirectoryError::Permission { path },
        io::ErrorKind::ReadOnlyFilesystem => DirectoryError::ReadOnly { path },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DirectoryError::NoSpace { path },
        _ => DirectoryError::Io { path, source },
    }
}

/// A part of the directory `path` is missing.
pub(super) fn missing(path: &Path, name: &str) -> DirectoryError {
    DirectoryError::Damaged { path: path.join(name), what: "missing".to_owned() }
}
