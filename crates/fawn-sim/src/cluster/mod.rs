//! A whole cluster in one thread: nodes with their stores, managers, clients, a network and clocks, from one seed.
//!
//! The protocol is the production code of `fawn-kv`, its encoding included. What surrounds it is simulated, and as bad as
//! the seed says: messages are lost, doubled, late and out of order; nodes crash and lose what they had not synced, or
//! their disk; they pause for longer than a lease; partitions are full, partial or one-way; leaders of the managers do
//! not know that they have been deposed; clocks drift. Then everything heals, and everything must come to its end.
//!
//! # Layout
//!
//! * [`run`]: one seed. [`Plan`]: what it may do.
//! * `world`: the events and their order. `place`: where nodes run. `faults`: what goes wrong. `invariants`: what must hold at every step.
//! * `rest`: what must hold of the whole. `client`, `workload`: what is asked, and checked. `fronts`: front-ends.
//! * `managers`: the agreed log. `node_store`: a node's datastore, `store`: in memory, `flash_store`: that of production on
//!   simulated flash.
//! * [`Cluster`]: large clusters without faults, and what their changes cost. [`pauses()`]: how long changes stop writes.

mod client;
mod faults;
mod flash_store;
mod fronts;
mod invariants;
mod managers;
mod node_store;
mod pauses;
mod place;
mod plan;
mod rest;
mod scale;
mod store;
mod workload;
mod world;

pub use faults::KINDS as FAULTS;
pub use fawn_kv::planted;
pub use pauses::{Pause, measure as pauses};
pub use plan::{Plan, Summary, Violation};
pub use scale::{Cluster, Work};
pub use store::MemoryStore;
pub use world::run;
