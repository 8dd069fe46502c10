//! Wedges near their keys: a front-end that is in one seat with the node that answers for a wedge's keys asks it in memory, so
//! that a get that its cache cannot answer costs no message more than one that a node answers by itself.
//!
//! How many wedges each front-end has goes before it: they are dealt out evenly, and only who has which is chosen. So where
//! nodes answer for more keys than their share, some wedges stay far. While nothing else is to be done a few at a time change
//! places, each pair of them such that one comes near its keys and none goes further away; that ends, as every step leaves more
//! near. A wedge on its way is served as ever, but for two seconds without its cache.

use super::state::{Command, State};
use crate::ids::{Address, FrontId, FrontMember, SeatId, Wedge, WedgeId, numbered};
use fawn_ring::Interval;
use std::collections::{BTreeMap, BTreeSet};

/// All has to be as it should be for so long before wedges change places.
const CALM_US: u64 = 5_000_000;

/// One of so many wedges may be on its way at a time.
const PART: usize = 4;

impl State {
    /// The front-end in the seat of the node that answers for the middle of these keys, if there is one of those that live.
    pub(super) fn nearest(&self, keys: &Interval, alive: &BTreeMap<FrontMember, usize>) -> Option<FrontMember> {
        let middle = keys.divide(2).first()?.high;
        let (_, range) = self.by_last.range(middle..).next()?;
        let chain = &self.ranges.get(range)?.chain;
        if chain.members.is_empty() || !chain.keys.contains(&middle) {
            return None;
        }
        let seat = SeatId::of(Address::Node(chain.reader().node))?;
        let front = FrontId(seat.0);
        alive.keys().find(|member| member.front == front).copied()
    }

    /// Releases wedges that are far from their keys, and others in their place.
    fn draw_near(&self, loads: &BTreeMap<FrontMember, usize>) -> Vec<Command> {
        let wedges = self.wedges.wedges();
        let owned =
            numbered(wedges).filter_map(|(id, wedge)| Some((id, wedge.owner?, self.nearest(&wedge.keys, loads))));
        let far: Vec<(WedgeId, FrontMember, Option<FrontMember>)> =
            owned.filter(|(_, owner, near)| *near != Some(*owner)).collect();
        let most = (wedges.len() / PART).max(2);
        let (mut loads, mut moved) = (loads.clone(), BTreeSet::new());
        for (id, owner, near) in &far {
            let Some(near) = near.filter(|_| moved.len() + 2 <= most && !moved.contains(id)) else { continue };
            let (here, there) = (loads[owner], loads[&near]);
            if there < here {
                loads.insert(*owner, here - 1);
                loads.insert(near, there + 1);
                moved.insert(*id);
                continue;
            }
            // What the other one gives for it is as far from it, and rather near to this one.
            let gives = |(other, of, _): &&(WedgeId, FrontMember, _)| *of == near && !moved.contains(other);
            let given = far.iter().filter(gives).max_by_key(|(.., wants)| *wants == Some(*owner));
            if let Some((other, ..)) = given {
                moved.extend([*id, *other]);
            }
        }
        let release = |wedge: WedgeId| {
            let Wedge { epoch, .. } = wedges[wedge.0 as usize];
            Command::WedgeRelease { wedge, epoch }
        };
        moved.into_iter().map(release).collect()
    }
}

/// When wedges change places: once nothing else was to be done for long enough.
#[derive(Debug, Default)]
pub(super) struct WedgeLocality {
    calm_since_us: Option<u64>,
}

impl WedgeLocality {
    /// Something else is to be done.
    pub(super) fn disturb(&mut self) {
        self.calm_since_us = None;
    }

    /// Nothing else is to be done. Has wedges change places, when that has been so for long enough.
    pub(super) fn draw_near_when_calm(
        &mut self,
        loads: &BTreeMap<FrontMember, usize>,
        state: &State,
        now_us: u64,
    ) -> Vec<Command> {
        let since_us = *self.calm_since_us.get_or_insert(now_us);
        if now_us < since_us + CALM_US {
            return Vec::new();
        }
        self.calm_since_us = None;
        state.draw_near(loads)
    }
}

#[cfg(test)]
mod tests {
    use super::super::wedges::tests::Bench;
    use super::*;
    use crate::ids::{Attempt, Incarnation, Member, NodeId, Position, RangeId, Seq};
    use crate::manager::Into;
    use fawn_ring::MachineId;

