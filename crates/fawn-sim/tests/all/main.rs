//! Tests of simulated clusters.
#![allow(clippy::unwrap_used)]

mod cluster;
mod wire;
