//! The protocol of Redis, RESP2 and RESP3, as a pure codec.
//!
//! * [`CommandReader`]: commands out of the bytes of a connection, in the form of arrays or of lines ("inline"), in bounded memory.
//!   What it refuses, it refuses in the words of Redis 7.0.
//! * [`reply`]: what a server answers, in either version.
//! * [`client`]: the other half: commands as bytes, and replies from bytes that may end anywhere.
//!
//! It knows no command. Nothing here reads, waits or looks at a clock.

mod ahead;
pub mod client;
mod command_reader;
mod inline;
mod limits;
pub mod number;
mod protocol_error;
pub mod reply;
#[cfg(test)]
mod tests;

pub use ahead::Ahead;
pub use command_reader::{CommandEvent, CommandReader, CommandStep, Words};
pub use limits::{Excess, ReaderLimits};
pub use protocol_error::ProtocolError;
