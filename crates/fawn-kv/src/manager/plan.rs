//! Who is to be in a chain, and the next step towards it.
//!
//! The ring says who should hold what; a range gets there by itself, a step at a time, each of them one attempt:
//!
//! 1. without members that are gone: what is left of the chain goes on;
//! 2. a learner for whoever is missing, then a chain with it at its place and without the one too many;
//! 3. cut where a place of the ring is inside it, or made one with the next where none is between them any more;
//! 4. a chain of the same members, where others than its rules are set.

use super::connectivity::Connectivity;
use super::liveness::NodeLiveness;
use super::range_proposals::RangeProposals;
use super::state::{Into, State};
use super::view::LeaderView;
use crate::ids::{Ack, Health, Member, NodeId, Position, RangeId};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Report;
use fawn_ring::{Key, Ring, VirtualId};
use std::collections::BTreeMap;

/// An attempt that is to begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NewAttempt {
    /// Whom the chain is to have, head first.
    pub(super) target: Vec<Member>,
    /// Whose log all get; `None`: a range that begins.
    pub(super) source: Option<Member>,
    /// What becomes of the range.
    pub(super) into: Into,
}

impl NewAttempt {
    /// The range stays, with a chain of these.
    fn of(target: Vec<Member>, source: Option<Member>) -> Self {
        Self { target, source, into: Into::Itself }
    }
}

/// The next step for a range.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlanStep {
    /// The range is as it should be.
    None,
    /// Nothing can be done yet.
    Wait,
    /// An attempt begins.
    Begin(NewAttempt),
    /// The learner is told whose log it gets.
    Teach {
        /// Who learns the range.
        learner: Member,
        /// Who has it.
        source: Member,
    },
    /// Another learns the range, or nobody does.
    Learner(Option<Member>),
}

/// Begins an attempt, where there is one to begin.
fn begin_or_wait(new: Option<NewAttempt>) -> PlanStep {
    new.map_or(PlanStep::Wait, PlanStep::Begin)
}

/// Where ranges belong, as of now: by the ring, by whom the leader hears, and by who hears whom.
#[derive(Clone, Copy)]
pub(super) struct Placement<'a> {
    pub(super) view: &'a LeaderView,
    pub(super) liveness: &'a NodeLiveness,
    pub(super) connectivity: &'a Connectivity,
    pub(super) now_us: u64,
}

