//! Workloads that measure a store on the machine that it runs on, without a network (`fawn bench store`).
//!
//! One thread drives the store as an event loop does. Keys and values are those of [`fawn_workload`], so that every value that is
//! read is verified, and the generator's memory does not grow with the number of entries.
//!
//! # Layout
//!
//! * [`experiments`]: what can be measured, and [`run`] to do it.
//! * [`driver`], [`puts`], [`lookups`], [`closed`], [`paced`]: the store on its thread; puts, gets, and both as fast as they go or
//!   by the clock.
//! * [`device`]: what the device gives without a store.
//! * [`peers`]: the same on other storage engines, by another program; [`children`]: programs that run.
//! * [`usage`], [`derived`]: what a stretch of work took; figures that follow from the store's counts.
//! * [`columns`]: tables of reports.
//! * [`setup`]: what is asked for. [`session`], [`journal`], [`run_state`]: a directory with its data and what was measured on
//!   them.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod children;
pub mod closed;
pub mod columns;
pub mod derived;
pub mod device;
pub mod driver;
pub mod error;
pub mod experiments;
pub mod journal;
pub mod lookups;
pub mod paced;
pub mod peers;
pub mod puts;
pub mod run_state;
pub mod session;
pub mod setup;
pub mod usage;

pub use columns::table;
pub use device::DeviceReader;
pub use error::Error;
pub use experiments::{Experiment, run};
pub use peers::Peers;
pub use session::BenchSession;
pub use setup::Setup;
