//! Barriers of a reader: a record that the head appends after a get has come. Once it is committed, so is all that was
//! acknowledged before the get.

use crate::ids::Seq;

/// After so many times as long as it takes to ask again, a barrier that has a number is asked for anew.
const PATIENCE: u64 = 20;

/// How far a barrier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The head was asked for it.
    Asked,
    /// It is this record. Should it not be committed for long, another is asked for.
    At(Seq),
}

/// The barrier that is under way, if one is.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    stage: Option<Stage>,
    /// How many were asked for, which is the name of the last.
    number: u64,
    begun_us: u64,
    /// Where the log ended when it was asked for.
    after: Seq,
}

impl Barrier {
    /// Whether one is under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.stage.is_some()
    }

    /// Takes the barrier away if it is committed.
    pub(super) fn take_committed(&mut self, committed: Seq) -> bool {
        self.stage.take_if(|stage| matches!(stage, Stage::At(seq) if *seq <= committed)).is_some()
    }

    /// Whether it has not come for so long that it must be asked for again.
    pub(super) fn is_lost(&self, now_us: u64, resend_us: u64) -> bool {
        let waited_us = now_us.saturating_sub(self.begun_us);
        match self.stage {
            None => false,
            Some(Stage::Asked) => waited_us >= resend_us,
            Some(Stage::At(_)) => waited_us >= PATIENCE * resend_us,
        }
    }

    /// Begins another, where the log ends at `log_end`; its number.
    pub(super) fn begin(&mut self, log_end: Seq, now_us: u64) -> u64 {
        self.number += 1;
        (self.stage, self.begun_us, self.after) = (Some(Stage::Asked), now_us, log_end);
        self.number
    }

    /// Whether this is the one that was begun last.
    pub(super) fn is_newest(&self, number: u64) -> bool {
        self.number == number
    }

    /// Whether its record may have that number: whatever was here when it was asked for, the head has before it.
    pub(super) fn may_be(&self, seq: Seq) -> bool {
        self.after < seq && seq <= Seq::MOST
    }

    /// Its record has a number.
    pub(super) fn set(&mut self, seq: Seq) {
        if self.stage == Some(Stage::Asked) {
            self.stage = Some(Stage::At(seq));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_is_over_once_its_record_is_committed() {
        let mut barrier = Barrier::default();
        let number = barrier.begin(Seq(5), 100);
        assert!(barrier.is_under_way() && barrier.is_newest(number) && !barrier.is_newest(number + 1));
        assert!(!barrier.take_committed(Seq(9)), "nobody knows which record it is");
        assert!(!barrier.may_be(Seq(5)) && barrier.may_be(Seq(6)) && !barrier.may_be(Seq(Seq::MOST.0 + 1)));
        barrier.set(Seq(7));
        barrier.set(Seq(6));
        assert!(!barrier.take_committed(Seq(6)) && barrier.take_committed(Seq(7)));
        assert!(!barrier.is_under_way());
    }

    #[test]
    fn what_has_a_number_is_waited_for_longer() {
        let mut barrier = Barrier::default();
        assert!(!barrier.is_lost(1_000_000, 10));
        barrier.begin(Seq(5), 100);
        assert!(!barrier.is_lost(109, 10) && barrier.is_lost(110, 10));
        barrier.set(Seq(7));
        assert!(!barrier.is_lost(110, 10) && barrier.is_lost(100 + PATIENCE * 10, 10));
    }
}
