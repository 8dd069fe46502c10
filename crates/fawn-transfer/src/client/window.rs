//! How much is in flight on a connection.

use std::time::{Duration, Instant};

/// Requests in flight at most, give or take a batch.
const MOST_REQUESTS: usize = 2048;

/// Bytes in flight at most, give or take a batch.
const MOST_BYTES: usize = 8 << 20;

/// The whole window, in its own units; where it begins; and the least of it.
const WHOLE: usize = 1024;
const BEGINNING: usize = WHOLE / 8;
const LEAST: usize = WHOLE / 64;

/// Answers that take less let the window grow.
const QUICK: Duration = Duration::from_millis(500);

/// Those that take more make it smaller. A cluster gives a request up after five seconds.
const SLOW: Duration = Duration::from_secs(1);

/// A window that grows while answers are quick, and shrinks when they are slow: where a link or a device is slow, more in flight
/// only waits longer.
#[derive(Debug)]
pub(super) struct Window {
    /// How much of the whole window may be used.
    size: usize,
    /// When it was made smaller last.
    shrunk: Option<Instant>,
}

impl Window {
    pub(super) fn new() -> Self {
        Self { size: BEGINNING, shrunk: None }
    }

    /// Whether more may be sent while so many requests of so many bytes are in flight.
    pub(super) fn has_room(&self, requests: usize, bytes: usize) -> bool {
        requests < MOST_REQUESTS / WHOLE * self.size && bytes < MOST_BYTES / WHOLE * self.size
    }

    /// An answer has come at `now` to what was sent at `sent`.
    pub(super) fn answered(&mut self, sent: Instant, now: Instant) {
        let took = now.saturating_duration_since(sent);
        if took < QUICK {
            self.size = (self.size + self.size / 8).min(WHOLE);
        } else if took > SLOW && self.shrunk.is_none_or(|shrunk| sent > shrunk) {
            // What was sent before that says nothing of the smaller window.
            (self.size, self.shrunk) = ((self.size / 2).max(LEAST), Some(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_with_quick_answers_and_shrinks_once_for_what_was_sent_in_a_larger_one() {
        let (mut window, start) = (Window::new(), Instant::now());
        assert!(window.has_room(255, (1 << 20) - 1) && !window.has_room(256, 0) && !window.has_room(0, 1 << 20));
        (0..100).for_each(|_| window.answered(start, start + Duration::from_millis(10)));
        assert!(window.has_room(MOST_REQUESTS - 1, MOST_BYTES - 1) && !window.has_room(MOST_REQUESTS, MOST_BYTES));
        window.answered(start, start + Duration::from_millis(700));
        assert_eq!(window.size, WHOLE);
        for late in 2..=4 {
            window.answered(start, start + Duration::from_secs(late));
            assert_eq!(window.size, WHOLE / 2, "all of these were sent before");
        }
        let mut sent = start + Duration::from_secs(5);
        for _ in 0..10 {
            window.answered(sent, sent + Duration::from_secs(2));
            sent += Duration::from_secs(3);
        }
        assert_eq!(window.size, LEAST);
        assert!(window.has_room(31, (128 << 10) - 1), "it never closes");
    }
}
