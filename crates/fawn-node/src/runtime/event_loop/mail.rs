//! What loops ask of each other and answer, and what the owner has finished.

use super::{EventLoop, mark};
use crate::net::connection::{Connection, Pause, Want, end_name, peer_name};
use crate::net::dispatch::LISTING;
use crate::net::prefetch::AHEAD;
use crate::net::reply_queue::Filled;
use crate::observe::stats;
use crate::request::{
    Completion, CompletionStatus, Execution, KeyRequest, ReplySlot, ReplyTo, ReplyWriter, Ticket, UNASKED_BYTES,
};
use crate::runtime::mesh::{Ask, Head};
use crate::shard::backend::Backend;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::getsockname;

impl<B: Backend> EventLoop<B> {
    /// Takes what other loops ask and answer.
    pub(super) fn take_mail(&mut self) {
        for peer in 0..self.desk.core.exchange.loops() {
            if peer == self.desk.core.number {
                continue;
            }
            // What comes meanwhile is for the next turn.
            let (requests, answers) = self.desk.core.exchange.parcels(peer);
            for _ in 0..requests {
                let Some(parcel) = self.desk.core.exchange.next_requests(peer) else { break };
                for (number, (place, head, bytes)) in parcel.messages().enumerate() {
                    if number % AHEAD == 0 {
                        let core = &mut self.desk.core;
                        core.ahead.warm(parcel.asked(number, AHEAD), &core.owner);
                    }
                    let Head::Request(ask) = head else { unreachable!("the requests' ring holds requests") };
                    self.serve(peer, place, &ask, bytes);
                }
                self.desk.core.exchange.recycle(parcel);
            }
            for _ in 0..answers {
                let Some(parcel) = self.desk.core.exchange.next_answers(peer) else { break };
                for (place, head, bytes) in parcel.messages() {
                    match head {
                        Head::Answer { status, granted, .. } => {
                            let bytes = self.desk.core.owner.pool().copy(bytes);
                            self.fill(place, bytes, status, granted);
                        }
                        Head::Wants { ticket, bytes } => self.wanted(place, peer, ticket, bytes),
                        Head::Request(_) => unreachable!("the answers' ring holds answers"),
                    }
                }
                self.desk.core.exchange.recycle(parcel);
            }
        }
    }

    /// Does what loop `peer` asks.
    pub(super) fn serve(&mut self, peer: usize, slot: ReplySlot, ask: &Ask, bytes: &[u8]) {
        let core = &mut self.desk.core;
        let to = ReplyTo { home: peer as u16, slot, request_bytes: bytes.len() as u32 };
        match *ask {
            Ask::Keyed { key, store, name_bytes, action, view, reply } => {
                let (name, value) = bytes.split_at(usize::from(name_bytes));
                let request = KeyRequest { key, name, action: action.join(value), view, needs_clock: false, reply };
                let mut out = core.owner.pool().take();
                match core.owner.run(usize::from(store), &request, slot.connection, core.now, UNASKED_BYTES, &mut out) {
                    Execution::Done { gate, failed } => {
                        let done = Completion::to(&reply, to, out, failed);
                        core.owner.deliver_one(usize::from(store), gate, done);
                    }
                    Execution::Later(ticket) => {
                        core.owner.pool().give(out);
                        core.owner.assign(ticket, to);
                    }
                }
            }
            Ask::FlushAll { at_unix, quiet } => core.owner.flush_all(to, at_unix, quiet, core.now),
            Ask::Figures => {
                let bytes = stats::encode(&core.owner.figures(core.now));
                core.owner.deliver(Vec::new(), Completion::of(to, bytes));
            }
            Ask::List { store, from, first, form } => {
                core.owner.list(to, usize::from(store), from, first, form, core.now);
            }
            Ask::Connections { writer } => {
                let bytes = self.describe_connections(writer);
                self.desk.core.owner.deliver(Vec::new(), Completion::of(to, bytes));
            }
            Ask::Room { ticket, granted } => core.owner.room(ticket, granted, core.now),
        }
    }

    pub(super) fn answer_own_asks(&mut self) {
        for (slot, writer) in std::mem::take(&mut self.desk.core.own_asks) {
            let bytes = self.describe_connections(writer);
            self.fill(slot, bytes, CompletionStatus::Done, 0);
        }
    }

    /// The loop's connections and listeners as lines of `stats conns` by `lines`, named by their descriptors.
    pub(super) fn describe_connections(&self, lines: &dyn ReplyWriter) -> Vec<u8> {
        let (mut out, now) = (Vec::new(), self.desk.core.now.ms);
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
            while let Some(Completion { to, bytes, status, granted, .. }) = self.desk.core.owner.next_done() {
                let home = usize::from(to.home);
                if home == self.desk.core.number {
                    self.fill(to.slot, bytes, status, granted);
                } else {
                    let (core, request_bytes) = (&mut self.desk.core, to.request_bytes);
                    let head = Head::Answer { status, request_bytes, granted };
                    core.exchange.answer(home, to.slot, head, &bytes);
                    core.owner.pool().give(bytes);
                }
            }
            let Some((ReplyTo { home, slot, .. }, ticket, bytes)) = self.desk.core.owner.next_ask() else { return };
            let (home, number) = (usize::from(home), self.desk.core.number);
            if home == number {
                self.wanted(slot, number, ticket, bytes);
            } else {
                self.desk.core.exchange.answer(home, slot, Head::Wants { ticket, bytes }, &[]);
            }
        }
    }

    /// The answer to a request is large.
    fn wanted(&mut self, slot: ReplySlot, owner: usize, ticket: Ticket, bytes: u32) {
        let want = Want { slot, owner, ticket, bytes, since_ms: self.desk.core.now.ms };
        match self.connections.get_mut(want.slot.connection) {
            Some(conn) => self.desk.wanted(conn, want),
            None => self.desk.core.give_room(want, false),
        }
    }

    /// Puts an answer that has come in its place. It was granted room for `granted` bytes.
    pub(super) fn fill(&mut self, slot: ReplySlot, mut bytes: Vec<u8>, status: CompletionStatus, granted: u32) {
        self.desk.core.granted_bytes -= granted as usize;
        self.desk.core.latencies.answered(slot.stamp, 1, self.desk.core.at_us);
        let Some(conn) = self.connections.get_mut(slot.connection) else { return };
        if let Some(error) = status.unwritten() {
            bytes.clear();
            conn.flow.writer.write_error(&mut bytes, &error);
        }
        // Until the connection's books are brought up to date.
        conn.charged.1 += granted as usize;
        self.desk.core.output_bytes += granted as usize;
        if slot.part == LISTING {
            self.desk.core.listed(&mut conn.flow, slot.answer, &bytes);
        } else {
            match conn.flow.answers.fill(slot.answer, slot.part, bytes, status.is_failure()) {
                Filled::Taken => {}
                Filled::Gathered(tag) => self.desk.core.gather(&mut conn.flow, slot.answer, tag),
                Filled::Broken => conn.flow.broken = true,
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
