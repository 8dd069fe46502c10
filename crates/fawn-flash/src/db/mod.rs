//! [`Db`]: the store for programs that embed it: blocking calls, any number of threads.
//!
//! ```
//! use fawn_flash::{Db, DbOptions};
//!
//! # fn main() -> Result<(), fawn_flash::Error> {
//! # let directory = tempfile::tempdir().expect("a directory for temporary files");
//! # let path = directory.path().join("data");
//! let db = Db::open(&path, DbOptions::default())?;
//! db.put(b"sparrow", b"small and brown")?;
//! assert_eq!(db.get(b"sparrow")?.as_deref(), Some(&b"small and brown"[..]));
//! assert_eq!(db.get(b"dodo")?, None);
//! db.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Durability
//!
//! With [`Durable`](crate::Ack::Durable) acknowledgement, the default, a put returns when it survives a power cut; puts
//! of many threads share each sync. With [`Interval`](crate::Ack::Interval) it returns at once and is durable some
//! milliseconds later. With [`Memory`](crate::Ack::Memory) it is durable after [`Db::sync`], or when its segment
//! happens to be written: for bulk loads. A get never shows what an acknowledged put has overwritten, and with
//! `Durable` never what could still be lost.
//!
//! # Layout
//!
//! `inner`: all stores of a directory, shared by clones. `shard`: one store behind its lock, and its threads. `get`,
//! `change`, `commit`: its operations. `multi_get`: gets with all their reads in flight at once. `scan`: everything, in order
//! of the keys' positions. `types`: what calls take and give.

mod change;
mod commit;
mod error;
mod get;
mod inner;
mod multi_get;
mod scan;
mod shard;
mod types;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use fawn_store::record::MAX_VALUE_BYTES;
use fawn_store::{Opening, Write};

pub use self::error::Error;
use self::inner::DbInner;
pub use self::scan::{DbScan, Items};
pub use self::types::{Condition, DbOptions, DbStats, Extras, StoredItem, WriteOutcome};

/// A data directory that is open for reading and writing. Clones share it; it is [closed](Self::close) when the last
/// one is dropped. All calls block, none needs `&mut`.
///
/// The [module](self) has an example.
#[derive(Clone)]
pub struct Db {
    inner: Arc<DbInner>,
}

impl Db {
    /// Opens the directory `path`, or makes it where there is nothing or an empty directory. While it is open, no other
    /// process can open it.
    ///
    /// # Errors
    /// [`Error::Directory`], [`Error::Open`], [`Error::Flash`]: each says what to do.
    pub fn open(path: impl AsRef<Path>, options: DbOptions) -> Result<Self, Error> {
        Ok(Self { inner: Arc::new(DbInner::open(path.as_ref(), options)?) })
    }

