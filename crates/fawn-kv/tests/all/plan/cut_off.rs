//! Nodes that no other member answers, while managers hear them.

use super::*;

/// In how many of the four chains each node is, while nothing is wrong.
const ALL: [usize; 3] = [3, 3, 2];

/// Chains of two on three nodes, in a cluster that knows of nodes that are cut off.
fn pairs() -> Bench {
    let mut bench = Bench::new(2, &[1, 2, 3].map(|name| NewNode { name, domain: None, virtual_ids: 1 }));
    bench.manager.everybody_speaks(NEWEST);
    bench.pass(5_000_000, &[]);
    assert_eq!(bench.chains_of(&[1, 2, 3]), ALL);
    bench
}

impl Bench {
    /// Of each of these nodes the number of chains that it is in.
    fn chains_of(&self, nodes: &[u64]) -> Vec<usize> {
        let ranges = self.ranges();
        let count = |node| ranges.values().filter(|(_, range)| range.chain.has_node(NodeId(node))).count();
        nodes.iter().map(|node| count(*node)).collect()
    }

    /// Time passes, in which nodes say that no other member answers them, and who does not hear whom.
    fn pass_cut_off(&mut self, us: u64, cut_off: &[u64], silent: &[(u64, u64)]) {
        for _ in 0..us / 200_000 {
            for node in cut_off {
                let member = self.member(NodeId(*node));
                self.hear(Message::NodeCutOff { member });
            }
            self.pass(200_000, silent);
        }
    }
}

#[test]
fn the_one_of_two_that_no_other_member_answers_leaves_the_chain_whichever_says_so_first() {
    for (cut_off, other) in [(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)] {
        let mut bench = pairs();
        let said = [(other, cut_off)];
        // Its neighbour misses it first.
        bench.pass(600_000, &said);
        assert_eq!(bench.chains_of(&[1, 2, 3]), ALL, "n{cut_off}: it is not known yet which of the two it is");
        bench.pass_cut_off(2_000_000, &[cut_off], &said);
        assert_eq!(bench.chains_of(&[cut_off]), [0], "n{cut_off}, missed by n{other}");
        assert!(bench.ranges().values().all(|(_, range)| range.chain.members.len() == 2), "others take its place");
        // Former neighbours do not ask it for ever.
        bench.pass_cut_off(70_000_000, &[cut_off], &[]);
        assert_eq!(bench.chains_of(&[cut_off]), [0]);
        bench.pass(1_000_000, &[]);
        assert_eq!(bench.chains_of(&[cut_off]), [0], "for two seconds");
        bench.pass(3_000_000, &[]);
        assert_eq!(bench.chains_of(&[1, 2, 3]), ALL);
        bench.pass_cut_off(1_000_000, &[cut_off], &[]);
        bench.pass(3_000_000, &[]);
        assert_eq!(bench.chains_of(&[cut_off]), [0], "the second time it takes longer");
        bench.pass(3_000_000, &[]);
        assert_eq!(bench.chains_of(&[1, 2, 3]), ALL);
    }
}

#[test]
fn one_of_two_leaves_the_chain_where_neither_is_cut_off_and_none_where_all_are() {
    let mut bench = pairs();
    bench.pass(600_000, &[(1, 2)]);
    assert_eq!(bench.chains_of(&[1, 2, 3]), ALL);
    bench.pass(1_500_000, &[(1, 2)]);
    let together = bench.ranges().values().any(|(_, range)| nodes_of(range).starts_with(&[NodeId(1), NodeId(2)]));
    assert!(!together, "{:?}", bench.ranges());
    assert_eq!(bench.manager.kept_out(), BTreeSet::from([(NodeId(2), NodeId(1))]));
    // When it is tried once more, the answer is the same, and at once.
    bench.pass(4_000_000, &[]);
    assert_eq!(bench.chains_of(&[1, 2, 3]), ALL);
    bench.pass(300_000, &[(1, 2)]);
    assert_eq!(bench.manager.kept_out(), BTreeSet::from([(NodeId(2), NodeId(1))]));
    let mut bench = pairs();
    bench.pass_cut_off(5_000_000, &[1, 2, 3], &[]);
    assert_eq!(bench.chains_of(&[1, 2, 3]), ALL, "nobody is better");
    // One of the two that both say so, of which the third was stopped, goes on.
    bench.nodes.remove(&NodeId(3));
    bench.pass_cut_off(5_000_000, &[1, 2], &[(1, 2), (2, 1)]);
    assert!(bench.ranges().values().all(|(_, range)| range.chain.members.len() == 1), "{:?}", bench.ranges());
}

