//! For how long an endpoint has had no link to a leading manager, and when the log says so.

use crate::observe::metrics::LEADERLESS_MS;
use crate::observe::warnings::REPEAT_MS;

/// What the log is to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactChange {
    /// There has been no leading manager for so long, in milliseconds.
    Missing(u64),
    /// One is back after so long, in milliseconds.
    Back(u64),
}

/// Contact with a leading manager.
#[derive(Debug, Default)]
pub struct LeaderContact {
    /// When a leading manager was last connected.
    last_ms: u64,
    /// When the log has last said that there is none.
    logged_ms: Option<u64>,
}

impl LeaderContact {
    /// Since when there has been no leading manager, in milliseconds up to `now_ms`.
    pub fn missing_ms(&self, has_leader: bool, now_ms: u64) -> u64 {
        if has_leader { 0 } else { now_ms.saturating_sub(self.last_ms) }
    }

    /// Notes whether a leading manager is connected. Returns what the log is to say: once a minute while there is none for long,
    /// if this endpoint logs it.
    pub fn note(&mut self, has_leader: bool, logs: bool, now_ms: u64) -> Option<ContactChange> {
        let missing_ms = now_ms.saturating_sub(self.last_ms);
        if has_leader {
            self.last_ms = now_ms;
            return self.logged_ms.take().map(|_| ContactChange::Back(missing_ms));
        }
        let is_due = self.logged_ms.is_none_or(|at| now_ms >= at + REPEAT_MS);
        if !logs || missing_ms < LEADERLESS_MS || !is_due {
            return None;
        }
        self.logged_ms = Some(now_ms);
        Some(ContactChange::Missing(missing_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_leader_is_logged_once_a_minute_and_its_return_once() {
        let mut contact = LeaderContact::default();
        assert_eq!(contact.note(true, true, 10_000), None);
        assert_eq!(contact.note(false, true, 10_000 + LEADERLESS_MS - 1), None, "another one may be elected");
        let missing_ms = 10_000 + LEADERLESS_MS;
        assert_eq!(contact.note(false, true, missing_ms), Some(ContactChange::Missing(LEADERLESS_MS)));
        assert_eq!(contact.note(false, true, missing_ms + REPEAT_MS - 1), None);
        assert!(contact.note(false, true, missing_ms + REPEAT_MS).is_some());
        assert_eq!(contact.missing_ms(false, missing_ms), LEADERLESS_MS);
        assert_eq!(contact.note(true, true, 100_000), Some(ContactChange::Back(90_000)));
        assert_eq!((contact.note(true, true, 100_001), contact.missing_ms(true, 200_000)), (None, 0));
    }

    #[test]
    fn one_endpoint_of_a_process_logs_for_all() {
        let mut contact = LeaderContact::default();
        assert_eq!(contact.note(false, false, 10 * LEADERLESS_MS), None);
        assert_eq!(contact.note(true, false, 11 * LEADERLESS_MS), None, "nobody has read that it was away");
    }
}
