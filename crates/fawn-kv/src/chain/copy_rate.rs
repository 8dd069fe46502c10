//! How fast a node copies: all its learners together take no more than a rate, so that requests have the rest of the disk and
//! of the network.

/// What may be in debt before a copy waits, in microseconds: about what passes between two ticks.
const SLACK_US: u64 = 10_000;

/// When the node may ask for the next part of a copy.
#[derive(Debug, Default)]
pub struct Pace {
    /// What has come is paid for by then.
    paid_us: u64,
}

impl Pace {
    /// So many bytes have come.
    pub(super) fn took(&mut self, bytes: usize, now_us: u64, bytes_per_s: u64) {
        let costs_us = (bytes as u64).saturating_mul(1_000_000) / bytes_per_s.max(1);
        self.paid_us = self.paid_us.max(now_us).saturating_add(costs_us);
    }

    /// How long until more may be asked for.
    pub(super) fn due_in_us(&self, now_us: u64) -> u64 {
        self.paid_us.saturating_sub(now_us.saturating_add(SLACK_US))
    }

    /// Whether more may be asked for.
    pub(super) fn is_due(&self, now_us: u64) -> bool {
        self.due_in_us(now_us) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_take_no_more_than_the_rate_and_a_moment_of_it() {
        let (mut pace, rate, part) = (Pace::default(), 1_000_000, 5000);
        let mut came = 0;
        for now_us in (7_000_000..8_000_000).step_by(1000) {
            while pace.is_due(now_us) {
                pace.took(part, now_us, rate);
                came += part;
            }
        }
        let most = rate as usize + SLACK_US as usize + part;
        assert!((rate as usize..=most).contains(&came), "{came} bytes in a second");
        // What was not used is not saved up.
        pace.took(part, 100_000_000, rate);
        assert!(pace.is_due(100_000_000));
        pace.took(2 * part, 100_000_000, rate);
        assert!(!pace.is_due(100_000_000) && pace.is_due(100_005_000));
    }
}
