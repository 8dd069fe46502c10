//! Finds connections that are idle or make no progress, a few at a time.

use crate::net::connection::{ClientConnection, Pause};
use crate::options::ServeLimits;
use std::ops::Range;

/// A round over all connections begins this often.
const ROUND_MS: u64 = 1000;
/// Slots looked at in one turn.
const SLOTS_A_TURN: usize = 512;

/// How far the round is.
#[derive(Debug, Default)]
pub struct Reaper {
    cursor: usize,
    next_round_ms: u64,
}

impl Reaper {
    /// Milliseconds until there is something to look at.
    pub fn due_in(&self, now_ms: u64) -> u64 {
        if self.cursor > 0 { 1 } else { self.next_round_ms.saturating_sub(now_ms) }
    }

    /// The slots to look at in this turn, of `slots`.
    pub fn next(&mut self, now_ms: u64, slots: usize) -> Range<usize> {
        if self.cursor == 0 {
            if now_ms < self.next_round_ms {
                return 0..0;
            }
            self.next_round_ms = now_ms + ROUND_MS;
        }
        let start = self.cursor.min(slots);
        let end = slots.min(start + SLOTS_A_TURN);
        self.cursor = if end == slots { 0 } else { end };
        start..end
    }
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// It has asked nothing for the idle time-out.
    Idle,
    /// It takes no answers, leaves a handshake or command unfinished, or does not say who it is.
    Stalled,
}

/// Whether `conn` is to be closed.
pub fn reason_to_close(conn: &ClientConnection, limits: &ServeLimits, now_ms: u64) -> Option<CloseReason> {
    let known_by_ms = conn.began_ms + limits.stranger_timeout.as_millis() as u64;
    if now_ms >= known_by_ms && conn.is_unauthenticated() {
        return Some(CloseReason::Stalled);
    }
    let stall_ms = limits.stall_timeout.as_millis() as u64;
    let unfinished = conn.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) || !conn.input.is_empty();
    let waits_for_us = conn.queued || !matches!(conn.pause, Pause::NeedMore(_));
    if conn.flow.unsent_bytes > 0 {
        return (now_ms.saturating_sub(conn.moved_ms) >= stall_ms).then_some(CloseReason::Stalled);
    }
    if waits_for_us || !conn.flow.is_settled() {
        return None;
    }
    let silent_ms = now_ms.saturating_sub(conn.received_ms);
    if unfinished {
        return (silent_ms >= stall_ms).then_some(CloseReason::Stalled);
    }
    let idle_ms = limits.idle_timeout?.as_millis() as u64;
    (silent_ms >= idle_ms).then_some(CloseReason::Idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_visits_every_slot_once_a_second() {
        let mut sweep = Reaper::default();
        let mut seen = Vec::new();
        for now in 5000..5003 {
            seen.extend(sweep.next(now, 1200));
        }
        assert_eq!(seen, (0..1200).collect::<Vec<_>>());
        assert_eq!((sweep.next(5003, 1200), sweep.due_in(5003)), (0..0, 997));
        assert_eq!(sweep.next(6000, 3), 0..3);
        assert_eq!(sweep.next(7000, 0), 0..0);
    }
}
