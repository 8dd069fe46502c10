//! Space of the device that is kept for deletes and merges.
//!
//! A store takes no puts while less is free than deletes and merges need. Other programs know nothing of that: one that fills
//! the device to the last page would leave nothing to delete with. So a file, `spare`, holds that space. It is cut when a
//! segment or a manifest finds no other room, and made again once there is twice as much. Its content means nothing, so it needs
//! no sync, and any copy of a directory may leave it out.

use std::sync::PoisonError;

use fawn_store::flash::Flash as _;
use rustix::fs::{self, AtFlags, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use super::Files;

/// Name of the file that keeps space.
const SPARE: &str = "spare";

/// Bytes that a system call counts as one in `stat`.
const BLOCK: u64 = 512;

/// The space that the file keeps.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    bytes: u64,
    /// The file system reserves no space.
    is_refused: bool,
}

impl Files {
    /// Holds so many bytes if there is ample room for them, and returns how many are held.
    pub(crate) fn hold_spare(&self, bytes: u64) -> u64 {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let is_enough = bytes <= spare.bytes && spare.bytes / 2 <= bytes.max(1 << 20);
        if bytes == 0 || is_enough || spare.is_refused || self.is_read_only() {
            return spare.bytes;
        }
        let missing = bytes.saturating_sub(spare.bytes);
        // Half of what is left is not ours.
        if self.space().is_ok_and(|space| space.free / 2 < missing) {
            return spare.bytes;
        }
        match self.resize_spare(spare.bytes, bytes) {
            Ok(()) => spare.bytes = bytes,
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                *spare = Spare { bytes: 0, is_refused: true };
                self.remove_spare();
            }
            Err(errno) => tracing::debug!(%errno, "{}: {SPARE} keeps its size", self.path().display()),
        }
        spare.bytes
    }

    fn resize_spare(&self, held: u64, bytes: u64) -> Result<(), Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let file = fs::openat(self.directory(), SPARE, flags, Mode::RUSR | Mode::WUSR)?;
        if bytes < held {
            return fs::ftruncate(&file, bytes);
        }
        fs::fallocate(&file, FallocateFlags::empty(), 0, bytes).inspect_err(|_| {
            // What was allocated of it until then.
            let _ = fs::ftruncate(&file, held);
        })
    }

    /// Gives back what is held; whether that is anything.
    pub(crate) fn release_spare(&self) -> bool {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.bytes == 0 {
            return false;
        }
        let cut = || {
            let file = fs::openat(self.directory(), SPARE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
            fs::ftruncate(&file, 0)?;
            // Some file systems have freed nothing before.
            fs::fsync(&file)
        };
        match cut() {
            Ok(()) => tracing::info!(
                "the device is full: {} MiB that {} reserves for deletes and merges are in use from now on",
                spare.bytes >> 20,
                self.path().display()
            ),
            Err(errno) => tracing::warn!(%errno, "{}: {SPARE} frees no space", self.path().display()),
        }
        spare.bytes = 0;
        true
    }

    /// Removes the file, if it is there.
    pub(crate) fn remove_spare(&self) {
        let _ = fs::unlinkat(self.directory(), SPARE, AtFlags::empty());
    }

    /// What an earlier opening has left.
    pub(crate) fn find_spare(&self) -> Spare {
        let found = fs::statat(self.directory(), SPARE, AtFlags::SYMLINK_NOFOLLOW);
        let bytes = found.map_or(0, |stat| stat.st_blocks.cast_unsigned() * BLOCK);
        Spare { bytes, is_refused: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Caching;

    fn on_disk(files: &Files) -> u64 {
        files.find_spare().bytes
    }

    #[test]
    fn space_is_held_given_back_and_held_again_and_an_opening_finds_it() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path(), Caching::Buffered).unwrap();
        assert_eq!(files.hold_spare(0), 0);
        if files.hold_spare(3 << 20) == 0 {
            eprintln!("skipped: the file system reserves no space");
            return;
        }
        assert_eq!(on_disk(&files), 3 << 20);
        assert_eq!(files.hold_spare(2 << 20), 3 << 20, "a little more than is needed stays");
        assert_eq!(files.hold_spare(5 << 20), 5 << 20);
        let again = Files::open(dir.path(), Caching::Buffered).unwrap();
        assert_eq!(again.hold_spare(0), 5 << 20);
        assert!(again.release_spare() && !again.release_spare());
        assert_eq!((on_disk(&again), again.hold_spare(0)), (0, 0));
        assert_eq!(again.hold_spare(8 << 20), 8 << 20);
        assert_eq!(again.hold_spare(1 << 20), 1 << 20, "far more than is needed goes back");
        assert_eq!(on_disk(&again), 1 << 20);
        assert!(again.list().unwrap().is_empty(), "it is no file of the store");
    }

    #[test]
    fn more_than_half_of_what_is_left_is_never_held() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path(), Caching::Buffered).unwrap();
        let free = files.space().unwrap().free;
        assert_eq!(files.hold_spare(free / 4 * 3), 0);
        assert_eq!(on_disk(&files), 0);
    }

    #[test]
    fn whoever_only_looks_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::look(dir.path()).unwrap();
        assert_eq!(files.hold_spare(1 << 20), 0);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
