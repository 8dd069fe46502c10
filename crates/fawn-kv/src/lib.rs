//! FAWN-KV as pure state machines: operations, chains, the manager.
//!
//! # Layout
//!
//! * [`operation`]: what a client can ask of one key, and what the head of its chain makes of it.
//! * [`ids`], [`entry`], [`message`]: names and numbers, records, what is said and its bytes; `speaker`: who may say
//!   what; `wire`, `versioned`: bytes with a version; [`version`]: which of them who speaks.
//! * [`chain`]: one node's part in the chain of one range. [`sessions`]: what was carried out already. [`meta`]: all that a
//!   range remembers beside its keys. [`steps`]: what is so for whole stretches of keys. [`map`]: what everybody routes by.
//! * [`node`]: a node with its parts, its life and its lease; `inherit`: splits and merges there; [`inbox`]: what waits for
//!   it; [`invalid`]: messages that cannot be true. [`manager`]: who decides.
//! * [`front`]: front-ends: wedges of the key space, each with one owner, which caches them.
//! * [`client`]: a program that asks front-ends itself, each key's own, and tries again until it is answered.
//! * [`scan`]: a program that reads all that is in ranges, each as of one record.
//! * [`link`]: frames and greetings between processes. [`roster`]: who is in a cluster, by name. [`status`]: what operators
//!   ask.
//! * [`relay`]: ways around broken links.
//! * [`store`]: what the protocol needs of the datastore. [`planted`]: bugs for the simulator to find.
//!   [`paths`]: what it counts.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answer;
pub mod chain;
pub mod client;
pub mod entry;
pub mod front;
pub mod ids;
pub mod inbox;
mod inherit;
pub mod invalid;
pub mod link;
pub mod manager;
pub mod map;
pub mod message;
pub mod meta;
pub mod node;
mod numbered;
pub mod operation;
pub mod paths;
pub mod planted;
pub mod relay;
pub mod roster;
pub mod scan;
pub mod sessions;
mod speaker;
pub mod status;
pub mod steps;
pub mod store;
pub use fawn_store::timekeeper;
pub mod unserved;
pub mod version;
mod versioned;
mod wire;
