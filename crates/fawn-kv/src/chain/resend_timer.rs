//! When what is not answered is sent again.

use crate::timing::AnswerTime;

/// Since when nothing has come back, and how long to wait for it. What is sent is numbered, as records are.
///
/// One thing at a time is timed, from when it was sent first: if all are late, they are waited for. What was probably lost is
/// not timed, or many losses would make the wait for each of them longer and longer.
///
/// If the same answer comes again and again, its sender could not use what has come, mostly because what was sent before is lost.
/// After a few of them all that is not answered is sent again at once, as TCP does.
#[derive(Debug)]
pub(super) struct ResendTimer {
    /// When something was answered last, or, where nothing was outstanding, when something was sent.
    since_us: u64,
    /// What is timed, and when it was sent first.
    timed: Option<(u64, u64)>,
    usual: AnswerTime,
    /// Times in vain since anything was answered.
    in_vain: u32,
    /// How often the same answer has come since then.
    repeated: u32,
    /// Because of that, all was sent again since then.
    is_early: bool,
}

/// The same answer so many times means that something was lost. One or two mean no more than that a link was late.
const MOST_REPEATED: u32 = 3;

impl ResendTimer {
    pub(super) fn new(now_us: u64) -> Self {
        Self { since_us: now_us, timed: None, usual: AnswerTime::default(), in_vain: 0, repeated: 0, is_early: false }
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
        (self.since_us, self.in_vain, self.repeated, self.is_early) = (now_us, 0, 0, false);
    }

    /// An answer has come that is the same as the one before, and not all is answered.
    pub(super) fn repeated(&mut self) {
        self.repeated = self.repeated.saturating_add(1);
    }

    /// Whether an answer is late: nothing has come for longer than usual, nor for `least_us`; or something was lost.
    pub(super) fn is_late(&self, least_us: u64, now_us: u64) -> bool {
        let waited_us = now_us.saturating_sub(self.since_us);
        // What was sent just now may be on its way.
        let quiet_us = self.timed.map_or(waited_us, |(_, sent_us)| waited_us.min(now_us.saturating_sub(sent_us)));
        let is_lost = self.repeated >= MOST_REPEATED && !self.is_early && quiet_us > self.usual.mean_us();
        is_lost || waited_us >= self.usual.wait_us(least_us, self.in_vain)
    }

    /// What is not answered is sent again.
    pub(super) fn sent_again(&mut self, now_us: u64) {
        if self.repeated > 0 {
            self.timed = None;
        }
        self.is_early |= self.repeated >= MOST_REPEATED;
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

    #[test]
    fn what_is_lost_is_sent_again_once_at_once() {
        let mut timer = ResendTimer::new(0);
        for number in 1..=20 {
            timer.sent(Some(number), true, 0);
            timer.answered(number, 4);
        }
        timer.sent(Some(21), true, 100);
        (0..2).for_each(|_| timer.repeated());
        assert!(!timer.is_late(LEAST_US, 149));
        timer.repeated();
        assert!(!timer.is_late(LEAST_US, 104) && timer.is_late(LEAST_US, 105), "what it needs is to come within 4");
        timer.sent_again(105);
        (0..9).for_each(|_| timer.repeated());
        assert!(!timer.is_late(LEAST_US, 204) && timer.is_late(LEAST_US, 205));
        timer.answered(21, 1000);
        (0..3).for_each(|_| timer.repeated());
        assert!(timer.is_late(LEAST_US, 1005), "the next loss; what was sent twice was not timed");
        timer.sent(Some(22), false, 1004);
        assert!(!timer.is_late(LEAST_US, 1008) && timer.is_late(LEAST_US, 1009), "it may be on its way");
    }
}
