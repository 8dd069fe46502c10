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
    fn is_whole(&self) -> bool {
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
    fn a_place_inside_cuts_a_range_into_parts_that_share_it_out() {
        for (after, last, cut) in [(10, 20, 15), (20, 10, 25), (20, 10, 5), (10, 10, 15)] {
            let range = KeyRange::new(at(after), at(last));
            let (lower, upper) = (KeyRange::new(at(after), at(cut)), KeyRange::new(at(cut), at(last)));
            for key in (0..30).map(at).chain([Key::MAX]) {
                let parts = [lower, upper].iter().filter(|part| part.contains(&key)).count();
                assert_eq!(parts, usize::from(range.contains(&key)), "{key:?} in {lower:?} and {upper:?}");
            }
            assert!((lower.share() + upper.share() - range.share()).abs() < 1e-9);
        }
    }
}
