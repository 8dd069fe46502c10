//! How the first ranges come to be what a plain directory holds.

use fawn_kv::ids::{Address, Attempt, ClusterId, Epoch, Incarnation, Member, NodeId, RangeId, Rules};
use fawn_kv::manager::{Adopted, Command, Effects, Leases, Manager, Settings, State};
use fawn_kv::store::Plain;
use fawn_kv::timing::Timing;
use fawn_kv::wire::Message;
use fawn_ring::{Interval, Key, MachineId};

const CLUSTER: ClusterId = ClusterId([1; 16]);
const SETTINGS: Settings = Settings {
    replicas: 1,
    first_nodes: 1,
    rules: Rules {
        consistency: fawn_kv::ids::Consistency::Chain,
        ack: fawn_kv::ids::Ack::Durable,
        min_write_replicas: 1,
        spread_reads: false,
        unsynced: 100,
    },
    leases: Leases { lease_us: 1_000_000, drift_permille: 10 },
};

fn keys(low: u64, high: u64) -> Interval {
    Interval::new(Key::lowest_with_prefix(low), Key::highest_with_prefix(high))
}

/// A leader whose proposals are agreed on at once.
struct Bench {
    manager: Manager,
    now_us: u64,
    sent: Vec<(Address, Message)>,
}

impl Bench {
    fn new() -> Self {
        let mut manager = Manager::new(Timing::default(), SETTINGS, CLUSTER).unwrap();
        manager.lead(0, true);
        Self { manager, now_us: 0, sent: Vec::new() }
    }

    fn state(&self) -> &State {
        self.manager.state()
    }

    fn work(&mut self, effects: Effects) {
        self.sent.extend(effects.send);
        for command in effects.propose {
            let mut next = Effects::default();
            self.manager.committed(self.now_us, &command, &mut next);
            self.work(next);
        }
    }

    fn hear(&mut self, message: Message) {
        let mut effects = Effects::default();
        self.manager.receive(self.now_us, message, &mut effects);
        self.work(effects);
    }

    /// Nodes say this as often as they do until they have a life; what the managers then say to them.
    fn offer(&mut self, node: u64, plain: Plain) -> Vec<Message> {
        self.sent.clear();
        for _ in 0..3 {
            self.now_us += 1;
            let (node, machine) = (NodeId(node), MachineId(node / 10));
            self.hear(Message::Offer { node, nonce: 7, machine, domain: None, virtual_ids: 1, plain });
        }
        std::mem::take(&mut self.sent).into_iter().map(|(_, message)| message).collect()
    }

    /// A node that has nothing joins, and is heard.
    fn join(&mut self, node: u64) {
        let (node, machine) = (NodeId(node), MachineId(node));
        for _ in 0..2 {
            self.hear(Message::Hello { cluster: None, node, nonce: 7, machine, domain: None, virtual_ids: 1 });
        }
        self.beat(node);
    }

    fn beat(&mut self, node: NodeId) {
        let member = Member { node, incarnation: Incarnation(1) };
        self.hear(Message::Heartbeat { cluster: CLUSTER, member, nonce: 1, reports: vec![], silent: vec![] });
        let mut effects = Effects::default();
        self.manager.tick(self.now_us, &mut effects);
        self.work(effects);
    }
}

