//! When operations of an open loop are due, whether or not earlier ones were answered.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::plan::{LoadPace, Spacing};

/// The times of one loop's operations.
pub struct Schedule {
    /// When the next one is due, nanoseconds after the beginning.
    next_ns: f64,
    gap_ns: f64,
    spacing: Spacing,
    random: SmallRng,
}

impl Schedule {
    /// The part of loop `number` of `loops`: those of all loops together come at the pace.
    pub fn new(pace: LoadPace, number: usize, loops: usize) -> Self {
        let gap_ns = 1e9 * loops as f64 / pace.rate;
        let next_ns = gap_ns * number as f64 / loops as f64;
        Self { next_ns, gap_ns, spacing: pace.spacing, random: SmallRng::seed_from_u64(number as u64 + 1) }
    }

    /// When the next one is due, nanoseconds after the beginning.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Goes on to the one after it.
    #[inline]
    pub fn advance(&mut self) {
        self.next_ns += match self.spacing {
            Spacing::Fixed => self.gap_ns,
            Spacing::Poisson => -self.gap_ns * self.share().ln(),
        };
    }

    /// Nothing was to be sent until now: nor is any of it due.
    pub fn go_on_from(&mut self, now_ns: u64) {
        self.next_ns = self.next_ns.max(now_ns as f64);
    }

    /// A number above 0 and up to 1.
    fn share(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(spacing: Spacing, number: usize, loops: usize, count: usize) -> Vec<f64> {
        let mut schedule = Schedule::new(LoadPace { rate: 1000.0, spacing }, number, loops);
        let next = |_| {
            let next = schedule.next_ns() as f64 / 1e6;
            schedule.advance();
            next
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn fixed_spacing_of_two_loops_interleaves() {
        assert_eq!(times(Spacing::Fixed, 0, 2, 3), [0.0, 2.0, 4.0]);
        assert_eq!(times(Spacing::Fixed, 1, 2, 3), [1.0, 3.0, 5.0]);
    }

    #[test]
    fn independent_clients_come_at_the_rate_and_irregularly() {
        let times = times(Spacing::Poisson, 0, 1, 20_001);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((0.97..1.03).contains(&mean), "{mean} ms");
        // Of exponential times, 1 - 1/e are below the mean.
        let below = gaps.iter().filter(|gap| **gap < 1.0).count() as f64 / gaps.len() as f64;
        assert!((0.62..0.645).contains(&below), "{below}");
    }
}
