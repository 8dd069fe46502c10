//! What the manager orders when a node joins or leaves is what the ring says of it (FAWN SOSP'09 §3.4.4), and no more.

use fawn_kv::ids::{Address, ClusterId, Epoch, Health, Incarnation, Member, NodeId, Position, RangeId, Rules};
use fawn_kv::manager::{Command, Effects, Into, Leases, Manager, Range, Settings, Standing};
use fawn_kv::timing::Timing;
use fawn_kv::wire::version::{FAREWELLS, NEWEST, OLDEST};
use fawn_kv::wire::{Message, Report};
use fawn_ring::{DomainId, Interval, Key, MachineId, Ring};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

mod cut_off;

const CLUSTER: ClusterId = ClusterId([1; 16]);

/// A leader whose proposals are agreed on at once, and nodes that do at once what they are told.
struct Bench {
    manager: Manager,
    now_us: u64,
    /// Of each node the ranges that it has, with the epoch that it is active in.
    nodes: BTreeMap<NodeId, BTreeMap<RangeId, Epoch>>,
    /// What was decided since the last look: splits, merges, chains with other members or in another order.
    begun: [usize; 3],
    /// Who was to copy which keys since then.
    copied: Vec<(NodeId, Interval)>,
}

impl Bench {
    fn new(replicas: u32, nodes: &[NewNode]) -> Self {
        let settings =
            Settings { replicas, first_nodes: nodes.len() as u32, rules: Rules::default(), leases: Leases::default() };
        let mut manager = Manager::new(Timing::default(), settings, CLUSTER).unwrap();
        manager.lead(0, true);
        let mut bench = Self { manager, now_us: 0, nodes: BTreeMap::new(), begun: [0; 3], copied: Vec::new() };
        for node in nodes {
            bench.start(node);
        }
        bench.settle();
        bench
    }

    fn start(&mut self, new: &NewNode) {
        let (node, machine, domain) = (NodeId(new.name), MachineId(new.name), new.domain.map(DomainId));
        self.nodes.insert(node, BTreeMap::new());
        // Each start has another name.
        let nonce = self.now_us;
        self.hear(Message::Hello { cluster: None, node, nonce, machine, domain, virtual_ids: new.virtual_ids });
    }

    /// A node as it lives now.
    fn member(&self, node: NodeId) -> Member {
        Member { node, incarnation: self.manager.state().nodes[&node].incarnation }
    }

    /// A node is heard, which does not hear some others.
    fn beat(&mut self, node: NodeId, silent: Vec<NodeId>) {
        let (last, held, caught_up, health) = (Position::default(), None, true, Health::Sound);
        let report =
            |(range, epoch): (&RangeId, &Epoch)| Report { range: *range, last, held, caught_up, epoch: *epoch, health };
        let reports = self.nodes[&node].iter().map(report).collect();
        self.hear(Message::Heartbeat {
            cluster: CLUSTER,
            member: self.member(node),
            nonce: self.now_us,
            reports,
            silent,
        });
    }

    fn hear(&mut self, message: Message) {
        let mut effects = Effects::default();
        self.manager.receive(self.now_us, message, &mut effects);
        self.work(effects);
    }

    fn work(&mut self, effects: Effects) {
        for command in effects.propose {
            let mut next = Effects::default();
            self.manager.committed(self.now_us, &command, &mut next);
            self.count(&command);
            self.work(next);
        }
        for (to, message) in effects.send {
            // Whoever has stopped obeys nobody.
            if let Address::Node(node) = to
                && self.nodes.contains_key(&node)
            {
                self.obey(self.member(node), message);
            }
        }
    }

    fn count(&mut self, command: &Command) {
        match command {
            Command::Begin { into: Into::Split { .. }, .. } => self.begun[0] += 1,
            Command::Begin { into: Into::Merge { .. }, .. } => self.begun[1] += 1,
            Command::Begin { .. } => self.begun[2] += 1,
            Command::Learner { range, learner } => {
                let keys = self.manager.state().ranges[range].chain.keys;
                self.copied.extend(learner.map(|learner| (learner.node, keys)));
            }
            _ => {}
        }
    }

