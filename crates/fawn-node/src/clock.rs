//! Time, read once a turn.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The time as a loop's turn sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Unix seconds.
    pub unix: u32,
    /// Milliseconds of a clock that never goes back.
    pub ms: u64,
}

/// A loop's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock whose milliseconds begin now, at 1.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Microseconds from the clock's start to `at`.
    pub fn us(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.start).as_micros() as u64
    }

    /// The time now. Before 1970 counts as 1970, after 2106 as 2106.
    pub fn now(&self) -> Now {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Now { unix: u32::try_from(unix).unwrap_or(u32::MAX), ms: self.start.elapsed().as_millis() as u64 + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_never_go_back() {
        let clock = Clock::start();
        let (first, second) = (clock.now(), clock.now());
        assert!(first.ms >= 1 && second.ms >= first.ms && first.unix > 1_700_000_000);
    }
}
