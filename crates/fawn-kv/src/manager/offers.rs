//! What nodes offer that have keys of no cluster yet, until the first ranges are made of that (see `adopt`).

use super::effects::Effects;
use super::settings::check_virtual_ids;
use super::state::{Adopted, Command, State};
use super::view::LeaderView;
use crate::ids::{Address, ClusterId, NodeId};
use crate::store::Plain;
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use fawn_ring::{DomainId, MachineId};
use std::collections::BTreeMap;

/// A node that offers what it has.
pub(super) struct Offer {
    pub(super) node: NodeId,
    pub(super) nonce: u64,
    pub(super) machine: MachineId,
    pub(super) domain: Option<DomainId>,
    pub(super) virtual_ids: u32,
    pub(super) plain: Plain,
    /// What the cluster is called if this is its first node.
    pub(super) draw: ClusterId,
}

/// What a node has offered.
#[derive(Clone, Copy, Debug)]
struct StoreOffer {
    plain: Plain,
    at_us: u64,
}

/// Nodes that have keys of no cluster, while no range was made.
#[derive(Debug, Default)]
pub(super) struct Offers {
    by_node: BTreeMap<NodeId, StoreOffer>,
}

impl Offers {
    /// Nothing was offered.
    pub(super) fn clear(&mut self) {
        self.by_node.clear();
    }

    /// A node has keys that are of no cluster.
    pub(super) fn note(&mut self, offer: &Offer, view: &LeaderView, now_us: u64, effects: &mut Effects) {
        let Offer { node, nonce, machine, domain, virtual_ids, plain, draw } = *offer;
        let state = view.state();
        let Some(cluster) = state.cluster else {
            effects.propose.push(Command::Found(draw));
            return;
        };
        let is_taken = state.adopted.contains_key(&node);
        if !is_taken && !state.is_unformed() {
            self.by_node.remove(&node);
            effects.send.push((Address::Node(node), Message::Occupied { cluster }));
            return;
        }
        if !is_taken {
            self.by_node.insert(node, StoreOffer { plain, at_us: now_us });
        }
        if state.nodes.get(&node).is_none_or(|registered| registered.nonce != nonce) {
            if check_virtual_ids(virtual_ids).is_ok() {
                effects.propose.push(Command::Register { node, nonce, machine, domain, virtual_ids });
            }
        } else if is_taken {
            self.by_node.remove(&node);
            tell_to_adopt(node, nonce, state, effects);
        } else if let Some(ranges) = self.whole_directory(node, &plain, view, now_us) {
            effects.propose.push(Command::Adopt { ranges });
        }
    }

    /// What all seats of a node's process have offered, in the order of keys, if all have, and it makes sense.
    fn whole_directory(&self, node: NodeId, plain: &Plain, view: &LeaderView, now_us: u64) -> Option<Vec<Adopted>> {
        let first = first_of(node, plain)?;
        let of = |store: u32| {
            let node = NodeId(first.0.checked_add(u64::from(store))?);
            let offered = self.by_node.get(&node).filter(|offered| is_fresh(offered, view, now_us))?;
            let fits = offered.plain.store == store && offered.plain.stores == plain.stores;
            (fits && view.state().nodes.contains_key(&node)).then_some(Adopted { node, keys: offered.plain.keys })
        };
        let mut all: Vec<Adopted> = (0..plain.stores).map_while(of).collect();
        if all.len() < plain.stores as usize && !planted(Bug::AdoptsWhatIsThere) {
            return None;
        }
        all.sort_unstable_by_key(|adopted| adopted.keys.low);
        all.windows(2).all(|two| two[0].keys.high < two[1].keys.low).then_some(all)
    }

    /// Whether the first ranges are to be what some directory holds, of which not all was heard yet.
    pub(super) fn are_awaited(&self, view: &LeaderView, now_us: u64) -> bool {
        self.by_node.values().any(|offered| is_fresh(offered, view, now_us))
    }

