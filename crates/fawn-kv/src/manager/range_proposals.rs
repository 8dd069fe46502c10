//! What a leader has proposed for ranges, and does not propose again before it may be lost.

use crate::ids::RangeId;
use crate::timing::Timing;
use std::collections::BTreeMap;

/// Proposals that are not decided.
#[derive(Debug, Default)]
pub(super) struct RangeProposals {
    /// When something was last proposed for a range.
    at_us: BTreeMap<RangeId, u64>,
}

impl RangeProposals {
    /// Something is proposed.
    pub(super) fn add(&mut self, range: RangeId, now_us: u64) {
        self.at_us.insert(range, now_us);
    }

    /// What was proposed is decided.
    pub(super) fn remove(&mut self, range: RangeId) {
        self.at_us.remove(&range);
    }

    /// Whether something was proposed that is not decided.
    pub(super) fn contains(&self, range: RangeId) -> bool {
        self.at_us.contains_key(&range)
    }

    /// Whether what was proposed may still be decided soon.
    pub(super) fn is_fresh(&self, range: RangeId, timing: &Timing, now_us: u64) -> bool {
        self.at_us.get(&range).is_some_and(|at| now_us < at + timing.resend_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_is_waited_for_until_it_is_decided_or_late() {
        let (range, timing, mut proposals) = (RangeId(1), Timing::default(), RangeProposals::default());
        assert!(!proposals.contains(range) && !proposals.is_fresh(range, &timing, 0));
        proposals.add(range, 5);
        assert!(proposals.is_fresh(range, &timing, 4 + timing.resend_us));
        assert!(!proposals.is_fresh(range, &timing, 5 + timing.resend_us) && proposals.contains(range));
        proposals.remove(range);
        assert!(!proposals.contains(range) && !proposals.is_fresh(range, &timing, 5));
    }
}
