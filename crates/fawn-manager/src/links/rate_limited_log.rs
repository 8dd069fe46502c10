//! Warnings about callers, at a bounded rate: anybody who can connect can cause them for ever.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines that are logged at once.
const BURST: u32 = 20;

/// After so long, one line more is logged.
const EVERY: Duration = Duration::from_secs(6);

/// The same line is not logged again for so long.
const SAME: Duration = Duration::from_mins(1);

/// Lines that are remembered, so that they are not logged again.
const REMEMBERED: usize = 16;

/// Logs a line, unless there were too many.
#[derive(Debug, Default)]
pub struct RateLimitedLog(Mutex<LogBudget>);

#[derive(Debug, Default)]
struct LogBudget {
    /// Lines that were logged and count yet.
    lines: u32,
    /// When the count last went down.
    since: Option<Instant>,
    /// Lines that were left out since one was logged.
    left_out: u64,
    /// What was logged last, and when.
    last: VecDeque<(Instant, String)>,
}

impl LogBudget {
    /// The number of lines that were left out before this one, if it is to be logged.
    fn next(&mut self, what: &str, now: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(now);
        let gone = (now.saturating_duration_since(since).as_secs() / EVERY.as_secs()) as u32;
        if gone > 0 {
            self.lines = self.lines.saturating_sub(gone);
            self.since = Some(now);
        }
        self.last.retain(|(at, _)| now.saturating_duration_since(*at) < SAME);
        if self.lines >= BURST || self.last.iter().any(|(_, line)| line == what) {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back((now, what.to_owned()));
        Some(std::mem::take(&mut self.left_out))
    }
}

impl RateLimitedLog {
    /// Logs a warning.
    pub fn warn(&self, what: &str) {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).next(what, Instant::now());
        match next {
            Some(0) => tracing::warn!("{what}"),
            Some(left_out) => tracing::warn!("{what} (and {left_out} more since the last such line)"),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_cannot_fill_the_log() {
        let (mut budget, start) = (LogBudget::default(), Instant::now());
        let lines = 0..10_000;
        let logged = lines.filter(|line| budget.next(&line.to_string(), start).is_some()).count();
        assert_eq!(logged, BURST as usize);
        assert_eq!(budget.next("a", start + EVERY), Some(10_000 - u64::from(BURST)), "what was left out is counted");
        assert_eq!(budget.next("b", start + EVERY), None);
        assert_eq!(budget.next("c", start + EVERY * 2), Some(1));
        assert!(budget.last.len() <= REMEMBERED);
    }

    #[test]
    fn a_line_is_not_logged_again_and_again() {
        let (mut budget, start) = (LogBudget::default(), Instant::now());
        assert_eq!(["a", "a", "b", "a"].map(|line| budget.next(line, start)), [Some(0), None, Some(1), None]);
        assert_eq!(budget.next("a", start + SAME), Some(1));
    }
}
