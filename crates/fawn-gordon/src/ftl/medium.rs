//! What is on flash: all that survives a power cut.
//!
//! Each super-page has spare areas that name its logical page, its own number, the sequence number and the erases of its block, and
//! a checksum over all its dies. The last page of a closed block is its summary, which lists the logical pages and, where recovery
//! needs them, the numbers. A page that was programmed when the power failed is torn:
//! it may read as damaged, as erased, or as whole.

use std::collections::BTreeMap;

use super::injected_bugs::{FtlBug, planted};
use super::striping::Layout;
use super::table::{NOBODY, PageRange, RECORD};

/// What the spare areas of a page say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// Erased.
    Erased,
    /// The data of a logical page, with a stamp that the writer chose.
    Data {
        /// The logical page.
        logical: u32,
        /// The stamp of its content.
        stamp: u32,
    },
    /// A record of trims.
    Record,
    /// The summary of the block.
    Summary,
    /// The checksum does not fit. The content is what was being programmed, in part.
    Damaged,
}

/// How a page reads that was programmed in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TornPage {
    /// As damaged.
    Damaged,
    /// As erased, though it is not.
    SeemsErased,
    /// As whole. Only a page whose last dies were in their cells can be.
    Whole,
}

/// A program as it reaches the flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A logical page.
    Data {
        /// The logical page.
        logical: u32,
        /// The stamp of its content.
        stamp: u32,
    },
    /// Trimmed ranges.
    Record(Vec<PageRange>),
    /// Owners of the pages of the block: logical pages, [`RECORD`] or [`NOBODY`].
    Summary(Vec<u32>),
}

