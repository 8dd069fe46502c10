//! The clocks of a node: one that only drifts, and one of the day that jumps and that the process keeps an eye on.

use fawn_kv::timekeeper::{Patience, Step, Timekeeper};
use fawn_kv::timing::Now;

use crate::cluster::time::{RIGHT_S, WRONG_US, drifted_us, unix, unix_ms_of};

/// Jumps of a clock are followed as in production, but sooner: a run lasts for seconds.
const PATIENCE: Patience = Patience { forward_ms: 2000, back_ms: 1000 };

/// A process that starts under a clock that is behind has it corrected after this: in half the time after which it sets the
/// time of ranges back.
const CORRECTED_US: u64 = 1_250_000;

/// The clocks of a node, and how its process goes by them.
pub struct NodeClock {
    /// What the drifting clock says at time 0, and by how many parts per million it is faster than the slowest there may be.
    offset_us: u64,
    fast_ppm: u64,
    /// By how much the clock of the day is ahead of one that is [`WRONG_US`] slow; `None`: it began in 1970.
    ahead_us: Option<u64>,
    /// It shows so many seconds more until then.
    jump: Option<(i64, u64)>,
    /// What keeps the time of the process that runs.
    keeper: Timekeeper,
}

/// What came of a look at the clock of the day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// The process follows a jump from here on.
    pub followed: bool,
    /// The process goes by a time that is wrong.
    pub wrong: bool,
}

impl NodeClock {
    /// Clocks that begin so; no process has read them yet.
    pub fn new(ahead_us: Option<u64>, offset_us: u64, fast_ppm: u64) -> Self {
        Self { offset_us, fast_ppm, ahead_us, jump: None, keeper: Timekeeper::with(PATIENCE) }
    }

    /// What the process takes the time to be.
    pub fn now(&self, now_us: u64) -> Now {
        let us = drifted_us(now_us, self.offset_us, self.fast_ppm);
        let time = self.keeper.time(boot_ms(now_us));
        let is_set = self.ahead_us.is_some() && time.is_set();
        let (unix, latest) = if is_set { (time.steady(), time.latest()) } else { (Now::UNKNOWN, 0) };
        Now { us, unix, latest }
    }

    /// The process reads its clock, and may follow a jump of it.
    pub fn read(&mut self, now_us: u64) -> ClockReading {
        let Some(ahead_us) = self.ahead_us else { return ClockReading::default() };
        let right_ms = unix_ms_of(now_us, ahead_us);
        let off_s = self.jump.filter(|(_, until_us)| now_us < *until_us).map_or(0, |(off_s, _)| off_s);
        let shown_ms = right_ms.cast_signed().saturating_add(off_s.saturating_mul(1000)).max(0).cast_unsigned();
        let followed = matches!(self.keeper.step(shown_ms, boot_ms(now_us)), Step::Followed(_));
        let steady = self.steady(now_us);
        ClockReading { followed, wrong: steady > 0 && steady.abs_diff(unix(now_us)) > RIGHT_S }
    }

    /// The clock shows so many seconds more for a while. A process that has no time yet starts by what it shows.
    pub fn jump(&mut self, now_us: u64, off_s: i64, for_us: u64) {
        let for_us = if self.steady(now_us) == 0 && off_s < 0 { for_us.min(CORRECTED_US) } else { for_us };
        self.jump = Some((off_s, now_us + for_us));
    }

    /// Whether the process goes by a time that has passed.
    pub fn is_behind(&self, now_us: u64) -> bool {
        let steady = self.steady(now_us);
        steady > 0 && steady + RIGHT_S < unix(now_us)
    }

    /// Whether it began in 1970.
    pub fn is_lost(&self) -> bool {
        self.ahead_us.is_none()
    }

    /// It is so much ahead of one that is [`WRONG_US`] slow, if it knows the time at all.
    pub fn set_ahead(&mut self, ahead_us: u64) {
        self.ahead_us = self.ahead_us.map(|_| ahead_us.min(2 * WRONG_US - 1));
    }

    /// A process starts, and knows no time.
    pub fn restart(&mut self, now_us: u64) {
        self.keeper = Timekeeper::with(PATIENCE);
        if let Some((off_s, until_us)) = &mut self.jump
            && *off_s < 0
        {
            *until_us = (*until_us).min(now_us + CORRECTED_US);
        }
    }

    /// It shows the right time from here on.
    pub fn heal(&mut self) {
        self.jump = None;
    }

    fn steady(&self, now_us: u64) -> u32 {
        self.keeper.time(boot_ms(now_us)).steady()
    }
}

/// Milliseconds of a clock that goes evenly.
fn boot_ms(now_us: u64) -> u64 {
    now_us / 1000 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_jump_is_followed_and_then_the_time_is_wrong() {
        let mut clock = NodeClock::new(Some(WRONG_US), 0, 4500);
        assert_eq!((clock.read(0), clock.is_behind(0)), (ClockReading::default(), false));
        clock.jump(0, -3600, 60_000_000);
        let readings: Vec<ClockReading> = (1..400).map(|at| clock.read(at * 10_000)).collect();
        assert_eq!(readings.iter().filter(|reading| reading.followed).count(), 1);
        assert!(readings.last().is_some_and(|reading| reading.wrong) && clock.is_behind(4_000_000));
    }

    #[test]
    fn a_clock_that_began_in_1970_is_never_set() {
        let mut clock = NodeClock::new(None, 0, 4500);
        assert_eq!(clock.read(5_000_000), ClockReading::default());
        clock.set_ahead(WRONG_US);
        assert!(clock.is_lost());
        assert_eq!(clock.now(5_000_000).unix, Now::UNKNOWN);
    }
}
