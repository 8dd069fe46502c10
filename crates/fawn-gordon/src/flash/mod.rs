//! A flash array as discrete events: buses, dies with planes, and the commands that contend for them.
//!
//! * [`geometry`], [`timing`]: how many of what, and how long each takes. [`design`]: both together; [`presets`]: known devices.
//! * [`command`]: what a die is told to do, and where its time went. [`mod@array`]: the simulation.
//! * [`suspension`]: programs and erases that reads interrupt.
//! * [`usage`]: what an array has done, how busy it was, and the energy that this took.
//! * [`ceilings`]: bandwidths in closed form, which the simulation has to reach; [`raw`]: a table of both. [`streaming`]: one die
//!   that is kept busy.
//! * [`model`]: an array as a user describes it.
//!
//! Time stands still between events. The order of events is a function of the commands alone.

pub mod array;
pub mod ceilings;
pub mod command;
pub mod design;
pub mod geometry;
pub mod model;
pub mod presets;
pub mod raw;
pub mod streaming;
pub mod suspension;
pub mod timing;
pub mod usage;

mod bus;
mod clock;
mod die;
mod events;
mod slots;

pub use array::{FlashArray, Step};
pub use command::{Command, CommandCompletion, CommandKind, LatencyParts};
pub use design::FlashDesign;
pub use geometry::{Geometry, GeometryError};
pub use model::{FlashModel, FlashValues};
pub use suspension::Suspension;
pub use timing::{BusTiming, CellTiming, DieOptions};
