//! A range: an interval of keys with a log and a chain of its own. What its log holds, and what follows from that.
//!
//! # Layout
//!
//! * [`entry`]: records of the log, and the versions of keys that they make.
//! * [`meta`]: what a range remembers beside its keys: [`sessions`] with what was carried out, flushes, [`fences`].
//! * [`chain_map`]: the chains of all ranges, by which everybody routes.
//! * [`range_map`]: a value for each interval of keys. `sequence_map`: values by numbers that mostly follow each other.

pub mod chain_map;
pub mod entry;
pub mod fences;
pub mod meta;
pub mod range_map;
pub(crate) mod sequence_map;
pub mod sessions;