impl<'a> Placement<'a> {
    pub(super) fn state(&self) -> &'a State {
        self.view.state()
    }

    pub(super) fn is_alive(&self, member: Member) -> bool {
        self.liveness.is_alive(member, self.view, self.now_us)
    }

    fn may_live(&self, member: Member) -> bool {
        self.liveness.may_live(member, self.view, self.now_us)
    }

    /// Whether a member of the chain, or of the one that is to be, may live that this leader has yet to hear.
    pub(super) fn awaits_members(&self, id: RangeId) -> bool {
        let range = &self.state().ranges[&id];
        let target = range.pending.iter().flat_map(|pending| &pending.target);
        range.chain.members.iter().chain(target).any(|member| self.may_live(*member))
    }

    /// What takes the place of an attempt that nothing will come of.
    pub(super) fn mend_or_begin_again(&self, id: RangeId) -> Option<NewAttempt> {
        if self.state().ranges[&id].chain.epoch.0 > 0 { self.mend(id, &self.alive(id)) } else { self.first(id) }
    }

    /// Whose log whoever has none gets: the tail's, which has the least that is not committed; in a weak chain the owner's,
    /// which is what gets have shown. An archive's only where nobody else has it.
    /// Rather one that stays: whoever leaves need not be waited for.
    fn source_of(&self, id: RangeId, alive: &[Member], wanted: &[Member]) -> Option<Member> {
        if self.state().is_weak(id) {
            return alive.first().copied();
        }
        let rank = |member: &Member| (!member.node.is_archive(), wanted.contains(member));
        // Of equals the last.
        alive.iter().max_by_key(|member| rank(member)).copied()
    }

    /// The members of the range's chain that live, in their order. Whoever is cut off from others that live is left out; where
    /// that is so of all, the first goes on alone.
    fn alive(&self, id: RangeId) -> Vec<Member> {
        let members = self.state().ranges[&id].chain.members.iter().copied();
        let mut live: Vec<Member> = members.filter(|member| self.is_alive(*member)).collect();
        let nodes: Vec<NodeId> = live.iter().map(|member| member.node).collect();
        let cut_off = |member: &Member| {
            let cut_off = self.connectivity.is_cut_off(member.node, &nodes);
            if cut_off {
                took(Path::LinkAvoided);
            }
            cut_off
        };
        let usable: Vec<Member> = live.iter().copied().filter(|member| !cut_off(member)).collect();
        if usable.is_empty() {
            live.truncate(1);
            return live;
        }
        let sound: Vec<Member> =
            usable.iter().copied().filter(|member| !self.liveness.is_damaged(id, *member)).collect();
        if sound.is_empty() || sound.len() == usable.len() {
            return usable;
        }
        took(Path::DamagedLeft);
        sound
    }

    /// Whom the ring wants in the range's chain, head first, and who of them lives.
    fn wanted(&self, last: &Key) -> Vec<Member> {
        let count = self.state().settings.replicas as usize;
        let nodes_of = |ring: &Ring| -> Vec<NodeId> {
            let chain = ring.chain_of_key(last, count).unwrap_or_default();
            chain.into_iter().map(|place| place.node).collect()
        };
        let mut nodes = nodes_of(self.view.ring());
        if nodes.iter().any(|node| self.connectivity.is_cut_off(*node, &nodes)) {
            let mut ring = self.view.ring().clone();
            for node in self.connectivity.worse() {
                ring.remove_node(*node);
            }
            nodes = nodes_of(&ring);
        }
        nodes.iter().filter_map(|node| self.liveness.alive_as(*node, self.view, self.now_us)).collect()
    }

    /// The next step for a range for which no attempt is under way, nor any proposed.
    pub(super) fn plan(&self, id: RangeId, proposals: &RangeProposals) -> PlanStep {
        let range = &self.state().ranges[&id];
        let alive = self.alive(id);
        if range.chain.epoch.0 == 0 {
            return begin_or_wait(self.first(id));
        }
        if range.chain.members.iter().any(|member| self.may_live(*member)) {
            return PlanStep::Wait;
        }
        if alive.len() < range.chain.members.len() {
            return begin_or_wait(self.mend(id, &alive));
        }
        let wanted = self.wanted(&range.chain.keys.high);
        if wanted.is_empty() {
            return PlanStep::Wait;
        }
        let mut missing = wanted.iter().filter(|member| range.chain.place(**member).is_none()).peekable();
        if missing.peek().is_some() || range.learner.is_some() {
            let is_complete = missing.peek().is_none();
            let missing = missing.find(|member| self.chain_with(**member, &alive, &wanted).is_some()).copied();
            let can = missing.is_some() || is_complete;
            return if can { self.bring_in(id, missing, &alive, &wanted) } else { PlanStep::Wait };
        }
        if range.chain.members != wanted {
            // Whom the ring wants may not have been heard of yet: until then nobody leaves that is one of enough.
            if wanted.len() < alive.len().min(self.view.replicas()) {
                return PlanStep::Wait;
            }
            let source = self.source_of(id, &alive, &wanted);
            return PlanStep::Begin(NewAttempt::of(wanted, source));
        }
        match self.cut_or_join(id, proposals) {
            PlanStep::None => self.go_by_the_rules(id),
            step => step,
        }
    }

    /// A range that is otherwise as it should be: where its chain does not go by the rules that are set, it begins anew with
    /// them.
    fn go_by_the_rules(&self, id: RangeId) -> PlanStep {
        let chain = &self.state().ranges[&id].chain;
        if chain.rules == self.state().settings.rules || planted(Bug::RulesLinger) {
            return PlanStep::None;
        }
        took(Path::RulesTakeHold);
        let members = chain.members.clone();
        let source = self.source_of(id, &members, &members);
        PlanStep::Begin(NewAttempt::of(members, source))
    }

    /// The first chain of a range, which has nothing in it yet.
    fn first(&self, id: RangeId) -> Option<NewAttempt> {
        if self.state().is_unformed() {
            return None;
        }
        let wanted = self.wanted(&self.state().ranges[&id].chain.keys.high);
        let is_enough = !wanted.is_empty() && wanted.len() >= self.replicas_without_cut_off();
        is_enough.then(|| NewAttempt::of(wanted, None))
    }

    /// Members that a chain is to have while those that are cut off from all others are not waited for.
    fn replicas_without_cut_off(&self) -> usize {
        let mut most = self.view.replicas();
        let cut_off = self.connectivity.cut_off();
        if !cut_off.is_empty() {
            let mut ring = self.view.ring().clone();
            for node in cut_off {
                ring.remove_node(*node);
            }
            most = most.min(ring.machines());
        }
        most
    }

    /// The chain of those who live and one more, head first. Whoever the ring does not want makes room for it, or for others
    /// from whom it is cut off: if it stayed, the next step would be to leave out one of the two. `None`: the chain would
    /// be a shorter one, or it would hold two that are cut off from each other.
    fn chain_with(&self, learner: Member, alive: &[Member], wanted: &[Member]) -> Option<Vec<Member>> {
        let rank = |member: &Member| wanted.iter().position(|other| other == member).unwrap_or(usize::MAX);
        let mut chain = alive.to_vec();
        chain.push(learner);
        chain.sort_by_key(rank);
        let is_cut_off = |member: &Member| wanted.iter().any(|other| self.connectivity.is_cut(member.node, other.node));
        chain.retain(|member| wanted.contains(member) || !is_cut_off(member));
        let replicas = (self.state().settings.replicas as usize).max(1);
        chain.truncate(replicas);
        if chain.iter().any(|member| self.connectivity.is_cut(member.node, learner.node)) {
            return None;
        }
        (chain.len() >= alive.len().min(replicas)).then_some(chain)
    }

    /// Has a missing member learn the range, and takes it in once it lacks nothing.
    fn bring_in(&self, id: RangeId, missing: Option<Member>, alive: &[Member], wanted: &[Member]) -> PlanStep {
        let range = &self.state().ranges[&id];
        let learner = range.learner.filter(|learner| self.is_alive(*learner) && wanted.contains(learner));
        let with = learner.and_then(|learner| Some((learner, self.chain_with(learner, alive, wanted)?)));
        let source = self.source_of(id, alive, wanted).expect("an active chain has members");
        match (with, missing) {
            (Some((learner, target)), Some(_)) if self.liveness.is_caught_up(id, learner) => {
                let source = if planted(Bug::LearnerAsSource) { learner } else { source };
                PlanStep::Begin(NewAttempt::of(target, Some(source)))
            }
            (Some((learner, _)), Some(_)) => PlanStep::Teach { learner, source },
            (_, missing) if missing != range.learner => {
                if range.learner.is_some() && missing.is_some() {
                    took(Path::LearnerGone);
                }
                PlanStep::Learner(missing)
            }
            _ => PlanStep::Wait,
        }
    }

    /// A range whose members are the right ones: cuts it at a place of the ring, or joins it to the next, unless neither is
    /// due.
    fn cut_or_join(&self, id: RangeId, proposals: &RangeProposals) -> PlanStep {
        let range = &self.state().ranges[&id];
        let (keys, members) = (range.chain.keys, range.chain.members.clone());
        let source = self.source_of(id, &members, &members).expect("an active chain has members");
        let places = self.view.ring().virtual_nodes();
        let from = places.partition_point(|place| place.id.0 < keys.low);
        let to = places.partition_point(|place| place.id.0 < keys.high);
        if from < to {
            // The middle one, so that many are made in few rounds.
            let at = places[from + (to - from) / 2].id.0;
            return PlanStep::Begin(NewAttempt { target: members, source: Some(source), into: Into::Split { at } });
        }
        if keys.high == Key::MAX || self.view.ring().get(&VirtualId(keys.high)).is_some() {
            return PlanStep::None;
        }
        let Some(next) = self.state().next_to(id) else { return PlanStep::None };
        let upper = &self.state().ranges[&next];
        let quiet = upper.pending.is_none() && upper.learner.is_none() && !proposals.contains(next);
        if quiet && upper.chain.members == members && self.wanted(&upper.chain.keys.high) == members {
            let into = Into::Merge { upper: next };
            return PlanStep::Begin(NewAttempt { target: members, source: Some(source), into });
        }
        PlanStep::Wait
    }

    /// Members of the chain are gone; `alive` are not.
    fn mend(&self, id: RangeId, alive: &[Member]) -> Option<NewAttempt> {
        if let Some(source) = self.source_of(id, alive, alive) {
            took(Path::Mended);
            return Some(NewAttempt::of(alive.to_vec(), Some(source)));
        }
        // Nobody of the chain lives as the member that it was. Whoever was a member, and lives again, has everything
        // that was acknowledged.
        let chain = &self.state().ranges[&id].chain;
        let mut back: Vec<(Position, Member)> = Vec::new();
        // Archives that rested have acknowledged what they may have lost.
        let mut is_sure = false;
        let nodes: Vec<NodeId> = if planted(Bug::ReviveFromAnyone) {
            self.liveness.nodes().collect()
        } else {
            chain.members.iter().map(|old| old.node).collect()
        };
        for old in nodes {
            let Some(member) = self.liveness.alive_as(old, self.view, self.now_us) else { continue };
            let report = self.reports(old).and_then(|reports| reports.get(&id));
            let any = planted(Bug::ReviveFromAnyone);
            if let Some(report) = report.filter(|report| report.held >= Some(chain.attempt) || any) {
                is_sure |= report.health == Health::Sound || !member.node.is_archive();
                back.push((report.last, member));
            }
        }
        // Where not all is synced that was acknowledged, one that is missing may have more.
        let is_missing = |member: &Member| {
            self.reports(member.node).is_none_or(|reports| {
                // It has yet to hear what the range comes of, and has that.
                let parent =
                    |range: &RangeId| self.state().over.get(range).is_some_and(|over| over.ranges.contains(&id));
                reports.keys().any(parent)
            })
        };
        // In a weak chain each has what the others may lack: they are waited for while they may still come.
        let is_gone = |member: &Member| self.liveness.is_gone(member.node, self.view, self.now_us);
        let waits_for = |member: &Member| {
            let is_unsure = chain.rules.ack == Ack::Replicated || !is_sure;
            (is_unsure || (chain.is_weak() && !is_gone(member))) && is_missing(member)
        };
        if chain.members.iter().any(waits_for) && !planted(Bug::RevivesEarly) {
            return None;
        }
        let rank = |(last, member): &&(Position, Member)| (*last, !member.node.is_archive(), *member);
        let longest = if chain.is_weak() { back.first() } else { back.iter().max_by_key(rank) };
        let (_, source) = longest.copied()?;
        took(Path::Revived);
        let target = back.into_iter().map(|(_, member)| member).collect();
        Some(NewAttempt::of(target, Some(source)))
    }

    /// What a node that lives says of its ranges.
    fn reports(&self, node: NodeId) -> Option<&'a BTreeMap<RangeId, Report>> {
        self.liveness.reports(node, self.view, self.now_us)
    }
}

