//! Front-ends (FAWN, SOSP 2009, §3.4.1 and §3.4.2; CMU-PDL-08-108, §3.5): what stands between clients and chains, owns wedges of the key
//! space and caches what is in them.
//!
//! Each wedge has one owner at a time, under a lease and in a wedge epoch, and nothing is put or got past the owner. So
//! the cache needs no protocol to be coherent: every new version of a key, and every look at it, is seen by the one that
//! caches it. What remains to be got right is the order in which answers come, and who the owner is.
//!
//! # Layout
//!
//! * `machine`: [`Front`], requests in and answers out. `answers`: what comes back from chains and other front-ends.
//! * [`Cache`]: the newest versions of few keys. `in_flight`: requests that are not answered, and their retries.
//! * `lifecycle`: its name, its lease, the wedges that it is given. `registration`: what it is to the manager. `wedge`: a
//!   wedge that it owns. `routes`: who is in which chain and who owns what. `session`: sessions of its own, for clients that
//!   have none.
//! * `multi_get`: many gets as one. `flush`: flushes, through the owners of all wedges. `flushes`: which are under way.
//!   `readiness`: what it lacks to serve.

mod answers;
mod cache;
mod continuation;
mod flush;
mod flushes;
pub(crate) mod in_flight;
mod lifecycle;
mod machine;
mod multi_get;
mod readiness;
mod registration;
pub(crate) mod routes;
pub(crate) mod session;
#[cfg(test)]
mod tests;
mod wedge;

pub use cache::{Cache, entries_for};
pub use machine::{Counts, Front, Limits};
pub use readiness::{Lack, Parts};
