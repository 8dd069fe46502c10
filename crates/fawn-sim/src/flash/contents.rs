//! What a simulated file holds: sparse pages, of which only the bytes up to the last one that is not zero are kept, so
//! that files of hundreds of gigabytes fit in memory as long as they hold little.

use std::collections::BTreeMap;
use std::sync::Arc;

use fawn_store::page::{PAGE_BYTES, Page};

/// Bytes of a sector: what a device writes whole or not at all.
pub(super) const SECTOR_BYTES: usize = 512;
/// Sectors of a page.
pub(super) const SECTORS: usize = PAGE_BYTES / SECTOR_BYTES;

/// A page's bytes up to its last non-zero one; `None` for a page of zeros.
pub(super) type PageContents = Option<Arc<[u8]>>;

/// The stored form of a page.
pub(super) fn store(bytes: &[u8; PAGE_BYTES]) -> PageContents {
    // By words first: most pages are full at the end or empty to it.
    let tail = bytes.as_chunks::<64>().0.iter().rposition(|chunk| *chunk != [0; 64])?;
    let used = bytes[..(tail + 1) * 64].iter().rposition(|&byte| byte != 0)? + 1;
    Some(Arc::from(&bytes[..used]))
}

/// The page of a stored form.
pub(super) fn load(stored: Option<&Arc<[u8]>>, page: &mut Page) {
    let used = stored.map_or(0, |bytes| {
        page.0[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    });
    page.0[used..].fill(0);
}

/// Sparse pages; a copy is cheap and shares what is not changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pages: Arc<BTreeMap<u64, Arc<[u8]>>>,
}

impl Contents {
    /// The page; zeros where nothing was written.
    pub(super) fn get(&self, page: u64) -> Option<&Arc<[u8]>> {
        self.pages.get(&page)
    }

    /// Replaces the page.
    pub(super) fn set(&mut self, page: u64, stored: PageContents) {
        let pages = Arc::make_mut(&mut self.pages);
        match stored {
            Some(bytes) => drop(pages.insert(page, bytes)),
            None => drop(pages.remove(&page)),
        }
    }

    /// Page numbers in `first..end` that are not zeros.
    pub(super) fn occupied(&self, first: u64, end: u64) -> impl Iterator<Item = u64> {
        self.pages.range(first..end.max(first)).map(|(&page, _)| page)
    }

    /// Bytes of memory that the pages take.
    pub(super) fn memory(&self) -> usize {
        self.pages.values().map(|bytes| bytes.len() + 48).sum()
    }
}

/// Page numbers that hold no space: stretches `first → end`, disjoint and not adjacent.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes {
    stretches: BTreeMap<u64, u64>,
    pages: u64,
}

impl Holes {
    /// Pages in holes.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// Pages of `first..end` that lie in holes.
    pub(super) fn within(&self, first: u64, end: u64) -> u64 {
        self.overlapping(first, end).iter().map(|&(from, to)| to.min(end) - from.max(first)).sum()
    }

    /// Makes `first..end` a hole.
    pub(super) fn add(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        self.remove(first, end);
        self.stretches.insert(first, end);
        self.pages += end - first;
    }

    /// Makes `first..end` hold space.
    pub(super) fn remove(&mut self, first: u64, end: u64) {
        for (from, to) in self.overlapping(first, end) {
            self.stretches.remove(&from);
            self.pages -= to - from;
            for (from, to) in [(from, to.min(first)), (from.max(end), to)] {
                if from < to {
                    self.stretches.insert(from, to);
                    self.pages += to - from;
                }
            }
        }
    }

    fn overlapping(&self, first: u64, end: u64) -> Vec<(u64, u64)> {
        let mut found: Vec<_> = self
            .stretches
            .range(..end)
            .rev()
            .take_while(|&(_, &to)| to > first)
            .map(|(&from, &to)| (from, to))
            .collect();
        found.reverse();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_count_each_page_once() {
        let mut holes = Holes::default();
        holes.add(10, 20);
        holes.add(15, 30);
        holes.add(40, 50);
        assert_eq!(holes.pages(), 30);
        assert_eq!(holes.within(0, 100), 30);
        assert_eq!(holes.within(18, 42), 14);
        holes.remove(12, 45);
        assert_eq!(holes.pages(), 2 + 5);
        holes.add(0, 100);
        assert_eq!(holes.pages(), 100);
    }

    #[test]
    fn a_page_with_few_bytes_takes_little_memory() {
        let mut contents = Contents::default();
        let mut page = Page::zeroed();
        page.0[3] = 9;
        contents.set(1 << 40, store(&page.0));
        contents.set(7, store(&Page::zeroed().0));
        assert!(contents.memory() < 64);
        let mut read = Page::zeroed();
        load(contents.get(1 << 40), &mut read);
        assert_eq!(read.0, page.0);
        assert_eq!(contents.occupied(0, u64::MAX).collect::<Vec<_>>(), [1 << 40]);
    }
}
