//! The commit log against a device that loses, tears and reorders what was not synced, and against damage.

#![allow(clippy::unwrap_used)]

mod crash;
mod damage;
mod harness;
#[path = "../shared/killed.rs"]
mod killed;
mod writing;
