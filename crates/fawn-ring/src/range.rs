//! Ranges of the ring: what a virtual ID owns (FAWN SOSP'09 §3.4.1).

use std::fmt;

use crate::{Interval, Key};

/// The positions clockwise from `after` (exclusive) to `last` (inclusive). It wraps at the top of the key space if
/// `last` is not above `after`, and is the whole ring if both are the same: a range is never empty.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// The position before the range: the virtual ID of the owner's predecessor.
    pub after: Key,
    /// The last position of the range: the virtual ID of its owner.
    pub last: Key,
}

impl KeyRange {
    /// The range from `after` (exclusive) to `last` (inclusive).
    pub const fn new(after: Key, last: Key) -> Self {
        Self { after, last }
    }

    /// Whether the range is the whole ring.
    pub fn is_whole(&self) -> bool {
        self.after == self.last
    }

    /// Whether the range goes on at the bottom of the key space after its top.
    fn wraps(&self) -> bool {
        self.last <= self.after
    }

    /// Whether `key` lies in the range.
    #[inline]
    pub fn contains(&self, key: &Key) -> bool {
        if self.wraps() { self.after < *key || *key <= self.last } else { self.after < *key && *key <= self.last }
    }

    /// The range as one or two intervals of the key space, the lower one first, as a store keeps keys sorted.
    pub fn intervals(&self) -> impl Iterator<Item = Interval> + use<> {
        let bottom = Interval::new(Key::MIN, self.last);
        let pair = match self.after.successor() {
            _ if self.is_whole() => [Some(Interval::ALL), None],
            Some(first) if self.wraps() => [Some(bottom), Some(Interval::new(first, Key::MAX))],
            Some(first) => [Some(Interval::new(first, self.last)), None],
            None => [Some(bottom), None],
        };
        pair.into_iter().flatten()
    }

    /// The range cut after `at`: the positions up to it, and the rest. `None` if `at` is outside, or is the end, so
    /// that a part would be empty.
    pub fn split(&self, at: &Key) -> Option<(Self, Self)> {
        let is_inside = self.contains(at) && *at != self.last;
        is_inside.then_some((Self::new(self.after, *at), Self::new(*at, self.last)))
    }

    /// This range and the one that begins where it ends as one. `None` if `next` does not begin there, or reaches round
    /// the ring into this range.
    pub fn merge(&self, next: &Self) -> Option<Self> {
        let is_next = self.last == next.after && !self.is_whole() && !next.is_whole();
        let ends_before = next.last == self.after || !self.contains(&next.last);
        (is_next && ends_before).then_some(Self::new(self.after, next.last))
    }

    /// Whether the ranges share a position.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(&other.last) || other.contains(&self.last)
    }

    /// The part of the ring that the range is, from 0 to 1, to about one in 2^52.
    pub fn share(&self) -> f64 {
        let width = self.last.prefix().wrapping_sub(self.after.prefix());
        if width == 0 && self.wraps() { 1.0 } else { width as f64 / 2f64.powi(64) }
    }
}

impl fmt::Debug for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {:?}]", self.after, self.last)
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(prefix: u64) -> Key {
        Key::lowest_with_prefix(prefix)
    }

    fn intervals(range: KeyRange) -> Vec<Interval> {
        range.intervals().collect()
    }

    #[test]
    fn a_range_excludes_the_predecessor_and_includes_its_owner() {
        let range = KeyRange::new(at(10), at(20));
        assert!(!range.contains(&at(10)) && range.contains(&at(11)));
        assert!(range.contains(&at(20)) && !range.contains(&at(21)));
        assert_eq!(intervals(range), [Interval::new(at(10).successor().unwrap(), at(20))]);
    }

    #[test]
    fn a_range_over_the_top_is_two_intervals() {
        let range = KeyRange::new(at(20), at(10));
        assert!(range.contains(&Key::MAX) && range.contains(&Key::MIN) && range.contains(&at(10)));
        assert!(!range.contains(&at(11)) && !range.contains(&at(20)));
        let top = Interval::new(at(20).successor().unwrap(), Key::MAX);
        assert_eq!(intervals(range), [Interval::new(Key::MIN, at(10)), top]);
    }

    #[test]
    fn ranges_that_end_or_begin_at_the_top_are_one_interval() {
        assert_eq!(intervals(KeyRange::new(Key::MAX, at(5))), [Interval::new(Key::MIN, at(5))]);
        let upper = Interval::new(at(5).successor().unwrap(), Key::MAX);
        assert_eq!(intervals(KeyRange::new(at(5), Key::MAX)), [upper]);
    }

    #[test]
    fn the_range_of_a_lone_virtual_id_is_the_whole_ring() {
        for only in [Key::MIN, at(7), Key::MAX] {
            let range = KeyRange::new(only, only);
            assert!([Key::MIN, at(7), at(8), Key::MAX].iter().all(|key| range.contains(key)));
            assert_eq!(intervals(range), [Interval::ALL]);
            assert!((range.share() - 1.0).abs() < f64::EPSILON);
        }
    }

    #[test]
    fn split_parts_merge_into_the_range_they_came_from() {
        for (after, last, cut) in [(10, 20, 15), (20, 10, 25), (20, 10, 5), (10, 10, 15)] {
            let range = KeyRange::new(at(after), at(last));
            let (lower, upper) = range.split(&at(cut)).unwrap();
            assert_eq!(lower.merge(&upper), Some(range));
            assert!(!lower.overlaps(&upper) && lower.overlaps(&range) && range.overlaps(&upper));
            assert!((lower.share() + upper.share() - range.share()).abs() < 1e-9);
        }
    }

    #[test]
    fn a_split_leaves_no_empty_part() {
        let range = KeyRange::new(at(10), at(20));
        assert_eq!(range.split(&at(20)), None);
        assert_eq!(range.split(&at(10)), None);
        assert_eq!(range.split(&at(21)), None);
    }

    #[test]
    fn ranges_merge_only_with_the_next_one() {
        let range = |after, last| KeyRange::new(at(after), at(last));
        assert_eq!(range(10, 20).merge(&range(30, 40)), None, "a gap");
        assert_eq!(range(20, 30).merge(&range(10, 20)), None, "the wrong way round");
        assert_eq!(range(10, 20).merge(&range(20, 15)), None, "an overlap round the ring");
        assert_eq!(range(10, 20).merge(&range(20, 20)), None, "the whole ring");
        assert_eq!(range(10, 10).merge(&range(10, 20)), None, "the whole ring");
        assert_eq!(range(10, 20).merge(&range(20, 10)), Some(range(10, 10)));
    }
}
