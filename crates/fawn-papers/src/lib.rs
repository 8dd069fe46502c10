//! The experiments of the papers that FAWN follows, on the machine at hand (`fawn bench paper`).
//!
//! Each has a file of its own in the folder of its paper, named after the table, figure or section that it repeats. The papers'
//! machines are those of 2008 to 2010: what they print is drawn beside what is measured, and never judged by this program.
//!
//! Stores are measured by [`fawn_bench`], servers and clusters of real processes by [`fawn_loadgen`]. Every value that is read is
//! verified.
//!
//! # Layout
//!
//! * [`list`]: all experiments; each is a function from a [`Run`] to a [`Finding`]. [`runner`] carries them out, [`result_cache`]
//!   keeps what they have found.
//! * [`mod@run`]: what an experiment is given; [`finding`]: what it has found.
//! * `sosp`, `dht`, `energy`, `gordon`: the experiments, a folder for each paper; `cost`: tables that follow from the papers' own
//!   inputs. Those of Gordon are simulated by [`fawn_gordon`], whatever the machine.
//! * [`traces`]: recordings of the workloads of the Gordon paper.
//! * [`testbed`]: the machine, stores, files, servers and clusters that are measured, and load on them.
//! * [`efficiency`]: queries a joule, or what stands for them where there is no meter.
//! * [`output`]: pictures, the page, and all files.
//! * [`node`]: figures of one machine, for a plan (`fawn bench node`).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cost;
mod dht;
pub mod efficiency;
mod energy;
pub mod error;
pub mod finding;
mod gordon;
pub mod list;
pub mod node;
pub mod output;
pub mod result_cache;
pub mod run;
pub mod runner;
mod sosp;
pub mod testbed;
pub mod traces;

pub use error::Error;
pub use finding::Finding;
pub use list::{ExperimentEntry, LIST, Paper, find};
pub use output::{json, write};
pub use result_cache::{ResultCache, StoredFinding};
pub use run::{Run, Scale, Tools};
pub use runner::{Again, run};
pub use testbed::machine::{MachineInfo, Program};
pub use traces::GordonTraces;
