//! A node's store of replicated ranges with everything that a program around it does, in one thread and by one seed; and
//! the states that a crash may leave of it.
//!
//! # Layout
//!
//! * [`RangeMachine`]: the store, the program around it and the device under it. `script`: what is asked of it.
//! * `program`: what is on its way between store and device. `model`: what it must hold.
//! * `probe`: the device as it was before each write point.

mod machine;
mod model;
mod probe;
mod program;
mod script;

pub use machine::{MachineCounts, RangeMachine};
