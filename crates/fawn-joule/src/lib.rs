//! The energy suite: the workloads of "Energy-efficient computing with FAWN" (e-Energy 2010), each in work per joule.
//!
//! Each workload is a library that others can use, and a report of what it cost. Any machine runs it; where no meter is read, the
//! report has work per CPU second instead of joules.
//!
//! # Layout
//!
//! * [`cost`]: wall time, CPU time and joules of a stretch of work, and the figures of a report that are made of them.
//! * [`phrases`]: counting very many phrases in texts.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod cost;
pub mod phrases;

pub use cost::{Cost, CostMeter};
