//! Event loops, sockets, clock and TLS of a FAWN node.
//!
//! One thread a core owns its connections and its stores; nothing in a turn of its loop blocks, and an ordinary request
//! touches nothing that another thread writes. A key that another core owns is asked for over a bounded ring. Answers
//! leave in request order, whatever they wait for: flash, a sync, another core.
//!
//! ```no_run
//! let options = fawn_node::ServeOptions::new("./fawn-data");
//! fawn_node::serve(&options, |addresses| println!("serving on {}", addresses[0].address))?;
//! # Ok::<(), fawn_node::ServeError>(())
//! ```
//!
//! # Layout
//!
//! The folders are in the order in which a request passes them.
//!
//! | module | what it is |
//! |---|---|
//! | [`options`](ServeOptions), [`error`](ServeError) | what a node is started with, and why it ends |
//! | `runtime` | starting and stopping, event loops, clock, what passes between loops |
//! | `net` | connections: sockets, TLS, requests in, replies out in order, bounds on clients |
//! | `protocol` | the boundary to client protocols; memcached and HTTP are adapters |
//! | `request` | the vocabulary: requests, replies, where replies go |
//! | `shard` | a loop's stores: who owns a key, operations at once or as tasks that wait |
//! | [`cluster`] | the same place for a process of a cluster: nodes, front-ends, links to others |
//! | `observe` | counters, latencies, [`metrics`], `stats`, warnings |
//!
//! # Limits
//!
//! Everything a client can make a node hold is bounded ([`ServeLimits`]): a connection that reaches a bound is not read any
//! more until it is below it again, and is cut off when it makes no progress. An idle connection holds no buffer.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod cluster;
mod error;
mod net;
mod observe;
mod options;
mod protocol;
mod request;
mod runtime;
mod shard;
#[cfg(test)]
mod tests;
pub use error::ServeError;
pub use observe::metrics;
pub use options::{ClientAddress, ServeLimits, ServeOptions, SettingOrigins, TlsFiles, UnixOptions};
pub use runtime::server::{connections_that_fit, serve};
pub use runtime::signals;
