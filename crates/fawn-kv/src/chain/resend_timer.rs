//! When what is not answered is sent again.

use crate::timing::AnswerTime;

/// Since when nothing has come back, and how long to wait for it. What is sent is numbered, as records are.
///
/// One thing at a time is timed, from when it was sent first. If that was lost, it seems to have taken long, but one among eight
/// makes little difference; if all are late, they are waited for.
#[derive(Debug)]
pub(super) struct ResendTimer {
    /// When something was answered last, or, where nothing was outstanding, when something was sent.
    since_us: u64,
    /// What is timed, and when it was sent first.
    timed: Option<(u64, u64)>,
    usual: AnswerTime,
    /// Times in vain since anything was answered.
    in_vain: u32,
}

impl ResendTimer {
    pub(super) fn new(now_us: u64) -> Self {
        Self { since_us: now_us, timed: None, usual: AnswerTime::default(), in_vain: 0 }
    }

    /// What is numbered up to `last` was sent for the first time, unless it is `None`; nothing else was outstanding if `alone`.
    pub(super) fn sent(&mut self, last: Option<u64>, alone: bool, now_us: u64) {
        if alone {
            self.since_us = now_us;
        }
        if let (Some(last), None) = (last, self.timed) {
            self.timed = Some((last, now_us));
        }
    }

    /// What is numbered up to `last` is answered, which is more than was.
    pub(super) fn answered(&mut self, last: u64, now_us: u64) {
        self.heard(now_us);
        if let Some((_, sent_us)) = self.timed.take_if(|(timed, _)| *timed <= last) {
            self.usual.took(now_us.saturating_sub(sent_us));
        }
    }

    /// Something else has come that was waited for.
    pub(super) fn heard(&mut self, now_us: u64) {
        (self.since_us, self.in_vain) = (now_us, 0);
    }

    /// Whether an answer is late: nothing has come for longer than usual, nor for `least_us`.
    pub(super) fn is_late(&self, least_us: u64, now_us: u64) -> bool {
        now_us.saturating_sub(self.since_us) >= self.usual.wait_us(least_us, self.in_vain)
    }

    /// What is not answered is sent again.
    pub(super) fn sent_again(&mut self, now_us: u64) {
        self.since_us = now_us;
        self.in_vain = self.in_vain.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST_US: u64 = 50;

    #[test]
    fn what_is_sent_on_and_on_does_not_put_off_what_is_lost() {
        let mut timer = ResendTimer::new(0);
        timer.sent(Some(1), true, 100);
        for now_us in 101..150 {
            timer.sent(Some(now_us), false, now_us);
            assert!(!timer.is_late(LEAST_US, now_us));
        }
        assert!(timer.is_late(LEAST_US, 150));
        timer.answered(1, 160);
        assert!(!timer.is_late(LEAST_US, 279) && timer.is_late(LEAST_US, 280), "it took 60");
    }

    #[test]
    fn what_was_sent_again_is_timed_from_when_it_was_sent_first() {
        let mut timer = ResendTimer::new(0);
        let wait = |timer: &ResendTimer| (0..1000).find(|us| timer.is_late(LEAST_US, timer.since_us + us)).unwrap();
        timer.sent(Some(1), true, 0);
        for waits in [100, 200, 200] {
            timer.sent_again(0);
            assert_eq!(wait(&timer), waits);
        }
        timer.heard(150);
        assert_eq!(wait(&timer), 50, "something has come");
        timer.answered(1, 160);
        assert_eq!(wait(&timer), 320);
    }
}
