//! The wedges that a front-end owns.

use super::routes::Routes;
use crate::ids::{Address, FrontId, FrontMember, WedgeEpoch, WedgeId};
use crate::range::fences::Fences;
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use fawn_ring::{Interval, Key};
use std::collections::BTreeMap;

/// One wedge of a front-end, from when it heard of the grant until it hears of another.
#[derive(Debug)]
pub(super) struct Own {
    /// Its keys.
    keys: Interval,
    /// The epoch of the grant.
    pub(super) epoch: WedgeEpoch,
    /// When the lease ends.
    until_us: u64,
    /// Where the fences of this epoch are known to be committed.
    fenced: Fences,
    /// When fences were last asked for.
    asked_us: Option<u64>,
    /// All of them are committed.
    is_fenced: bool,
}

impl Own {
    /// A wedge as it was just granted.
    fn new(keys: Interval, epoch: WedgeEpoch) -> Self {
        Self { keys, epoch, until_us: 0, fenced: Fences::default(), asked_us: None, is_fenced: false }
    }

    /// The lease lasts until then, if not longer.
    fn extend(&mut self, until_us: u64) {
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
    fn fenced(&mut self, keys: &Interval) -> bool {
        self.fenced.raise(keys, self.epoch);
        let all = self.fenced.cover(&self.keys, self.epoch);
        all && !std::mem::replace(&mut self.is_fenced, true)
    }

    /// Whether the fences of all its keys are known to be committed.
    fn is_fenced(&self) -> bool {
        self.is_fenced
    }

    /// Whether the fence of some of its keys is not known to be committed.
    fn lacks(&self, keys: &Interval) -> bool {
        !self.fenced.cover(keys, self.epoch)
    }
}

/// All wedges that a front-end owns.
#[derive(Debug, Default)]
pub(super) struct OwnWedges {
    by_id: BTreeMap<WedgeId, Own>,
}

impl OwnWedges {
    /// One of them.
    pub(super) fn get(&self, wedge: WedgeId) -> Option<&Own> {
        self.by_id.get(&wedge)
    }

    /// The one in which a place lies.
    pub(super) fn at(&self, place: &Key, routes: &Routes) -> Option<&Own> {
        let (wedge, _) = routes.wedge_at(place)?;
        self.by_id.get(&wedge)
    }

    /// Those that are served under a valid lease.
    pub(super) fn served(&self, now_us: u64) -> impl Iterator<Item = WedgeId> {
        let served = self.by_id.iter().filter(move |(_, own)| own.is_served() && own.has_lease(now_us));
        served.map(|(wedge, _)| *wedge)
    }

    /// Takes a wedge, perhaps without a lease yet, or any more. Returns the keys that it had in an epoch before.
    pub(super) fn give(&mut self, wedge: WedgeId, epoch: WedgeEpoch, routes: &Routes) -> Option<Interval> {
        // Its keys are in the view, which is asked for at the start.
        let keys = routes.wedge(wedge).filter(|known| known.epoch <= epoch)?.keys;
        if self.by_id.get(&wedge).is_some_and(|own| own.epoch >= epoch) {
            return None;
        }
        self.by_id.insert(wedge, Own::new(keys, epoch)).map(|before| before.keys)
    }

    /// The lease on a wedge lasts until then, if not longer.
    pub(super) fn extend(&mut self, wedge: WedgeId, epoch: WedgeEpoch, until_us: u64) {
        if let Some(own) = self.by_id.get_mut(&wedge).filter(|own| own.epoch == epoch) {
            own.extend(until_us);
        }
    }

    /// Takes what is `me`'s by the map, and gives up what others own by now. Returns the keys that were given up, or are held
    /// in another epoch.
    pub(super) fn compare(&mut self, me: FrontMember, routes: &Routes) -> Vec<Interval> {
        let mut lost = Vec::new();
        for (id, wedge) in routes.wedges() {
            if wedge.owner == Some(me) {
                lost.extend(self.give(id, wedge.epoch, routes));
            } else if self.by_id.get(&id).is_some_and(|own| own.epoch < wedge.epoch) {
                lost.extend(self.lose(id));
            }
        }
        lost
    }

