//! Which front-ends the leader hears, and how many wedges each of them has.

use super::view::LeaderView;
use crate::ids::{FrontId, FrontMember};
use crate::testing::injected_bugs::{Bug, planted};
use std::collections::BTreeMap;

/// The last heartbeat of a front-end.
#[derive(Clone, Copy, Debug)]
struct FrontContact {
    member: FrontMember,
    /// Start of an unbroken series of heartbeats to this leader.
    since_us: u64,
    at_us: u64,
}

/// The front-ends that this leader has heard.
#[derive(Debug, Default)]
pub(super) struct FrontContacts {
    heard: BTreeMap<FrontId, FrontContact>,
    /// Who said last that no other member answers it, and when.
    cut_off: BTreeMap<FrontId, (FrontMember, u64)>,
}

impl FrontContacts {
    /// A heartbeat of a front-end has come.
    pub(super) fn note_heartbeat(&mut self, member: FrontMember, view: &LeaderView, now_us: u64) {
        let before = self.heard.get(&member.front).filter(|heard| heard.member == member);
        let goes_on = before.filter(|heard| now_us < heard.at_us + view.timing().dead_us);
        let since_us = goes_on.map_or(now_us, |heard| heard.since_us);
        self.heard.insert(member.front, FrontContact { member, since_us, at_us: now_us });
    }

    /// A front-end says that no other member answers it.
    pub(super) fn note_cut_off(&mut self, member: FrontMember, now_us: u64) {
        self.cut_off.insert(member.front, (member, now_us));
    }

    /// A front-end has stopped.
    pub(super) fn forget(&mut self, front: FrontId) {
        self.heard.remove(&front);
    }

    /// All that were heard.
    pub(super) fn fronts(&self) -> impl Iterator<Item = FrontId> {
        self.heard.keys().copied()
    }

    /// The front-ends that live.
    fn alive(&self, view: &LeaderView, now_us: u64) -> impl Iterator<Item = &FrontContact> + Clone {
        let (wedges, timing) = (&view.state().wedges, view.timing());
        self.heard.values().filter(move |heard| wedges.lives(heard.member) && now_us < heard.at_us + timing.dead_us)
    }

    /// Whether another front-end has lived for so long that `front` would have reached it by now if it could. A newcomer to
    /// which no link is up yet is none: wedges must not pass to it from a front-end that was alone before.
    pub(super) fn has_others_heard_long(&self, front: FrontId, view: &LeaderView, now_us: u64) -> bool {
        let mut others = self.alive(view, now_us).filter(|heard| heard.member.front != front);
        others.any(|heard| now_us >= heard.since_us + 2 * view.timing().silent_us)
    }

    /// The front-ends that live, with the number of wedges that each owns. Those that no other member answers are left out, unless
    /// that is so of all: then they may be the only ones that are left.
    pub(super) fn loads(&self, view: &LeaderView, now_us: u64) -> BTreeMap<FrontMember, usize> {
        let is_now = |at_us: u64| now_us < at_us + view.timing().dead_us;
        let heard = self.alive(view, now_us).map(|heard| heard.member);
        let is_cut_off = |member: &FrontMember| {
            let said = self.cut_off.get(&member.front);
            said.is_some_and(|(who, at_us)| who == member && is_now(*at_us)) && !planted(Bug::CutOffKeepsWedges)
        };
        let all_are = heard.clone().all(|member| is_cut_off(&member));
        let alive = heard.filter(|member| all_are || !is_cut_off(member));
        let wedges = view.state().wedges.wedges();
        let owners = || wedges.iter().filter(|wedge| !wedge.released).filter_map(|wedge| wedge.owner);
        alive.map(|member| (member, owners().filter(|owner| *owner == member).count())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::leading;
    use super::*;
    use crate::ids::{Incarnation, WedgeEpoch, WedgeId};
    use crate::manager::Command;

    fn front(front: u32) -> FrontMember {
        FrontMember { front: FrontId(front), incarnation: Incarnation(1) }
    }

    /// The leader of a cluster with two wedges, both of front-end 0, and another front-end, 1.
    fn view() -> LeaderView {
        let mut view = leading(1, 1);
        view.cut_wedges(2);
        for front in [0, 1] {
            view.apply(&Command::FrontRegister { front: FrontId(front), nonce: 1 }).unwrap();
        }
        for wedge in [0, 1] {
            let grant = Command::WedgeGrant { wedge: WedgeId(wedge), epoch: WedgeEpoch(1), owner: front(0) };
            view.apply(&grant).unwrap();
        }
        view
    }

    #[test]
    fn who_lives_has_a_load_and_who_is_cut_off_has_none_unless_all_are() {
        let (view, mut contacts) = (view(), FrontContacts::default());
        assert!(contacts.loads(&view, 0).is_empty());
        for at in [0, 1] {
            contacts.note_heartbeat(front(at), &view, 0);
        }
        assert_eq!(contacts.loads(&view, 0), BTreeMap::from([(front(0), 2), (front(1), 0)]));
        contacts.note_cut_off(front(0), 0);
        assert_eq!(contacts.loads(&view, 0), BTreeMap::from([(front(1), 0)]));
        contacts.note_cut_off(front(1), 0);
        assert_eq!(contacts.loads(&view, 0).len(), 2);
        contacts.forget(FrontId(1));
        assert!(contacts.fronts().eq([FrontId(0)]));
        assert!(contacts.loads(&view, view.timing().dead_us).is_empty());
    }

    #[test]
    fn a_newcomer_is_nobody_that_others_would_have_reached() {
        let (view, mut contacts) = (view(), FrontContacts::default());
        let long_us = 2 * view.timing().silent_us;
        for now_us in (0..long_us).step_by(100_000) {
            assert!(!contacts.has_others_heard_long(FrontId(0), &view, now_us));
            contacts.note_heartbeat(front(1), &view, now_us);
        }
        assert!(contacts.has_others_heard_long(FrontId(0), &view, long_us));
        assert!(!contacts.has_others_heard_long(FrontId(1), &view, long_us));
    }
}
