//! Latencies: histograms with three digits, and timelines of them.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Map, Value};

use crate::report::Tenth;

/// The longest latency that is told from longer ones, nanoseconds: ten years, which simulated devices that fall behind may take.
const LONGEST_NS: u64 = 315_360_000_000_000_000;

/// Latencies, in nanoseconds, exact to a thousandth.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are sound");
        Self { histogram }
    }
}

impl Latencies {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, latency: Duration) {
        self.add_ns(u64::try_from(latency.as_nanos()).unwrap_or(LONGEST_NS));
    }

    /// Adds one of so many nanoseconds.
    #[inline]
    pub fn add_ns(&mut self, latency_ns: u64) {
        self.histogram.saturating_record(latency_ns);
    }

    /// Adds all of `more`.
    pub fn merge(&mut self, more: &Self) {
        self.histogram.add(&more.histogram).expect("histograms have the same bounds");
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The latency, in microseconds, that this share of all does not exceed.
    pub fn us(&self, share: f64) -> f64 {
        self.histogram.value_at_quantile(share) as f64 / 1e3
    }

    /// How many took no longer than this, as exactly as latencies are kept.
    pub fn count_within(&self, limit: Duration) -> u64 {
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(LONGEST_NS);
        self.histogram.count_between(0, limit_ns)
    }

    /// Microseconds on average; 0 of none.
    pub fn mean_us(&self) -> f64 {
        self.histogram.mean() / 1e3
    }

    /// Microseconds of the longest.
    pub fn longest_us(&self) -> f64 {
        self.histogram.max() as f64 / 1e3
    }

    /// Adds `p50_us`, `p99_us` and `p999_us` to a row.
    pub fn write_into(&self, row: &mut Map<String, Value>) {
        for (name, share) in [("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999)] {
            row.insert(name.to_owned(), self.us(share).into());
        }
    }
}

/// Latencies of each tenth of a second.
#[derive(Debug, Default)]
pub struct ByTime {
    current: Latencies,
    longest_step_us: u64,
    tenths: Vec<Tenth>,
}

impl ByTime {
    /// Adds one that ended `at` after the beginning.
    #[inline]
    pub fn add(&mut self, at: Duration, latency: Duration) {
        self.reach(at);
        self.current.add(latency);
    }

    /// Notes a step of the store that ended then.
    pub fn step(&mut self, at: Duration, us: f64) {
        self.reach(at);
        self.longest_step_us = self.longest_step_us.max(us as u64);
    }

    fn reach(&mut self, at: Duration) {
        while (self.tenths.len() as u128 + 1) * 100 <= at.as_millis() {
            self.close();
        }
    }

    fn close(&mut self) {
        let now = &self.current;
        self.tenths.push(Tenth {
            gets: now.count(),
            p50_us: now.us(0.5) as u64,
            p99_us: now.us(0.99) as u64,
            longest_us: now.longest_us() as u64,
            longest_step_us: std::mem::take(&mut self.longest_step_us),
        });
        self.current.histogram.reset();
    }

    /// All tenths of a second, the last one perhaps shorter.
    pub fn tenths(mut self) -> Vec<Tenth> {
        if self.current.count() > 0 {
            self.close();
        }
        self.tenths
    }
}

/// The middle one of some figures, of an even number the lower one; `None` of none.
pub fn median(figures: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_was_added() {
        let mut latencies = Latencies::default();
        (1..=1000).for_each(|us| latencies.add(Duration::from_micros(us)));
        let near = |share: f64, us: f64| (latencies.us(share) - us).abs() <= us / 500.0;
        assert!(near(0.5, 500.0) && near(0.99, 990.0) && near(0.999, 999.0) && near(1.0, 1000.0));
        let mut twice = latencies.clone();
        twice.merge(&latencies);
        assert_eq!(twice.count(), 2000);
    }

    #[test]
    fn those_within_a_limit_are_counted_and_the_mean_is_of_all() {
        let mut latencies = Latencies::default();
        assert_eq!((latencies.count_within(Duration::from_secs(1)), latencies.mean_us()), (0, 0.0));
        for us in [100, 200, 900, 2000] {
            latencies.add(Duration::from_micros(us));
        }
        let within = |us| latencies.count_within(Duration::from_micros(us));
        assert_eq!([50, 100, 500, 1000, 5000].map(within), [0, 1, 2, 3, 4]);
        assert!((latencies.mean_us() - 800.0).abs() < 1.0, "{}", latencies.mean_us());
    }

    #[test]
    fn a_latency_of_days_is_no_shorter_than_it_was() {
        let mut latencies = Latencies::default();
        latencies.add(Duration::from_hours(100));
        assert!((latencies.longest_us() / 360e9 - 1.0).abs() < 0.002, "{}", latencies.longest_us());
    }

    #[test]
    fn a_tenth_without_anything_is_there_all_the_same() {
        let mut by_time = ByTime::default();
        by_time.add(Duration::from_millis(20), Duration::from_micros(5));
        by_time.step(Duration::from_millis(30), 700.0);
        by_time.add(Duration::from_millis(250), Duration::from_micros(9));
        let tenths = by_time.tenths();
        let seen: Vec<_> = tenths.iter().map(|tenth| (tenth.gets, tenth.longest_us, tenth.longest_step_us)).collect();
        assert_eq!(seen, [(1, 5, 700), (0, 0, 0), (1, 9, 0)]);
    }

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([2.0, 1.0]), Some(1.0));
        assert_eq!(median([]), None);
    }
}