    /// The first ranges have been made: whoever has offered what they hold is told so.
    pub(super) fn accept(&mut self, state: &State, effects: &mut Effects) {
        took(Path::Adopted);
        for node in std::mem::take(&mut self.by_node).into_keys() {
            if let Some(registered) = state.nodes.get(&node) {
                tell_to_adopt(node, registered.nonce, state, effects);
            }
        }
    }
}

fn is_fresh(offered: &StoreOffer, view: &LeaderView, now_us: u64) -> bool {
    now_us < offered.at_us + view.timing().gone_us
}

/// The first node of the directory that a store is of; its seats follow each other.
fn first_of(node: NodeId, plain: &Plain) -> Option<NodeId> {
    (plain.store < plain.stores).then(|| node.0.checked_sub(u64::from(plain.store)).map(NodeId))?
}

/// Gives a node its life, and what it has to the cluster.
pub(super) fn tell_to_adopt(node: NodeId, nonce: u64, state: &State, effects: &mut Effects) {
    let range = state.adopted.get(&node).copied();
    let registered = state.nodes.get(&node).filter(|registered| registered.nonce == nonce);
    if let Some(((range, registered), cluster)) = range.zip(registered).zip(state.cluster) {
        let incarnation = registered.incarnation;
        effects.send.push((Address::Node(node), Message::Adopt { cluster, nonce, incarnation, range }));
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{Leases, Settings};
    use super::super::view::tests::CLUSTER;
    use super::*;
    use crate::ids::Rules;
    use crate::timing::Timing;
    use fawn_ring::Interval;

    /// The leader of a cluster that has no range, and of which two nodes are registered.
    fn unformed() -> LeaderView {
        let settings = Settings { replicas: 1, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
        let mut view = LeaderView::new(Timing::default(), State::new(settings));
        view.lead(Some(0));
        view.apply(&Command::Found(CLUSTER)).unwrap();
        for node in [7, 8] {
            let (node, machine) = (NodeId(node), MachineId(node));
            view.apply(&Command::Register { node, nonce: 1, machine, domain: None, virtual_ids: 1 }).unwrap();
        }
        view
    }

    /// A node offers the half of all keys that it has.
    fn offer(offers: &mut Offers, node: u64, view: &LeaderView, now_us: u64) -> Effects {
        let store = (node - 7) as u32;
        let plain = Plain { store, stores: 2, keys: Interval::ALL.divide(2)[store as usize] };
        let (node, machine, mut effects) = (NodeId(node), MachineId(node), Effects::default());
        let offer = Offer { node, nonce: 1, machine, domain: None, virtual_ids: 1, plain, draw: CLUSTER };
        offers.note(&offer, view, now_us, &mut effects);
        effects
    }

    #[test]
    fn a_directory_is_adopted_once_all_of_it_was_offered() {
        let (mut view, mut offers) = (unformed(), Offers::default());
        assert!(offer(&mut offers, 8, &view, 0).propose.is_empty());
        assert!(offers.are_awaited(&view, 0), "no other range is to be made before");
        let propose = offer(&mut offers, 7, &view, 0).propose;
        let [adopt @ Command::Adopt { ranges }] = &propose[..] else { panic!("{propose:?}") };
        assert_eq!(ranges.iter().map(|range| range.node.0).collect::<Vec<_>>(), [7, 8]);
        view.apply(adopt).unwrap();
        let mut effects = Effects::default();
        offers.accept(view.state(), &mut effects);
        let told = effects.send.iter().map(|(to, message)| (*to, matches!(message, Message::Adopt { .. })));
        assert!(told.eq([7, 8].map(|node| (Address::Node(NodeId(node)), true))));
        assert!(!offers.are_awaited(&view, 0));
        assert_eq!(offer(&mut offers, 7, &view, 0).send.len(), 1, "it is told again");
    }

    #[test]
    fn an_offer_is_not_waited_for_for_ever() {
        let (view, mut offers) = (unformed(), Offers::default());
        offer(&mut offers, 7, &view, 0);
        let late_us = view.timing().gone_us;
        assert!(offers.are_awaited(&view, late_us - 1) && !offers.are_awaited(&view, late_us));
        assert!(offer(&mut offers, 8, &view, late_us).propose.is_empty(), "the other one may be gone");
    }
}
