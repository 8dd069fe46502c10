//! Event loops, sockets, clock and TLS of a FAWN node.
//!
//! One thread a core owns its connections and its stores; nothing in a turn of its loop blocks, and an ordinary request
//! touches nothing that another thread writes. A key that another core owns is asked for over a bounded ring. Answers
//! leave in request order, whatever they wait for: flash, a sync, another core.
//!
//! ```no_run
//! let options = fawn_node::ServeOptions::new("./fawn-data");
//! fawn_node::serve(&options, |addresses| println!("serving on {}", addresses.join(", ")))?;
//! # Ok::<(), fawn_node::ServeError>(())
//! ```
//!
//! # Layout
//!
//! | module | what it is |
//! |---|---|
//! | `server`, `options`, `error` | starting and stopping a node |
//! | `listen`, `auth`, `tls` | sockets, who may use them, encryption |
//! | `event_loop` | one loop's turn; `accept`, `mail`, `stop` within it |
//! | `request` | the vocabulary: requests, replies, where they go |
//! | `protocol` | the boundary to client protocols; `memcached` within it is an adapter |
//! | `desk`, `connection`, `sweep` | work on one connection: receive, send, watch, cut off |
//! | `dispatch`, `route`, `ahead` | from bytes to requests to the store that owns the key |
//! | `answers` | answers that may not leave yet, in order |
//! | `owner`, `operate` | commands on a loop's stores: at once, or as tasks that wait |
//! | `stores`, `engines`, `values` | the boundary to the datastore, and what is behind it |
//! | `exchange`, `wake`, `shared` | between loops |
//! | `counters`, `report`, `recency`, `advice`, `usage` | what operators and clients are told |
//! | `latency`, `samples`, `metrics` | what the admin port tells |
//!
//! # Limits
//!
//! Everything a client can make a node hold is bounded ([`Limits`]): a connection that reaches a bound is not read any
//! more until it is below it again, and is cut off when it makes no progress. An idle connection holds no buffer.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod advice;
mod ahead;
mod answers;
mod auth;
mod backend;
mod clock;
pub mod cluster;
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
mod latency;
mod listen;
pub mod metrics;
mod operate;
mod options;
mod owner;
mod protocol;
mod recency;
mod report;
mod request;
mod room;
mod route;
mod samples;
mod server;
mod shared;
pub mod signals;
mod slab;
mod started;
mod stores;
mod sweep;
#[cfg(test)]
mod tests;
mod tls;
mod usage;
mod values;
mod wake;
pub use error::ServeError;
pub use options::{Chosen, Limits, ServeOptions, TlsFiles, UnixOptions};
pub use server::{connections_that_fit, serve};
