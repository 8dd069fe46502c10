//! What one virtual ID moves, and a node with several (FAWN SOSP'09 §3.4.4): the four points of `ring.rs`, of two rings.

use std::collections::BTreeSet;

use crate::cluster::{Moved, cluster, joined, moved, replicas, ring, ring_and_newcomer};
use fawn_ring::{Key, KeyRange, MachineId, NodeId, Ring, VirtualId, VirtualNode};
use proptest::prelude::*;

fn ids(chain: &[VirtualNode]) -> Vec<VirtualId> {
    chain.iter().map(|member| member.id).collect()
}

fn ranges(ring: &Ring) -> Vec<KeyRange> {
    ring.ranges().map(|(range, _)| range).collect()
}

/// The ranges of one ring that the other does not have.
fn lacking(of: &Ring, other: &Ring) -> Vec<KeyRange> {
    let others = ranges(other);
    ranges(of).into_iter().filter(|range| !others.contains(range)).collect()
}

/// A ring, and all virtual nodes of a node that is not on it.
fn ring_and_new_node() -> impl Strategy<Value = (Ring, Vec<VirtualNode>)> {
    (cluster(40), any::<prop::sample::Index>()).prop_filter_map("nobody is left for the ring", |(cluster, which)| {
        let virtual_nodes = cluster.virtual_nodes();
        let joins = virtual_nodes[which.index(virtual_nodes.len())].node;
        let (new, old): (Vec<VirtualNode>, Vec<_>) = virtual_nodes.into_iter().partition(|place| place.node == joins);
        (!old.is_empty()).then(|| (ring(&old), new))
    })
}