    fn obey(&mut self, member: Member, order: Message) {
        let ranges = self.nodes.get_mut(&member.node).unwrap();
        match order {
            Message::Learn { range, .. } => drop(ranges.entry(range).or_default()),
            Message::Seal { range, attempt, .. } => {
                let (last, held) = (Position::default(), Some(attempt));
                self.hear(Message::Sealed { member, range, attempt, last, held, synced: false });
            }
            Message::Prepare { range, attempt, .. } => self.hear(Message::Prepared { member, range, attempt }),
            Message::Equalise { range, attempt, .. } => self.hear(Message::Level { member, range, attempt }),
            Message::Activate { over, chains, .. } => {
                ranges.retain(|range, _| !over.contains(range));
                let mine = chains.into_iter().filter(|(_, chain)| chain.place(member).is_some());
                ranges.extend(mine.map(|(range, chain)| (range, chain.epoch)));
            }
            Message::Drop { range, .. } => drop(ranges.remove(&range)),
            other => assert!(matches!(other, Message::Welcome { .. }), "{other:?}"),
        }
    }

    /// Time passes until there is nothing to do.
    fn settle(&mut self) {
        let settled_us = self.now_us + 60_000_000;
        loop {
            self.now_us += 100_000;
            assert!(self.now_us < settled_us, "it never settles: {:?}", self.manager.state().ranges);
            for node in self.nodes.keys().copied().collect::<Vec<_>>() {
                self.beat(node, Vec::new());
            }
            let mut effects = Effects::default();
            self.manager.tick(self.now_us, &mut effects);
            let quiet = effects.propose.is_empty() && effects.send.is_empty();
            self.work(effects);
            if quiet && self.manager.is_settled() && !self.manager.state().is_unformed() {
                return;
            }
        }
    }

    /// The ranges by their last keys.
    fn ranges(&self) -> BTreeMap<Key, (RangeId, Range)> {
        let state = self.manager.state();
        state.by_last.iter().map(|(last, id)| (*last, (*id, state.ranges[id].clone()))).collect()
    }

    fn ring(&self) -> Ring {
        let nodes = self.manager.state().nodes.iter().filter(|(_, node)| node.standing == Standing::Member);
        Ring::of(&nodes.map(|(id, node)| node.place(*id)).collect::<Vec<_>>()).unwrap()
    }

    /// Forgets what was decided, and says what it was.
    fn look(&mut self) -> ([usize; 3], Vec<(NodeId, Interval)>) {
        (std::mem::take(&mut self.begun), std::mem::take(&mut self.copied))
    }
}

#[derive(Clone, Debug)]
struct NewNode {
    name: u64,
    domain: Option<u64>,
    virtual_ids: u32,
}

/// The stretches that some ranges make up; no two of them share a key.
fn stretches(ranges: impl IntoIterator<Item = Interval>) -> Vec<Interval> {
    let mut all: Vec<Interval> = ranges.into_iter().collect();
    all.sort_unstable();
    let mut stretches: Vec<Interval> = Vec::new();
    for keys in all {
        assert!(stretches.last().is_none_or(|last| last.high < keys.low), "{keys:?} are there twice");
        match stretches.last_mut() {
            Some(last) if last.high.successor() == Some(keys.low) => last.high = keys.high,
            _ => stretches.push(keys),
        }
    }
    stretches
}

/// Nodes with different names, on machines of their own; none is an archive.
fn nodes() -> impl Strategy<Value = Vec<NewNode>> {
    let serving = |node: NewNode| NewNode { name: NodeId(node.name).number(), ..node };
    let named = |nodes: &Vec<NewNode>| nodes.iter().map(|node| node.name).collect::<BTreeSet<_>>().len() == nodes.len();
    let nodes = mixed_nodes().prop_map(move |nodes| nodes.into_iter().map(serving).collect::<Vec<_>>());
    nodes.prop_filter("names differ", named)
}

/// Nodes with different names, on machines of their own; half of them are archives.
fn mixed_nodes() -> impl Strategy<Value = Vec<NewNode>> {
    let node = (any::<u64>(), prop::option::of(0..4u64), 1..=8u32);
    let nodes = prop::collection::vec(node, 2..8);
    let distinct =
        |nodes: &Vec<(u64, _, _)>| nodes.iter().map(|(name, ..)| name).collect::<BTreeSet<_>>().len() == nodes.len();
    nodes.prop_filter("names differ", distinct).prop_map(|nodes| {
        nodes.into_iter().map(|(name, domain, virtual_ids)| NewNode { name, domain, virtual_ids }).collect()
    })
}

