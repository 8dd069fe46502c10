//! [`Directory`]: a node's data directory.
//!
//! | name | what |
//! |---|---|
//! | `FORMAT` | text: the format's version and the number of stores; written last when a directory is made |
//! | `SECRET` | text: the hash key, 64 hexadecimal digits |
//! | `LOCK` | locked (`flock`) by the process that has the directory open, whose number it contains |
//! | `store-K/` | the files of store K, see [`Files`] |
//!
//! A directory is made in this order: lock, store directories, secret, `FORMAT` under another name, sync, rename, sync.
//! A crash in between leaves something without `FORMAT` that holds nothing of worth, and making it is begun anew.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use fawn_ring::{Interval, Key, Secret};
use fawn_store::flash::FlashError;
use rustix::fs::FlockOperation;
use rustix::rand::GetRandomFlags;

use crate::files::{Caching, Files};

/// The version of the directory's layout that this program writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;
/// Most stores that a directory may have.
pub const MAX_STORES: usize = 1024;

const FORMAT: &str = "FORMAT";
const FORMAT_NEW: &str = "FORMAT.new";
const SECRET: &str = "SECRET";
const LOCK: &str = "LOCK";
const TITLE: &str = "FAWN data directory";

/// Why a directory cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// Another process has it open.
    #[error("{path} is in use by {owner}: stop it or choose another directory")]
    InUse {
        /// The directory.
        path: PathBuf,
        /// `process 1234`, or `another process` when its number is not known.
        owner: String,
    },
    /// Written by a newer version.
    #[error("{path} has format {found}, and this version reads formats up to {FORMAT_VERSION}: use a newer one")]
    NewerFormat {
        /// The directory.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The permissions do not allow it.
    #[error("no permission for {path}: give this user read and write access or choose another directory")]
    Permission {
        /// The directory, or the part of it that was refused.
        path: PathBuf,
    },
    /// The device is full.
    #[error("no space left for {path}: free some or choose another device")]
    NoSpace {
        /// The directory.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{path} is not a FAWN data directory and not empty (it contains {found:?}): choose an empty or new one")]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// A file that does not belong.
        found: String,
    },
    /// A part that must be there is missing or unreadable.
    #[error("{path} is damaged ({what}): restore it from a copy")]
    Damaged {
        /// The damaged file or the directory it is missing from.
        path: PathBuf,
        /// What is wrong.
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
    _lock: File,
}

impl Directory {
    /// Opens the data directory `path`; makes it, with `stores` stores (1 to [`MAX_STORES`]), when there is nothing or
    /// an empty directory. The number of stores of an existing one stays what it was.
    ///
    /// # Errors
    /// Each [`DirectoryError`] says what to do.
    pub fn open(path: &Path, stores: usize) -> Result<Self, DirectoryError> {
        assert!((1..=MAX_STORES).contains(&stores), "a directory has 1 to {MAX_STORES} stores");
        make_directory(path).map_err(|source| error(path, source))?;
        // Looked at before the lock file is made: nothing is left in a directory that is not ours.
        refuse_foreign(path)?;
        let lock = lock(path)?;
        let format = path.join(FORMAT);
        let (text, created) = match read_text(&format)? {
            Some(text) => (text, false),
            None => (create(path, stores).map_err(|source| error(path, source))?, true),
        };
        let stores = parse_format(path, &text)?;
        let secret = read_secret(&path.join(SECRET))?;
        let directory = Self { path: path.to_owned(), stores, secret, created, _lock: lock };
        for index in 0..stores {
            let store = directory.store_path(index);
            if !store.is_dir() {
                let what = format!("{} is missing", store.display());
                return Err(DirectoryError::Damaged { path: path.to_owned(), what });
            }
        }
        Ok(directory)
    }

    /// The directory.
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
        self.path.join(format!("store-{index}"))
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
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => DirectoryError::Permission { path },
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

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Takes the lock and writes the process's number into it.
fn lock(path: &Path) -> Result<File, DirectoryError> {
    let name = path.join(LOCK);
    let fail = |source: io::Error| error(&name, source);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&name).map_err(fail)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut text = String::new();
            let owner = match file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok()) {
                Some(number) if number == std::process::id() => "this process already".to_owned(),
                Some(number) => format!("process {number}"),
                None => "another process".to_owned(),
            };
            return Err(DirectoryError::InUse { path: path.to_owned(), owner });
        }
        Err(errno) => return Err(fail(errno.into())),
    }
    file.set_len(0).and_then(|()| file.rewind()).map_err(fail)?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes()).map_err(fail)?;
    Ok(file)
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
            None => [LOCK, SECRET, FORMAT_NEW].contains(&&*name),
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

