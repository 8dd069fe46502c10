//! For how long something was in use for cleaning, as of any moment.

use crate::time::SimTime;

/// Adds up the time in which at least one user is inside.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusyClock {
    inside: u32,
    since: SimTime,
    total: SimTime,
}

impl BusyClock {
    #[inline]
    pub fn enter(&mut self, now: SimTime) {
        if self.inside == 0 {
            self.since = now;
        }
        self.inside += 1;
    }

    #[inline]
    pub fn leave(&mut self, now: SimTime) {
        self.inside -= 1;
        if self.inside == 0 {
            self.total += now - self.since;
        }
    }

    #[inline]
    pub fn at(&self, now: SimTime) -> SimTime {
        if self.inside == 0 { self.total } else { self.total + (now - self.since) }
    }
}