    /// The value of `key`; `None` when there is no such key, which an empty value is not.
    ///
    /// # Errors
    /// [`Error::Damage`], [`Error::Flash`], [`Error::KeyLength`], [`Error::Stopped`], [`Error::Closed`].
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        self.inner.get(key, |record| record.value.to_vec())
    }

    /// Appends the value of `key` to `out`; `false`, and nothing, when there is no such key. On an error `out` may have
    /// been appended to.
    ///
    /// ```
    /// # use fawn_flash::{Db, DbOptions};
    /// # fn main() -> Result<(), fawn_flash::Error> {
    /// # let directory = tempfile::tempdir().expect("a directory for temporary files");
    /// # let db = Db::open(directory.path().join("data"), DbOptions::default())?;
    /// db.put(b"a", b"one, ")?;
    /// db.put(b"b", b"two")?;
    /// let mut out = Vec::new();
    /// for key in [b"a", b"b", b"c"] {
    ///     db.get_into(key, &mut out)?;
    /// }
    /// assert_eq!(out, b"one, two");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get).
    #[inline]
    pub fn get_into(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, Error> {
        Ok(self.inner.get(key, |record| out.extend_from_slice(record.value))?.is_some())
    }

    /// The value of `key` with its version and extras.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_item(&self, key: &[u8]) -> Result<Option<StoredItem>, Error> {
        self.inner.get(key, StoredItem::of)
    }

    /// The values of all `keys`, in their order. All reads from flash are in flight at once, so that many keys take
    /// little longer than one. Not a snapshot: each value is the newest of some moment during the call.
    ///
    /// ```
    /// # use fawn_flash::{Db, DbOptions};
    /// # fn main() -> Result<(), fawn_flash::Error> {
    /// # let directory = tempfile::tempdir().expect("a directory for temporary files");
    /// # let db = Db::open(directory.path().join("data"), DbOptions::default())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let values = db.get_many(&["a", "b", "c"])?;
    /// assert_eq!(values, [Some(b"1".to_vec()), None, Some(b"3".to_vec())]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get), for any of the keys.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        self.inner.get_many(keys)
    }

    /// Stores `value` under `key`; returns the new version. A key has 1 to 65,535 bytes, a value up to 128 MiB.
    ///
    /// # Errors
    /// [`Error::NoSpace`], [`Error::OutOfMemory`], [`Error::KeyLength`], [`Error::ValueLength`], [`Error::Flash`],
    /// [`Error::Closed`]: nothing was stored. [`Error::Stopped`]: it may have been.
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<u64, Error> {
        self.put_with(key, value, Extras::default())
    }

    /// As [`put`](Self::put), with flags and an expiry.
    ///
    /// ```
    /// # use fawn_flash::{Db, DbOptions, Extras};
    /// # fn main() -> Result<(), fawn_flash::Error> {
    /// # let directory = tempfile::tempdir().expect("a directory for temporary files");
    /// # let db = Db::open(directory.path().join("data"), DbOptions::default())?;
    /// db.put_with(b"session", b"...", Extras { flags: 7, expiry: 4_000_000_000 })?;
    /// assert_eq!(db.get_item(b"session")?.map(|item| item.extras.flags), Some(7));
    /// db.put_with(b"over", b"...", Extras { flags: 0, expiry: 1_000_000_000 })?;
    /// assert_eq!(db.get(b"over")?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[inline]
    pub fn put_with(&self, key: &[u8], value: &[u8], extras: Extras) -> Result<u64, Error> {
        match self.put_if(key, value, extras, Condition::Always)? {
            WriteOutcome::Stored { version } => Ok(version),
            WriteOutcome::Refused { .. } => unreachable!("there was no condition"),
        }
    }

    /// Stores `value` under `key` if `condition` holds, with no other change of the key in between.
    ///
    /// ```
    /// # use fawn_flash::{Condition, Db, DbOptions, Extras, WriteOutcome};
    /// # fn main() -> Result<(), fawn_flash::Error> {
    /// # let directory = tempfile::tempdir().expect("a directory for temporary files");
    /// # let db = Db::open(directory.path().join("data"), DbOptions::default())?;
    /// let first = db.put(b"counter", b"1")?;
    /// let by_us = db.put_if(b"counter", b"2", Extras::default(), Condition::Version(first))?;
    /// let WriteOutcome::Stored { version: second } = by_us else { panic!("nobody else changed it") };
    /// let again = db.put_if(b"counter", b"2", Extras::default(), Condition::Version(first))?;
    /// assert_eq!(again, WriteOutcome::Refused { version: Some(second) });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`put`](Self::put) and [`get`](Self::get).
    #[inline]
    pub fn put_if(
        &self,
        key: &[u8],
        value: &[u8],
        extras: Extras,
        condition: Condition,
    ) -> Result<WriteOutcome, Error> {
        if value.len() > MAX_VALUE_BYTES {
            return Err(Error::ValueLength(value.len()));
        }
        let write = Write { client_flags: extras.flags, expiry: extras.expiry, ..Write::value(key, value) };
        self.inner.change(&write, condition)
    }

    /// Deletes `key`; whether it was there. What cannot be read is taken for there.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn delete(&self, key: &[u8]) -> Result<bool, Error> {
        let deleted = match self.delete_if(key, Condition::Present) {
            Err(Error::Damage(_) | Error::Flash(_)) => self.delete_if(key, Condition::Always),
            result => result,
        };
        deleted.map(|result| matches!(result, WriteOutcome::Stored { .. }))
    }

    /// Deletes `key` if `condition` holds. With [`Condition::Always`] a delete record is written without a look at
    /// whether the key is there, which may save a read.
    ///
    /// # Errors
    /// As [`delete`](Self::delete).
    pub fn delete_if(&self, key: &[u8], condition: Condition) -> Result<WriteOutcome, Error> {
        self.inner.change(&Write::delete(key), condition)
    }

    /// All live keys and values, in the order of the keys' positions (hashes): no order that means anything. What was
    /// put before the call is there; a key that is changed during the scan appears once, with either value, or, when
    /// it is deleted, may be missing.
    ///
    /// The scan first seals what is in memory, so that many scans of a store with few keys write small segments.
    ///
    /// ```
    /// # use fawn_flash::{Db, DbOptions};
    /// # fn main() -> Result<(), fawn_flash::Error> {
    /// # let directory = tempfile::tempdir().expect("a directory for temporary files");
    /// # let db = Db::open(directory.path().join("data"), DbOptions::default())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut pairs = db.scan().collect::<Result<Vec<_>, _>>()?;
    /// pairs.sort();
    /// assert_eq!(pairs, [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"2".to_vec())]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan(&self) -> DbScan {
        DbScan::new(Arc::clone(&self.inner))
    }

    /// As [`scan`](Self::scan), with flags, expiry and version beside each value.
    pub fn scan_items(&self) -> Items {
        Items::new(Arc::clone(&self.inner))
    }

    /// Returns when everything that was put or deleted before is durable, whatever the [`Ack`](crate::Ack).
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::NoSpace`], [`Error::Closed`].
    pub fn sync(&self) -> Result<(), Error> {
        self.inner.shards.iter().try_for_each(|shard| shard.sync())
    }

    /// Figures of all stores, and how their files are read.
    pub fn stats(&self) -> DbStats {
        let mut reads = "not used yet";
        for shard in &*self.inner.shards {
            if let Some(reader) = shard.readers().first() {
                reads = reader.name();
            }
        }
        DbStats {
            stores: self.inner.shards.iter().map(|shard| shard.lock().store.stats()).collect(),
            files: self.inner.shards[0].files.path_name(),
            reads,
        }
    }

    /// What opening found in each store: whether the last stop was clean, what was replayed.
    pub fn openings(&self) -> &[Opening] {
        &self.inner.openings
    }

    /// Syncs everything, records a clean stop and gives the directory up for others to open. Calls under way on other
    /// threads finish or fail with [`Error::Closed`], as all later ones do. Closing again does nothing.
    ///
    /// # Errors
    /// The first store's that cannot be stopped cleanly; all others are.
    pub fn close(&self) -> Result<(), Error> {
        self.inner.close()
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db").field("stores", &self.inner.shards.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
