//! Views and their changes.

use crate::cluster::{cluster, key, replicas, ring};
use fawn_ring::{
    Configuration, Epoch, Incarnation, Interval, Key, KeyRange, MachineId, Member, NodeId, View, ViewChange, ViewError,
    ViewNumber,
};
use proptest::prelude::*;

fn member(number: u64) -> Member {
    Member { node: NodeId(number), machine: MachineId(number), incarnation: Incarnation(1) }
}

fn at(prefix: u64) -> Key {
    Key::lowest_with_prefix(prefix)
}

fn range(after: u64, last: u64) -> KeyRange {
    KeyRange::new(at(after), at(last))
}

fn configuration(range: KeyRange, epoch: u64, members: &[u64]) -> Configuration {
    let members: Vec<Member> = members.iter().copied().map(member).collect();
    Configuration::new(range, Epoch(epoch), members).unwrap()
}

/// Three ranges, the last of which wraps.
fn view() -> View {
    let configurations = vec![
        configuration(range(30, 10), 5, &[1, 2, 3]),
        configuration(range(10, 20), 4, &[2, 3, 4]),
        configuration(range(20, 30), 7, &[2, 3, 4]),
    ];
    View::new(ViewNumber(9), configurations).unwrap()
}

fn ends(view: &View) -> Vec<KeyRange> {
    view.configurations().iter().map(Configuration::range).collect()
}

/// A step of a manager, on whatever ranges there are.
#[derive(Clone, Debug)]
enum Step {
    Split(Key),
    MergeWithNext(Key),
    Replace(Key, Vec<Member>),
}

fn step() -> impl Strategy<Value = Step> {
    let members = prop::sample::subsequence((0..8).collect::<Vec<u64>>(), 1..=4).prop_shuffle();
    prop_oneof![
        key().prop_map(Step::Split),
        key().prop_map(Step::MergeWithNext),
        (key(), members).prop_map(|(key, members)| Step::Replace(key, members.into_iter().map(member).collect())),
    ]
}

/// The changes of a step; none where it makes no sense.
fn changes(view: &View, step: &Step) -> Vec<ViewChange> {
    match step {
        Step::Split(at) => {
            let parent = view.lookup(at);
            let (lower, upper) = (parent.epoch().next(), parent.epoch().next().next());
            let is_inside = parent.range().split(at).is_some();
            is_inside.then_some(ViewChange::Split { at: *at, lower, upper }).into_iter().collect()
        }
        Step::Replace(key, members) => {
            let old = view.lookup(key);
            vec![ViewChange::Replace(Configuration::new(old.range(), old.epoch().next(), members.clone()).unwrap())]
        }
        Step::MergeWithNext(key) => {
            let lower = view.lookup(key);
            let after = lower.range().last.successor().unwrap_or(Key::MIN);
            let upper = view.lookup(&after);
            if lower == upper {
                return Vec::new();
            }
            let level = Configuration::new(lower.range(), lower.epoch().next(), upper.members()).unwrap();
            let epoch = level.epoch().max(upper.epoch()).next();
            vec![ViewChange::Replace(level), ViewChange::Merge { at: lower.range().last, epoch }]
        }
    }
}

fn assert_tiles(view: &View) {
    let mut intervals: Vec<Interval> = view.configurations().iter().flat_map(|one| one.range().intervals()).collect();
    intervals.sort_unstable();
    assert_eq!((intervals[0].low, intervals[intervals.len() - 1].high), (Key::MIN, Key::MAX));
    assert!(intervals.windows(2).all(|pair| pair[0].high.successor() == Some(pair[1].low)), "{intervals:?}");
}

proptest! {
    #[test]
    fn changes_keep_the_tiling_and_only_raise_epochs(
        cluster in cluster(6),
        r in replicas(),
        steps in prop::collection::vec(step(), 1..40),
        keys in prop::collection::vec(key(), 8),
    ) {
        let mut view = View::of(&ring(&cluster.virtual_nodes()), r, |_| Incarnation(1));
        for step in &steps {
            for change in changes(&view, step) {
                let next = view.apply(&change);
                assert_tiles(&next);
                prop_assert_eq!(next.number(), ViewNumber(view.number().0 + 1));
                for key in &keys {
                    let (old, new) = (view.lookup(key), next.lookup(key));
                    prop_assert!(new.range().contains(key));
                    prop_assert!(old == new || old.epoch() < new.epoch(), "{:?} then {:?}", old, new);
                }
                // What everybody else gets as a whole is the same.
                let whole = View::new(next.number(), next.configurations().iter().rev().cloned().collect());
                prop_assert_eq!(whole.as_ref(), Ok(&next));
                view = next;
            }
        }
    }

    #[test]
    fn the_first_view_has_the_ranges_and_chains_of_the_ring(cluster in cluster(30), r in replicas(), key in key()) {
        let ring = ring(&cluster.virtual_nodes());
        let view = View::of(&ring, r, |node| Incarnation(node.0 + 7));
        prop_assert!(ring.ranges().map(|(range, _)| range).eq(view.configurations().iter().map(Configuration::range)));
        let found = view.lookup(&key);
        let expected: Vec<Member> = ring.chain_of_key(&key, r).unwrap().iter()
            .map(|one| Member { node: one.node, machine: one.machine, incarnation: Incarnation(one.node.0 + 7) })
            .collect();
        prop_assert_eq!(found.members(), expected);
        prop_assert_eq!(found.epoch(), Epoch::FIRST);
        for one in found.members() {
            let role = found.role(one.node);
            prop_assert!(view.roles(one.node).any(|(other, part)| other == found && Some(part) == role));
        }
    }
}

