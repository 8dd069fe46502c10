//! Questions whether this manager leads still, which wait for a majority, and what they were asked for.

use crate::ids::{Epoch, Member, RangeId};
use std::collections::BTreeMap;

/// Questions for each node, or front-end, whose confirmation is waited for, at most: while a leader reaches no majority none
/// comes.
pub(super) const MOST_QUESTIONS: usize = 16;

/// Notes what waits for a confirmation, in place of the oldest where there are too many for so many askers.
pub(super) fn note<T>(asked: &mut BTreeMap<u64, T>, question: u64, what: T, askers: usize) {
    asked.insert(question, what);
    if asked.len() > MOST_QUESTIONS * askers {
        asked.pop_first();
    }
}

/// A node that asks for a lease, and the chains that it believes to be active in.
#[derive(Debug)]
pub(super) struct LeaseRequest {
    pub(super) member: Member,
    pub(super) nonce: u64,
    pub(super) active: Vec<(RangeId, Epoch)>,
}