proptest! {
    #[test]
    fn a_join_splits_one_range_and_leaves_the_others((before, newcomer) in ring_and_newcomer()) {
        let after = joined(&before, newcomer);
        let split = before.range_of(&before.owner(&newcomer.id.0).unwrap().id).unwrap();
        let (lower, upper) = (KeyRange::new(split.after, newcomer.id.0), KeyRange::new(newcomer.id.0, split.last));
        let mut won = lacking(&after, &before);
        won.sort_by_key(|range| *range != lower);
        prop_assert_eq!((lacking(&before, &after), won), (vec![split], vec![lower, upper]));
    }

    #[test]
    fn a_join_changes_exactly_the_chains_that_it_enters((before, newcomer) in ring_and_newcomer(), r in replicas()) {
        for of in moved(&before, &joined(&before, newcomer), r) {
            let enters = of.after.contains(&newcomer);
            prop_assert_eq!(of.is_changed(), enters, "{:?}: {:?}, {:?}", of.range, of.before, of.after);
        }
    }

    #[test]
    fn a_join_puts_one_member_into_a_chain_in_ring_order_and_drops_one_at_most(
        (before, newcomer) in ring_and_newcomer(),
        r in replicas(),
    ) {
        let after = joined(&before, newcomer);
        for of in moved(&before, &after, r) {
            let (old, mut new) = (ids(&of.before), ids(&of.after));
            let place = |id: &VirtualId| after.virtual_nodes().iter().position(|place| place.id == *id).unwrap();
            let (first, round) = (place(&VirtualId(of.range.last)), after.virtual_nodes().len());
            let steps = new.iter().map(|id| (place(id) + round - first) % round);
            prop_assert!(steps.is_sorted(), "{:?}: {:?}", of.range, new);
            new.retain(|id| *id != newcomer.id);
            let kept: Vec<VirtualId> = old.iter().filter(|id| new.contains(id)).copied().collect();
            prop_assert_eq!(&kept, &new, "{:?}", of.range);
            prop_assert!(old.len() - kept.len() <= 1, "{:?}", of.range);
        }
    }

    #[test]
    fn a_join_changes_neighbouring_ranges_that_end_at_its_own((before, newcomer) in ring_and_newcomer(), r in replicas()) {
        let after = joined(&before, newcomer);
        let mut backwards: Vec<bool> = moved(&before, &after, r).iter().map(Moved::is_changed).collect();
        let own = after.virtual_nodes().iter().position(|virtual_node| *virtual_node == newcomer).unwrap();
        backwards.rotate_left((own + 1) % after.virtual_nodes().len());
        backwards.reverse();
        let changed = backwards.iter().take_while(|changed| **changed).count();
        prop_assert!(changed >= 1 && backwards[changed..].iter().all(|changed| !changed), "{:?}", backwards);
    }

    #[test]
    fn on_machines_of_their_own_a_virtual_id_joins_the_chains_of_r_ranges(
        places in prop::collection::btree_set(any::<u64>(), 2..40),
        r in replicas(),
    ) {
        let stands = |(n, place): (usize, &u64)| {
            let id = VirtualId(Key::lowest_with_prefix(*place));
            VirtualNode { id, node: NodeId(n as u64), machine: MachineId(n as u64), domain: None }
        };
        let mut virtual_nodes: Vec<VirtualNode> = places.iter().enumerate().map(stands).collect();
        let newcomer = virtual_nodes.swap_remove(virtual_nodes.len() / 2);
        let before = ring(&virtual_nodes);
        let after = joined(&before, newcomer);
        let changed: Vec<_> = moved(&before, &after, r).into_iter().filter(Moved::is_changed).collect();
        let length = r.min(after.machines());
        prop_assert_eq!(changed.len(), length);
        // It has each place of a chain once: it is the head of one, the tail of one, and in the middle of R-2.
        let parts: BTreeSet<_> = changed.iter().map(|of| of.after.iter().position(|one| *one == newcomer)).collect();
        prop_assert_eq!(parts, (0..length).map(Some).collect());
    }

    #[test]
    fn a_leave_merges_one_range_with_the_next_and_changes_exactly_the_chains_that_it_was_in(
        (without, leaver) in ring_and_newcomer(),
        r in replicas(),
    ) {
        let before = joined(&without, leaver);
        let mut after = before.clone();
        prop_assert_eq!(after.remove(&leaver.id), Some(leaver));
        let own = before.range_of(&leaver.id).unwrap();
        let heir = after.owner(&leaver.id.0).unwrap().id;
        let merged = KeyRange::new(own.after, heir.0);
        prop_assert_eq!(lacking(&after, &before), [merged]);
        let mut lost = lacking(&before, &after);
        lost.sort_by_key(|range| *range != own);
        prop_assert_eq!(lost, [own, KeyRange::new(own.last, heir.0)]);
        for (range, owner) in before.ranges() {
            let (old, new) = (before.chain(&owner.id, r).unwrap(), after.chain_of_key(&range.last, r).unwrap());
            prop_assert_eq!(old != new, old.contains(&leaver), "{:?}: {:?}, {:?}", range, old, new);
            let stay: Vec<VirtualNode> = old.into_iter().filter(|member| *member != leaver).collect();
            let in_new: Vec<VirtualNode> = new.iter().filter(|member| stay.contains(member)).copied().collect();
            prop_assert_eq!(&in_new, &stay, "nobody else leaves the chain of {:?}", range);
            prop_assert!(new.len() <= stay.len() + 1, "{:?}", range);
        }
    }

    #[test]
    fn a_node_changes_exactly_the_chains_that_one_of_its_virtual_ids_enters(
        (before, new) in ring_and_new_node(),
        r in replicas(),
    ) {
        let after = new.iter().fold(before.clone(), |ring, place| joined(&ring, *place));
        for of in moved(&before, &after, r) {
            let enters = of.after.iter().any(|member| new.contains(member));
            prop_assert_eq!(of.is_changed(), enters, "{:?}: {:?}, {:?}", of.range, of.before, of.after);
        }
        // The ranges that hold no place of it stay, the others are cut at each of its places.
        let cut = lacking(&before, &after);
        prop_assert!(cut.iter().all(|range| new.iter().any(|place| range.contains(&place.id.0))), "{:?}", cut);
        prop_assert_eq!(after.ranges().count(), before.ranges().count() + new.len());
        // It leaves as it came.
        let mut left = after.clone();
        left.remove_node(new[0].node);
        prop_assert_eq!(left, before);
    }
}
