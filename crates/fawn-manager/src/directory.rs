//! A manager's directory: one file, which nobody else may read, since where keys lie is a secret.

use crate::clock::random;
use crate::consensus::LogStore;
use crate::consensus::log::{KeepError, KeptMember};
use crate::options::ManagerError;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the directory may be in use by a process that is about to end, or by a child that this process has just forked.
const PATIENCE: Duration = Duration::from_secs(1);

/// The file of log, vote and snapshots.
const FILE: &str = "manager.redb";

/// What lies in the directory of a node's data, or of one `fawn serve`'s: what is made first, and what is made last.
const OF_A_STORE: [&str; 3] = ["FORMAT", "MEMBER", "store-0"];

/// Where a cluster in one process has its manager, below its directory.
const OF_A_CLUSTER: &str = "manager";

/// Opens the directory, which is made if there is none.
///
/// # Errors
/// It cannot be used, or what is in it cannot.
pub fn open(dir: &Path) -> Result<LogStore, ManagerError> {
    refuse_data(dir)?;
    let unusable = |error| ManagerError::Directory { path: dir.to_owned(), error };
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(unusable)?;
    let path = dir.join(FILE);
    // The file is there once it is whole: `redb` makes it so by itself, from any file that is empty.
    let began = Instant::now();
    let file = loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = redb::backends::FileBackend::new(file.map_err(unusable)?);
        match file.and_then(|file| redb::Builder::new().create_with_backend(file)) {
            Err(redb::DatabaseError::DatabaseAlreadyOpen) if began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10));
            }
            file => break file.map_err(KeepError::from),
        }
    };
    let store = file.and_then(LogStore::open).map_err(|error| ManagerError::kept(&path, error))?;
    std::fs::File::open(dir).and_then(|dir| dir.sync_all()).map_err(unusable)?;
    Ok(store)
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
    dir.join(FILE).is_file()
}

/// Who the member is whose directory this is; drawn if it has none yet.
///
/// # Errors
/// It cannot be kept.
pub fn member(dir: &Path, store: &LogStore, address: &str) -> Result<KeptMember, ManagerError> {
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
pub fn new_member(address: &str) -> Result<KeptMember, ManagerError> {
    let id = draw().map_err(|error| ManagerError::System { what: "no random numbers", error })?;
    Ok(KeptMember { id, address: address.to_owned() })
}

/// A number that no other member has, as good as certainly: a group has few, and numbers that are short are easy to tell.
fn draw() -> io::Result<u64> {
    Ok(u64::from(u32::from_le_bytes(random()?)).max(1))
}
