//! Accepting connections: the first loop takes them all and deals them out in turn.

use super::{ACCEPTS_A_TURN, EventLoop, LISTENERS, Start};
use crate::backend::Backend;
use crate::connection::Connection;
use crate::listen::Family;
use crate::shared::{Accepted, Failure};
use crate::slab::Token;
use crate::tls::Secure;
use fawn_flash::descriptors;
use fawn_memcache::{Limits as SessionLimits, Session, lines};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, SocketFlags, accept_with, send, sockopt};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Connections of a loop that have not said who they are yet, whatever their share is.
const LEAST_STRANGERS: usize = 8;

impl<B: Backend> EventLoop<B> {
    /// A step of starting: once all loops are ready, the first one listens.
    pub(super) fn start_step(&mut self) {
        let core = &self.desk.core;
        if self.start == Start::Waits && core.owner.is_ready() {
            self.start = if core.number == 0 { Start::Ready } else { Start::Over };
            core.shared.note_ready();
        }
        if self.start == Start::Ready && core.shared.is_ready() && !core.shared.is_stopping() {
            self.start = Start::Over;
            self.listen();
        }
    }

    fn listen(&mut self) {
        let shared = Arc::clone(&self.desk.core.shared);
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
            let _ = epoll::add(&*self.desk.epoll, &listener.socket, data, EventFlags::IN);
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
                    tracing::warn!("cannot accept connections for 100 ms: {error}");
                    let counters = &self.desk.core.counters;
                    counters.accept_pauses.add(1);
                    counters.accept_paused_us.add(100_000);
                    return self.stop_accepting(self.desk.core.now.ms + 100);
                }
            }
        }
    }

    pub(super) fn stop_accepting(&mut self, until_ms: u64) {
        self.deaf_until_ms = Some(until_ms);
        for listener in &self.listeners {
            let _ = epoll::delete(&*self.desk.epoll, &listener.socket);
        }
    }

    pub(super) fn accept_again(&mut self) {
        if self.deaf_until_ms.is_some_and(|until| until <= self.desk.core.now.ms) {
            self.deaf_until_ms = None;
            self.look_at_listeners();
        }
    }

    /// Gives a new connection to the loop whose turn it is.
    pub(super) fn place(&mut self, accepted: Accepted) {
        let shared = Arc::clone(&self.desk.core.shared);
        let counters = &self.desk.core.counters;
        let is_full = shared.connections.fetch_add(1, Ordering::Relaxed) >= shared.limits.connections;
        // The loop that is to have it may know of one that never said who it is.
        if (is_full && !shared.has_strangers()) || !descriptors::leaves_room(&accepted.socket) {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            return self.refuse(&accepted);
        }
        counters.total_connections.add(1);
        let home = self.next_home;
        self.next_home = (home + 1) % self.desk.core.exchange.loops();
        if home == self.desk.core.number {
            self.adopt(accepted);
        } else {
            shared.hand_over(home, accepted);
        }
    }

    /// Tells a client that there is no room for its connection, where that can be said without a handshake.
    fn refuse(&self, accepted: &Accepted) {
        let core = &self.desk.core;
        core.counters.rejected_connections.add(1);
        if core.shared.tls_for(accepted.family).is_none() {
            let _ = send(&accepted.socket, lines::TOO_MANY_CONNECTIONS.as_bytes(), SendFlags::NOSIGNAL);
        }
    }

    /// Makes room for another stranger: of those that have not said who they are the longest silent goes if they are more than
    /// their share, or if all connections are taken. Whether one went.
    fn make_room(&mut self, is_full: bool) -> bool {
        let share = self.desk.core.shared.limits.connections / 2 / self.desk.core.exchange.loops();
        if !is_full && self.strangers.len() < share.max(LEAST_STRANGERS) {
            return false;
        }
        // Most of them have become clients since, or have gone.
        let Self { strangers, connections, .. } = self;
        strangers.retain(|token| connections.at_token(*token).is_some_and(Connection::is_stranger));
        if !is_full && self.strangers.len() < share.max(LEAST_STRANGERS) {
            return false;
        }
        let silent_since = |token: &Token| self.connections.at_token(*token).map_or(0, |conn| conn.received_ms);
        let Some(at) = (0..self.strangers.len()).min_by_key(|at| silent_since(&self.strangers[*at])) else {
            return false;
        };
        let Some(token) = self.strangers.remove(at) else { return false };
        self.desk.core.counters.stall_kicks.add(1);
        self.close(token);
        true
    }

    pub(super) fn take_accepted(&mut self) {
        self.accept_again();
        let core = &self.desk.core;
        if core.exchange.loops() > 1 && core.shared.has_accepted(core.number) {
            for accepted in core.shared.take_accepted(core.number) {
                self.adopt(accepted);
            }
        }
    }

    pub(super) fn adopt(&mut self, accepted: Accepted) {
        let shared = Arc::clone(&self.desk.core.shared);
        if shared.has_strangers() {
            let is_full = shared.connections.load(Ordering::Relaxed) > shared.limits.connections;
            if !self.make_room(is_full) && is_full {
                shared.connections.fetch_sub(1, Ordering::Relaxed);
                return self.refuse(&accepted);
            }
        }
        let core = &self.desk.core;
        let tls = match shared.tls_for(accepted.family).map(|config| Secure::new(&config)).transpose() {
            Ok(tls) => tls.map(Box::new),
            Err(error) => {
                tracing::error!("cannot create a TLS connection: {error}");
                shared.connections.fetch_sub(1, Ordering::Relaxed);
                return;
            }
        };
        let limits = SessionLimits { item_bytes: shared.options.max_item_bytes };
        let session = if shared.users.is_some() { Session::with_authentication(limits) } else { Session::new(limits) };
        if accepted.family == Family::Tcp {
            let _ = sockopt::set_tcp_nodelay(&accepted.socket, true);
            let _ = sockopt::set_socket_keepalive(&accepted.socket, true);
        }
        let mut conn = Connection::new(accepted.socket, tls, session, core.now.ms);
        conn.interest = EventFlags::IN;
        let token = self.connections.insert(conn);
        self.desk.core.counters.curr_connections.add(1);
        let conn = self.connections.get_mut(token).expect("the connection was just added");
        conn.flow.token = token;
        if conn.is_stranger() {
            self.strangers.push_back(token);
        }
        let data = EventData::new_u64(token.to_u64());
        if let Err(error) = epoll::add(&*self.desk.epoll, &conn.socket, data, EventFlags::IN) {
            tracing::error!("epoll cannot watch a connection: {error}");
            self.close(token);
        }
    }
}
