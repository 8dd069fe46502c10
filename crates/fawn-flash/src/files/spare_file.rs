//! [`SpareFile`]: space of the device that is kept for deletes and merges.
//!
//! A store takes no puts while less is free than deletes and merges need. Other programs know nothing of that: one that fills
//! the device to the last page would leave nothing to delete with. So a file, `spare`, holds that space. It is cut when a
//! segment or a manifest finds no other room, and made again once there is twice as much. Its content means nothing, so it needs
//! no sync, and any copy of a directory may leave it out.

use std::sync::{Mutex, PoisonError};

use rustix::fs::{self, AtFlags, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use super::store_directory::StoreDirectory;

/// Name of the file that keeps space.
const SPARE: &str = "spare";

/// Bytes that a system call counts as one in `stat`.
const BLOCK: u64 = 512;

/// The space that the file keeps. Shared between threads.
#[derive(Debug, Default)]
pub struct SpareFile {
    reserve: Mutex<Reserve>,
}

#[derive(Debug, Default)]
struct Reserve {
    bytes: u64,
    /// The file system reserves no space.
    is_refused: bool,
}

impl SpareFile {
    /// The file as an earlier opening has left it.
    pub fn find(directory: &StoreDirectory) -> Self {
        Self { reserve: Mutex::new(Reserve { bytes: allocated(directory), is_refused: false }) }
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> u64 {
        self.reserve.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Holds so many bytes if there is ample room for them, and returns how many are held.
    pub fn hold(&self, directory: &StoreDirectory, bytes: u64) -> u64 {
        let mut reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        let is_enough = bytes <= reserve.bytes && reserve.bytes / 2 <= bytes.max(1 << 20);
        if bytes == 0 || is_enough || reserve.is_refused {
            return reserve.bytes;
        }
        let missing = bytes.saturating_sub(reserve.bytes);
        // Half of what is left is not ours.
        if directory.space().is_ok_and(|space| space.free / 2 < missing) {
            return reserve.bytes;
        }
        match resize(directory, reserve.bytes, bytes) {
            Ok(()) => reserve.bytes = bytes,
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                *reserve = Reserve { bytes: 0, is_refused: true };
                remove(directory);
            }
            Err(errno) => tracing::debug!(%errno, "{}: {SPARE} keeps its size", directory.path().display()),
        }
        reserve.bytes
    }

    /// Gives back what is held; whether that is anything.
    pub fn release(&self, directory: &StoreDirectory) -> bool {
        let mut reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        if reserve.bytes == 0 {
            return false;
        }
        let cut = || {
            let file = fs::openat(directory, SPARE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
            fs::ftruncate(&file, 0)?;
            // Some file systems have freed nothing before.
            fs::fsync(&file)
        };
        match cut() {
            Ok(()) => tracing::info!(
                "the device is full: {} MiB that {} reserves for deletes and merges are in use from now on",
                reserve.bytes >> 20,
                directory.path().display()
            ),
            Err(errno) => tracing::warn!(%errno, "{}: {SPARE} frees no space", directory.path().display()),
        }
        reserve.bytes = 0;
        true
    }
}

/// Bytes of the file in the directory.
fn allocated(directory: &StoreDirectory) -> u64 {
    let found = fs::statat(directory, SPARE, AtFlags::SYMLINK_NOFOLLOW);
    found.map_or(0, |stat| stat.st_blocks.cast_unsigned() * BLOCK)
}

fn resize(directory: &StoreDirectory, held: u64, bytes: u64) -> Result<(), Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let file = fs::openat(directory, SPARE, flags, Mode::RUSR | Mode::WUSR)?;
    if bytes < held {
        return fs::ftruncate(&file, bytes);
    }
    fs::fallocate(&file, FallocateFlags::empty(), 0, bytes).inspect_err(|_| {
        // What was allocated of it until then.
        let _ = fs::ftruncate(&file, held);
    })
}

/// Removes the file, if it is there.
pub fn remove(directory: &StoreDirectory) {
    let _ = fs::unlinkat(directory, SPARE, AtFlags::empty());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caching, Files};
    use fawn_store::flash::Flash as _;

    #[test]
    fn space_is_held_given_back_and_held_again_and_an_opening_finds_it() {
        let dir = tempfile::tempdir().unwrap();
        let directory = StoreDirectory::open(dir.path()).unwrap();
        let spare = SpareFile::find(&directory);
        let hold = |bytes| spare.hold(&directory, bytes);
        assert_eq!(hold(0), 0);
        if hold(3 << 20) == 0 {
            eprintln!("skipped: the file system reserves no space");
            return;
        }
        assert_eq!(allocated(&directory), 3 << 20);
        assert_eq!(hold(2 << 20), 3 << 20, "a little more than is needed stays");
        assert_eq!(hold(5 << 20), 5 << 20);
        let again = SpareFile::find(&directory);
        let hold = |bytes| again.hold(&directory, bytes);
        assert_eq!(hold(0), 5 << 20);
        assert!(again.release(&directory) && !again.release(&directory));
        assert_eq!((allocated(&directory), hold(0)), (0, 0));
        assert_eq!(hold(8 << 20), 8 << 20);
        assert_eq!(hold(1 << 20), 1 << 20, "far more than is needed goes back");
        assert_eq!(allocated(&directory), 1 << 20);
        let files = Files::open(dir.path(), Caching::Buffered).unwrap();
        assert_eq!(files.keep_spare(0), 1 << 20);
        assert!(files.list().unwrap().is_empty(), "it is no file of the store");
    }

    #[test]
    fn more_than_half_of_what_is_left_is_never_held() {
        let dir = tempfile::tempdir().unwrap();
        let directory = StoreDirectory::open(dir.path()).unwrap();
        let free = directory.space().unwrap().free;
        assert_eq!(SpareFile::find(&directory).hold(&directory, free / 4 * 3), 0);
        assert_eq!(allocated(&directory), 0);
    }

    #[test]
    fn whoever_only_looks_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::look(dir.path()).unwrap();
        assert_eq!(files.keep_spare(1 << 20), 0);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
