//! The store on a simulated device: against a model, cut at every write point, damaged bit by bit, failing, and large.
//!
//! Everything is driven by seeds; a failure prints the one that makes it happen again. The quick forms run in
//! `cargo test`; environment variables ask for the long ones:
//!
//! | variable | what |
//! |---|---|
//! | `FAWN_MODEL_SEQUENCES` | sequences of random operations against the model (default 400) |
//! | `FAWN_MODEL_SEED` | first seed of these (default 0) |
//! | `FAWN_CRASH_TRACES` | traces that are cut at every write point (default 2) |
//! | `FAWN_DAMAGE_FLIPS` | bits to flip, evenly over all files (default 1500); `all` for every one in the pages of a smaller store |
//! | `FAWN_LOST_SEEDS` | stores with pages that cannot be read, merged over them (default 120) |
//! | `FAWN_COUNTS` | sequences after which what is counted is compared with a scan (default 30) |
//! | `FAWN_OVERWRITES` | overwrites of one key (default 300,000; the goal is 100,000,000) |
//! | `FAWN_RECORDS` | small records in one store (default 300,000) |
//!
//! # Layout
//!
//! * `script`: the random program that the model and crash tests run.
//! * `model`, `crash`, `counts`, `damage`, `faults`, `filter`, `large`, `bulk`, `acknowledge`, `reads`, `ranges`, `scan`, `scale`:
//!   what their names say.
//! * `mixed`: files of several times or stores.
//! * `original`: what the 2010 release of FAWN got wrong, row by row.

#![allow(clippy::unwrap_used)]

mod acknowledge;
mod bare;
mod bulk;
mod common;
mod counts;
mod crash;
mod damage;
mod drain;
mod faults;
mod filter;
mod large;
mod lost;
mod mixed;
mod model;
mod original;
mod ranges;
mod reads;
mod scale;
mod scan;
mod script;
mod space;
