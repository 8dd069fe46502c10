//! Owners, ranges and chains.

use std::collections::BTreeSet;

use crate::cluster::{cluster, key, mixed_cluster, named_nodes, replicas, ring, ring_and_newcomer};
use fawn_ring::{DomainId, Interval, Key, MachineId, Node, NodeId, Ring, RingError, VirtualId, VirtualNode};
use proptest::prelude::*;

/// A failure domain, where a machine in none is one of its own.
fn domain(virtual_node: &VirtualNode) -> (Option<DomainId>, Option<MachineId>) {
    (virtual_node.domain, virtual_node.domain.is_none().then_some(virtual_node.machine))
}

fn distinct<T: Ord>(chain: &[VirtualNode], what: impl Fn(&VirtualNode) -> T) -> usize {
    chain.iter().map(what).collect::<BTreeSet<T>>().len()
}

/// The rule by the letter: walk once round, note the first of each machine; of these, the first of each domain come
/// first, then the others; of this list as many as make a chain of R of those that it has already, in the order of the walk.
fn slow_chain(all: &[VirtualNode], start: usize, chain: &[VirtualNode], replicas: usize) -> Vec<VirtualNode> {
    let mut walk: Vec<VirtualNode> = all[start..].iter().chain(&all[..start]).copied().collect();
    let mut machines: BTreeSet<_> = chain.iter().map(|member| member.machine).collect();
    let mut domains: BTreeSet<_> = chain.iter().map(domain).collect();
    walk.retain(|virtual_node| machines.insert(virtual_node.machine));
    let (firsts, others): (Vec<VirtualNode>, Vec<_>) =
        walk.iter().partition(|virtual_node| domains.insert(domain(virtual_node)));
    let room = replicas.saturating_sub(chain.len());
    let chosen: Vec<VirtualId> = firsts.iter().chain(&others).take(room).map(|chosen| chosen.id).collect();
    walk.retain(|virtual_node| chosen.contains(&virtual_node.id));
    walk
}

