//! Which closed block is cleaned next.

use rand::Rng as _;
use rand::rngs::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// How a victim is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimChoice {
    /// The block that was closed longest ago.
    Fifo,
    /// The block with the fewest valid pages.
    Greedy,
    /// Any block.
    Random,
    /// The block with the fewest valid pages of so many random ones.
    DChoices(u32),
}

/// A number below `bound`, which is not zero.
#[inline]
pub(super) fn below(random: &mut Xoshiro256PlusPlus, bound: u32) -> u32 {
    ((u64::from((random.next_u64() >> 32) as u32) * u64::from(bound)) >> 32) as u32
}

/// What each way of choosing keeps of the closed blocks.
pub(super) trait Victims {
    /// A block is closed with so many valid pages.
    fn close(&mut self, block: u32, valid: u32);
    /// A closed block has one valid page fewer than before, now `valid`.
    fn invalidate(&mut self, block: u32, valid: u32);
    /// Takes the next victim. There is at least one closed block.
    fn take(&mut self, valid: &[u32], random: &mut Xoshiro256PlusPlus) -> u32;
}

/// Blocks in the order in which they were closed, in a ring.
pub(super) struct ClosingOrder {
    ring: Vec<u32>,
    head: usize,
    count: usize,
}

impl ClosingOrder {
    pub fn new(blocks: u32) -> Self {
        Self { ring: vec![0; blocks as usize], head: 0, count: 0 }
    }
}

impl Victims for ClosingOrder {
    fn close(&mut self, block: u32, _: u32) {
        let at = (self.head + self.count) % self.ring.len();
        self.ring[at] = block;
        self.count += 1;
    }

    #[inline]
    fn invalidate(&mut self, _: u32, _: u32) {}

    fn take(&mut self, _: &[u32], _: &mut Xoshiro256PlusPlus) -> u32 {
        let block = self.ring[self.head];
        self.head = (self.head + 1) % self.ring.len();
        self.count -= 1;
        block
    }
}

const NONE: u32 = u32::MAX;

/// Blocks in one doubly linked list per number of valid pages.
pub(super) struct ValidOrder {
    heads: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    least: usize,
}

impl ValidOrder {
    pub fn new(blocks: u32, pages_per_block: u32) -> Self {
        let empty = vec![NONE; blocks as usize];
        let heads = vec![NONE; pages_per_block as usize + 1];
        Self { heads, next: empty.clone(), previous: empty, least: pages_per_block as usize }
    }

    #[inline]
    fn unlink(&mut self, block: u32, valid: usize) {
        let (next, previous) = (self.next[block as usize], self.previous[block as usize]);
        if previous == NONE {
            self.heads[valid] = next;
        } else {
            self.next[previous as usize] = next;
        }
        if next != NONE {
            self.previous[next as usize] = previous;
        }
    }

    #[inline]
    fn link(&mut self, block: u32, valid: usize) {
        let head = self.heads[valid];
        self.next[block as usize] = head;
        self.previous[block as usize] = NONE;
        if head != NONE {
            self.previous[head as usize] = block;
        }
        self.heads[valid] = block;
        self.least = self.least.min(valid);
    }
}

impl Victims for ValidOrder {
    fn close(&mut self, block: u32, valid: u32) {
        self.link(block, valid as usize);
    }

    #[inline]
    fn invalidate(&mut self, block: u32, valid: u32) {
        self.unlink(block, valid as usize + 1);
        self.link(block, valid as usize);
    }

    fn take(&mut self, valid: &[u32], _: &mut Xoshiro256PlusPlus) -> u32 {
        while self.heads[self.least] == NONE {
            self.least += 1;
        }
        let block = self.heads[self.least];
        self.unlink(block, valid[block as usize] as usize);
        block
    }
}

/// Blocks in no order; the best of a few random ones is taken.
pub(super) struct FewestOfSome {
    closed: Vec<u32>,
    choices: u32,
}

impl FewestOfSome {
    pub fn new(blocks: u32, choices: u32) -> Self {
        Self { closed: Vec::with_capacity(blocks as usize), choices }
    }
}

impl Victims for FewestOfSome {
    fn close(&mut self, block: u32, _: u32) {
        self.closed.push(block);
    }

    #[inline]
    fn invalidate(&mut self, _: u32, _: u32) {}

    fn take(&mut self, valid: &[u32], random: &mut Xoshiro256PlusPlus) -> u32 {
        let count = self.closed.len() as u32;
        let mut best = below(random, count);
        for _ in 1..self.choices {
            let other = below(random, count);
            if valid[self.closed[other as usize] as usize] < valid[self.closed[best as usize] as usize] {
                best = other;
            }
        }
        self.closed.swap_remove(best as usize)
    }
}
