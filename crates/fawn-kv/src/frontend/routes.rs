//! Who is in which chain, and who owns which wedge, as far as is known.

use crate::ids::{Chain, RangeId, Wedge, WedgeId, numbered, wedge_at};
use crate::range::chain_map::Map;
use fawn_ring::{Interval, Key};
use std::collections::BTreeSet;

/// What the manager has said.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    map: Map,
    wedges: Vec<Wedge>,
    /// Each member of a chain is a chain of its own: a cluster stays so for life.
    is_weak: bool,
}

impl Routes {
    /// Takes what is newer; `changes` are those after one number and up to another, of the manager's. Returns whether any
    /// wedge is another's by now.
    pub(crate) fn learn(&mut self, changes: (u64, u64), chains: Vec<(RangeId, Chain)>, wedges: &[Wedge]) -> bool {
        self.is_weak |= chains.iter().any(|(_, chain)| chain.is_weak());
        self.map.learn_changes(changes, chains);
        let mut passed_on = wedges.len() > self.wedges.len();
        self.wedges.extend(wedges.iter().skip(self.wedges.len()));
        for (known, wedge) in self.wedges.iter_mut().zip(wedges) {
            if (wedge.epoch, wedge.released) > (known.epoch, known.released) {
                passed_on |= wedge.epoch > known.epoch;
                *known = *wedge;
            }
        }
        passed_on
    }

    /// Whether the cluster is a weak one, as far as is known.
    pub(crate) fn is_weak(&self) -> bool {
        self.is_weak
    }

    /// As of which change chains are known.
    pub(crate) fn number(&self) -> u64 {
        self.map.number()
    }

    /// The wedge of a position; `None` before anything is known.
    pub(crate) fn wedge_at(&self, place: &Key) -> Option<(WedgeId, &Wedge)> {
        wedge_at(&self.wedges, place)
    }

    /// All wedges.
    pub(crate) fn wedges(&self) -> impl Iterator<Item = (WedgeId, &Wedge)> {
        numbered(&self.wedges)
    }

    /// A wedge.
    pub(crate) fn wedge(&self, wedge: WedgeId) -> Option<&Wedge> {
        self.wedges.get(wedge.0 as usize)
    }

    /// The range of a position and its chain, if it has one.
    pub(crate) fn range_at(&self, place: &Key) -> Option<(RangeId, &Chain)> {
        self.map.lookup(place)
    }

    /// The parts of `keys` that lie in ranges that have a chain.
    pub(crate) fn parts(&self, keys: &Interval) -> impl Iterator<Item = (RangeId, &Chain, Interval)> {
        let keys = *keys;
        self.map.overlapping(keys).map(move |(range, chain)| {
            let (low, high) = (chain.keys.low.max(keys.low), chain.keys.high.min(keys.high));
            (range, chain, Interval::new(low, high))
        })
    }

    /// Nodes that are in any chain.
    pub(crate) fn nodes(&self) -> usize {
        let members = self.map.overlapping(Interval::ALL).flat_map(|(_, chain)| &chain.members);
        members.map(|member| member.node).collect::<BTreeSet<_>>().len()
    }
}
