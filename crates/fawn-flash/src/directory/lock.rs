//! The lock of a data directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

use super::{DirectoryError, LOCK, error};

/// How long the lock may be held by a process that is about to end, or by a child that this process has just forked: a child has
/// all descriptors of its parent until it begins its own program.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes the lock and writes the process's number into it, for those who find it taken.
pub(super) fn lock(path: &Path) -> Result<File, DirectoryError> {
    let name = path.join(LOCK);
    let fail = |source: io::Error| error(&name, source);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&name).map_err(fail)?;
    take(path, &mut file)?;
    write_number(&mut file);
    Ok(file)
}

/// Takes the lock of a directory that is only looked at, where nothing may be writable.
pub(super) fn lock_to_look(path: &Path) -> Result<File, DirectoryError> {
    let name = path.join(LOCK);
    let for_all = OpenOptions::new().read(true).write(true).open(&name);
    let is_writable = for_all.is_ok();
    // Whoever opens the directory for more makes the lock first: where there is none, nobody has it open.
    let opened = for_all.or_else(|_| File::open(&name)).or_else(|_| File::open(path));
    let mut file = opened.map_err(|source| error(&name, source))?;
    take(path, &mut file)?;
    if is_writable {
        write_number(&mut file);
    }
    Ok(file)
}

fn take(path: &Path, file: &mut File) -> Result<(), DirectoryError> {
    let began = Instant::now();
    let mut taken = rustix::fs::flock(&*file, FlockOperation::NonBlockingLockExclusive);
    while taken == Err(rustix::io::Errno::WOULDBLOCK) && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(10));
        taken = rustix::fs::flock(&*file, FlockOperation::NonBlockingLockExclusive);
    }
    match taken {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut text = String::new();
            let owner = match file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok()) {
                Some(number) if number == std::process::id() => "this process already".to_owned(),
                Some(number) => format!("process {number}"),
                None => "another process".to_owned(),
            };
            Err(DirectoryError::InUse { path: path.to_owned(), owner })
        }
        Err(errno) => Err(error(&path.join(LOCK), errno.into())),
    }
}

/// The number is for messages alone: a full device has no room for it, and the lock holds all the same.
fn write_number(file: &mut File) {
    let number = format!("{}\n", std::process::id());
    let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(number.as_bytes()));
    if let Err(error) = written {
        tracing::debug!(%error, "the lock does not say whose it is");
    }
}