#[cfg(test)]
mod tests {
    use super::super::liveness::tests::beat;
    use super::super::state::Command;
    use super::super::view::tests::{leading, member};
    use super::*;
    use crate::ids::{Attempt, Seq};

    /// The next step for each range, one second after these nodes were heard for the first time.
    fn steps(view: &LeaderView, alive: &[u64]) -> Vec<PlanStep> {
        let (mut liveness, now_us) = (NodeLiveness::default(), 2 * view.timing().dead_us);
        for node in alive {
            beat(&mut liveness, *node, view, now_us);
        }
        let placement = Placement { view, liveness: &liveness, connectivity: &Connectivity::default(), now_us };
        let ranges = view.state().ranges.keys();
        ranges.map(|range| placement.plan(*range, &RangeProposals::default())).collect()
    }

    /// Every range gets a first chain of these.
    fn activate(view: &mut LeaderView, members: &[u64]) {
        for range in view.state().ranges.keys().copied().collect::<Vec<_>>() {
            let last = view.state().ranges[&range].chain.keys.high;
            let wanted = view.ring().chain_of_key(&last, members.len()).unwrap();
            let mut target: Vec<Member> = members.iter().map(|node| member(*node)).collect();
            target.sort_by_key(|member| wanted.iter().position(|place| place.node == member.node));
            let (attempt, into, after) = (Attempt(1), Into::Itself, Position::default());
            view.apply(&Command::Begin { range, attempt, target, source: None, into }).unwrap();
            view.apply(&Command::Activate { range, attempt, into, after, first: Seq(1) }).unwrap();
        }
    }

