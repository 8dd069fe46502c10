//! What a load or dump tells: notes while it runs and a summary at its end.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use indicatif::HumanCount;
use serde::Serialize;

use super::Skipped;
use super::ledger::Tally;
use crate::Outcome;
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
            NOTED => self.say("fawn: further bad records are only counted"),
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
            unreadable: 0,
            unfetched: 0,
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

    /// Counts what a file had beside records that were loaded.
    pub(super) fn skip(&mut self, skipped: &Skipped) {
        self.bad_lines = skipped.bad_lines;
        self.too_large += skipped.too_large;
        self.expired = skipped.expired;
    }

    /// What the command comes to: records that cannot be read are missing, and so are those that cannot be loaded again.
    pub fn outcome(&self) -> Outcome {
        if self.unreadable + self.unfetched + self.long_keys == 0 { Outcome::Done } else { Outcome::Missing }
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
        let what = if self.records == 1 { "record" } else { "records" };
        write!(out, "{verb} {records} {what} ({size}) in {:.1} s, {} per second", self.seconds, HumanCount(rate))?;
        let expired = format!("of those {verb} had expired before");
        // For one, and for any other number.
        let details = [
            (self.loaded_before, ["loaded before"; 2]),
            (self.bad_lines, ["bad line skipped", "bad lines skipped"]),
            (self.too_large, ["too large and skipped"; 2]),
            (self.expired, [expired.as_str(); 2]),
            (self.vanished, ["gone since it was listed", "gone since they were listed"]),
            (self.unreadable, ["cannot be read and are left out", "cannot be read and are left out"]),
            (
                self.unfetched,
                [
                    "has a key that memcached's protocol cannot carry and is left out",
                    "have keys that memcached's protocol cannot carry and are left out",
                ],
            ),
            (self.cut, ["lost flags or expiry, which tsv cannot carry"; 2]),
            (
                self.long_keys,
                [
                    "with a key that no server accepts, only `fawn load --bulk`",
                    "with keys that no server accepts, only `fawn load --bulk`",
                ],
            ),
        ];
        for (count, [one, many]) in details.into_iter().filter(|(count, _)| *count > 0) {
            write!(out, "; {} {}", HumanCount(count), if count == 1 { one } else { many })?;
        }
        writeln!(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_counts_in_words_that_fit_the_number() {
        let told = |report: &Report| {
            let mut out = Vec::new();
            report.print("loaded", false, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let one = told(&Report { records: 1, bad_lines: 1, expired: 1, vanished: 1, ..Report::start() });
        assert!(one.starts_with("loaded 1 record ("), "{one}");
        let rest = "; 1 bad line skipped; 1 of those loaded had expired before; 1 gone since it was listed\n";
        assert!(one.ends_with(rest), "{one}");
        let more = told(&Report { records: 30_002, bad_lines: 2, expired: 30, ..Report::start() });
        assert!(more.starts_with("loaded 30,002 records ("), "{more}");
        assert!(more.ends_with("; 2 bad lines skipped; 30 of those loaded had expired before\n"), "{more}");
    }
}
