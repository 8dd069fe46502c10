//! Workloads that measure a store on the machine that it runs on, without a network (`fawn bench store`), and any server that
//! speaks memcached's protocol, over one (`fawn bench net`, `fawn bench ycsb`).
//!
//! For a store, one thread drives it as an event loop does. What is put can be computed from an index and a version, so that
//! every value that is read is verified, and the generator's memory does not grow with the number of entries.
//!
//! # Layout
//!
//! * [`experiments`]: what can be measured, and [`run`] to do it.
//! * [`workload`], [`history`]: keys, values and orders; which version an entry must have.
//! * [`driver`], [`puts`], [`lookups`], [`closed`], `paced`: the store on its thread; puts, gets, and both as fast as they go or
//!   by the clock.
//! * [`device`]: what the device gives without a store.
//! * [`peers`]: the same on other storage engines, by another program.
//! * [`energy`]: joules, by meters of many kinds.
//! * [`usage`], [`latency`], [`report`], [`plot`]: what it took, and how it is told.
//! * [`session`], [`journal`]: a directory with its data and what was measured on them.
//! * [`net`]: the load generator for servers.
//! * [`paper`]: the experiments of the papers; [`node`]: one's own machine, for a plan.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod closed;
mod columns;
pub mod derived;
pub mod device;
pub mod driver;
pub mod error;
pub mod experiments;
pub mod journal;
pub mod lookups;
pub mod node;
mod notes;
mod paced;
pub mod paper;
pub mod peers;
pub mod plot;
pub mod puts;
pub mod session;
pub mod usage;

pub use columns::table;
pub use device::Device;
pub use error::Error;
pub use experiments::{Experiment, run};
pub use peers::Peers;
pub use session::{Session, Setup};
