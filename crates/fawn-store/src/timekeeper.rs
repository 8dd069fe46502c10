//! The time by which a process judges and sets expiries, whatever happens to the clock of the day.
//!
//! A process has two clocks: the *wall clock*, which says what day it is and can be set to anything at any moment, and the
//! *boot clock*, which counts seconds since the machine started and is never set. A [`Timekeeper`] keeps a *steady* time: the
//! wall clock's as it was read at the start, carried on by the boot clock. When the wall clock jumps, it decides:
//!
//! * A jump of up to [`SMALL_MS`] is followed at once.
//! * A larger jump forward is followed after an hour without another one. Until then nothing expires early by it.
//! * A larger jump back is followed after a minute. Until then expiries are judged by the wall clock and set by the steady
//!   time, so that nothing expires early whether the jump stays or not.
//! * A wall clock before 2020 or beyond 2106 was never set. It is not followed at all; a process that starts with one has no
//!   time, and nothing expires.
//!
//! See [decision 31](../../../docs/decisions/0031-time-that-jumps.md).

/// A jump of the wall clock that is followed at once, in milliseconds.
pub const SMALL_MS: i64 = 5000;

/// How long the wall clock has to go on evenly after a jump forward before it is followed, in milliseconds.
pub const FORWARD_MS: u64 = 3_600_000;

/// How long the wall clock has to go on evenly after a jump back, in milliseconds.
pub const BACK_MS: u64 = 60_000;

/// How long the wall clock has to go on evenly before it is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// After a jump forward, in milliseconds.
    pub forward_ms: u64,
    /// After a jump back.
    pub back_ms: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { forward_ms: FORWARD_MS, back_ms: BACK_MS }
    }
}

/// The first Unix second at which a clock counts as set: 2020-01-01.
pub const EARLIEST: u32 = 1_577_836_800;

/// The last one: a day before 32 bits end.
pub const LATEST: u32 = u32::MAX - 86_400;

/// A jump that is not followed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Jump {
    /// Unix milliseconds of the wall clock at the boot clock's zero.
    zero_ms: i64,
    /// When it was seen, by the boot clock.
    since_ms: u64,
}

/// What a step of the timekeeper came upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The wall clock goes on evenly.
    Even,
    /// The wall clock was set for the first time since the start.
    Set,
    /// The wall clock has jumped by so many seconds. It is not followed yet.
    Jumped(i64),
    /// The wall clock is back where it was before it jumped.
    Back,
    /// The jump has lasted, and is followed: the steady time moves by so many seconds.
    Followed(i64),
    /// The wall clock shows a time before 2020 or beyond 2106. It is not followed.
    Lost,
}

/// Keeps a process's time. It reads no clock: readings are arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timekeeper {
    /// Unix milliseconds of the steady time at the boot clock's zero; `None`: the wall clock was never set.
    zero_ms: Option<i64>,
    jump: Option<Jump>,
    /// The wall clock shows a time that cannot be.
    lost: bool,
    /// The latest steady time so far, in Unix milliseconds.
    latest_ms: i64,
    patience: Patience,
}

impl Timekeeper {
    /// One that follows jumps after other times than [`Patience::default`].
    pub fn with(patience: Patience) -> Self {
        Self { patience, ..Self::default() }
    }

    /// Takes a reading of both clocks, in milliseconds; to be called a few times a second.
    pub fn step(&mut self, wall_ms: u64, boot_ms: u64) -> Step {
        let is_set = (u64::from(EARLIEST) * 1000..=u64::from(LATEST) * 1000).contains(&wall_ms);
        if !is_set {
            self.jump = None;
            return if std::mem::replace(&mut self.lost, true) { Step::Even } else { Step::Lost };
        }
        let was_lost = std::mem::take(&mut self.lost);
        let zero_ms = wall_ms.cast_signed() - boot_ms.cast_signed();
        let Some(steady) = self.zero_ms else {
            self.zero_ms = Some(zero_ms);
            return if was_lost { Step::Set } else { Step::Even };
        };
        self.latest_ms = self.latest_ms.max(steady.saturating_add(boot_ms.cast_signed()));
        let off_ms = zero_ms - steady;
        if off_ms.abs() <= SMALL_MS {
            self.zero_ms = Some(zero_ms);
            let was_off = self.jump.take().is_some() || was_lost;
            return if was_off { Step::Back } else { Step::Even };
        }
        let goes_on = self.jump.filter(|jump| (jump.zero_ms - zero_ms).abs() <= SMALL_MS);
        let since_ms = goes_on.map_or(boot_ms, |jump| jump.since_ms);
        if boot_ms.saturating_sub(since_ms) >= self.patience_ms(off_ms) {
            (self.zero_ms, self.jump) = (Some(zero_ms), None);
            return Step::Followed(off_ms / 1000);
        }
        self.jump = Some(Jump { zero_ms, since_ms });
        if goes_on.is_some() { Step::Even } else { Step::Jumped(off_ms / 1000) }
    }