/// A program with what its spare areas say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageProgram {
    /// The sequence number of the block.
    pub sequence: u64,
    /// The number of the page itself.
    pub ticket: u64,
    /// What is programmed.
    pub content: Content,
    /// Whether cleaning copied it from another page.
    pub copied: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MediumPage {
    ticket: u64,
    owner: u32,
    stamp: u32,
    copied: bool,
    state: PageState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageState {
    Erased,
    Programmed,
    Damaged,
    SeemsErased,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MediumBlock {
    sequence: u64,
    erases: u32,
    programmed: u32,
    is_torn: bool,
}

/// The content of the whole array. Memory grows with its pages: it is kept for small arrays only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Medium {
    layout: Layout,
    pages: Vec<MediumPage>,
    blocks: Vec<MediumBlock>,
    summaries: BTreeMap<u32, Vec<u32>>,
    records: BTreeMap<u32, Vec<PageRange>>,
}

impl Medium {
    /// An erased array.
    pub fn new(layout: Layout) -> Self {
        let page = MediumPage { ticket: 0, owner: NOBODY, stamp: 0, copied: false, state: PageState::Erased };
        let block = MediumBlock { sequence: 0, erases: 0, programmed: 0, is_torn: false };
        Self {
            layout,
            pages: vec![page; layout.pages() as usize],
            blocks: vec![block; layout.blocks() as usize],
            summaries: BTreeMap::new(),
            records: BTreeMap::new(),
        }
    }

    /// The array's layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Programs a page, whole or in part. Flash is programmed once between erases, upwards in a block.
    pub fn program(&mut self, page: u32, program: PageProgram, torn: Option<TornPage>) {
        let (number, offset) = (self.layout.block_of(page), self.layout.offset(page));
        let block = &mut self.blocks[number as usize];
        let entry = &mut self.pages[page as usize];
        assert!(!block.is_torn, "page {page} lies in a block that is not erased");
        assert!(entry.state == PageState::Erased, "page {page} is programmed twice");
        let in_order = block.programmed <= offset || planted(FtlBug::SummaryBeforePages);
        assert!(in_order, "page {page} is programmed after a higher one of its block");
        block.programmed = block.programmed.max(offset + 1);
        let state = match torn {
            None | Some(TornPage::Whole) => PageState::Programmed,
            Some(TornPage::Damaged) => PageState::Damaged,
            Some(TornPage::SeemsErased) => PageState::SeemsErased,
        };
        if state != PageState::SeemsErased {
            block.sequence = program.sequence;
        }
        let (owner, stamp) = match program.content {
            Content::Data { logical, stamp } => (logical, stamp),
            Content::Record(ranges) => {
                if state == PageState::Programmed {
                    self.records.insert(page, ranges);
                }
                (RECORD, 0)
            }
            Content::Summary(owners) => {
                if state == PageState::Programmed {
                    self.summaries.insert(number, owners);
                }
                (NOBODY, 0)
            }
        };
        *entry = MediumPage { ticket: program.ticket, owner, stamp, copied: program.copied, state };
    }

    /// Erases a block.
    pub fn erase(&mut self, block: u32) {
        let first = self.layout.first_page(block);
        let end = first + self.layout.pages_per_block;
        self.pages[first as usize..end as usize].fill(MediumPage {
            ticket: 0,
            owner: NOBODY,
            stamp: 0,
            copied: false,
            state: PageState::Erased,
        });
        let entry = &mut self.blocks[block as usize];
        *entry = MediumBlock { sequence: 0, erases: entry.erases + 1, programmed: 0, is_torn: false };
        self.summaries.remove(&block);
        while let Some((&page, _)) = self.records.range(first..end).next() {
            self.records.remove(&page);
        }
    }

    /// Erases a block in part: nothing of it can be read, nothing programmed.
    pub fn tear_erase(&mut self, block: u32) {
        let erases = self.blocks[block as usize].erases;
        self.erase(block);
        let entry = &mut self.blocks[block as usize];
        entry.is_torn = true;
        entry.erases = erases;
    }

    /// What the spare areas of a page say.
    pub fn spare(&self, page: u32) -> Spare {
        let entry = &self.pages[page as usize];
        let block = self.layout.block_of(page);
        match entry.state {
            _ if self.blocks[block as usize].is_torn => Spare::Damaged,
            PageState::Erased | PageState::SeemsErased => Spare::Erased,
            PageState::Damaged => Spare::Damaged,
            PageState::Programmed if page == self.layout.summary_page(block) => Spare::Summary,
            PageState::Programmed if entry.owner == RECORD => Spare::Record,
            PageState::Programmed => Spare::Data { logical: entry.owner, stamp: entry.stamp },
        }
    }

    /// The number of a page, as its spare areas and the summary of its block have it.
    pub fn ticket(&self, page: u32) -> u64 {
        self.pages[page as usize].ticket
    }

    /// Whether the spare areas of a page say that cleaning copied it.
    pub fn is_copied(&self, page: u32) -> bool {
        self.pages[page as usize].copied
    }

    /// The logical page and stamp that a damaged page was to hold, for a recovery that ignores checksums.
    pub fn damaged(&self, page: u32) -> Option<(u32, u32)> {
        let entry = &self.pages[page as usize];
        (entry.state == PageState::Damaged && entry.owner < RECORD).then_some((entry.owner, entry.stamp))
    }

    /// The stamp of what a page holds, if it can be read.
    pub fn stamp(&self, page: u32) -> Option<u32> {
        match self.spare(page) {
            Spare::Data { stamp, .. } => Some(stamp),
            _ => None,
        }
    }

    /// The summary of a block, if it can be read.
    pub fn summary(&self, block: u32) -> Option<&[u32]> {
        self.summaries.get(&block).map(Vec::as_slice)
    }

    /// Ranges that a record lists.
    pub fn record(&self, page: u32) -> Option<&[PageRange]> {
        self.records.get(&page).map(Vec::as_slice)
    }

    /// The sequence number in the spare areas of a block.
    pub fn sequence(&self, block: u32) -> u64 {
        self.blocks[block as usize].sequence
    }

    /// Erases of a block, as its spare areas say if any of it is programmed.
    pub fn erases(&self, block: u32) -> Option<u32> {
        let block = &self.blocks[block as usize];
        (block.programmed > 0).then_some(block.erases)
    }

    /// Whether no spare area of a block can be read because its erase was cut.
    pub fn is_torn(&self, block: u32) -> bool {
        self.blocks[block as usize].is_torn
    }
}
