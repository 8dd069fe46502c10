//! Front-ends (FAWN, SOSP 2009, §3.4.1 and §3.4.2; CMU-PDL-08-108, §3.5): what stands between clients and chains, owns wedges of
//! the key space and caches what is in them.
//!
//! Each wedge has one owner at a time, under a lease and in a wedge epoch, and nothing is put or got past the owner. So
//! the cache needs no protocol to be coherent: every new version of a key, and every look at it, is seen by the one that
//! caches it. What remains to be got right is the order in which answers come, and who the owner is.
//!
//! # Layout
//!
//! * `machine`: [`Front`], requests in and answers out: it passes them to the parts below, each of which owns what it knows.
//!   `answers`: what comes back from chains and other front-ends. `limits`, `counts`: how much it takes on, and has done.
//! * [`Cache`]: the newest versions of few keys. `coherence`: what of an answer the cache takes. `in_flight`: requests that are
//!   not answered, and their retries. `tags`: by which an answer finds its request.
//! * `lifecycle`: its lease, and the wedges that it is given. `registration`: what it is to the manager. `wedge`: the wedges
//!   that it owns. `routes`: who is in which chain and who owns what. `session`: sessions of its own, for clients that
//!   have none.
//! * `multi_get`: many gets as one. `flush`: flushes, through the owners of all wedges. `flushes`: one that is under way.
//!   `readiness`: what it lacks to serve.

mod answers;
mod cache;
mod coherence;
mod continuation;
mod counts;
mod flush;
mod flushes;
pub(crate) mod in_flight;
mod lifecycle;
mod limits;
mod machine;
mod multi_get;
mod readiness;
mod registration;
pub(crate) mod routes;
pub(crate) mod session;
mod tags;
#[cfg(test)]
mod tests;
mod wedge;

pub use cache::{Cache, entries_for};
pub use counts::Counts;
pub use limits::Limits;
pub use machine::Front;
pub use readiness::{Lack, Parts};
