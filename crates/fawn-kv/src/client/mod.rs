//! What a program does that asks front-ends itself, without memcached's protocol: it knows who owns which wedge, asks each
//! key's owner, and tries again under one name until it is answered or its deadline has come.
//!
//! It asks the owner and not the chain behind it, also to get: a front-end shows what it has cached without asking
//! anybody, which is right only as long as nobody sees a newer version past it.
//!
//! # Layout
//!
//! * `machine`: [`Client`], wants in and messages out. `request`: what can be wanted, and what becomes of it.
//! * `in_flight`: requests that are not answered. `unreachable`: front-ends that could not be reached.

mod in_flight;
mod machine;
mod request;
#[cfg(test)]
mod tests;
mod unreachable;

pub use machine::{Client, MOST_CONTINUATION_BYTES};
pub use request::{Limits, RequestOutcome, Want};

use crate::ids::Address;
use crate::link::frame;
use crate::wire::Message;

/// The most bytes of key and encoded operation: with all that may be around them, they fit the longest frame.
pub const MOST_WRITE_BYTES: usize = frame::MOST_BYTES - 256;

/// Puts the name in that whoever is called has given the client.
pub fn set_asker(message: &mut Message, name: Address) {
    match message {
        Message::Ask { asker, .. }
        | Message::Scan { asker, .. }
        | Message::AskMany { asker, .. }
        | Message::AskFlush { asker, .. } => {
            asker.address = name;
        }
        Message::AskView { asker, .. } => *asker = name,
        _ => {}
    }
}
