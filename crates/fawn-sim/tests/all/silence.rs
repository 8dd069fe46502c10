//! What a node says of neighbours that it does not hear.

use fawn_kv::ids::{Address, Attempt, Chain, ClusterId, Epoch, Incarnation, Member, NodeId, Position, RangeId, Seq};
use fawn_kv::node::{Identity, Node};
use fawn_kv::timing::{Now, Timing};
use fawn_kv::wire::Message;
use fawn_ring::{Interval, MachineId, Secret};
use fawn_sim::cluster::MemoryStore;
use std::collections::BTreeMap;

const OTHER: Address = Address::Node(NodeId(2));

struct Bench {
    node: Node<MemoryStore>,
    now_us: u64,
}

impl Bench {
    fn hear(&mut self, from: Address, message: Message) -> Vec<(Address, Message)> {
        let mut out = Vec::new();
        self.node.receive(Now::at(self.now_us, 1), from, message, &mut out);
        let written = self.node.store().written();
        self.node.store_mut().synced(written);
        out
    }

    /// It looks at the time after so long.
    fn tick(&mut self, us: u64) -> Vec<(Address, Message)> {
        self.now_us += us;
        let mut out = Vec::new();
        self.node.tick(Now::at(self.now_us, 1), &mut out);
        let written = self.node.store().written();
        self.node.store_mut().synced(written);
        out
    }

    /// It runs for so long, and hears nothing, or the answers of the other; who is silent by its last heartbeat.
    fn run(&mut self, us: u64, answers: bool) -> Vec<NodeId> {
        let mut silent = None;
        for _ in 0..us / 50_000 {
            for (to, message) in self.tick(50_000) {
                match message {
                    Message::Ping if to == OTHER && answers => drop(self.hear(OTHER, Message::Pong)),
                    Message::Heartbeat { silent: now, .. } => silent = Some(now),
                    _ => {}
                }
            }
        }
        silent.expect("a heartbeat is due")
    }

    /// The end of its log.
    fn last(&self) -> Position {
        self.node.replicas().next().map_or(Position::default(), |(_, replica)| replica.last())
    }

    /// Its chain goes on with these members.
    fn chain(&mut self, attempt: u32, members: &[u64]) {
        let (incarnation, attempt, range) = (Incarnation(1), Attempt(attempt), RangeId(0));
        let (keys, last) = (Interval::ALL, self.last());
        let source = (last != Position::default()).then_some(Member { node: NodeId(1), incarnation });
        for order in [
            Message::Seal { incarnation, range, keys, attempt, source: None },
            Message::Equalise { incarnation, range, attempt, source, last },
        ] {
            self.hear(Address::Manager, order);
            (0..3).for_each(|_| drop(self.tick(1)));
        }
        let (after, first) = (self.last(), Seq(self.last().seq.0 + 1));
        let members = members.iter().map(|node| Member { node: NodeId(*node), incarnation }).collect();
        let chain = Chain { epoch: Epoch(attempt.0), attempt, members, after, first, ..Chain::none(keys) };
        let chains = vec![(range, chain)];
        self.hear(Address::Manager, Message::Activate { incarnation, attempt, over: Vec::new(), chains });
        let (_, replica) = self.node.replicas().next().expect("it has the range");
        assert!(replica.chain().is_some(), "it is in the chain");
    }
}

fn with_a_neighbour() -> Bench {
    let identity =
        Identity { id: NodeId(1), machine: MachineId(1), domain: None, virtual_ids: 1, secret: Secret([7; 32]) };
    let node = Node::new(identity, 0, Timing::default(), MemoryStore::empty(1), BTreeMap::new());
    let mut bench = Bench { node, now_us: 1_000_000 };
    let welcome = Message::Welcome { cluster: ClusterId([1; 16]), nonce: 0, incarnation: Incarnation(1) };
    bench.hear(Address::Manager, welcome);
    bench.chain(1, &[1, 2]);
    assert!(bench.run(2_000_000, true).is_empty(), "it answers");
    bench
}

#[test]
fn a_node_that_did_not_run_calls_nobody_silent() {
    let mut bench = with_a_neighbour();
    let said = bench.tick(3_000_000);
    let silent = said.iter().find_map(|(_, message)| match message {
        Message::Heartbeat { silent, .. } => Some(silent.len()),
        _ => None,
    });
    assert_eq!(silent, Some(0), "it could have heard nobody");
    assert_eq!(bench.run(1_500_000, false), [NodeId(2)], "now it could");
}

#[test]
fn whoever_was_silent_is_asked_on_when_it_is_no_neighbour_any_more_until_it_is_heard() {
    let mut bench = with_a_neighbour();
    assert_eq!(bench.run(1_500_000, false), [NodeId(2)]);
    bench.chain(2, &[1]);
    assert_eq!(bench.run(5_000_000, false), [NodeId(2)], "it still is");
    assert!(bench.run(1_000_000, true).is_empty());
    assert!(!bench.tick(500_000).iter().any(|(_, message)| *message == Message::Ping), "it is no neighbour");
    let mut bench = with_a_neighbour();
    assert_eq!(bench.run(1_500_000, false), [NodeId(2)]);
    bench.chain(2, &[1]);
    assert!(bench.run(70_000_000, false).is_empty(), "not for ever");
}
