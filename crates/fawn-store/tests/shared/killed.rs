//! A process that is killed while the machine lives on: what it wrote is seen by the next one, and what it did not sync
//! is still not durable.

use std::cell::Cell;

use fawn_sim::flash::SimFlash;
use fawn_store::flash::{FileId, Flash, FlashError, Space};
use fawn_store::page::Page;

/// A view of `flash` that does nothing any more after so many writes, syncs, creations and removals.
pub struct Killed<'f> {
    flash: &'f SimFlash,
    left: Cell<u64>,
}

impl<'f> Killed<'f> {
    pub fn after(operations: u64, flash: &'f SimFlash) -> Self {
        Self { flash, left: Cell::new(operations) }
    }

    fn count(&self) -> Result<&SimFlash, FlashError> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| FlashError::Io("killed".to_owned()))?;
        self.left.set(left);
        Ok(self.flash)
    }
}

impl Flash for Killed<'_> {
    fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.count()?.create(file, pages)
    }

    fn read(&self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError> {
        self.flash.read(file, first, pages)
    }

    fn write(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        self.count()?.write(file, first, pages)
    }

    fn sync(&self, file: FileId) -> Result<(), FlashError> {
        self.count()?.sync(file)
    }

    fn sync_names(&self) -> Result<(), FlashError> {
        self.count()?.sync_names()
    }

    fn punch(&self, file: FileId, first: u64, count: u64) -> Result<(), FlashError> {
        self.count()?.punch(file, first, count)
    }

    fn truncate(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.count()?.truncate(file, pages)
    }

    fn remove(&self, file: FileId) -> Result<(), FlashError> {
        self.count()?.remove(file)
    }

    fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError> {
        self.flash.list()
    }

    fn space(&self) -> Result<Space, FlashError> {
        self.flash.space()
    }
}
