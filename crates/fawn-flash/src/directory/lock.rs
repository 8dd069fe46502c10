//! The lock of a data directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use fawn_files::lock::{self, MOMENT};
use rustix::io::Errno;

use super::error::{DirectoryError, io_error};
use super::layout::LOCK;

/// A directory that is this process's alone until the lock is dropped.
///
/// The directory itself is locked, which nobody can remove while it is in use, and then `LOCK`, which is all that older releases
/// look at.
#[derive(Debug)]
pub(super) struct Lock {
    _directory: File,
    /// `None`: there is none, and the directory is only looked at.
    _file: Option<File>,
}

/// Takes the lock and writes the process's number into it, for those who find it taken.
pub(super) fn lock(path: &Path) -> Result<Lock, DirectoryError> {
    let directory = take_directory(path)?;
    let name = path.join(LOCK);
    let fail = |source: io::Error| io_error(&name, source);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&name).map_err(fail)?;
    take(path, &file)?;
    write_number(&mut file);
    Ok(Lock { _directory: directory, _file: Some(file) })
}

/// Takes the lock of a directory that is only looked at, where nothing may be writable.
pub(super) fn lock_to_look(path: &Path) -> Result<Lock, DirectoryError> {
    let directory = take_directory(path)?;
    let name = path.join(LOCK);
    let for_all = OpenOptions::new().read(true).write(true).open(&name);
    let is_writable = for_all.is_ok();
    // A program that opens the directory to write makes the lock first: where there is none, nobody has it open.
    let mut file = for_all.or_else(|_| File::open(&name)).ok();
    if let Some(file) = &mut file {
        take(path, file)?;
        if is_writable {
            write_number(file);
        }
    }
    Ok(Lock { _directory: directory, _file: file })
}

/// Locks the directory itself.
fn take_directory(path: &Path) -> Result<File, DirectoryError> {
    let directory = File::open(path).map_err(|source| io_error(path, source))?;
    match lock::take(&directory, MOMENT) {
        Ok(()) => Ok(directory),
        // File systems on a network lock nothing that cannot be written, which a directory never can: LOCK is all there is.
        Err(TryLockError::Error(source)) if locks_no_directory(&source) => Ok(directory),
        Err(why) => Err(refused(path, path, why)),
    }
}

fn take(path: &Path, file: &File) -> Result<(), DirectoryError> {
    lock::take(file, MOMENT).map_err(|why| refused(path, &path.join(LOCK), why))
}

fn locks_no_directory(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::BADF | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS))
}

/// Why the directory `path` is not this process's, of which `name` cannot be locked.
fn refused(path: &Path, name: &Path, why: TryLockError) -> DirectoryError {
    if let TryLockError::Error(source) = why {
        return io_error(name, source);
    }
    let number = fs::read_to_string(path.join(LOCK)).ok().and_then(|text| text.trim().parse::<u32>().ok());
    let owner = match number {
        Some(number) if number == std::process::id() => "this process already".to_owned(),
        Some(number) => format!("process {number}"),
        None => "another process".to_owned(),
    };
    DirectoryError::InUse { path: path.to_owned(), owner }
}

/// The number is for messages alone: a full device has no room for it, and the lock holds all the same.
fn write_number(file: &mut File) {
    let number = format!("{}\n", std::process::id());
    let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(number.as_bytes()));
    if let Err(error) = written {
        tracing::debug!(%error, "cannot write the process ID into the lock");
    }
}
