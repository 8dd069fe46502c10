//! What is stored and asked for. Keys and values follow from an index and a version, so that nothing has to be
//! remembered of any of them, however many there are.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};

/// Bytes of every key.
pub const KEY_BYTES: usize = 20;
/// Smallest value: it tells its version.
pub const LEAST_VALUE_BYTES: usize = 8;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// `SplitMix64`'s finalizer: a permutation of all numbers that looks like chance.
#[inline]
pub fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(GOLDEN);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The key of entry `index`; no two entries share one.
#[inline]
pub fn name(index: u64) -> [u8; KEY_BYTES] {
    let (first, second) = (mix(index), mix(!index));
    let mut name = [0; KEY_BYTES];
    name[..8].copy_from_slice(&first.to_le_bytes());
    name[8..16].copy_from_slice(&second.to_le_bytes());
    name[16..].copy_from_slice(&((first ^ second.rotate_left(32)) as u32).to_le_bytes());
    name
}

/// What the first word of a value is, its version aside.
#[inline]
fn stamp(index: u64) -> u64 {
    mix(index ^ 0x5851_f42d_4c95_7f2d)
}

/// Writes the value of entry `index` in this version, of at least [`LEAST_VALUE_BYTES`]. It does not compress.
#[inline]
pub fn write_value(index: u64, version: u32, value: &mut [u8]) {
    let first = stamp(index) ^ u64::from(version);
    let (head, rest) = value.split_first_chunk_mut::<8>().expect("a value has at least 8 bytes");
    *head = first.to_le_bytes();
    let (words, tail) = rest.as_chunks_mut::<8>();
    let tail_word = word(first, words.len());
    for (number, chunk) in words.iter_mut().enumerate() {
        *chunk = word(first, number).to_le_bytes();
    }
    tail.copy_from_slice(&tail_word.to_le_bytes()[..tail.len()]);
}

/// The version of a value of entry `index`, every byte of which is looked at; `None` when it is none that
/// [`write_value`] makes.
#[inline]
pub fn version_of(index: u64, value: &[u8]) -> Option<u32> {
    let (head, rest) = value.split_first_chunk::<8>()?;
    let first = u64::from_le_bytes(*head);
    let version = u32::try_from(first ^ stamp(index)).ok()?;
    let (words, tail) = rest.as_chunks::<8>();
    let wrong = words
        .iter()
        .enumerate()
        .fold(0, |wrong, (number, chunk)| wrong | (u64::from_le_bytes(*chunk) ^ word(first, number)));
    let is_right = wrong == 0 && *tail == word(first, words.len()).to_le_bytes()[..tail.len()];
    is_right.then_some(version)
}

/// A word of a value's stream, by one wide multiplication: what is verified is read at memory's speed.
#[inline]
fn word(first: u64, number: usize) -> u64 {
    let place = first.wrapping_add((number as u64 + 1).wrapping_mul(0xa076_1d64_78bd_642f));
    let product = u128::from(place) * u128::from(place ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}

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

/// Draws entries.
pub struct Draw {
    random: SmallRng,
    count: u64,
    /// By rank; none: all alike.
    zipf: Option<(Zipf<f64>, Permutation)>,
}

impl Draw {
    /// Draws from `0..count`, each alike.
    pub fn uniform(count: u64, seed: u64) -> Self {
        assert!(count > 0, "there is something to draw");
        Self { random: SmallRng::seed_from_u64(seed), count, zipf: None }
    }

    /// Draws from `0..count` by Zipf's law with this exponent, above 0. Which entries are popular is always the same.
    pub fn zipf(count: u64, exponent: f64, seed: u64) -> Self {
        let zipf = Zipf::new(count as f64, exponent).expect("a positive exponent and something to draw make a law");
        Self { zipf: Some((zipf, Permutation::new(count, 0))), ..Self::uniform(count, seed) }
    }

    /// The next entry.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        match &self.zipf {
            None => self.below(self.count),
            Some((zipf, order)) => {
                let rank = zipf.sample(&mut self.random) as u64;
                order.at(rank.clamp(1, self.count) - 1)
            }
        }
    }

    /// A number below `bound`; those of a bound that is no power of 2 are alike to one in 2^64 over the bound.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 to 1, never 0 itself.
    #[inline]
    pub fn share(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

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

    #[test]
    fn a_value_tells_its_version_and_nothing_else_does() {
        for bytes in [8, 9, 20, 256] {
            let mut value = vec![0; bytes];
            write_value(7, 3, &mut value);
            assert_eq!(version_of(7, &value), Some(3));
            assert_eq!(version_of(8, &value), None, "it is another entry's");
            for at in 0..bytes {
                let mut wrong = value.clone();
                wrong[at] ^= 0x80;
                assert_ne!(version_of(7, &wrong), Some(3), "byte {at} of {bytes}");
            }
        }
        assert_eq!(version_of(7, b"short"), None);
    }

    #[test]
    fn a_changed_version_without_its_bytes_is_no_value() {
        let mut value = vec![0; 64];
        write_value(7, 3, &mut value);
        value[0] ^= 1;
        assert_eq!(version_of(7, &value), None);
    }

    #[test]
    fn keys_differ() {
        let names: BTreeSet<_> = (0..10_000).map(name).collect();
        assert_eq!(names.len(), 10_000);
    }

    #[test]
    fn zipf_is_as_uneven_as_it_says_and_uniform_is_not() {
        let count = 1000;
        let most = |mut draw: Draw| {
            let mut counts = vec![0u32; count as usize];
            (0..100_000).for_each(|_| counts[draw.draw() as usize] += 1);
            counts.sort_unstable();
            (counts[count as usize - 1], counts[count as usize - 2])
        };
        // By the law, with 1000 entries and 0.99: 13.2 % and 6.7 %.
        let (first, second) = most(Draw::zipf(count, 0.99, 1));
        assert!((12_400..14_000).contains(&first) && (6_000..7_300).contains(&second), "{first} {second}");
        let (first, _) = most(Draw::uniform(count, 1));
        assert!(first < 160, "{first}");
    }
}
