//! How evenly virtual IDs spread the ring over nodes. Names are fixed, so that the figures are.

use std::collections::BTreeMap;

use crate::cluster::{Moved, moved, named_nodes};
use fawn_ring::{NodeId, Ring, Secret};

/// What the node that owns the most owns, relative to the mean.
fn spread(nodes: u64, places: u32) -> f64 {
    let ring = Ring::of(&named_nodes(nodes, places)).unwrap();
    let mut shares: BTreeMap<NodeId, f64> = BTreeMap::new();
    for (range, owner) in ring.ranges() {
        *shares.entry(owner.node).or_default() += range.share();
    }
    assert_eq!(shares.len() as u64, nodes);
    shares.values().fold(0.0, |most: f64, share| most.max(*share)) * nodes as f64
}

#[test]
fn more_virtual_ids_spread_the_ring_more_evenly() {
    let [one, eight, many] = [1, 8, 64].map(|places| spread(100, places));
    println!("largest share of 100 nodes over the mean: {one:.2} for V = 1, {eight:.2} for 8, {many:.2} for 64");
    assert!(one > 3.0, "{one}");
    assert!(eight < 2.5, "{eight}");
    assert!(many < 1.5, "{many}");
}

#[test]
fn the_ring_of_a_thousand_nodes_is_balanced_too() {
    let spread = spread(1000, 8);
    println!("largest share of 1000 nodes over the mean: {spread:.2} for V = 8");
    assert!(spread < 3.0, "{spread}");
}

#[test]
fn keys_fall_where_the_shares_say() {
    let ring = Ring::of(&named_nodes(10, 8)).unwrap();
    let secret = Secret([3; 32]);
    let keys = 20_000u32;
    let mut counts: BTreeMap<NodeId, u32> = BTreeMap::new();
    for n in 0..keys {
        *counts.entry(ring.owner(&secret.position(&n.to_le_bytes())).unwrap().node).or_default() += 1;
    }
    for (node, count) in counts {
        let own = ring.virtual_nodes_of(node).map(|place| ring.range_of(&place.id).unwrap().share());
        let expected = own.sum::<f64>() * f64::from(keys);
        assert!((f64::from(count) - expected).abs() < 6.0 * expected.sqrt(), "{node}: {count}, not {expected}");
    }
}

/// Of 8,000 ranges, one node's eight places concern three each, and some more or fewer where its own places or machines
/// repeat.
#[test]
fn a_node_that_joins_a_thousand_changes_a_few_ranges_of_thousands() {
    let nodes = named_nodes(1001, 8);
    let (before, after) = (Ring::of(&nodes[..1000]).unwrap(), Ring::of(&nodes).unwrap());
    assert_eq!((before.ranges().count(), after.ranges().count()), (8000, 8008), "a range is cut at each of its places");
    let changed: Vec<Moved> = moved(&before, &after, 3).into_iter().filter(Moved::is_changed).collect();
    assert!((20..30).contains(&changed.len()), "{}", changed.len());
    assert!(changed.iter().all(|of| of.after.iter().any(|member| member.node == NodeId(1000))));
}
