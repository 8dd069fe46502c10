//! How the first ranges come to be what a plain directory's stores hold, where a node has been started on one.
//!
//! Each of its seats has a store with some of the keys, and offers it in place of saying hello. Once all have been heard,
//! and no range was ever made, they become ranges by one command: each as if its node had been alone in its chain, in a
//! life before its first (so the chain revives from what that node has, like any other whose members all stopped). Keys
//! that no store was made for are in ranges that begin empty. Only then is a node told to adopt, so that until then nothing
//! in the directory has changed.
//!
//! There is room for one directory: where ranges have been made, others are told so.

use super::leader::{Effects, Manager};
use super::offers::{Offer, StoreOffer};
use super::settings::check_virtual_ids;
use super::state::{Adopted, Command, State, StateChange};
use crate::ids::{Address, Chain, Epoch, Incarnation, Member, NodeId, Position, Seq};
use crate::store::{ADOPTED, Plain};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use fawn_ring::{Interval, Key};

/// The first node of the directory that a store is of; its seats follow each other.
fn first_of(node: NodeId, plain: &Plain) -> Option<NodeId> {
    (plain.store < plain.stores).then(|| node.0.checked_sub(u64::from(plain.store)).map(NodeId))?
}

impl State {
    /// The first ranges are these, in the order of their keys, and what lies between them.
    pub(super) fn adopt(&mut self, ranges: &[Adopted]) -> Option<StateChange> {
        let ordered = ranges.windows(2).all(|two| two[0].keys.high < two[1].keys.low);
        let distinct = (1..ranges.len()).all(|at| ranges[..at].iter().all(|other| other.node != ranges[at].node));
        if !self.is_unformed() || ranges.is_empty() || !ordered || !distinct || self.settings.check().is_err() {
            return None;
        }
        self.forget_unformed();
        let mut next = Some(Key::MIN);
        for Adopted { node, keys } in ranges {
            if let Some(low) = next.filter(|low| *low < keys.low) {
                let high = keys.low.predecessor().expect("something lies below");
                self.add_range(Chain::none(Interval::new(low, high)), Vec::new());
            }
            let chain = Chain {
                keys: *keys,
                epoch: Epoch(1),
                attempt: ADOPTED,
                members: vec![Member { node: *node, incarnation: Incarnation(0) }],
                after: Position::default(),
                first: Seq(1),
                rules: self.settings.rules,
            };
            let range = self.add_range(chain, Vec::new());
            self.adopted.insert(*node, range);
            next = keys.high.successor();
        }
        if let Some(low) = next {
            self.add_range(Chain::none(Interval::new(low, Key::MAX)), Vec::new());
        }
        Some(StateChange::default())
    }
}

impl Manager {
    /// A node has keys that are of no cluster.
    pub(super) fn offered(&mut self, offer: &Offer, now_us: u64, effects: &mut Effects) {
        let Offer { node, nonce, machine, domain, virtual_ids, plain } = *offer;
        let Some(cluster) = self.state.cluster else {
            effects.propose.push(Command::Found(self.draw()));
            return;
        };
        let is_taken = self.state.adopted.contains_key(&node);
        if !is_taken && !self.state.is_unformed() {
            self.offers.remove(&node);
            effects.send.push((Address::Node(node), Message::Occupied { cluster }));
            return;
        }
        if !is_taken {
            self.offers.insert(node, StoreOffer { plain, at_us: now_us });
        }
        if self.state.nodes.get(&node).is_none_or(|registered| registered.nonce != nonce) {
            if check_virtual_ids(virtual_ids).is_ok() {
                effects.propose.push(Command::Register { node, nonce, machine, domain, virtual_ids });
            }
        } else if is_taken {
            self.offers.remove(&node);
            self.tell_to_adopt(node, nonce, effects);
        } else if let Some(ranges) = self.whole_directory(node, &plain, now_us) {
            effects.propose.push(Command::Adopt { ranges });
        }
    }

    /// What all seats of a node's process have offered, in the order of keys, if all have, and it makes sense.
    fn whole_directory(&self, node: NodeId, plain: &Plain, now_us: u64) -> Option<Vec<Adopted>> {
        let first = first_of(node, plain)?;
        let of = |store: u32| {
            let node = NodeId(first.0.checked_add(u64::from(store))?);
            let offered = self.offers.get(&node).filter(|offered| self.is_fresh(offered, now_us))?;
            let fits = offered.plain.store == store && offered.plain.stores == plain.stores;
            (fits && self.state.nodes.contains_key(&node)).then_some(Adopted { node, keys: offered.plain.keys })
        };
        let mut all: Vec<Adopted> = (0..plain.stores).map_while(of).collect();
        if all.len() < plain.stores as usize && !planted(Bug::AdoptsWhatIsThere) {
            return None;
        }
        all.sort_unstable_by_key(|adopted| adopted.keys.low);
        all.windows(2).all(|two| two[0].keys.high < two[1].keys.low).then_some(all)
    }

    fn is_fresh(&self, offered: &StoreOffer, now_us: u64) -> bool {
        now_us < offered.at_us + self.timing.gone_us
    }

    /// Whether the first ranges are to be what some directory holds, of which not all was heard yet.
    pub(super) fn awaits_offers(&self, now_us: u64) -> bool {
        self.offers.values().any(|offered| self.is_fresh(offered, now_us))
    }

    /// The first ranges have been made.
    pub(super) fn adopted(&mut self, effects: &mut Effects) {
        took(Path::Adopted);
        for node in std::mem::take(&mut self.offers).into_keys() {
            if let Some(registered) = self.state.nodes.get(&node) {
                self.tell_to_adopt(node, registered.nonce, effects);
            }
        }
    }

    /// Gives a node its life, and what it has to the cluster.
    pub(super) fn tell_to_adopt(&self, node: NodeId, nonce: u64, effects: &mut Effects) {
        let range = self.state.adopted.get(&node).copied();
        let registered = self.state.nodes.get(&node).filter(|registered| registered.nonce == nonce);
        if let Some(((range, registered), cluster)) = range.zip(registered).zip(self.state.cluster) {
            let incarnation = registered.incarnation;
            effects.send.push((Address::Node(node), Message::Adopt { cluster, nonce, incarnation, range }));
        }
    }
}
