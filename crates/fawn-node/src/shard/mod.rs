//! The stores of one event loop: who owns a key, and what carries a request out on its store.

pub mod backend;
pub mod engines;
pub mod executor;
#[cfg(test)]
pub mod fake;
pub mod large_value_writer;
pub mod operate;
pub mod recency;
pub mod route;
pub mod stores;
