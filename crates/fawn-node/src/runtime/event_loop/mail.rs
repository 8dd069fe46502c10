//! What loops ask of each other and answer, and what the owner has finished.

use super::{EventLoop, mark};
use crate::net::connection::{Connection, Pause, ReservationRequest, end_name, peer_name};
use crate::net::dispatch::LISTING;
use crate::net::prefetch::PREFETCHED_KEYS;
use crate::net::reply_queue::FillOutcome;
use crate::observe::stats;
use crate::request::{
    Completion, CompletionStatus, Execution, KeyRequest, ReplySlot, ReplyTo, ReplyWriter, Ticket, UNRESERVED_BYTES,
};
use crate::runtime::mesh::{MessageHeader, PeerRequest};
use crate::shard::backend::Backend;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::getsockname;

impl<B: Backend> EventLoop<B> {
    /// Takes what other loops ask and answer.
    pub(super) fn take_mail(&mut self) {
        for peer in 0..self.worker.core.mesh.loops() {
            if peer == self.worker.core.number {
                continue;
            }
            // What comes meanwhile is for the next turn.
            let (requests, answers) = self.worker.core.mesh.batches(peer);
            for _ in 0..requests {
                let Some(batch) = self.worker.core.mesh.next_requests(peer) else { break };
                for (number, (slot, head, bytes)) in batch.messages().enumerate() {
                    if number % PREFETCHED_KEYS == 0 {
                        let core = &mut self.worker.core;
                        core.prefetcher.prefetch(batch.asked(number, PREFETCHED_KEYS), &core.backend);
                    }
                    let MessageHeader::Request(ask) = head else { unreachable!("the requests' ring holds requests") };
                    self.serve(peer, slot, &ask, bytes);
                }
                self.worker.core.mesh.recycle(batch);
            }
            for _ in 0..answers {
                let Some(batch) = self.worker.core.mesh.next_answers(peer) else { break };
                for (slot, head, bytes) in batch.messages() {
                    match head {
                        MessageHeader::Reply { status, granted, .. } => {
                            let bytes = self.worker.core.backend.pool().copy(bytes);
                            self.fill(slot, bytes, status, granted);
                        }
                        MessageHeader::NeedsReservation { ticket, bytes } => self.wanted(slot, peer, ticket, bytes),
                        MessageHeader::Request(_) => unreachable!("the answers' ring holds answers"),
                    }
                }
                self.worker.core.mesh.recycle(batch);
            }
        }
    }

    /// Does what loop `peer` asks.
    pub(super) fn serve(&mut self, peer: usize, slot: ReplySlot, ask: &PeerRequest, bytes: &[u8]) {
        let core = &mut self.worker.core;
        let to = ReplyTo { home: peer as u16, slot, request_bytes: bytes.len() as u32 };
        match *ask {
            PeerRequest::Key { key, store, name_bytes, action, view, reply } => {
                let (name, value) = bytes.split_at(usize::from(name_bytes));
                let request = KeyRequest { key, name, action: action.join(value), view, needs_clock: false, reply };
                let mut out = core.backend.pool().take();
                match core.backend.run(
                    usize::from(store),
                    &request,
                    slot.connection,
                    core.now,
                    UNRESERVED_BYTES,
                    &mut out,
                ) {
                    Execution::Done { gate, failed } => {
                        let done = Completion::to(&reply, to, out, failed);
                        core.backend.deliver_one(usize::from(store), gate, done);
                    }
                    Execution::Later(ticket) => {
                        core.backend.pool().give(out);
                        core.backend.assign(ticket, to);
                    }
                }
            }
            PeerRequest::FlushAll { at_unix, quiet } => core.backend.flush_all(to, at_unix, quiet, core.now),
            PeerRequest::Stats => {
                let bytes = stats::encode(&core.backend.stats(core.now));
                core.backend.deliver(Vec::new(), Completion::of(to, bytes));
            }
            PeerRequest::List { store, from, first, form } => {
                core.backend.list(to, usize::from(store), from, first, form, core.now);
            }
            PeerRequest::Connections { writer } => {
                let bytes = self.describe_connections(writer);
                self.worker.core.backend.deliver(Vec::new(), Completion::of(to, bytes));
            }
            PeerRequest::Reservation { ticket, granted } => core.backend.reserve(ticket, granted, core.now),
        }
    }

    pub(super) fn answer_own_asks(&mut self) {
        for (slot, writer) in std::mem::take(&mut self.worker.core.own_asks) {
            let bytes = self.describe_connections(writer);
            self.fill(slot, bytes, CompletionStatus::Done, 0);
        }
    }

