//! One node's part in the chain of one range: head, mid, tail, learner (FAWN SOSP'09 §3.4.2 to §3.4.4).
//!
//! The head numbers what it appends; records flow down the chain, *marks* with them (how far everybody before has
//! synced), *acknowledgements* flow up. The tail commits up to the lesser of the mark that has come and its own sync.
//! Everything that is not committed may still be cut off, by the one way to change a chain: seal, equalise, activate.
//!
//! # Layout
//!
//! * [`Replica`]: the log as the protocol sees it, and the phase that the node is in.
//! * `feed`: records, marks and acknowledgements between neighbours.
//! * `checked`: whether a record of another member can be true. `fence`: who is refused because a wedge has another owner.
//! * `head`: requests. `tail`: gets, leases and barriers.
//! * `figures`: how it does, `tally`: what has happened to it. `stretch`: records in memory, `unsynced`: those that are not durable.
//! * `scan`: what those see of a range who are no members. `change`: seal, equalise, activate. `follow`: copies and catching up.

mod change;
mod checked;
mod disk;
mod feed;
mod fence;
mod figures;
mod flush;
mod follow;
mod head;
mod pace;
mod replica;
mod scan;
mod stretch;
mod tail;
mod tally;
#[cfg(test)]
mod tests;
mod unsynced;

pub use fence::Fences;
pub use pace::Pace;
pub use replica::{Context, Lease, Now, Replica, Timing};
pub use tally::{PAUSE_BOUNDS_US, Pauses, Tally};
