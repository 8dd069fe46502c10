//! What everybody routes by: the chains of all ranges, as far as they are known.

use crate::ids::{Chain, RangeId};
use fawn_ring::{Interval, Key};
use std::collections::BTreeMap;

/// The newest known chain of every key. Ranges of a map do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// By the last key.
    chains: BTreeMap<Key, (RangeId, Chain)>,
    /// As of which change of the manager's; whatever is newer is still to be learnt.
    pub number: u64,
}

impl Map {
    /// Learns of a chain. Epochs grow along with splits and merges: where keys are known to be in a later one, it is old.
    pub fn learn(&mut self, range: RangeId, chain: Chain) {
        let overlapping: Vec<Key> = self.overlapping(chain.keys).map(|(_, known)| known.keys.high).collect();
        if overlapping.iter().any(|last| self.chains[last].1.epoch > chain.epoch) {
            return;
        }
        for last in overlapping {
            self.chains.remove(&last);
        }
        self.chains.insert(chain.keys.high, (range, chain));
    }

    /// The range of a key, if it is known.
    pub fn lookup(&self, key: &Key) -> Option<(RangeId, &Chain)> {
        let (_, (range, chain)) = self.chains.range(key..).next()?;
        chain.keys.contains(key).then_some((*range, chain))
    }

    /// The known ranges that share keys with `keys`, in their order.
    pub fn overlapping(&self, keys: Interval) -> impl Iterator<Item = (RangeId, &Chain)> {
        let from = self.chains.range(keys.low..);
        from.map(|(_, (range, chain))| (*range, chain)).take_while(move |(_, chain)| chain.keys.low <= keys.high)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.chains.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Epoch;

    fn key(prefix: u64) -> Key {
        Key::lowest_with_prefix(prefix)
    }

    fn chain(low: u64, high: u64, epoch: u32) -> Chain {
        Chain { epoch: Epoch(epoch), ..Chain::none(Interval::new(key(low), key(high))) }
    }

    #[test]
    fn what_is_newer_takes_the_place_of_all_that_it_overlaps() {
        let mut map = Map::default();
        map.learn(RangeId(1), chain(0, 99, 1));
        map.learn(RangeId(2), chain(0, 49, 2));
        assert_eq!(map.lookup(&key(20)).unwrap().0, RangeId(2));
        assert_eq!(map.lookup(&key(70)), None, "the other part is not known yet");
        map.learn(RangeId(1), chain(0, 99, 1));
        assert_eq!(map.lookup(&key(70)), None, "old news");
        map.learn(RangeId(3), chain(50, 99, 2));
        map.learn(RangeId(4), chain(0, 99, 3));
        assert_eq!(map.overlapping(Interval::new(key(10), key(60))).count(), 1);
        assert_eq!(map.lookup(&key(70)).unwrap().0, RangeId(4));
        assert_eq!(map.lookup(&key(100)), None);
    }
}
