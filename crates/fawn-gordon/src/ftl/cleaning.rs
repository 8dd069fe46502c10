//! Which closed block of a set is cleaned.

use rand::Rng as _;
use rand::rngs::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::blocks::BlockTable;
use super::closed_blocks::ClosedBlocks;

/// The ways of choosing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CleaningPolicy {
    /// The fewest valid pages.
    Greedy,
    /// The block that was opened longest ago.
    Fifo,
    /// Any block.
    Random,
    /// The fewest valid pages of so many random blocks.
    DChoices(u32),
    /// The most of `(1 − u) × age ÷ 2u` for a share `u` of valid pages (Rosenblum and Ousterhout, SOSP 1991). The age is counted
    /// in blocks that were opened since.
    CostBenefit,
}

impl CleaningPolicy {
    /// What chooses in this way.
    pub fn chooser(self) -> Box<dyn VictimPolicy> {
        match self {
            Self::Greedy => Box::new(Greedy),
            Self::Fifo => Box::new(Fifo),
            Self::Random => Box::new(DChoices(1)),
            Self::DChoices(choices) => Box::new(DChoices(choices.max(1))),
            Self::CostBenefit => Box::new(CostBenefit),
        }
    }
}

/// The closed blocks of a set, among which is chosen.
pub struct Candidates<'a> {
    /// At least one.
    pub closed: &'a ClosedBlocks,
    /// What is known of each block.
    pub blocks: &'a BlockTable,
    /// The next sequence number.
    pub now: u64,
    /// Data pages of a block.
    pub data_pages: u32,
}

impl Candidates<'_> {
    fn valid(&self, at: usize) -> u32 {
        self.blocks.get(self.closed.list()[at]).valid
    }

    fn least_by<K: PartialOrd>(&self, key: impl Fn(usize) -> K) -> usize {
        let mut best = 0;
        let mut least = key(0);
        for at in 1..self.closed.list().len() {
            let other = key(at);
            if other < least {
                best = at;
                least = other;
            }
        }
        best
    }
}

/// A way of choosing a victim.
pub trait VictimPolicy: std::fmt::Debug {
    /// The index of the victim in [`Candidates::closed`].
    fn choose(&self, candidates: &Candidates<'_>, random: &mut Xoshiro256PlusPlus) -> usize;
}

#[derive(Debug)]
struct Greedy;

impl VictimPolicy for Greedy {
    fn choose(&self, candidates: &Candidates<'_>, _: &mut Xoshiro256PlusPlus) -> usize {
        candidates.closed.with_fewest_valid(candidates.blocks).unwrap_or(0)
    }
}

#[derive(Debug)]
struct Fifo;

impl VictimPolicy for Fifo {
    fn choose(&self, candidates: &Candidates<'_>, _: &mut Xoshiro256PlusPlus) -> usize {
        candidates.least_by(|at| candidates.blocks.get(candidates.closed.list()[at]).sequence)
    }
}

#[derive(Debug)]
struct DChoices(u32);

impl VictimPolicy for DChoices {
    fn choose(&self, candidates: &Candidates<'_>, random: &mut Xoshiro256PlusPlus) -> usize {
        let mut draw = || {
            let high = u64::from((random.next_u64() >> 32) as u32);
            ((high * candidates.closed.list().len() as u64) >> 32) as usize
        };
        let mut best = draw();
        for _ in 1..self.0 {
            let other = draw();
            if candidates.valid(other) < candidates.valid(best) {
                best = other;
            }
        }
        best
    }
}

#[derive(Debug)]
struct CostBenefit;

impl VictimPolicy for CostBenefit {
    fn choose(&self, candidates: &Candidates<'_>, _: &mut Xoshiro256PlusPlus) -> usize {
        candidates.least_by(|at| {
            let block = candidates.blocks.get(candidates.closed.list()[at]);
            let used = f64::from(block.valid) / f64::from(candidates.data_pages);
            let age = (candidates.now - block.sequence) as f64;
            -(1.0 - used) * age / (2.0 * used).max(1e-9)
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn each_policy_takes_the_block_that_it_is_named_after() {
        let mut blocks = BlockTable::new(3);
        for (block, sequence, valid) in [(0, 30, 5), (1, 10, 9), (2, 20, 6)] {
            let entry = blocks.get_mut(block);
            (entry.sequence, entry.valid) = (sequence, valid);
        }
        let mut closed = ClosedBlocks::default();
        (0..3).for_each(|block| closed.push(block, &mut blocks));
        let candidates = Candidates { closed: &closed, blocks: &blocks, now: 31, data_pages: 10 };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut taken = |policy: CleaningPolicy| policy.chooser().choose(&candidates, &mut random);
        assert_eq!(taken(CleaningPolicy::Greedy), 0);
        assert_eq!(taken(CleaningPolicy::Fifo), 1);
        assert_eq!(taken(CleaningPolicy::CostBenefit), 2);
        assert_eq!(taken(CleaningPolicy::DChoices(64)), 0);
        let mut seen = [false; 3];
        (0..64).for_each(|_| seen[taken(CleaningPolicy::Random)] = true);
        assert_eq!(seen, [true; 3]);
    }
}
