//! One node's part in the chain of one range: head, mid, tail, learner (FAWN SOSP'09 §3.4.2 to §3.4.4).
//!
//! The head numbers what it appends; records flow down the chain, *marks* with them (how far everybody before has
//! synced), *acknowledgements* flow up. The tail commits up to the lesser of the mark that has come and its own sync.
//! Everything that is not committed may still be cut off, by the one way to change a chain: seal, equalise, activate.
//!
//! # Layout
//!
//! * [`Replica`]: the phase that the node is in, and what it has of the range. `log`: the log as the protocol sees it; `log_suffix`: its
//!   end, which is not committed; `unsynced`: how far it is durable; `stretch`: records in memory.
//! * `head`: requests. `tail`: gets, leases and barriers. `flush`: flushes at the head. `fence`: refuses requests of a wedge's
//!   earlier owner.
//! * `feed`: records, marks and acknowledgements between neighbours.
//! * `reconfigure`: seal, equalise, activate. `learner`: copies and catching up, [as fast as they may](Pace).
//! * `disk`: a disk that is full or cannot be read. `scan`: what those see of a range who are no members.
//! * State that the replica owns: `requests` and `gets` that wait, `copying`, `scanning`, `levelling`. `context`: what a step
//!   works with.
//! * `figures`: how it does, for an operator. `stats`: what has happened to it.

mod context;
mod copy_rate;
mod copying;
mod disk;
mod feed;
mod fence;
mod figures;
mod flush;
mod gets;
mod head;
mod learner;
mod levelling;
mod log;
mod log_suffix;
mod reconfigure;
mod replica;
mod requests;
mod scan;
mod scanning;
mod stats;
mod stretch;
mod tail;
#[cfg(test)]
mod tests;
mod unsynced;

pub use context::{Context, Lease};
pub use copy_rate::Pace;
pub use replica::Replica;
pub use stats::{PAUSE_BOUNDS_US, Pauses, Tally};
