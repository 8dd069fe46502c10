//! What one virtual ID moves, and how a manager gets from one ring to another (FAWN SOSP'09 §3.4.4).

use crate::cluster::{cluster, replicas, ring, ring_and_newcomer};
use fawn_ring::{
    Change, Configuration, Incarnation, Key, Member, NodeId, Ring, Role, View, ViewChange, VirtualId, VirtualNode,
    changes,
};
use proptest::prelude::*;

fn ids(chain: &[VirtualNode]) -> Vec<VirtualId> {
    chain.iter().map(|member| member.id).collect()
}

/// The chain of the key before the join and after it, for the end of each range after it.
fn chains(before: &Ring, after: &Ring, replicas: usize) -> Vec<(VirtualId, Vec<VirtualId>, Vec<VirtualId>)> {
    let chain = |ring: &Ring, at: &VirtualNode| ids(&ring.chain_of_key(&at.id.0, replicas).unwrap());
    after.virtual_nodes().iter().map(|at| (at.id, chain(before, at), chain(after, at))).collect()
}

fn joined(ring: &Ring, newcomer: VirtualNode) -> Ring {
    let mut larger = ring.clone();
    larger.insert(newcomer).unwrap();
    larger
}

fn lives(node: NodeId) -> Incarnation {
    Incarnation(node.0 + 100)
}

/// Makes one change in a view, each time in the next epoch.
fn apply(view: &View, change: &Change) -> View {
    let epoch = |at: &Key| view.lookup(at).epoch().next();
    view.apply(&match change {
        Change::Split { range, at } => {
            ViewChange::Split { at: *at, lower: epoch(&range.last), upper: epoch(&range.last) }
        }
        Change::Replace { range, before, after } => {
            let old = view.configuration(range).unwrap();
            assert!(old.members().iter().map(|member| member.node).eq(before.iter().map(|member| member.node)));
            let member =
                |new: &VirtualNode| Member { node: new.node, machine: new.machine, incarnation: lives(new.node) };
            let members: Vec<Member> = after.iter().map(member).collect();
            ViewChange::Replace(Configuration::new(*range, old.epoch().next(), members).unwrap())
        }
        Change::Merge { lower, upper } => {
            let highest = view.configuration(lower).unwrap().epoch().max(view.configuration(upper).unwrap().epoch());
            ViewChange::Merge { at: lower.last, epoch: highest.next() }
        }
    })
}

fn contents(view: &View) -> Vec<(fawn_ring::KeyRange, Vec<Member>)> {
    view.configurations().iter().map(|one| (one.range(), one.members().to_vec())).collect()
}

