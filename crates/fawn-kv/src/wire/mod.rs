//! What the parts of a cluster say to each other, and its bytes. `docs/wire.md` gives every byte.
//!
//! # Layout
//!
//! * `message`: every [`Message`]. `answer`: what clients are answered. `speaker`: who may say what.
//! * `codec`: a message's bytes. `encoding`: postcard behind a version byte. [`version`]: which versions a process speaks.
//! * `invalid`: counts messages that cannot be true.

mod answer;
mod codec;
pub(crate) mod encoding;
mod invalid;
mod message;
mod speaker;
pub mod version;

pub use answer::Answer;
pub use codec::WireError;
pub use invalid::{InvalidMessage, InvalidMessages};
pub use message::{Continuation, Given, MOST_CONTINUATION_BYTES, Message, Records, Report};
