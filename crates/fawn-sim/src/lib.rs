//! Simulated flash with faults, for testing FAWN's pure crates.
//!
//! Everything here is deterministic: one seed gives one run, so that a failing seed is a test. Every choice comes from
//! [`fawn_check::random`], and [`fawn_check`] judges what clients saw.
//!
//! # Layout
//!
//! * [`flash`]: [`SimFlash`](flash::SimFlash), a device in memory that loses, tears and reorders what was not synced,
//!   and fails on demand.
//! * [`cluster`]: a whole cluster from one seed, and everything that can go wrong with it.
//! * `kernel`: seed, clock and event queue of a simulation.
//! * [`fuzz`]: every decoder on bytes that nobody wrote. [`edits`]: a store's metadata, at random.
//! * [`ranges`]: a node's store of replicated ranges, and what it must hold after a crash.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod cluster;
pub mod edits;
pub mod flash;
pub mod fuzz;
mod kernel;
mod quiet;
pub mod ranges;
pub mod store;
