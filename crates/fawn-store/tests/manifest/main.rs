//! The manifest: edits against what they mean, and the file against power cuts, faults and damage.

#![allow(clippy::unwrap_used)]

mod crash;
mod damage;
mod edits;
#[path = "../shared/killed.rs"]
mod killed;
