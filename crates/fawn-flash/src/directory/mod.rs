//! [`Directory`]: a node's data directory.
//!
//! | name | what |
//! |---|---|
//! | `FORMAT` | text: the format's version, the number of stores and the kind; written last when a directory is made |
//! | `SECRET` | text: the hash key, 64 hexadecimal digits |
//! | `MEMBER` | text: who the node is, in a directory of a cluster's node; see [`MemberDirectory`] |
//! | `LOCK` | locked (`flock`), as the directory itself is, by the process that has it open, whose number it contains |
//! | `store-K/` | the files of store K, see [`Files`] |
//!
//! A directory is made in this order: lock, store directories, secret or `MEMBER`, `FORMAT` under another name, sync,
//! rename, sync. A crash in between leaves something without `FORMAT` that holds nothing of worth, and making it is begun
//! anew.
//!
//! `FORMAT`, `SECRET` and `MEMBER` end with their checksum (`text`). Formats 1 and 2 had none: what they say is proved by the
//! stores' manifests, as far as those know it, and written again as format 3.
//!
//! There are two *kinds*: a plain one, whose stores `fawn serve` and [`Db`](crate::Db) keep, and a member's, whose stores hold
//! ranges of a cluster.

use std::path::{Path, PathBuf};

use fawn_ring::{Interval, Key, Secret};
use fawn_store::Options;
use fawn_store::flash::FlashError;

use crate::files::{Caching, Files};
use crate::os::random::random;
use crate::os::retry::RetryLimit;

mod error;
mod format;
mod hex;
mod layout;
mod lock;
mod member;
mod member_file;
mod opened;
mod space_check;
mod text;

pub use error::DirectoryError;
use error::missing;
use format::{Format, secret_text};
use layout::{DirectoryKind, SECRET, store_path};
pub use layout::{FORMAT_VERSION, MAX_STORES, interval_of, store_of};
use lock::Lock;
pub use member::MemberDirectory;
use opened::OpenedDirectory;

/// An open data directory. Its lock is held until this is dropped.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    stores: usize,
    secret: Secret,
    created: bool,
    /// Held for its lock.
    _lock: Lock,
}

impl Directory {
    /// Opens the plain data directory `path`; makes it, with `stores` stores (1 to [`MAX_STORES`]), when there is nothing
    /// or an empty directory. The number of stores of an existing one stays what it was.
    ///
    /// # Errors
    /// Each [`DirectoryError`] says what to do; a member's directory is refused with [`DirectoryError::Member`].
    pub fn open(path: &Path, stores: usize) -> Result<Self, DirectoryError> {
        let own = || Ok((SECRET, secret_text(&Secret(random()?))));
        Self::of(path, OpenedDirectory::open(path, stores, own, DirectoryKind::Plain)?)
    }

    /// Opens the plain data directory `path` to look at it: nothing is made or changed there, and it may be read-only.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn look(path: &Path) -> Result<Self, DirectoryError> {
        Self::of(path, OpenedDirectory::look(path)?)
    }

    fn of(path: &Path, opened: OpenedDirectory) -> Result<Self, DirectoryError> {
        if opened.format.kind == DirectoryKind::Member {
            return Err(DirectoryError::Member { path: path.to_owned() });
        }
        let OpenedDirectory { format: Format { stores, .. }, created, secret, lock } = opened;
        let secret = secret.ok_or_else(|| missing(path, SECRET))?;
        Ok(Self { path: path.to_owned(), stores, secret, created, _lock: lock })
    }

    /// Makes sure that the device has room for those stores that are yet to be made, with these options.
    ///
    /// # Errors
    /// [`DirectoryError::NoRoom`]: what was made in a directory in which nothing was ever written is gone.
    pub fn make_room(&self, options: &Options) -> Result<(), DirectoryError> {
        space_check::ensure(&self.path, self.stores, options, true)
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of stores, fixed when the directory was made.
    pub fn stores(&self) -> usize {
        self.stores
    }

    /// The hash key, chosen at random when the directory was made.
    pub fn secret(&self) -> Secret {
        self.secret
    }

    /// Whether this call of [`open`](Self::open) made it.
    pub fn is_new(&self) -> bool {
        self.created
    }

    /// The directory of store `index`.
    pub fn store_path(&self, index: usize) -> PathBuf {
        store_path(&self.path, index)
    }

    /// The files of store `index`.
    ///
    /// # Errors
    /// As [`Files::open`].
    pub fn files(&self, index: usize, caching: Caching) -> Result<Files, FlashError> {
        assert!(index < self.stores, "store {index} of {}", self.stores);
        Files::open(&self.store_path(index), caching)
    }

    /// The files of store `index`, for a command: what the system is short of is asked for until `limit`.
    ///
    /// # Errors
    /// As [`Files::open`].
    pub(crate) fn files_with(&self, index: usize, limit: RetryLimit) -> Result<Files, FlashError> {
        assert!(index < self.stores, "store {index} of {}", self.stores);
        Files::open_with(&self.store_path(index), Caching::Auto, limit)
    }

    /// The stretch of the key space that store `index` holds.
    pub fn interval(&self, index: usize) -> Interval {
        interval_of(index, self.stores)
    }

    /// The store that holds `key`.
    #[inline]
    pub fn store_of(&self, key: &Key) -> usize {
        store_of(key, self.stores)
    }
}

#[cfg(test)]
mod tests;
