//! Fences: below which wedge epoch nothing is served any more, key by key.
//!
//! A front-end that takes a wedge over logs a fence through every chain that has keys of it, before it serves or caches.
//! From when a member has the fence in its log, committed or not, it refuses puts *and gets* of a lower epoch: an earlier
//! owner that still runs can then neither change a key behind the new owner's cache nor show what the new owner has yet to
//! hear of. Truncation rolls fences back with the records that they came from. They are part of what a range remembers
//! ([`Alive`](crate::meta::Alive)): copied first, kept through restarts, and inherited by ranges that are split
//! and merged.

use super::replica::{Context, Phase, Replica};
use super::stretch::NO_KEY;
use crate::entry::Change;
use crate::ids::{Address, WedgeEpoch};
use crate::message::Message;
use crate::planted::{Bug, planted};
use crate::steps::Steps;
use crate::store::RangeStore;
use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};

/// The lowest wedge epoch that is still served, by position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fences {
    steps: Steps<WedgeEpoch>,
}

impl Fences {
    /// The lowest wedge epoch that is served at a position.
    pub fn at(&self, position: &Key) -> WedgeEpoch {
        self.steps.at(position)
    }

    /// Raises the fence of these keys to `epoch`, where it is lower.
    pub fn raise(&mut self, keys: &Interval, epoch: WedgeEpoch) {
        self.steps.change(keys, |step| *step = (*step).max(epoch));
    }

    /// Whether all these keys are fenced with `epoch` at least.
    pub fn cover(&self, keys: &Interval, epoch: WedgeEpoch) -> bool {
        self.steps.parts(keys).all(|(_, step)| step >= epoch)
    }

    /// The highest epoch that any of these keys is fenced with.
    pub fn highest(&self, keys: &Interval) -> WedgeEpoch {
        self.steps.parts(keys).map(|(_, step)| step).max().unwrap_or_default()
    }

    /// Takes over the fences of another range: the higher epoch stays.
    pub fn join(&mut self, other: &Self) {
        for (keys, epoch) in other.steps.parts(&Interval::ALL) {
            self.raise(&keys, epoch);
        }
    }
}

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
