//! Leases of front-ends on wedges, as [`lease`](super::lease) grants those of nodes.

use super::effects::Effects;
use super::questions::{QuestionCounter, note};
use super::view::LeaderView;
use crate::ids::{Address, FrontMember, Wedge, WedgeEpoch, WedgeId, numbered};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use std::collections::BTreeMap;

/// The leases on wedges that this leader has granted, or may.
#[derive(Debug, Default)]
pub(super) struct WedgeLeases {
    /// Heartbeats that ask for a lease, by the question whether this manager leads.
    asked: BTreeMap<u64, (FrontMember, u64)>,
    /// Until when a front-end may have a lease on a wedge.
    until_us: BTreeMap<(WedgeId, FrontMember), u64>,
}

impl WedgeLeases {
    /// A heartbeat asks for a lease.
    pub(super) fn ask(
        &mut self,
        (member, nonce): (FrontMember, u64),
        questions: &mut QuestionCounter,
        view: &LeaderView,
        now_us: u64,
        effects: &mut Effects,
    ) {
        let question = questions.next();
        note(&mut self.asked, question, (member, nonce), view.state().wedges.fronts.len());
        if planted(Bug::DeposedLeaderGrants) {
            return self.confirmed(question, view, now_us, effects);
        }
        effects.confirm.push(question);
    }

    /// It led when, or after, it asked this question.
    pub(super) fn confirmed(&mut self, question: u64, view: &LeaderView, now_us: u64, effects: &mut Effects) {
        let Some((member, nonce)) = self.asked.remove(&question) else { return };
        let state = view.state();
        if !view.leads() || !state.wedges.lives(member) {
            return;
        }
        let leases = view.settings().leases;
        let (until_us, lease_us) = (now_us + leases.longest_us(), leases.shortest_us());
        let owns = |wedge: &Wedge| wedge.owner == Some(member) && !wedge.released;
        let own = numbered(state.wedges.wedges()).filter(|(_, wedge)| owns(wedge));
        let wedges: Vec<(WedgeId, WedgeEpoch)> = own.map(|(id, wedge)| (id, wedge.epoch)).collect();
        self.until_us.retain(|_, until_us| now_us < *until_us);
        self.until_us.extend(wedges.iter().map(|(id, _)| ((*id, member), until_us)));
        let lease = Message::FrontLease { incarnation: member.incarnation, nonce, lease_us, wedges };
        effects.send.push((Address::Front(member.front), lease));
    }

    /// A front-end has stopped: its leases are no longer waited for.
    pub(super) fn end(&mut self, member: FrontMember) {
        self.asked.retain(|_, (asker, _)| *asker != member);
        self.until_us.retain(|(_, owner), _| *owner != member);
    }

    /// Whether a front-end can have no lease on a wedge, whoever granted it.
    pub(super) fn has_none(&self, wedge: WedgeId, owner: FrontMember, view: &LeaderView, now_us: u64) -> bool {
        view.is_over(self.until_us.get(&(wedge, owner)).copied(), now_us) || planted(Bug::TakeOverWithoutLeaseWait)
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::leading;
    use super::*;
    use crate::ids::{FrontId, Incarnation};
    use crate::manager::Command;

    #[test]
    fn a_lease_names_what_the_front_end_owns_and_ends_with_its_farewell() {
        let (mut view, mut leases) = (leading(1, 1), WedgeLeases::default());
        let owner = FrontMember { front: FrontId(3), incarnation: Incarnation(1) };
        let grant = |wedge| Command::WedgeGrant { wedge: WedgeId(wedge), epoch: WedgeEpoch(1), owner };
        view.cut_wedges(3);
        for command in [Command::FrontRegister { front: owner.front, nonce: 1 }, grant(0), grant(2)] {
            view.apply(&command).unwrap();
        }
        view.apply(&Command::WedgeRelease { wedge: WedgeId(2), epoch: WedgeEpoch(1) }).unwrap();
        let (mut effects, mut questions) = (Effects::default(), QuestionCounter::default());
        let now_us = 2 * view.settings().leases.longest_us();
        leases.ask((owner, 9), &mut questions, &view, now_us, &mut effects);
        assert!(effects.send.is_empty() && leases.has_none(WedgeId(0), owner, &view, now_us));
        leases.confirmed(effects.confirm[0], &view, now_us, &mut effects);
        let [(_, Message::FrontLease { nonce: 9, wedges, .. })] = &effects.send[..] else { panic!("{effects:?}") };
        assert_eq!(wedges, &[(WedgeId(0), WedgeEpoch(1))], "the other one was released");
        assert!(!leases.has_none(WedgeId(0), owner, &view, now_us));
        leases.confirmed(effects.confirm[0], &view, now_us, &mut effects);
        assert_eq!(effects.send.len(), 1, "a question is answered once");
        leases.end(owner);
        assert!(leases.has_none(WedgeId(0), owner, &view, now_us));
    }
}
