//! Simulated time in whole nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A point in simulated time, or a duration, in nanoseconds. 64 bits reach 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SimTime(u64);

impl SimTime {
    /// The start of every simulation, and the empty duration.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const NEVER: Self = Self(u64::MAX);

    /// This many nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// This many microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// This many milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// This many seconds, to the nearest nanosecond. Negative values count as zero.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e9).round().max(0.0) as u64)
    }

    /// In nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// In microseconds.
    pub fn us(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The duration since an earlier time; zero if that time is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// So many times this duration.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0 * count)
    }
}

impl Add for SimTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for SimTime {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for SimTime {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns @ 0..=9_999 => write!(formatter, "{ns} ns"),
            ns @ 10_000..=9_999_999 => write!(formatter, "{:.1} us", ns as f64 / 1e3),
            ns @ 10_000_000..=9_999_999_999 => write!(formatter, "{:.1} ms", ns as f64 / 1e6),
            ns => write!(formatter, "{:.1} s", ns as f64 / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_printed_in_the_unit_that_fits() {
        assert_eq!(SimTime::from_ns(25).to_string(), "25 ns");
        assert_eq!(SimTime::from_us(25).to_string(), "25.0 us");
        assert_eq!(SimTime::from_ms(25).to_string(), "25.0 ms");
        assert_eq!(SimTime::from_seconds(25.0).to_string(), "25.0 s");
    }

    #[test]
    fn a_duration_is_never_negative() {
        assert_eq!(SimTime::from_us(1).since(SimTime::from_us(2)), SimTime::ZERO);
        assert_eq!(SimTime::from_seconds(-1.0), SimTime::ZERO);
    }
}
