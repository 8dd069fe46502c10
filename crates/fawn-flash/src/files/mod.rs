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
//! Hence [`Flash::write_durably`](fawn_store::flash::Flash::write_durably) is one `pwritev2(RWF_DSYNC)`, which also is one request
//! on devices with forced unit access, and the commit log is filled with zeros when it is created (0.6 s a GiB), because the first
//! write of an unwritten extent costs a journal commit.

use std::path::Path;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

use fawn_store::flash::{FileId, Fill, FlashError};
use fawn_store::page::{PAGE_BYTES, Page, PageBuf};
use rustix::fs::{self, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::os::open_file::OpenFile;
use crate::os::retry::{Backoff, RetryLimit, is_transient, retry_with};
use crate::os::{descriptors, page_io};
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use crate::uring::async_writer::AsyncWriter;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use crate::uring::batch_reader::BatchReader;

mod descriptor_cache;
mod direct_io;
mod flash;
mod names;
pub mod overlay;
mod spare_file;
mod store_directory;
mod traffic;

use descriptor_cache::DescriptorCache;
use spare_file::SpareFile;
use store_directory::StoreDirectory;
pub use traffic::DeviceTraffic;
use traffic::TrafficCounters;

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

/// A directory of files, as the store sees flash. Shared between threads by [`Arc`].
#[derive(Debug)]
pub struct Files {
    directory: StoreDirectory,
    is_direct: bool,
    /// Nothing may be written.
    is_read_only: bool,
    /// How long calls are tried again.
    limit: RetryLimit,
    open: DescriptorCache,
    /// Cleared when the kernel or the file system refuses `RWF_DSYNC`.
    synced_writes: AtomicBool,
    traffic: TrafficCounters,
    /// So many times the system has no descriptor for a file.
    #[cfg(test)]
    pub(crate) refusals: std::sync::atomic::AtomicU32,
    /// Holds space of the device for deletes and merges.
    spare: SpareFile,
    /// For reads of many files at once.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    batch_reader: Mutex<BatchReader>,
    /// For writes that go on while the next is prepared.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    async_writer: Mutex<AsyncWriter>,
}

impl Files {
    /// Opens the existing directory `path`.
    ///
    /// # Errors
    /// [`FlashError::Io`] when it is not a directory that can be written, [`FlashError::NoSpace`] when not even the
    /// probe for `O_DIRECT` fits.
    pub fn open(path: &Path, caching: Caching) -> Result<Self, FlashError> {
        Self::open_with(path, caching, RetryLimit::Endless)
    }

    /// As [`open`](Self::open). What the system is short of is asked for until `limit`, now and later.
    ///
    /// # Errors
    /// As [`open`](Self::open); [`FlashError::Transient`] when the limit is reached.
    pub(crate) fn open_with(path: &Path, caching: Caching, limit: RetryLimit) -> Result<Self, FlashError> {
        descriptors::raise_limit();
        let directory = StoreDirectory::open(path)?;
        let is_direct = caching == Caching::Auto
            && match direct_io::can_read_log(&directory, limit) {
                Some(can_read) => can_read,
                None => direct_io::can_write(&directory, limit)?,
            };
        Ok(Self { limit, ..Self::of(directory, is_direct, false) })
    }

    /// Opens the existing directory `path` to read alone: it may be on a file system that takes no writes.
    ///
    /// # Errors
    /// [`FlashError::Io`].
    pub fn look(path: &Path) -> Result<Self, FlashError> {
        descriptors::raise_limit();
        let directory = StoreDirectory::open(path)?;
        let is_direct = direct_io::can_read_log(&directory, RetryLimit::Brief) == Some(true);
        Ok(Self { limit: RetryLimit::Brief, ..Self::of(directory, is_direct, true) })
    }

    fn of(directory: StoreDirectory, is_direct: bool, is_read_only: bool) -> Self {
        Self {
            spare: SpareFile::find(&directory),
            directory,
            is_direct,
            is_read_only,
            limit: RetryLimit::Endless,
            open: DescriptorCache::default(),
            synced_writes: AtomicBool::new(true),
            traffic: TrafficCounters::default(),
            #[cfg(test)]
            refusals: std::sync::atomic::AtomicU32::new(0),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            batch_reader: Mutex::default(),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            async_writer: Mutex::default(),
        }
    }

    /// For one call. A server's store goes on in the end; a command says what is short.
    fn backoff(&self) -> Backoff {
        self.limit.backoff()
    }

    /// Number of the file system's device, as `stat` has it; 0 when the system does not say.
    pub fn device(&self) -> u64 {
        self.directory.device()
    }

    /// Whether files bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// `"O_DIRECT"` or `"page cache"`, for people.
    pub fn path_name(&self) -> &'static str {
        if self.is_direct { "O_DIRECT" } else { "page cache" }
    }

    /// What was asked of the device so far.
    pub fn traffic(&self) -> DeviceTraffic {
        self.traffic.sums()
    }

    /// Path of the store's directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The open file, for callers that must not wait until the system has another descriptor.
    ///
    /// # Errors
    /// [`FlashError::NotFound`], [`FlashError::Transient`], [`FlashError::Io`].
    pub fn descriptor(&self, file: FileId) -> Result<Arc<OpenFile>, FlashError> {
        self.try_descriptor(file).map_err(|errno| self.error(file, "opening", errno))
    }

    /// The open file, for the store's own threads: waits until the system has a descriptor for it.
    fn own_descriptor(&self, file: FileId) -> Result<Arc<OpenFile>, FlashError> {
        retry_with(&mut self.backoff(), || self.directory.doing(file, "opening"), || self.try_descriptor(file))
            .map_err(|errno| self.error(file, "opening", errno))
    }

    /// Reads `pages.len()` pages from page number `first`, and retries transient errors as long as `backoff` does.
    ///
    /// # Errors
    /// As [`Flash::read`](fawn_store::flash::Flash::read); [`FlashError::Transient`] when no try is left.
    pub(crate) fn read_with(
        &self,
        file: FileId,
        first: u64,
        pages: &mut [Page],
        backoff: &mut Backoff,
    ) -> Result<(), FlashError> {
        let open = retry_with(backoff, || self.directory.doing(file, "opening"), || self.try_descriptor(file))
            .map_err(|errno| self.error(file, "opening", errno))?;
        let wanted = size_of_val(pages);
        self.traffic.count_read(wanted);
        match page_io::read(&*open, first, pages, backoff) {
            Ok(read) if read == wanted => Ok(()),
            Ok(_) => Err(FlashError::Short(file)),
            Err(errno) => Err(self.error(file, "reading", errno)),
        }
    }

    fn try_descriptor(&self, file: FileId) -> Result<Arc<OpenFile>, Errno> {
        if let Some(open) = self.open.get(file) {
            return Ok(open);
        }
        let removals = self.removals();
        if !descriptors::has_room() {
            self.open.close_idle();
        }
        let flags = if self.is_read_only { OFlags::RDONLY } else { OFlags::RDWR } | OFlags::CLOEXEC;
        let open = self.open_at(file, flags).or_else(|errno| {
            if !is_transient(errno) {
                return Err(errno);
            }
            self.open.close_idle();
            self.open_at(file, flags)
        })?;
        Ok(self.open.keep(file, open, removals))
    }

    /// Number of removals so far. When it has changed, descriptors held by other means may belong to removed files,
    /// whose space comes back only when they are given up.
    #[inline]
    pub fn removals(&self) -> u64 {
        self.open.removals()
    }

    /// Whether `file` has not been removed. A file that was never opened here is looked for in the directory.
    pub fn exists(&self, file: FileId) -> bool {
        self.open.contains(file) || self.directory.contains(file)
    }

    fn open_at(&self, file: FileId, flags: OFlags) -> Result<OpenFile, Errno> {
        #[cfg(test)]
        if self
            .refusals
            .fetch_update(std::sync::atomic::Ordering::Relaxed, std::sync::atomic::Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_ok()
        {
            return Err(Errno::NFILE);
        }
        let direct = if self.is_direct { OFlags::DIRECT } else { OFlags::empty() };
        let open = |flags| fs::openat(&self.directory, names::name_of(file), flags | direct, Mode::RUSR | Mode::WUSR);
        // The time of a first read is written to the journal, and the read waits for a commit that is under way. Only
        // the files' owner may forgo that.
        let fd = match open(flags | OFlags::NOATIME) {
            Err(Errno::PERM) => open(flags),
            result => result,
        }?;
        if !self.is_direct && matches!(file, FileId::Segment(_)) {
            // Reading ahead of random reads is waste; a refusal changes nothing.
            let _ = fs::fadvise(&fd, 0, None, fs::Advice::Random);
        }
        Ok(OpenFile::new(fd))
    }

    /// Creates `file` with `pages` pages reserved and keeps it open. What cannot be finished is removed again.
    fn create_reserved(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        let removals = self.removals();
        if !descriptors::has_room() {
            self.open.close_idle();
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let open = retry_with(
            &mut self.backoff(),
            || self.directory.doing(file, "creating"),
            || {
                self.open_at(file, flags).inspect_err(|errno| {
                    if is_transient(*errno) {
                        self.open.close_idle();
                    }
                })
            },
        )
        .map_err(|errno| self.error(file, "creating", errno))?;
        if let Err(error) = self.reserve(file, &open, pages) {
            if let Err(errno) = self.directory.unlink(file) {
                tracing::warn!(file = names::name_of(file), %errno, "an unfinished file could not be removed");
            }
            return Err(error);
        }
        self.open.keep(file, open, removals);
        Ok(())
    }

    /// Removes `file`. Its descriptor is closed by [`close_removed`](Self::close_removed).
    fn unlink(&self, file: FileId) -> Result<(), FlashError> {
        retry_with(&mut self.backoff(), || self.directory.doing(file, "removing"), || self.directory.unlink(file))
            .map_err(|errno| self.error(file, "removing", errno))?;
        self.open.remove(file);
        Ok(())
    }

    /// Closes the removed files that nobody reads any more, which frees their space; whether any are left. To be called
    /// where waiting for the file system harms nobody.
    pub(crate) fn close_removed(&self) -> bool {
        self.open.close_removed()
    }

    /// Closes a file whose descriptor would stay open.
    #[cfg(test)]
    pub(crate) fn close_for_good(&self, file: FileId) {
        self.open.close(file);
    }

    /// Removes the file that holds space for deletes and merges.
    pub(crate) fn remove_spare(&self) {
        spare_file::remove(&self.directory);
    }

    /// The error of a system call on a file.
    pub(crate) fn error(&self, file: FileId, doing: &str, errno: Errno) -> FlashError {
        self.directory.error(file, doing, errno)
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    /// Makes several reads at once, if the kernel lets us; the bytes read of each go to `read`.
    fn read_together(&self, fills: &mut [Fill<'_>], read: &mut [usize]) -> Result<(), (usize, FlashError)> {
        let mut open = Vec::with_capacity(fills.len());
        for (place, fill) in fills.iter().enumerate() {
            open.push(self.own_descriptor(fill.file).map_err(|error| (place, error))?);
        }
        let mut done = vec![Ok(0); fills.len()];
        if !self.batch_reader.lock().unwrap_or_else(PoisonError::into_inner).read(fills, &open, &mut done) {
            return Ok(());
        }
        for (place, result) in done.into_iter().enumerate() {
            read[place] = match result {
                Ok(bytes) => bytes,
                // What is left is read by itself, which waits until it is possible.
                Err(errno) if is_transient(errno) => 0,
                Err(errno) => return Err((place, self.error(fills[place].file, "reading", errno))),
            };
            self.traffic.count_read(read[place]);
        }
        Ok(())
    }

    /// Waits for what is written behind of a segment, which [`write_behind`](fawn_store::flash::Flash::write_behind) alone does.
    fn finish_behind(&self, file: FileId) -> Result<(), FlashError> {
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        if matches!(file, FileId::Segment(_)) {
            let make_room = |file| self.gives_way(file);
            let finished = self.async_writer.lock().unwrap_or_else(PoisonError::into_inner).finish(file, &make_room);
            finished.map_err(|errno| self.error(file, "writing", errno))?;
            self.spare.note_room();
        }
        Ok(())
    }

    /// Reserves `pages` pages of the new file `open`.
    fn reserve(&self, file: FileId, open: &OpenFile, pages: u64) -> Result<(), FlashError> {
        if pages == 0 {
            return Ok(());
        }
        let allocate = || fs::fallocate(open, FallocateFlags::empty(), 0, pages * PAGE_BYTES as u64);
        let doing = || self.directory.doing(file, "allocating");
        let written = match retry_with(&mut self.backoff(), doing, allocate) {
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
        until_uninterrupted(|| fs::fsync(open)).map_err(|errno| self.directory.sync_error(file, errno))
    }
}

/// Syncs until no signal comes between. No other error is tried again: the system may have forgotten by then what it did not write.
fn until_uninterrupted(sync: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    loop {
        match sync() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}
