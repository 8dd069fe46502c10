//! A head forgets sessions that have not been used for long and, if there are too many, those used least recently.

use super::active_chain::ActiveChain;
use super::context::Context;
use super::log::RangeLog;
use super::range_clock::ahead_s;
use super::stretch::NO_KEY;
use crate::ids::Seq;
use crate::range::entry::Change;
use crate::range::sessions::Room;
use crate::store::RangeStore;
use crate::testing::coverage::{Path, took};
use crate::timing::Timing;

/// When sessions were forgotten, and how long the range's time stands still.
#[derive(Debug, Default)]
pub(super) struct SessionExpiry {
    /// Second at which sessions were last looked through for forgotten ones.
    looked_at: u32,
    /// The record by which some were forgotten last.
    record: Seq,
    /// The range's time, and since when by the member's own clock it is that.
    stands: (u32, u64),
}

impl SessionExpiry {
    /// Whether a session is about to be forgotten: a record of it that came after that would bring it back without what it
    /// has asked before.
    pub(super) fn forgets(&self, session: u64, log: &RangeLog) -> bool {
        self.is_under_way(log) && log.suffix().forgets(session, log.meta().sessions.used(session))
    }

    /// Whether the record that forgets some is not committed.
    fn is_under_way(&self, log: &RangeLog) -> bool {
        self.record > log.committed().seq
    }

    /// By the range's time and for how long that stands still, or by the member's clock, which second it is.
    fn now(&mut self, time: u32, now_us: u64, unix: u32) -> u32 {
        if self.stands.0 != time {
            self.stands = (time, now_us);
        }
        // The range's time stands still while nothing is written, and nothing may be before there is room. Nor need the clock
        // of the day have come so far.
        let stood_s = now_us.saturating_sub(self.stands.1) / 1_000_000;
        time.saturating_add(stood_s as u32).max(unix)
    }

    /// Forgets what is to be forgotten, once a second.
    pub(super) fn expire<S: RangeStore>(
        &mut self,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let Timing { session_idle_s, sessions: bounds, .. } = context.timing;
        let time = log.time();
        let now = self.now(time, context.now_us, context.unix);
        // Once a second is enough. The range's time may have been set back since.
        if !chain.is_head() || self.looked_at == now || self.is_under_way(log) {
            return;
        }
        self.looked_at = now;
        let sessions = &log.meta().sessions;
        // Whoever does not answer cannot say that it has forgotten, or that it is full: it remembers for longer than the
        // owner, and more.
        let (idle, room) = if chain.is_silent() {
            let idle = time.saturating_sub(session_idle_s.saturating_mul(2));
            (idle, sessions.overfull(&bounds.doubled(), u32::MAX, time))
        } else {
            let least = now.saturating_sub(bounds.least_s);
            (time.saturating_sub(session_idle_s), sessions.overfull(&bounds, least, time))
        };
        // By a time that is ahead all would be idle, and those that begin now would have begun too long ago.
        let idle = if ahead_s(time, context.unix) > 0 { 0 } else { idle };
        self.forget(idle, room, chain, log, context);
    }

    /// Of two ranges that were merged, remembers no more than of one.
    pub(super) fn forget_overfull<S: RangeStore>(
        &mut self,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let Timing { sessions: bounds, pending, .. } = context.timing;
        if chain.is_head() && !chain.is_silent() {
            let room = log.meta().sessions.overfull(&bounds.and(pending), u32::MAX, log.time());
            self.forget(0, room, chain, log, context);
        }
    }

    /// Appends a record that forgets the sessions that were not used since the later of two seconds, if there are any:
    /// since `idle`, or as `room` says to make room.
    fn forget<S: RangeStore>(
        &mut self,
        idle: u32,
        room: Option<Room>,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let room = room.unwrap_or_default();
        let idle_since = idle.max(room.idle_since);
        // Where the horizon is beyond the range's time, it keeps off whatever began up to there.
        let horizon = idle_since.max(room.horizon).max(log.meta().sessions.horizon());
        if !log.meta().sessions.forgets_any(idle_since, horizon) {
            return;
        }
        if idle_since > idle {
            took(Path::SessionsMadeRoom);
        }
        self.record = log.append_next(chain.epoch(), NO_KEY, Change::Expire { idle_since, horizon }, None, context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_where_the_ranges_time_stands_still_and_the_clock_is_behind() {
        let mut expiry = SessionExpiry::default();
        assert_eq!(expiry.now(1000, 5_000_000, 900), 1000);
        assert_eq!(expiry.now(1000, 8_000_000, 900), 1003);
        assert_eq!(expiry.now(1000, 8_000_000, 1100), 1100, "the clock is ahead");
        assert_eq!(expiry.now(1001, 9_000_000, 900), 1001, "a record moves it");
        assert_eq!(expiry.now(990, 10_000_000, 900), 990, "or sets it back");
    }
}
