//! What experiments measure: the machine, stores and files on it, and servers and clusters of real processes with load on them.

pub mod client;
pub mod cluster;
pub(crate) mod course;
pub mod machine;
pub mod peer;
pub mod raw;
pub mod served;
pub mod servers;
pub mod store;
