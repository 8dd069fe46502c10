//! A wedge that a front-end owns.

use crate::ids::WedgeEpoch;
use crate::range::fences::Fences;
use crate::testing::injected_bugs::{Bug, planted};
use fawn_ring::Interval;

/// One wedge of a front-end, from when it heard of the grant until it hears of another.
#[derive(Debug)]
pub(super) struct Own {
    /// Its keys.
    pub(super) keys: Interval,
    /// The epoch of the grant.
    pub(super) epoch: WedgeEpoch,
    /// When the lease ends.
    until_us: u64,
    /// Where the fences of this epoch are known to be committed.
    fenced: Fences,
    /// When fences were last asked for.
    pub(super) asked_us: Option<u64>,
    /// All of them are committed.
    is_fenced: bool,
}

impl Own {
    /// A wedge as it was just granted.
    pub(super) fn new(keys: Interval, epoch: WedgeEpoch) -> Self {
        Self { keys, epoch, until_us: 0, fenced: Fences::default(), asked_us: None, is_fenced: false }
    }

    /// The lease lasts until then, if not longer.
    pub(super) fn extend(&mut self, until_us: u64) {
        self.until_us = self.until_us.max(until_us);
    }

    /// Whether nobody else can own it.
    pub(super) fn has_lease(&self, now_us: u64) -> bool {
        now_us < self.until_us
    }

    /// Whether whoever owned it before can do no more: requests may be sent to the chains.
    pub(super) fn is_served(&self) -> bool {
        self.is_fenced || planted(Bug::ServeBeforeFences)
    }

    /// The fence of some of its keys is committed; whether that was the last.
    pub(super) fn fenced(&mut self, keys: &Interval) -> bool {
        self.fenced.raise(keys, self.epoch);
        let all = self.fenced.cover(&self.keys, self.epoch);
        all && !std::mem::replace(&mut self.is_fenced, true)
    }

    /// Whether the fences of all its keys are known to be committed.
    pub(super) fn is_fenced(&self) -> bool {
        self.is_fenced
    }

    /// Whether the fence of some of its keys is not known to be committed.
    pub(super) fn lacks(&self, keys: &Interval) -> bool {
        !self.fenced.cover(keys, self.epoch)
    }
}