proptest! {
    #[test]
    fn every_key_has_one_owner_its_successor(cluster in cluster(40), key in key()) {
        let ring = ring(&cluster.virtual_nodes());
        let owner = ring.owner(&key).unwrap();
        let ids = || ring.virtual_nodes().iter().map(|virtual_node| virtual_node.id);
        prop_assert_eq!(Some(owner.id), ids().filter(|id| id.0 >= key).min().or(ids().min()));
        let holders: Vec<_> = ring.ranges().filter(|(range, _)| range.contains(&key)).collect();
        prop_assert_eq!(holders, [(ring.range_of(&owner.id).unwrap(), owner)]);
    }

    #[test]
    fn ranges_tile_the_ring(cluster in cluster(40)) {
        let ring = ring(&cluster.virtual_nodes());
        let mut intervals: Vec<Interval> = ring.ranges().flat_map(|(range, _)| range.intervals()).collect();
        intervals.sort_unstable();
        prop_assert_eq!((intervals[0].low, intervals[intervals.len() - 1].high), (Key::MIN, Key::MAX));
        for pair in intervals.windows(2) {
            prop_assert_eq!(pair[0].high.successor(), Some(pair[1].low));
        }
        let share: f64 = ring.ranges().map(|(range, _)| range.share()).sum();
        prop_assert!((share - 1.0).abs() < 1e-9, "{}", share);
    }

    #[test]
    fn a_chain_is_as_long_and_as_far_apart_as_the_cluster_allows(cluster in cluster(40), key in key(), r in replicas()) {
        let ring = ring(&cluster.virtual_nodes());
        let chain = ring.chain_of_key(&key, r).unwrap();
        prop_assert_eq!(Some(&chain[0]), ring.owner(&key), "the head is the owner");
        prop_assert_eq!(chain.len(), r.min(ring.machines()));
        prop_assert_eq!(distinct(&chain, |member| member.machine), chain.len());
        prop_assert_eq!(distinct(&chain, domain), r.min(ring.domains()));
    }

    #[test]
    fn archives_come_last_and_take_all_places_but_one(cluster in mixed_cluster(40), key in key(), r in replicas()) {
        let ring = ring(&cluster.virtual_nodes());
        let chain = ring.chain_of_key(&key, r).unwrap();
        prop_assert_eq!(chain.len(), r.min(ring.machines()));
        prop_assert_eq!(distinct(&chain, |member| member.machine), chain.len());
        prop_assert!(chain.is_sorted_by_key(|member| member.node.is_archive()), "archives come last");
        let (archives, serving): (Vec<_>, Vec<_>) =
            ring.virtual_nodes().iter().partition(|place| place.node.is_archive());
        let machines = distinct(&archives, |place| place.machine);
        let served = chain.iter().filter(|place| !place.node.is_archive()).count();
        if !serving.is_empty() {
            prop_assert!(served >= 1.max(chain.len().saturating_sub(machines)), "{:?}", chain);
        }
        // A machine that has nodes of both classes is in a chain once.
        let shared = serving.iter().filter(|one| archives.iter().any(|other| other.machine == one.machine)).count();
        if shared == 0 && !serving.is_empty() {
            prop_assert_eq!(served, 1.max(chain.len().saturating_sub(machines)), "{:?}", chain);
        }
    }

    #[test]
    fn a_chain_takes_the_nearest_that_the_rule_allows_in_ring_order(cluster in cluster(40), r in replicas()) {
        let ring = ring(&cluster.virtual_nodes());
        for (start, owner) in ring.virtual_nodes().iter().enumerate() {
            prop_assert_eq!(ring.chain(&owner.id, r).unwrap(), slow_chain(ring.virtual_nodes(), start, &[], r));
        }
    }

    #[test]
    fn a_chain_takes_the_nearest_of_each_class_where_there_are_no_domains(cluster in mixed_cluster(40), r in replicas()) {
        let mut places = cluster.virtual_nodes();
        for place in &mut places {
            place.domain = None;
        }
        let ring = ring(&places);
        let all = ring.virtual_nodes();
        for (start, owner) in all.iter().enumerate() {
            let (archives, serving): (Vec<_>, Vec<_>) =
                all[start..].iter().chain(&all[..start]).partition(|place| place.node.is_archive());
            let length = r.min(ring.machines());
            let least = length.saturating_sub(distinct(&archives, |place| place.machine)).max(1);
            let first = slow_chain(&serving, 0, &[], least);
            let then = slow_chain(&archives, 0, &first, length);
            prop_assert!(ring.chain(&owner.id, r).unwrap().starts_with(&first));
            prop_assert!(ring.chain(&owner.id, r).unwrap().ends_with(&then));
        }
    }

    #[test]
    fn a_chain_of_both_classes_is_in_as_many_domains_as_any_of_so_many_could_be(
        cluster in mixed_cluster(40),
        key in key(),
        r in replicas(),
    ) {
        let ring = ring(&cluster.virtual_nodes());
        let chain = ring.chain_of_key(&key, r).unwrap();
        let archives = |chain: &[VirtualNode]| chain.iter().filter(|place| place.node.is_archive()).count();
        let mut one_of_each: Vec<VirtualNode> = Vec::new();
        for place in ring.virtual_nodes() {
            if !one_of_each.iter().any(|known| (known.machine, known.node.is_archive()) == (place.machine, place.node.is_archive())) {
                one_of_each.push(*place);
            }
        }
        let best = (0..1u32 << one_of_each.len())
            .filter(|chosen| chosen.count_ones() as usize == chain.len())
            .map(|chosen| (0..one_of_each.len()).filter(|at| chosen >> at & 1 == 1).map(|at| one_of_each[at]).collect::<Vec<_>>())
            .filter(|other| archives(other) == archives(&chain) && distinct(other, |place| place.machine) == other.len())
            .map(|other| distinct(&other, domain))
            .max();
        prop_assert_eq!(Some(distinct(&chain, domain)), best, "{:?}", chain);
    }

    #[test]
    fn removal_undoes_insertion((ring, newcomer) in ring_and_newcomer()) {
        let mut other = ring.clone();
        other.insert(newcomer).unwrap();
        prop_assert_ne!(&other, &ring);
        prop_assert_eq!(other.get(&newcomer.id), Some(&newcomer));
        prop_assert_eq!(other.remove(&newcomer.id), Some(newcomer));
        prop_assert_eq!(other.remove(&newcomer.id), None);
        prop_assert_eq!(other, ring);
    }

    #[test]
    fn the_order_of_joins_does_not_matter(cluster in mixed_cluster(40)) {
        let mut virtual_nodes = cluster.virtual_nodes();
        let forwards = ring(&virtual_nodes);
        virtual_nodes.reverse();
        prop_assert_eq!(ring(&virtual_nodes), forwards);
    }
}

