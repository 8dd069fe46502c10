//! [`Flash`] on [`Files`].

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use fawn_store::flash::{FileId, Fill, Flash, FlashError, Space};
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use fawn_store::page::PageBuf;
use fawn_store::page::{PAGE_BYTES, Page};
use rustix::fs::{self, FallocateFlags};
use rustix::io::Errno;

use super::{Files, names, until_uninterrupted};
use crate::os::page_io;
use crate::os::random::random;
use crate::os::retry::retry_with;

impl Flash for Files {
    fn nonce(&self) -> Result<u64, FlashError> {
        let bytes = random().map_err(|error| FlashError::Io(format!("no random number: {error}")))?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.create_reserved(file, pages).or_else(|error| match error {
            FlashError::NoSpace if self.gives_way(file) => self.create_reserved(file, pages),
            error => Err(error),
        })?;
        self.spare.note_room();
        Ok(())
    }

    fn read(&self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError> {
        self.read_with(file, first, pages, &mut self.backoff())
    }

    fn read_many(&self, fills: &mut [Fill<'_>]) -> Result<(), (usize, FlashError)> {
        let mut read: Vec<usize> = vec![0; fills.len()];
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        if fills.len() > 1 {
            self.read_together(fills, &mut read)?;
        }
        // What was not read together, or only in part.
        for (place, (fill, read)) in fills.iter_mut().zip(read).enumerate() {
            let whole = read / PAGE_BYTES;
            if whole < fill.pages.len() {
                self.read(fill.file, fill.first + whole as u64, &mut fill.pages[whole..])
                    .map_err(|error| (place, error))?;
            }
        }
        Ok(())
    }

    fn write(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        let open = self.own_descriptor(file)?;
        self.traffic.count_write(size_of_val(pages));
        let write = || page_io::write(&*open, first, pages).map_err(|errno| self.error(file, "writing", errno));
        write().or_else(|error| match error {
            FlashError::NoSpace if self.gives_way(file) => write().inspect(|()| self.spare.note_room()),
            error => Err(error),
        })
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn write_behind(&self, file: FileId, first: u64, pages: &mut PageBuf, count: usize) -> Result<(), FlashError> {
        let open = self.own_descriptor(file)?;
        self.traffic.count_write(count * PAGE_BYTES);
        let mut writer = self.async_writer.lock().unwrap_or_else(PoisonError::into_inner);
        let make_room = |file| self.gives_way(file);
        writer.write(file, &open, first, pages, count, &make_room).map_err(|errno| self.error(file, "writing", errno))
    }

    fn write_durably(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        if self.synced_writes.load(Ordering::Relaxed) {
            let open = self.own_descriptor(file)?;
            match page_io::write_synced(&*open, first, pages) {
                Ok(()) => {
                    self.traffic.count_write(size_of_val(pages));
                    self.traffic.count_sync();
                    return Ok(());
                }
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    self.synced_writes.store(false, Ordering::Relaxed);
                }
                Err(errno) => return Err(self.error(file, "writing durably", errno)),
            }
        }
        self.write(file, first, pages)?;
        self.sync(file)
    }

    fn sync(&self, file: FileId) -> Result<(), FlashError> {
        self.finish_behind(file)?;
        let open = self.own_descriptor(file)?;
        self.traffic.count_sync();
        until_uninterrupted(|| fs::fdatasync(&*open)).map_err(|errno| self.directory.sync_error(file, errno))
    }

    fn sync_names(&self) -> Result<(), FlashError> {
        self.traffic.count_sync();
        until_uninterrupted(|| fs::fsync(&self.directory))
            .map_err(|errno| FlashError::Io(format!("{}: syncing: {errno}", self.path().display())))
    }

    fn punch(&self, file: FileId, first: u64, count: u64) -> Result<(), FlashError> {
        if count == 0 {
            return Ok(());
        }
        let open = self.own_descriptor(file)?;
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let punch = || fs::fallocate(&*open, mode, first * PAGE_BYTES as u64, count * PAGE_BYTES as u64);
        match retry_with(&mut self.backoff(), || self.directory.doing(file, "punching a hole"), punch) {
            // A file system without holes keeps the space until the file goes.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(errno) => Err(self.error(file, "punching a hole", errno)),
        }
    }

    fn truncate(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.finish_behind(file)?;
        let open = self.own_descriptor(file)?;
        let cut = || fs::ftruncate(&*open, pages * PAGE_BYTES as u64);
        retry_with(&mut self.backoff(), || self.directory.doing(file, "cutting"), cut)
            .map_err(|errno| self.error(file, "cutting", errno))
    }

    fn remove(&self, file: FileId) -> Result<(), FlashError> {
        // What became of its bytes is of no interest any more.
        let _ = self.finish_behind(file);
        self.unlink(file)
    }

    fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError> {
        let error = |errno: Errno| FlashError::Io(format!("{}: listing: {errno}", self.path().display()));
        let mut files = Vec::new();
        let listing = || format!("{}: listing", self.path().display());
        let list = || fs::Dir::read_from(&self.directory)?.collect::<Result<Vec<_>, _>>();
        for entry in retry_with(&mut self.backoff(), listing, list).map_err(error)? {
            let Some(file) = entry.file_name().to_str().ok().and_then(names::parse) else { continue };
            let look = || fs::statat(&self.directory, entry.file_name(), fs::AtFlags::SYMLINK_NOFOLLOW);
            match retry_with(&mut self.backoff(), || self.directory.doing(file, "looking at"), look) {
                Ok(stat) => files.push((file, stat.st_size.cast_unsigned() / PAGE_BYTES as u64)),
                // Removed since the directory was read.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(self.error(file, "looking at", errno)),
            }
        }
        Ok(files)
    }

    fn keep_spare(&self, bytes: u64) -> u64 {
        let held = if self.is_read_only { self.spare.bytes() } else { self.spare.hold(&self.directory, bytes) };
        // Space is of no use where there is no place for a file.
        if self.directory.lacks_files() { 0 } else { held }
    }

    fn space(&self) -> Result<Space, FlashError> {
        self.directory.space()
    }
}

impl Files {
    /// Gives back the space that is kept for deletes and merges, if it is for a file of this kind; whether there was any.
    pub(super) fn gives_way(&self, file: FileId) -> bool {
        matches!(file, FileId::Segment(_) | FileId::Manifest(_)) && self.spare.release(&self.directory)
    }
}

#[cfg(test)]
mod tests;
