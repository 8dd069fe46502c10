//! Messages that nobody sends whose own state is sound: a damaged field, a bug on the other side, a peer that lies.
//!
//! What a message says is checked before it is believed. One that cannot be true is dropped, and noted here for the process
//! to log. Assertions are for what this process alone can break.

use crate::ids::{Address, FrontId, NodeId};
use std::fmt;

/// A message that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidMessage {
    /// Who sent it, if that is known.
    pub from: Option<Address>,
    /// The message's name, and what of it cannot be true.
    pub reason: &'static str,
}

impl fmt::Display for InvalidMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, reason } = self;
        let from = match from {
            Some(Address::Manager) => "the managers".to_owned(),
            Some(Address::Node(NodeId(seat))) => format!("the node of seat {seat}"),
            Some(Address::Front(FrontId(seat))) => format!("the front-end of seat {seat}"),
            Some(Address::Client(client)) => format!("client {client}"),
            None => "another process".to_owned(),
        };
        write!(f, "an invalid message from {from} was dropped: {reason}; check that process's memory and release")
    }
}

/// The messages that were refused so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct InvalidMessages {
    count: u64,
    /// The first of those that were not taken.
    first: Option<InvalidMessage>,
}

impl InvalidMessages {
    /// Notes one.
    pub fn note(&mut self, from: impl Into<Option<Address>>, reason: &'static str) {
        self.count += 1;
        self.first.get_or_insert(InvalidMessage { from: from.into(), reason });
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first since this was last called.
    pub fn take(&mut self) -> Option<InvalidMessage> {
        self.first.take()
    }
}