    /// A cluster of two seats, 0 and 1, that have a node and a front-end each; the nodes are alone in the chains of the ranges,
    /// as `answers` says. The wedges were dealt out before there were ranges.
    fn bench(wedges: u32, answers: impl Fn(usize) -> u64) -> Bench {
        let mut bench = Bench::new(wedges);
        bench.start(0, 0, 1);
        bench.start(0, 1, 2);
        bench.run(0, 1_000_000, &[0, 1]);
        let incarnation = Incarnation(1);
        let register = |node| {
            let (node, machine) = (NodeId(node), MachineId(node));
            Command::Register { node, nonce: 1, machine, domain: None, virtual_ids: 8 }
        };
        bench.decide(vec![register(0), register(1), Command::Form]);
        let ranges: Vec<RangeId> = bench.manager.state().by_last.values().copied().collect();
        for (at, range) in ranges.into_iter().enumerate() {
            let (attempt, into, source) = (Attempt(1), Into::Itself, None);
            let target = vec![Member { node: NodeId(answers(at)), incarnation }];
            let (after, first) = (Position::default(), Seq(1));
            let begin = Command::Begin { range, attempt, target, source, into };
            bench.decide(vec![begin, Command::Activate { range, attempt, into, after, first }]);
        }
        bench
    }

    /// Wedges that are near their keys, and how many each front-end has.
    fn near(bench: &Bench) -> (usize, Vec<usize>) {
        let loads = bench.loads();
        let wedges = bench.manager.state().wedges.wedges();
        let is_near = |wedge: &&Wedge| wedge.owner == bench.manager.state().nearest(&wedge.keys, &loads);
        (wedges.iter().filter(is_near).count(), loads.into_values().collect())
    }

    /// Has wedges change places until none does any more; how often they did.
    fn change_places(bench: &mut Bench) -> usize {
        for round in 0..100 {
            let loads = bench.loads();
            let releases = bench.manager.state().draw_near(&loads);
            assert!(releases.len() <= (bench.manager.state().wedges.wedges().len() / PART).max(2));
            if releases.is_empty() {
                return round;
            }
            let before = near(bench).0;
            bench.decide(releases);
            bench.run(bench.now_us, bench.now_us + 3_000_000, &[0, 1]);
            assert!(near(bench).0 > before, "every step leaves more of them near");
        }
        panic!("it does not end");
    }

    #[test]
    fn a_disturbance_begins_the_wait_again() {
        let (bench, mut locality) = (bench(32, |at| at as u64 % 2), WedgeLocality::default());
        let (state, loads) = (bench.manager.state(), bench.loads());
        let moves = |locality: &mut WedgeLocality, now_us| locality.draw_near_when_calm(&loads, state, now_us).len();
        assert_eq!(moves(&mut locality, 0), 0);
        locality.disturb();
        assert_eq!(moves(&mut locality, CALM_US), 0);
        assert!(moves(&mut locality, 2 * CALM_US) > 0);
        assert_eq!(moves(&mut locality, 2 * CALM_US), 0, "these have to arrive first");
    }

    #[test]
    fn wedges_come_near_their_keys_and_stay_dealt_out_evenly() {
        let mut bench = bench(32, |at| at as u64 % 2);
        assert!(change_places(&mut bench) > 0);
        let (near, loads) = near(&bench);
        assert_eq!(loads, [16, 16]);
        let wedges = bench.manager.state().wedges.wedges();
        let alive = bench.loads();
        let mut wanted = BTreeMap::new();
        for wedge in wedges {
            *wanted.entry(bench.manager.state().nearest(&wedge.keys, &alive)).or_insert(0_usize) += 1;
        }
        let possible: usize = wanted.values().map(|count| *count.min(&16)).sum();
        assert_eq!(near, possible, "all that can be: {wanted:?}");
    }

    #[test]
    fn who_answers_for_everything_gets_no_more_wedges_than_its_share() {
        let mut bench = bench(9, |_| 1);
        assert!(change_places(&mut bench) > 0);
        let (near, loads) = near(&bench);
        assert_eq!((near, loads), (5, vec![4, 5]));
    }

    #[test]
    fn wedges_stay_where_they_are_while_ranges_change() {
        let mut bench = bench(32, |at| at as u64 % 2);
        let owners = bench.owners();
        // Nobody has heard the nodes: the manager has their ranges on its mind.
        assert!(!bench.manager.is_settled());
        assert!(!bench.manager.state().draw_near(&bench.loads()).is_empty(), "some would come nearer");
        bench.run(1_000_000, 10_000_000, &[0, 1]);
        assert_eq!(bench.owners(), owners);
    }
}
