//! Accepting connections: the first loop takes them all and deals them out in turn.

use super::{ACCEPTS_A_TURN, EventLoop, LISTENERS, Start};
use crate::net::connection::Connection;
use crate::net::listen::Family;
use crate::net::tls::Secure;
use crate::observe::warnings::RateLimitedLog;
use crate::protocol::ParserOptions;
use crate::runtime::shared::{Accepted, Failure};
use crate::runtime::slab::Token;
use crate::shard::backend::Backend;
use fawn_flash::descriptors;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, SocketFlags, accept_with, send, sockopt};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Connections of a loop that have not said who they are yet, whatever their share is.
const LEAST_UNAUTHENTICATED: usize = 8;

impl<B: Backend> EventLoop<B> {
    /// A step of starting: once all loops are ready, the first one listens.
    pub(super) fn start_step(&mut self) {
        if self.start == Start::Waits && self.worker.backend().is_ready() {
            self.start = if self.number == 0 { Start::Ready } else { Start::Over };
            self.shared.note_ready();
        }
        if self.start == Start::Ready && self.shared.is_ready() && !self.shared.is_stopping() {
            self.start = Start::Over;
            self.listen();
        }
    }

    fn listen(&mut self) {
        let shared = Arc::clone(&self.shared);
        for reserved in std::mem::take(&mut self.reserved) {
            match reserved.listen() {
                Ok(listener) => self.listeners.push(listener),
                Err(error) => return shared.end(Failure::Unheard(error.to_string())),
            }
        }
        self.look_at_listeners();
        shared.note_serving();
    }

    fn look_at_listeners(&self) {
        for (at, listener) in self.listeners.iter().enumerate() {
            let data = EventData::new_u64(LISTENERS + at as u64);
            let _ = epoll::add(self.worker.epoll(), &listener.socket, data, EventFlags::IN);
        }
    }

    pub(super) fn accept(&mut self, at: usize) {
        for _ in 0..ACCEPTS_A_TURN {
            let Some(listener) = self.listeners.get(at) else { return };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(&listener.socket, flags) {
                Ok(socket) => {
                    let family = listener.family;
                    self.place(Accepted { socket, family });
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                Err(error) => {
                    static LOG: RateLimitedLog = RateLimitedLog::new();
                    if let Some(more) = LOG.happened(Instant::now()) {
                        tracing::warn!("cannot accept connections for 100 ms: {error}{more}");
                    }
                    let counters = &self.counters;
                    counters.accept_pauses.add(1);
                    counters.accept_paused_us.add(100_000);
                    return self.stop_accepting(self.now.ms + 100);
                }
            }
        }
    }

    pub(super) fn stop_accepting(&mut self, until_ms: u64) {
        self.deaf_until_ms = Some(until_ms);
        for listener in &self.listeners {
            let _ = epoll::delete(self.worker.epoll(), &listener.socket);
        }
    }

    pub(super) fn accept_again(&mut self) {
        if self.deaf_until_ms.is_some_and(|until| until <= self.now.ms) {
            self.deaf_until_ms = None;
            self.look_at_listeners();
        }
    }

    /// Gives a new connection to the loop whose turn it is.
    pub(super) fn place(&mut self, accepted: Accepted) {
        let shared = Arc::clone(&self.shared);
        shared.connections.fetch_add(1, Ordering::Relaxed);
        // The loop that is to have it may know of one that has never said anything.
        if !descriptors::leaves_room(&accepted.socket) {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            return self.refuse(&accepted);
        }
        let home = self.next_home;
        self.next_home = (home + 1) % self.worker.mesh().loops();
        if home == self.number {
            self.adopt(accepted);
        } else {
            shared.hand_over(home, accepted);
        }
    }

    /// Tells a client that there is no room for its connection, where that can be said without a handshake.
    fn refuse(&self, accepted: &Accepted) {
        self.counters.rejected_connections.add(1);
        if self.shared.tls_for(accepted.family).is_none() {
            let _ = send(&accepted.socket, self.shared.protocol.too_many_connections(), SendFlags::NOSIGNAL);
        }
    }

    /// Makes room for another connection: of the unauthenticated ones the longest silent is closed if they are more than their
    /// share, or if all connections are taken. In the latter case one that never sent a byte goes where nobody has to say who it
    /// is. Returns whether one was closed.
    fn make_room(&mut self, is_full: bool) -> bool {
        let share = self.shared.limits.connections / 2 / self.worker.mesh().loops();
        if !is_full && self.unauthenticated.len() < share.max(LEAST_UNAUTHENTICATED) {
            return false;
        }
        // Most of them have become clients since, or have gone.
        let Self { unauthenticated, connections, .. } = self;
        unauthenticated.retain(|token| connections.at_token(*token).is_some_and(Connection::is_unauthenticated));
        if !is_full && self.unauthenticated.len() < share.max(LEAST_UNAUTHENTICATED) {
            return false;
        }
        let silent_since = |token: &Token| self.connections.at_token(*token).map_or(0, |conn| conn.received_ms);
        let token = match (0..self.unauthenticated.len()).min_by_key(|at| silent_since(&self.unauthenticated[*at])) {
            Some(at) => self.unauthenticated.remove(at),
            None => {
                let had_time_ms = self.shared.limits.stranger_timeout.as_millis() as u64;
                oldest_mute(self.connections.iter(), self.now.ms.saturating_sub(had_time_ms)).filter(|_| is_full)
            }
        };
        let Some(token) = token else { return false };
        self.counters.stall_kicks.add(1);
        self.close(token);
        true
    }

    pub(super) fn take_accepted(&mut self) {
        self.accept_again();
        if self.worker.mesh().loops() > 1 && self.shared.has_accepted(self.number) {
            for accepted in self.shared.take_accepted(self.number) {
                self.adopt(accepted);
            }
        }
    }

    pub(super) fn adopt(&mut self, accepted: Accepted) {
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
        let parser = shared.protocol.parser(ParserOptions {
            max_item_bytes: shared.options.max_item_bytes,
            authenticates: shared.users.is_some(),
        });
        if accepted.family == Family::Tcp {
            let _ = sockopt::set_tcp_nodelay(&accepted.socket, true);
            let _ = sockopt::set_socket_keepalive(&accepted.socket, true);
        }
        let mut conn = Connection::new(accepted.socket, tls, (parser, shared.protocol), self.now.ms);
        conn.interest = EventFlags::IN;
        let token = self.connections.insert(conn);
        self.counters.curr_connections.add(1);
        let conn = self.connections.get_mut(token).expect("the connection was just added");
        conn.flow.token = token;
        if conn.is_unauthenticated() {
            self.unauthenticated.push_back(token);
        }
        let data = EventData::new_u64(token.to_u64());
        if let Err(error) = epoll::add(self.worker.epoll(), &conn.socket, data, EventFlags::IN) {
            tracing::error!("epoll cannot watch a connection: {error}");
            self.close(token);
        }
    }
}

/// The oldest of the connections that have never sent a byte, if it was there by `began_ms`.
fn oldest_mute<'a>(all: impl Iterator<Item = &'a Connection>, began_ms: u64) -> Option<Token> {
    let mute = all.filter(|conn| conn.is_mute && conn.began_ms <= began_ms);
    mute.min_by_key(|conn| conn.began_ms).map(|conn| conn.flow.token)
}
