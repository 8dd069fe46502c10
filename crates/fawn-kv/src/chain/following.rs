//! How a log follows another.

use super::resend_timer::ResendTimer;
use crate::ids::{Member, Seq};

/// Whose log it follows, and what that member was asked.
#[derive(Debug)]
pub(super) struct Following {
    source: Member,
    /// Questions so far, those that were asked again counted once, and how many of them are answered.
    asked: u64,
    answered: u64,
    /// It is to be asked as soon as it can be.
    is_put_off: bool,
    resend: ResendTimer,
}

impl Following {
    pub(super) fn of(source: Member) -> Self {
        Self { source, asked: 0, answered: 0, is_put_off: true, resend: ResendTimer::new(0) }
    }

    pub(super) fn source(&self) -> Member {
        self.source
    }

    /// The source is asked now.
    pub(super) fn ask(&mut self, now_us: u64) {
        self.is_put_off = false;
        if self.answered < self.asked {
            return self.resend.sent_again(now_us);
        }
        self.asked += 1;
        self.resend.sent(Some(self.asked), true, now_us);
    }

    /// The source has answered.
    pub(super) fn answered(&mut self, now_us: u64) {
        self.answered = self.asked;
        self.resend.answered(self.asked, now_us);
    }

    /// The source is not asked, but as soon as it can be.
    pub(super) fn put_off(&mut self) {
        self.is_put_off = true;
    }

    /// Whether it is time to ask again.
    pub(super) fn is_due(&self, now_us: u64, resend_us: u64) -> bool {
        self.is_put_off || self.resend.is_late(resend_us, now_us)
    }
}

/// A learner follows a member.
#[derive(Debug)]
pub(super) struct Learning {
    following: Following,
    caught_up: bool,
    /// Up to where the source has said that it is committed. What waits for room in the log is committed later.
    committed: Seq,
}

impl Learning {
    pub(super) fn from(source: Member) -> Self {
        Self { following: Following::of(source), caught_up: false, committed: Seq(0) }
    }

    pub(super) fn following(&self) -> &Following {
        &self.following
    }

    pub(super) fn following_mut(&mut self) -> &mut Following {
        &mut self.following
    }

    pub(super) fn is_caught_up(&self) -> bool {
        self.caught_up
    }

    /// Up to where the source has said that it is committed.
    pub(super) fn committed(&self) -> Seq {
        self.committed
    }

    /// The source has said that it is committed up to there, and what was committed has come, or has not.
    pub(super) fn note(&mut self, committed: Seq, caught_up: bool) {
        (self.committed, self.caught_up) = (committed, caught_up);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Incarnation, NodeId};

    #[test]
    fn a_source_is_asked_at_once_then_after_a_while_and_at_once_if_that_was_put_off() {
        let mut following = Following::of(Member { node: NodeId(1), incarnation: Incarnation(1) });
        assert!(following.is_due(100, 100));
        following.ask(100);
        assert!(!following.is_due(199, 100) && following.is_due(200, 100));
        following.put_off();
        assert!(following.is_due(101, 100));
        // An answer that takes long is waited for.
        following.ask(200);
        assert!(!following.is_due(399, 100) && following.is_due(400, 100));
        following.answered(450);
        following.ask(450);
        following.answered(750);
        following.ask(750);
        assert!(!following.is_due(1435, 100) && following.is_due(1436, 100), "answers take some 343");
    }
}
