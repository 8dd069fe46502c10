//! Finds the logical pages of blocks without a table of owners.
//!
//! One pass over the forward table collects the valid pages of many blocks that are likely to be cleaned soon. What is
//! overwritten after the pass is dropped when the block is asked for: no page joins a closed block. With 1 % of the blocks in a
//! pass, a pass costs a few sequential bytes for each page that is programmed meanwhile. That holds for cleaning by valid pages;
//! where a random block is cleaned, most cleanings need a pass.

use hashbrown::HashMap;

use super::divisor::Divisor;
use super::hash::PageHash;

/// Logical pages that a pass has found in blocks. Which page each has is read from the forward table when it is needed.
#[derive(Debug, Default)]
pub struct BlockScan {
    collected: HashMap<u32, Vec<u32>, PageHash>,
    passes: u64,
}

impl BlockScan {
    /// Takes the logical pages that were found in a block, after another pass if it is not known. Some may have left it since.
    pub fn take(
        &mut self,
        block: u32,
        forward: &[u32],
        by_pages: Divisor,
        likely: impl FnOnce() -> Vec<u32>,
    ) -> Vec<u32> {
        if let Some(pages) = self.collected.remove(&block) {
            return pages;
        }
        self.passes += 1;
        self.collected = likely().into_iter().map(|other| (other, Vec::new())).collect();
        self.collected.insert(block, Vec::new());
        // A bit a block keeps the pass off the hash map for most entries.
        let blocks = self.collected.keys().max().map_or(0, |last| last + 1);
        let mut wanted = vec![0_u64; blocks as usize / 64 + 1];
        for other in self.collected.keys() {
            wanted[*other as usize / 64] |= 1 << (other % 64);
        }
        for (logical, &page) in (0..).zip(forward) {
            let of = by_pages.divide(page);
            if of < blocks && wanted[of as usize / 64] >> (of % 64) & 1 == 1 {
                self.collected.entry(of).or_default().push(logical);
            }
        }
        for pages in self.collected.values_mut() {
            pages.shrink_to_fit();
        }
        self.collected.remove(&block).unwrap_or_default()
    }

    /// A block is erased and filled anew.
    pub fn forget(&mut self, block: u32) {
        self.collected.remove(&block);
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        self.collected.values().map(|pages| 32 + pages.capacity() as u64 * 4).sum()
    }
}
