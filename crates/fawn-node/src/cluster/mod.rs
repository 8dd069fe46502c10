//! A process of a cluster: nodes that keep ranges, front-ends that serve memcached clients, and the connections between
//! them. The protocol is `fawn_kv`'s; what is here gives it sockets, files and time.
//!
//! # Layout
//!
//! * `member`: starting a process: its directory, its enrolment, its seats. `enrol`: asking a manager to be let in.
//! * `seat`: one event loop's part; `backend`: how its loop uses it. `requests`, `reply`: requests of clients, and what they are answered.
//!   `listings`: all keys. `ready`: when clients may come.
//! * `relays`: ways around links that are broken.
//! * `ranges`: the store of a seat's node. `stats`, `counting`: figures of a seat.
//! * `links`, `link`, `dial`: connections to other processes; `listening`: the port that those call; `names`: where hosts are;
//!   `clients`: what clients may do that speak to front-ends themselves. `local_peers`: between seats of this process.

mod backend;
mod clients;
mod counting;
mod dial;
mod enrol;
mod link;
mod links;
mod listening;
mod listings;
mod local_peers;
mod member;
mod names;
mod ranges;
mod ready;
mod relays;
mod reply;
mod requests;
mod seat;
mod stats;
#[cfg(test)]
mod tests;
mod troubles;

pub use member::{ClusterOptions, Process, serve_members, start};
