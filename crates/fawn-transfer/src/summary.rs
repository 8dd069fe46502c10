//! What a load or a dump has come to.

use std::time::Instant;

use serde::Serialize;

use crate::load::TransferCounts;
use crate::redis::LeftOut;

/// The counts of a finished load or dump. As JSON, the fields are the keys.
#[derive(Debug, Serialize)]
pub struct TransferSummary {
    /// Records moved.
    pub records: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Lines that were no record and were skipped.
    pub bad_lines: u64,
    /// Records that the server found too large and that were skipped.
    pub too_large: u64,
    /// Records, among those moved, that had expired.
    pub expired: u64,
    /// Whether they had expired by the clock of the server that they went to, and not by this machine's.
    #[serde(skip)]
    pub expired_by_server: bool,
    /// Keys that were gone between listing and fetching.
    pub vanished: u64,
    /// Records that the server, or the directory, has and that cannot be read: they are missing.
    pub unreadable: u64,
    /// Keys that the server has listed and that no request of memcached's protocol carries: they are missing.
    pub unfetched: u64,
    /// Records whose flags or expiry the format cannot carry.
    pub cut: u64,
    /// Records, among those dumped, with keys that no server takes.
    pub long_keys: u64,
    /// Records that an interrupted load had moved before.
    pub loaded_before: u64,
    /// What Redis, or a file of it, has that was not loaded.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Whether what is left out may be.
    #[serde(skip)]
    pub may_leave_out: bool,
    #[serde(skip)]
    started: Instant,
}

/// Lines that came to nothing, or records to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SkipCounts {
    pub bad_lines: u64,
    pub too_large: u64,
    /// Records, among those loaded, that had expired.
    pub expired: u64,
}

impl TransferSummary {
    /// Starts the clock.
    pub fn start() -> Self {
        Self {
            records: 0,
            bytes: 0,
            seconds: 0.0,
            bad_lines: 0,
            too_large: 0,
            expired: 0,
            expired_by_server: false,
            vanished: 0,
            unreadable: 0,
            unfetched: 0,
            cut: 0,
            long_keys: 0,
            loaded_before: 0,
            left_out: None,
            may_leave_out: false,
            started: Instant::now(),
        }
    }

    /// Stops the clock.
    pub fn finish(&mut self, transferred: &TransferCounts) {
        self.seconds = self.started.elapsed().as_secs_f64();
        (self.records, self.bytes, self.too_large) = (transferred.loaded, transferred.bytes, transferred.too_large);
    }

    /// Counts what a file had beside records that were loaded.
    pub(crate) fn skip(&mut self, skipped: &SkipCounts) {
        self.bad_lines = skipped.bad_lines;
        self.too_large += skipped.too_large;
        self.expired = skipped.expired;
    }

    /// Whether nothing is missing: neither records that cannot be read, nor such as cannot be loaded again, nor, unless it may be,
    /// what a load from Redis has left out.
    pub fn is_complete(&self) -> bool {
        let is_all = |left_out: &LeftOut| self.may_leave_out || (left_out.is_nothing() && self.too_large == 0);
        self.unreadable + self.unfetched + self.long_keys == 0 && self.left_out.as_ref().is_none_or(is_all)
    }
}
