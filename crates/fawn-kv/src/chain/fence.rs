//! A member refuses requests of a wedge's earlier owner: it checks each against the range's [fences](crate::range::fences), and
//! logs a fence when a front-end takes a wedge over.

use super::context::Context;
use super::log_suffix::NO_KEY;
use super::replica::{Phase, Replica};
use crate::ids::{Address, WedgeEpoch};
use crate::range::entry::Change;
use crate::store::RangeStore;
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use fawn_ring::{Interval, Key};

impl Replica {
    /// Whether a front-end that asks as of this wedge epoch has been fenced off.
    pub(super) fn is_fenced(&self, place: &Key, wedge: WedgeEpoch) -> bool {
        let fences = if planted(Bug::FenceFromCommit) { &self.meta.alive.fences } else { &self.ahead.fences };
        wedge < fences.at(place) && !planted(Bug::NoFence)
    }

    /// A front-end takes over a wedge; the tail tells it when the fence is committed.
    pub(super) fn fence<S: RangeStore>(
        &mut self,
        front: Address,
        keys: Interval,
        epoch: WedgeEpoch,
        context: &mut Context<'_, S>,
    ) {
        let Phase::Active(active) = &self.phase else { return };
        if !active.is_head() || active.is_silent() {
            return;
        }
        if !(self.keys.contains(&keys.low) && self.keys.contains(&keys.high)) {
            return self.refuse("Fence: its keys are not all in the range");
        }
        if self.meta.alive.fences.cover(&keys, epoch) {
            let range = self.range;
            return context.out.push((front, Message::FenceHolds { range, keys, epoch }));
        }
        // If it is in the log, it is answered once it is committed.
        if !self.ahead.fences.cover(&keys, epoch) {
            self.append_next(NO_KEY, Change::Fence { keys, epoch, front }, None, context);
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
