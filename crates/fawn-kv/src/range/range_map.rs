//! Something that is so for whole stretches of the key space: a fence, a flush, what is done already.

use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value for every position, the same over long stretches; the default where nothing was said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RangeMap<T> {
    /// From each position up to the next one's, this; neighbours differ. The default below the first.
    steps: BTreeMap<Key, T>,
}

impl<T: Copy + Default + PartialEq> RangeMap<T> {
    /// What is so at a position.
    pub fn at(&self, position: &Key) -> T {
        self.steps.range(..=*position).next_back().map_or_else(T::default, |(_, value)| *value)
    }

    /// All that is so anywhere, where anything was said.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.steps.values()
    }

    /// Changes what is so for `keys`.
    pub fn change(&mut self, keys: &Interval, change: impl FnMut(&mut T)) {
        let mut edges = vec![(keys.low, self.at(&keys.low))];
        edges.extend(keys.high.successor().map(|next| (next, self.at(&next))));
        self.steps.extend(edges);
        self.steps.range_mut(keys.low..=keys.high).map(|(_, value)| value).for_each(change);
        let mut before = T::default();
        self.steps.retain(|_, value| std::mem::replace(&mut before, *value) != *value);
    }

    /// What is so for `keys`, stretch by stretch, in order and without gaps.
    pub fn parts(&self, keys: &Interval) -> impl Iterator<Item = (Interval, T)> {
        let Interval { low, high } = *keys;
        let edges = self.steps.range(low..=high).map(|(edge, _)| *edge).filter(move |edge| *edge > low);
        let lows = std::iter::once(low).chain(edges.clone());
        let highs = edges.filter_map(|edge| edge.predecessor()).chain([high]);
        lows.zip(highs).map(|(low, high)| (Interval::new(low, high), self.at(&low)))
    }

    /// The same for `keys` alone.
    #[must_use]
    pub fn cut(&self, keys: &Interval) -> Self {
        let mut part = Self::default();
        for (keys, value) in self.parts(keys).filter(|(_, value)| *value != T::default()) {
            part.change(&keys, |slot| *slot = value);
        }
        part
    }
}

/// A set of positions.
impl RangeMap<bool> {
    /// Takes these keys in.
    pub fn add(&mut self, keys: &Interval) {
        self.change(keys, |is_in| *is_in = true);
    }

    /// Takes in all that is in another.
    pub fn join(&mut self, other: &Self) {
        for (keys, _) in other.parts(&Interval::ALL).filter(|(_, is_in)| *is_in) {
            self.add(&keys);
        }
    }

    /// Which of these keys are not in.
    pub fn lacks(&self, keys: &Interval) -> Vec<Interval> {
        self.parts(keys).filter(|(_, is_in)| !is_in).map(|(keys, _)| keys).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(prefix: u64) -> Key {
        Key::lowest_with_prefix(prefix)
    }

    fn keys(low: u64, high: u64) -> Interval {
        Interval::new(at(low), Key::highest_with_prefix(high))
    }

    #[test]
    fn stretches_are_what_a_table_would_say() {
        let mut state = 1_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for _ in 0..300 {
            let (mut steps, mut table) = (RangeMap::<u64>::default(), [0; 20]);
            for _ in 0..8 {
                let (low, by) = (below(20), below(3));
                let high = low + below(20 - low);
                steps.change(&keys(low, high), |value| *value = (*value + by) % 4);
                table[low as usize..=high as usize].iter_mut().for_each(|slot| *slot = (*slot + by) % 4);
            }
            let (low, high) = (below(10), 10 + below(10));
            let parts: Vec<(Interval, u64)> = steps.parts(&keys(low, high)).collect();
            assert_eq!((parts[0].0.low, parts[parts.len() - 1].0.high), (at(low), Key::highest_with_prefix(high)));
            assert!(
                parts.windows(2).all(|two| two[0].0.high.successor() == Some(two[1].0.low) && two[0].1 != two[1].1)
            );
            let cut = steps.cut(&keys(low, high));
            for prefix in 0..20 {
                let value = table[prefix as usize];
                assert_eq!([steps.at(&at(prefix)), steps.at(&Key::highest_with_prefix(prefix))], [value; 2]);
                let is_in = (low..=high).contains(&prefix);
                assert_eq!(cut.at(&at(prefix)), if is_in { value } else { 0 });
                assert!(!is_in || parts.iter().any(|(keys, part)| keys.contains(&at(prefix)) && *part == value));
            }
            assert!(steps.values().count() <= 20, "neighbours that are equal are one stretch: {steps:?}");
        }
    }

    #[test]
    fn a_set_says_what_it_lacks() {
        let mut set = RangeMap::default();
        assert_eq!(set.lacks(&Interval::ALL), [Interval::ALL]);
        set.add(&keys(3, 5));
        let mut other = RangeMap::default();
        other.add(&Interval::new(at(9), Key::MAX));
        set.join(&other);
        assert_eq!(set.lacks(&keys(2, 20)), [keys(2, 2), keys(6, 8)]);
        assert_eq!(set.lacks(&keys(4, 5)), []);
        set.add(&Interval::ALL);
        assert_eq!((set.lacks(&Interval::ALL), set.values().count()), (vec![], 1));
    }
}