fn nodes_of(range: &Range) -> Vec<NodeId> {
    range.chain.members.iter().map(|member| member.node).collect()
}

/// The nodes that the ring wants in the chain of a key.
fn wanted(ring: &Ring, key: &Key, replicas: u32) -> Vec<NodeId> {
    ring.chain_of_key(key, replicas as usize).unwrap().iter().map(|place| place.node).collect()
}

proptest! {
    #[test]
    fn a_join_and_a_leave_change_only_what_the_ring_says(mut nodes in nodes(), replicas in 1..5u32) {
        let newcomer = nodes.pop().unwrap();
        let (node, places) = (NodeId(newcomer.name), newcomer.virtual_ids as usize);
        let mut bench = Bench::new(replicas, &nodes);
        let (ring, before) = (bench.ring(), bench.ranges());
        bench.look();

        bench.start(&newcomer);
        bench.settle();
        let (larger, during) = (bench.ring(), bench.ranges());
        let begins_at_place = |range: &Range| {
            let before = range.chain.keys.low.predecessor();
            before.is_some_and(|key| larger.virtual_nodes_of(node).any(|place| place.id.0 == key))
        };
        for (last, (id, range)) in &during {
            prop_assert_eq!(nodes_of(range), wanted(&larger, last, replicas));
            if !range.chain.has_node(node) {
                prop_assert_eq!(nodes_of(range), wanted(&ring, last, replicas), "who had it has it");
                let stays = before[last] == (*id, range.clone());
                prop_assert!(stays || begins_at_place(range), "all that is done to it is that it is cut: {:?}", range);
            }
        }
        let entered = || during.values().map(|(_, range)| range).filter(|range| range.chain.has_node(node));
        let ([splits, merges, chains], copied) = bench.look();
        prop_assert_eq!((splits, merges), (places, 0));
        // Where it enters all parts of a range, that may be at once, before the range is cut.
        prop_assert!(chains <= entered().count(), "{} for {}", chains, entered().count());
        prop_assert!(copied.iter().all(|(who, _)| *who == node), "nobody else copies anything: {:?}", copied);
        let copied = stretches(copied.into_iter().map(|(_, keys)| keys));
        prop_assert_eq!(copied, stretches(entered().map(|range| range.chain.keys)), "what it has, once");

        let (incarnation, standing) = (Incarnation(1), Standing::Draining);
        bench.work(Effects { propose: vec![Command::Stand { node, incarnation, standing }], ..Effects::default() });
        bench.settle();
        let after = bench.ranges();
        prop_assert!(after.keys().eq(before.keys()), "the ranges are those that there were");
        for (last, (id, range)) in &after {
            prop_assert_eq!(nodes_of(range), wanted(&ring, last, replicas));
            let (_, old) = &during[last];
            let stays = during[last] == (*id, range.clone());
            prop_assert!(stays || old.chain.has_node(node) || begins_at_place(old), "{:?} then {:?}", old, range);
        }
        let (begun, copied) = bench.look();
        prop_assert_eq!(begun, [0, places, entered().count()], "each chain that it was in changes once");
        // Where there are too few machines for another replica, nobody takes its place.
        let lack = entered().filter(|range| wanted(&ring, &range.chain.keys.high, replicas).len() == replicas as usize);
        let lack: Vec<Interval> = lack.map(|range| range.chain.keys).collect();
        prop_assert_eq!(copied.len(), lack.len(), "one each");
        prop_assert_eq!(stretches(copied.into_iter().map(|(_, keys)| keys)), stretches(lack));
        prop_assert!(bench.nodes[&node].is_empty(), "it may go");
    }
}

proptest! {
    #[test]
    fn nodes_of_both_classes_come_and_go_and_chains_are_as_the_ring_says(mut nodes in mixed_nodes(), replicas in 1..5u32) {
        let newcomer = nodes.pop().unwrap();
        let mut bench = Bench::new(replicas, &nodes);
        let before = bench.ring();
        let is_settled = |bench: &Bench, ring: &Ring| {
            bench.ranges().iter().all(|(last, (_, range))| nodes_of(range) == wanted(ring, last, replicas))
        };
        bench.start(&newcomer);
        bench.settle();
        prop_assert!(is_settled(&bench, &bench.ring()), "{:?}", bench.ranges());
        let (node, incarnation, standing) = (NodeId(newcomer.name), Incarnation(1), Standing::Draining);
        bench.work(Effects { propose: vec![Command::Stand { node, incarnation, standing }], ..Effects::default() });
        bench.settle();
        prop_assert!(is_settled(&bench, &before), "{:?}", bench.ranges());
        prop_assert!(bench.nodes[&node].is_empty(), "it may go");
    }
}

