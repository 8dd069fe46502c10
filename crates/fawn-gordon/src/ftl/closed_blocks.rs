//! The closed blocks of a stripe set, and which of them has the fewest valid pages.
//!
//! A closed block only loses valid pages. So the fewest of each 64 neighbours are kept up to date by one comparison, and the fewest
//! of all are found by looking at one number for 64 blocks.

use super::blocks::BlockTable;

const GROUP: usize = 64;

/// Closed blocks, in no order.
#[derive(Debug, Default)]
pub struct ClosedBlocks {
    list: Vec<u32>,
    /// The fewest valid pages of each group of neighbours.
    fewest: Vec<u32>,
}

impl ClosedBlocks {
    /// Their numbers.
    pub fn list(&self) -> &[u32] {
        &self.list
    }

    /// A block is closed.
    pub fn push(&mut self, block: u32, blocks: &mut BlockTable) {
        let at = self.list.len();
        self.list.push(block);
        let state = blocks.get_mut(block);
        state.place = at as u32;
        match self.fewest.get_mut(at / GROUP) {
            Some(fewest) => *fewest = (*fewest).min(state.valid),
            None => self.fewest.push(state.valid),
        }
    }

    /// Takes out the block at an index; the last one takes its place.
    pub fn swap_remove(&mut self, at: usize, blocks: &mut BlockTable) -> u32 {
        let block = self.list.swap_remove(at);
        if let Some(&moved) = self.list.get(at) {
            blocks.get_mut(moved).place = at as u32;
        }
        self.fewest.truncate(self.list.len().div_ceil(GROUP));
        for group in [at / GROUP, self.list.len() / GROUP] {
            let of_group = self.list.iter().skip(group * GROUP).take(GROUP);
            if let Some(fewest) = of_group.map(|block| blocks.get(*block).valid).min() {
                self.fewest[group] = fewest;
            }
        }
        block
    }

    /// The block at this index has only so many valid pages left.
    #[inline]
    pub fn invalidated(&mut self, at: u32, valid: u32) {
        let fewest = &mut self.fewest[at as usize / GROUP];
        *fewest = (*fewest).min(valid);
    }

    /// The first index with the fewest valid pages, if there is any block.
    pub fn with_fewest_valid(&self, blocks: &BlockTable) -> Option<usize> {
        let group = (0..self.fewest.len()).min_by_key(|group| self.fewest[*group])?;
        let fewest = self.fewest[group];
        let of_group = self.list[group * GROUP..].iter();
        let within = of_group.take(GROUP).position(|block| blocks.get(*block).valid == fewest);
        Some(group * GROUP + within.expect("a group has a block with its fewest valid pages"))
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{Rng as _, SeedableRng as _};

    use super::*;

    #[test]
    fn the_fewest_are_those_that_a_search_finds() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let mut blocks = BlockTable::new(400);
        let mut closed = ClosedBlocks::default();
        let mut open: Vec<u32> = (0..400).collect();
        for _ in 0..30_000 {
            let draw = random.next_u64();
            if draw % 8 == 0
                && let Some(block) = open.pop()
            {
                blocks.get_mut(block).valid = (draw >> 32) as u32 % 64;
                closed.push(block, &mut blocks);
            } else if draw % 8 == 1 && !closed.list().is_empty() {
                let at = (draw >> 32) as usize % closed.list().len();
                open.push(closed.swap_remove(at, &mut blocks));
            } else if let Some(&block) = closed.list().get((draw >> 32) as usize % 400)
                && blocks.get(block).valid > 0
            {
                let state = blocks.get_mut(block);
                state.valid -= 1;
                closed.invalidated(state.place, state.valid);
            }
            let valid = |at: &usize| blocks.get(closed.list()[*at]).valid;
            assert_eq!(closed.with_fewest_valid(&blocks), (0..closed.list().len()).min_by_key(valid));
        }
    }
}
