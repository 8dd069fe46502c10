//! What a leader knows of front-ends: whom it hears, who may have a lease on which wedge.

use super::wedge_state::Wedges;
use crate::ids::{FrontId, FrontMember, WedgeId};
use crate::timing::Timing;
use std::collections::BTreeMap;

/// The last heartbeat of a front-end.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrontContact {
    pub(super) member: FrontMember,
    /// Start of an unbroken series of heartbeats to this leader.
    pub(super) since_us: u64,
    pub(super) at_us: u64,
}

/// What a leader knows of front-ends.
#[derive(Debug, Default)]
pub(super) struct Fronts {
    pub(super) heard: BTreeMap<FrontId, FrontContact>,
    /// Who said last that no other member answers it, and when.
    pub(super) cut_off: BTreeMap<FrontId, (FrontMember, u64)>,
    /// Heartbeats that ask for a lease, by the question whether this manager leads.
    pub(super) asked: BTreeMap<u64, (FrontMember, u64)>,
    /// Until when a front-end may have a lease on a wedge.
    pub(super) leases: BTreeMap<(WedgeId, FrontMember), u64>,
    /// When something was last proposed.
    pub(super) proposed_us: Option<u64>,
    /// A wedge has another owner, and nobody else was told.
    pub(super) passed_on: bool,
    /// Since when nothing was to be done.
    pub(super) calm_since_us: Option<u64>,
}

impl Fronts {
    /// A heartbeat of a front-end has come.
    pub(super) fn note_heard(&mut self, member: FrontMember, now_us: u64, timing: &Timing) {
        let before = self.heard.get(&member.front).filter(|heard| heard.member == member);
        let goes_on = before.filter(|heard| now_us < heard.at_us + timing.dead_us);
        let since_us = goes_on.map_or(now_us, |heard| heard.since_us);
        self.heard.insert(member.front, FrontContact { member, since_us, at_us: now_us });
    }

    /// The front-ends that live.
    pub(super) fn alive(
        &self,
        now_us: u64,
        (wedges, timing): (&Wedges, &Timing),
    ) -> impl Iterator<Item = &FrontContact> + Clone {
        self.heard.values().filter(move |heard| wedges.lives(heard.member) && now_us < heard.at_us + timing.dead_us)
    }

    /// Whether another front-end has lived for so long that `front` would have reached it by now if it could. A newcomer to
    /// which no link is up yet is none: wedges must not pass to it from a front-end that was alone before.
    pub(super) fn has_others_heard_long(
        &self,
        front: FrontId,
        now_us: u64,
        (wedges, timing): (&Wedges, &Timing),
    ) -> bool {
        let mut others = self.alive(now_us, (wedges, timing)).filter(|heard| heard.member.front != front);
        others.any(|heard| now_us >= heard.since_us + 2 * timing.silent_us)
    }
}