#[test]
fn a_node_that_restarts_is_a_member_again_whoever_did_not_hear_its_last_life() {
    let nodes = [1, 2, 3].map(|name| NewNode { name, domain: None, virtual_ids: 1 });
    let mut bench = Bench::new(3, &nodes);
    for other in [2, 3] {
        bench.beat(NodeId(other), vec![NodeId(1)]);
    }
    bench.now_us += 1;
    bench.start(&nodes[0]);
    let began_us = bench.now_us;
    bench.settle();
    let member = bench.member(NodeId(1));
    for (_, range) in bench.ranges().values() {
        assert!(range.chain.members.len() == 3 && range.chain.members.contains(&member), "{:?}", range.chain);
    }
    assert!(bench.now_us < began_us + Timing::default().broken_us / 10, "it waits for nothing");
}

impl Bench {
    /// Time passes, in which these say who does not hear whom; the ranges that lack a member at the end.
    fn pass(&mut self, us: u64, silent: &[(u64, u64)]) -> usize {
        let end_us = self.now_us + us;
        while self.now_us < end_us {
            self.now_us += 100_000;
            for node in self.nodes.keys().copied().collect::<Vec<_>>() {
                let silent = silent.iter().filter(|(one, _)| NodeId(*one) == node).map(|(_, other)| NodeId(*other));
                self.beat(node, silent.collect());
            }
            let effects = tick(self);
            self.work(effects);
        }
        self.ranges().values().filter(|(_, range)| range.chain.members.len() < 3).count()
    }
}

#[test]
fn whoever_was_not_heard_for_a_moment_is_back_a_moment_later() {
    let mut bench = three();
    assert_eq!(bench.pass(5_000_000, &[]), 0);
    assert!(bench.pass(500_000, &[(1, 2)]) > 0, "it is left out");
    assert_eq!(bench.manager.kept_out(), BTreeSet::from([(NodeId(2), NodeId(1))]));
    assert!(bench.pass(1_000_000, &[]) > 0, "for two seconds");
    assert_eq!(bench.pass(3_000_000, &[]), 0, "and no longer");
    assert!(bench.manager.kept_out().is_empty());
    assert!(bench.pass(30_000_000, &[(1, 2)]) > 0, "as long as they do not hear each other");
    assert!(bench.pass(3_000_000, &[]) > 0, "the second time it takes longer");
    assert_eq!(bench.pass(3_000_000, &[]), 0);
}

#[test]
fn of_one_that_is_back_nothing_is_believed_that_was_so_while_it_was_away() {
    let mut bench = three();
    assert_eq!(bench.pass(5_000_000, &[]), 0);
    let kept = bench.nodes.remove(&NodeId(1)).unwrap();
    assert!(bench.pass(3_000_000, &[(2, 1), (3, 1)]) > 0, "it is away");
    bench.nodes.insert(NodeId(1), kept);
    bench.pass(1_000_000, &[(2, 1), (3, 1)]);
    assert!(bench.manager.kept_out().is_empty(), "they may not have heard it yet");
    assert_eq!(bench.pass(2_000_000, &[]), 0);
    assert!(bench.pass(1_000_000, &[(2, 1), (3, 1)]) > 0);
}

/// What a leader proposes and orders when time passes.
fn tick(bench: &mut Bench) -> Effects {
    let mut effects = Effects::default();
    bench.manager.tick(bench.now_us, &mut effects);
    effects
}

fn three() -> Bench {
    Bench::new(3, &[1, 2, 3].map(|name| NewNode { name, domain: None, virtual_ids: 1 }))
}

