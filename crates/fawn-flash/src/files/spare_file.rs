//! [`SpareFile`]: space of the device that is kept for deletes and merges.
//!
//! A store takes no puts while less is free than deletes and merges need. Other programs know nothing of that: one that fills
//! the device to the last page would leave nothing to delete with. So a file, `spare`, holds that space, and what the store's
//! buffers hold. It is emptied when a segment or a manifest finds no other room.
//!
//! A store takes space for the first time where twice as much is free. What it gave back it takes again in pieces, as soon as
//! anything is free: other stores on the device count on what is free, too. The file's length says how much the store has held,
//! its blocks how much it holds. Its content means nothing, so it needs no sync, and any copy of a directory may leave it out.

use std::sync::{Mutex, PoisonError};

use rustix::fs::{self, AtFlags, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use super::store_directory::StoreDirectory;

/// Name of the file that keeps space.
const SPARE: &str = "spare";

/// Bytes that a system call counts as one in `stat`.
const BLOCK: u64 = 512;

/// The least that is taken again at a time.
const LEAST_PIECE: u64 = 64 << 10;

/// The space that the file keeps. Shared between threads.
#[derive(Debug, Default)]
pub struct SpareFile {
    reserve: Mutex<Reserve>,
}

#[derive(Debug, Default)]
struct Reserve {
    bytes: u64,
    /// Bytes that were given back and not taken again.
    given_back: u64,
    /// The file system reserves no space.
    is_refused: bool,
    /// It was given back, and no file has found room since.
    is_needed: bool,
    /// The log says that it was given back, and all of it has not been held since.
    is_logged: bool,
}

impl SpareFile {
    /// The file as an earlier opening has left it.
    pub fn find(directory: &StoreDirectory) -> Self {
        let (bytes, length) = sizes(directory);
        let given_back = length.saturating_sub(bytes);
        Self { reserve: Mutex::new(Reserve { bytes, given_back, ..Reserve::default() }) }
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> u64 {
        self.reserve.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Holds so many bytes if there is ample room for them, or what there is of those that were given back. Returns how many
    /// are held.
    pub fn hold(&self, directory: &StoreDirectory, bytes: u64) -> u64 {
        let mut reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        let is_enough = bytes <= reserve.bytes && reserve.bytes / 2 <= bytes.max(1 << 20);
        if bytes == 0 || is_enough || reserve.is_refused || reserve.is_needed {
            return reserve.bytes;
        }
        let missing = bytes.saturating_sub(reserve.bytes);
        // Half of what is left is not ours.
        let most = directory.space().map_or(u64::MAX, |space| space.free / 2);
        let (wanted, left) = if missing <= most {
            (bytes, 0)
        } else {
            let piece = missing.min(most).min(reserve.given_back);
            if piece < LEAST_PIECE {
                return reserve.bytes;
            }
            (reserve.bytes + piece, reserve.given_back - piece)
        };
        match resize(directory, reserve.bytes, wanted) {
            Ok(()) => {
                (reserve.bytes, reserve.given_back) = (wanted, left);
                reserve.is_logged &= left > 0;
            }
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                *reserve = Reserve { is_refused: true, ..Reserve::default() };
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
        let give_back = || {
            let file = fs::openat(directory, SPARE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
            fs::ftruncate(&file, 0)?;
            // Some file systems have freed nothing before.
            fs::fsync(&file)?;
            // Looks at the file system anew.
            let _ = directory.space();
            if directory.lacks_files() {
                // The file system has room, but for no more files: its place is what is needed.
                return fs::unlinkat(directory, SPARE, AtFlags::empty());
            }
            // A hole: a later opening knows by it what may be taken again.
            fs::ftruncate(&file, reserve.bytes + reserve.given_back)
        };
        match give_back() {
            // Stores that stay full give it back many times.
            Ok(()) if reserve.is_logged => {}
            Ok(()) => tracing::info!(
                "the device is full: {} MiB that {} reserves for deletes and merges are in use from now on",
                reserve.bytes >> 20,
                directory.path().display()
            ),
            Err(errno) => tracing::warn!(%errno, "{}: {SPARE} frees no space", directory.path().display()),
        }
        reserve.given_back += std::mem::take(&mut reserve.bytes);
        (reserve.is_needed, reserve.is_logged) = (true, true);
        true
    }

    /// A file has found room: space may be held again.
    pub fn note_room(&self) {
        self.reserve.lock().unwrap_or_else(PoisonError::into_inner).is_needed = false;
    }
}

/// Bytes that the file in the directory holds, and its length.
fn sizes(directory: &StoreDirectory) -> (u64, u64) {
    let found = fs::statat(directory, SPARE, AtFlags::SYMLINK_NOFOLLOW);
    found.map_or((0, 0), |stat| (stat.st_blocks.cast_unsigned() * BLOCK, stat.st_size.cast_unsigned()))
}

fn resize(directory: &StoreDirectory, held: u64, bytes: u64) -> Result<(), Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let file = fs::openat(directory, SPARE, flags, Mode::RUSR | Mode::WUSR)?;
    if bytes < held {
        return fs::ftruncate(&file, bytes);
    }
    fs::fallocate(&file, FallocateFlags::empty(), 0, bytes).inspect_err(|_| {
        // What was allocated of it until then goes, its length stays.
        let length = fs::fstat(&file).map_or(held, |stat| stat.st_size.cast_unsigned());
        let _ = fs::ftruncate(&file, held).and_then(|()| fs::ftruncate(&file, length));
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
        assert_eq!(sizes(&directory).0, 3 << 20);
        assert_eq!(hold(2 << 20), 3 << 20, "a little more than is needed stays");
        assert_eq!(hold(5 << 20), 5 << 20);
        let again = SpareFile::find(&directory);
        let hold = |bytes| again.hold(&directory, bytes);
        assert_eq!(hold(0), 5 << 20);
        assert!(again.release(&directory) && !again.release(&directory));
        assert_eq!((sizes(&directory), hold(0)), ((0, 5 << 20), 0), "its length says what was held");
        assert_eq!(SpareFile::find(&directory).reserve.into_inner().unwrap().given_back, 5 << 20);
        assert_eq!(hold(8 << 20), 0, "what is given back is needed");
        again.note_room();
        assert_eq!(hold(8 << 20), 8 << 20);
        assert_eq!(hold(1 << 20), 1 << 20, "far more than is needed goes back");
        assert_eq!(sizes(&directory), (1 << 20, 1 << 20));
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
        assert_eq!(sizes(&directory).0, 0);
    }

    #[test]
    fn whoever_only_looks_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::look(dir.path()).unwrap();
        assert_eq!(files.keep_spare(1 << 20), 0);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
