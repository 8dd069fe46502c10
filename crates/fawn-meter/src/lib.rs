//! Joules: what the machine drew while something was done.
//!
//! A [`Meter`] is opened once, from what the user chose, and measures any number of stretches of work:
//!
//! ```
//! use fawn_meter::{MeterChoice, Meter, SystemRoots};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let file = dir.path().join("machine.toml");
//! // Any machine has a model, if nothing better: its joules are called modelled. Others: "rapl", "shelly:192.168.1.20", "auto" …
//! std::fs::write(&file, r#"
//!     machine = "a board of mine"
//!     scope = "wall"
//!     source = "a wall meter"
//!     date = "2026-11-20"
//!     idle_watts = 3.0
//!     full_cpu_watts = 7.0
//! "#)?;
//! let choice: MeterChoice = format!("model:{}", file.display()).parse()?;
//! // `None` if the choice was `none`, or `auto` and there is no meter.
//! let Some(meter) = Meter::open(&choice, &SystemRoots::default())? else { return Ok(()) };
//! let metering = meter.start()?;
//! let sum: u64 = (0..1_000_000).sum(); // the work
//! let energy = metering.stop()?;
//! println!("{energy}: {} joules for the sum {sum}", energy.joules);
//! assert!(energy.joules > 0.0 && !energy.measured);
//! # Ok(())
//! # }
//! ```
//!
//! With [`Meter::at_rest_for`] and [`Meter::rest`] the machine is metered at rest first, and an [`Energy`] has the joules above
//! that.
//!
//! An [`Energy`] says how it came about ([`MeterKind`]), what it covers ([`Scope`]), whether it was measured, and how
//! far it may be off ([`Uncertainty`]). It serialises as it is; [`write_row`] writes it into a row of a report, in which joules
//! that are modelled or read by hand have other names than joules that were measured, and [`provenance`] says where they are from. [`start`] and
//! [`stop`] are for programs that may have no meter, or one that nobody asked for ([`Meter::unasked`]).
//!
//! A thread reads an instrument a few times a second at most, and what is kept of the readings does not grow with their number.
//! Roots of `/sys` and `/proc` are arguments ([`SystemRoots`]), so that tests read trees of their own.
//!
//! # Layout
//!
//! * [`choice`]: what the user chose; [`mod@find`]: what there is on this machine, and which one `auto` takes.
//! * [`meter`]: meters, and stretches under way; [`reading`]: the energy of one; [`report`]: energy as figures of a report.
//! * [`instrument`]: an instrument that can be read; [`sampler`]: the thread that reads it; [`integral`]: readings put together.
//! * [`rapl`], [`hwmon`], [`battery`], over [`sysfs`] and [`counter`]: instruments of the kernel.
//! * [`shelly`], [`tasmota`], over [`http`]: plugs on the network.
//! * [`csv`]: the file of another meter; [`model`], over [`activity`]: no meter, but a model of the machine; [`hand`]: a plug that
//!   somebody reads.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod activity;
pub mod battery;
pub mod choice;
pub mod counter;
pub mod csv;
pub mod error;
pub mod find;
pub mod hand;
pub mod http;
pub mod hwmon;
pub mod instrument;
pub mod integral;
pub mod meter;
pub mod model;
pub mod rapl;
pub mod reading;
pub mod report;
pub mod sampler;
pub mod shelly;
pub mod sysfs;
pub mod tasmota;

pub use choice::{ChoiceError, MeterChoice};
pub use error::MeterError;
pub use find::{MeterTrial, attempt, find};
pub use hand::HandReading;
pub use meter::{Meter, Metering, SystemRoots, start, stop};
pub use reading::{Energy, EnergyPart, Idle, MeterKind, Scope, Uncertainty};
pub use report::{describe, provenance, provenance_without_idle, sum, write_row};

#[cfg(test)]
mod tests;
