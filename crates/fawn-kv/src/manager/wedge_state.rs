//! Front-ends and the owners of wedges, as they are decided.

use crate::ids::{FrontId, FrontMember, Incarnation, Wedge, WedgeEpoch, WedgeId};
use fawn_ring::Interval;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The front-ends and the wedges, as they are decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wedges {
    /// The life of each front-end, and the start that it was given to.
    pub(super) fronts: BTreeMap<FrontId, (Incarnation, u64)>,
    /// In the order of their keys; [`WedgeId`] is the place here.
    pub(super) wedges: Vec<Wedge>,
}

impl Wedges {
    /// The life that a front-end has, if it has had one.
    pub fn life_of(&self, front: FrontId) -> Option<Incarnation> {
        self.fronts.get(&front).map(|(incarnation, _)| *incarnation)
    }

    /// `count` wedges of equal width; none for 0.
    pub fn new(count: u32) -> Self {
        let keys = if count == 0 { Vec::new() } else { Interval::ALL.divide(count) };
        let wedge = |keys| Wedge { keys, epoch: WedgeEpoch(0), owner: None, released: false };
        Self { fronts: BTreeMap::new(), wedges: keys.into_iter().map(wedge).collect() }
    }

    /// All wedges, in the order of their keys.
    pub fn wedges(&self) -> &[Wedge] {
        &self.wedges
    }

    /// Whether this is the front-end's life now.
    pub fn lives(&self, member: FrontMember) -> bool {
        self.fronts.get(&member.front).is_some_and(|(incarnation, _)| *incarnation == member.incarnation)
    }

    pub(super) fn fronts_mut(&mut self) -> impl Iterator<Item = &mut (Incarnation, u64)> {
        self.fronts.values_mut()
    }

    pub(super) fn wedges_mut(&mut self) -> impl Iterator<Item = &mut Wedge> {
        self.wedges.iter_mut()
    }

    pub(super) fn is_given(&self, front: FrontId, nonce: u64) -> bool {
        self.fronts.get(&front).is_some_and(|(_, given_to)| *given_to == nonce)
    }

    pub(super) fn wedge_mut(&mut self, wedge: WedgeId) -> Option<&mut Wedge> {
        self.wedges.get_mut(wedge.0 as usize)
    }

    pub(super) fn register(&mut self, front: FrontId, nonce: u64) -> bool {
        if self.is_given(front, nonce) {
            return false;
        }
        let before = self.fronts.get(&front).map_or(Incarnation(0), |(incarnation, _)| *incarnation);
        self.fronts.insert(front, (before.next(), nonce));
        true
    }

    pub(super) fn release(&mut self, wedge: WedgeId, epoch: WedgeEpoch) -> bool {
        let Some(wedge) = self.wedge_mut(wedge) else { return false };
        let fits = wedge.epoch == epoch && wedge.owner.is_some() && !wedge.released;
        wedge.released |= fits;
        fits
    }

    pub(super) fn grant(&mut self, wedge: WedgeId, epoch: WedgeEpoch, owner: FrontMember) -> bool {
        let lives = self.lives(owner);
        let Some(wedge) = self.wedge_mut(wedge) else { return false };
        let fits = lives && epoch == wedge.epoch.next() && (wedge.released || wedge.owner.is_none());
        if fits {
            *wedge = Wedge { keys: wedge.keys, epoch, owner: Some(owner), released: false };
        }
        fits
    }
}
