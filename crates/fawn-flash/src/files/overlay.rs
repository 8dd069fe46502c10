//! [`Overlay`]: a store's files as if they could be written to. What is written stays in memory and goes with it.
//!
//! A program that only looks at a store opens it as a server does, which replays the log, seals and cleans up: through this nothing
//! of that reaches the device. So a snapshot that is mounted read-only can be looked at, and so can a store on a full device.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fawn_store::flash::{FileId, Flash, FlashError, Space};
use fawn_store::page::Page;

/// Files, and in memory what was written since. See the module's text.
pub struct Overlay<F> {
    below: F,
    changes: Mutex<Changes>,
}

#[derive(Default)]
struct Changes {
    /// Pages that were written.
    pages: BTreeMap<(FileId, u64), Box<Page>>,
    /// Lengths, in pages, of files that were made, written beyond their end, or cut.
    lengths: BTreeMap<FileId, u64>,
    /// Files of which nothing shows any more that lies below: they are new, or gone.
    hidden: BTreeSet<FileId>,
    /// How many pages still show of what lies below, of files that were cut.
    cut: BTreeMap<FileId, u64>,
}

impl<F: Flash> Overlay<F> {
    /// An overlay over the files of `below`, without changes.
    pub fn new(below: F) -> Self {
        Self { below, changes: Mutex::default() }
    }

    /// The files under the overlay.
    pub fn below(&self) -> &F {
        &self.below
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages of a file.
    fn length(&self, changes: &Changes, file: FileId) -> Result<u64, FlashError> {
        if let Some(length) = changes.lengths.get(&file) {
            return Ok(*length);
        }
        let found = self.below.list()?.into_iter().find(|(found, _)| *found == file);
        found.filter(|_| !changes.hidden.contains(&file)).map(|(_, length)| length).ok_or(FlashError::NotFound(file))
    }
}

impl<F: Flash> Flash for Overlay<F> {
    fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        let mut changes = self.changes();
        if self.length(&changes, file).is_ok() {
            return Err(FlashError::Io(format!("{file} exists")));
        }
        changes.hidden.insert(file);
        changes.lengths.insert(file, pages);
        Ok(())
    }

    fn read(&self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError> {
        let changes = self.changes();
        let end = first + pages.len() as u64;
        if !changes.lengths.contains_key(&file) && !changes.hidden.contains(&file) {
            self.below.read(file, first, pages)?;
        } else {
            if end > self.length(&changes, file)? {
                return Err(FlashError::Short(file));
            }
            for page in pages.iter_mut() {
                page.0.fill(0);
            }
            let below = if changes.hidden.contains(&file) { 0 } else { self.below_length(file)? };
            let below = changes.cut.get(&file).map_or(below, |cut| below.min(*cut));
            if first < below {
                let count = pages.len().min((below - first) as usize);
                self.below.read(file, first, &mut pages[..count])?;
            }
        }
        for ((_, at), page) in changes.pages.range((file, first)..(file, end)) {
            pages[(at - first) as usize].0.copy_from_slice(&page.0);
        }
        Ok(())
    }

    fn write(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        let mut changes = self.changes();
        let (length, end) = (self.length(&changes, file)?, first + pages.len() as u64);
        if end > length {
            changes.lengths.insert(file, end);
        }
        for (at, page) in (first..).zip(pages) {
            changes.pages.insert((file, at), Box::new(Page(page.0)));
        }
        Ok(())
    }

    fn sync(&self, _: FileId) -> Result<(), FlashError> {
        Ok(())
    }

    fn sync_names(&self) -> Result<(), FlashError> {
        Ok(())
    }

    fn punch(&self, _: FileId, _: u64, _: u64) -> Result<(), FlashError> {
        // Nobody refers to these pages any more.
        Ok(())
    }

    fn truncate(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        let mut changes = self.changes();
        self.length(&changes, file)?;
        changes.lengths.insert(file, pages);
        let shown = changes.cut.entry(file).or_insert(pages);
        *shown = pages.min(*shown);
        changes.pages.retain(|(other, at), _| *other != file || *at < pages);
        Ok(())
    }

    fn remove(&self, file: FileId) -> Result<(), FlashError> {
        let mut changes = self.changes();
        self.length(&changes, file)?;
        changes.hidden.insert(file);
        changes.lengths.remove(&file);
        changes.pages.retain(|(other, _), _| *other != file);
        Ok(())
    }

    fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError> {
        let changes = self.changes();
        let below = self.below.list()?.into_iter().filter(|(file, _)| !changes.hidden.contains(file));
        let mut all: BTreeMap<FileId, u64> = below.collect();
        all.extend(changes.lengths.iter().map(|(file, length)| (*file, *length)));
        Ok(all.into_iter().collect())
    }

    fn space(&self) -> Result<Space, FlashError> {
        // What is written here takes none of it.
        let total = self.below.space()?.total;
        Ok(Space { total, free: total })
    }
}

impl<F: Flash> Overlay<F> {
    fn below_length(&self, file: FileId) -> Result<u64, FlashError> {
        let found = self.below.list()?.into_iter().find(|(found, _)| *found == file);
        Ok(found.map_or(0, |(_, length)| length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caching, Files};
    use fawn_store::page::PageBuf;

    fn filled(byte: u8, pages: usize) -> PageBuf {
        let mut buffer = PageBuf::zeroed(pages);
        buffer.bytes_mut().fill(byte);
        buffer
    }

    #[test]
    fn what_is_written_shows_and_reaches_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path(), Caching::Buffered).unwrap();
        let (old, new) = (FileId::Segment(2), FileId::Segment(4));
        files.create(old, 3).unwrap();
        files.write(old, 0, filled(1, 3).pages()).unwrap();
        let overlay = Overlay::new(files);
        overlay.write(old, 1, filled(2, 1).pages()).unwrap();
        overlay.write(old, 4, filled(3, 1).pages()).unwrap();
        overlay.create(new, 2).unwrap();
        assert!(overlay.create(new, 2).is_err() && overlay.create(old, 2).is_err());
        let mut read = PageBuf::zeroed(5);
        overlay.read(old, 0, read.pages_mut()).unwrap();
        assert_eq!(read.pages().iter().map(|page| page.0[7]).collect::<Vec<_>>(), [1, 2, 1, 0, 3]);
        assert!(matches!(overlay.read(old, 1, read.pages_mut()), Err(FlashError::Short(_))));
        assert_eq!(overlay.list().unwrap(), [(old, 5), (new, 2)]);
        overlay.truncate(old, 2).unwrap();
        overlay.write(old, 3, filled(4, 1).pages()).unwrap();
        overlay.read(old, 0, &mut read.pages_mut()[..4]).unwrap();
        let shown: Vec<u8> = read.pages()[..4].iter().map(|page| page.0[7]).collect();
        assert_eq!(shown, [1, 2, 0, 4], "what was cut off does not come back");
        overlay.truncate(old, 2).unwrap();
        overlay.remove(new).unwrap();
        assert_eq!(overlay.list().unwrap(), [(old, 2)]);
        overlay.remove(old).unwrap();
        assert!(matches!(overlay.read(old, 0, read.pages_mut()), Err(FlashError::NotFound(_))));
        assert_eq!(overlay.below().list().unwrap(), [(old, 3)]);
        overlay.below().read(old, 0, &mut read.pages_mut()[..3]).unwrap();
        assert_eq!(read.pages()[..3].iter().map(|page| page.0[7]).collect::<Vec<_>>(), [1, 1, 1]);
    }
}
