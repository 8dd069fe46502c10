//! Consensus among managers, by `openraft`: what the rest of the crate needs of it.
//!
//! # Layout
//!
//! * [`types`]: what is in the log. [`stored_types`]: the bytes of entries, votes, snapshots.
//! * [`log_store`]: log, vote and snapshots on flash. [`state_machine`]: what the entries lead to.
//! * [`calls`]: what managers say to each other. [`network`]: over which connections.
//! * [`elections`]: when a member stands again.

pub mod calls;
pub mod elections;
pub mod log_store;
pub mod network;
pub mod state_machine;
pub mod stored_types;
pub mod types;

pub use log_store::LogStore;
pub use network::Network;
pub use state_machine::{StateChange, StateMachine};
pub use types::{Group, Proposal, Types};
