//! Key-value work: queries for each joule at capacity, and quality of service for each joule over load (e-Energy'10 §3.1, Table 1,
//! and §4).
//!
//! A closed loop finds what the servers can do. Open loops then ask shares of it: requests come at their times, and latencies count
//! from these, so that a slow server does not hide its queue.
//!
//! * [`qos`]: answers by an objective, and their cost. [`point`]: what was measured at a load. [`curve`]: all loads, one after the
//!   other. [`output`]: tables, a page, comma-separated values.

pub mod curve;
pub mod output;
pub mod point;
pub mod qos;

pub use curve::{KvPlan, run};
