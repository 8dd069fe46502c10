//! Front-ends (FAWN, SOSP 2009, §3.4.1 and §3.4.2; CMU-PDL-08-108, §3.5): what stands between clients and chains, owns wedges of the key
//! space and caches what is in them.
//!
//! Each wedge has one owner at a time, under a lease and in a wedge epoch, and nothing is put or got past the owner. So
//! the cache needs no protocol to be coherent: every new version of a key, and every look at it, is seen by the one that
//! caches it. What remains to be got right is the order in which answers come, and who the owner is.
//!
//! # Layout
//!
//! * [`Front`]: the machine: requests in, answers out. `answers`: what comes back from chains and other front-ends.
//! * `session`: its own sessions. `life`: its name, its lease, its wedges. `wedge`: a wedge that it owns. `routes`: who is in which chain and who owns
//!   what.
//! * [`Cache`]: the newest versions of few keys. `flights`: what was asked and is not answered. `many`: many gets as one.
//!   `flush`: flushes, through the owners of all wedges. `ready`: whether it can carry out what it is asked.

mod answers;
mod cache;
pub(crate) mod flights;
mod flush;
mod life;
mod machine;
mod many;
mod ready;
pub(crate) mod routes;
pub(crate) mod session;
#[cfg(test)]
mod tests;
mod wedge;

pub use cache::{Cache, entries_for};
pub use machine::{Counts, Front, Limits};
pub use ready::{Lack, Parts};
