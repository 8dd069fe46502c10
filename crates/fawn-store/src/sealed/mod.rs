//! Sealed records: everything that is on flash in segments, as lookups and merges see it from DRAM.
//!
//! A *segment* is an immutable sorted file. A *slice* is an interval of keys with an index over its parts of the segments,
//! and maybe a *base*, its oldest part, which has no index entries.
//!
//! # Layout
//!
//! * [`index`], [`directory`], [`filter`]: the structures in DRAM.
//! * `records`: slices and segments together. `slices`: one slice, and all in key order.
//! * `totals`: running totals over them. `voids`: how many indexed records are void.
//! * `views`: reads over a state of the slices that was replaced since.

pub mod directory;
pub mod filter;
pub mod index;
mod records;
mod slices;
mod totals;
mod views;
mod voids;

pub(crate) use records::{IndexAnswer, PendingEntries, SealedRecords};
pub(crate) use slices::Slice;
pub(crate) use totals::{A_TURN, SliceStats};
pub(crate) use views::Views;
pub(crate) use voids::LOOKED_AT;
