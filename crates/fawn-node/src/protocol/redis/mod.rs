//! The adapter of Redis's protocol, RESP2 and RESP3: [`fawn_resp`] is the codec, the [table] the list of commands.
//!
//! Replies and errors are those of Redis 7.0.15. What it has and this server has not is refused in a sentence that says why, or
//! is an unknown command. Keys have 1 to 65,535 bytes. Expiries are seconds: milliseconds are rounded up.
//!
//! A command of several keys is a line of requests, one for each key. So `MSET` is not atomic: others may see some of its keys
//! set and some not, and an error of one key leaves the others set. `RENAME` and `COPY` are done step by step.

#![allow(clippy::unnecessary_wraps)] // all commands of a kind have the same type

mod answer;
mod arguments;
mod bit_fields;
mod bits;
mod client;
mod client_state;
mod command;
mod config;
mod connection;
mod error;
mod expiry;
mod greeting;
mod hashes;
mod info;
mod key_command;
mod keys;
mod lines;
mod moves;
mod parser;
mod refusals;
mod reply_state;
mod scan;
mod server;
mod spec;
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod values;
mod writer;

pub use writer::REDIS;
