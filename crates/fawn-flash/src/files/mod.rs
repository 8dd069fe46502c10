//! [`Files`]: the store's [`Flash`](fawn_store::flash::Flash) on a directory of real files.
//!
//! Files are opened `O_DIRECT` where the file system takes it: the store has a cache of its own, and hash order makes
//! the neighbours that a page cache would keep useless. Where it is refused, reads and writes go through the page
//! cache; [`Files::path_name`] says which.
//!
//! # Measured choices (ext4 on a virtual `NVMe` with a write-back cache and no forced unit access, 4–64 KiB writes)
//!
//! | a durable overwrite | writes a second | CPU-us |
//! |---|---|---|
//! | `O_DIRECT`, `pwritev2(RWF_DSYNC)` | 9–12k | 28–37 |
//! | `O_DIRECT`, `pwrite` + `fdatasync` | 8–12k | 28–40 |
//! | buffered, either way | 7–10k | 45–66 |
//! | `O_DIRECT`, either way, into allocated but unwritten extents | 4–5.7k | 77–98 |
//!
//! Hence [`Flash::write_durably`](fawn_store::flash::Flash::write_durably) is one `pwritev2(RWF_DSYNC)`, which also is one request on devices with forced unit
//! access, and the commit log is filled with zeros when it is created (0.6 s a GiB), because the first write of an
//! unwritten extent costs a journal commit.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fawn_store::flash::{FileId, Fill, FlashError};
use fawn_store::page::{PAGE_BYTES, Page, PageBuf};
use rustix::fs::{self, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::os::retry::{Patience, insist, passes, persist};
use crate::os::{descriptors, page_io};
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use crate::uring::async_writer::Behind;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use crate::uring::batch_reader::Together;

mod flash;
mod names;
pub mod overlay;
mod spare_file;

use spare_file::Spare;

/// Pages of zeros written at once.
const ZERO_PAGES: usize = 256;

/// Whether to go around the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caching {
    /// `O_DIRECT` where the file system takes it.
    #[default]
    Auto,
    /// The page cache, always.
    Buffered,
}

/// An open file of a store. Shared by everyone who reads it; closed with its last user.
#[derive(Debug)]
pub struct OpenFile {
    fd: OwnedFd,
}

#[cfg(test)]
impl OpenFile {
    pub(crate) fn of(fd: OwnedFd) -> Self {
        descriptors::opened();
        Self { fd }
    }
}

impl AsFd for OpenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        descriptors::closed();
    }
}

/// A directory of files, as the store sees flash. Shared between threads by [`Arc`].
#[derive(Debug)]
pub struct Files {
    path: PathBuf,
    directory: OwnedFd,
    direct: bool,
    /// Nothing may be written.
    is_read_only: bool,
    /// Descriptors kept open, because opening costs more than a read does.
    open: RwLock<HashMap<FileId, Arc<OpenFile>>>,
    /// Number of removals so far: who keeps descriptors by other means looks for removed files when it changes.
    removals: AtomicU64,
    /// Removed files that are still open. The last close of one frees its extents, tens of milliseconds for a large
    /// one, so it is left to [`close_removed`](Self::close_removed).
    removed: Mutex<Vec<Arc<OpenFile>>>,
    /// Cleared when the kernel or the file system refuses `RWF_DSYNC`.
    pub(crate) synced_writes: AtomicBool,
    pub(crate) counts: Counts,
    /// So many times the system has no descriptor for a file.
    #[cfg(test)]
    pub(crate) refusals: std::sync::atomic::AtomicU32,
    /// What is held of the device for deletes and merges.
    pub(crate) spare: Mutex<Spare>,
    /// For reads of many files at once.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    together: Mutex<Together>,
    /// For writes that go on while the next is prepared.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    pub(crate) behind: Mutex<Behind>,
}

/// What was asked of the device, counted where it is asked: by threads of which each waits for the device anyway. Reads of a
/// [`Reader`](crate::Reader) are its own.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    syncs: AtomicU64,
}

