//! Stretches of the key space.

use serde::{Deserialize, Serialize};

use crate::Key;

/// A non-empty stretch of the key space, both ends inclusive; it does not wrap (a ring range that wraps is two of these).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Ends")]
pub struct Interval {
    /// Lowest position in the interval.
    pub low: Key,
    /// Highest position in the interval; always `>= low`.
    pub high: Key,
}

/// An interval as it is read: its ends may be anything.
#[derive(Deserialize)]
#[serde(rename = "Interval")]
struct Ends {
    low: Key,
    high: Key,
}

/// Why two ends are no interval.
#[derive(Debug, thiserror::Error)]
#[error("an interval ends at {high:?}, below {low:?} where it begins")]
struct OutOfOrder {
    low: Key,
    high: Key,
}

impl TryFrom<Ends> for Interval {
    type Error = OutOfOrder;

    fn try_from(Ends { low, high }: Ends) -> Result<Self, OutOfOrder> {
        if low <= high { Ok(Self { low, high }) } else { Err(OutOfOrder { low, high }) }
    }
}

impl Interval {
    /// The whole key space.
    pub const ALL: Self = Self { low: Key::MIN, high: Key::MAX };

    /// The interval from `low` to `high`, both included.
    pub fn new(low: Key, high: Key) -> Self {
        assert!(low <= high, "an interval's ends are in order");
        Self { low, high }
    }

    /// Whether `key` lies in the interval.
    #[inline]
    pub fn contains(&self, key: &Key) -> bool {
        self.low <= *key && *key <= self.high
    }

    /// Whether the two intervals share a position.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// The interval cut after `at`: `low..=at` and the rest. `None` when `at` is outside or is the upper end.
    pub fn cut(&self, at: &Key) -> Option<(Self, Self)> {
        if !self.contains(at) || *at == self.high {
            return None;
        }
        let next = at.successor()?;
        Some((Self::new(self.low, *at), Self::new(next, self.high)))
    }

    /// The interval cut into `parts` stretches of nearly equal width, by the top 64 bits. `parts` is at least 1 and at
    /// most the number of distinct prefixes in the interval.
    pub fn divide(&self, parts: u32) -> Vec<Self> {
        assert!(parts >= 1, "an interval is divided into one part at least");
        let (low, high) = (self.low.prefix(), self.high.prefix());
        let width = u128::from(high - low) + 1;
        assert!(u128::from(parts) <= width, "an interval has a prefix for each part");
        (0..parts)
            .map(|part| {
                let first = low + (width * u128::from(part) / u128::from(parts)) as u64;
                let last = low + (width * u128::from(part + 1) / u128::from(parts) - 1) as u64;
                Self {
                    low: if part == 0 { self.low } else { Key::lowest_with_prefix(first) },
                    high: if part + 1 == parts { self.high } else { Key::highest_with_prefix(last) },
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divided_parts_cover_the_interval_without_overlap() {
        for parts in [1, 2, 3, 16, 1000] {
            let divided = Interval::ALL.divide(parts);
            assert_eq!(divided.len(), parts as usize);
            assert_eq!(divided[0].low, Key::MIN);
            assert_eq!(divided[parts as usize - 1].high, Key::MAX);
            for pair in divided.windows(2) {
                assert_eq!(pair[0].high.successor(), Some(pair[1].low));
            }
        }
    }

    #[test]
    fn a_cut_leaves_both_sides_adjacent() {
        let at = Key::lowest_with_prefix(1 << 63);
        let (left, right) = Interval::ALL.cut(&at).expect("the cut is inside");
        assert!(left.contains(&at) && !right.contains(&at));
        assert_eq!(left.high.successor(), Some(right.low));
        assert_eq!(Interval::ALL.cut(&Key::MAX), None);
    }
}
