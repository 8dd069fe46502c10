//! A member refuses requests of a wedge's earlier owner: it checks each against the range's [fences](crate::range::fences), and
//! logs a fence when a front-end takes a wedge over.

use super::context::Context;
use super::replica::{Phase, Replica};
use super::stretch::NO_KEY;
use crate::ids::{Address, WedgeEpoch};
use crate::range::entry::Change;
use crate::store::RangeStore;
use crate::wire::Message;
use fawn_ring::Interval;

impl Replica {
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
        if !(self.log.keys().contains(&keys.low) && self.log.keys().contains(&keys.high)) {
            return self.refuse("Fence: its keys are not all in the range");
        }
        if self.log.meta().alive.fences.cover(&keys, epoch) {
            let range = self.log.range();
            return context.out.push((front, Message::FenceHolds { range, keys, epoch }));
        }
        // If it is in the log, it is answered once it is committed.
        if !self.log.suffix().ahead().fences.cover(&keys, epoch) {
            self.log.append_next(self.epoch(), NO_KEY, Change::Fence { keys, epoch, front }, None, context);
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