#[test]
fn predecessors_lead_once_round_the_ring() {
    let ring = Ring::of(&named_nodes(5, 3)).unwrap();
    let start = ring.virtual_nodes()[7];
    let mut at = start;
    for _ in 0..15 {
        let before = *ring.predecessor(&at.id).unwrap();
        assert_eq!(ring.range_of(&at.id).unwrap().after, before.id.0);
        at = before;
    }
    assert_eq!(at, start);
}

#[test]
fn an_empty_ring_owns_nothing() {
    let ring = Ring::new();
    let id = VirtualId::of(b"node", 0);
    assert!(ring.is_empty());
    assert_eq!((ring.owner(&id.0), ring.predecessor(&id), ring.range_of(&id)), (None, None, None));
    assert_eq!((ring.chain(&id, 3), ring.chain_of_key(&id.0, 3)), (None, None));
    assert_eq!(ring.ranges().count(), 0);
}

#[test]
fn a_node_leaves_with_all_its_places() {
    let nodes = named_nodes(4, 8);
    let mut ring = Ring::of(&nodes).unwrap();
    let removed = ring.remove_node(NodeId(2));
    assert_eq!(removed.len(), 8);
    assert!(removed.iter().all(|virtual_node| nodes[2].virtual_ids.contains(&virtual_node.id)));
    assert_eq!(ring, Ring::of([&nodes[0], &nodes[1], &nodes[3]]).unwrap());
    assert_eq!(ring.remove_node(NodeId(2)), []);
}

#[test]
fn two_nodes_of_one_name_do_not_fit_on_one_ring() {
    let nodes = named_nodes(3, 8);
    let mut ring = Ring::of(&nodes).unwrap();
    let before = ring.clone();
    let double = Node { id: NodeId(9), machine: MachineId(9), ..nodes[1].clone() };
    let error = ring.insert_node(&double).unwrap_err();
    assert_eq!(error, RingError::Taken { id: nodes[1].virtual_ids[0], node: NodeId(9), holder: NodeId(1) });
    assert!(error.to_string().contains("give each node its own name"), "{error}");
    // Nor does a node of which one place of many is taken, and it leaves nothing behind.
    let mut last_taken = Node::named(NodeId(9), MachineId(9), b"another", 8);
    last_taken.virtual_ids.push(nodes[1].virtual_ids[3]);
    assert!(ring.insert_node(&last_taken).is_err());
    assert_eq!(ring, before);
}

#[test]
fn what_is_said_of_machines_may_not_contradict() {
    let mut ring = Ring::new();
    let first = Node { domain: Some(DomainId(1)), ..Node::named(NodeId(1), MachineId(1), b"a", 2) };
    ring.insert_node(&first).unwrap();
    let before = ring.clone();
    let moved = VirtualNode { id: VirtualId::of(b"a", 2), machine: MachineId(2), ..ring.virtual_nodes()[0] };
    let error = RingError::OtherMachine { node: NodeId(1), machine: MachineId(2), known: MachineId(1) };
    assert_eq!(ring.insert(moved), Err(error));
    let elsewhere = Node { domain: Some(DomainId(2)), ..Node::named(NodeId(2), MachineId(1), b"b", 2) };
    let error = RingError::OtherDomain { node: NodeId(2), machine: MachineId(1) };
    assert_eq!(ring.insert_node(&elsewhere), Err(error));
    assert_eq!(ring, before);
    // After it has left, a node may come back from another machine.
    ring.remove_node(NodeId(1));
    ring.insert(moved).unwrap();
}

#[test]
fn with_fewer_domains_than_replicas_each_domain_has_a_copy_and_the_rest_are_further_machines() {
    let at = |prefix, machine, domain| VirtualNode {
        id: VirtualId(Key::lowest_with_prefix(prefix)),
        node: NodeId(machine),
        machine: MachineId(machine),
        domain: Some(DomainId(domain)),
    };
    let ring = ring(&[at(10, 1, 1), at(20, 2, 1), at(30, 3, 1), at(40, 4, 2), at(50, 5, 2)]);
    let chain = |replicas| -> Vec<u64> {
        let chain = ring.chain_of_key(&Key::MIN, replicas).unwrap();
        chain.iter().map(|member| member.node.0).collect()
    };
    assert_eq!(chain(1), [1]);
    assert_eq!(chain(2), [1, 4], "a domain each");
    assert_eq!(chain(3), [1, 2, 4], "a domain each, and the next machine, in ring order");
    assert_eq!(chain(9), [1, 2, 3, 4, 5], "as many as there are machines");
}