    /// Gives a wedge up. Returns its keys, if it was owned.
    pub(super) fn lose(&mut self, wedge: WedgeId) -> Option<Interval> {
        self.by_id.remove(&wedge).map(|own| own.keys)
    }

    /// Gives all up. Returns their keys.
    pub(super) fn lose_all(&mut self) -> impl Iterator<Item = Interval> + use<> {
        std::mem::take(&mut self.by_id).into_values().map(|own| own.keys)
    }

    /// The fence of some keys is committed. Returns the keys of the wedge, if that was the last one that it lacked.
    pub(super) fn fenced(&mut self, keys: &Interval, epoch: WedgeEpoch) -> Option<Interval> {
        let own = self.by_id.values_mut().find(|own| own.epoch == epoch && own.keys.overlaps(keys))?;
        own.fenced(keys).then_some(own.keys)
    }

    /// Asks the heads of all ranges that have keys of a wedge that was given to fence whoever owned it before off.
    pub(super) fn send_fences(
        &mut self,
        front: FrontId,
        routes: &Routes,
        resend_us: u64,
        now_us: u64,
        out: &mut Vec<(Address, Message)>,
    ) {
        let front = Address::Front(front);
        let late = |own: &Own| own.asked_us.is_none_or(|asked| now_us >= asked + resend_us);
        for own in self.by_id.values_mut().filter(|own| !own.is_fenced()) {
            if !late(own) {
                continue;
            }
            own.asked_us = Some(now_us);
            for (range, chain, keys) in routes.parts(&own.keys).filter(|(.., keys)| own.lacks(keys)) {
                let message = Message::Fence { range, front, keys, epoch: own.epoch };
                out.push((Address::Node(chain.head().node), message));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Incarnation, Wedge};

    const WEDGE: WedgeId = WedgeId(0);

    fn me(incarnation: u32) -> FrontMember {
        FrontMember { front: FrontId(1), incarnation: Incarnation(incarnation) }
    }

    /// A map with one wedge of all keys.
    fn routes(epoch: u64, owner: FrontMember) -> Routes {
        let mut routes = Routes::default();
        let wedge = Wedge { keys: Interval::ALL, epoch: WedgeEpoch(epoch), owner: Some(owner), released: false };
        routes.learn((0, 1), Vec::new(), &[wedge]);
        routes
    }

    #[test]
    fn a_wedge_is_served_under_a_lease_once_it_is_fenced() {
        let (mut own, routes) = (OwnWedges::default(), routes(3, me(1)));
        assert!(own.compare(me(1), &routes).is_empty() && own.get(WEDGE).is_some());
        assert!(own.at(&Key::MAX, &routes).is_some());
        own.extend(WEDGE, WedgeEpoch(2), 50);
        assert_eq!(own.fenced(&Interval::ALL, WedgeEpoch(2)), None, "that is another epoch");
        assert_eq!(own.fenced(&Interval::ALL, WedgeEpoch(3)), Some(Interval::ALL));
        assert_eq!(own.fenced(&Interval::ALL, WedgeEpoch(3)), None, "it is known");
        assert_eq!(own.served(10).count(), 0);
        own.extend(WEDGE, WedgeEpoch(3), 50);
        assert!(own.served(49).eq([WEDGE]) && own.served(50).count() == 0);
    }

    #[test]
    fn a_wedge_that_passes_on_is_given_up_and_one_that_comes_back_begins_anew() {
        let mut own = OwnWedges::default();
        own.compare(me(1), &routes(3, me(1)));
        assert_eq!(own.give(WEDGE, WedgeEpoch(3), &routes(3, me(1))), None, "nothing is new");
        assert_eq!(own.give(WEDGE, WedgeEpoch(4), &routes(4, me(1))), Some(Interval::ALL));
        let other = FrontMember { front: FrontId(2), incarnation: Incarnation(1) };
        assert_eq!(own.compare(me(1), &routes(4, other)), [], "the lease names a later owner than the map");
        assert_eq!(own.compare(me(1), &routes(5, other)), [Interval::ALL]);
        assert!(own.get(WEDGE).is_none() && own.lose(WEDGE).is_none() && own.lose_all().next().is_none());
    }
}