#[test]
fn the_first_ranges_are_what_all_stores_of_a_directory_hold_and_what_lies_between() {
    let mut bench = Bench::new();
    let stores = [keys(10, 99), keys(100, 199), keys(300, u64::MAX)];
    let plain = |store: usize| Plain { store: store as u32, stores: 3, keys: stores[store] };
    bench.join(90);
    assert!(!bench.state().is_unformed(), "one node was enough");
    let mut bench = Bench::new();
    assert!(bench.offer(12, plain(2)).iter().all(|said| matches!(said, Message::Welcome { .. })));
    bench.offer(10, plain(0));
    bench.join(90);
    assert!(bench.state().is_unformed(), "whoever has something is waited for");
    let told = bench.offer(11, plain(1));
    let told: Vec<RangeId> = told
        .iter()
        .filter_map(|said| match said {
            Message::Adopt { cluster: CLUSTER, nonce: 7, incarnation: Incarnation(1), range } => Some(*range),
            _ => None,
        })
        .collect();
    let state = bench.state();
    let all: Vec<_> =
        state.ranges.iter().map(|(id, range)| (*id, range.chain.keys, &range.chain.members[..])).collect();
    let alone = |node: u64| vec![Member { node: NodeId(node), incarnation: Incarnation(0) }];
    assert_eq!(
        all,
        [
            (RangeId(2), keys(0, 9), &[][..]),
            (RangeId(3), stores[0], &alone(10)[..]),
            (RangeId(4), stores[1], &alone(11)[..]),
            (RangeId(5), keys(200, 299), &[][..]),
            (RangeId(6), stores[2], &alone(12)[..]),
        ]
    );
    assert!(told.starts_with(&[RangeId(3), RangeId(4), RangeId(6)]), "{told:?}");
    for range in state.ranges.values().filter(|range| !range.chain.members.is_empty()) {
        assert_eq!((range.chain.epoch, range.chain.attempt, range.attempt), (Epoch(1), Attempt(1), Attempt(1)));
    }
    // Who crashed before that was durable is told the same.
    let again = bench.offer(12, plain(2));
    assert!(again.iter().any(|said| matches!(said, Message::Adopt { range: RangeId(6), .. })), "{again:?}");
}

#[test]
fn whoever_offers_more_is_told_that_there_are_ranges() {
    let mut bench = Bench::new();
    let plain = Plain { store: 0, stores: 1, keys: Interval::ALL };
    bench.offer(10, plain);
    assert_eq!(bench.state().adopted.len(), 1);
    let before = bench.state().clone();
    let told = bench.offer(20, plain);
    assert_eq!(told, vec![Message::Occupied { cluster: CLUSTER }; 3]);
    assert_eq!(*bench.state(), before);
    let mut bench = Bench::new();
    bench.join(1);
    assert_eq!(bench.offer(10, plain), vec![Message::Occupied { cluster: CLUSTER }; 3]);
}

#[test]
fn a_directory_whose_node_is_gone_is_not_waited_for_for_ever() {
    let mut bench = Bench::new();
    bench.offer(10, Plain { store: 0, stores: 2, keys: keys(0, 99) });
    bench.join(1);
    assert!(bench.state().is_unformed());
    bench.now_us += Timing::default().gone_us + 1;
    bench.beat(NodeId(1));
    assert!(!bench.state().is_unformed());
    assert!(bench.state().adopted.is_empty());
}

#[test]
fn offers_that_make_no_sense_lead_to_nothing() {
    let mut bench = Bench::new();
    for (node, plain) in [
        (10, Plain { store: 0, stores: 2, keys: keys(0, 99) }),
        (11, Plain { store: 1, stores: 2, keys: keys(50, 199) }),
        (1, Plain { store: 5, stores: 7, keys: Interval::ALL }),
        (2, Plain { store: 3, stores: 3, keys: Interval::ALL }),
        (3, Plain { store: 0, stores: u32::MAX, keys: Interval::ALL }),
        (4, Plain { store: 0, stores: 0, keys: Interval::ALL }),
    ] {
        bench.offer(node, plain);
    }
    assert!(bench.state().is_unformed());
    let adopted = |node, keys| Adopted { node: NodeId(node), keys };
    for ranges in [
        vec![],
        vec![adopted(1, keys(0, 9)), adopted(2, keys(9, 20))],
        vec![adopted(1, keys(30, 40)), adopted(2, keys(9, 20))],
        vec![adopted(1, keys(0, 9)), adopted(1, keys(10, 20))],
    ] {
        let before = bench.state().clone();
        bench.work(Effects { propose: vec![Command::Adopt { ranges }], ..Effects::default() });
        assert_eq!(*bench.state(), before);
    }
}
