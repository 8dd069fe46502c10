//! The one boundary between the store and the outside: numbered files of whole pages.
//!
//! Implementations: `fawn_flash` on real files, `fawn_sim` on a simulated device that loses, tears and reorders what
//! was not synced.

use crate::format::page::{Page, PageBuf};
use std::fmt;

/// A file of a store. Identities are never reused within a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileId {
    /// One generation of the manifest (`manifest-N`).
    Manifest(u64),
    /// The commit log (`commit-log`): one ring of pages, preallocated.
    CommitLog,
    /// A sealed segment or a base run (`segment-N`).
    Segment(u64),
    /// One large value (`value-N`).
    Value(u64),
}

/// The name of the file within its store's directory, numbers as sixteen hexadecimal digits.
impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest(number) => write!(f, "manifest-{number:016x}"),
            Self::CommitLog => f.write_str("commit-log"),
            Self::Segment(number) => write!(f, "segment-{number:016x}"),
            Self::Value(number) => write!(f, "value-{number:016x}"),
        }
    }
}

/// Why an operation on flash failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlashError {
    /// There is no such file.
    #[error("{0} does not exist")]
    NotFound(FileId),
    /// The read or write reaches past the end of the file.
    #[error("{0} is shorter than expected")]
    Short(FileId),
    /// The device is full (ENOSPC, EDQUOT).
    #[error("no space left on the device")]
    NoSpace,
    /// The system was short of descriptors or memory: the same may succeed a moment later. It says nothing of the device, and
    /// comes of reads by plan alone: whoever blocks waits until it has passed.
    #[error("{0}")]
    Transient(String),
    /// Anything else the device or the file system reports, as text for people.
    #[error("{0}")]
    Io(String),
}

/// Space on the device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Size of the device or the quota: what is used and what is free for this store, without what is kept for others.
    pub total: u64,
    /// Still free for this store.
    pub free: u64,
}

/// One of several reads that are made together: `pages.len()` pages of `file` from page number `first`.
pub struct Fill<'p> {
    /// The file to read.
    pub file: FileId,
    /// Page number of the first page.
    pub first: u64,
    /// The buffer that takes the pages.
    pub pages: &'p mut [Page],
}

/// Files of whole pages on flash. All operations block; nothing here is called on an event loop, which reads by
/// plan (`ReadPlan`) instead. One file has one writer at a time; readers may read pages that are not being written.
///
/// Durability: bytes are durable after [`sync`](Self::sync) of their file *and* [`sync_names`](Self::sync_names)
/// since the file was created. A removal is durable after `sync_names`.
pub trait Flash {
    /// Creates `file` with `pages` pages allocated (they read as zeros), replacing nothing.
    ///
    /// # Errors
    /// [`FlashError::NoSpace`] when the pages cannot be reserved (nothing is left behind); [`FlashError::Io`] also when
    /// the file exists.
    fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError>;

    /// Reads `pages.len()` pages from page number `first`.
    ///
    /// # Errors
    /// [`FlashError::NotFound`], [`FlashError::Short`], [`FlashError::Io`].
    fn read(&self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError>;

    /// Makes all of `fills`, in any order: a device does many reads in little more time than one.
    ///
    /// # Errors
    /// As [`read`](Self::read), with the place in `fills` of one that failed; then any of them may have been made.
    fn read_many(&self, fills: &mut [Fill<'_>]) -> Result<(), (usize, FlashError)> {
        for (place, fill) in fills.iter_mut().enumerate() {
            self.read(fill.file, fill.first, fill.pages).map_err(|error| (place, error))?;
        }
        Ok(())
    }

    /// Writes `pages` from page number `first`, extending the file where needed. Not durable before `sync`.
    ///
    /// # Errors
    /// [`FlashError::NoSpace`], [`FlashError::Io`]; then any part may have been written.
    fn write(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError>;

    /// Writes the first `count` of `pages` of a segment as [`write`](Self::write) does, but perhaps not before it returns:
    /// the writer prepares the next pages meanwhile, in the buffer of as many pages (of any content) that it finds in
    /// `pages`. They are there once the file was synced or cut.
    ///
    /// # Errors
    /// As [`write`](Self::write); one may belong to an earlier write of the file, and be told here, or by its next
    /// [`truncate`](Self::truncate) or [`sync`](Self::sync).
    fn write_behind(&self, file: FileId, first: u64, pages: &mut PageBuf, count: usize) -> Result<(), FlashError> {
        self.write(file, first, &pages.pages()[..count])
    }

    /// Writes `pages` from page number `first` within the allocated size and makes them durable before it returns
    /// (the commit log's write: one call, so that a device with forced unit access needs one request).
    ///
    /// # Errors
    /// As [`write`](Self::write) and [`sync`](Self::sync).
    fn write_durably(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        self.write(file, first, pages)?;
        self.sync(file)
    }

    /// Makes all earlier writes to `file` durable. A failure is final: the store must stop, never retry.
    ///
    /// # Errors
    /// [`FlashError::Io`].
    fn sync(&self, file: FileId) -> Result<(), FlashError>;

    /// Makes creations and removals of files durable.
    ///
    /// # Errors
    /// [`FlashError::Io`].
    fn sync_names(&self) -> Result<(), FlashError>;

    /// Gives pages `first .. first + count` back to the device; they read as zeros. May do nothing where the file
    /// system cannot.
    ///
    /// # Errors
    /// [`FlashError::Io`].
    fn punch(&self, file: FileId, first: u64, count: u64) -> Result<(), FlashError>;

    /// Cuts `file` to `pages` pages, giving back what it had beyond.
    ///
    /// # Errors
    /// [`FlashError::Io`].
    fn truncate(&self, file: FileId, pages: u64) -> Result<(), FlashError>;

    /// Removes `file`. Its pages may still be read by reads that began before.
    ///
    /// # Errors
    /// [`FlashError::NotFound`], [`FlashError::Io`].
    fn remove(&self, file: FileId) -> Result<(), FlashError>;

    /// All files with their lengths in pages, in any order.
    ///
    /// # Errors
    /// [`FlashError::Io`].
    fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError>;

    /// Keeps so many bytes of the device from other programs, if it can and there is ample room, for segments and manifests
    /// that find no other space; 0: as many as before. Returns how many are kept, which count as used in [`space`](Self::space).
    fn keep_spare(&self, bytes: u64) -> u64 {
        let _ = bytes;
        0
    }

    /// A number that no other opening of any store gets, as good as certainly: its commit log is known by it. 0 where
    /// nobody copies files.
    ///
    /// # Errors
    /// [`FlashError::Io`].
    fn nonce(&self) -> Result<u64, FlashError> {
        Ok(0)
    }

    /// Space on the device.
    ///
    /// # Errors
    /// [`FlashError::Io`].
    fn space(&self) -> Result<Space, FlashError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_a_file_as_the_directory_lists_it() {
        assert_eq!(FlashError::NotFound(FileId::Segment(10)).to_string(), "segment-000000000000000a does not exist");
        assert_eq!(FlashError::Short(FileId::CommitLog).to_string(), "commit-log is shorter than expected");
    }
}
