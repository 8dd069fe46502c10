//! Leases: granted by a leader that has confirmed that it leads after it was asked; never to a node that has yet to seal.

use super::leader::{Effects, Manager};
use super::questions::{LeaseRequest, note};
use crate::ids::{Address, Epoch, Member, RangeId};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;

impl Manager {
    /// A heartbeat asks for a lease.
    pub(super) fn ask_for_lease(&mut self, asked: LeaseRequest, now_us: u64, effects: &mut Effects) {
        let question = self.next_question;
        self.next_question += 1;
        note(&mut self.asked, question, asked, self.state.nodes.len());
        if planted(Bug::DeposedLeaderGrants) {
            return self.confirmed(now_us, question, effects);
        }
        effects.confirm.push(question);
    }

    /// It led when, or after, it asked this question.
    pub fn confirmed(&mut self, now_us: u64, question: u64, effects: &mut Effects) {
        self.confirmed_for_front(now_us, question, effects);
        let Some(LeaseRequest { member, nonce, active }) = self.asked.remove(&question) else { return };
        if !self.leads() || !self.state.lives(member) {
            return;
        }
        if self.must_seal(member) {
            return took(Path::LeaseRefused);
        }
        if self.is_behind(member, &active) {
            return took(Path::LeaseRefusedBehind);
        }
        let leases = self.state.settings.leases;
        self.leases.insert(member, now_us + leases.longest_us());
        let message = Message::Lease { incarnation: member.incarnation, nonce, lease_us: leases.shortest_us() };
        effects.send.push((Address::Node(member.node), message));
    }

    /// Whether a chain that the node is in is being changed, and it has not said yet that it answers no more reads in it.
    fn must_seal(&self, member: Member) -> bool {
        if planted(Bug::GrantWhileSealing) {
            return false;
        }
        let ranges = self.state.by_node.get(&member.node).into_iter().flatten();
        ranges.filter(|id| self.state.under_way.contains(id)).any(|id| {
            let sealed = self.drives.get(id).is_some_and(|drive| drive.sealed.contains_key(&member));
            self.state.ranges[id].chain.place(member).is_some() && !sealed
        })
    }

    /// Whether the node believes to be in a chain that is over. It was left out when its lease had run out, and has yet to
    /// hear of it: with a new lease it would show what is old.
    fn is_behind(&self, member: Member, active: &[(RangeId, Epoch)]) -> bool {
        !planted(Bug::GrantToThoseBehind)
            && active.iter().any(|(range, epoch)| {
                let chain = self.state.ranges.get(range).map(|range| &range.chain);
                chain.is_none_or(|chain| chain.epoch != *epoch || chain.place(member).is_none())
            })
    }

    /// Whether the node can have no lease in this life, whoever granted it.
    pub(super) fn has_no_lease(&self, member: Member, now_us: u64) -> bool {
        self.is_over(self.leases.get(&member).copied(), now_us)
    }

    /// Whether a lease that this leader granted until then, or not at all, is over, whoever else granted it.
    pub(super) fn is_over(&self, granted: Option<u64>, now_us: u64) -> bool {
        let granted = granted.unwrap_or(0);
        if planted(Bug::NewLeaderDoesNotWait) {
            return now_us >= granted;
        }
        let inherited = self.leads_since_us.expect("only a leader asks") + self.state.settings.leases.longest_us();
        now_us >= granted.max(inherited)
    }
}

#[cfg(test)]
mod tests {
    use super::super::questions::MOST_QUESTIONS;
    use super::*;
    use crate::ids::{ClusterId, NodeId, Rules};
    use crate::manager::{Command, Leases, Settings};
    use crate::timing::Timing;
    use fawn_ring::MachineId;

    const CLUSTER: ClusterId = ClusterId([1; 16]);

    #[test]
    fn a_leader_without_a_majority_remembers_so_many_questions_only() {
        let settings = Settings { replicas: 1, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
        let mut manager = Manager::new(Timing::default(), settings, CLUSTER).unwrap();
        manager.lead(0, true);
        let (node, machine, mut effects) = (NodeId(1), MachineId(1), Effects::default());
        let register = Command::Register { node, nonce: 1, machine, domain: None, virtual_ids: 1 };
        for command in [Command::Found(CLUSTER), register] {
            manager.committed(0, &command, &mut effects);
        }
        let member = Member { node, incarnation: manager.state().nodes[&node].incarnation };
        for nonce in 0..1000 {
            let (reports, silent) = (Vec::new(), Vec::new());
            manager.receive(
                nonce,
                Message::Heartbeat { cluster: CLUSTER, member, nonce, reports, silent },
                &mut effects,
            );
        }
        assert_eq!(manager.asked.len(), MOST_QUESTIONS);
        // The newest can still be confirmed.
        effects.send.clear();
        manager.confirmed(1000, *effects.confirm.last().unwrap(), &mut effects);
        assert!(effects.send.iter().any(|(_, message)| matches!(message, Message::Lease { nonce: 999, .. })));
    }
}
