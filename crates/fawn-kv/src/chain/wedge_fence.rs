//! A member refuses requests of a wedge's earlier owner: it checks each against the range's [fences](crate::range::fences), and
//! logs a fence when a front-end takes a wedge over.

use super::active_chain::ActiveChain;
use super::context::Context;
use super::log::RangeLog;
use super::stretch::NO_KEY;
use crate::ids::{Address, WedgeEpoch};
use crate::range::entry::Change;
use crate::store::RangeStore;
use crate::wire::Message;
use fawn_ring::Interval;

/// A front-end takes over a wedge; the tail tells it when the fence is committed.
pub(super) fn take_over<S: RangeStore>(
    front: Address,
    (keys, epoch): (Interval, WedgeEpoch),
    chain: &ActiveChain,
    log: &mut RangeLog,
    context: &mut Context<'_, S>,
) -> Result<(), &'static str> {
    if !chain.is_head() || chain.is_silent() {
        return Ok(());
    }
    if !(log.keys().contains(&keys.low) && log.keys().contains(&keys.high)) {
        return Err("Fence: its keys are not all in the range");
    }
    if log.meta().alive.fences.cover(&keys, epoch) {
        let range = log.range();
        context.out.push((front, Message::FenceHolds { range, keys, epoch }));
    } else if !log.suffix().ahead().fences.cover(&keys, epoch) {
        // If it is in the log, it is answered once it is committed.
        log.append_next(chain.epoch(), NO_KEY, Change::Fence { keys, epoch, front }, None, context);
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests;
