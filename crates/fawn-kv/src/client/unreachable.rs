//! Which front-ends could not be reached lately: who is left alone while others can be asked, and who is not called at all yet.
//!
//! A call that is refused is refused within microseconds. Without a pause whoever has nobody else would call again at once, and
//! do nothing else. One that nobody answers takes seconds: what waits for it is asked of others meanwhile, and of one that was
//! called in vain before, only what made the call waits for it.

use super::request::Limits;
use crate::ids::FrontId;
use std::collections::{BTreeMap, BTreeSet};

/// One that could not be reached.
#[derive(Clone, Copy, Debug)]
struct Away {
    /// Calls in a row that came to nothing.
    failures: u32,
    /// It is not called before.
    again_us: u64,
    /// It is left alone until then, where there are others.
    until_us: u64,
}

/// Those that could not be reached.
#[derive(Debug, Default)]
pub(super) struct Reachability {
    away: BTreeMap<FrontId, Away>,
    /// Those that are being called, and from when on others are better.
    called: BTreeMap<FrontId, u64>,
}

impl Reachability {
    /// These are there, and no others.
    pub(super) fn retain(&mut self, fronts: &BTreeSet<FrontId>) {
        self.away.retain(|front, _| fronts.contains(front));
        self.called.retain(|front, _| fronts.contains(front));
    }

    /// It is being called.
    pub(super) fn called(&mut self, front: FrontId, now_us: u64, limits: &Limits) {
        let patience_us = if self.away.contains_key(&front) { 0 } else { limits.retry_us.0 };
        self.called.insert(front, now_us + patience_us);
    }

    /// It has answered the call: nothing is known against it.
    pub(super) fn up(&mut self, front: FrontId) {
        self.called.remove(&front);
        self.away.remove(&front);
    }

    /// A connection that stood is over.
    pub(super) fn lost(&mut self, front: FrontId, now_us: u64, limits: &Limits) {
        self.set(front, 0, now_us, limits);
    }

    /// It was called in vain.
    pub(super) fn unreached(&mut self, front: FrontId, now_us: u64, limits: &Limits) {
        let failures = self.away.get(&front).map_or(0, |away| away.failures + 1);
        self.set(front, failures, now_us, limits);
    }

    fn set(&mut self, front: FrontId, failures: u32, now_us: u64, limits: &Limits) {
        self.called.remove(&front);
        let (least, most) = limits.redial_us;
        // What went wrong long ago says nothing of the next call.
        self.away.retain(|_, away| now_us < away.until_us + most);
        let again_us = now_us + most.min(least << failures.min(16));
        let until_us = again_us.max(now_us + limits.avoid_us);
        self.away.insert(front, Away { failures, again_us, until_us });
    }

    /// Whether nothing is known against it.
    pub(super) fn is_good(&self, front: FrontId, now_us: u64) -> bool {
        let is_slow = self.called.get(&front).is_some_and(|slow_us| now_us >= *slow_us);
        !is_slow && self.away.get(&front).is_none_or(|away| now_us >= away.until_us)
    }

    /// Whether it may be called, if there is nobody better.
    pub(super) fn may_be_called(&self, front: FrontId, now_us: u64) -> bool {
        self.away.get(&front).is_none_or(|away| now_us >= away.again_us)
    }

    /// When the first of these may be called that could not be reached.
    pub(super) fn again_us(&self, fronts: &BTreeSet<FrontId>) -> Option<u64> {
        fronts.iter().filter_map(|front| self.away.get(front)).map(|away| away.again_us).min()
    }
}
