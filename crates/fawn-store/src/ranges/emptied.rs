//! Intervals that were emptied: what older segments say of their keys is void.
//!
//! Records are told apart by the age of their segment, as a copy of a range brings old numbers back.

use fawn_ring::{Interval, Key};

use crate::format::manifest::EmptiedInterval;
use crate::work::View;

/// Emptied intervals of which something older may be left.
pub(crate) struct EmptiedIntervals {
    all: Vec<EmptiedInterval>,
    /// Those that the seal of the next checkpoint tells the manifest of.
    unrecorded: Vec<EmptiedInterval>,
}

impl EmptiedIntervals {
    /// Those that the manifest knows.
    pub(crate) fn new(all: Vec<EmptiedInterval>) -> Self {
        Self { all, unrecorded: Vec::new() }
    }

    pub(crate) fn all(&self) -> &[EmptiedInterval] {
        &self.all
    }

    /// What is below age `below` in `interval` is void from here on.
    pub(crate) fn add(&mut self, interval: Interval, below: u64) {
        let emptied = EmptiedInterval { interval, below };
        let covers = |old: &EmptiedInterval| interval.low <= old.interval.low && old.interval.high <= interval.high;
        for list in [&mut self.all, &mut self.unrecorded] {
            list.retain(|old| !covers(old));
            list.push(emptied);
        }
    }

    /// Whether the manifest has yet to be told of some.
    pub(crate) fn has_unrecorded(&self) -> bool {
        !self.unrecorded.is_empty()
    }

    /// Takes those that the manifest is told of by the seal that begins now.
    pub(crate) fn take_unrecorded(&mut self) -> Vec<EmptiedInterval> {
        std::mem::take(&mut self.unrecorded)
    }

    /// Forgets those that `matters` says nothing older is left of.
    pub(crate) fn retain(&mut self, matters: impl Fn(&EmptiedInterval) -> bool) {
        self.all.retain(&matters);
        self.unrecorded.retain(&matters);
    }

    /// Whether what a segment of this age says of the key is void.
    #[inline]
    pub(crate) fn voids(&self, key: &Key, age: u64) -> bool {
        self.all.iter().any(|emptied| emptied.voids(key, age))
    }

    /// Whether some keys of a segment of this age may be void.
    pub(crate) fn may_void(&self, age: u64) -> bool {
        self.all.iter().any(|emptied| age < emptied.below)
    }

    /// The share of a segment that is void, keys being evenly spread.
    pub(crate) fn share_of(&self, view: &View) -> f64 {
        self.all.iter().map(|emptied| voided_share(view, emptied)).sum::<f64>().min(1.0)
    }

    /// Of so many records of a segment, about how many are not void.
    pub(crate) fn not_void(&self, view: &View, records: u64) -> u64 {
        if records == 0 {
            return 0;
        }
        (records as f64 * (1.0 - self.share_of(view))).round() as u64
    }
}

/// The share of a segment that one emptied interval makes void; above 0 when any of it may be.
pub(crate) fn voided_share(view: &View, emptied: &EmptiedInterval) -> f64 {
    if view.age >= emptied.below { 0.0 } else { view.footer.share_in(&emptied.interval) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_interval_takes_the_place_of_those_in_it() {
        let halves = Interval::ALL.divide(2);
        let (lower, upper) = (halves[0], halves[1]);
        let mut emptied = EmptiedIntervals::new(Vec::new());
        emptied.add(lower, 3);
        emptied.add(upper, 4);
        assert!(emptied.voids(&lower.low, 2) && !emptied.voids(&lower.low, 3) && emptied.voids(&upper.low, 3));
        assert_eq!(emptied.take_unrecorded().len(), 2);
        emptied.add(Interval::ALL, 6);
        assert_eq!((emptied.all().len(), emptied.take_unrecorded().len()), (1, 1));
        assert!(emptied.may_void(5) && !emptied.may_void(6));
        emptied.retain(|emptied| emptied.below > 6);
        assert!(emptied.all().is_empty() && !emptied.has_unrecorded());
    }
}
