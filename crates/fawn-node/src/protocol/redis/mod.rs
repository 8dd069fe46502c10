//! The adapter of Redis's protocol, RESP2 and RESP3: [`fawn_resp`] is the codec, the [table](table) the list of commands.
//!
//! Replies and errors are those of Redis 7.0.15. What it has and this server has not is refused in a sentence that says why, or
//! is an unknown command. Keys have 1 to 65,535 bytes. Expiries are seconds: milliseconds are rounded up.
//!
//! A command of several keys is a line of requests, one for each key. So `MSET` is not atomic: others may see some of its keys
//! set and some not, and an error of one key leaves the others set. `RENAME` and `COPY` are done step by step.

mod bit_fields;
mod bits;
mod client;
mod cluster;
mod command;
mod config;
mod connection;
mod error;
mod expiry;
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
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod values;
mod writer;

use super::{ParserOptions, Protocol, RequestParser};

/// The protocol.
pub static REDIS: Redis = Redis;

/// The release whose replies these are.
pub const VERSION: &str = "7.0.15";

/// Redis's protocol.
#[derive(Debug)]
pub struct Redis;

impl Protocol for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn parser(&self, options: ParserOptions) -> Box<dyn RequestParser> {
        Box::new(parser::Parser::new(options))
    }

    fn too_many_connections(&self) -> &'static [u8] {
        b"-ERR max number of clients reached\r\n"
    }
}
