//! Accepting connections: the first loop takes them all and deals them out in turn. Others have nothing to accept.

use crate::net::listen::{Listener, ReservedAddress};
use crate::observe::counters::Counters;
use crate::observe::warnings::RateLimitedLog;
use crate::runtime::shared::{IncomingConnection, SharedState, StopReason};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::time::Instant;

/// How long nothing is accepted after the system has refused a connection, e.g. for want of descriptors.
const DEAF_MS: u64 = 100;

/// How far a loop is before the node serves clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartPhase {
    /// Its backend cannot carry out yet what clients ask.
    Waits,
    /// It can; the others may not.
    Ready,
    /// It has no more to do.
    Over,
}

/// What came of trying to accept a connection.
#[derive(Debug)]
pub enum AcceptStep {
    /// A connection.
    Connection(IncomingConnection),
    /// Nothing, but there may be more.
    Retry,
    /// There is no more now.
    Drained,
}

/// The listeners of a loop.
#[derive(Debug)]
pub struct Acceptor {
    /// Taken away when the node stops.
    listeners: Vec<Listener>,
    /// Where the loop is to listen once the node can serve clients.
    reserved: Vec<ReservedAddress>,
    /// `epoll_data` of the first listener; others follow.
    first_data: u64,
    phase: StartPhase,
    /// Nothing is accepted until this millisecond.
    deaf_until_ms: Option<u64>,
    /// The loop that gets the next connection.
    next_home: usize,
}

impl Acceptor {
    /// Accepts from `listeners`, and from `reserved` once all loops are ready. `waits`: the loop's backend says when it is. Events
    /// of listeners have data from `first_data` on.
    pub fn new(listeners: Vec<Listener>, reserved: Vec<ReservedAddress>, first_data: u64, waits: bool) -> Self {
        let phase = if waits { StartPhase::Waits } else { StartPhase::Over };
        Self { listeners, reserved, first_data, phase, deaf_until_ms: None, next_home: 0 }
    }

    /// The open listeners.
    pub fn listeners(&self) -> &[Listener] {
        &self.listeners
    }

    /// Has `epoll` watch the listeners.
    ///
    /// # Errors
    /// What the system says to that.
    pub fn watch(&self, epoll: &OwnedFd) -> Result<(), Errno> {
        for (listener, data) in self.listeners.iter().zip(self.first_data..) {
            epoll::add(epoll, &listener.socket, EventData::new_u64(data), EventFlags::IN)?;
        }
        Ok(())
    }

    /// A step of starting: once all loops are ready, the first one listens.
    pub fn start_step(
        &mut self,
        is_first: bool,
        is_ready: impl FnOnce() -> bool,
        shared: &SharedState,
        epoll: &OwnedFd,
    ) {
        if self.phase == StartPhase::Waits && is_ready() {
            self.phase = if is_first { StartPhase::Ready } else { StartPhase::Over };
            shared.note_ready();
        }
        if self.phase == StartPhase::Ready && shared.is_ready() && !shared.is_stopping() {
            self.phase = StartPhase::Over;
            self.listen(shared, epoll);
        }
    }

    fn listen(&mut self, shared: &SharedState, epoll: &OwnedFd) {
        for reserved in std::mem::take(&mut self.reserved) {
            match reserved.listen() {
                Ok(listener) => self.listeners.push(listener),
                Err(error) => return shared.end(StopReason::Unheard(error.to_string())),
            }
        }
        self.watch_again(epoll);
        shared.note_serving();
    }

    fn watch_again(&self, epoll: &OwnedFd) {
        for (listener, data) in self.listeners.iter().zip(self.first_data..) {
            let _ = epoll::add(epoll, &listener.socket, EventData::new_u64(data), EventFlags::IN);
        }
    }

    /// Accepts one connection of the listener whose event has this `data`.
    pub fn accept(&mut self, data: u64, epoll: &OwnedFd, counters: &Counters, now_ms: u64) -> AcceptStep {
        let Some(listener) = self.listeners.get((data - self.first_data) as usize) else { return AcceptStep::Drained };
        match accept_with(&listener.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(socket) => {
                let Listener { family, protocol, .. } = *listener;
                AcceptStep::Connection(IncomingConnection { socket, family, protocol })
            }
            Err(Errno::AGAIN) => AcceptStep::Drained,
            Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => AcceptStep::Retry,
            Err(error) => {
                static LOG: RateLimitedLog = RateLimitedLog::new();
                if let Some(more) = LOG.happened(Instant::now()) {
                    tracing::warn!("cannot accept connections for {DEAF_MS} ms: {error}{more}");
                }
                counters.accept_pauses.add(1);
                counters.accept_paused_us.add(1000 * DEAF_MS);
                self.pause(epoll, now_ms + DEAF_MS);
                AcceptStep::Drained
            }
        }
    }

    fn pause(&mut self, epoll: &OwnedFd, until_ms: u64) {
        self.deaf_until_ms = Some(until_ms);
        for listener in &self.listeners {
            let _ = epoll::delete(epoll, &listener.socket);
        }
    }

    /// Looks at the listeners again, if it is time to.
    pub fn resume(&mut self, epoll: &OwnedFd, now_ms: u64) {
        if self.deaf_until_ms.is_some_and(|until| until <= now_ms) {
            self.deaf_until_ms = None;
            self.watch_again(epoll);
        }
    }

    /// Milliseconds until the listeners are looked at again, if they are not now.
    pub fn due_in(&self, now_ms: u64) -> Option<u64> {
        self.deaf_until_ms.map(|until| until.saturating_sub(now_ms))
    }

    /// Accepts nothing any more.
    pub fn close(&mut self, epoll: &OwnedFd) {
        self.pause(epoll, u64::MAX);
        self.listeners.clear();
        self.reserved.clear();
    }

    /// The loop of `loops` whose turn it is to get a connection.
    pub fn next_home(&mut self, loops: usize) -> usize {
        let home = self.next_home;
        self.next_home = (home + 1) % loops;
        home
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn connections_are_dealt_out_in_turn() {
        let mut acceptor = Acceptor::new(Vec::new(), Vec::new(), 16, false);
        let homes: Vec<usize> = (0..5).map(|_| acceptor.next_home(3)).collect();
        assert_eq!(homes, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_listener_that_cannot_be_accepted_from_is_not_looked_at_for_a_moment() {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let (broken, _other) = UnixStream::pair().unwrap();
        let mut acceptor = Acceptor::new(vec![Listener::of_test(broken.into())], Vec::new(), 16, false);
        acceptor.watch(&epoll).unwrap();
        let counters = Counters::default();
        assert!(matches!(acceptor.accept(16, &epoll, &counters, 1000), AcceptStep::Drained));
        assert_eq!((acceptor.due_in(1040), counters.accept_pauses.get()), (Some(60), 1));
        acceptor.resume(&epoll, 1099);
        assert!(acceptor.due_in(1099).is_some());
        acceptor.resume(&epoll, 1100);
        assert_eq!(acceptor.due_in(1100), None);
    }
}
