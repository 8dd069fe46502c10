//! Leases: granted by a leader that has confirmed that it leads after it was asked; never to a node that has yet to seal.

use super::effects::Effects;
use super::questions::{QuestionCounter, note};
use super::view::LeaderView;
use crate::ids::{Address, Epoch, Member, RangeId};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use std::collections::BTreeMap;

/// A node that asks for a lease, and the chains that it believes to be active in.
#[derive(Debug)]
pub(super) struct LeaseRequest {
    pub(super) member: Member,
    pub(super) nonce: u64,
    pub(super) active: Vec<(RangeId, Epoch)>,
}

/// The leases of nodes that this leader has granted, or may.
#[derive(Debug, Default)]
pub(super) struct NodeLeases {
    /// Until when a node may have a lease, in each of its lives.
    until_us: BTreeMap<Member, u64>,
    /// Heartbeats that ask for a lease, by the question whether this manager leads.
    asked: BTreeMap<u64, LeaseRequest>,
}

impl NodeLeases {
    /// Nothing was granted, nor asked for.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// A heartbeat asks for a lease. `must_seal`: whether a member gets none before it has sealed.
    pub(super) fn ask(
        &mut self,
        request: LeaseRequest,
        questions: &mut QuestionCounter,
        (must_seal, view): (impl Fn(Member) -> bool, &LeaderView),
        now_us: u64,
        effects: &mut Effects,
    ) {
        let question = questions.next();
        note(&mut self.asked, question, request, view.state().nodes.len());
        if planted(Bug::DeposedLeaderGrants) {
            return self.confirmed(question, (must_seal, view), now_us, effects);
        }
        effects.confirm.push(question);
    }

    /// It led when, or after, it asked this question.
    pub(super) fn confirmed(
        &mut self,
        question: u64,
        (must_seal, view): (impl Fn(Member) -> bool, &LeaderView),
        now_us: u64,
        effects: &mut Effects,
    ) {
        let Some(LeaseRequest { member, nonce, active }) = self.asked.remove(&question) else { return };
        if !view.leads() || !view.state().lives(member) {
            return;
        }
        if must_seal(member) {
            return took(Path::LeaseRefused);
        }
        if is_behind(member, &active, view) {
            return took(Path::LeaseRefusedBehind);
        }
        let leases = view.settings().leases;
        self.until_us.insert(member, now_us + leases.longest_us());
        let message = Message::Lease { incarnation: member.incarnation, nonce, lease_us: leases.shortest_us() };
        effects.send.push((Address::Node(member.node), message));
    }

    /// A life is over, and so is its lease, whoever granted it.
    pub(super) fn end(&mut self, member: Member) {
        self.asked.retain(|_, asked| asked.member != member);
        self.until_us.remove(&member);
    }

    /// Whether the node can have no lease in this life, whoever granted it.
    pub(super) fn has_none(&self, member: Member, view: &LeaderView, now_us: u64) -> bool {
        view.is_over(self.until_us.get(&member).copied(), now_us)
    }
}

/// Whether the node believes to be in a chain that is over. It was left out when its lease had run out, and has yet to
/// hear of it: with a new lease it would show what is old.
fn is_behind(member: Member, active: &[(RangeId, Epoch)], view: &LeaderView) -> bool {
    !planted(Bug::GrantToThoseBehind)
        && active.iter().any(|(range, epoch)| {
            let chain = view.state().ranges.get(range).map(|range| &range.chain);
            chain.is_none_or(|chain| chain.epoch != *epoch || chain.place(member).is_none())
        })
}

#[cfg(test)]
mod tests {
    use super::super::questions::MOST_QUESTIONS;
    use super::super::view::tests::{leading, member};
    use super::*;
    use crate::ids::{Attempt, Position, Seq};
    use crate::manager::{Command, Into};

    /// Whether a node that asks gets a lease once the question is confirmed.
    fn gets(leases: &mut NodeLeases, active: &[(RangeId, Epoch)], must_seal: bool, view: &LeaderView) -> bool {
        let (mut effects, mut questions) = (Effects::default(), QuestionCounter::default());
        let request = LeaseRequest { member: member(1), nonce: 7, active: active.to_vec() };
        leases.ask(request, &mut questions, (|_| must_seal, view), 0, &mut effects);
        assert!(effects.send.is_empty(), "it may lead no longer");
        leases.confirmed(effects.confirm[0], (|_| must_seal, view), 0, &mut effects);
        effects.send.iter().any(|(_, message)| matches!(message, Message::Lease { nonce: 7, .. }))
    }

    #[test]
    fn a_leader_without_a_majority_remembers_so_many_questions_only() {
        let (view, mut leases) = (leading(1, 1), NodeLeases::default());
        let (mut effects, mut questions) = (Effects::default(), QuestionCounter::default());
        for nonce in 0..1000 {
            let request = LeaseRequest { member: member(1), nonce, active: Vec::new() };
            leases.ask(request, &mut questions, (|_| false, &view), nonce, &mut effects);
        }
        assert_eq!(leases.asked.len(), MOST_QUESTIONS);
        // The newest can still be confirmed.
        leases.confirmed(*effects.confirm.last().unwrap(), (|_| false, &view), 1000, &mut effects);
        assert!(effects.send.iter().any(|(_, message)| matches!(message, Message::Lease { nonce: 999, .. })));
    }

    #[test]
    fn whoever_has_yet_to_seal_or_believes_in_an_old_chain_gets_no_lease() {
        let (mut view, mut leases) = (leading(1, 1), NodeLeases::default());
        let (range, attempt, into, after) = (RangeId(2), Attempt(1), Into::Itself, Position::default());
        view.apply(&Command::Begin { range, attempt, target: vec![member(1)], source: None, into }).unwrap();
        view.apply(&Command::Activate { range, attempt, into, after, first: Seq(1) }).unwrap();
        assert!(gets(&mut leases, &[(range, Epoch(1))], false, &view));
        assert!(!gets(&mut leases, &[(range, Epoch(0))], false, &view), "of that epoch it has none");
        assert!(!gets(&mut leases, &[], true, &view));
    }

    #[test]
    fn a_life_that_has_ended_has_no_lease() {
        let (view, mut leases) = (leading(1, 1), NodeLeases::default());
        let now_us = view.settings().leases.longest_us();
        assert!(gets(&mut leases, &[], false, &view));
        leases.until_us.insert(member(1), 2 * now_us);
        assert!(!leases.has_none(member(1), &view, now_us));
        leases.end(member(1));
        assert!(leases.has_none(member(1), &view, now_us));
    }
}
