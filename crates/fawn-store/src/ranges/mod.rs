//! Ranges: intervals of keys with their own numbering, what was flushed of them, and what was emptied.
//!
//! To *flush* a range is to make its records up to a sequence number void, as memcached's `flush_all` does. To *empty* an
//! interval is to make everything void that was appended in it before, whatever its number.
//!
//! # Layout
//!
//! * `table`: numbering and flushes. `emptied`: emptied intervals.

mod emptied;
mod table;

pub(crate) use emptied::{EmptiedIntervals, voided_share};
pub(crate) use table::RangeState;
pub use table::RangeTable;
