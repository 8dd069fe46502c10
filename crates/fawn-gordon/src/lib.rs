//! Simulators of flash arrays, disks and clusters, and a survey of nodes by time, energy and price.
//!
//! Nothing here does input or output: readers take any `Read`, and whoever calls prints what comes of it. Equal seeds
//! give equal results.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::float_cmp))]

pub mod amplification;
pub mod disk;
pub mod flash;
pub mod ftl;
pub mod measure;
pub mod node;
pub mod recorder;
pub mod store;
pub mod survey;
pub mod time;
pub mod trace;
pub mod values_file;