    #[test]
    fn a_first_chain_waits_for_all_that_the_ring_wants() {
        let view = leading(2, 2);
        assert!(steps(&view, &[1]).iter().all(|step| *step == PlanStep::Wait));
        let begins =
            |step: &PlanStep| matches!(step, PlanStep::Begin(new) if new.target.len() == 2 && new.source.is_none());
        assert!(steps(&view, &[1, 2]).iter().all(begins));
    }

    #[test]
    fn a_chain_goes_on_without_a_member_that_is_gone_and_nothing_is_done_where_all_is_as_it_should_be() {
        let mut view = leading(2, 2);
        activate(&mut view, &[1, 2]);
        assert!(steps(&view, &[1, 2]).iter().all(|step| *step == PlanStep::None));
        let alone = NewAttempt::of(vec![member(2)], Some(member(2)));
        assert!(steps(&view, &[2]).iter().all(|step| matches!(step, PlanStep::Begin(new) if *new == alone)));
        assert!(steps(&view, &[]).iter().all(|step| *step == PlanStep::Wait));
    }

    #[test]
    fn an_archive_is_copied_from_only_where_nobody_else_has_the_range() {
        let archive = |node| node | NodeId::ARCHIVE;
        let mut view = leading(2, 2);
        activate(&mut view, &[1, 2]);
        let placement = |view: &LeaderView, alive: &[Member], wanted: &[Member]| {
            let (liveness, connectivity) = (NodeLiveness::default(), Connectivity::default());
            let placement = Placement { view, liveness: &liveness, connectivity: &connectivity, now_us: 0 };
            placement.source_of(RangeId(1), alive, wanted)
        };
        let (serving, leaves, slow) = (member(1), member(2), member(archive(3)));
        let source = |alive: &[Member], wanted: &[Member]| placement(&view, alive, wanted);
        assert_eq!(source(&[serving, slow], &[serving, slow]), Some(serving));
        assert_eq!(source(&[leaves, slow], &[serving, slow]), Some(leaves), "it goes, but has it still");
        assert_eq!(source(&[slow, member(archive(4))], &[slow]), Some(slow));
        assert_eq!(source(&[serving, leaves], &[serving, leaves]), Some(leaves), "the tail has the least under way");
    }

    #[test]
    fn whoever_is_missing_learns_the_range_first() {
        let mut view = leading(2, 1);
        activate(&mut view, &[1]);
        let ranges = view.state().ranges.keys().copied();
        for (range, step) in ranges.zip(steps(&view, &[1, 2])).collect::<Vec<_>>() {
            if step == PlanStep::None {
                continue;
            }
            assert_eq!(step, PlanStep::Learner(Some(member(2))));
            view.apply(&Command::Learner { range, learner: Some(member(2)) }).unwrap();
        }
        let teach = PlanStep::Teach { learner: member(2), source: member(1) };
        assert!(steps(&view, &[1, 2]).contains(&teach));
    }
}