    /// Takes the wall clock's time at once, however far it is off: whoever says what time it is, is believed more than the
    /// clock at the start.
    pub fn believe(&mut self, wall_ms: u64, boot_ms: u64) {
        (self.zero_ms, self.jump, self.lost, self.latest_ms) = (None, None, false, 0);
        self.step(wall_ms, boot_ms);
    }

    /// Unix milliseconds at the boot clock's zero, of the time by which expiries are judged; `None`: the clock was never set.
    pub fn judged_zero_ms(&self) -> Option<i64> {
        let zero_ms = self.zero_ms?;
        Some(self.jump.map_or(zero_ms, |jump| jump.zero_ms.min(zero_ms)))
    }

    /// The time at a reading of the boot clock.
    pub fn time(&self, boot_ms: u64) -> Time {
        let Some(zero_ms) = self.zero_ms else { return Time::UNSET };
        let whole = |unix_ms: i64| u32::try_from(unix_ms.max(1000) / 1000).unwrap_or(u32::MAX);
        let second = |zero_ms: i64| whole(boot_ms.cast_signed().saturating_add(zero_ms));
        let steady = second(zero_ms);
        let latest = steady.max(whole(self.latest_ms));
        let Some(jump) = self.jump else { return Time { now: steady, steady, latest, coming: None } };
        let wall = second(jump.zero_ms);
        if jump.zero_ms < zero_ms {
            return Time { now: wall, steady, latest, coming: None };
        }
        let left_ms = (jump.since_ms + self.patience.forward_ms).saturating_sub(boot_ms);
        Time { now: steady, steady, latest: latest.max(wall), coming: Some((wall, (left_ms / 1000) as u32)) }
    }

    fn patience_ms(&self, off_ms: i64) -> u64 {
        if off_ms > 0 { self.patience.forward_ms } else { self.patience.back_ms }
    }
}

/// What time it is for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// The Unix second by which it is judged what has expired; 0: the clock was never set.
    pub now: u32,
    /// The steady time, from which expiries are counted.
    steady: u32,
    /// The latest steady time so far, or the wall clock's, if that is ahead.
    latest: u32,
    /// The wall clock is ahead, at this second, and is followed in so many seconds.
    coming: Option<(u32, u32)>,
}

impl Time {
    /// The clock was never set.
    pub const UNSET: Self = Self { now: 0, steady: 0, latest: 0, coming: None };

    /// A clock that goes on evenly, at this Unix second.
    pub const fn at(unix: u32) -> Self {
        Self { now: unix, steady: unix, latest: unix, coming: None }
    }

