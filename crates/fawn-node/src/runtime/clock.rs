//! Time, read once a turn.

use fawn_flash::clock;
use fawn_store::timekeeper::{Time, Timekeeper};
use std::time::Instant;

/// How long a loop takes its copy of what keeps the process's time for good, in milliseconds.
const COPY_MS: u64 = 200;

/// The time as a loop's turn sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The Unix second by which it is judged what has expired; 0: the system's clock was never set.
    pub unix: u32,
    /// What expiries are counted from.
    pub time: Time,
    /// Milliseconds of a clock that never goes back.
    pub ms: u64,
}

impl Now {
    /// With a clock of the day that goes on evenly.
    #[cfg(test)]
    pub const fn at(unix: u32, ms: u64) -> Self {
        Self { unix, time: Time::at(unix), ms }
    }
}

/// A loop's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    keeper: Timekeeper,
    /// When the keeper was copied, by the boot clock.
    copied_ms: u64,
}

impl Clock {
    /// A clock whose milliseconds begin now, at 1.
    pub fn start() -> Self {
        Self { start: Instant::now(), keeper: clock::keeper(), copied_ms: clock::boot_ms() }
    }

    /// Microseconds from the clock's start to `at`.
    pub fn us(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.start).as_micros() as u64
    }

    /// The time now.
    pub fn now(&mut self) -> Now {
        let boot_ms = clock::boot_ms();
        if boot_ms >= self.copied_ms + COPY_MS {
            (self.keeper, self.copied_ms) = (clock::keeper(), boot_ms);
        }
        let time = self.keeper.time(boot_ms);
        Now { unix: time.now, time, ms: self.start.elapsed().as_millis() as u64 + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_never_go_back() {
        let mut clock = Clock::start();
        let (first, second) = (clock.now(), clock.now());
        assert!(first.ms >= 1 && second.ms >= first.ms && first.unix > 1_700_000_000);
    }
}