#[test]
fn a_new_leader_takes_nobody_for_dead_before_it_could_have_heard_them() {
    let mut bench = three();
    bench.now_us += 1_000_000;
    let since_us = bench.now_us;
    bench.manager.lead(since_us, false);
    bench.manager.lead(since_us, true);
    let dead_us = Timing::default().dead_us;
    while bench.now_us < since_us + dead_us {
        bench.beat(NodeId(2), Vec::new());
        let Effects { propose, .. } = tick(&mut bench);
        assert!(propose.is_empty(), "{} us: {propose:?}", bench.now_us - since_us);
        bench.now_us += dead_us / 10;
    }
    bench.beat(NodeId(2), Vec::new());
    let begins = |command: &Command| matches!(command, Command::Begin { target, .. } if target.len() == 1);
    assert!(tick(&mut bench).propose.iter().any(begins), "then the others are");
}

#[test]
fn whoever_is_away_keeps_its_places_and_what_it_has_where_nobody_could_take_them() {
    let mut bench = three();
    let before = bench.nodes.clone();
    // For longer than `gone_us` the leader hears node 1 alone.
    let until_us = bench.now_us + 2 * Timing::default().gone_us;
    while bench.now_us < until_us {
        bench.now_us += 100_000;
        bench.beat(NodeId(1), Vec::new());
        let effects = tick(&mut bench);
        bench.work(effects);
        for away in [NodeId(2), NodeId(3)] {
            bench.nodes.insert(away, before[&away].clone());
        }
    }
    let alone = [bench.member(NodeId(1))];
    assert!(bench.ranges().values().all(|(_, range)| range.chain.members == alone));
    for back in [NodeId(2), NodeId(3)] {
        bench.beat(back, Vec::new());
        assert_eq!(bench.nodes[&back], before[&back], "it may be the second copy that there is");
    }
    bench.settle();
    assert!(bench.ranges().values().all(|(_, range)| range.chain.members.len() == 3));
}

#[test]
fn a_machine_is_in_the_domain_that_was_said_last() {
    let mut bench = three();
    let (node, machine) = (NodeId(9), MachineId(1));
    bench.nodes.insert(node, BTreeMap::new());
    let domains = |bench: &Bench| -> Vec<_> {
        let nodes = bench.manager.state().nodes.values();
        nodes.filter(|node| node.machine == machine).map(|node| node.domain).collect()
    };
    for (nonce, domain) in [(1, Some(DomainId(4))), (2, None), (3, Some(DomainId(5)))] {
        bench.hear(Message::Hello { cluster: None, node, nonce, machine, domain, virtual_ids: 1 });
        assert_eq!(domains(&bench), [domain; 2], "the node that was there before moves with it");
    }
    bench.settle();
    assert!(bench.ranges().values().all(|(_, range)| range.chain.members.len() == 3));
}

#[test]
fn only_lives_before_the_one_that_is_known_are_over() {
    let mut bench = three();
    let ends = |bench: &mut Bench, incarnation| {
        let member = Member { node: NodeId(1), incarnation };
        let heartbeat =
            Message::Heartbeat { cluster: CLUSTER, member, nonce: 1, reports: Vec::new(), silent: Vec::new() };
        let mut effects = Effects::default();
        bench.manager.receive(bench.now_us, heartbeat, &mut effects);
        effects.send.iter().any(|(_, message)| matches!(message, Message::Superseded { .. }))
    };
    bench.now_us += 1;
    bench.start(&NewNode { name: 1, domain: None, virtual_ids: 1 });
    assert!(ends(&mut bench, Incarnation(1)));
    assert!(!ends(&mut bench, Incarnation(3)), "this leader has yet to hear of it");
}

#[test]
fn a_new_leader_supersedes_an_attempt_with_all_its_members_once_it_has_heard_them() {
    let mut bench = three();
    let (range, state) = bench.ranges().into_values().next().unwrap();
    let (target, source) = (state.chain.members.clone(), Some(state.chain.tail()));
    let begin =
        Command::Begin { range, attempt: state.attempt.next(), target: target.clone(), source, into: Into::Itself };
    bench.manager.lead(bench.now_us, false);
    bench.manager.committed(bench.now_us, &begin, &mut Effects::default());
    bench.now_us += 1_000_000;
    let since_us = bench.now_us;
    bench.manager.lead(since_us, true);
    let dead_us = Timing::default().dead_us;
    while bench.now_us < since_us + dead_us / 2 {
        bench.beat(NodeId(2), Vec::new());
        let Effects { propose, .. } = tick(&mut bench);
        assert!(propose.is_empty(), "{} us: {propose:?}", bench.now_us - since_us);
        bench.now_us += dead_us / 10;
    }
    for node in [1, 2, 3] {
        bench.beat(NodeId(node), Vec::new());
    }
    let Effects { propose, .. } = tick(&mut bench);
    let again = |command: &&Command| matches!(command, Command::Begin { range: id, .. } if *id == range);
    let Some(Command::Begin { target: next, .. }) = propose.iter().find(again) else { panic!("{propose:?}") };
    assert_eq!(*next, target);
}

