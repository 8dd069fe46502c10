//! What loops ask of each other and answer, and what the owner has finished.

use super::{EventLoop, mark};
use crate::ahead::AHEAD;
use crate::answers::Filled;
use crate::backend::Backend;
use crate::connection::{Connection, Pause, end_name, peer_name};
use crate::dispatch::LISTING;
use crate::exchange::{Ask, Head, Place};
use crate::operate::Keyed;
use crate::owner::{Client, Done, Ran, UNASKED_BYTES};
use crate::report;
use crate::room::Want;
use crate::stores::Ticket;
use fawn_memcache::report as lines;
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
                        Head::Answer { failed, granted, .. } => {
                            let bytes = self.desk.core.owner.pool().copy(bytes);
                            self.fill(place, bytes, failed, granted);
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
    pub(super) fn serve(&mut self, peer: usize, place: Place, ask: &Ask, bytes: &[u8]) {
        let core = &mut self.desk.core;
        let client = Client { home: peer as u16, place, request_bytes: bytes.len() as u32 };
        match *ask {
            Ask::Keyed { key, store, name_bytes, command, responder } => {
                let (name, value) = bytes.split_at(usize::from(name_bytes));
                let keyed = Keyed { key, name, command: Keyed::join(command, value), responder };
                let mut out = core.owner.pool().take();
                match core.owner.run(usize::from(store), &keyed, place.connection, core.now, UNASKED_BYTES, &mut out) {
                    Ran::Done { gate, failed } => {
                        let done = Done::to(&responder, client, out, failed);
                        core.owner.deliver_one(usize::from(store), gate, done);
                    }
                    Ran::Later(ticket) => {
                        core.owner.pool().give(out);
                        core.owner.assign(ticket, client);
                    }
                }
            }
            Ask::FlushAll { at_unix, quiet } => core.owner.flush_all(client, at_unix, quiet, core.now),
            Ask::Figures => {
                let bytes = report::encode(&core.owner.figures(core.now));
                core.owner.deliver(Vec::new(), Done::of(client, bytes));
            }
            Ask::List { store, from, first, form } => {
                core.owner.list(client, usize::from(store), from, first, form, core.now);
            }
            Ask::Connections => {
                let bytes = self.describe_connections();
                self.desk.core.owner.deliver(Vec::new(), Done::of(client, bytes));
            }
            Ask::Room { ticket, granted } => core.owner.room(ticket, granted, core.now),
        }
    }

    pub(super) fn answer_own_asks(&mut self) {
        for (place, _) in std::mem::take(&mut self.desk.core.own_asks) {
            let bytes = self.describe_connections();
            self.fill(place, bytes, false, 0);
        }
    }

    /// The loop's connections and listeners as `stats conns` lines, named by their descriptors.
    pub(super) fn describe_connections(&self) -> Vec<u8> {
        let (mut out, now) = (Vec::new(), self.desk.core.now.ms);
        let name = |socket: &OwnedFd, what: &str| format!("{}:{what}", socket.as_raw_fd());
        for listener in &self.listeners {
            lines::stat(&mut out, &name(&listener.socket, "addr"), &end_name(getsockname(&listener.socket)));
            lines::stat(&mut out, &name(&listener.socket, "state"), "conn_listening");
        }
        for conn in self.connections.iter() {
            lines::stat(&mut out, &name(&conn.socket, "addr"), &peer_name(&conn.socket));
            lines::stat(&mut out, &name(&conn.socket, "listen_addr"), &end_name(getsockname(&conn.socket)));
            lines::stat(&mut out, &name(&conn.socket, "state"), state(conn));
            let silent_ms = now - conn.received_ms.min(now);
            lines::stat_number(&mut out, &name(&conn.socket, "secs_since_last_cmd"), silent_ms / 1000);
        }
        out
    }

    /// Brings answers of the owner's tasks to their connections, here or on other loops, and asks for room there.
    pub(super) fn hand_out(&mut self) {
        loop {
            while let Some(Done { client, bytes, failed, granted, .. }) = self.desk.core.owner.next_done() {
                let home = usize::from(client.home);
                if home == self.desk.core.number {
                    self.fill(client.place, bytes, failed, granted);
                } else {
                    let (core, request_bytes) = (&mut self.desk.core, client.request_bytes);
                    let head = Head::Answer { failed, request_bytes, granted };
                    core.exchange.answer(home, client.place, head, &bytes);
                    core.owner.pool().give(bytes);
                }
            }
            let Some((Client { home, place, .. }, ticket, bytes)) = self.desk.core.owner.next_ask() else { return };
            let (home, number) = (usize::from(home), self.desk.core.number);
            if home == number {
                self.wanted(place, number, ticket, bytes);
            } else {
                self.desk.core.exchange.answer(home, place, Head::Wants { ticket, bytes }, &[]);
            }
        }
    }

    /// The answer to a request is large.
    fn wanted(&mut self, place: Place, owner: usize, ticket: Ticket, bytes: u32) {
        let want = Want { place, owner, ticket, bytes, since_ms: self.desk.core.now.ms };
        match self.connections.get_mut(want.place.connection) {
            Some(conn) => self.desk.wanted(conn, want),
            None => self.desk.core.give_room(want, false),
        }
    }

    /// Puts an answer that has come in its place. It was granted room for `granted` bytes.
    pub(super) fn fill(&mut self, place: Place, bytes: Vec<u8>, failed: bool, granted: u32) {
        self.desk.core.granted_bytes -= granted as usize;
        self.desk.core.latencies.answered(place.stamp, 1, self.desk.core.at_us);
        let Some(conn) = self.connections.get_mut(place.connection) else { return };
        // Until the connection's books are brought up to date.
        conn.charged.1 += granted as usize;
        self.desk.core.output_bytes += granted as usize;
        if place.part == LISTING {
            self.desk.core.listed(&mut conn.flow, place.answer, &bytes);
        } else {
            match conn.flow.answers.fill(place.answer, place.part, bytes, failed) {
                Filled::Taken => {}
                Filled::Gathered(tag) => self.desk.core.gather(&mut conn.flow, place.answer, tag),
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
