//! What would change if nodes left: what the ring would want of the ranges that there are, beside whom they have.

use super::state::{Standing, State};
use crate::ids::{NodeId, SeatId};
use crate::status::PlannedChange;
use fawn_ring::{Interval, Key, Ring};
use std::collections::BTreeSet;

impl State {
    /// The stretches of keys that others than now would have, if these nodes were not on the ring and everybody else who is
    /// a member lived; neighbours that change alike are one.
    pub fn would_change(&self, without: &BTreeSet<NodeId>) -> Vec<PlannedChange> {
        let stays = self.nodes.iter().filter(|(id, node)| node.standing == Standing::Member && !without.contains(id));
        let places: Vec<fawn_ring::Node> = stays.map(|(id, node)| node.place(*id)).collect();
        let Ok(ring) = Ring::of(&places) else { return Vec::new() };
        let mut lasts: BTreeSet<Key> = self.by_last.keys().copied().collect();
        lasts.extend(ring.virtual_nodes().iter().map(|place| place.id.0));
        lasts.insert(Key::MAX);
        let mut changes: Vec<PlannedChange> = Vec::new();
        let mut low = Key::MIN;
        for high in lasts {
            let keys = Interval::new(low, high);
            low = high.successor().unwrap_or(Key::MAX);
            let (from, to) = (self.have(&high), self.want(&ring, &high));
            if from == to {
                continue;
            }
            match changes.last_mut() {
                Some(last)
                    if last.keys.high.successor() == Some(keys.low) && (&last.from, &last.to) == (&from, &to) =>
                {
                    last.keys = Interval::new(last.keys.low, keys.high);
                }
                _ => changes.push(PlannedChange { keys, from, to }),
            }
        }
        changes
    }

    fn have(&self, key: &Key) -> Vec<SeatId> {
        let range = self.by_last.range(*key..).next().and_then(|(_, id)| self.ranges.get(id));
        let members = range.map(|range| &range.chain.members[..]).unwrap_or_default();
        members.iter().map(|member| seat(member.node)).collect()
    }

    fn want(&self, ring: &Ring, key: &Key) -> Vec<SeatId> {
        let chain = ring.chain_of_key(key, self.settings.replicas as usize).unwrap_or_default();
        chain.iter().map(|place| seat(place.node)).collect()
    }
}

fn seat(node: NodeId) -> SeatId {
    SeatId(u32::try_from(node.0).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Attempt, Incarnation, Member, Position, Rules, Seq};
    use crate::manager::{Command, Into, Leases, Settings};
    use fawn_ring::MachineId;

    /// A formed cluster of so many nodes, each range where the ring wants it.
    fn cluster(nodes: u64, replicas: u32) -> State {
        let settings = Settings { replicas, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
        let mut state = State::new(settings);
        for node in 1..=nodes {
            let (node, machine) = (NodeId(node), MachineId(node));
            state.apply(&Command::Register { node, nonce: node.0, machine, domain: None, virtual_ids: 2 }).unwrap();
        }
        state.apply(&Command::Form).unwrap();
        let places: Vec<_> = state.nodes.iter().map(|(id, node)| node.place(*id)).collect();
        let ring = Ring::of(&places).unwrap();
        for (high, range) in state.by_last.clone() {
            let chain = ring.chain_of_key(&high, replicas as usize).unwrap();
            let target = chain.iter().map(|place| Member { node: place.node, incarnation: Incarnation(1) }).collect();
            let (attempt, into, after) = (Attempt(1), Into::Itself, Position::default());
            state.apply(&Command::Begin { range, attempt, target, source: None, into }).unwrap();
            state.apply(&Command::Activate { range, attempt, into, after, first: Seq(1) }).unwrap();
        }
        state
    }

    #[test]
    fn nothing_would_change_where_all_is_as_the_ring_wants_it() {
        assert_eq!(cluster(4, 3).would_change(&BTreeSet::new()), []);
    }

    #[test]
    fn who_leaves_is_replaced_in_its_chains_and_in_no_other() {
        let state = cluster(5, 3);
        let gone = SeatId(2);
        let changes = state.would_change(&BTreeSet::from([NodeId(2)]));
        assert!(!changes.is_empty());
        for PlannedChange { from, to, .. } in &changes {
            assert!(from.contains(&gone) && !to.contains(&gone) && to.len() == 3, "{from:?} {to:?}");
            assert!(from.iter().filter(|seat| **seat != gone).all(|seat| to.contains(seat)), "{from:?} {to:?}");
        }
        let touched = |key: &Key| changes.iter().any(|change| change.keys.contains(key));
        for range in state.ranges.values() {
            let is_in = range.chain.has_node(NodeId(2));
            assert_eq!(touched(&range.chain.keys.high), is_in);
        }
    }
}