#[test]
fn other_rules_take_hold_in_every_chain_of_a_quiet_cluster_and_change_nothing_else() {
    let mut bench = three();
    let before = bench.ranges();
    bench.look();
    let settings = bench.manager.state().settings;
    let rules = Rules { min_write_replicas: 2, spread_reads: true, ..settings.rules };
    bench.work(Effects { propose: vec![Command::Set(Settings { rules, ..settings })], ..Effects::default() });
    bench.settle();
    let after = bench.ranges();
    assert!(after.keys().eq(before.keys()));
    for (last, (id, range)) in &after {
        let (old_id, old) = &before[last];
        assert_eq!((id, &range.chain.members), (old_id, &old.chain.members));
        assert_eq!((range.chain.rules, range.chain.epoch), (rules, old.chain.epoch.next()));
    }
    assert_eq!(bench.look(), ([0, 0, before.len()], vec![]), "one attempt for each, and nothing is copied");
}

#[test]
fn whoever_has_something_of_another_cluster_is_told_so_and_changes_nothing() {
    let mut bench = three();
    let other = ClusterId([2; 16]);
    let (node, machine, before) = (NodeId(1), MachineId(1), bench.manager.state().clone());
    let (member, reports) = (bench.member(node), Vec::new());
    for message in [
        Message::Hello { cluster: Some(other), node, nonce: 9, machine, domain: None, virtual_ids: 1 },
        Message::Hello { cluster: Some(other), node: NodeId(9), nonce: 9, machine, domain: None, virtual_ids: 1 },
        Message::Heartbeat { cluster: other, member, nonce: 9, reports, silent: vec![NodeId(2)] },
    ] {
        let mut effects = Effects::default();
        bench.manager.receive(bench.now_us, message, &mut effects);
        let [(Address::Node(_), Message::OtherCluster { cluster })] = effects.send[..] else { panic!("{effects:?}") };
        assert_eq!(cluster, Some(CLUSTER));
        assert!(effects.propose.is_empty() && effects.confirm.is_empty(), "{effects:?}");
    }
    assert_eq!(*bench.manager.state(), before);
}

