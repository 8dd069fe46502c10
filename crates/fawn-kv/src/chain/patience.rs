//! How long a member waits for its successor before it sends records again.
//!
//! Links lose what they carry only when they break. More often an acknowledgement is late, since what is before it on the way
//! takes its time. Whoever sends again then makes the way longer still. So a member waits for several times as long as
//! acknowledgements have taken of late, and twice as long after each time that it has sent again in vain.

use crate::ids::Seq;

/// A member waits for so many times as long as acknowledgements take.
const USUAL_TIMES: u64 = 4;

/// The wait is doubled so often, at most.
const MOST_DOUBLED: u32 = 4;

/// Of the longest acknowledgement this share is forgotten with each shorter one.
const FORGOTTEN: u64 = 8;

/// What is known of the way to the successor and back.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// A record that was sent once, and when.
    timed: Option<(Seq, u64)>,
    /// The last record that was ever sent.
    newest: Seq,
    /// How long acknowledgements take, in microseconds.
    usual_us: u64,
    doubled: u32,
}

impl Patience {
    /// Records up to there are sent.
    pub(super) fn sent(&mut self, upto: Seq, now_us: u64) {
        // Of one that is sent again nobody knows which sending is acknowledged.
        if upto > self.newest {
            self.newest = upto;
            self.timed.get_or_insert((upto, now_us));
        }
    }

    /// The successor says that it has the records up to there.
    pub(super) fn acknowledged(&mut self, upto: Seq, now_us: u64) {
        if let Some((_, sent_us)) = self.timed.take_if(|(seq, _)| *seq <= upto) {
            let took_us = now_us.saturating_sub(sent_us);
            self.usual_us = took_us.max(self.usual_us - self.usual_us / FORGOTTEN);
            self.doubled = 0;
        }
    }

    /// What is not acknowledged is sent again.
    pub(super) fn sent_again(&mut self) {
        self.timed = None;
        self.doubled = (self.doubled + 1).min(MOST_DOUBLED);
    }

    /// For how long to wait, where a way that nothing is known of takes `least_us`.
    pub(super) fn wait_us(&self, least_us: u64) -> u64 {
        least_us.max(USUAL_TIMES * self.usual_us) << self.doubled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_goes_by_how_long_acknowledgements_take() {
        let mut patience = Patience::default();
        assert_eq!(patience.wait_us(50_000), 50_000);
        patience.sent(Seq(3), 0);
        patience.sent(Seq(9), 50_000);
        patience.acknowledged(Seq(2), 60_000);
        assert_eq!(patience.wait_us(50_000), 50_000, "nothing is known of record 3 yet");
        patience.acknowledged(Seq(9), 100_000);
        assert_eq!(patience.wait_us(50_000), 400_000);
        for seq in 10..60 {
            patience.sent(Seq(seq), 1_000_000);
            patience.acknowledged(Seq(seq), 1_001_000);
        }
        assert_eq!(patience.wait_us(50_000), 50_000, "a slow time is forgotten");
    }

    #[test]
    fn the_wait_doubles_with_each_time_in_vain_and_what_is_sent_twice_is_not_timed() {
        let mut patience = Patience::default();
        patience.sent(Seq(3), 0);
        for times in [2, 4, 8, 16, 16] {
            patience.sent_again();
            patience.sent(Seq(3), 60_000);
            assert_eq!(patience.wait_us(50_000), times * 50_000);
        }
        patience.acknowledged(Seq(3), 70_000);
        assert_eq!(patience.wait_us(50_000), 16 * 50_000, "of which sending is not known");
        patience.sent(Seq(4), 80_000);
        patience.acknowledged(Seq(4), 81_000);
        assert_eq!(patience.wait_us(50_000), 50_000);
    }
}
