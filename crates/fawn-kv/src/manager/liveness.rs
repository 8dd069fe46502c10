//! Which nodes are alive and which are dead: when the leader heard each last, and what they say of their ranges.

use super::connectivity::Connectivity;
use super::state::{Command, Standing};
use super::view::LeaderView;
use crate::ids::{Health, Incarnation, Member, NodeId, RangeId};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Report;
use std::collections::BTreeMap;

/// What was heard of a node last.
#[derive(Debug)]
struct NodeContact {
    member: Member,
    /// Since when it is heard without a break as long as makes it dead; 0 if this manager has not led for long enough to
    /// know.
    since_us: u64,
    at_us: u64,
    reports: BTreeMap<RangeId, Report>,
}

/// The nodes that this leader has heard.
#[derive(Debug, Default)]
pub(super) struct NodeLiveness {
    heard: BTreeMap<NodeId, NodeContact>,
    /// Nodes whose present life began while this manager leads.
    registered: BTreeMap<NodeId, Incarnation>,
}

impl NodeLiveness {
    /// Nothing is known.
    pub(super) fn clear(&mut self) {
        self.heard.clear();
        self.registered.clear();
    }

    /// A node has begun another life.
    pub(super) fn register(&mut self, node: NodeId, incarnation: Incarnation) {
        self.registered.insert(node, incarnation);
    }

