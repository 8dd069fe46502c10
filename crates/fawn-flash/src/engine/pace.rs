//! How fast a maintenance thread goes.
//!
//! What seals and merges read and write delays the reads and syncs that somebody waits for. So while there are any, the
//! thread rests between its pieces of work, the less the more urgent they are ([`Store::urgency`]): what puts call for is
//! spread over the time that there is, in the place of bursts. Where nobody waits, it does not rest.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use fawn_store::Store;

/// The least part of its time that the thread works.
const LEAST: f64 = 0.125;
/// From this urgency on the thread does not rest.
const URGENT: f64 = 0.9;
/// Nobody waits for the device when nobody has for so many milliseconds.
const QUIET_MS: u64 = 20;
/// Rests shorter than this are put together, longer ones than that are cut: by then things may have become urgent.
const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(25);
/// What of its time the thread works, as an integer.
const WHOLE: u32 = 1 << 16;

/// The pace of one store's maintenance thread, for that thread to read.
#[derive(Debug)]
pub struct MaintenancePace {
    share: AtomicU32,
}

impl Default for MaintenancePace {
    fn default() -> Self {
        Self { share: AtomicU32::new(WHOLE) }
    }
}

impl MaintenancePace {
    /// The thread works `share` of its time, from 0 to 1, or [`LEAST`] if that is more.
    fn set(&self, share: f64) {
        let share = if share >= URGENT { 1.0 } else { share.max(LEAST) };
        self.share.store((share * f64::from(WHOLE)) as u32, Ordering::Relaxed);
    }

    /// How long to rest after so much work.
    fn rest_after(&self, work: Duration) -> Duration {
        let share = f64::from(self.share.load(Ordering::Relaxed)) / f64::from(WHOLE);
        work.mul_f64(1.0 / share.clamp(LEAST, 1.0) - 1.0)
    }
}

/// [`Store::waits`] of all stores of the process: they mostly share a device.
static WAITS: AtomicU64 = AtomicU64::new(0);

/// Sets the pace by what the store says. The thread that owns the store has it.
#[derive(Debug, Default)]
pub struct PaceSetter {
    /// The store's own waits as last seen.
    own: u64,
    /// All waits as last seen, and the milliseconds at which they had changed.
    all: u64,
    changed_ms: Option<u64>,
}

impl PaceSetter {
    /// Looks at the store at `now_ms`, on any monotonic clock.
    pub fn set(&mut self, pace: &MaintenancePace, store: &Store, now_ms: u64) {
        let own = store.waits();
        if own != self.own {
            WAITS.fetch_add(own.wrapping_sub(self.own), Ordering::Relaxed);
            self.own = own;
        }
        let all = WAITS.load(Ordering::Relaxed);
        if all != self.all {
            (self.all, self.changed_ms) = (all, Some(now_ms));
        }
        let somebody_waits = self.changed_ms.is_some_and(|changed| now_ms <= changed + QUIET_MS);
        pace.set(if somebody_waits { store.urgency() } else { 1.0 });
    }
}

/// The rest that a maintenance thread has still to take.
#[derive(Debug, Default)]
pub struct OwedRest {
    owed: Duration,
}

impl OwedRest {
    /// After so much work of which nothing is urgent.
    pub fn owe(&mut self, pace: &MaintenancePace, work: Duration) {
        self.owed = (self.owed + pace.rest_after(work)).min(LONG);
    }

    /// Something is to be done at once.
    pub fn forget(&mut self) {
        self.owed = Duration::ZERO;
    }

    /// How long to rest now.
    pub fn take(&mut self) -> Duration {
        if self.owed < SHORT { Duration::ZERO } else { std::mem::take(&mut self.owed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_are_as_long_as_the_pace_says_and_short_ones_are_put_together() {
        let (pace, mut rest) = (MaintenancePace::default(), OwedRest::default());
        rest.owe(&pace, Duration::from_millis(9));
        assert_eq!(rest.take(), Duration::ZERO, "it does not rest where nobody waits");
        pace.set(0.25);
        rest.owe(&pace, Duration::from_micros(300));
        assert_eq!(rest.take(), Duration::ZERO, "0.9 ms is not worth a rest");
        rest.owe(&pace, Duration::from_micros(300));
        let taken = rest.take();
        assert!(taken.abs_diff(Duration::from_micros(1800)) < Duration::from_micros(10), "{taken:?}");
        assert_eq!(rest.take(), Duration::ZERO);
        pace.set(0.0);
        rest.owe(&pace, Duration::from_millis(1));
        assert!(rest.take().abs_diff(Duration::from_millis(7)) < Duration::from_micros(10), "an eighth at least");
        rest.owe(&pace, Duration::from_secs(1));
        assert_eq!(rest.take(), LONG);
        rest.owe(&pace, Duration::from_secs(1));
        rest.forget();
        assert_eq!(rest.take(), Duration::ZERO);
        pace.set(0.95);
        rest.owe(&pace, Duration::from_secs(1));
        assert_eq!(rest.take(), Duration::ZERO, "what is urgent is not paced");
    }
}
