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

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use fawn_ring::{Interval, Key, Secret};
use fawn_store::Options;
use fawn_store::flash::FlashError;

use crate::files::{Caching, Files};
use crate::os::random::random;

pub use self::member::MemberDirectory;

mod format;
mod lock;
mod member;
mod space_check;
mod text;

use format::Format;
use lock::{Lock, lock, lock_to_look};
use text::{NEW, replace, sync_directory};

/// The newest version of the directory's layout that this program reads and writes.
pub const FORMAT_VERSION: u32 = 3;
/// Most stores that a directory may have.
pub const MAX_STORES: usize = 1024;

const FORMAT: &str = "FORMAT";
const SECRET: &str = "SECRET";
const MEMBER: &str = "MEMBER";
const LOCK: &str = "LOCK";
/// What file systems and their tools keep at the root of a volume.
const OF_VOLUMES: [&str; 5] = ["lost+found", ".snapshot", ".snapshots", ".zfs", "System Volume Information"];

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
        Self::of(path, Opened::open(path, stores, own, Kind::Plain)?)
    }

    /// Opens the plain data directory `path` to look at it: nothing is made or changed there, and it may be read-only.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn look(path: &Path) -> Result<Self, DirectoryError> {
        Self::of(path, Opened::look(path)?)
    }

    fn of(path: &Path, opened: Opened) -> Result<Self, DirectoryError> {
        if opened.format.kind == Kind::Member {
            return Err(DirectoryError::Member { path: path.to_owned() });
        }
        let Opened { format: Format { stores, .. }, created, secret, lock } = opened;
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

/// What the stores of a directory are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Stores of one process alone.
    Plain,
    /// Stores of a cluster's node.
    Member,
}

/// A directory of either kind whose lock is held.
struct Opened {
    format: Format,
    created: bool,
    /// If it has one.
    secret: Option<Secret>,
    lock: Lock,
}

impl Opened {
    /// Opens what is at `path`, or makes a directory of this kind, with a file of its own: name and text.
    fn open(
        path: &Path,
        stores: usize,
        own: impl FnOnce() -> io::Result<(&'static str, String)>,
        kind: Kind,
    ) -> Result<Self, DirectoryError> {
        assert!((1..=MAX_STORES).contains(&stores), "a directory has 1 to {MAX_STORES} stores");
        make_directory(path).map_err(|source| error(path, source))?;
        // Looked at before the lock file is made: nothing is left in a directory that is not ours.
        refuse_foreign(path)?;
        let lock = lock(path)?;
        let created = !path.join(FORMAT).exists();
        if created {
            let format = Format { stores, kind, is_sealed: true };
            create(path, format, own).map_err(|source| error(path, source))?;
        }
        let opened = Self::found(path, created, lock)?;
        if !opened.format.is_sealed {
            opened.upgrade(path)?;
        }
        Ok(opened)
    }

    /// Opens what is at `path`, and changes nothing.
    fn look(path: &Path) -> Result<Self, DirectoryError> {
        Self::found(path, false, lock_to_look(path)?)
    }

    fn found(path: &Path, created: bool, lock: Lock) -> Result<Self, DirectoryError> {
        let format = Format::read(path)?.ok_or_else(|| missing(path, FORMAT))?;
        for index in 0..format.stores {
            let store = store_path(path, index);
            if !store.is_dir() {
                let what = format!("{} is missing, or {FORMAT} is wrong", store.display());
                return Err(DirectoryError::Damaged { path: path.to_owned(), what });
            }
        }
        let secret = format.secret(path)?;
        if !format.is_sealed {
            format.prove(path, secret)?;
        }
        Ok(Self { format, created, secret, lock })
    }

    /// Gives the files of an older format their checksums. A device without room for that is no reason to stop.
    fn upgrade(&self, path: &Path) -> Result<(), DirectoryError> {
        let write = || {
            if let Some(secret) = &self.secret {
                replace(path, SECRET, &secret_text(secret))?;
            }
            member::seal(path)?;
            replace(path, FORMAT, &self.format.text())
        };
        match write() {
            Err(full) if matches!(full.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                tracing::warn!("{} keeps its older format: the device is full", path.display());
                Ok(())
            }
            written => written.map_err(|source| error(path, source)),
        }
    }
}

fn missing(path: &Path, name: &str) -> DirectoryError {
    DirectoryError::Damaged { path: path.join(name), what: "missing".to_owned() }
}

fn store_path(path: &Path, index: usize) -> PathBuf {
    path.join(format!("store-{index}"))
}

/// The store, of `stores`, that holds `key`: the key space is cut into equal stretches by the top 64 bits.
#[inline]
pub fn store_of(key: &Key, stores: usize) -> usize {
    ((u128::from(key.prefix()) * stores as u128) >> 64) as usize
}

/// The stretch of the key space that store `index` of `stores` holds.
pub fn interval_of(index: usize, stores: usize) -> Interval {
    assert!(index < stores, "store {index} of {stores}");
    // The smallest prefix that `store_of` maps to the store.
    let first = |index: usize| ((index as u128) << 64).div_ceil(stores as u128);
    let low = Key::lowest_with_prefix(first(index) as u64);
    Interval::new(low, Key::highest_with_prefix((first(index + 1) - 1) as u64))
}

fn error(path: &Path, source: io::Error) -> DirectoryError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => DirectoryError::Permission { path },
        io::ErrorKind::ReadOnlyFilesystem => DirectoryError::ReadOnly { path },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DirectoryError::NoSpace { path },
        _ => DirectoryError::Io { path, source },
    }
}

/// Makes `path` and what is missing above it, for this user alone.
fn make_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}

/// Refuses a directory without `FORMAT` that holds anything but what an interrupted [`create`] leaves.
fn refuse_foreign(path: &Path) -> Result<(), DirectoryError> {
    if path.join(FORMAT).exists() {
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(|source| error(path, source))? {
        let name = entry.map_err(|source| error(path, source))?.file_name();
        let name = name.to_string_lossy();
        let ours = match name.strip_prefix("store-") {
            Some(number) => number.parse::<usize>().is_ok() && is_empty(&path.join(&*name)),
            None => {
                name == LOCK
                    || OF_VOLUMES.contains(&&*name)
                    || [SECRET, MEMBER, FORMAT].contains(&name.trim_end_matches(NEW))
            }
        };
        if !ours {
            return Err(DirectoryError::Foreign { path: path.to_owned(), found: name.into_owned() });
        }
    }
    Ok(())
}

fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Makes the parts of a new directory.
fn create(path: &Path, format: Format, own: impl FnOnce() -> io::Result<(&'static str, String)>) -> io::Result<()> {
    // Whoever may enter could otherwise read what clients store.
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    for index in 0..format.stores {
        match DirBuilder::new().mode(0o700).create(store_path(path, index)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => result?,
        }
    }
    let (name, text) = own()?;
    replace(path, name, &text)?;
    replace(path, FORMAT, &format.text())
}

fn secret_text(secret: &Secret) -> String {
    format!("{}\n", hex(&secret.0))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    text
}

fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
