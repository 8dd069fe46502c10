//! Measures write amplification: a page-mapped device with one open block, and no time.

use rand::SeedableRng as _;
use rand::rngs::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::theory::HotShare;
use super::victims::{ClosingOrder, FewestOfSome, ValidOrder, VictimChoice, Victims, below};

/// A device as far as write amplification depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Blocks besides the open one.
    pub blocks: u32,
    /// Pages a block.
    pub pages_per_block: u32,
    /// Spare factor `1 − U/T`, 0 to 1 exclusive.
    pub spare_factor: f64,
}

impl BlockDevice {
    /// Pages that the host sees.
    pub fn logical_pages(&self) -> u32 {
        (f64::from(self.blocks) * f64::from(self.pages_per_block) * (1.0 - self.spare_factor)).round() as u32
    }
}

/// Which pages the host writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WritePattern {
    /// Each page alike.
    Uniform,
    /// Hot and cold pages in the same blocks.
    Mixed(HotShare),
    /// Hot and cold pages in blocks of their own; the hot ones have this share of the spare pages.
    Apart(HotShare, f64),
}

/// What was counted after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amplification {
    /// Pages that the host wrote.
    pub written: u64,
    /// Pages that were programmed.
    pub programmed: u64,
    /// Pages that were programmed in the whole run, the warm-up included.
    pub programmed_in_all: u64,
}

impl Amplification {
    /// Pages programmed a page written.
    pub fn factor(&self) -> f64 {
        self.programmed as f64 / self.written as f64
    }
}

/// Fills the device in order, then overwrites it: `warm_up` times its logical pages uncounted, `counted` times counted.
pub fn simulate(
    device: BlockDevice,
    victims: VictimChoice,
    pattern: WritePattern,
    warm_up: u32,
    counted: u32,
    seed: u64,
) -> Amplification {
    let WritePattern::Apart(hot, spare_of_hot) = pattern else {
        let hot = if let WritePattern::Mixed(hot) = pattern { Some(hot) } else { None };
        return simulate_blocks(device.blocks, device.pages_per_block, device.logical_pages(), victims, hot, |pages| {
            (u64::from(pages) * u64::from(warm_up), u64::from(pages) * u64::from(counted), seed)
        });
    };
    // Each kind of data has blocks of its own, so that its cleaning depends on nothing of the other's.
    let pages = f64::from(device.logical_pages());
    let spare = f64::from(device.blocks) * f64::from(device.pages_per_block) - pages;
    let mut sum = Amplification::default();
    for (of_pages, of_spare, of_writes, salt) in
        [(hot.pages, spare_of_hot, hot.writes, 1), (1.0 - hot.pages, 1.0 - spare_of_hot, 1.0 - hot.writes, 2)]
    {
        let logical = (pages * of_pages).round() as u32;
        let blocks = ((f64::from(logical) + spare * of_spare) / f64::from(device.pages_per_block)).round() as u32;
        let writes = |passes: u32| (pages * f64::from(passes) * of_writes).round() as u64;
        // Cold data reaches its steady state after writes to it, however seldom they are.
        let warm = writes(warm_up).max(u64::from(logical) * u64::from(warm_up));
        let part = simulate_blocks(blocks, device.pages_per_block, logical, victims, None, |_| {
            (warm, writes(counted), seed ^ salt)
        });
        sum.written += part.written;
        sum.programmed += part.programmed;
        sum.programmed_in_all += part.programmed_in_all;
    }
    sum
}

fn simulate_blocks(
    blocks: u32,
    pages_per_block: u32,
    logical: u32,
    victims: VictimChoice,
    hot: Option<HotShare>,
    writes: impl Fn(u32) -> (u64, u64, u64),
) -> Amplification {
    let (warm_up, counted, seed) = writes(logical);
    // The open block and the victim that is being emptied come on top of the counted blocks.
    let all = blocks + 1;
    let random = Xoshiro256PlusPlus::seed_from_u64(seed);
    match victims {
        VictimChoice::Fifo => {
            Pages::new(ClosingOrder::new(all), all, pages_per_block, logical, random).run(warm_up, counted, hot)
        }
        VictimChoice::Greedy => {
            Pages::new(ValidOrder::new(all, pages_per_block), all, pages_per_block, logical, random)
                .run(warm_up, counted, hot)
        }
        VictimChoice::Random => {
            Pages::new(FewestOfSome::new(all, 1), all, pages_per_block, logical, random).run(warm_up, counted, hot)
        }
        VictimChoice::DChoices(choices) => {
            Pages::new(FewestOfSome::new(all, choices), all, pages_per_block, logical, random)
                .run(warm_up, counted, hot)
        }
    }
}

const NONE: u32 = u32::MAX;

/// Both directions of the map, the valid pages of each block, and the open block.
struct Pages<V> {
    victims: V,
    random: Xoshiro256PlusPlus,
    physical_of: Vec<u32>,
    logical_of: Vec<u32>,
    valid: Vec<u32>,
    per_block: u32,
    open: u32,
    used: u32,
    erased: Vec<u32>,
    programmed: u64,
}

impl<V: Victims> Pages<V> {
    fn new(victims: V, blocks: u32, pages_per_block: u32, logical: u32, random: Xoshiro256PlusPlus) -> Self {
        assert!(
            u64::from(logical) < u64::from(blocks - 1) * u64::from(pages_per_block),
            "{logical} logical pages leave no spare page in {blocks} blocks of {pages_per_block}"
        );
        let mut pages = Self {
            victims,
            random,
            physical_of: vec![NONE; logical as usize],
            logical_of: vec![NONE; blocks as usize * pages_per_block as usize],
            valid: vec![0; blocks as usize],
            per_block: pages_per_block,
            open: 0,
            used: 0,
            erased: (1..blocks).rev().collect(),
            programmed: 0,
        };
        for page in 0..logical {
            pages.write(page);
        }
        pages
    }

