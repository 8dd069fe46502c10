//! Consensus among managers, by `openraft`: what the rest of the crate needs of it.
//!
//! # Layout
//!
//! * [`types`]: what is in the log. [`kept`]: the bytes of entries, votes, snapshots.
//! * [`log`]: log, vote and snapshots on flash. [`machine`]: what the entries lead to.
//! * [`calls`]: what managers say to each other. [`network`]: over which connections.
//! * [`elections`]: when a member stands again.

pub mod calls;
pub mod elections;
pub mod kept;
pub mod log;
pub mod machine;
pub mod network;
pub mod types;

pub use log::LogStore;
pub use machine::{Machine, News};
pub use network::Network;
pub use types::{Group, Proposal, Types};
