//! Tests of simulated clusters, and of decoders.
#![allow(clippy::unwrap_used)]

mod cluster;
mod fuzz;
mod wire;
