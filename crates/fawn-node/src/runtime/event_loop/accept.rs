//! New connections: a loop takes those that are dealt to it.

use super::{ACCEPTS_A_TURN, EventLoop};
use crate::net::connection::ClientConnection;
use crate::net::listen::Family;
use crate::net::tls::Secure;
use crate::protocol::ParserOptions;
use crate::runtime::acceptor::AcceptStep;
use crate::runtime::shared::IncomingConnection;
use crate::runtime::slab::Token;
use crate::shard::backend::Backend;
use fawn_flash::descriptors;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{SendFlags, getpeername, getsockname, send, sockopt};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Connections of a loop that have not said who they are yet, whatever their share is.
const LEAST_UNAUTHENTICATED: usize = 8;

impl<B: Backend> EventLoop<B> {
    /// Accepts from the listener whose event has this `data`.
    pub(super) fn accept(&mut self, data: u64) {
        for _ in 0..ACCEPTS_A_TURN {
            match self.acceptor.accept(data, self.worker.epoll(), &self.counters, self.now.ms) {
                AcceptStep::Connection(accepted) => self.place(accepted),
                AcceptStep::Retry => {}
                AcceptStep::Drained => return,
            }
        }
    }

    /// Gives a new connection to the loop whose turn it is.
    fn place(&mut self, accepted: IncomingConnection) {
        let shared = Arc::clone(&self.shared);
        shared.connections.fetch_add(1, Ordering::Relaxed);
        // The loop that is to have it may know of one that has never said anything.
        if !descriptors::leaves_room(&accepted.socket) {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            return self.refuse(&accepted);
        }
        let home = self.acceptor.next_home(self.worker.mesh().loops());
        if home == self.number {
            self.adopt(accepted);
        } else {
            shared.hand_over(home, accepted);
        }
    }

    /// Tells a client that there is no room for its connection, where that can be said without a handshake.
    fn refuse(&self, accepted: &IncomingConnection) {
        self.counters.rejected_connections.add(1);
        if self.shared.tls_for(accepted.family).is_none() {
            let _ = send(&accepted.socket, accepted.protocol.too_many_connections(), SendFlags::NOSIGNAL);
        }
    }

    /// Makes room for another connection: of the unauthenticated ones the longest silent is closed if they are more than their
    /// share, or if all connections are taken. In the latter case one that never sent a byte goes where nobody has to say who it
    /// is. Returns whether one was closed.
    fn make_room(&mut self, is_full: bool) -> bool {
        let share = self.shared.limits.connections / 2 / self.worker.mesh().loops();
        let silent = self.connections.evict_unauthenticated(share.max(LEAST_UNAUTHENTICATED), is_full);
        let Some(token) = silent.or_else(|| {
            let had_time_ms = self.shared.limits.stranger_timeout.as_millis() as u64;
            oldest_mute(self.connections.iter(), self.now.ms.saturating_sub(had_time_ms)).filter(|_| is_full)
        }) else {
            return false;
        };
        self.counters.stall_kicks.add(1);
        self.close(token);
        true
    }

    pub(super) fn take_accepted(&mut self) {
        self.acceptor.resume(self.worker.epoll(), self.now.ms);
        if self.worker.mesh().loops() > 1 && self.shared.has_accepted(self.number) {
            for accepted in self.shared.take_accepted(self.number) {
                self.adopt(accepted);
            }
        }
    }

    fn adopt(&mut self, accepted: IncomingConnection) {
        let shared = Arc::clone(&self.shared);
        let is_full = shared.connections.load(Ordering::Relaxed) > shared.limits.connections;
        if is_full || shared.has_unauthenticated() {
            let has_room = self.make_room(is_full);
            if is_full && !has_room {
                shared.connections.fetch_sub(1, Ordering::Relaxed);
                return self.refuse(&accepted);
            }
        }
        self.counters.total_connections.add(1);
        let tls = match shared.tls_for(accepted.family).map(|config| Secure::new(&config)).transpose() {
            Ok(tls) => tls.map(Box::new),
            Err(error) => {
                tracing::error!("cannot create a TLS connection: {error}");
                shared.connections.fetch_sub(1, Ordering::Relaxed);
                return;
            }
        };
        let protocol = accepted.protocol;
        let parser = protocol.parser(ParserOptions {
            max_item_bytes: shared.options.max_item_bytes,
            authenticates: shared.users.is_some(),
            peer: getpeername(&accepted.socket).ok().flatten().and_then(|address| address.try_into().ok()),
            local: getsockname(&accepted.socket).ok().and_then(|address| address.try_into().ok()),
        });
        if accepted.family == Family::Tcp {
            let _ = sockopt::set_tcp_nodelay(&accepted.socket, true);
            let _ = sockopt::set_socket_keepalive(&accepted.socket, true);
        }
        let mut conn = ClientConnection::new(accepted.socket, tls, (parser, protocol), self.now.ms);
        conn.interest = EventFlags::IN;
        let (token, conn) = self.connections.insert(conn);
        self.counters.curr_connections.add(1);
        let data = EventData::new_u64(token.to_u64());
        if let Err(error) = epoll::add(self.worker.epoll(), &conn.socket, data, EventFlags::IN) {
            tracing::error!("epoll cannot watch a connection: {error}");
            self.close(token);
        }
    }
}

/// The oldest of the connections that have never sent a byte, if it was there by `began_ms`.
fn oldest_mute<'a>(all: impl Iterator<Item = &'a ClientConnection>, began_ms: u64) -> Option<Token> {
    let mute = all.filter(|conn| conn.is_mute && conn.began_ms <= began_ms);
    mute.min_by_key(|conn| conn.began_ms).map(|conn| conn.flow.token)
}