#[test]
fn managers_without_a_cluster_begin_none_with_a_node_of_another() {
    let settings = Settings { replicas: 1, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
    let mut manager = Manager::new(Timing::default(), settings, CLUSTER).unwrap();
    manager.lead(0, true);
    let hello = |cluster| {
        let (node, machine) = (NodeId(1), MachineId(1));
        Message::Hello { cluster, node, nonce: 1, machine, domain: None, virtual_ids: 1 }
    };
    let mut effects = Effects::default();
    manager.receive(0, hello(Some(ClusterId([2; 16]))), &mut effects);
    assert!(effects.propose.is_empty(), "{effects:?}");
    assert!(matches!(effects.send[..], [(_, Message::OtherCluster { cluster: None })]), "{effects:?}");
    manager.receive(0, hello(None), &mut effects);
    assert_eq!(effects.propose[0], Command::Found(CLUSTER));
    for command in std::mem::take(&mut effects.propose) {
        manager.committed(0, &command, &mut effects);
    }
    let welcome = Message::Welcome { cluster: CLUSTER, nonce: 1, incarnation: Incarnation(1) };
    assert_eq!(effects.send.last(), Some(&(Address::Node(NodeId(1)), welcome)));
}

#[test]
fn a_node_that_was_removed_a_moment_after_it_was_heard_does_not_come_back_by_itself() {
    let nodes: Vec<NewNode> = (1..=4).map(|name| NewNode { name, domain: None, virtual_ids: 2 }).collect();
    let mut bench = Bench::new(3, &nodes);
    let node = NodeId(4);
    let stand = |bench: &mut Bench, standing| {
        let incarnation = bench.member(node).incarnation;
        bench.work(Effects { propose: vec![Command::Stand { node, incarnation, standing }], ..Effects::default() });
    };
    stand(&mut bench, Standing::Draining);
    bench.settle();
    // It is stopped, and removed at once.
    bench.nodes.remove(&node);
    stand(&mut bench, Standing::Gone);
    bench.settle();
    assert_eq!(bench.manager.state().nodes[&node].standing, Standing::Gone);
    // One that lives after all is heard, and stays.
    bench.nodes.insert(node, BTreeMap::new());
    bench.settle();
    assert_eq!(bench.manager.state().nodes[&node].standing, Standing::Member);
}

#[test]
fn a_node_that_says_farewell_is_out_of_its_chains_before_it_is_missed() {
    for version in [OLDEST, NEWEST] {
        let nodes: Vec<NewNode> = (1..=4).map(|name| NewNode { name, domain: None, virtual_ids: 1 }).collect();
        let mut bench = Bench::new(3, &nodes);
        bench.manager.everybody_speaks(version);
        // No new leader waits for leases that it has not granted.
        bench.now_us += 5_000_000;
        bench.settle();
        let (node, member) = (NodeId(2), bench.member(NodeId(2)));
        let chains =
            |bench: &Bench| bench.ranges().values().filter(|(_, range)| nodes_of(range).contains(&node)).count();
        assert!(chains(&bench) > 0);
        bench.nodes.remove(&node);
        bench.hear(Message::Farewell { cluster: CLUSTER, member });
        let since_us = bench.now_us;
        while bench.now_us < since_us + 500_000 {
            bench.now_us += 50_000;
            bench.nodes.keys().copied().collect::<Vec<_>>().into_iter().for_each(|node| bench.beat(node, Vec::new()));
            let effects = tick(&mut bench);
            bench.work(effects);
        }
        if version < FAREWELLS {
            assert!(chains(&bench) > 0, "managers that do not know the command miss it like any other");
            assert_eq!(bench.member(node), member);
            continue;
        }
        assert_eq!(chains(&bench), 0);
        assert_ne!(bench.member(node), member, "the life is over, for every manager");
        assert_eq!(
            bench.manager.state().nodes[&node].standing,
            Standing::Member,
            "and its places are kept for the next"
        );
        // What its last life said comes late, and so does a hello of it.
        bench.hear(Message::Farewell { cluster: CLUSTER, member });
        bench.start(&nodes[1]);
        bench.settle();
        assert!(chains(&bench) > 0, "it is back");
    }
}

/// Who is away for a while, and who does not hear whom.
#[derive(Clone, Debug)]
struct Trouble {
    away: Vec<usize>,
    silent: Vec<(usize, usize)>,
}

fn troubles() -> impl Strategy<Value = Vec<Trouble>> {
    let away = prop::collection::vec(0..8usize, 0..3);
    let silent = prop::collection::vec((0..8usize, 0..8usize), 0..3);
    prop::collection::vec((away, silent).prop_map(|(away, silent)| Trouble { away, silent }), 1..5)
}

impl Bench {
    /// A trouble lasts for 18 seconds; what was decided in the last four of them. By then whoever is away for a second time
    /// has lost its places, and after four troubles nothing is forgotten yet of who did not hear whom.
    fn suffer(&mut self, trouble: &Trouble) -> [usize; 3] {
        let names: Vec<NodeId> = self.nodes.keys().copied().collect();
        let name = |at: &usize| names[at % names.len()];
        let away: BTreeSet<NodeId> = trouble.away.iter().map(name).take(names.len() - 1).collect();
        let kept: Vec<_> = away.iter().map(|node| (*node, self.nodes.remove(node).unwrap())).collect();
        for step in 0..180 {
            if step == 140 {
                self.look();
            }
            self.now_us += 100_000;
            for node in self.nodes.keys().copied().collect::<Vec<_>>() {
                let silent = trouble.silent.iter().filter(|(one, other)| name(one) == node && name(other) != node);
                self.beat(node, silent.map(|(_, other)| name(other)).collect());
            }
            let effects = tick(self);
            self.work(effects);
        }
        self.nodes.extend(kept);
        self.look().0
    }
}

proptest! {
    #[test]
    fn chains_come_to_rest_whoever_does_not_hear_whom(nodes in nodes(), replicas in 1..4u32, troubles in troubles()) {
        let mut bench = Bench::new(replicas, &nodes);
        for trouble in &troubles {
            prop_assert_eq!(bench.suffer(trouble), [0; 3], "{:?}", bench.manager.state().ranges);
        }
    }
}
