//! A whole cluster in one thread: nodes with their stores, managers, clients, a network and clocks, from one seed.
//!
//! The protocol is the production code of `fawn-kv`, its encoding included. What surrounds it is simulated, and as bad as
//! the seed says: messages are lost, doubled, late and out of order; nodes crash and lose what they had not synced, or
//! their disk; they pause for longer than a lease; partitions are full, partial or one-way; leaders of the managers do
//! not know that they have been deposed; clocks drift. Then everything heals, and everything must come to its end.
//!
//! # Layout
//!
//! [`run()`] runs one seed. The folders are the parts of a run, and each of their types owns its state.
//!
//! * `world`: takes the events in their order, and brings the parts together. It is the only one that knows them all.
//! * `network`: links, what they do to messages, and ways around broken ones.
//! * `processes`: nodes, front-ends and managers, with their clocks. `processes/store`: nodes' stores, in memory and on
//!   simulated flash.
//! * `clients`: what is asked.
//! * `checkers`: what must hold at every step (`invariants`, `redundancy`), of each key (`histories`, `expiries`, `flushes`),
//!   of the whole at rest (`rest`), of a weak cluster (`weak`), of dumps, and in time (`deadlines`). [`Coverage`]: which paths
//!   were taken.
//! * `faults`: fault actions, how a seed draws them, and scenarios, which go through one corner of the protocol.
//! * `script`: a run written down. [`Plan`]: what it is made of. [`shrink`]: a run made small.
//! * `trace`: what a run prints. [`Summary`]: what it comes to.
//! * `event`, `keys`, `time`: what all parts know.
//!
//! [`Cluster`] measures large clusters without faults, and [`pauses()`] how long changes stop writes.

mod checkers;
mod clients;
mod event;
mod faults;
mod keys;
mod network;
mod pauses;
mod processes;
mod run;
mod scale;
mod script;
mod summary;
mod time;
mod trace;
mod world;

pub use checkers::coverage::Coverage;
pub use checkers::pauses::Pause;
pub use faults::ACTIONS;
pub use faults::action::KINDS as FAULTS;
pub use fawn_kv::testing::injected_bugs;
pub use pauses::measure as pauses;
pub use processes::store::memory::MemoryStore;
pub use scale::{Cluster, Work};
pub use script::plan::Plan;
pub use script::settings::SETTINGS;
pub use script::{Script, TOLD, shrink};
pub use summary::{Summary, Violation};
pub use trace::show::Show;

/// Runs one seed.
///
/// # Errors
/// The first [`Violation`].
pub fn run(seed: u64, plan: &Plan) -> Result<Summary, Violation> {
    Script::of(seed, plan).run()
}
