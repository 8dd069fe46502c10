//! What everybody routes by: the chains of all ranges, as far as they are known.

use crate::ids::{Chain, RangeId};
use fawn_ring::{Interval, Key};
use std::collections::BTreeMap;

/// The newest known chain of every key. Ranges of a map do not overlap.
///
/// Whatever the order of news, once the newest chains have been heard the map has these and nothing else. Before, where a
/// range is known to be over and what came of it is known in part, the other keys have no chain, or an older one that is
/// heard late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// By the last key.
    chains: BTreeMap<Key, (RangeId, Chain)>,
    /// As of which change of the manager's; whatever is newer is still to be learnt.
    number: u64,
}

impl Map {
    /// As of which change of the manager's it is; whatever is newer is still to be learnt.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Learns what has changed after one of the manager's changes, up to another.
    pub fn learn_changes(&mut self, (since, number): (u64, u64), chains: Vec<(RangeId, Chain)>) {
        for (range, chain) in chains.into_iter().filter(|(_, chain)| !chain.members.is_empty()) {
            self.learn(range, chain);
        }
        // An answer to who bore the name before leaves out what this one never heard.
        if since <= self.number {
            self.number = self.number.max(number);
        }
    }

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
    use crate::ids::{Epoch, Incarnation, Member, NodeId};

    #[test]
    fn what_leaves_out_more_than_is_known_does_not_count_as_all() {
        let mut map = Map::default();
        let one = |low| {
            let members = vec![Member { node: NodeId(1), incarnation: Incarnation(1) }];
            vec![(RangeId(low as u32), Chain { members, ..chain(low, low + 9, 1) })]
        };
        map.learn_changes((5, 6), one(10));
        assert_eq!((map.number(), map.lookup(&key(15)).is_some()), (0, true), "what came before is still to be learnt");
        map.learn_changes((0, 4), one(20));
        map.learn_changes((4, 6), one(30));
        map.learn_changes((2, 3), Vec::new());
        assert_eq!(map.number(), 6);
    }

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
