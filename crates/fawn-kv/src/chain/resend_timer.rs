//! When what is not answered is sent again: as TCP has it.
//!
//! A link can be so slow, or so full, that answers are merely late; to send everything again then makes them later still. So
//! the wait is twice what an answer takes, and each time in vain twice as long as before. One thing at a time is timed, and
//! none that was sent twice: to which of them the answer came would be unknown (Karn's rule).

/// Each time in vain the wait is twice as long, at most so many times.
const MOST_DOUBLINGS: u32 = 5;

/// Since when nothing has come back, and how long to wait for it. What is sent is numbered: records, or questions.
#[derive(Debug)]
pub(super) struct ResendTimer {
    /// When something was answered last, or, where nothing was outstanding, when something was sent.
    since_us: u64,
    /// What is timed, and when it was sent.
    timed: Option<(u64, u64)>,
    /// How long answers take; 0: none was timed yet.
    usual_us: u64,
    /// Times in vain since an answer was timed.
    doublings: u32,
}

impl ResendTimer {
    pub(super) fn new(now_us: u64) -> Self {
        Self { since_us: now_us, timed: None, usual_us: 0, doublings: 0 }
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
        self.since_us = now_us;
        if let Some((_, sent_us)) = self.timed.take_if(|(timed, _)| *timed <= last) {
            let took_us = now_us.saturating_sub(sent_us);
            self.usual_us = if self.usual_us == 0 { took_us } else { (7 * self.usual_us + took_us) / 8 };
            self.doublings = 0;
        }
    }

    /// Something else has come that was waited for.
    pub(super) fn heard(&mut self, now_us: u64) {
        self.since_us = now_us;
    }

    /// Whether an answer is late: nothing has come for twice as long as usual, nor for `least_us`.
    pub(super) fn is_late(&self, least_us: u64, now_us: u64) -> bool {
        let wait_us = least_us.max(self.usual_us.saturating_mul(2)) << self.doublings;
        now_us.saturating_sub(self.since_us) >= wait_us
    }

    /// What is not answered is sent again.
    pub(super) fn sent_again(&mut self, now_us: u64) {
        (self.since_us, self.timed) = (now_us, None);
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
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
    fn the_wait_grows_with_what_answers_take_and_with_each_time_in_vain() {
        let mut timer = ResendTimer::new(0);
        let wait = |timer: &ResendTimer| (0..).find(|us| timer.is_late(LEAST_US, timer.since_us + us)).unwrap();
        assert_eq!(wait(&timer), 50);
        timer.sent(Some(1), true, 0);
        for waits in [100, 200, 400, 800, 1600, 1600] {
            timer.sent_again(0);
            assert_eq!(wait(&timer), waits);
        }
        timer.answered(1, 10);
        assert_eq!(wait(&timer), 1600, "it was sent twice: that says nothing of what it takes");
        timer.sent(Some(2), true, 20);
        timer.answered(2, 1020);
        assert_eq!(wait(&timer), 2000);
        timer.sent(Some(3), true, 1020);
        timer.answered(3, 1030);
        assert_eq!(wait(&timer), 2 * (7 * 1000 + 10) / 8);
    }
}