#[test]
fn of_two_nodes_that_both_are_cut_off_the_same_one_goes_on_in_all_chains_whoever_says_so_first() {
    for first in [1, 2] {
        let mut bench = Bench::new(2, &[1, 2].map(|name| NewNode { name, domain: None, virtual_ids: 1 }));
        bench.manager.everybody_speaks(NEWEST);
        bench.pass(5_000_000, &[]);
        bench.pass(400_000, &[(1, 2), (2, 1)]);
        bench.pass_cut_off(200_000, &[first], &[(1, 2), (2, 1)]);
        assert!(bench.ranges().values().all(|(_, range)| range.chain.members.len() == 2), "the other may say so, too");
        bench.pass_cut_off(2_000_000, &[1, 2], &[(1, 2), (2, 1)]);
        assert!(bench.ranges().values().all(|(_, range)| nodes_of(range) == [NodeId(1)]), "{:?}", bench.ranges());
    }
}

#[test]
fn a_member_that_is_cut_off_and_alone_in_its_chain_leaves_it_only_to_a_copy_of_its_own() {
    let mut bench = pairs();
    // Both others stop, and come back: what they have is older.
    let kept: Vec<_> = [1, 2].map(|node| bench.nodes.remove(&NodeId(node)).unwrap()).into_iter().collect();
    bench.pass(3_000_000, &[]);
    let alone = bench.ranges().into_values().filter(|(_, range)| nodes_of(range) == [NodeId(3)]);
    let alone: Vec<Interval> = alone.map(|(_, range)| range.chain.keys).collect();
    assert_eq!(alone.len(), 2);
    bench.look();
    bench.nodes.extend([NodeId(1), NodeId(2)].into_iter().zip(kept));
    bench.pass_cut_off(3_000_000, &[3], &[]);
    let (_, copied) = bench.look();
    let copied: BTreeSet<Interval> = copied.into_iter().map(|(_, keys)| keys).collect();
    assert!(alone.iter().all(|keys| copied.contains(keys)), "{copied:?}");
}

#[test]
fn the_first_chains_do_not_wait_for_a_node_that_is_cut_off() {
    let settings = Settings { replicas: 3, first_nodes: 3, rules: Rules::default(), leases: Leases::default() };
    let mut manager = Manager::new(Timing::default(), settings, CLUSTER).unwrap();
    manager.lead(0, true);
    manager.everybody_speaks(NEWEST);
    let mut bench = Bench { manager, now_us: 0, nodes: BTreeMap::new(), begun: [0; 3], copied: Vec::new() };
    for name in [1, 2] {
        bench.start(&NewNode { name, domain: None, virtual_ids: 1 });
    }
    bench.pass_cut_off(1_000_000, &[], &[]);
    bench.start(&NewNode { name: 3, domain: None, virtual_ids: 1 });
    bench.pass_cut_off(5_000_000, &[3], &[]);
    assert_eq!(bench.chains_of(&[1, 2, 3]), [4, 4, 0]);
}

#[test]
fn whoever_was_there_alone_keeps_its_chains_while_nobody_has_reached_a_newcomer_yet() {
    let mut bench = Bench::new(2, &[NewNode { name: 1, domain: None, virtual_ids: 2 }]);
    bench.manager.everybody_speaks(NEWEST);
    bench.pass(5_000_000, &[]);
    let all = bench.ranges().len();
    assert_eq!(bench.chains_of(&[1]), [all]);
    // The roster has another node, to which no link is up yet: nobody answers the first one.
    bench.start(&NewNode { name: 2, domain: None, virtual_ids: 2 });
    for at in 0..30 {
        bench.pass_cut_off(200_000, if at < 5 { &[1] } else { &[] }, &[]);
        let ranges = bench.ranges();
        assert!(ranges.values().all(|(_, range)| range.chain.has_node(NodeId(1))), "step {at}: {ranges:?}");
    }
    assert_eq!(bench.chains_of(&[1, 2]), [bench.ranges().len(); 2], "both, once they hear each other");
}
