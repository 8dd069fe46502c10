//! What a load or dump tells: notes while it runs and a summary at its end.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use indicatif::HumanCount;
use serde::Serialize;

use super::ledger::Tally;
use crate::progress::Progress;
use crate::values::Size;

/// Bad records that are reported one by one; later ones are only counted.
const NOTED: u64 = 100;

/// Lines for the user while records move.
pub struct Notes<'a> {
    /// The bar that they must not spoil.
    pub progress: &'a Progress,
    bad: AtomicU64,
}

impl<'a> Notes<'a> {
    /// Notes above this bar.
    pub fn new(progress: &'a Progress) -> Self {
        Self { progress, bad: AtomicU64::new(0) }
    }

    /// Prints a line.
    pub fn say(&self, line: &str) {
        self.progress.note(line);
    }

    /// Prints a line about a bad record, unless there were very many.
    pub fn bad(&self, line: &str) {
        match self.bad.fetch_add(1, Ordering::Relaxed) {
            before if before < NOTED => self.say(line),
            NOTED => self.say("fawn: further bad records are counted only"),
            _ => {}
        }
    }
}

/// The counts of a finished load or dump. As JSON, the fields are the keys.
#[derive(Debug, Serialize)]
pub struct Report {
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
    /// Records, among those moved, that had expired before.
    pub expired: u64,
    /// Keys that were gone between listing and fetching.
    pub vanished: u64,
    /// Records whose flags or expiry the format cannot carry.
    pub cut: u64,
    /// Records, among those dumped, with keys that are too long to be loaded.
    pub long_keys: u64,
    /// Records that an interrupted load had moved before.
    pub loaded_before: u64,
    #[serde(skip)]
    started: Instant,
}

impl Report {
    /// Starts the clock.
    pub fn start() -> Self {
        Self {
            records: 0,
            bytes: 0,
            seconds: 0.0,
            bad_lines: 0,
            too_large: 0,
            expired: 0,
            vanished: 0,
            cut: 0,
            long_keys: 0,
            loaded_before: 0,
            started: Instant::now(),
        }
    }

    /// Stops the clock.
    pub fn finish(&mut self, tally: &Tally) {
        self.seconds = self.started.elapsed().as_secs_f64();
        (self.records, self.bytes, self.too_large) = (tally.loaded, tally.bytes, tally.too_large);
    }

    /// Prints the summary, as a sentence that starts with `verb` or as JSON.
    ///
    /// # Errors
    /// Writing failed.
    pub fn print(&self, verb: &str, json: bool, out: &mut dyn Write) -> std::io::Result<()> {
        if json {
            serde_json::to_writer(&mut *out, self)?;
            return writeln!(out);
        }
        let rate = (self.records as f64 / self.seconds.max(1e-3)) as u64;
        let (records, size) = (HumanCount(self.records), Size { bytes: self.bytes });
        write!(out, "{verb} {records} records ({size}) in {:.1} s, {} a second", self.seconds, HumanCount(rate))?;
        let details = [
            (self.loaded_before, "loaded before"),
            (self.bad_lines, "bad lines skipped"),
            (self.too_large, "too large and skipped"),
            (self.expired, "expired before"),
            (self.vanished, "gone since they were listed"),
            (self.cut, "lost flags or expiry, which tsv cannot carry"),
            (self.long_keys, "with keys that are too long for `fawn load`"),
        ];
        for (count, what) in details.iter().filter(|(count, _)| *count > 0) {
            write!(out, "; {} {what}", HumanCount(*count))?;
        }
        writeln!(out)
    }
}
