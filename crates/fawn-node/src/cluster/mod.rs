//! A process of a cluster: nodes that keep ranges, front-ends that serve memcached clients, and the connections between
//! them. The protocol is `fawn_kv`'s; what is here gives it sockets, files and time.
//!
//! # Layout
//!
//! * `member`: starting a process: its directory, its enrolment, its endpoints. `enrol`: asking a manager to be let in.
//! * `endpoint`: one event loop's part, with how its loop uses it (`backend`) and its figures (`stats`). `message_queue`: what was
//!   said in a turn. `requests`, `reply`: requests of clients, and what they are answered. `listings`: all keys. `ready`: when
//!   clients may come.
//! * `relays`: ways around links that are broken. `leader_contact`: how long no manager has led.
//! * `node_host`: an endpoint's node, with its inbox and the threads of its store. `ranges`: that store. `counting`,
//!   `troubles`: what an endpoint reports.
//! * `links`, `link`, `dial`: connections to other processes; `listening`: the port that those call; `names`: where hosts are;
//!   `clients`: what clients may do that speak to front-ends themselves. `local_peers`: between endpoints of this process.

mod clients;
mod counting;
mod dial;
mod endpoint;
mod enrol;
mod leader_contact;
mod link;
mod links;
mod listening;
mod listings;
mod local_peers;
mod member;
mod message_queue;
mod names;
mod node_host;
mod ranges;
mod ready;
mod relays;
mod reply;
mod requests;
#[cfg(test)]
mod tests;
mod troubles;

pub use member::{ClusterOptions, Process, serve_members, start};
