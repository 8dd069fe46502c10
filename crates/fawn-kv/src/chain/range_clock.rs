//! The time of a range, where it is ahead of the clock of the head.

use super::active_chain::ActiveChain;
use super::context::Context;
use super::log::RangeLog;
use super::stretch::NO_KEY;
use crate::range::entry::Change;
use crate::store::RangeStore;
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Now;
use crate::wire::version::TIMES;

/// By how many seconds a range's time may be ahead of its head's clock: by so much clocks may differ, about.
const AHEAD_S: u32 = 5;

/// By how many seconds the range's time is ahead of a head's clock, if by so much that what is set would expire too soon; for a
/// head that knows what time it is.
pub(super) fn ahead_s(time: u32, unix: u32) -> u32 {
    let ahead_s = time.saturating_sub(unix);
    if unix > Now::UNKNOWN && ahead_s > AHEAD_S { ahead_s } else { 0 }
}

/// Whether an expiry is to come by a head's clock, and over already by a range's time that is ahead of it.
pub(super) fn is_too_soon(expiry: u32, time: u32, unix: u32) -> bool {
    unix > Now::UNKNOWN && expiry > unix && expiry <= time && time - unix > AHEAD_S
}

/// For how long the range's time is ahead of the head.
#[derive(Debug, Default)]
pub(super) struct RangeClock {
    /// Since when it is ahead of all that the member has gone by, by its own clock.
    ahead_since_us: Option<u64>,
}

impl RangeClock {
    /// Sets the range's time back once it has been ahead for a while of all that the head has ever gone by, and no further back
    /// than that. A head that went by a later time itself cannot tell whether it was wrong then, or is now: what has been seen
    /// to expire must not come back.
    pub(super) fn heal<S: RangeStore>(
        &mut self,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let unix = context.unix;
        let by = if planted(Bug::ClockGoesBack) { unix } else { unix.max(context.latest) };
        let is_ahead = chain.is_head() && ahead_s(log.time(), unix) > 0 && ahead_s(log.time(), by) > 0;
        let behind = chain.is_behind(log.range(), context);
        if !is_ahead {
            self.ahead_since_us = None;
            return;
        }
        let since_us = *self.ahead_since_us.get_or_insert(context.now_us);
        // Members of an older release would not set theirs back, and judge what expires by another time than this one.
        if context.now_us < since_us + context.timing.heal_us || behind || context.timing.version < TIMES {
            return;
        }
        self.ahead_since_us = None;
        took(Path::TimeSetBack);
        log.append_at(by, chain.epoch(), NO_KEY, Change::Nothing, None, context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_differ_a_little_and_a_head_that_does_not_know_the_time_says_nothing() {
        let unix = Now::UNKNOWN + 1000;
        assert_eq!([0, AHEAD_S, AHEAD_S + 1].map(|by| ahead_s(unix + by, unix)), [0, 0, AHEAD_S + 1]);
        assert_eq!((ahead_s(unix - 9, unix), ahead_s(unix, Now::UNKNOWN)), (0, 0));
        let time = unix + 100;
        let is_too_soon = [unix, unix + 1, time, time + 1].map(|expiry| is_too_soon(expiry, time, unix));
        assert_eq!(is_too_soon, [false, true, true, false]);
    }
}
