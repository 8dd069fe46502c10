//! FAWN-KV as pure state machines: operations, chains, the manager, front-ends.
//!
//! # Layout
//!
//! In the order in which a request passes them:
//!
//! * [`operation`]: what a client can ask of one key, and what the head of its chain makes of it.
//! * [`client`]: a program that asks each key's front-end itself, and tries again until it is answered.
//! * [`wire`]: messages, their bytes and versions. [`link`]: connections between processes, and ways around broken ones.
//! * [`frontend`]: front-ends, which own wedges of the key space and cache them.
//! * [`node`]: a node with its ranges, its life and its lease. [`chain`]: its part in the chain of one range.
//! * [`range`]: the records of a range, and what it remembers beside its keys.
//! * [`store`]: what the protocol needs of the datastore, and that on flash.
//!
//! Beside that way:
//!
//! * [`manager`]: who decides the members of chains and the owners of wedges. [`status`]: what operators ask and are answered.
//! * [`scan`]: reads all that is in ranges, each as of one record.
//! * [`ids`]: numbers and names that all of these use. [`timing`]: clocks and time-outs.
//! * [`testing`]: bugs that the simulator injects, and coverage marks.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod chain;
pub mod client;
pub mod frontend;
pub mod ids;
pub mod link;
pub mod manager;
pub mod node;
pub mod operation;
pub mod range;
pub mod scan;
pub mod status;
pub mod store;
pub mod testing;
pub mod timing;
pub mod wire;

pub use fawn_store::timekeeper;
