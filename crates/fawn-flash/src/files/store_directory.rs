//! [`StoreDirectory`]: the directory of one store's files, and what its errors say.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use fawn_store::flash::{FileId, FlashError, Space};
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::names;
use crate::os::retry::{is_transient, retry};

/// An open directory: system calls get its descriptor, people its path.
#[derive(Debug)]
pub struct StoreDirectory {
    path: PathBuf,
    fd: OwnedFd,
}

impl AsFd for StoreDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl StoreDirectory {
    /// Opens the existing directory `path`.
    ///
    /// # Errors
    /// [`FlashError::Io`] when it is no directory that can be read.
    pub fn open(path: &Path) -> Result<Self, FlashError> {
        let fd = fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| FlashError::Io(format!("{}: opening: {errno}", path.display())))?;
        Ok(Self { path: path.to_owned(), fd })
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of the file system's device, as `stat` has it; 0 when the system does not say.
    pub fn device(&self) -> u64 {
        fs::fstat(&self.fd).map_or(0, |stat| stat.st_dev)
    }

    /// Whether there is a file of this name. What cannot be looked for is taken for there.
    pub fn contains(&self, file: FileId) -> bool {
        fs::accessat(&self.fd, names::name_of(file), fs::Access::EXISTS, AtFlags::empty()) != Err(Errno::NOENT)
    }

    /// Removes the name of a file.
    ///
    /// # Errors
    /// What the system reports.
    pub fn unlink(&self, file: FileId) -> Result<(), Errno> {
        fs::unlinkat(&self.fd, names::name_of(file), AtFlags::empty())
    }

    /// Bytes of the device, and those that are free.
    ///
    /// # Errors
    /// [`FlashError::Io`].
    pub fn space(&self) -> Result<Space, FlashError> {
        let asking = || format!("{}: asking for free space", self.path.display());
        let stat = retry(asking, || fs::fstatvfs(&self.fd))
            .map_err(|errno| FlashError::Io(format!("{}: asking for free space: {errno}", self.path.display())))?;
        // As `df` has it: what is reserved for the system is neither used nor free.
        let used = stat.f_blocks.saturating_sub(stat.f_bfree);
        Ok(Space { total: (used + stat.f_bavail) * stat.f_frsize, free: stat.f_bavail * stat.f_frsize })
    }

    /// What is done with a file, for people.
    pub fn doing(&self, file: FileId, doing: &str) -> String {
        format!("{}: {doing}", self.path.join(names::name_of(file)).display())
    }

    /// The error of a system call on a file.
    pub fn error(&self, file: FileId, doing: &str, errno: Errno) -> FlashError {
        match errno {
            Errno::NOSPC | Errno::DQUOT => FlashError::NoSpace,
            Errno::NOENT => FlashError::NotFound(file),
            _ if is_transient(errno) => FlashError::Transient(format!("{}: {errno}", self.doing(file, doing))),
            _ => FlashError::Io(format!("{}: {errno}", self.doing(file, doing))),
        }
    }

    /// The error of a failed sync. It is final whatever the system says.
    pub fn sync_error(&self, file: FileId, errno: Errno) -> FlashError {
        match self.error(file, "syncing", errno) {
            FlashError::Transient(why) => FlashError::Io(why),
            error => error,
        }
    }
}
