//! A flash of one file whose pages are an input's parts: the least that decoders need, and fast.

use std::cell::RefCell;

use fawn_store::flash::{FileId, Flash, FlashError, Space};
use fawn_store::page::{PAGE_BYTES, Page};

/// One file in memory.
pub struct OneFile {
    file: FileId,
    pages: RefCell<Vec<Page>>,
}

impl OneFile {
    /// The file with one page for each of `parts`: filled up with zeros, cut where too long.
    pub fn new(file: FileId, parts: &[Vec<u8>]) -> Self {
        let mut pages = vec![Page::zeroed(); parts.len()];
        for (page, part) in pages.iter_mut().zip(parts) {
            let length = part.len().min(PAGE_BYTES);
            page.0[..length].copy_from_slice(&part[..length]);
        }
        Self { file, pages: RefCell::new(pages) }
    }

    /// The pages as parts, without the zeros at their ends.
    pub fn parts(&self) -> Vec<Vec<u8>> {
        let pages = self.pages.borrow();
        pages
            .iter()
            .map(|page| {
                let length = page.0.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                page.0[..length].to_vec()
            })
            .collect()
    }

    fn find(&self, file: FileId) -> Result<(), FlashError> {
        if file == self.file { Ok(()) } else { Err(FlashError::NotFound(file)) }
    }
}

impl Flash for OneFile {
    fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.find(file)?;
        self.pages.borrow_mut().resize(pages as usize, Page::zeroed());
        Ok(())
    }

    fn read(&self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError> {
        self.find(file)?;
        let all = self.pages.borrow();
        let rest = usize::try_from(first).ok().and_then(|first| all.get(first..)).ok_or(FlashError::Short(file))?;
        pages.clone_from_slice(rest.get(..pages.len()).ok_or(FlashError::Short(file))?);
        Ok(())
    }

    fn write(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        self.find(file)?;
        let mut all = self.pages.borrow_mut();
        let end = first as usize + pages.len();
        if all.len() < end {
            all.resize(end, Page::zeroed());
        }
        all[first as usize..end].clone_from_slice(pages);
        Ok(())
    }

    fn sync(&self, file: FileId) -> Result<(), FlashError> {
        self.find(file)
    }

    fn sync_names(&self) -> Result<(), FlashError> {
        Ok(())
    }

    fn punch(&self, _: FileId, _: u64, _: u64) -> Result<(), FlashError> {
        Ok(())
    }

    fn truncate(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.find(file)?;
        self.pages.borrow_mut().truncate(pages as usize);
        Ok(())
    }

    fn remove(&self, file: FileId) -> Result<(), FlashError> {
        self.find(file)
    }

    fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError> {
        let pages = self.pages.borrow().len() as u64;
        Ok(if pages == 0 { Vec::new() } else { vec![(self.file, pages)] })
    }

    fn space(&self) -> Result<Space, FlashError> {
        Ok(Space { total: u64::MAX, free: u64::MAX })
    }
}

/// The CRC-32C that a page's header holds, over its place and its bytes from 4 on (`docs/data-log.md`).
pub fn page_checksum(file: u64, page: u64, bytes: &[u8]) -> u32 {
    let mut place = [0; 16];
    place[..8].copy_from_slice(&file.to_le_bytes());
    place[8..].copy_from_slice(&page.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&place), &bytes[4..])
}

/// The part, filled up with zeros or cut to be a page.
pub fn whole(part: &mut Vec<u8>) {
    part.resize(PAGE_BYTES, 0);
}
