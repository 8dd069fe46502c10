//! What a step of a replica works with: clocks, the node's lease, its store, and messages to be sent.

use super::copy_rate::Pace;
use super::lease::Lease;
use crate::ids::{Address, Asker, Member, RangeId, RequestId};
use crate::store::{RangeStore, Ticket};
use crate::timing::Timing;
use crate::wire::{Answer, Message};
use fawn_ring::Secret;
use std::collections::BTreeMap;

/// What a step of a replica works with.
pub struct Context<'a, S> {
    /// Microseconds: [`us`](crate::timing::Now::us).
    pub now_us: u64,
    /// Unix second: [`unix`](crate::timing::Now::unix).
    pub unix: u32,
    /// See [`latest`](crate::timing::Now::latest).
    pub latest: u32,
    /// Where keys lie.
    pub secret: &'a Secret,
    /// The node's lease.
    pub lease: Lease,
    /// See [`Timing`].
    pub timing: Timing,
    /// The node's store.
    pub store: &'a mut S,
    /// Messages to be sent, in order.
    pub out: &'a mut Vec<(Address, Message)>,
    /// Lookups that wait for flash, by ticket, and the next ticket.
    pub tickets: &'a mut (BTreeMap<Ticket, RangeId>, Ticket),
    /// How fast the node copies.
    pub pace: &'a mut Pace,
}

impl<S: RangeStore> Context<'_, S> {
    pub(super) fn send(&mut self, to: Member, message: Message) {
        self.out.push((Address::Node(to.node), message));
    }

    /// The lookup or scan that has the next ticket waits for flash; its ticket.
    pub(super) fn wait(&mut self, range: RangeId) -> Ticket {
        let ticket = self.tickets.1;
        self.tickets.0.insert(ticket, range);
        self.tickets.1 += 1;
        ticket
    }

    pub(super) fn reply(&mut self, asker: Asker, id: RequestId, answer: Answer) {
        self.reply_until(asker, id, answer, 0);
    }

    /// An answer that no cache shows from a Unix second on; 0: none.
    pub(super) fn reply_until(&mut self, asker: Asker, id: RequestId, answer: Answer, until: u32) {
        let Asker { address, tag } = asker;
        self.out.push((address, Message::Reply { id, tag, continuation: None, until, answer }));
    }

    /// Whether a member that is active since then may answer reads.
    pub(super) fn has_lease(&self, since_us: u64) -> bool {
        self.lease.covers(since_us, self.now_us)
    }
}