    #[inline]
    fn append(&mut self, page: u32) {
        let physical = self.open * self.per_block + self.used;
        self.physical_of[page as usize] = physical;
        self.logical_of[physical as usize] = page;
        self.valid[self.open as usize] += 1;
        self.used += 1;
        self.programmed += 1;
    }

    #[inline]
    fn write(&mut self, page: u32) {
        if self.used == self.per_block {
            self.next_block();
        }
        let old = self.physical_of[page as usize];
        if old != NONE {
            self.logical_of[old as usize] = NONE;
            let block = old / self.per_block;
            let left = &mut self.valid[block as usize];
            *left -= 1;
            if block != self.open {
                self.victims.invalidate(block, *left);
            }
        }
        self.append(page);
    }

    /// Closes the open block. Only the last erased block is cleaned into, so that none but the open one is held free.
    fn next_block(&mut self) {
        while self.used == self.per_block {
            self.victims.close(self.open, self.valid[self.open as usize]);
            self.open = self.erased.pop().expect("one block is always erased");
            self.used = 0;
            if self.erased.is_empty() {
                self.clean();
            }
        }
    }

    fn clean(&mut self) {
        let victim = self.victims.take(&self.valid, &mut self.random);
        let first = victim as usize * self.per_block as usize;
        for at in first..first + self.per_block as usize {
            let page = std::mem::replace(&mut self.logical_of[at], NONE);
            if page != NONE {
                self.append(page);
            }
        }
        self.valid[victim as usize] = 0;
        self.erased.push(victim);
    }

    fn run(mut self, warm_up: u64, counted: u64, hot: Option<HotShare>) -> Amplification {
        let logical = self.physical_of.len() as u32;
        let hot_pages = hot.map_or(logical, |hot| (f64::from(logical) * hot.pages).round() as u32).clamp(1, logical);
        let hot_writes = hot.map_or(u32::MAX, |hot| (hot.writes * f64::from(u32::MAX)) as u32);
        let overwrite = |pages: &mut Self, count: u64| {
            let before = pages.programmed;
            for _ in 0..count {
                let page = if hot_pages == logical || below(&mut pages.random, u32::MAX) < hot_writes {
                    below(&mut pages.random, hot_pages)
                } else {
                    hot_pages + below(&mut pages.random, logical - hot_pages)
                };
                pages.write(page);
            }
            pages.programmed - before
        };
        overwrite(&mut self, warm_up);
        let programmed = overwrite(&mut self, counted);
        Amplification { written: counted, programmed, programmed_in_all: self.programmed }
    }
}

#[cfg(test)]
mod tests {
    use super::super::theory;
    use super::*;

    const BLOCKS: u32 = 2_000;
    const PAGES: u32 = 64;

    fn measured(spare_factor: f64, victims: VictimChoice, pattern: WritePattern) -> f64 {
        let device = BlockDevice { blocks: BLOCKS, pages_per_block: PAGES, spare_factor };
        simulate(device, victims, pattern, 12, 8, 4).factor()
    }

    fn within(measured: f64, theory: f64, percent: f64, what: &str) {
        let off = (measured / theory - 1.0) * 100.0;
        assert!(off.abs() <= percent, "{what}: {measured:.3} measured, {theory:.3} by theory, {off:.2} % off");
    }

    #[test]
    fn write_amplification_equals_theory_within_one_percent() {
        for spare in [0.07, 0.10, 0.20] {
            for (victims, theory) in [
                (VictimChoice::Fifo, theory::fifo(spare)),
                (VictimChoice::Greedy, theory::greedy(spare, PAGES)),
                (VictimChoice::Random, theory::random(spare)),
                (VictimChoice::DChoices(2), theory::d_choices(spare, PAGES, 2)),
                (VictimChoice::DChoices(10), theory::d_choices(spare, PAGES, 10)),
            ] {
                let factor = measured(spare, victims, WritePattern::Uniform);
                within(factor, theory, 1.0, &format!("{victims:?} at S = {spare}"));
            }
        }
    }

    #[test]
    fn hot_and_cold_data_equal_theory_within_three_percent() {
        for hot in [HotShare { writes: 0.8, pages: 0.2 }, HotShare { writes: 0.9, pages: 0.05 }] {
            for spare in [0.07, 0.10, 0.20] {
                let best = theory::greedy_apart(spare, PAGES, hot);
                let pattern = WritePattern::Apart(hot, best.spare_of_hot);
                let factor = measured(spare, VictimChoice::Greedy, pattern);
                within(factor, best.amplification, 3.0, &format!("apart, {hot:?} at S = {spare}"));
                let factor = measured(spare, VictimChoice::Fifo, WritePattern::Mixed(hot));
                within(factor, theory::fifo_mixed(spare, hot), 3.0, &format!("mixed, {hot:?} at S = {spare}"));
            }
        }
    }

    #[test]
    fn equal_seeds_give_equal_counts() {
        let device = BlockDevice { blocks: 100, pages_per_block: 32, spare_factor: 0.1 };
        let run = |seed| simulate(device, VictimChoice::DChoices(3), WritePattern::Uniform, 2, 2, seed);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
