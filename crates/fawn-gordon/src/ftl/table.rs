//! The LBA table: where each logical page is, and back.

use std::collections::BTreeMap;

use super::divisor::Divisor;
use super::scan::BlockScan;

/// Where a logical page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// It was never written.
    Never,
    /// It was trimmed; the record of that is on this page.
    Trimmed(u32),
    /// On this page.
    At(u32),
}

/// Logical pages from `start`, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// The first.
    pub start: u32,
    /// How many.
    pub count: u32,
}

/// A page that records trims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrimRecord {
    /// Logical pages that still depend on it.
    pub pages: u32,
    /// All copies of these pages have smaller numbers: that of the program that trimmed them, or a later one.
    pub trimmed_by: u64,
    /// Logical pages that it lists.
    pub ranges: Vec<PageRange>,
}

/// No logical page.
pub const NOBODY: u32 = u32::MAX;
/// The owner of a page that records trims.
pub const RECORD: u32 = u32::MAX - 1;
const TRIMMED: u32 = 1 << 31;

/// How the FTL finds the logical pages of a block that it cleans.
#[derive(Debug)]
enum Reverse {
    /// From a table of owners, with a bit for each page that is valid: 33 more bits a page.
    Kept(OwnerTable),
    /// By reading the forward table for many blocks at a time.
    Scanned(BlockScan),
}

#[derive(Debug)]
struct OwnerTable {
    owners: Vec<u32>,
    /// Whether the forward table has the page, so that cleaning need not look there.
    valid: Vec<u64>,
}

impl OwnerTable {
    #[inline]
    fn is_valid(&self, page: u32) -> bool {
        self.valid[page as usize / 64] >> (page % 64) & 1 == 1
    }

    #[inline]
    fn invalidate(&mut self, page: u32) {
        self.valid[page as usize / 64] &= !(1 << (page % 64));
    }

    #[inline]
    fn set(&mut self, page: u32, owner: u32) {
        self.owners[page as usize] = owner;
        self.valid[page as usize / 64] |= 1 << (page % 64);
    }
}

/// Both directions of the map. Forward it has four bytes a logical page.
#[derive(Debug)]
pub struct PageTable {
    forward: Vec<u32>,
    reverse: Reverse,
    records: BTreeMap<u32, TrimRecord>,
    pages_per_block: u32,
    by_pages: Divisor,
}

impl PageTable {
    /// An empty table. If owners are not kept, they are found by scanning, which a power cut cannot be simulated with.
    pub fn new(logical: u32, blocks: u32, pages_per_block: u32, keeps_owners: bool) -> Self {
        let reverse = if keeps_owners {
            let pages = blocks as usize * pages_per_block as usize;
            Reverse::Kept(OwnerTable { owners: vec![NOBODY; pages], valid: vec![0; pages.div_ceil(64)] })
        } else {
            Reverse::Scanned(BlockScan::default())
        };
        Self {
            forward: vec![NOBODY; logical as usize],
            reverse,
            records: BTreeMap::new(),
            pages_per_block,
            by_pages: Divisor::new(pages_per_block),
        }
    }

    /// Logical pages.
    pub fn logical_pages(&self) -> u32 {
        self.forward.len() as u32
    }

    /// Where a logical page is.
    #[inline]
    pub fn location(&self, logical: u32) -> Location {
        match self.forward[logical as usize] {
            NOBODY => Location::Never,
            entry if entry & TRIMMED != 0 => Location::Trimmed(entry & !TRIMMED),
            entry => Location::At(entry),
        }
    }

    /// Whether a logical page, which was on this page, still is.
    #[inline]
    pub fn is_at(&self, logical: u32, page: u32) -> bool {
        match &self.reverse {
            Reverse::Kept(table) => table.is_valid(page),
            Reverse::Scanned(_) => self.forward[logical as usize] == page,
        }
    }

    /// The entry of a logical page, for those who only want it near.
    #[inline]
    pub fn entry(&self, logical: u32) -> u32 {
        self.forward[logical as usize]
    }

    /// The bits that say whether this page and its neighbours are valid, for those who only want them near.
    #[inline]
    pub fn valid_bits(&self, page: u32) -> u64 {
        match &self.reverse {
            Reverse::Kept(table) => table.valid.get(page as usize / 64).copied().unwrap_or(0),
            Reverse::Scanned(_) => 0,
        }
    }

    #[inline]
    fn change(&mut self, logical: u32, entry: u32) {
        let before = std::mem::replace(&mut self.forward[logical as usize], entry);
        if let Reverse::Kept(table) = &mut self.reverse
            && before & TRIMMED == 0
        {
            table.invalidate(before);
        }
    }

    /// A logical page is on this page now.
    #[inline]
    pub fn set_page(&mut self, logical: u32, page: u32) {
        self.change(logical, page);
        if let Reverse::Kept(table) = &mut self.reverse {
            table.set(page, logical);
        }
    }

    /// A logical page, which has no page, is on this one now. Its entry is written and not read.
    #[inline]
    pub fn add_page(&mut self, logical: u32, page: u32) {
        debug_assert_eq!(self.location(logical), Location::Never, "a page is placed once");
        self.forward[logical as usize] = page;
        if let Reverse::Kept(table) = &mut self.reverse {
            table.set(page, logical);
        }
    }

