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
//! * `world`: the events and their order, `arriving`: messages. `place`: where nodes run. `invariants`: what must hold at every step.
//! * `acts`: what can happen to a cluster, `faults`: what does in a seed. [`Script`]: a run written down, [`shrink`]: made
//!   small. `reading`, `words`, `settings`, `act_text`: its text. `lines`: messages to read, `telling`: of a run.
//!   [`Coverage`]: which paths were taken.
//! * `courses`: seeds about one corner of the protocol. `rest`: what must hold of the whole, `copies`: of planned changes,
//!   `weak`: of a weak cluster. `client`, `workload`: what is asked, and checked. `dumps`: all of it, read at once.
//!   `fronts`: front-ends. `lies`: clocks that are wrong for long. `severed`: links that are broken for good, and ways around them.
//! * `managers`: the agreed log. `plain`: what the first nodes find. `node_store`: a node's datastore, `store`: in memory, `flash_store`: that of production on
//!   simulated flash.
//! * [`Cluster`]: large clusters without faults, and what their changes cost. [`pauses()`]: how long changes stop writes.

mod act_text;
mod acts;
mod arriving;
mod client;
mod copies;
mod courses;
mod coverage;
mod dumps;
mod events;
mod faults;
mod flash_store;
mod flushes;
mod fronts;
mod invariants;
mod lies;
mod lines;
mod managers;
mod node_store;
mod pauses;
mod place;
mod plain;
mod plan;
mod reading;
mod rest;
mod scale;
mod script;
mod settings;
mod severed;
pub mod shrink;
mod smart;
mod store;
mod telling;
mod weak;
mod words;
mod workload;
mod world;

pub use act_text::ACTS;
pub use acts::KINDS as FAULTS;
pub use coverage::Coverage;
pub use fawn_kv::testing::injected_bugs as planted;
pub use pauses::{Pause, measure as pauses};
pub use plan::{Plan, Summary, Violation};
pub use scale::{Cluster, Work};
pub use script::{Script, Show, TOLD};
pub use settings::SETTINGS;
pub use store::MemoryStore;

/// Runs one seed.
///
/// # Errors
/// The first [`Violation`].
pub fn run(seed: u64, plan: &Plan) -> Result<Summary, Violation> {
    Script::of(seed, plan).run()
}