    /// The loop's connections and listeners as lines of `stats conns` by `lines`, named by their descriptors.
    pub(super) fn describe_connections(&self, lines: &dyn ReplyWriter) -> Vec<u8> {
        let (mut out, now) = (Vec::new(), self.worker.core.now.ms);
        let name = |socket: &OwnedFd, what: &str| format!("{}:{what}", socket.as_raw_fd());
        for listener in &self.listeners {
            lines.write_stat(&mut out, &name(&listener.socket, "addr"), &end_name(getsockname(&listener.socket)));
            lines.write_stat(&mut out, &name(&listener.socket, "state"), "conn_listening");
        }
        for conn in self.connections.iter() {
            lines.write_stat(&mut out, &name(&conn.socket, "addr"), &peer_name(&conn.socket));
            lines.write_stat(&mut out, &name(&conn.socket, "listen_addr"), &end_name(getsockname(&conn.socket)));
            lines.write_stat(&mut out, &name(&conn.socket, "state"), state(conn));
            let silent_ms = now - conn.received_ms.min(now);
            lines.write_stat_number(&mut out, &name(&conn.socket, "secs_since_last_cmd"), silent_ms / 1000);
        }
        out
    }

    /// Brings answers of the owner's tasks to their connections, here or on other loops, and asks for room there.
    pub(super) fn hand_out(&mut self) {
        loop {
            while let Some(Completion { to, bytes, status, granted, .. }) = self.worker.core.backend.next_completion() {
                let home = usize::from(to.home);
                if home == self.worker.core.number {
                    self.fill(to.slot, bytes, status, granted);
                } else {
                    let (core, request_bytes) = (&mut self.worker.core, to.request_bytes);
                    let head = MessageHeader::Reply { status, request_bytes, granted };
                    core.mesh.answer(home, to.slot, head, &bytes);
                    core.backend.pool().give(bytes);
                }
            }
            let Some((ReplyTo { home, slot, .. }, ticket, bytes)) = self.worker.core.backend.next_reservation() else {
                return;
            };
            let (home, number) = (usize::from(home), self.worker.core.number);
            if home == number {
                self.wanted(slot, number, ticket, bytes);
            } else {
                self.worker.core.mesh.answer(home, slot, MessageHeader::NeedsReservation { ticket, bytes }, &[]);
            }
        }
    }

    /// The answer to a request is large.
    fn wanted(&mut self, slot: ReplySlot, owner: usize, ticket: Ticket, bytes: u32) {
        let request = ReservationRequest { slot, owner, ticket, bytes, since_ms: self.worker.core.now.ms };
        match self.connections.get_mut(request.slot.connection) {
            Some(conn) => self.worker.wanted(conn, request),
            None => self.worker.core.give_room(request, false),
        }
    }

    /// Puts an answer that has come in its place. It was granted room for `granted` bytes.
    pub(super) fn fill(&mut self, slot: ReplySlot, mut bytes: Vec<u8>, status: CompletionStatus, granted: u32) {
        self.worker.core.granted_bytes -= granted as usize;
        self.worker.core.latencies.answered(slot.stamp, 1, self.worker.core.at_us);
        let Some(conn) = self.connections.get_mut(slot.connection) else { return };
        if let Some(error) = status.unwritten() {
            bytes.clear();
            conn.flow.writer.write_error(&mut bytes, &error);
        }
        // Until the connection's books are brought up to date.
        conn.charged.1 += granted as usize;
        self.worker.core.output_bytes += granted as usize;
        if slot.part == LISTING {
            self.worker.core.listed(&mut conn.flow, slot.answer, &bytes);
        } else {
            match conn.flow.answers.fill(slot.answer, slot.part, bytes, status.is_failure()) {
                FillOutcome::Taken => {}
                FillOutcome::Gathered(tag) => self.worker.core.gather(&mut conn.flow, slot.answer, tag),
                FillOutcome::Broken => conn.flow.broken = true,
            }
        }
        mark(&mut self.dirty, conn);
    }
}

/// What a connection does, in memcached's words.
fn state(conn: &Connection) -> &'static str {
    match conn.pause {
        Pause::Close => "conn_closing",
        _ if conn.flow.unsent_bytes > 0 => "conn_mwrite",
        // It is worked on now, or waits for its turn.
        Pause::NeedMore(_) if !conn.flow.is_settled() => "conn_parse_cmd",
        Pause::NeedMore(_) if !conn.input.is_empty() => "conn_nread",
        Pause::NeedMore(_) => "conn_read",
        _ => "conn_waiting",
    }
}
