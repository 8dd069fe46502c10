//! Fences: below which wedge epoch nothing is served any more, key by key.
//!
//! A front-end that takes a wedge over logs a fence through every chain that has keys of it, before it serves or caches.
//! From when a member has the fence in its log, committed or not, it refuses puts *and gets* of a lower epoch: an earlier
//! owner that still runs can then neither change a key behind the new owner's cache nor show what the new owner has yet to
//! hear of. Truncation rolls fences back with the records that they came from. They are part of what a range remembers
//! ([`Alive`](crate::range::meta::Alive)): copied first, kept through restarts, and inherited by ranges that are split
//! and merged.

use super::range_map::RangeMap;
use crate::ids::WedgeEpoch;
use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};

/// The lowest wedge epoch that is still served, by position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fences {
    steps: RangeMap<WedgeEpoch>,
}

impl Fences {
    /// The lowest wedge epoch that is served at a position.
    pub fn at(&self, position: &Key) -> WedgeEpoch {
        self.steps.at(position)
    }

    /// Raises the fence of these keys to `epoch`, where it is lower.
    pub fn raise(&mut self, keys: &Interval, epoch: WedgeEpoch) {
        self.steps.change(keys, |step| *step = (*step).max(epoch));
    }

    /// Whether all these keys are fenced with `epoch` at least.
    pub fn cover(&self, keys: &Interval, epoch: WedgeEpoch) -> bool {
        self.steps.parts(keys).all(|(_, step)| step >= epoch)
    }

    /// The highest epoch that any of these keys is fenced with.
    pub fn highest(&self, keys: &Interval) -> WedgeEpoch {
        self.steps.parts(keys).map(|(_, step)| step).max().unwrap_or_default()
    }

    /// Takes over the fences of another range: the higher epoch stays.
    pub fn join(&mut self, other: &Self) {
        for (keys, epoch) in other.steps.parts(&Interval::ALL) {
            self.raise(&keys, epoch);
        }
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
    fn a_fence_never_falls() {
        let mut fences = Fences::default();
        fences.raise(&keys(10, 19), WedgeEpoch(3));
        fences.raise(&keys(5, 14), WedgeEpoch(2));
        let seen: Vec<u64> = [4, 5, 9, 10, 14, 15, 19, 20].map(|prefix| fences.at(&at(prefix)).0).to_vec();
        assert_eq!(seen, [0, 2, 2, 3, 3, 3, 3, 0]);
    }

    #[test]
    fn fences_reach_to_the_ends_of_the_key_space() {
        let mut fences = Fences::default();
        fences.raise(&Interval::ALL, WedgeEpoch(1));
        fences.raise(&Interval::new(at(7), Key::MAX), WedgeEpoch(2));
        assert_eq!((fences.at(&Key::MIN), fences.at(&Key::MAX)), (WedgeEpoch(1), WedgeEpoch(2)));
        assert!(fences.cover(&Interval::ALL, WedgeEpoch(1)) && !fences.cover(&Interval::ALL, WedgeEpoch(2)));
        assert!(fences.cover(&Interval::new(at(7), Key::MAX), WedgeEpoch(2)));
    }

    #[test]
    fn joined_fences_are_the_higher_of_both_everywhere() {
        // Small enough to compare with a table.
        let mut state = 1_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for _ in 0..200 {
            let (mut fences, mut tables) = ([Fences::default(), Fences::default()], [[0_u64; 20]; 2]);
            for _ in 0..8 {
                let (which, low, epoch) = (below(2) as usize, below(20), below(5));
                let high = low + below(20 - low);
                fences[which].raise(&keys(low, high), WedgeEpoch(epoch));
                for slot in &mut tables[which][low as usize..=high as usize] {
                    *slot = (*slot).max(epoch);
                }
            }
            let mut joined = fences[0].clone();
            joined.join(&fences[1]);
            for prefix in 0..20 {
                let most = tables[0][prefix as usize].max(tables[1][prefix as usize]);
                assert_eq!(joined.at(&at(prefix)).0, most);
                assert_eq!(joined.at(&Key::highest_with_prefix(prefix)).0, most);
            }
            assert!(joined.steps.values().count() <= 21, "neighbours that are equal are one step: {joined:?}");
        }
    }
}
