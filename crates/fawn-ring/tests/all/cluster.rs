//! Clusters of all shapes: machines with several nodes, failure domains, places at the ends of the key space.

use fawn_ring::{DomainId, Key, KeyRange, MachineId, Node, NodeId, Ring, RingError, VirtualId, VirtualNode};
use proptest::collection::vec;
use proptest::prelude::*;

/// Machines that may be on a ring. Few, so that they meet in chains often.
const MACHINES: u64 = 9;

/// The replication factors to try.
pub fn replicas() -> impl Strategy<Value = usize> {
    1..=6usize
}

/// A position of the ring, often one next to others or at an end.
pub fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        4 => any::<u64>().prop_map(Key::lowest_with_prefix),
        4 => (0..40u64).prop_map(Key::lowest_with_prefix),
        2 => (0..40u64).prop_map(Key::highest_with_prefix),
        1 => Just(Key::MAX),
        1 => any::<[u8; 20]>().prop_map(Key),
    ]
}

/// Where machines are, and who stands at which place.
#[derive(Clone, Debug)]
pub struct Cluster {
    domains: Vec<Option<DomainId>>,
    /// The nodes of machines below this number are archives.
    archives: u64,
    places: Vec<(u64, u64, Key)>,
}

impl Cluster {
    /// The virtual nodes, all at different places.
    pub fn virtual_nodes(&self) -> Vec<VirtualNode> {
        let mut taken = Ring::new();
        let stands = |(machine, disk, key): &(u64, u64, Key)| VirtualNode {
            id: VirtualId(*key),
            node: NodeId((machine * 2 + disk) | if *machine < self.archives { NodeId::ARCHIVE } else { 0 }),
            machine: MachineId(*machine),
            domain: self.domains[*machine as usize],
        };
        let is_free = |virtual_node: &VirtualNode| match taken.insert(*virtual_node) {
            Ok(()) => true,
            Err(RingError::Taken { .. }) => false,
            Err(error) => panic!("only places collide: {error}"),
        };
        self.places.iter().map(stands).filter(is_free).collect()
    }
}

/// Clusters without archives, with up to two nodes a machine and up to `places` virtual nodes, at least one.
pub fn cluster(places: usize) -> impl Strategy<Value = Cluster> {
    mixed_cluster(places).prop_map(|cluster| Cluster { archives: 0, ..cluster })
}

/// The same clusters, half of them with archives.
pub fn mixed_cluster(places: usize) -> impl Strategy<Value = Cluster> {
    // Of the numbers drawn, four are domains, and the others none: so no machine is in one, or most are, or all.
    let drawn = prop_oneof![Just(4..8u64), Just(0..6u64), Just(0..4u64)];
    let domain = |number| (number < 4).then_some(DomainId(number));
    let domains = drawn.prop_flat_map(move |numbers| vec(numbers.prop_map(domain), MACHINES as usize));
    let places = (1..=MACHINES).prop_flat_map(move |machines| vec((0..machines, 0..2u64, key()), 1..=places));
    let archives = prop_oneof![Just(0), 0..MACHINES];
    (domains, places, archives).prop_map(|(domains, places, archives)| Cluster { domains, archives, places })
}

/// The ring of some virtual nodes.
pub fn ring(virtual_nodes: &[VirtualNode]) -> Ring {
    let mut ring = Ring::new();
    for virtual_node in virtual_nodes {
        ring.insert(*virtual_node).unwrap();
    }
    ring
}

/// A ring, and a virtual node that is not on it.
pub fn ring_and_newcomer() -> impl Strategy<Value = (Ring, VirtualNode)> {
    cluster(40).prop_filter_map("nobody is left for the ring", |cluster| {
        let mut virtual_nodes = cluster.virtual_nodes();
        let newcomer = virtual_nodes.pop()?;
        (!virtual_nodes.is_empty()).then(|| (ring(&virtual_nodes), newcomer))
    })
}

/// The ring with one virtual node more.
pub fn joined(ring: &Ring, newcomer: VirtualNode) -> Ring {
    let mut larger = ring.clone();
    larger.insert(newcomer).unwrap();
    larger
}

/// A range of the larger of two rings, with the chains that its keys have on either.
pub struct Moved {
    pub range: KeyRange,
    pub before: Vec<VirtualNode>,
    pub after: Vec<VirtualNode>,
}

impl Moved {
    /// Whether a place of the chain has another virtual node.
    pub fn is_changed(&self) -> bool {
        self.before != self.after
    }
}

/// What becomes of every range when `before`, whose places `after` has all, becomes `after`: in ring order.
pub fn moved(before: &Ring, after: &Ring, replicas: usize) -> Vec<Moved> {
    assert!(before.virtual_nodes().iter().all(|place| after.get(&place.id).is_some()), "after a join");
    let chain = |ring: &Ring, at: &Key| ring.chain_of_key(at, replicas).unwrap();
    let ranges = after.ranges().map(|(range, _)| range);
    ranges.map(|range| Moved { range, before: chain(before, &range.last), after: chain(after, &range.last) }).collect()
}

/// Nodes that each have a machine to themselves, with names.
pub fn named_nodes(count: u64, places: u32) -> Vec<Node> {
    let named = |n| Node::named(NodeId(n), MachineId(n), format!("node-{n}").as_bytes(), places);
    (0..count).map(named).collect()
}
