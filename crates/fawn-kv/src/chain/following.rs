//! How a log follows another.

use crate::ids::{Member, Seq};
use crate::timing::AnswerTime;

/// Whose log it follows, and when that member was asked.
#[derive(Debug)]
pub(super) struct Following {
    source: Member,
    /// When it was asked last; 0: it is to be asked as soon as it can be.
    asked_at_us: u64,
    /// When it was asked first what it has not answered.
    unanswered_since_us: Option<u64>,
    usual: AnswerTime,
    /// Times that it was asked again without an answer.
    in_vain: u32,
}

impl Following {
    pub(super) fn of(source: Member) -> Self {
        Self { source, asked_at_us: 0, unanswered_since_us: None, usual: AnswerTime::default(), in_vain: 0 }
    }

    pub(super) fn source(&self) -> Member {
        self.source
    }

    /// The source is asked now.
    pub(super) fn ask(&mut self, now_us: u64) {
        self.asked_at_us = now_us;
        match self.unanswered_since_us {
            Some(_) => self.in_vain = self.in_vain.saturating_add(1),
            None => self.unanswered_since_us = Some(now_us),
        }
    }

    /// The source has answered.
    pub(super) fn answered(&mut self, now_us: u64) {
        self.in_vain = 0;
        if let Some(since_us) = self.unanswered_since_us.take() {
            self.usual.took(now_us.saturating_sub(since_us));
        }
    }

    /// The source is not asked, but as soon as it can be.
    pub(super) fn put_off(&mut self) {
        self.asked_at_us = 0;
    }

    /// Whether it is time to ask again: for what has not come, or for what may be new.
    pub(super) fn is_due(&self, now_us: u64, resend_us: u64) -> bool {
        now_us >= self.asked_at_us + self.usual.wait_us(resend_us, self.in_vain)
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
