//! The energy suite: the workloads of "Energy-efficient computing with FAWN" (e-Energy 2010), each in work per joule.
//!
//! Each workload is a library that others can use, and a report of what it cost. Any machine runs it; where no meter is read, the
//! report has work per CPU second instead of joules.
//!
//! # Layout
//!
//! * [`matrix`]: matrix products over matrix sizes. [`caches`]: the processor's caches.
//! * [`mod@page`]: pages of HTML. [`measure`]: by which figure rows are compared.
//! * [`crypto`]: digests and signatures. [`fixed`]: what fixed power does to efficiency.
//! * [`results`]: the file that keeps a machine's results. [`headline`]: its figures that machines are compared by; [`compare`]:
//!   machines beside each other.
//! * [`threads`]: work that threads do for a fixed time.
//! * [`cost`]: wall time, CPU time and joules of a stretch of work, and the figures of a report that are made of them.
//! * [`kv`]: queries to servers of keys and values, at capacity and over load, with quality of service.
//! * [`phrases`]: counting very many phrases in texts.
//! * [`sort`]: the sort benchmark: records made, sorted from file to file, and validated.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod caches;
pub mod compare;
pub mod cost;
pub mod crypto;
pub mod fixed;
pub mod headline;
pub mod kv;
pub mod matrix;
pub mod measure;
pub mod page;
pub mod phrases;
pub mod results;
pub mod sort;
pub mod threads;

pub use cost::{Cost, CostMeter};

/// What a report says if this is no build to measure with.
pub fn build_note() -> Option<String> {
    cfg!(debug_assertions)
        .then(|| "this is a debug build, whose libraries are slow: measure with a release build".to_owned())
}
