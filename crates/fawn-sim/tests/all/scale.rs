//! Large clusters, and how long planned changes stop writes: that they come to rest, and what grows.

use fawn_kv::ids::{Address, Attempt, ClusterId, Incarnation, NodeId, RangeId};
use fawn_kv::node::{Identity, Node};
use fawn_kv::timing::Timing;
use fawn_kv::wire::Message;
use fawn_ring::{Interval, MachineId, Secret};
use fawn_sim::cluster::{Cluster, MemoryStore, Work, pauses};
use std::collections::BTreeMap;

#[test]
fn a_change_costs_the_managers_as_much_in_a_larger_cluster_and_with_more_keys() {
    let changes = |nodes: u32, keys: u64| -> [Work; 4] {
        let mut cluster = Cluster::new(nodes, keys);
        let formed = cluster.form().unwrap();
        assert!(formed.fences as usize >= 2 * cluster.size().0, "every range is fenced, and says so: {formed:?}");
        cluster.load().unwrap();
        [cluster.join().unwrap(), cluster.fail().unwrap(), cluster.drain().unwrap(), cluster.fail_front().unwrap()]
    };
    let managers = |work: &Work| work.commands + work.taken + work.sent;
    let (small, large, full) = (changes(10, 100), changes(40, 100), changes(10, 3000));
    for ((small, large), full) in small.iter().zip(&large).zip(&full) {
        assert!(managers(large) <= 2 * managers(small), "{small:?} of 10 nodes, {large:?} of 40");
        // A wedge may happen to be drawn near to its keys meanwhile: it is released, and granted.
        assert!(managers(full) <= managers(small) * 5 / 4 + 2, "{small:?} with 100 keys, {full:?} with 3,000");
        // What is asked again and again makes most of it, and that takes as long.
        assert!(large.view_bytes <= 2 * small.view_bytes, "{small:?} of 10 nodes, {large:?} of 40");
    }
    let taken_over = &large[3];
    assert_eq!(taken_over.commands, 4, "two wedges are released, and granted");
    assert!(taken_over.fences > small[3].fences && taken_over.forwards > 0, "{taken_over:?}");
}

#[test]
fn joins_and_leaves_stop_writes_for_less_than_the_hundred_milliseconds_of_the_paper() {
    let mut all = Vec::new();
    for seed in 0..6 {
        all.extend(pauses(seed).unwrap().0);
    }
    for kind in ["members", "split", "merge"] {
        assert!(all.iter().any(|pause| pause.kind == kind), "a {kind} stopped writes");
    }
    for pause in &all {
        assert!(pause.whole_us < 100_000, "{pause:?}");
        let sum = pause.seal_us + pause.level_us + pause.log_us + pause.active_us;
        assert_eq!(sum, pause.whole_us, "the parts of a pause are all of it");
    }
}

#[test]
fn an_empty_range_takes_less_than_16_kib() {
    const RANGES: u32 = 1000;
    let identity =
        Identity { id: NodeId(1), machine: MachineId(1), domain: None, virtual_ids: 8, secret: Secret([7; 32]) };
    let mut node = Node::new(identity, 0, Timing::default(), MemoryStore::empty(1), BTreeMap::new());
    let (now, mut out) = (fawn_kv::timing::Now::at(1, 1), Vec::new());
    let incarnation = Incarnation(1);
    node.receive(
        now,
        Address::Manager,
        Message::Welcome { cluster: ClusterId([1; 16]), nonce: 0, incarnation },
        &mut out,
    );
    let ranges = Interval::ALL.divide(RANGES);
    let taken = allocation_counter::measure(|| {
        for (range, keys) in ranges.into_iter().enumerate() {
            let (range, attempt) = (RangeId(range as u32), Attempt(1));
            let seal = Message::Seal { incarnation, range, keys, attempt, source: None };
            node.receive(now, Address::Manager, seal, &mut out);
            out.clear();
        }
        let written = node.store().written();
        node.store_mut().synced(written);
    });
    let each = taken.bytes_current / i64::from(RANGES);
    assert_eq!(node.replicas().count(), RANGES as usize);
    assert!((1..16 << 10).contains(&each), "{each} bytes for an empty range");
}
