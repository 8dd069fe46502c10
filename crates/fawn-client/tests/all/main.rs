//! A client of a real cluster: managers, nodes and front-ends of this process, over sockets.

#![allow(clippy::unwrap_used)]

mod calls;
mod cluster;
mod failures;
mod secure;
