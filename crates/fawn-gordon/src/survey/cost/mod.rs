//! What storing and moving data costs: Gordon's §6.
//!
//! * [`petabyte`]: Tables 7 and 8, servers and dollars for a petabyte, on today's catalogue too.
//! * [`copies`]: data in copies, and how many nodes and disk servers keep them.
//! * [`sleeping`]: §6.1, one copy in flash and the others on disks that sleep.
//! * [`schedule`]: a day of those disks, which must have room for all that they take.
//! * [`slices`]: §6.3, jobs that load their data, compute and store.
//! * [`report`]: all of it at once, on the paper's node and on a catalogue's. [`tables`]: as rows of text.

pub mod copies;
pub mod petabyte;
pub mod report;
pub mod schedule;
pub mod sleeping;
pub mod slices;
pub mod tables;
