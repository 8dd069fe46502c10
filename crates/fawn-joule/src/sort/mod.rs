//! The sort benchmark on one machine (e-Energy 2010, section 3.4.2): records made, sorted from file to file, validated.
//!
//! # Layout
//!
//! * [`record`], [`checksum`], [`gensort`]: the shape of records, their checksum, and the benchmark's own.
//! * [`pages`], [`direct`]: memory in whole pages, and files around the page cache.
//! * [`input`], [`output`], [`space`], [`monitor`]: files that are read as one; files that appear when they are whole; whether
//!   they fit; how far a job is.
//! * [`piece`], [`loser_tree`], [`splitter`], [`group`]: records in memory, sorted, and pieces of them merged.
//! * [`spool`], [`run_reader`], [`runs`]: sorted runs on flash, merged.
//! * [`sort_plan`], [`pipeline`], [`writer`], [`parts`]: how much is done at a time, and which threads do it.
//! * [`job`], [`phase`], [`sort_report`]: a sort from files to files, and what it took.
//! * [`generate`](mod@generate), [`validate`](mod@validate): what comes before and after a sort.
//! * [`error`]: why something failed.

pub mod checksum;
pub mod direct;
pub mod error;
pub mod generate;
pub mod gensort;
pub mod group;
pub mod input;
pub mod job;
pub mod loser_tree;
pub mod monitor;
pub mod output;
pub mod pages;
pub mod parts;
pub mod phase;
pub mod piece;
pub mod pipeline;
pub mod record;
pub mod run_reader;
pub mod runs;
pub mod sort_plan;
pub mod sort_report;
pub mod space;
pub mod splitter;
pub mod spool;
pub mod validate;
pub mod writer;