    /// Whether the clock was ever set: else nothing can be given a time to live.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.steady > 0
    }

    /// The Unix second at which something expires that is to live for so many seconds.
    #[inline]
    pub fn expiry_in(&self, seconds: u32) -> u32 {
        match self.coming {
            // By then the steady time has come to where the wall clock is.
            Some((wall, left)) if seconds >= left => wall.saturating_add(seconds),
            _ => self.steady.saturating_add(seconds),
        }
    }

    /// The Unix second from which sessions are named: it goes back only where a jump back is followed.
    #[inline]
    pub fn steady(&self) -> u32 {
        self.steady
    }

    /// The latest Unix second that the process has gone by, or goes by soon if its clock is right: what is later than that was
    /// stamped by another clock.
    #[inline]
    pub fn latest(&self) -> u32 {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_800_000_000;
    const YEAR: i64 = 31_536_000;

    /// A process whose clock was right at its start, and seconds since.
    struct Process {
        keeper: Timekeeper,
        boot_s: u64,
        off_s: i64,
    }

    impl Process {
        fn started(off_s: i64) -> Self {
            let mut process = Self { keeper: Timekeeper::default(), boot_s: 50, off_s };
            process.read();
            process
        }

        fn read(&mut self) -> Step {
            let wall_s = (START + self.boot_s).cast_signed() + self.off_s;
            self.keeper.step(wall_s.max(0).cast_unsigned() * 1000, self.boot_s * 1000)
        }

        /// The clock is off by so much from now on, for so long.
        fn off_for(&mut self, off_s: i64, seconds: u64) -> Vec<Step> {
            self.off_s = off_s;
            let mut steps = Vec::new();
            for _ in 0..seconds {
                self.boot_s += 1;
                steps.extend(Some(self.read()).filter(|step| *step != Step::Even));
            }
            steps
        }

        fn time(&self) -> Time {
            self.keeper.time(self.boot_s * 1000)
        }

        /// By how much what has expired is judged later than by a clock that is right, in seconds.
        fn late_s(&self) -> i64 {
            (START + self.boot_s).cast_signed() - i64::from(self.time().now)
        }
    }

    #[test]
    fn a_clock_that_is_wrong_for_seconds_changes_nothing_however_far_it_is_off() {
        for off_s in [YEAR, 3600, 10, -10, -YEAR, -START.cast_signed(), i64::from(u32::MAX), 100 * YEAR, 1000 * YEAR] {
            let mut process = Process::started(0);
            let steps = process.off_for(off_s, 2);
            assert!(matches!(steps[..], [Step::Jumped(_) | Step::Lost]), "{off_s}: {steps:?}");
            assert!(process.late_s() >= 0, "{off_s}: nothing expires early");
            let set_meanwhile = process.time().expiry_in(100);
            assert_eq!(process.off_for(0, 2), [Step::Back], "{off_s}");
            assert_eq!(process.late_s(), 0, "{off_s}");
            assert_eq!(i64::from(set_meanwhile), (START + process.boot_s).cast_signed() + 98, "{off_s}");
        }
    }

    #[test]
    fn nothing_lives_for_less_than_it_was_given_while_a_jump_is_followed() {
        for off_s in [YEAR, 20, -20, -YEAR] {
            let mut process = Process::started(0);
            // What is set at any second, before the jump or after it, with any time to live of up to an hour.
            let mut set: Vec<(u64, u32, u32)> = Vec::new();
            for second in 0..8000 {
                process.off_for(if second < 100 { 0 } else { off_s }, 1);
                let time = process.time();
                if second % 50 == 0 {
                    set.extend([1, 60, 3599].map(|ttl| (process.boot_s, ttl, time.expiry_in(ttl))));
                }
                let early = set.iter().find(|(at, ttl, expiry)| {
                    let was_over = process.boot_s >= at + u64::from(*ttl);
                    *expiry <= time.now && !was_over
                });
                assert_eq!(early, None, "off by {off_s}, at {}", process.boot_s);
            }
            assert_eq!(process.late_s(), -off_s, "the clock is followed in the end");
            assert_eq!(process.time(), Time { latest: process.time().latest, ..Time::at(process.time().now) });
        }
    }

    #[test]
    fn a_jump_that_moves_on_is_another_jump() {
        let mut process = Process::started(0);
        for _ in 0..100 {
            process.off_for(YEAR, 3000);
            process.off_for(2 * YEAR, 3000);
        }
        assert_eq!(process.late_s(), 0);
        assert_eq!(process.off_for(2 * YEAR, 3600), [Step::Followed(2 * YEAR)]);
    }

    #[test]
    fn a_machine_that_starts_in_1970_has_no_time_until_its_clock_is_set() {
        for off_s in [-START.cast_signed(), i64::from(u32::MAX)] {
            let mut process = Process::started(off_s);
            assert_eq!(process.time(), Time::UNSET);
            assert!(!process.time().is_set());
            process.off_for(off_s, 7200);
            assert_eq!(process.time(), Time::UNSET);
            assert_eq!(process.off_for(0, 1), [Step::Set]);
            assert_eq!(process.time(), Time::at((START + process.boot_s) as u32));
        }
    }

    #[test]
    fn small_corrections_are_followed_at_once() {
        let mut process = Process::started(0);
        for off_s in [1, 5, 9, 5, 0, -4] {
            assert_eq!(process.off_for(off_s, 1), []);
            assert_eq!(process.late_s(), -off_s);
        }
    }

    #[test]
    fn a_process_remembers_the_latest_time_that_it_has_gone_by() {
        let mut process = Process::started(0);
        process.off_for(0, 100);
        let at = |process: &Process, off_s: i64| ((START + process.boot_s).cast_signed() + off_s) as u32;
        let before = at(&process, 0);
        assert_eq!(process.time().latest(), before);
        // Set back at once, in small steps, and forward again.
        process.off_for(-YEAR, 100);
        assert_eq!(process.time().steady(), at(&process, -YEAR));
        assert!((before..=before + 61).contains(&process.time().latest()), "{:?}", process.time());
        for seconds in 1..100 {
            process.off_for(-YEAR - 5 * seconds, 1);
        }
        assert!((before..=before + 61).contains(&process.time().latest()), "{:?}", process.time());
        process.off_for(YEAR, 1);
        assert_eq!(process.time().latest(), at(&process, YEAR), "the clock may be right about that");
        process.off_for(-YEAR, 1);
        assert!((before..=before + 61).contains(&process.time().latest()), "it was not");
        process.keeper.believe(START * 1000, process.boot_s * 1000);
        assert_eq!(process.time().latest(), START as u32, "what it began with counts no more");
    }

    #[test]
    fn who_is_told_the_time_believes_it() {
        let mut process = Process::started(YEAR);
        let right = (START + process.boot_s) * 1000;
        process.keeper.believe(right, process.boot_s * 1000);
        assert_eq!(process.late_s(), 0);
    }
}
