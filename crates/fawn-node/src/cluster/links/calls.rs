//! Whom a seat calls, and when again.

use crate::cluster::names::{HostAddress, Names};
use crate::runtime::slab::Token;
use fawn_kv::ids::SeatId;
use fawn_kv::link::Lane;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Least time between two calls.
pub const REDIAL_MS: u64 = 50;

/// Most time between two calls.
const MOST_REDIAL_MS: u64 = 1000;

/// Whom a seat calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallTarget {
    /// Another seat, for what goes over one lane.
    Seat(SeatId, Lane),
    /// A manager, by its address.
    Manager(String),
    /// The leading manager, through the one at this address.
    Proxied(String),
}

/// How the calls of one target went.
#[derive(Debug, Default)]
struct CallState {
    /// The link that the last call has made, while it is there.
    link: Option<Token>,
    /// Not before this millisecond again.
    again_ms: u64,
    /// Calls in a row that came to nothing.
    failures: u32,
    /// Which of the target's addresses is called: the next one after each failure.
    turn: usize,
}

/// All calls of a seat.
#[derive(Debug)]
pub struct OutgoingCalls {
    targets: HashMap<CallTarget, CallState>,
    /// Where those are whose addresses are names.
    names: Arc<Names>,
}

impl OutgoingCalls {
    /// No calls.
    pub fn new(names: Arc<Names>) -> Self {
        Self { targets: HashMap::new(), names }
    }

    /// The link that a call of this target has made, while it is there.
    pub fn link_to(&self, target: &CallTarget) -> Option<Token> {
        self.targets.get(target).and_then(|call| call.link)
    }

    /// Where a target is to be called now; `None` while it is too early, or while its name is being looked up. Each address
    /// counts as a failure until the call [was answered](Self::note_answered).
    pub fn next_address(&mut self, target: &CallTarget, address: &str, now_ms: u64) -> Option<SocketAddr> {
        let call = self.targets.entry(target.clone()).or_default();
        if now_ms < call.again_ms {
            return None;
        }
        if call.failures > 0 {
            call.turn = call.turn.wrapping_add(1);
        }
        let place = self.names.find(address, call.turn, call.failures > 0);
        if place == HostAddress::Unknown {
            call.again_ms = now_ms + REDIAL_MS;
            return None;
        }
        call.again_ms = now_ms + MOST_REDIAL_MS.min(REDIAL_MS << call.failures.min(8));
        call.failures += 1;
        if let HostAddress::At(address) = place { Some(address) } else { None }
    }

    /// A call of this target has made a link.
    pub fn note_link(&mut self, target: &CallTarget, token: Token) {
        if let Some(call) = self.targets.get_mut(target) {
            call.link = Some(token);
        }
    }

    /// The other end of a link has answered the greeting.
    pub fn note_answered(&mut self, token: Token) {
        self.of_link(token).for_each(|call| call.failures = 0);
    }

    /// A link is closed.
    pub fn note_closed(&mut self, token: Token) {
        self.of_link(token).for_each(|call| call.link = None);
    }

    /// All targets may be called at once: their addresses may have changed.
    pub fn retry_now(&mut self) {
        self.targets.values_mut().for_each(|call| call.again_ms = 0);
    }

    /// Whether a link goes through another manager.
    pub fn is_proxied(&self, token: Token) -> bool {
        self.proxied().any(|proxied| proxied == token)
    }

    /// Links to the leading manager that go through another one.
    pub fn proxied(&self) -> impl Iterator<Item = Token> {
        let proxied = self.targets.iter().filter(|(target, _)| matches!(target, CallTarget::Proxied(_)));
        proxied.filter_map(|(_, call)| call.link)
    }

    /// The address of the manager that a link was made to.
    pub fn manager_address(&self, token: Token) -> Option<&str> {
        self.targets.iter().find_map(|(target, call)| match target {
            CallTarget::Manager(address) if call.link == Some(token) => Some(address.as_str()),
            _ => None,
        })
    }

    fn of_link(&mut self, token: Token) -> impl Iterator<Item = &mut CallState> {
        self.targets.values_mut().filter(move |call| call.link == Some(token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "10.0.0.1:7000";

    /// When a target is called that never answers, asked every millisecond.
    fn calls(calls: &mut OutgoingCalls, target: &CallTarget, until_ms: u64) -> Vec<u64> {
        (0..until_ms).filter(|now_ms| calls.next_address(target, ADDRESS, *now_ms).is_some()).collect()
    }

    #[test]
    fn who_does_not_answer_is_called_less_and_less_often() {
        let (mut outgoing, target) = (OutgoingCalls::new(Arc::default()), CallTarget::Manager(ADDRESS.to_owned()));
        assert_eq!(calls(&mut outgoing, &target, 3600), [0, 50, 150, 350, 750, 1550, 2550, 3550]);
        outgoing.retry_now();
        assert_eq!(outgoing.next_address(&target, ADDRESS, 3601), ADDRESS.parse().ok());
    }

    #[test]
    fn a_call_that_was_answered_starts_again_with_the_shortest_time() {
        let (mut outgoing, target) = (OutgoingCalls::new(Arc::default()), CallTarget::Seat(SeatId(2), Lane::Chain));
        calls(&mut outgoing, &target, 1000);
        let token = Token::from_u64(1 << 32);
        outgoing.note_link(&target, token);
        outgoing.note_answered(token);
        outgoing.note_closed(token);
        assert_eq!(outgoing.link_to(&target), None);
        assert!(outgoing.next_address(&target, ADDRESS, 2000).is_some());
        assert!(outgoing.next_address(&target, ADDRESS, 2050).is_some(), "one failure only");
    }

    #[test]
    fn links_through_other_managers_are_told_from_those_to_them() {
        let mut outgoing = OutgoingCalls::new(Arc::default());
        let tokens = [1u64, 2].map(|slot| Token::from_u64(1 << 32 | slot));
        let targets = [CallTarget::Manager(ADDRESS.to_owned()), CallTarget::Proxied(ADDRESS.to_owned())];
        for (target, token) in targets.iter().zip(tokens) {
            outgoing.next_address(target, ADDRESS, 0);
            outgoing.note_link(target, token);
        }
        assert_eq!(tokens.map(|token| outgoing.is_proxied(token)), [false, true]);
        assert_eq!(tokens.map(|token| outgoing.manager_address(token)), [Some(ADDRESS), None]);
    }
}
