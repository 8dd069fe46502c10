//! The calls of the system that a journal needs, and which of its errors pass.

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Where a journal lies. Tests have one of their own, that refuses calls.
pub trait Disk: Debug + Send {
    /// An empty file in place of what is there, which nobody else may read.
    ///
    /// # Errors
    /// As the system says.
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)
    }

    /// Writes all bytes at a position.
    ///
    /// # Errors
    /// As the system says; a part of them may be written.
    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    /// What was written outlives a power cut.
    ///
    /// # Errors
    /// As the system says; what was written since the last sync may be lost.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Takes room on the device, beyond the end of the file.
    ///
    /// # Errors
    /// There is none. A file system that cannot say so has room.
    fn reserve(&self, file: &File, at: u64, bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, at, bytes) {
            Err(errno) if is_passing(&errno.into()) => Err(errno.into()),
            _ => Ok(()),
        }
    }

    /// Gives a file the name of another one, whose place it takes, and syncs their directory.
    ///
    /// # Errors
    /// As the system says; the file may have that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)?;
        to.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
    }
}

/// The system's own.
#[derive(Clone, Copy, Debug)]
pub struct System;

impl Disk for System {}

/// Whether the same call may succeed later: the device is full, or memory or descriptors are short.
pub fn is_passing(error: &io::Error) -> bool {
    const PASSING: [Errno; 8] = [
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::NOBUFS,
        Errno::INTR,
        Errno::AGAIN,
    ];
    Errno::from_io_error(error).is_some_and(|errno| PASSING.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_device_passes_and_a_failed_one_does_not() {
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::INTR, Errno::AGAIN] {
            assert!(is_passing(&errno.into()), "{errno:?}");
        }
        for errno in [Errno::IO, Errno::ROFS, Errno::BADF, Errno::NODEV] {
            assert!(!is_passing(&errno.into()), "{errno:?}");
        }
        assert!(!is_passing(&io::ErrorKind::WriteZero.into()));
    }
}
