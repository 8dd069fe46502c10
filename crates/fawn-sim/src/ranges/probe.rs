//! A device that remembers what it was before every write point.

use std::cell::RefCell;

use fawn_store::flash::{FileId, Flash, FlashError, Space};
use fawn_store::page::Page;

use crate::flash::SimFlash;

/// A device, and copies of it from before each write point since they were taken last.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) flash: SimFlash,
    /// `None`: nothing is remembered.
    points: Option<RefCell<Vec<SimFlash>>>,
}

impl Probe {
    pub(super) fn new(flash: SimFlash) -> Self {
        Self { flash, points: None }
    }

    /// From here on, write points are remembered.
    pub(super) fn remember(&mut self) {
        self.points = Some(RefCell::default());
    }

    /// The devices from before each write point since the last call.
    pub(super) fn take(&self) -> Vec<SimFlash> {
        self.points.as_ref().map_or_else(Vec::new, RefCell::take)
    }

    fn point(&self) -> &SimFlash {
        if let Some(points) = &self.points {
            points.borrow_mut().push(self.flash.clone());
        }
        &self.flash
    }
}

impl Flash for Probe {
    fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.point().create(file, pages)
    }

    fn read(&self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError> {
        self.flash.read(file, first, pages)
    }

    fn write(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        self.point().write(file, first, pages)
    }

    fn sync(&self, file: FileId) -> Result<(), FlashError> {
        self.point().sync(file)
    }

    fn sync_names(&self) -> Result<(), FlashError> {
        self.point().sync_names()
    }

    fn punch(&self, file: FileId, first: u64, count: u64) -> Result<(), FlashError> {
        self.point().punch(file, first, count)
    }

    fn truncate(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.point().truncate(file, pages)
    }

    fn remove(&self, file: FileId) -> Result<(), FlashError> {
        self.point().remove(file)
    }

    fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError> {
        self.flash.list()
    }

    fn space(&self) -> Result<Space, FlashError> {
        self.flash.space()
    }
}
