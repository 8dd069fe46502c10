//! How far things are, on standard error.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Lines are at least so far apart.
const APART: Duration = Duration::from_millis(500);

/// Lines of `progress DONE TOTAL WHAT`, if somebody wants them.
#[derive(Debug)]
pub struct ProgressWriter {
    is_wanted: bool,
    last: Mutex<Option<(Instant, String)>>,
}

impl ProgressWriter {
    /// `is_wanted`, or silence.
    pub fn new(is_wanted: bool) -> Self {
        Self { is_wanted, last: Mutex::new(None) }
    }

    /// `done` of `total` parts are done; `what` is under way.
    pub fn tell(&self, done: u64, total: u64, what: &str) {
        let Ok(mut last) = self.last.lock() else { return };
        let is_due = last.as_ref().is_none_or(|(told, before)| before != what || told.elapsed() >= APART);
        if self.is_wanted && is_due {
            *last = Some((Instant::now(), what.to_owned()));
            eprintln!("progress {done} {total} {what}");
        }
    }
}
