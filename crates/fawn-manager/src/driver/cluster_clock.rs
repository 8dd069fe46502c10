//! What time it is in the cluster: what most machines' clocks show, so that one that is wrong changes nothing.
//!
//! Seats say what their machines' clocks show once a second, and are answered. Each then keeps time by itself; a jump of
//! what it is told it follows as late as one of its own clock ([`fawn_kv::timekeeper`]).

use fawn_kv::ids::SeatId;
use fawn_kv::manager::roster::Roster;
use fawn_kv::timekeeper::{EARLIEST, LATEST};
use std::collections::BTreeMap;

/// A reading of a clock counts for so long, in microseconds.
const FRESH_US: u64 = 5_000_000;

/// So long after it has begun to lead a manager says what time it is, even if it has not heard every member's clock.
const PATIENCE_US: u64 = 3_000_000;

/// What a clock showed.
#[derive(Clone, Copy, Debug)]
struct ClockReading {
    /// Unix microseconds at the zero of the manager's own clock.
    zero_us: i64,
    at_us: u64,
}

impl ClockReading {
    fn new(unix_ms: u64, at_us: u64) -> Option<Self> {
        let is_set = (u64::from(EARLIEST)..=u64::from(LATEST)).contains(&(unix_ms / 1000));
        is_set.then(|| Self { zero_us: (unix_ms * 1000).cast_signed() - at_us.cast_signed(), at_us })
    }
}

/// Of what several clocks show what the most of them agree on: the one in the middle. Of two in the middle it is the one that
/// goes on as the cluster's time did `before`: the other one jumped. At first it is the earlier, by which nothing expires too
/// soon.
fn middle(mut zeros_us: Vec<i64>, before: Option<i64>) -> Option<i64> {
    zeros_us.sort_unstable();
    let earlier = *zeros_us.get(zeros_us.len().checked_sub(1)? / 2)?;
    let later = zeros_us[zeros_us.len() / 2];
    let off = |zero_us: i64| before.map_or(0, |before| before.abs_diff(zero_us));
    Some(if off(later) < off(earlier) { later } else { earlier })
}

/// What the members' clocks show, and the time that follows from it.
#[derive(Debug, Default)]
pub struct ClusterClock {
    readings: BTreeMap<SeatId, ClockReading>,
    /// Unix microseconds at the zero of this manager's own clock, as seats were told last.
    zero_us: Option<i64>,
}

impl ClusterClock {
    /// A seat says what its machine's clock shows.
    pub fn read(&mut self, seat: SeatId, unix_ms: u64, now_us: u64) {
        match ClockReading::new(unix_ms, now_us) {
            Some(reading) => drop(self.readings.insert(seat, reading)),
            None => drop(self.readings.remove(&seat)),
        }
    }

    /// A new leader has yet to hear the clocks.
    pub fn forget_readings(&mut self) {
        self.readings.clear();
    }

    /// Forgets seats that are no member's.
    pub fn retain(&mut self, mut is_known: impl FnMut(SeatId) -> bool) {
        self.readings.retain(|seat, _| is_known(*seat));
    }

    /// The Unix time in milliseconds, if a leader since `led_us` knows enough of it. `own_ms` is what its own machine's clock
    /// shows.
    pub fn time_ms(&mut self, roster: &Roster, own_ms: u64, led_us: u64, now_us: u64) -> Option<u64> {
        let is_fresh = |reading: &ClockReading| now_us.saturating_sub(reading.at_us) < FRESH_US;
        let heard = |seat| self.readings.get(&seat).copied().filter(is_fresh);
        // One a member: its seats are of one machine.
        let members: Vec<Option<ClockReading>> =
            roster.members.values().map(|member| member.seats().find_map(heard)).collect();
        let is_early = now_us.saturating_sub(led_us) < PATIENCE_US;
        if is_early && members.iter().any(Option::is_none) {
            return None;
        }
        let all = members.into_iter().flatten().chain(ClockReading::new(own_ms, now_us));
        let zero_us = middle(all.map(|reading| reading.zero_us).collect(), self.zero_us)?;
        self.zero_us = Some(zero_us);
        Some((now_us.cast_signed() + zero_us).max(0).cast_unsigned() / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_clock_of_three_that_is_wrong_changes_nothing_and_of_two_the_earlier_counts() {
        for wrong in [i64::MIN, -1, 500, i64::MAX] {
            let middle = middle(vec![10, wrong, 12], None).unwrap();
            assert!((10..=12).contains(&middle), "{wrong}: {middle}");
        }
        assert_eq!(middle(vec![i64::MAX, 10], None), Some(10));
        assert_eq!(middle(vec![7], None), Some(7));
        assert_eq!(middle(Vec::new(), None), None);
    }

    #[test]
    fn one_clock_of_two_that_jumps_changes_nothing_for_as_long_as_the_other_goes_on() {
        for jumped in [i64::MIN, -500, 500, i64::MAX] {
            let mut before = None;
            for clocks in [[10, 10], [10, jumped], [11, jumped], [10, jumped], [10, 10]] {
                before = middle(clocks.to_vec(), before);
                assert!(before.is_some_and(|zero_us| (10..=11).contains(&zero_us)), "{jumped}: {before:?}");
            }
        }
        // Where both have, they are followed.
        assert_eq!(middle(vec![-500, -501], Some(10)), Some(-500));
        assert_eq!(middle(vec![500, -5, 12, 11], Some(10)), Some(11));
    }

    #[test]
    fn a_clock_that_was_never_set_is_no_witness() {
        assert!(ClockReading::new(1000, 5).is_none() && ClockReading::new(u64::from(u32::MAX) * 1000, 5).is_none());
        let reading = ClockReading::new(1_800_000_000_000, 7_000_000).unwrap();
        assert_eq!(reading.zero_us, 1_799_999_993_000_000);
    }

    #[test]
    fn a_new_leader_waits_for_every_members_clock_and_not_for_ever() {
        let roster = super::super::testing::roster(&["a", "b"]);
        let [a, b] = ["a", "b"].map(|name| roster.members[name].first);
        let (mut clock, own_ms, led_us) = (ClusterClock::default(), 1_800_000_000_000, 10_000_000);
        clock.read(a, own_ms + 2, led_us);
        assert_eq!(clock.time_ms(&roster, own_ms, led_us, led_us), None, "the clock of b is not known yet");
        assert!(clock.time_ms(&roster, own_ms, led_us, led_us + PATIENCE_US).is_some());
        clock.read(b, own_ms + 1, led_us);
        assert_eq!(clock.time_ms(&roster, own_ms, led_us, led_us), Some(own_ms + 1));
        clock.forget_readings();
        assert_eq!(clock.time_ms(&roster, own_ms, led_us, led_us), None);
    }
}