proptest! {
    #[test]
    fn a_join_splits_one_range_and_leaves_the_others((before, newcomer) in ring_and_newcomer()) {
        let after = joined(&before, newcomer);
        let split = before.range_of(&before.owner(&newcomer.id.0).unwrap().id).unwrap();
        let (lower, upper) = split.split(&newcomer.id.0).unwrap();
        let ranges = |ring: &Ring| ring.ranges().map(|(range, _)| range).collect::<Vec<_>>();
        let (old, new) = (ranges(&before), ranges(&after));
        let lost: Vec<_> = old.iter().filter(|range| !new.contains(range)).copied().collect();
        let mut won: Vec<_> = new.iter().filter(|range| !old.contains(range)).copied().collect();
        won.sort_by_key(|range| *range != lower);
        prop_assert_eq!((lost, won), (vec![split], vec![lower, upper]));
    }

    #[test]
    fn a_join_changes_exactly_the_chains_that_it_enters((before, newcomer) in ring_and_newcomer(), r in replicas()) {
        let after = joined(&before, newcomer);
        for (at, old, new) in chains(&before, &after, r) {
            prop_assert_eq!(old != new, new.contains(&newcomer.id), "at {}: {:?}, {:?}", at, old, new);
        }
    }

    #[test]
    fn a_join_drops_at_most_one_member_of_a_chain((before, newcomer) in ring_and_newcomer(), r in replicas()) {
        let after = joined(&before, newcomer);
        for (at, old, mut new) in chains(&before, &after, r) {
            new.retain(|id| *id != newcomer.id);
            let kept: Vec<VirtualId> = old.iter().filter(|id| new.contains(id)).copied().collect();
            prop_assert_eq!(&kept, &new, "at {}", at);
            prop_assert!(old.len() - kept.len() <= 1, "at {}", at);
        }
    }

    #[test]
    fn a_join_changes_neighbouring_ranges_that_end_at_its_own((before, newcomer) in ring_and_newcomer(), r in replicas()) {
        let after = joined(&before, newcomer);
        let mut backwards: Vec<bool> = chains(&before, &after, r).iter().map(|(_, old, new)| old != new).collect();
        let own = after.virtual_nodes().iter().position(|virtual_node| *virtual_node == newcomer).unwrap();
        backwards.rotate_left((own + 1) % after.virtual_nodes().len());
        backwards.reverse();
        let changed = backwards.iter().take_while(|changed| **changed).count();
        prop_assert!(changed >= 1 && backwards[changed..].iter().all(|changed| !changed), "{:?}", backwards);
    }

    #[test]
    fn on_machines_of_their_own_a_virtual_id_joins_the_chains_of_r_ranges(
        places in prop::collection::btree_set(any::<u64>(), 2..40),
        r in replicas(),
    ) {
        let stands = |(n, place): (usize, &u64)| {
            let node = fawn_ring::Node::named(NodeId(n as u64), fawn_ring::MachineId(n as u64), b"", 0);
            let id = VirtualId(Key::lowest_with_prefix(*place));
            VirtualNode { id, node: node.id, machine: node.machine, domain: None }
        };
        let mut virtual_nodes: Vec<VirtualNode> = places.iter().enumerate().map(stands).collect();
        let newcomer = virtual_nodes.swap_remove(virtual_nodes.len() / 2);
        let before = ring(&virtual_nodes);
        let after = joined(&before, newcomer);
        let changed = chains(&before, &after, r).iter().filter(|(_, old, new)| old != new).count();
        prop_assert_eq!(changed, r.min(after.machines()));
        // It is the head of one of these, the tail of one, and in the middle of R-2, unless there are fewer machines.
        let view = View::of(&after, r, lives);
        let count = |is: fn(Role) -> bool| view.roles(newcomer.node).filter(|(_, role)| is(*role)).count();
        let members = r.min(after.machines());
        prop_assert_eq!((count(Role::is_head), count(Role::is_tail)), (1, 1));
        prop_assert_eq!(count(|role| role == Role::Mid), members.saturating_sub(2));
    }

    #[test]
    fn the_plan_for_one_join_is_one_split_and_the_chains_that_it_enters(
        (before, newcomer) in ring_and_newcomer(),
        r in replicas(),
    ) {
        let after = joined(&before, newcomer);
        let plan = changes(&before, &after, r);
        let is_split = |change: &&Change| matches!(change, Change::Split { at, .. } if *at == newcomer.id.0);
        prop_assert_eq!(plan.iter().filter(is_split).count(), 1);
        for change in plan.iter().filter(|change| !is_split(change)) {
            let Change::Replace { after, .. } = change else { panic!("{change:?}") };
            prop_assert!(after.contains(&newcomer));
        }
    }

    #[test]
    fn the_plan_leads_from_any_ring_to_any_other(old in cluster(25), new in cluster(25), keep in any::<u32>(), r in replicas()) {
        // Some of the new ring's places are on the old one, too.
        let (mut old, new) = (old.virtual_nodes(), new.virtual_nodes());
        let is_kept = |count: usize| keep >> (count % 32) & 1 == 1;
        let kept: Vec<_> = new.iter().enumerate().filter(|(count, _)| is_kept(*count)).map(|(_, node)| *node).collect();
        old.retain(|one| kept.iter().all(|other| other.id != one.id && other.machine != one.machine));
        old.extend(kept);
        prop_assume!(!old.is_empty());
        let (before, after) = (ring(&old), ring(&new));
        let plan = changes(&before, &after, r);
        let view = plan.iter().fold(View::of(&before, r, lives), |view, change| apply(&view, change));
        prop_assert_eq!(contents(&view), contents(&View::of(&after, r, lives)));
        prop_assert_eq!(changes(&after, &after, r), []);
    }

    #[test]
    fn a_leave_is_a_join_backwards((without, leaver) in ring_and_newcomer(), r in replicas()) {
        let with = joined(&without, leaver);
        let (join, leave) = (changes(&without, &with, r), changes(&with, &without, r));
        let backwards: Vec<Change> = join
            .into_iter()
            .map(|change| match change {
                Change::Split { range, at } => {
                    let (lower, upper) = range.split(&at).unwrap();
                    Change::Merge { lower, upper }
                }
                Change::Replace { range, before, after } => Change::Replace { range, before: after, after: before },
                Change::Merge { .. } => panic!("a join merges nothing"),
            })
            .collect();
        prop_assert_eq!(leave.len(), backwards.len());
        prop_assert!(backwards.iter().all(|change| leave.contains(change)), "{:?} and {:?}", leave, backwards);
    }
}
