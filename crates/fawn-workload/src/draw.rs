//! Entries that are drawn at random: uniformly, or by Zipf's law.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};

use crate::permutation::Permutation;

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