    /// What was heard of a node does not count any more.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.heard.remove(&node);
    }

    /// A member says that it lives, what it has, and which neighbours it does not hear.
    pub(super) fn note_heartbeat(
        &mut self,
        member: Member,
        (reports, silent): (Vec<Report>, Vec<NodeId>),
        connectivity: &mut Connectivity,
        view: &LeaderView,
        now_us: u64,
    ) {
        if self.of(member).is_none() {
            let is_long = |other: &&NodeId| **other != member.node && self.is_heard_long(**other, view, now_us);
            let others: Vec<NodeId> = self.heard.keys().filter(is_long).copied().collect();
            connectivity.begin_anew(member.node, &others);
        }
        let since_us = self.heard_since(member, view, now_us);
        for other in silent {
            if self.is_heard_long(other, view, now_us) {
                connectivity.note_silent(member.node, other, view, now_us);
            }
        }
        let reports = reports.into_iter().map(|report| (report.range, report)).collect();
        self.heard.insert(member.node, NodeContact { member, since_us, at_us: now_us, reports });
    }

    /// Since when a member that says that it lives has been heard without a break; another life of a node begins with
    /// nothing.
    fn heard_since(&self, member: Member, view: &LeaderView, now_us: u64) -> u64 {
        let before = self.of(member);
        let is_new = self.registered.get(&member.node) == Some(&member.incarnation);
        let may_be_old = before.is_none() && !is_new && self.may_live(member, view, now_us);
        let goes_on = before.filter(|heard| now_us < heard.at_us + view.timing().dead_us);
        goes_on.map_or(if may_be_old { 0 } else { now_us }, |heard| heard.since_us)
    }

    /// What was heard of a node in this life.
    fn of(&self, member: Member) -> Option<&NodeContact> {
        self.heard.get(&member.node).filter(|heard| heard.member == member)
    }

    /// What was heard of a node that lives.
    fn of_alive(&self, node: NodeId, view: &LeaderView, now_us: u64) -> Option<&NodeContact> {
        self.heard.get(&node).filter(|heard| self.is_alive(heard.member, view, now_us))
    }

    /// Whether a node was ever heard.
    pub(super) fn has(&self, node: NodeId) -> bool {
        self.heard.contains_key(&node)
    }

    /// All that were heard.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.heard.keys().copied()
    }

    pub(super) fn is_alive(&self, member: Member, view: &LeaderView, now_us: u64) -> bool {
        let is_heard = |heard: &NodeContact| now_us < heard.at_us + view.timing().dead_us;
        view.state().lives(member) && self.of(member).is_some_and(is_heard)
    }

    /// The members that live, in the order of nodes.
    pub(super) fn alive(&self, view: &LeaderView, now_us: u64) -> Vec<Member> {
        let heard = self.heard.values().map(|heard| heard.member);
        heard.filter(|member| self.is_alive(*member, view, now_us)).collect()
    }

    /// The life that a node has, if it lives.
    pub(super) fn alive_as(&self, node: NodeId, view: &LeaderView, now_us: u64) -> Option<Member> {
        self.of_alive(node, view, now_us).map(|heard| heard.member)
    }

    /// What a node that lives says of its ranges.
    pub(super) fn reports(&self, node: NodeId, view: &LeaderView, now_us: u64) -> Option<&BTreeMap<RangeId, Report>> {
        self.of_alive(node, view, now_us).map(|heard| &heard.reports)
    }

    /// Since when a node is heard without a break; 0 if it was not heard, or perhaps since before this manager leads.
    pub(super) fn since_us(&self, node: NodeId) -> u64 {
        self.heard.get(&node).map_or(0, |heard| heard.since_us)
    }

    /// Whether a node lives, and has for so long that others would hear it by now if they could.
    pub(super) fn is_heard_long(&self, node: NodeId, view: &LeaderView, now_us: u64) -> bool {
        let heard = self.of_alive(node, view, now_us);
        heard.is_some_and(|heard| heard.since_us == 0 || now_us >= heard.since_us + 2 * view.timing().silent_us)
    }

    /// Whether there are other nodes that would have answered a node by now if they could. One that has just come, and that
    /// nobody is connected to yet, is none: those that were there before must not make room for it. A leader that has just
    /// begun cannot tell the two apart, and waits.
    pub(super) fn has_others_heard_long(&self, node: NodeId, view: &LeaderView, now_us: u64) -> bool {
        if planted(Bug::NewcomerIsHeardLong) {
            return true;
        }
        let leads_long = view.has_led_for(2 * view.timing().silent_us, now_us);
        leads_long && self.heard.keys().any(|other| *other != node && self.is_heard_long(*other, view, now_us))
    }

    /// Whether a member may live although this leader has not heard it: it has not led for long enough to know.
    pub(super) fn may_live(&self, member: Member, view: &LeaderView, now_us: u64) -> bool {
        let is_new = !view.has_led_for(view.timing().dead_us, now_us);
        self.of(member).is_none() && is_new && view.state().lives(member)
    }

    /// Whether a node was not heard of for so long that it is not waited for.
    pub(super) fn is_gone(&self, node: NodeId, view: &LeaderView, now_us: u64) -> bool {
        let since_us = view.leads_since_us().unwrap_or(now_us);
        let last = self.heard.get(&node).map_or(since_us, |heard| heard.at_us);
        now_us >= last + view.timing().gone_us
    }

    /// Whoever was not heard of for long loses its places, and whoever is back gets them again.
    pub(super) fn standings(&self, view: &LeaderView, now_us: u64) -> Vec<Command> {
        // Where no other machine could take its places, whoever is away keeps them, and what it has of its ranges.
        let mut may_go = view.ring().machines() > view.settings().replicas as usize;
        let mut commands = Vec::new();
        for (id, node) in &view.state().nodes {
            let is_gone = self.is_gone(*id, view, now_us);
            if is_gone && node.standing == Standing::Member && !std::mem::take(&mut may_go) {
                continue;
            }
            let standing = if is_gone { Standing::Gone } else { Standing::Member };
            let was = if is_gone { Standing::Member } else { Standing::Gone };
            if node.standing == was && (is_gone || self.has(*id)) {
                let (node, incarnation) = (*id, node.incarnation);
                commands.push(Command::Stand { node, incarnation, standing });
            }
        }
        commands
    }

    /// Whether a node has said that it cannot read some of its copy.
    pub(super) fn is_damaged(&self, range: RangeId, member: Member) -> bool {
        let report = self.of(member).and_then(|heard| heard.reports.get(&range));
        report.is_some_and(|report| report.health == Health::Damaged) && !planted(Bug::DamagedStays)
    }

    /// Whether a learner lacks nothing of a range.
    pub(super) fn is_caught_up(&self, range: RangeId, learner: Member) -> bool {
        let report = self.of(learner).and_then(|heard| heard.reports.get(&range));
        report.is_some_and(|report| report.caught_up)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::view::tests::{leading, member};
    use super::*;
    use crate::ids::{Epoch, Position};

    /// A heartbeat that says nothing.
    pub(in super::super) fn beat(liveness: &mut NodeLiveness, node: u64, view: &LeaderView, now_us: u64) {
        let said = (Vec::new(), Vec::new());
        liveness.note_heartbeat(member(node), said, &mut Connectivity::default(), view, now_us);
    }

    #[test]
    fn a_member_lives_for_a_while_after_it_was_heard() {
        let (view, mut liveness) = (leading(2, 1), NodeLiveness::default());
        let dead_us = view.timing().dead_us;
        assert!(liveness.may_live(member(1), &view, dead_us - 1), "this leader may not have had time to hear it");
        assert!(!liveness.may_live(member(1), &view, dead_us) && !liveness.is_alive(member(1), &view, dead_us));
        beat(&mut liveness, 1, &view, dead_us);
        assert!(liveness.is_alive(member(1), &view, 2 * dead_us - 1));
        assert!(!liveness.is_alive(member(1), &view, 2 * dead_us));
        assert_eq!(liveness.alive(&view, dead_us), [member(1)]);
        let other_life = Member { incarnation: Incarnation(2), ..member(1) };
        assert!(!liveness.is_alive(other_life, &view, dead_us));
        liveness.forget(NodeId(1));
        assert!(!liveness.has(NodeId(1)));
    }

    #[test]
    fn a_break_begins_a_new_series_of_heartbeats() {
        let (view, mut liveness) = (leading(2, 1), NodeLiveness::default());
        let start_us = 2 * view.timing().dead_us;
        let long_us = 2 * view.timing().silent_us;
        for now_us in (start_us..start_us + long_us).step_by(100_000) {
            assert!(!liveness.is_heard_long(NodeId(1), &view, now_us));
            beat(&mut liveness, 1, &view, now_us);
        }
        let now_us = start_us + long_us;
        assert!(liveness.is_heard_long(NodeId(1), &view, now_us));
        assert!(liveness.has_others_heard_long(NodeId(2), &view, now_us));
        assert!(!liveness.has_others_heard_long(NodeId(1), &view, now_us), "it is no other");
        beat(&mut liveness, 1, &view, now_us + view.timing().dead_us);
        assert_eq!(liveness.since_us(NodeId(1)), now_us + view.timing().dead_us);
    }

    #[test]
    fn whoever_is_away_for_long_loses_its_places_one_at_a_time_and_gets_them_back() {
        let (mut view, mut liveness) = (leading(3, 1), NodeLiveness::default());
        let gone_us = view.timing().gone_us;
        beat(&mut liveness, 3, &view, gone_us);
        let stand = |node, standing| Command::Stand { node: NodeId(node), incarnation: Incarnation(1), standing };
        let commands = liveness.standings(&view, gone_us);
        assert_eq!(commands, [stand(1, Standing::Gone)]);
        view.apply(&commands[0]).unwrap();
        beat(&mut liveness, 1, &view, gone_us);
        assert_eq!(liveness.standings(&view, gone_us), [stand(1, Standing::Member), stand(2, Standing::Gone)]);
    }

    #[test]
    fn a_member_is_known_by_what_it_reports_last() {
        let (view, mut liveness) = (leading(1, 1), NodeLiveness::default());
        let range = RangeId(2);
        let mut report = |health, caught_up| {
            let report = Report { range, last: Position::default(), held: None, caught_up, epoch: Epoch(0), health };
            let said = (vec![report], Vec::new());
            liveness.note_heartbeat(member(1), said, &mut Connectivity::default(), &view, 0);
            (liveness.is_damaged(range, member(1)), liveness.is_caught_up(range, member(1)))
        };
        assert_eq!(report(Health::Damaged, false), (true, false));
        assert_eq!(report(Health::Sound, true), (false, true));
        assert!(liveness.reports(NodeId(1), &view, 0).unwrap().contains_key(&range));
    }
}
