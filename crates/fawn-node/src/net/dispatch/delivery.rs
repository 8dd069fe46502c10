//! What loops ask of each other, and replies on their way back to their connections.

use super::server_requests::gather;
use super::{Dispatcher, LISTING, MOVE, moves};
use crate::net::connection::{ClientConnection, ReservationRequest};
use crate::net::reply_queue::FillOutcome;
use crate::observe::stats;
use crate::request::{
    Completion, CompletionStatus, Execution, KeyRequest, ReplySlot, ReplyTo, ReplyWriter, TaskTicket, UNRESERVED_BYTES,
};
use crate::runtime::mesh::{MessageHeader, PeerRequest};
use crate::shard::backend::Backend;

/// Something that a loop's backend has for a connection of the same loop.
#[derive(Debug)]
pub enum Delivery {
    /// The reply to a request.
    Reply {
        /// Where the reply belongs.
        slot: ReplySlot,
        /// Its bytes.
        bytes: Vec<u8>,
        /// How the request ended.
        status: CompletionStatus,
        /// Bytes that were reserved for the reply.
        granted: u32,
    },
    /// The reply is large.
    NeedsReservation(ReservationRequest),
}

impl<B: Backend> Dispatcher<B> {
    /// Carries out what loop `peer` asks. A report on this loop's connections is left to the caller: its writer is
    /// returned.
    pub fn serve_peer(
        &mut self,
        peer: usize,
        slot: ReplySlot,
        request: &PeerRequest,
        bytes: &[u8],
    ) -> Option<&'static dyn ReplyWriter> {
        let to = ReplyTo { home: peer as u16, slot, request_bytes: bytes.len() as u32 };
        match *request {
            PeerRequest::Key { key, store, name_bytes, action, view, reply } => {
                let (name, value) = bytes.split_at(usize::from(name_bytes));
                let request = KeyRequest { key, name, action: action.join(value), view, needs_clock: false, reply };
                let (from, mut out) = (slot.connection, self.backend.pool().take());
                match self.backend.run(usize::from(store), &request, from, self.now, UNRESERVED_BYTES, &mut out) {
                    Execution::Done { gate, failed } => {
                        let done = Completion::to(&reply, to, out, failed);
                        self.backend.deliver_one(usize::from(store), gate, done);
                    }
                    Execution::Later(ticket) => {
                        self.backend.pool().give(out);
                        self.backend.assign(ticket, to);
                    }
                }
            }
            PeerRequest::FlushAll { at_unix, quiet } => self.backend.flush_all(to, at_unix, quiet, self.now),
            PeerRequest::Stats => {
                let bytes = stats::encode(&self.backend.stats(self.now));
                self.backend.deliver(Vec::new(), Completion::of(to, bytes));
            }
            PeerRequest::List { store, from, first, form } => {
                self.backend.list(to, usize::from(store), from, first, form, self.now);
            }
            PeerRequest::Connections { writer } => return Some(writer),
            PeerRequest::Reservation { ticket, granted } => self.backend.reserve(ticket, granted, self.now),
        }
        None
    }

    /// Hands out what the backend has finished. What is for other loops goes into the mesh; the next that is for a
    /// connection of this loop is returned.
    pub fn next_delivery(&mut self) -> Option<Delivery> {
        loop {
            while let Some(Completion { to, bytes, status, granted, .. }) = self.backend.next_completion() {
                let home = usize::from(to.home);
                if home == self.number {
                    return Some(Delivery::Reply { slot: to.slot, bytes, status, granted });
                }
                let header = MessageHeader::Reply { status, request_bytes: to.request_bytes, granted };
                self.mesh.answer(home, to.slot, header, &bytes);
                self.backend.pool().give(bytes);
            }
            let (ReplyTo { home, slot, .. }, ticket, bytes) = self.backend.next_reservation()?;
            let home = usize::from(home);
            if home == self.number {
                return Some(Delivery::NeedsReservation(self.reservation(slot, home, ticket, bytes)));
            }
            self.mesh.answer(home, slot, MessageHeader::NeedsReservation { ticket, bytes }, &[]);
        }
    }

    /// A large reply that loop `owner` has for a connection of this loop.
    pub fn reservation(&self, slot: ReplySlot, owner: usize, ticket: TaskTicket, bytes: u32) -> ReservationRequest {
        ReservationRequest { slot, owner, ticket, bytes, since_ms: self.now.ms }
    }

    /// A reply has come for a connection, which may be gone.
    pub fn arrived(&mut self, slot: &ReplySlot, granted: u32) {
        self.admission.memory_mut().arrived(granted as usize);
        self.output.note_arrived(slot.stamp);
    }

    /// Puts a reply that has come where its connection waits for it. `granted` bytes were reserved for it.
    pub fn fill(
        &mut self,
        conn: &mut ClientConnection,
        slot: &ReplySlot,
        mut bytes: Vec<u8>,
        status: CompletionStatus,
        granted: u32,
    ) {
        if slot.part != MOVE
            && let Some(error) = status.unwritten()
        {
            bytes.clear();
            conn.flow.writer.write_error(&mut bytes, &error);
        }
        // Until the connection's books are brought up to date.
        let before = conn.charged;
        conn.charged.output += granted as usize;
        self.admission.memory_mut().charge(before, conn.charged);
        if slot.part == LISTING {
            return self.listed(&mut conn.flow, slot.answer, &bytes);
        }
        if slot.part == MOVE {
            return moves::moved(&mut conn.flow, slot.answer, &bytes, status.unwritten());
        }
        match conn.flow.answers.fill(slot.answer, slot.part, bytes, status.is_failure()) {
            FillOutcome::Taken => {}
            FillOutcome::Gathered(tag) => gather(&mut conn.flow, slot.answer, tag, (&self.shared, self.now)),
            FillOutcome::Broken => conn.flow.broken = true,
        }
    }

    /// Tells the owner of a large reply that memory is reserved for it, or else that its client is gone.
    pub fn answer_reservation(&mut self, request: &ReservationRequest, granted: bool) {
        let ReservationRequest { slot, owner, ticket, bytes, .. } = *request;
        if granted {
            self.admission.memory_mut().reserve(bytes as usize);
        }
        if owner == self.number {
            self.backend.reserve(ticket, granted, self.now);
        } else {
            self.mesh.reserve(owner, slot, ticket, granted);
        }
    }
}
