//! The stores of nodes: in memory, or production's on simulated flash.

pub mod flash;
pub mod memory;
pub mod node_store;
pub mod plain;
pub mod read;
