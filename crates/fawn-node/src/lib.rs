//! Event loops, sockets, clock and TLS of a FAWN node.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answers;
mod auth;
mod clock;
mod connection;
mod counters;
mod desk;
mod dispatch;
mod engines;
mod error;
mod event_loop;
mod exchange;
#[cfg(test)]
mod fake;
mod listen;
mod operate;
mod options;
mod owner;
mod recency;
mod report;
mod route;
mod server;
mod shared;
mod slab;
mod stores;
mod sweep;
#[cfg(test)]
mod tests;
mod tls;
mod usage;
mod values;
mod wake;
pub use error::ServeError;
pub use options::{Limits, ServeOptions, TlsFiles, UnixOptions};
pub use server::serve;