#[test]
fn a_key_is_looked_up_in_the_range_that_wraps_at_either_end() {
    let view = view();
    for key in [at(31), Key::MAX, Key::MIN, at(10)] {
        assert_eq!(view.lookup(&key).range(), range(30, 10));
    }
    assert_eq!(view.lookup(&at(11)).range(), range(10, 20));
    assert_eq!(view.configuration(&range(20, 30)).map(Configuration::epoch), Some(Epoch(7)));
    assert_eq!(view.configuration(&range(10, 30)), None);
}

#[test]
fn split_parts_inherit_the_members() {
    let view = view().apply(&ViewChange::Split { at: at(40), lower: Epoch(6), upper: Epoch(8) });
    assert_eq!(ends(&view), [range(40, 10), range(10, 20), range(20, 30), range(30, 40)]);
    let parts = [at(40), at(41)].map(|key| view.lookup(&key));
    assert_eq!(parts.map(|part| (part.epoch(), part.members().len())), [(Epoch(6), 3), (Epoch(8), 3)]);
    assert_eq!(parts[0].members(), parts[1].members());
    assert_eq!(view.number(), ViewNumber(10));
}

#[test]
fn merged_ranges_have_the_members_that_both_had() {
    let view = view().apply(&ViewChange::Merge { at: at(20), epoch: Epoch(8) });
    assert_eq!(ends(&view), [range(30, 10), range(10, 30)]);
    assert_eq!(view.lookup(&at(15)), &configuration(range(10, 30), 8, &[2, 3, 4]));
}

#[test]
fn the_last_two_ranges_merge_into_the_whole_ring() {
    let halves = vec![configuration(range(10, 20), 1, &[1]), configuration(range(20, 10), 2, &[1])];
    let view = View::new(ViewNumber(1), halves).unwrap();
    for (end, rest) in [(10, 20), (20, 10)] {
        let whole = view.apply(&ViewChange::Merge { at: at(end), epoch: Epoch(3) });
        assert_eq!(ends(&whole), [range(rest, rest)]);
        let error = whole.checked_apply(&ViewChange::Merge { at: at(rest), epoch: Epoch(4) });
        assert_eq!(error, Err(ViewError::NotThere { at: at(rest) }));
    }
}

#[test]
fn changes_that_do_not_fit_are_refused() {
    let view = view();
    let refused = |change: ViewChange| view.checked_apply(&change).unwrap_err();
    let parent = range(10, 20);

    let replace = |range, epoch| ViewChange::Replace(configuration(range, epoch, &[1, 2]));
    assert_eq!(refused(replace(range(10, 30), 9)), ViewError::OtherRanges { range: range(10, 30) });
    let old = |epoch, known| ViewError::OldEpoch { range: parent, epoch: Epoch(epoch), known: Epoch(known) };
    assert_eq!(refused(replace(parent, 4)), old(4, 4));

    let split = |key, lower, upper| ViewChange::Split { at: at(key), lower: Epoch(lower), upper: Epoch(upper) };
    assert_eq!(refused(split(20, 5, 5)), ViewError::NotThere { at: at(20) });
    assert_eq!(refused(split(15, 4, 5)), old(4, 4));
    assert_eq!(refused(split(15, 5, 3)), old(3, 4));

    let merge = |key, epoch| ViewChange::Merge { at: at(key), epoch: Epoch(epoch) };
    assert_eq!(refused(merge(15, 9)), ViewError::NotThere { at: at(15) });
    assert_eq!(refused(merge(10, 9)), ViewError::OtherMembers { lower: range(30, 10), upper: parent });
    let upper = ViewError::OldEpoch { range: range(20, 30), epoch: Epoch(7), known: Epoch(7) };
    assert_eq!(refused(merge(20, 7)), upper, "above one part is not above both");
}

#[test]
#[should_panic(expected = "epoch 4 for range")]
fn a_committed_change_that_lowers_an_epoch_is_a_bug() {
    let _ = view().apply(&ViewChange::Replace(configuration(range(10, 20), 4, &[1])));
}

#[test]
fn ranges_that_do_not_tile_the_ring_are_no_view() {
    let view = |ranges: &[(u64, u64)]| {
        let configurations = ranges.iter().map(|(after, last)| configuration(range(*after, *last), 1, &[1])).collect();
        View::new(ViewNumber(1), configurations)
    };
    let not_adjacent = |one, end| Err(ViewError::NotAdjacent { range: one, end: at(end) });
    assert_eq!(view(&[]), Err(ViewError::NoRange));
    assert_eq!(view(&[(30, 10), (10, 20)]), not_adjacent(range(30, 10), 20));
    assert_eq!(view(&[(20, 10), (15, 20)]), not_adjacent(range(15, 20), 10));
    assert_eq!(view(&[(20, 10), (10, 30)]), not_adjacent(range(20, 10), 30));
    assert_eq!(view(&[(10, 10), (10, 10)]), not_adjacent(range(10, 10), 10));
    assert_eq!(view(&[(10, 20)]), not_adjacent(range(10, 20), 20));
    assert!(view(&[(10, 10)]).is_ok());
    assert!(view(&[(10, 20), (20, 10)]).is_ok());
}