    /// A logical page goes from this page to that one. Its entry is written and not read: a load would wait for memory.
    #[inline]
    pub fn move_page(&mut self, logical: u32, from: u32, to: u32) {
        debug_assert_eq!(self.location(logical), Location::At(from), "a page is copied from where it is");
        self.forward[logical as usize] = to;
        if let Reverse::Kept(table) = &mut self.reverse {
            table.invalidate(from);
            table.set(to, logical);
        }
    }

    /// A page holds the record of these trims, on which so many logical pages depend.
    pub fn set_record(&mut self, page: u32, record: TrimRecord) {
        if let Reverse::Kept(table) = &mut self.reverse {
            table.owners[page as usize] = RECORD;
        }
        self.records.insert(page, record);
    }

    /// A logical page is trimmed, by the record on this page.
    pub fn set_trimmed(&mut self, logical: u32, record: u32) {
        self.change(logical, record | TRIMMED);
    }

    /// A logical page counts as never written.
    pub fn forget(&mut self, logical: u32) {
        self.change(logical, NOBODY);
    }

    /// One logical page depends on this record no longer. Whether none does.
    pub fn leave_record(&mut self, page: u32) -> bool {
        let record = self.records.get_mut(&page).expect("a trimmed page names its record");
        record.pages -= 1;
        if record.pages > 0 {
            return false;
        }
        self.records.remove(&page);
        true
    }

    /// Logical pages that depend on the record on this page.
    pub fn dependents(&self, page: u32) -> Vec<u32> {
        let Some(record) = self.records.get(&page) else { return Vec::new() };
        let all = record.ranges.iter().flat_map(|range| range.start..range.start + range.count);
        all.filter(|logical| self.forward[*logical as usize] == page | TRIMMED).collect()
    }

    /// Takes a record away, with the logical pages that still depend on it.
    pub fn take_record(&mut self, page: u32) -> Option<Vec<u32>> {
        let dependents = self.dependents(page);
        self.records.remove(&page).map(|_| dependents)
    }

    /// Pages of a block that hold records.
    pub fn records_of(&self, block: u32) -> Vec<u32> {
        let first = block * self.pages_per_block;
        self.records.range(first..first + self.pages_per_block).map(|(page, _)| *page).collect()
    }

    /// The record on a page.
    pub fn record(&self, page: u32) -> Option<&TrimRecord> {
        self.records.get(&page)
    }

    /// Forgets who owned the pages of a block that is about to be filled.
    pub fn begin_block(&mut self, block: u32) {
        let first = block as usize * self.pages_per_block as usize;
        match &mut self.reverse {
            Reverse::Kept(table) => table.owners[first..first + self.pages_per_block as usize].fill(NOBODY),
            Reverse::Scanned(scan) => scan.forget(block),
        }
    }

    /// Who owned the pages of a block when they were written, or nobody knows.
    pub fn owners(&self, block: u32) -> Option<&[u32]> {
        let first = block as usize * self.pages_per_block as usize;
        match &self.reverse {
            Reverse::Kept(table) => Some(&table.owners[first..first + self.pages_per_block as usize]),
            Reverse::Scanned(_) => None,
        }
    }

    /// The valid pages of a closed block with their logical pages, in the order of pages. `likely` lists blocks that may be asked
    /// for soon.
    pub fn live_pages(&mut self, block: u32, likely: impl FnOnce() -> Vec<u32>) -> Vec<(u32, u32)> {
        let first = block * self.pages_per_block;
        match &mut self.reverse {
            Reverse::Kept(table) => (first..first + self.pages_per_block)
                .filter(|page| table.is_valid(*page))
                .map(|page| (page, table.owners[page as usize]))
                .collect(),
            Reverse::Scanned(scan) => {
                let found = scan.take(block, &self.forward, self.by_pages, likely);
                let places = found.into_iter().map(|logical| (self.forward[logical as usize], logical));
                let mut pages: Vec<_> = places.filter(|(page, _)| self.by_pages.divide(*page) == block).collect();
                pages.sort_unstable();
                pages
            }
        }
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        let reverse = match &self.reverse {
            Reverse::Kept(table) => table.owners.len() as u64 * 4 + table.valid.len() as u64 * 8,
            Reverse::Scanned(scan) => scan.memory_bytes(),
        };
        self.forward.len() as u64 * 4 + reverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_lasts_as_long_as_a_page_depends_on_it() {
        let mut table = PageTable::new(10, 2, 8, true);
        table.set_record(3, TrimRecord { pages: 2, trimmed_by: 1, ranges: vec![PageRange { start: 4, count: 2 }] });
        table.set_trimmed(4, 3);
        table.set_trimmed(5, 3);
        assert_eq!(table.location(4), Location::Trimmed(3));
        assert!(!table.leave_record(3));
        table.set_page(4, 7);
        assert_eq!(table.records_of(0), [3]);
        assert_eq!(table.take_record(3), Some(vec![5]));
        assert_eq!(table.location(4), Location::At(7));
    }

    #[test]
    fn a_scan_finds_what_a_table_of_owners_has() {
        let mut kept = PageTable::new(40, 8, 8, true);
        let mut scanned = PageTable::new(40, 8, 8, false);
        for (logical, page) in [(3, 17), (9, 16), (1, 23), (30, 40), (31, 9)] {
            kept.set_page(logical, page);
            scanned.set_page(logical, page);
        }
        for block in 0..8 {
            assert_eq!(kept.live_pages(block, Vec::new), scanned.live_pages(block, || vec![1, 2, 5]));
        }
    }
}
