//! What loops ask of each other and answer, and what the backend has finished.

use super::EventLoop;
use crate::net::connection::{ClientConnection, Pause, ReservationRequest, end_name, peer_name};
use crate::net::connection_table::ConnectionTable;
use crate::net::dispatch::delivery::Delivery;
use crate::net::listen::Listener;
use crate::net::prefetch::PREFETCHED_KEYS;
use crate::request::{Completion, CompletionStatus, ReplySlot, ReplyTo, ReplyWriter};
use crate::runtime::mesh::{MessageHeader, PeerRequest};
use crate::shard::backend::Backend;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::getsockname;

impl<B: Backend> EventLoop<B> {
    /// Takes what other loops ask and answer.
    pub(super) fn take_mail(&mut self) {
        for peer in 0..self.worker.mesh().loops() {
            if peer == self.number {
                continue;
            }
            // What comes meanwhile is for the next turn.
            let (requests, answers) = self.worker.mesh().batches(peer);
            for _ in 0..requests {
                let Some(batch) = self.worker.mesh_mut().next_requests(peer) else { break };
                for (number, (slot, head, bytes)) in batch.messages().enumerate() {
                    if number % PREFETCHED_KEYS == 0 {
                        self.worker.dispatcher_mut().prefetch_batch(&batch, number);
                    }
                    let MessageHeader::Request(ask) = head else { unreachable!("the requests' ring holds requests") };
                    self.serve(peer, slot, &ask, bytes);
                }
                self.worker.mesh_mut().recycle(batch);
            }
            for _ in 0..answers {
                let Some(batch) = self.worker.mesh_mut().next_answers(peer) else { break };
                for (slot, head, bytes) in batch.messages() {
                    match head {
                        MessageHeader::Reply { status, granted, .. } => {
                            let bytes = self.worker.backend_mut().pool().copy(bytes);
                            self.fill(slot, bytes, status, granted);
                        }
                        MessageHeader::NeedsReservation { ticket, bytes } => {
                            let request = self.worker.dispatcher().reservation(slot, peer, ticket, bytes);
                            self.wanted(request);
                        }
                        MessageHeader::Request(_) => unreachable!("the answers' ring holds answers"),
                    }
                }
                self.worker.mesh_mut().recycle(batch);
            }
        }
    }

    /// Does what loop `peer` asks.
    fn serve(&mut self, peer: usize, slot: ReplySlot, request: &PeerRequest, bytes: &[u8]) {
        if let Some(writer) = self.worker.dispatcher_mut().serve_peer(peer, slot, request, bytes) {
            let to = ReplyTo { home: peer as u16, slot, request_bytes: bytes.len() as u32 };
            let lines = describe(self.acceptor.listeners(), &self.connections, writer, self.now.ms);
            self.worker.backend_mut().deliver(Vec::new(), Completion::of(to, lines));
        }
    }

    pub(super) fn answer_own_asks(&mut self) {
        for (slot, writer) in self.worker.dispatcher_mut().take_own_reports() {
            let bytes = describe(self.acceptor.listeners(), &self.connections, writer, self.now.ms);
            self.fill(slot, bytes, CompletionStatus::Done, 0);
        }
    }

    /// Brings replies of the backend to their connections, here or on other loops, and asks for reservations there.
    pub(super) fn hand_out(&mut self) {
        while let Some(delivery) = self.worker.dispatcher_mut().next_delivery() {
            match delivery {
                Delivery::Reply { slot, bytes, status, granted } => self.fill(slot, bytes, status, granted),
                Delivery::NeedsReservation(request) => self.wanted(request),
            }
        }
    }

    /// The reply to a request is large.
    fn wanted(&mut self, request: ReservationRequest) {
        match self.connections.get_mut(request.slot.connection) {
            Some(conn) => self.worker.wanted(conn, request),
            None => self.worker.dispatcher_mut().answer_reservation(&request, false),
        }
    }

    /// Puts a reply that has come where its connection waits for it. `granted` bytes were reserved for it.
    fn fill(&mut self, slot: ReplySlot, bytes: Vec<u8>, status: CompletionStatus, granted: u32) {
        self.worker.dispatcher_mut().arrived(&slot, granted);
        let Some(conn) = self.connections.mark(slot.connection) else { return };
        self.worker.dispatcher_mut().fill(conn, &slot, bytes, status, granted);
    }
}

/// Connections and listeners of a loop as lines of `stats conns` by `lines`, named by their descriptors.
fn describe(listeners: &[Listener], connections: &ConnectionTable, lines: &dyn ReplyWriter, now_ms: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let name = |socket: &OwnedFd, what: &str| format!("{}:{what}", socket.as_raw_fd());
    for listener in listeners {
        lines.write_stat(&mut out, &name(&listener.socket, "addr"), &end_name(getsockname(&listener.socket)));
        lines.write_stat(&mut out, &name(&listener.socket, "state"), "conn_listening");
    }
    for conn in connections.iter() {
        lines.write_stat(&mut out, &name(&conn.socket, "addr"), &peer_name(&conn.socket));
        lines.write_stat(&mut out, &name(&conn.socket, "listen_addr"), &end_name(getsockname(&conn.socket)));
        lines.write_stat(&mut out, &name(&conn.socket, "state"), state(conn));
        let silent_ms = now_ms - conn.received_ms.min(now_ms);
        lines.write_stat_number(&mut out, &name(&conn.socket, "secs_since_last_cmd"), silent_ms / 1000);
    }
    out
}

/// What a connection does, in memcached's words.
fn state(conn: &ClientConnection) -> &'static str {
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
