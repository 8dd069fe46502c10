//! The sort benchmark on one machine ("JouleSort", e-Energy 2010, section 3.4.2): records made, sorted from file to file, validated.
//!
//! # Layout
//!
//! * [`record`], [`checksum`], [`gensort`]: the shape of records, their checksum, and the benchmark's own.
//! * [`pages`], [`direct`]: memory in whole pages, and files around the page cache.
//! * [`input`], [`output`], [`space`], [`monitor`]: files that are read as one; files that appear when they are whole; whether
//!   they fit; how far a job is.
//! * [`generate`](mod@generate), [`validate`](mod@validate): what comes before and after a sort.
//! * [`error`]: why something failed.

pub mod checksum;
pub mod direct;
pub mod error;
pub mod generate;
pub mod gensort;
pub mod input;
pub mod monitor;
pub mod output;
pub mod pages;
pub mod record;
pub mod space;
pub mod validate;
