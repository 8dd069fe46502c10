//! What a machine says of itself, read: the counters behind a recording by the second.
//!
//! Nothing here opens a file: whoever records passes the text of `/proc` and of control groups.
//!
//! * [`counters`]: running totals, and what was used between two readings. [`proc`]: `/proc`. [`cgroup`]: control groups of
//!   both versions.

pub mod cgroup;
pub mod counters;
pub mod proc;

pub use counters::{DiskCounters, ResourceCounters};
