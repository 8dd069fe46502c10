//! The blocks of one stripe set by what they are used for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::closed_blocks::ClosedBlocks;

/// A stripe set's blocks.
#[derive(Debug, Default)]
pub struct SetSpace {
    /// Erased blocks by the order in which they are taken.
    erased: BinaryHeap<Reverse<(u64, u32)>>,
    added: u64,
    /// Closed blocks.
    pub closed: ClosedBlocks,
    /// Valid pages of all blocks.
    pub valid: u32,
    /// The most valid pages that leave cleaning something to gain.
    pub limit: u32,
    /// Blocks that are not worn out.
    pub in_service: u32,
    /// The most erases of a block.
    pub most_erases: u32,
    /// A block is being cleaned.
    pub is_cleaning: bool,
    /// The set is listed as one that needs cleaning.
    pub is_listed: bool,
}

impl SetSpace {
    /// So many blocks, none of them erased, that may have so many valid pages.
    pub fn new(blocks: u32, limit: u32) -> Self {
        Self { in_service: blocks, limit, ..Self::default() }
    }

    /// A block is erased. With dynamic levelling the least-erased one is taken first, else they take turns.
    pub fn add_erased(&mut self, block: u32, erases: u32, dynamic: bool) {
        self.added += 1;
        let order = if dynamic { u64::from(erases) } else { self.added };
        self.erased.push(Reverse((order, block)));
    }

    /// The next erased block.
    pub fn take_erased(&mut self) -> Option<u32> {
        self.erased.pop().map(|Reverse((_, block))| block)
    }

    /// Erased blocks.
    pub fn erased(&self) -> u32 {
        self.erased.len() as u32
    }
}
