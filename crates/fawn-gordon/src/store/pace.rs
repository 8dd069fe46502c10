//! How long the background thread rests between its steps, so that requests reach the drive: the rules of `fawn-flash`'s
//! maintenance thread.

use crate::time::SimTime;

/// The least part of its time that the thread works.
const LEAST: f64 = 0.125;
/// From this urgency on it does not rest.
const URGENT: f64 = 0.9;
/// Shorter rests are put together, longer ones are cut.
const SHORT: SimTime = SimTime::from_ms(1);
const LONG: SimTime = SimTime::from_ms(25);

/// The rest that is still to be taken.
#[derive(Debug, Default)]
pub struct OwedRest {
    owed: SimTime,
}

impl OwedRest {
    /// After so much work, of this urgency from 0 to 1.
    pub fn owe(&mut self, urgency: f64, work: SimTime) {
        if urgency < URGENT {
            let rest = work.seconds() * (1.0 / urgency.clamp(LEAST, 1.0) - 1.0);
            self.owed = (self.owed + SimTime::from_seconds(rest)).min(LONG);
        }
    }

    /// Something is to be done at once.
    pub fn forget(&mut self) {
        self.owed = SimTime::ZERO;
    }

    /// How long to rest now.
    pub fn take(&mut self) -> SimTime {
        if self.owed < SHORT { SimTime::ZERO } else { std::mem::take(&mut self.owed) }
    }
}
