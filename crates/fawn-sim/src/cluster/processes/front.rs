//! A front-end's process, and its clocks.

use fawn_check::random::Random;
use fawn_kv::frontend::{Counts, Front, Limits};
use fawn_kv::ids::{Address, FrontId};
use fawn_kv::timing::{Now, Timing};
use fawn_kv::wire::Message;
use fawn_kv::wire::version::NEWEST;

use crate::cluster::keys::SECRET;
use crate::cluster::network::sessions::FRONT_SESSIONS;
use crate::cluster::time::{WRONG_US, drifted_us, unix_of};

/// Wedges of the key space between so many front-ends.
pub fn wedges(fronts: u32) -> u32 {
    if fronts == 0 { 0 } else { 8.max(2 * fronts) }
}

/// A front-end's process.
pub struct FrontProcess {
    front: Option<Front>,
    /// Counts its lives; 0: it is not to be there.
    run: u32,
    limits: Limits,
    /// What the clock says at time 0, and by how many parts per million it is faster than the slowest there may be.
    offset_us: u64,
    fast_ppm: u64,
    /// By how much the clock of the day is ahead of one that is [`WRONG_US`] slow.
    ahead_us: u64,
    paused_until_us: u64,
    /// What its earlier lives did.
    counts: Counts,
}

impl FrontProcess {
    /// The process of front-end `number`, which may give up soon unless it `is_patient`.
    pub fn new(number: u32, is_patient: bool, random: &mut Random) -> Self {
        // Small, so that what is bounded meets its bounds, and what is evicted is asked for again.
        let limits = Limits {
            flights: 64,
            waiters: 8,
            flushed_wedges: 24,
            cache_factor: 1,
            retry_us: 100_000,
            deadline_us: if number == 0 && !is_patient { 900_000 } else { 2_500_000 },
            ..Limits::default()
        };
        let (offset_us, fast_ppm, ahead_us) = (random.below(1_000_000), random.below(9000), random.below(2 * WRONG_US));
        let counts = Counts::default();
        Self { front: None, run: 0, limits, offset_us, fast_ppm, ahead_us, paused_until_us: 0, counts }
    }

    /// The front-end, if it runs.
    pub fn front(&self) -> Option<&Front> {
        self.front.as_ref()
    }

    /// It goes by other limits from its next start on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Whether it is to be there.
    pub fn is_wanted(&self) -> bool {
        self.run > 0
    }

    /// Whether it runs, and goes on.
    pub fn runs(&self, now_us: u64) -> bool {
        self.front.is_some() && now_us >= self.paused_until_us
    }

    /// For how long it pauses.
    pub fn pauses_for(&self, now_us: u64) -> Option<u64> {
        (now_us < self.paused_until_us).then(|| self.paused_until_us - now_us)
    }

    /// It pauses until then.
    pub fn pause(&mut self, until_us: u64) {
        self.paused_until_us = until_us;
    }

    /// What its clocks say.
    pub fn now(&self, now_us: u64) -> Now {
        Now::at(drifted_us(now_us, self.offset_us, self.fast_ppm), unix_of(now_us, self.ahead_us))
    }

    /// A step of the front-end, and what it says. One that is paused does nothing.
    pub fn step(
        &mut self,
        now_us: u64,
        step: impl FnOnce(&mut Front, Now, &mut Vec<(Address, Message)>),
    ) -> Vec<(Address, Message)> {
        let (now, is_paused, mut out) = (self.now(now_us), now_us < self.paused_until_us, Vec::new());
        if let Some(front) = self.front.as_mut().filter(|_| !is_paused) {
            step(front, now, &mut out);
            assert_eq!(front.invalid_mut().take(), None, "everybody's state is sound");
        }
        out
    }

    /// Whether no other seat answers it.
    pub fn note_cut_off(&mut self, is_cut_off: bool) {
        self.front.iter_mut().for_each(|front| front.note_cut_off(is_cut_off));
    }

    /// Starts the front-end; false: it runs already.
    pub fn start(&mut self, number: usize, timing: Timing) -> bool {
        if self.front.is_some() {
            return false;
        }
        self.run += 1;
        let nonce = FRONT_SESSIONS | (number as u64) << 24 | u64::from(self.run) << 8;
        let mut front = Front::new(FrontId(number as u32), nonce, timing, self.limits, SECRET);
        front.speak(NEWEST);
        self.front = Some(front);
        true
    }

    /// The front-end is no more, and what it says last if it `is_asked` to stop; `None`: it was down.
    pub fn crash(&mut self, is_asked: bool) -> Option<Vec<(Address, Message)>> {
        let front = self.front.take()?;
        self.counts.add(front.counts());
        let mut out = Vec::new();
        if is_asked {
            front.farewell(&mut out);
        }
        Some(out)
    }

    /// It is no more, without a word, as one that was never started.
    pub fn remove(&mut self) {
        (self.front, self.run) = (None, 0);
    }

    /// It goes on; whether it is down.
    pub fn heal(&mut self) -> bool {
        self.paused_until_us = 0;
        self.front.is_none()
    }

    /// What all its lives did.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts;
        if let Some(front) = &self.front {
            counts.add(front.counts());
        }
        counts
    }
}
