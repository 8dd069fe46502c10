//! The two connections between a pair of seats. A message takes one by who would be kept waiting behind it.

use crate::ids::Address;
use crate::wire::Message;
use serde::{Deserialize, Serialize};

/// Who is kept waiting by a message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Lane {
    /// Chains and those who change them. All that they say may be lost: they say it again.
    Chain,
    /// A client, itself or by way of a front-end: there may be any number of them.
    Client,
}

impl Lane {
    /// That of a message to a node. A get that another member passes on came to that one in the clients' lane.
    pub fn of(from: Address, message: &Message) -> Self {
        match message {
            Message::Request { .. } | Message::Flush { .. } | Message::Get { .. } | Message::Scan { .. }
                if !matches!(from, Address::Node(_)) =>
            {
                Self::Client
            }
            _ => Self::Chain,
        }
    }

    /// The connection that something goes over, of the two between a pair of seats: what members of chains say to each other
    /// does not wait behind what front-ends ask and are answered.
    pub fn between(to: Address, from: Address) -> Self {
        match (to, from) {
            (Address::Node(_), Address::Node(_)) => Self::Chain,
            _ => Self::Client,
        }
    }
}