/// Makes the parts of a new directory; returns what its `FORMAT` says.
fn create(path: &Path, stores: usize) -> io::Result<String> {
    // Whoever may enter could otherwise read what clients store.
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    for index in 0..stores {
        let store = path.join(format!("store-{index}"));
        match DirBuilder::new().mode(0o700).create(&store) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => result?,
        }
    }
    write_new(&path.join(SECRET), &secret_text(&random_secret()?))?;
    let text = format!("{TITLE}\nformat {FORMAT_VERSION}\nstores {stores}\n");
    let new = path.join(FORMAT_NEW);
    write_new(&new, &text)?;
    sync_directory(path)?;
    fs::rename(&new, path.join(FORMAT))?;
    sync_directory(path)?;
    Ok(text)
}

/// Writes and syncs a file, over whatever an interrupted attempt left.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The text of a file; `None` when there is none.
fn read_text(path: &Path) -> Result<Option<String>, DirectoryError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) if source.kind() == io::ErrorKind::InvalidData => {
            Err(DirectoryError::Damaged { path: path.to_owned(), what: "not text".to_owned() })
        }
        Err(source) => Err(error(path, source)),
    }
}

fn secret_text(secret: &Secret) -> String {
    let mut hex = String::with_capacity(2 * secret.0.len() + 1);
    for byte in secret.0 {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
    }
    hex.push('\n');
    hex
}

/// 32 bytes that nobody can guess.
fn random_secret() -> io::Result<Secret> {
    let mut secret = [0; 32];
    let mut filled = 0;
    while filled < secret.len() {
        match rustix::rand::getrandom(&mut secret[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(Secret(secret))
}

/// The number of stores that a `FORMAT` names.
fn parse_format(path: &Path, text: &str) -> Result<usize, DirectoryError> {
    let damaged = |what: &str| DirectoryError::Damaged { path: path.join(FORMAT), what: what.to_owned() };
    let mut lines = text.lines();
    if lines.next() != Some(TITLE) {
        return Err(damaged("its first line is not ours"));
    }
    let mut value = |name: &str| lines.next().and_then(|line| line.strip_prefix(name)).map(str::trim);
    let found: u32 = value("format ").and_then(|text| text.parse().ok()).ok_or_else(|| damaged("no format number"))?;
    if found > FORMAT_VERSION {
        return Err(DirectoryError::NewerFormat { path: path.to_owned(), found });
    }
    value("stores ")
        .and_then(|text| text.parse().ok())
        .filter(|stores| (1..=MAX_STORES).contains(stores))
        .ok_or_else(|| damaged("no number of stores"))
}

fn read_secret(path: &Path) -> Result<Secret, DirectoryError> {
    let damaged = |what: &str| DirectoryError::Damaged { path: path.to_owned(), what: what.to_owned() };
    let text = read_text(path)?.ok_or_else(|| damaged("missing"))?;
    parse_secret(text.trim_end()).ok_or_else(|| damaged("not 64 hexadecimal digits"))
}

fn parse_secret(hex: &str) -> Option<Secret> {
    if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut secret = [0; 32];
    for (index, byte) in secret.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(Secret(secret))
}

#[cfg(test)]
mod tests;
