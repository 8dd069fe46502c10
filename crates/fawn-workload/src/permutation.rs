//! A random order of all entries that can be computed both ways.

use crate::entry::mix;

/// A random order of `0..count` that takes no memory: a Feistel network, walked until it is in range.
#[derive(Clone, Debug)]
pub struct Permutation {
    count: u64,
    low_bits: u32,
    high_bits: u32,
    rounds: [u64; Self::ROUNDS],
}

impl Permutation {
    const ROUNDS: usize = 6;

    /// An order of `0..count`; another seed, another order.
    pub fn new(count: u64, seed: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let high_bits = bits / 2;
        let rounds = std::array::from_fn(|round| mix(mix(seed) ^ round as u64));
        Self { count, low_bits: bits - high_bits, high_bits, rounds }
    }

    /// What comes at `position`.
    #[inline]
    pub fn at(&self, position: u64) -> u64 {
        debug_assert!(position < self.count, "a position is in range");
        let mut x = position;
        loop {
            let (mut low, mut high) = self.split(x);
            for (round, seed) in self.rounds.iter().enumerate() {
                self.round(round, *seed, &mut low, &mut high);
            }
            x = high << self.low_bits | low;
            if x < self.count {
                return x;
            }
        }
    }

    /// Where `index` comes.
    #[inline]
    pub fn position(&self, index: u64) -> u64 {
        debug_assert!(index < self.count, "an index is in range");
        let mut x = index;
        loop {
            let (mut low, mut high) = self.split(x);
            for (round, seed) in self.rounds.iter().enumerate().rev() {
                self.round(round, *seed, &mut low, &mut high);
            }
            x = high << self.low_bits | low;
            if x < self.count {
                return x;
            }
        }
    }

    #[inline]
    fn split(&self, x: u64) -> (u64, u64) {
        (x & mask(self.low_bits), x >> self.low_bits)
    }

    /// One round; it undoes itself.
    #[inline]
    fn round(&self, round: usize, seed: u64, low: &mut u64, high: &mut u64) {
        if round.is_multiple_of(2) {
            *high ^= mix(*low ^ seed) & mask(self.high_bits);
        } else {
            *low ^= mix(*high ^ seed) & mask(self.low_bits);
        }
    }
}

#[inline]
fn mask(bits: u32) -> u64 {
    (1u64 << bits) - 1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_permutation_has_everything_once_and_knows_where() {
        for count in [1, 2, 3, 7, 64, 1000, 4097] {
            let order = Permutation::new(count, 5);
            let all: BTreeSet<u64> = (0..count).map(|position| order.at(position)).collect();
            assert_eq!((all.len() as u64, all.last().copied()), (count, Some(count - 1)));
            assert!((0..count).all(|index| order.at(order.position(index)) == index), "{count}");
        }
        let (one, other) = (Permutation::new(1000, 1), Permutation::new(1000, 2));
        let same = (0..1000).filter(|at| one.at(*at) == other.at(*at)).count();
        assert!(same < 20, "{same} of 1000 are where they were");
        let rising = (1..1000).filter(|at| one.at(*at) > one.at(at - 1)).count();
        assert!((400..600).contains(&rising), "{rising} of 999 rise");
    }
}
