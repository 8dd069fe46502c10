//! [`OpenedDirectory`]: a data directory of either kind, made if need be, whose lock is held.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use fawn_ring::Secret;

use super::error::{DirectoryError, io_error, missing};
use super::format::{Format, secret_text};
use super::layout::{DirectoryKind, FORMAT, LOCK, MAX_STORES, MEMBER, OF_VOLUMES, SECRET, store_path};
use super::lock::{Lock, lock, lock_to_look};
use super::member_file;
use super::text::{NEW, replace, sync_directory};

/// A directory of either kind whose lock is held.
pub(super) struct OpenedDirectory {
    pub format: Format,
    pub created: bool,
    /// If it has one.
    pub secret: Option<Secret>,
    pub lock: Lock,
}

impl OpenedDirectory {
    /// Opens what is at `path`, or makes a directory of this kind, with a file of its own: name and text.
    pub fn open(
        path: &Path,
        stores: usize,
        own: impl FnOnce() -> io::Result<(&'static str, String)>,
        kind: DirectoryKind,
    ) -> Result<Self, DirectoryError> {
        assert!((1..=MAX_STORES).contains(&stores), "a directory has 1 to {MAX_STORES} stores");
        make_directory(path).map_err(|source| io_error(path, source))?;
        // Looked at before the lock file is made: nothing is left in a directory that is not ours.
        refuse_foreign(path)?;
        let lock = lock(path)?;
        let created = !path.join(FORMAT).exists();
        if created {
            let format = Format { stores, kind, is_sealed: true };
            create(path, format, own).map_err(|source| io_error(path, source))?;
        }
        let opened = Self::found(path, created, lock)?;
        if !opened.format.is_sealed {
            opened.upgrade(path)?;
        }
        Ok(opened)
    }

    /// Opens what is at `path`, and changes nothing.
    pub fn look(path: &Path) -> Result<Self, DirectoryError> {
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
            member_file::seal(path)?;
            replace(path, FORMAT, &self.format.text())
        };
        match write() {
            Err(full) if matches!(full.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                tracing::warn!("{} keeps its older format: the device is full", path.display());
                Ok(())
            }
            written => written.map_err(|source| io_error(path, source)),
        }
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
    for entry in fs::read_dir(path).map_err(|source| io_error(path, source))? {
        let name = entry.map_err(|source| io_error(path, source))?.file_name();
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
    // Others who may enter could otherwise read what clients store.
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
