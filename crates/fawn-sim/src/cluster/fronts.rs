//! Front-ends in the simulated cluster, and what goes wrong with them.

use fawn_check::random::Random;
use fawn_kv::frontend::{Front, Limits};
use fawn_kv::ids::{Address, FrontId, FrontMember, Wedge};
use fawn_kv::timing::Now;
use fawn_kv::wire::Message;
use fawn_kv::wire::version::NEWEST;

use super::events::Event;
use super::store::SECRET;
use super::world::{Party, WRONG_US, World};

/// Wedges of the key space between so many front-ends.
pub(super) fn wedges(fronts: u32) -> u32 {
    if fronts == 0 { 0 } else { 8.max(2 * fronts) }
}

/// Of the names of front-ends' own sessions, and of no others, the lower half has this bit.
const OWN_SESSIONS: u64 = 1 << 31;

/// Whether a session is a front-end's own.
pub(super) fn is_own_session(session: u64) -> bool {
    session & OWN_SESSIONS != 0
}

/// A front-end's place.
pub(super) struct FrontPlace {
    pub(super) front: Option<Front>,
    /// Counts its lives; 0: it is not to be there.
    pub(super) run: u32,
    pub(super) limits: Limits,
    /// What the clock says at time 0, and by how many parts per million it is faster than the slowest there may be.
    offset_us: u64,
    fast_ppm: u64,
    /// By how much the clock of the day is ahead of one that is [`WRONG_US`] slow.
    ahead_us: u64,
    pub(super) paused_until_us: u64,
}

impl FrontPlace {
    /// A place for front-end `number`, which may give up soon unless it `is_patient`.
    pub(super) fn new(number: u32, is_patient: bool, random: &mut Random) -> Self {
        // Small, so that what is bounded meets its bounds, and what is evicted is asked for again.
        let limits = Limits {
            flights: 64,
            waiters: 8,
            flushes: 12,
            cache_factor: 1,
            retry_us: 100_000,
            deadline_us: if number == 0 && !is_patient { 900_000 } else { 2_500_000 },
            ..Limits::default()
        };
        let (offset_us, fast_ppm, ahead_us) = (random.below(1_000_000), random.below(9000), random.below(2 * WRONG_US));
        Self { front: None, run: 0, limits, offset_us, fast_ppm, ahead_us, paused_until_us: 0 }
    }
}

impl World {
    fn front_clock(&self, number: usize) -> Now {
        let FrontPlace { offset_us, fast_ppm, ahead_us, .. } = self.fronts[number];
        let us = offset_us + self.now_us - self.now_us * 4500 / 1_000_000 + self.now_us * fast_ppm / 1_000_000;
        Now::at(us, self.unix_of(ahead_us))
    }

    /// A step of a front-end, with all that comes of it. One that is paused does nothing.
    pub(super) fn front_step(
        &mut self,
        number: usize,
        step: impl FnOnce(&mut Front, Now, &mut Vec<(Address, Message)>),
    ) {
        let now = self.front_clock(number);
        let place = &mut self.fronts[number];
        if self.now_us < place.paused_until_us {
            return;
        }
        let Some(front) = &mut place.front else { return };
        let mut out = Vec::new();
        step(front, now, &mut out);
        assert_eq!(front.invalid_mut().take(), None, "everybody's state is sound");
        for (to, message) in out {
            self.send(Party::Front(number), to, &message);
        }
    }

    pub(super) fn restart_front(&mut self, number: usize) {
        let timing = self.timing;
        let place = &mut self.fronts[number];
        if place.front.is_none() {
            place.run += 1;
            let nonce = OWN_SESSIONS | (number as u64) << 24 | u64::from(place.run) << 8;
            let mut front = Front::new(FrontId(number as u32), nonce, timing, place.limits, SECRET);
            front.speak(NEWEST);
            place.front = Some(front);
            self.begin_relay(Party::Front(number));
        }
    }

    pub(super) fn crash_front(&mut self, number: usize, for_us: u64) {
        let Some(front) = self.fronts[number].front.take() else { return };
        self.summary.fronts.add(front.counts());
        // One of eight is asked to stop, and says so.
        if for_us % 8 == 7 {
            let mut said = Vec::new();
            front.farewell(&mut said);
            for (to, message) in said {
                self.send(Party::Front(number), to, &message);
            }
        }
        self.after(for_us, Event::FrontRestart(number));
    }

    pub(super) fn heal_fronts(&mut self) {
        for number in 0..self.fronts.len() {
            self.fronts[number].paused_until_us = 0;
            if self.fronts[number].front.is_none() {
                self.after(1000, Event::FrontRestart(number));
            }
        }
    }

    /// Why not every wedge has an owner that serves it; and, if it `is_idle`, with nothing in flight.
    pub(super) fn why_fronts_are_not_quiet(&self, wedges: &[Wedge], is_idle: bool) -> Option<String> {
        for (number, place) in self.fronts.iter().enumerate().filter(|(_, place)| place.run > 0) {
            if place.front.as_ref().is_none_or(|front| is_idle && front.in_flight() > 0) {
                return Some(format!("front-end {number} is at work, or not there"));
            }
        }
        let serves = |at: usize, owner: FrontMember| {
            let number = owner.front.0 as usize;
            let front = self.fronts[number].front.as_ref();
            let now_us = self.front_clock(number).us;
            front.is_some_and(|front| front.served(now_us).any(|wedge| wedge.0 as usize == at))
        };
        let unserved = wedges
            .iter()
            .enumerate()
            .find(|(at, wedge)| wedge.released || wedge.owner.is_none_or(|owner| !serves(*at, owner)));
        unserved.map(|(at, wedge)| format!("wedge {at} is not served: {wedge:?}"))
    }

    pub(super) fn count_fronts(&mut self) {
        for front in self.fronts.iter().filter_map(|place| place.front.as_ref()) {
            self.summary.fronts.add(front.counts());
        }
    }
}
