//! Two nodes that do not hear each other, while the manager hears both.

use std::time::{Duration, Instant};

use fawn_trial::arguments::{TrialShape, TrialSizes};
use fawn_trial::cluster::TrialCluster;
use fawn_trial::net::{FaultState, Network};
use fawn_trial::severed::{ClientProgram, ask_everyone};

use crate::fawn;

/// On a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn every_node_answers_for_every_key_while_two_of_them_do_not_hear_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let sizes = TrialSizes { nodes: 3, archives: 0, managers: 1, fronts: 1, replicas: 3, clients: 1, rate: 1, keys: 1 };
    let mut cluster =
        TrialCluster::new(Network::loopback(), TrialShape::Cluster, sizes, (&fawn(), dir.path(), "durable")).unwrap();
    cluster.start_all(PATIENCE).unwrap();
    let begun = Instant::now();
    while !cluster
        .status()
        .is_ok_and(|status| status.settled && status.ranges.iter().all(|range| range.chain.len() == 3))
    {
        assert!(begun.elapsed() < PATIENCE, "the cluster does not become healthy");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(ask_everyone(&cluster, PATIENCE, |_| true), [""; 0]);
    let program = ClientProgram::connect("a program", &cluster).unwrap();
    assert_eq!(program.ask(PATIENCE), [""; 0]);
    let host = |name: &str| cluster.members.iter().find(|member| member.name == name).unwrap().host.clone();
    // Both ways; and one way, between a node and a front-end that keeps nothing.
    for (one, other, is_one_way) in [("n2", "n3", false), ("n1", "f1", true)] {
        let pairs = [(host(one), host(other)), (host(other), host(one))];
        let pairs = &pairs[..if is_one_way { 1 } else { 2 }];
        let set = |state| pairs.iter().try_for_each(|(from, to)| cluster.network.cut(from, to, state));
        set(FaultState::Broken).unwrap();
        assert_eq!(ask_everyone(&cluster, PATIENCE, |_| true), [""; 0], "{one} and {other}");
        // It is broken still.
        assert_eq!(ask_everyone(&cluster, PATIENCE, |_| true), [""; 0], "{one} and {other}");
        set(FaultState::Mended).unwrap();
    }
    // Both ways, and one way, between programs and a node that owns a third of the keys.
    let (clients, node) = (cluster.network.clients(), host("n2"));
    let pairs = [(&clients, &node), (&node, &clients)];
    for pairs in [&pairs[..], &pairs[1..]] {
        let set = |state| pairs.iter().try_for_each(|(from, to)| cluster.network.cut(from, to, state));
        set(FaultState::Broken).unwrap();
        assert_eq!(program.ask(PATIENCE), [""; 0]);
        assert_eq!(ClientProgram::connect("a new program", &cluster).unwrap().ask(PATIENCE), [""; 0]);
        set(FaultState::Mended).unwrap();
    }
}
