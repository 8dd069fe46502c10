//! Leases: granted by a leader that has confirmed that it leads after it was asked; never to a node that has yet to seal.

use super::lead::{Effects, Manager};
use crate::ids::{Address, Member};
use crate::message::Message;

impl Manager {
    /// A heartbeat asks for a lease.
    pub(super) fn ask_for_lease(&mut self, member: Member, nonce: u64, effects: &mut Effects) {
        let question = self.next_question;
        self.next_question += 1;
        self.asked.insert(question, (member, nonce));
        effects.confirm.push(question);
    }

    /// It led when, or after, it asked this question.
    pub fn confirmed(&mut self, now_us: u64, question: u64, effects: &mut Effects) {
        let Some((member, nonce)) = self.asked.remove(&question) else { return };
        if !self.leads() || !self.state.lives(member) || self.must_seal(member) {
            return;
        }
        self.leases.insert(member, now_us + self.longest_lease_us());
        let message = Message::Lease { incarnation: member.incarnation, nonce };
        effects.send.push((Address::Node(member.node), message));
    }

    /// Whether a chain that the node is in is being changed, and it has not said yet that it answers no more reads in it.
    fn must_seal(&self, member: Member) -> bool {
        self.state.ranges.iter().any(|(id, range)| {
            let sealed = self.drives.get(id).is_some_and(|drive| drive.sealed.contains_key(&member));
            range.pending.is_some() && range.chain.place(member).is_some() && !sealed
        })
    }

    /// Whether the node can have no lease in this life, whoever granted it.
    pub(super) fn has_no_lease(&self, member: Member, now_us: u64) -> bool {
        let granted = self.leases.get(&member).copied().unwrap_or(0);
        let inherited = self.leads_since_us.expect("only a leader asks") + self.longest_lease_us();
        now_us >= granted.max(inherited)
    }

    fn longest_lease_us(&self) -> u64 {
        self.timing.lease_us + self.timing.lease_us * self.timing.drift_permille / 1000
    }
}
