//! A manager's directory, which nobody else may read, since where keys lie is a secret.
//!
//! | file | what |
//! |---|---|
//! | `manager.log` | log, vote and snapshots: a [journal](crate::journal) |
//! | `manager.lock` | nothing; the manager that runs has it and the directory itself locked |
//! | `manager.redb` | what older releases have in the place of `manager.log`; a line of text now, so that they refuse the directory |

use crate::clock::random;
use crate::consensus::LogStore;
use crate::consensus::log_store::{Damage, KeepError, StoredMember};
use crate::journal::JournalImage;
use crate::journal::disk::{Disk, System, is_passing};
use crate::journal::file::Writer;
use crate::journal::redb;
use crate::options::ManagerError;
use fawn_files::lock::{self, MOMENT};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The file of log, vote and snapshots.
const LOG: &str = "manager.log";

/// Whoever has it and the directory locked is the directory's manager.
const LOCK: &str = "manager.lock";

/// That of older releases.
const OLD: &str = "manager.redb";

/// What is in [`OLD`] since: older releases say that it is no file of theirs.
const MARKER: &[u8] = b"This manager keeps its log in manager.log, by a newer release of FAWN. Leave this file here.\n";

/// What lies in the directory of a node's data, or of one `fawn serve`'s: what is made first, and what is made last.
const OF_A_STORE: [&str; 3] = ["FORMAT", "MEMBER", "store-0"];

/// Where a cluster in one process has its manager, below its directory.
const OF_A_CLUSTER: &str = "manager";

/// Opens the directory, which is made if there is none.
///
/// # Errors
/// It cannot be used, or what is in it cannot.
pub fn open(dir: &Path) -> Result<LogStore, ManagerError> {
    open_on(dir, Box::new(System))
}

/// The same, with calls of the system that may be refused.
///
/// # Errors
/// As [`open`].
pub fn open_on(dir: &Path, disk: Box<dyn Disk>) -> Result<LogStore, ManagerError> {
    refuse_data(dir)?;
    let unusable = |error| ManagerError::Directory { path: dir.to_owned(), error };
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(unusable)?;
    let locks = take_both(dir)?;
    let path = dir.join(LOG);
    let (writer, image) = match path.try_exists() {
        Ok(true) => Writer::open(disk, &path).map_err(|error| ManagerError::kept(&path, error))?,
        Ok(false) => begin(dir, &path, disk)?,
        Err(error) => return Err(unusable(error)),
    };
    mark(&dir.join(OLD)).map_err(unusable)?;
    let store = LogStore::open(writer, image, locks).map_err(|error| ManagerError::kept(&path, error))?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(unusable)?;
    Ok(store)
}

/// Locks the directory itself, which nobody can remove while it is in use, and the file that is all that older releases look at.
fn take_both(dir: &Path) -> Result<[File; 2], ManagerError> {
    let unusable = |error| ManagerError::Directory { path: dir.to_owned(), error };
    let directory = File::open(dir).map_err(unusable)?;
    match take(&directory, dir) {
        // File systems on a network lock nothing that cannot be written, which a directory never can.
        Err(ManagerError::Directory { error, .. }) => tracing::debug!(%error, "the directory itself takes no lock"),
        taken => taken?,
    }
    let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(dir.join(LOCK));
    let lock = lock.map_err(unusable)?;
    take(&lock, dir)?;
    Ok([directory, lock])
}

/// Locks a file for as long as it is open.
fn take(file: &File, dir: &Path) -> Result<(), ManagerError> {
    lock::take(file, MOMENT).map_err(|why| match why {
        TryLockError::WouldBlock => ManagerError::InUse(dir.to_owned()),
        TryLockError::Error(error) => ManagerError::Directory { path: dir.to_owned(), error },
    })
}

/// Begins a log: a new one, or with what an older release has kept.
fn begin(dir: &Path, path: &Path, disk: Box<dyn Disk>) -> Result<(Writer, JournalImage), ManagerError> {
    let old = dir.join(OLD);
    let image = match OpenOptions::new().read(true).write(true).open(&old) {
        Ok(file) => {
            take(&file, dir)?;
            let bytes = std::fs::read(&old).map_err(|error| ManagerError::kept(&old, KeepError::Io(error)))?;
            let damaged = |path: &Path, damage| Err(ManagerError::kept(path, KeepError::Damage(damage)));
            if bytes == MARKER {
                return damaged(path, Damage::Missing);
            }
            match redb::read(&bytes) {
                Ok(image) => image,
                Err(error) => return damaged(&old, error.into()),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => JournalImage::default(),
        Err(error) => return Err(ManagerError::kept(&old, KeepError::Io(error))),
    };
    let writer = Writer::create(disk, path, &image);
    Ok((writer.map_err(|error| ManagerError::kept(path, KeepError::Io(error)))?, image))
}

/// Sees to it that older releases refuse the directory, and that a log which goes away is missed.
fn mark(old: &Path) -> io::Result<()> {
    let is_marked = std::fs::read(old).is_ok_and(|bytes| bytes == MARKER);
    if is_marked {
        return Ok(());
    }
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(old);
    match file.and_then(|mut file| file.write_all(MARKER).and_then(|()| file.sync_all())) {
        // The next start does it.
        Err(error) if is_passing(&error) => Ok(()),
        done => done,
    }
}

/// Refuses a directory of data: a manager's log would lie among it, unseen, and the directory be neither's. Where one lies
/// there already, it is the only one that its cluster has.
///
/// # Errors
/// [`ManagerError::OfData`], [`ManagerError::OfACluster`].
pub fn refuse_data(dir: &Path) -> Result<(), ManagerError> {
    if has_manager(dir) {
        return Ok(());
    }
    if OF_A_STORE.iter().any(|name| dir.join(name).exists()) {
        return Err(ManagerError::OfData(dir.to_owned()));
    }
    let own = dir.join(OF_A_CLUSTER);
    if has_manager(&own) { Err(ManagerError::OfACluster(dir.to_owned(), own)) } else { Ok(()) }
}

/// Where others reached the manager of a directory when it ran last; `None`: none has begun there.
///
/// # Errors
/// As [`open`].
pub fn kept_address(dir: &Path) -> Result<Option<String>, ManagerError> {
    refuse_data(dir)?;
    if !has_manager(dir) {
        return Ok(None);
    }
    let member = open(dir)?.member().map_err(|error| ManagerError::kept(dir, error))?;
    Ok(member.map(|member| member.address))
}

/// Whether a manager has begun there.
pub fn has_manager(dir: &Path) -> bool {
    [LOG, OLD].iter().any(|name| dir.join(name).is_file())
}

/// Who the member is whose directory this is; drawn if it has none yet.
///
/// # Errors
/// It cannot be kept.
pub fn member(dir: &Path, store: &LogStore, address: &str) -> Result<StoredMember, ManagerError> {
    let kept = |error: KeepError| ManagerError::kept(dir, error);
    if let Some(member) = store.member().map_err(kept)? {
        return Ok(member);
    }
    let member = new_member(address)?;
    store.keep_member(&member).map_err(kept)?;
    Ok(member)
}

/// Somebody whom nobody has been.
///
/// # Errors
/// The system has no random numbers.
pub fn new_member(address: &str) -> Result<StoredMember, ManagerError> {
    let id = draw().map_err(|error| ManagerError::System { what: "no random numbers", error })?;
    Ok(StoredMember { id, address: address.to_owned() })
}

/// A number that no other member has, as good as certainly: a group has few, and numbers that are short are easy to tell.
fn draw() -> io::Result<u64> {
    Ok(u64::from(u32::from_le_bytes(random()?)).max(1))
}
