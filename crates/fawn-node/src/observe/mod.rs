//! What operators and clients learn about a node: counters, latencies, metrics, `stats` and warnings in the log.

pub mod counters;
pub mod latency;
pub mod metrics;
pub mod samples;
pub mod started;
pub mod stats;
pub mod usage;
pub mod warnings;
