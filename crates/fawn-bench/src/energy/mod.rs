//! Joules: what the machine drew while something was done.
//!
//! A [`Meter`] is opened once, from what the user chose, and measures any number of stretches of work:
//!
//! ```no_run
//! use fawn_bench::energy::{Choice, Machine, Meter};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let choice: Choice = "shelly:192.168.1.20".parse()?;
//! // `None` where the choice was `none`, or `auto` and there is no meter.
//! let Some(meter) = Meter::open(&choice, &Machine::default())? else { return Ok(()) };
//! // Once, while nothing is done: what the machine draws at rest, so that what is drawn above it can be told.
//! let meter = meter.at_rest_for(std::time::Duration::from_secs(10));
//! meter.rest()?;
//! let metering = meter.start()?;
//! // … the work …
//! let energy = metering.stop()?;
//! println!("{energy}: {} joules", energy.joules);
//! # Ok(())
//! # }
//! ```
//!
//! An [`Energy`] says how it came about ([`Kind`]), what it covers ([`Scope`]), whether it was measured or modelled, and how
//! far it may be off ([`Uncertainty`]). It serialises as it is; [`tell()`] writes it into a row of a report, in which joules that
//! are modelled have other names than joules that were measured, and [`provenance`] says where they are from. [`start`] and
//! [`stop`] are for those who may have no meter, or one that nobody asked for ([`Meter::unasked`]).
//!
//! Instruments that are read are read by a thread, a few times a second at most, and what is kept of the readings does not
//! grow with their number. Roots of `/sys` and `/proc` are arguments ([`Machine`]), so that tests read trees of their own.
//!
//! # Layout
//!
//! * [`choice`]: what `--meter` says; [`mod@find`]: what there is on this machine, and which `auto` takes.
//! * [`meter`]: meters, and stretches under way; [`reading`]: what comes of one; [`mod@tell`]: as figures of a report.
//! * [`gauge`]: an instrument that can be read; [`sampler`]: the thread that does; [`integral`]: readings put together.
//! * [`rapl`], [`hwmon`], [`battery`], over [`sysfs`] and [`counter`]: what the kernel tells.
//! * [`shelly`], [`tasmota`], over [`http`]: plugs on the network.
//! * [`csv`]: what another meter has written; [`model`], over [`activity`]: no meter, but a model of the machine.

pub mod activity;
pub mod battery;
pub mod choice;
pub mod counter;
pub mod csv;
pub mod error;
pub mod find;
pub mod gauge;
pub mod http;
pub mod hwmon;
pub mod integral;
pub mod meter;
pub mod model;
pub mod rapl;
pub mod reading;
pub mod sampler;
pub mod shelly;
pub mod sysfs;
pub mod tasmota;
pub mod tell;

pub use self::choice::{Choice, ChoiceError};
pub use self::error::MeterError;
pub use self::find::{Found, attempt, find};
pub use self::meter::{Machine, Meter, Metering, start, stop};
pub use self::reading::{Energy, Idle, Kind, Part, Scope, Uncertainty};
pub use self::tell::{describe, provenance, sum, tell};
