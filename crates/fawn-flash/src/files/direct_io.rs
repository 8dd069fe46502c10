//! Whether a directory's file system takes reads and writes around the page cache.

use fawn_store::flash::{FileId, FlashError};
use fawn_store::page::{PAGE_BYTES, PageBuf};
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::names;
use super::store_directory::StoreDirectory;
use crate::os::retry::{RetryLimit, retry_with};

/// Name of the file that is written to find out.
const PROBE: &str = "direct-io-probe";

/// Whether a page of the commit log can be read around the page cache, which takes no space; `None`: there is no log.
pub fn can_read_log(directory: &StoreDirectory, limit: RetryLimit) -> Option<bool> {
    let open = |flags| {
        let name = names::name_of(FileId::CommitLog);
        fs::openat(directory, name, OFlags::RDONLY | OFlags::CLOEXEC | flags, Mode::empty())
    };
    let doing = || directory.doing(FileId::CommitLog, "opening");
    let size = || open(OFlags::empty()).and_then(|fd| fs::fstat(&fd));
    let is_there = retry_with(&mut limit.backoff(), doing, size).is_ok_and(|stat| stat.st_size > 0);
    let mut page = PageBuf::zeroed(1);
    let mut read = || open(OFlags::DIRECT).and_then(|fd| rustix::io::pread(&fd, page.bytes_mut(), 0));
    is_there.then(|| retry_with(&mut limit.backoff(), doing, &mut read)).map(|read| read == Ok(PAGE_BYTES))
}

/// Whether a page can be written and read around the page cache: some file systems refuse at open, others at the
/// first transfer.
///
/// # Errors
/// [`FlashError::NoSpace`] when not even the probe fits, [`FlashError::Io`].
pub fn can_write(directory: &StoreDirectory, limit: RetryLimit) -> Result<bool, FlashError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let page = PageBuf::zeroed(1);
    let doing = || format!("{}: creating", directory.path().join(PROBE).display());
    let io = |errno: Errno| match errno {
        Errno::NOSPC | Errno::DQUOT => FlashError::NoSpace,
        _ => FlashError::Io(format!("{}: {errno}", doing())),
    };
    // Without O_DIRECT first: an open that refuses it may leave the file behind all the same.
    let open = |more| fs::openat(directory, PROBE, flags | more, Mode::RUSR | Mode::WUSR);
    drop(retry_with(&mut limit.backoff(), doing, || open(OFlags::empty())).map_err(io)?);
    let write = || open(OFlags::DIRECT).and_then(|fd| rustix::io::pwrite(&fd, page.bytes(), 0));
    let result = retry_with(&mut limit.backoff(), doing, write);
    fs::unlinkat(directory, PROBE, AtFlags::empty()).map_err(io)?;
    match result {
        Ok(written) => Ok(written == PAGE_BYTES),
        Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::IO)) => Err(io(errno)),
        Err(_) => Ok(false),
    }
}
