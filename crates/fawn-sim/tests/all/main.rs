//! Tests of simulated clusters, of their nodes' stores, and of decoders.
#![allow(clippy::unwrap_used)]

mod adopted;
mod cluster;
mod filler;
mod front_memory;
mod fuzz;
mod java;
mod java_vectors;
mod range_damage;
mod ranges;
mod scale;
mod schema;
mod scripts;
mod scripts_doc;
mod severed;
mod shapes;
mod silence;
mod weak;
mod wire;
mod wire_doc;