impl Counts {
    pub(crate) fn read(&self, bytes: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn wrote(&self, bytes: usize) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn synced(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }
}

/// What was asked of the device since the files were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Reads, those of a [`Reader`](crate::Reader) aside.
    pub reads: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes of these writes.
    pub written_bytes: u64,
    /// Syncs; a write that is durable when it is done counts as both.
    pub syncs: u64,
}

impl Files {
    /// Opens the existing directory `path`.
    ///
    /// # Errors
    /// [`FlashError::Io`] when it is not a directory that can be written, [`FlashError::NoSpace`] when not even the
    /// probe for `O_DIRECT` fits.
    pub fn open(path: &Path, caching: Caching) -> Result<Self, FlashError> {
        descriptors::raise_limit();
        let directory = fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| FlashError::Io(format!("{}: opening: {errno}", path.display())))?;
        let mut files = Self {
            path: path.to_owned(),
            directory,
            direct: false,
            is_read_only: false,
            open: RwLock::default(),
            removals: AtomicU64::new(0),
            removed: Mutex::default(),
            synced_writes: AtomicBool::new(true),
            counts: Counts::default(),
            #[cfg(test)]
            refusals: std::sync::atomic::AtomicU32::new(0),
            spare: Mutex::default(),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            together: Mutex::default(),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            behind: Mutex::default(),
        };
        files.spare = Mutex::new(files.find_spare());
        if caching == Caching::Auto {
            files.direct = match files.takes_direct_reads() {
                Some(takes) => takes,
                None => files.takes_direct()?,
            };
        }
        Ok(files)
    }

    /// Opens the existing directory `path` to read alone: it may be on a file system that takes no writes.
    ///
    /// # Errors
    /// [`FlashError::Io`].
    pub fn look(path: &Path) -> Result<Self, FlashError> {
        let mut files = Self::open(path, Caching::Buffered)?;
        files.is_read_only = true;
        files.direct = files.takes_direct_reads() == Some(true);
        Ok(files)
    }

    /// Whether nothing may be written.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Number of the file system's device, as `stat` has it; 0 when the system does not say.
    pub fn device(&self) -> u64 {
        fs::fstat(&self.directory).map_or(0, |stat| stat.st_dev)
    }

    /// Whether files bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// `"O_DIRECT"` or `"page cache"`, for people.
    pub fn path_name(&self) -> &'static str {
        if self.direct { "O_DIRECT" } else { "page cache" }
    }

    /// What was asked of the device so far.
    pub fn traffic(&self) -> Traffic {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts { reads, read_bytes, writes, written_bytes, syncs } = &self.counts;
        Traffic {
            reads: of(reads),
            read_bytes: of(read_bytes),
            writes: of(writes),
            written_bytes: of(written_bytes),
            syncs: of(syncs),
        }
    }

    /// Path of the store's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, for whoever reads by descriptor and must not wait until the system has another one.
    ///
    /// # Errors
    /// [`FlashError::NotFound`], [`FlashError::Transient`], [`FlashError::Io`].
    pub fn descriptor(&self, file: FileId) -> Result<Arc<OpenFile>, FlashError> {
        self.try_descriptor(file).map_err(|errno| self.error(file, "opening", errno))
    }

    /// The open file, for the store's own threads: waits until the system has a descriptor for it.
    pub(crate) fn own_descriptor(&self, file: FileId) -> Result<Arc<OpenFile>, FlashError> {
        insist(|| self.doing(file, "opening"), || self.try_descriptor(file))
            .map_err(|errno| self.error(file, "opening", errno))
    }

    /// Reads `pages.len()` pages from page number `first`, and waits as long as `patience` does for what the system is short of.
    ///
    /// # Errors
    /// As [`Flash::read`](fawn_store::flash::Flash::read); [`FlashError::Transient`] when no patience is left.
    pub(crate) fn read_patiently(
        &self,
        file: FileId,
        first: u64,
        pages: &mut [Page],
        patience: &mut Patience,
    ) -> Result<(), FlashError> {
        let open = persist(patience, || self.doing(file, "opening"), || self.try_descriptor(file))
            .map_err(|errno| self.error(file, "opening", errno))?;
        let wanted = size_of_val(pages);
        self.counts.read(wanted);
        match page_io::read(&*open, first, pages, patience) {
            Ok(read) if read == wanted => Ok(()),
            Ok(_) => Err(FlashError::Short(file)),
            Err(errno) => Err(self.error(file, "reading", errno)),
        }
    }

    fn try_descriptor(&self, file: FileId) -> Result<Arc<OpenFile>, Errno> {
        if let Some(open) = self.open.read().unwrap_or_else(PoisonError::into_inner).get(&file) {
            return Ok(Arc::clone(open));
        }
        let removals = self.removals();
        if !descriptors::has_room() {
            self.close_idle();
        }
        let flags = if self.is_read_only { OFlags::RDONLY } else { OFlags::RDWR } | OFlags::CLOEXEC;
        let open = self.open_at(file, flags).or_else(|errno| {
            if !passes(errno) {
                return Err(errno);
            }
            self.close_idle();
            self.open_at(file, flags)
        })?;
        Ok(self.keep(file, open, removals))
    }

    /// Number of removals so far. When it has changed, descriptors held by other means may belong to removed files,
    /// whose space comes back only when they are given up.
    #[inline]
    pub fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    /// Whether `file` has not been removed. A file that was never opened here is looked for in the directory.
    pub fn exists(&self, file: FileId) -> bool {
        self.open.read().unwrap_or_else(PoisonError::into_inner).contains_key(&file)
            || fs::accessat(&self.directory, names::name_of(file), fs::Access::EXISTS, fs::AtFlags::empty())
                != Err(Errno::NOENT)
    }

    fn open_at(&self, file: FileId, flags: OFlags) -> Result<OpenFile, Errno> {
        #[cfg(test)]
        if self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
            return Err(Errno::NFILE);
        }
        let direct = if self.direct { OFlags::DIRECT } else { OFlags::empty() };
        let open = |flags| fs::openat(&self.directory, names::name_of(file), flags | direct, Mode::RUSR | Mode::WUSR);
        // The time of a first read is written to the journal, and the read waits for a commit that is under way. Only
        // the files' owner may forgo that.
        let fd = match open(flags | OFlags::NOATIME) {
            Err(Errno::PERM) => open(flags),
            result => result,
        }?;
        descriptors::opened();
        if !self.direct && matches!(file, FileId::Segment(_)) {
            // Reading ahead of random reads is waste; a refusal changes nothing.
            let _ = fs::fadvise(&fd, 0, None, fs::Advice::Random);
        }
        Ok(OpenFile { fd })
    }

    /// Creates `file` with `pages` pages reserved and keeps it open. What cannot be finished is removed again.
    pub(crate) fn create_reserved(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        let removals = self.removals();
        if !descriptors::has_room() {
            self.close_idle();
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let open = insist(
            || self.doing(file, "creating"),
            || {
                self.open_at(file, flags).inspect_err(|errno| {
                    if passes(*errno) {
                        self.close_idle();
                    }
                })
            },
        )
        .map_err(|errno| self.error(file, "creating", errno))?;
        if let Err(error) = self.reserve(file, &open, pages) {
            if let Err(errno) = fs::unlinkat(&self.directory, names::name_of(file), fs::AtFlags::empty()) {
                tracing::warn!(file = names::name_of(file), %errno, "an unfinished file could not be removed");
            }
            return Err(error);
        }
        self.keep(file, open, removals);
        Ok(())
    }

    /// Removes `file`. Its descriptor is closed by [`close_removed`](Self::close_removed).
    pub(crate) fn unlink(&self, file: FileId) -> Result<(), FlashError> {
        let unlink = || fs::unlinkat(&self.directory, names::name_of(file), fs::AtFlags::empty());
        insist(|| self.doing(file, "removing"), unlink).map_err(|errno| self.error(file, "removing", errno))?;
        let mut table = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let open = table.remove(&file);
        // Kept before anybody is told to let go of it.
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).extend(open);
        self.removals.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Closes the removed files that nobody reads any more, which frees their space; whether any are left. To be called
    /// where waiting for the file system harms nobody.
    pub(crate) fn close_removed(&self) -> bool {
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        let unused: Vec<_> = removed.extract_if(.., |open| Arc::strong_count(open) == 1).collect();
        let left = !removed.is_empty();
        // Not while others wait for the list.
        drop(removed);
        drop(unused);
        left
    }

    /// Number of descriptors that are kept open.
    #[cfg(test)]
    pub(crate) fn cached(&self) -> usize {
        self.open.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The descriptor of the store's directory.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Keeps `open`, opened when there had been `removals` removals, for the next user. Of two threads that opened one
    /// file at once, the first one's stays. What may have been removed meanwhile is not kept: nobody would close it.
    fn keep(&self, file: FileId, open: OpenFile, removals: u64) -> Arc<OpenFile> {
        let mut table = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if removals != self.removals() {
            return table.get(&file).map_or_else(|| Arc::new(open), Arc::clone);
        }
        Arc::clone(table.entry(file).or_insert_with(|| Arc::new(open)))
    }

    /// Closes up to half of the descriptors that nobody is using. Those of the log and the manifest stay: without them nothing
    /// could be written before there is another descriptor.
    pub(crate) fn close_idle(&self) {
        let mut table = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let mut left = table.len().div_ceil(2);
        table.retain(|file, open| {
            let is_needed = matches!(file, FileId::CommitLog | FileId::Manifest(_));
            let close = left > 0 && !is_needed && Arc::strong_count(open) == 1;
            left -= usize::from(close);
            !close
        });
    }

    /// Closes a file whose descriptor would stay open.
    #[cfg(test)]
    pub(crate) fn close_for_good(&self, file: FileId) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&file);
    }

    /// Whether a page of the commit log can be read around the page cache, which takes no space; `None`: there is no log.
    fn takes_direct_reads(&self) -> Option<bool> {
        let open = |flags| {
            let name = names::name_of(FileId::CommitLog);
            fs::openat(&self.directory, name, OFlags::RDONLY | OFlags::CLOEXEC | flags, Mode::empty())
        };
        let doing = || self.doing(FileId::CommitLog, "opening");
        let size = || open(OFlags::empty()).and_then(|fd| fs::fstat(&fd));
        let is_there = insist(doing, size).is_ok_and(|stat| stat.st_size > 0);
        let mut page = PageBuf::zeroed(1);
        let mut read = || open(OFlags::DIRECT).and_then(|fd| rustix::io::pread(&fd, page.bytes_mut(), 0));
        is_there.then(|| insist(doing, &mut read)).map(|read| read == Ok(PAGE_BYTES))
    }

    /// Whether a page can be written and read around the page cache: some file systems refuse at open, others at the
    /// first transfer.
    fn takes_direct(&self) -> Result<bool, FlashError> {
        const PROBE: &str = "direct-io-probe";
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let page = PageBuf::zeroed(1);
        let io = |errno: Errno| match errno {
            Errno::NOSPC | Errno::DQUOT => FlashError::NoSpace,
            _ => FlashError::Io(format!("{}: creating: {errno}", self.path.join(PROBE).display())),
        };
        // Without O_DIRECT first: an open that refuses it may leave the file behind all the same.
        let doing = || format!("{}: creating", self.path.join(PROBE).display());
        let open = |more| fs::openat(&self.directory, PROBE, flags | more, Mode::RUSR | Mode::WUSR);
        drop(insist(doing, || open(OFlags::empty())).map_err(io)?);
        let result = insist(doing, || open(OFlags::DIRECT).and_then(|fd| rustix::io::pwrite(&fd, page.bytes(), 0)));
        fs::unlinkat(&self.directory, PROBE, fs::AtFlags::empty()).map_err(io)?;
        match result {
            Ok(written) => Ok(written == PAGE_BYTES),
            Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::IO)) => Err(io(errno)),
            Err(_) => Ok(false),
        }
    }

    pub(crate) fn error(&self, file: FileId, doing: &str, errno: Errno) -> FlashError {
        match errno {
            Errno::NOSPC | Errno::DQUOT => FlashError::NoSpace,
            Errno::NOENT => FlashError::NotFound(file),
            _ if passes(errno) => FlashError::Transient(format!("{}: {errno}", self.doing(file, doing))),
            _ => FlashError::Io(format!("{}: {errno}", self.doing(file, doing))),
        }
    }

    /// What a failed sync came to. It is final whatever the system says.
    pub(crate) fn unsynced(&self, file: FileId, errno: Errno) -> FlashError {
        match self.error(file, "syncing", errno) {
            FlashError::Transient(why) => FlashError::Io(why),
            error => error,
        }
    }

    /// What is done with a file, for people.
    pub(crate) fn doing(&self, file: FileId, doing: &str) -> String {
        format!("{}: {doing}", self.path.join(names::name_of(file)).display())
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    /// Makes several reads at once, if the kernel lets us; the bytes read of each go to `read`.
    pub(crate) fn read_together(&self, fills: &mut [Fill<'_>], read: &mut [usize]) -> Result<(), (usize, FlashError)> {
        let mut open = Vec::with_capacity(fills.len());
        for (place, fill) in fills.iter().enumerate() {
            open.push(self.own_descriptor(fill.file).map_err(|error| (place, error))?);
        }
        let mut done = vec![Ok(0); fills.len()];
        if !self.together.lock().unwrap_or_else(PoisonError::into_inner).read(fills, &open, &mut done) {
            return Ok(());
        }
        for (place, result) in done.into_iter().enumerate() {
            read[place] = match result {
                Ok(bytes) => bytes,
                // What is left is read by itself, which waits until it is possible.
                Err(errno) if passes(errno) => 0,
                Err(errno) => return Err((place, self.error(fills[place].file, "reading", errno))),
            };
            self.counts.read(read[place]);
        }
        Ok(())
    }

    /// Waits for what is written behind of a segment, which [`write_behind`](fawn_store::flash::Flash::write_behind) alone does.
    pub(crate) fn finish_behind(&self, file: FileId) -> Result<(), FlashError> {
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        if matches!(file, FileId::Segment(_)) {
            let finished = self.behind.lock().unwrap_or_else(PoisonError::into_inner).finish(file);
            return finished.map_err(|errno| self.error(file, "writing", errno));
        }
        Ok(())
    }

    /// Reserves `pages` pages of the new file `open`.
    fn reserve(&self, file: FileId, open: &OpenFile, pages: u64) -> Result<(), FlashError> {
        if pages == 0 {
            return Ok(());
        }
        let allocate = || fs::fallocate(open, FallocateFlags::empty(), 0, pages * PAGE_BYTES as u64);
        let written = match insist(|| self.doing(file, "allocating"), allocate) {
            Ok(()) => file == FileId::CommitLog,
            // No reservations here: zeros are one, and tell whether there is space.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => true,
            Err(errno) => return Err(self.error(file, "allocating", errno)),
        };
        if !written {
            return Ok(());
        }
        let zeros = PageBuf::zeroed(ZERO_PAGES);
        for first in (0..pages).step_by(ZERO_PAGES) {
            let count = (pages - first).min(ZERO_PAGES as u64) as usize;
            page_io::write(open, first, &zeros.pages()[..count]).map_err(|errno| self.error(file, "writing", errno))?;
        }
        // Now, not in the first batch: the extents' state is part of the metadata that a durable write waits for.
        until_uninterrupted(|| fs::fsync(open)).map_err(|errno| self.unsynced(file, errno))
    }
}

/// Syncs until no signal comes between. No other error is tried again: the system may have forgotten by then what it did not write.
pub(crate) fn until_uninterrupted(sync: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    loop {
        match sync() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}
