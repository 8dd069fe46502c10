//! One node's part in the chain of one range: head, mid, tail, learner (FAWN SOSP'09 §3.4.2 to §3.4.4).
//!
//! The head numbers what it appends; records flow down the chain, *marks* with them (how far everybody before has
//! synced), *acknowledgements* flow up. The tail commits up to the lesser of the mark that has come and its own sync.
//! Everything that is not committed may still be cut off, by the one way to change a chain: seal, equalise, activate.
//!
//! # Disks
//!
//! **Full.** Members tell their predecessors, so that the head takes no values while one of them has no room; what comes down
//! the chain is written still, from the store's reserve, and deletions make room. A learner waits with its copy.
//!
//! **Cannot be read.** Whoever waits for the read is told so. The manager is told that the copy is damaged: the chain goes on
//! without it if there is another member, and the node copies the whole range anew. A sole member serves what it can.
//!
//! **Short of something.** A read that the system had no descriptor or memory for says nothing of the copy: it is refused, and
//! whoever waits for it tries again.
//!
//! Once *writing* has failed the node says nothing any more ([`RangeStore::has_failed`](crate::store::RangeStore::has_failed)):
//! for the others it has crashed.
//!
//! # Layout
//!
//! [`Replica`] gives each message to the part that it is for. Each part owns its fields, and gets what else it needs as arguments.
//!
//! * What the node is to the chain: `chain_role` (seal, equalise, activate) with the `phase` that it is in. `learner` copies and
//!   catches up, [as fast as it may](Pace); `following` is whom it asks. `levelling`: a log that is made like the source's.
//! * `active`: a member of an `active_chain`. `head`: requests, with `request_queue`, `session_expiry` and `range_clock`; `flush`
//!   and `wedge_fence`: what else a head logs. `feed`: records, marks and acknowledgements between neighbours, sent again by a
//!   `resend_timer`. `gets` and `barrier`: reads, under a `lease`.
//! * What the node has of the range (`range_data`). `log`: what is committed; `log_suffix`: what follows; `unsynced`: how far it is
//!   durable; `stretch`: records in memory. `local_copy`: whether all is here. `copy_service` and `scan`: those who read it.
//! * `requests`: what clients ask. `copying`: parts of copies. `context`: what a step works with. `stats`: what has happened.

mod active;
mod active_chain;
mod barrier;
mod chain_role;
mod context;
mod copy_rate;
mod copy_service;
mod copying;
mod feed;
mod flush;
mod following;
mod gets;
mod head;
mod learner;
mod lease;
mod levelling;
mod local_copy;
mod log;
mod log_suffix;
mod phase;
mod range_clock;
mod range_data;
mod replica;
mod request_queue;
mod requests;
mod resend_timer;
mod scan;
mod session_expiry;
mod stats;
mod stretch;
#[cfg(test)]
mod tests;
mod unsynced;
mod wedge_fence;

pub use context::Context;
pub use copy_rate::Pace;
pub use lease::Lease;
pub use replica::Replica;
pub use stats::{PAUSE_BOUNDS_US, Pauses, Tally};
