//! [`Directory`]: a node's data directory.
//!
//! | name | what |
//! |---|---|
//! | `FORMAT` | text: the format's version, the number of stores and the kind; written last when a directory is made |
//! | `SECRET` | text: the hash key, 64 hexadecimal digits |
//! | `MEMBER` | text: who the node is, in a directory of a cluster's node; see [`MemberDirectory`] |
//! | `LOCK` | locked (`flock`) by the process that has the directory open, whose number it contains |
//! | `store-K/` | the files of store K, see [`Files`] |
//!
//! A directory is made in this order: lock, store directories, secret or `MEMBER`, `FORMAT` under another name, sync,
//! rename, sync. A crash in between leaves something without `FORMAT` that holds nothing of worth, and making it is begun
//! anew.
//!
//! There are two *kinds*: a plain one (format 1), whose stores `fawn serve` and [`Db`](crate::Db) keep, and a member's
//! (format 2), whose stores hold ranges of a cluster.

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

pub use self::member::MemberDirectory;

mod member;

/// The newest version of the directory's layout that this program reads and writes.
pub const FORMAT_VERSION: u32 = 2;
/// The version that a plain directory has: older programs read it.
const PLAIN_VERSION: u32 = 1;
/// Most stores that a directory may have.
pub const MAX_STORES: usize = 1024;

const FORMAT: &str = "FORMAT";
const SECRET: &str = "SECRET";
const MEMBER: &str = "MEMBER";
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
    /// It belongs to a node of a cluster.
    #[error(
        "{path} belongs to a node of a cluster: start it with `fawn node --dir {path}`, or print what it holds with \
         `fawn store dump {path}`"
    )]
    Member {
        /// The directory.
        path: PathBuf,
    },
    /// It is another member's, or of another cluster.
    #[error("{path} cannot become that of {wanted}: it is that of {kept}; choose another directory")]
    OtherMember {
        /// The directory.
        path: PathBuf,
        /// Whose it is.
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
    /// Opens the plain data directory `path`; makes it, with `stores` stores (1 to [`MAX_STORES`]), when there is nothing
    /// or an empty directory. The number of stores of an existing one stays what it was.
    ///
    /// # Errors
    /// Each [`DirectoryError`] says what to do; a member's directory is refused with [`DirectoryError::Member`].
    pub fn open(path: &Path, stores: usize) -> Result<Self, DirectoryError> {
        let opened = Opened::open(path, stores, || Ok((SECRET, secret_text(&Secret(random()?)))), Kind::Plain)?;
        if opened.format.kind == Kind::Member {
            return Err(DirectoryError::Member { path: path.to_owned() });
        }
        let Opened { format: Format { stores, .. }, created, lock } = opened;
        let secret = read_secret(path)?;
        Ok(Self { path: path.to_owned(), stores, secret, created, _lock: lock })
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

/// What `FORMAT` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format {
    stores: usize,
    kind: Kind,
}

impl Format {
    fn text(self) -> String {
        let Self { stores, kind } = self;
        match kind {
            Kind::Plain => format!("{TITLE}\nformat {PLAIN_VERSION}\nstores {stores}\n"),
            Kind::Member => format!("{TITLE}\nformat {FORMAT_VERSION}\nstores {stores}\nkind member\n"),
        }
    }
}

/// A directory of either kind whose lock is held.
struct Opened {
    format: Format,
    created: bool,
    lock: File,
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
        let (text, created) = match read_text(&path.join(FORMAT))? {
            Some(text) => (text, false),
            None => (create(path, Format { stores, kind }, own).map_err(|source| error(path, source))?, true),
        };
        let format = parse_format(path, &text)?;
        for index in 0..format.stores {
            let store = store_path(path, index);
            if !store.is_dir() {
                let what = format!("{} is missing", store.display());
                return Err(DirectoryError::Damaged { path: path.to_owned(), what });
            }
        }
        Ok(Self { format, created, lock })
    }
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
            None => name == LOCK || [SECRET, MEMBER, FORMAT].contains(&name.trim_end_matches(NEW)),
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
fn create(path: &Path, format: Format, own: impl FnOnce() -> io::Result<(&'static str, String)>) -> io::Result<String> {
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
    let text = format.text();
    replace(path, FORMAT, &text)?;
    Ok(text)
}

/// Ends the name of a file that has yet to take another's place.
const NEW: &str = ".new";

/// Puts a file into `path`, in the place of any of its name: once this is done, it is whole and durable; before, the one
/// that was there is.
fn replace(path: &Path, name: &str, text: &str) -> io::Result<()> {
    let new = path.join(format!("{name}{NEW}"));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    sync_directory(path)?;
    fs::rename(&new, path.join(name))?;
    sync_directory(path)
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

/// Bytes that nobody can guess.
fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(bytes)
}

/// What a `FORMAT` says.
fn parse_format(path: &Path, text: &str) -> Result<Format, DirectoryError> {
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
    let stores = value("stores ")
        .and_then(|text| text.parse().ok())
        .filter(|stores| (1..=MAX_STORES).contains(stores))
        .ok_or_else(|| damaged("no number of stores"))?;
    let kind = match value("kind ") {
        _ if found == PLAIN_VERSION => Kind::Plain,
        Some("member") => Kind::Member,
        _ => return Err(damaged("no kind")),
    };
    Ok(Format { stores, kind })
}

fn read_secret(path: &Path) -> Result<Secret, DirectoryError> {
    let name = path.join(SECRET);
    let damaged = |what: &str| DirectoryError::Damaged { path: name.clone(), what: what.to_owned() };
    let text = read_text(&name)?.ok_or_else(|| damaged("missing"))?;
    parse_hex(text.trim_end()).map(Secret).ok_or_else(|| damaged("not 64 hexadecimal digits"))
}

#[cfg(test)]
mod tests;
