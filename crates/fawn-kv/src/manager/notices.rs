//! What nodes, front-ends and others are told of what is decided.

use super::effects::Effects;
use super::state::State;
use super::view::LeaderView;
use crate::ids::{Address, Attempt, Epoch, Member, NodeId, RangeId};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::{Message, Report};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// What members were told of chains that became active.
#[derive(Debug, Default)]
pub(super) struct ChainNotices {
    /// When each range's chain became active, as long as this one leads: its members were told then.
    activated_us: BTreeMap<RangeId, u64>,
}

impl ChainNotices {
    /// Nobody was told anything.
    pub(super) fn clear(&mut self) {
        self.activated_us.clear();
    }

    /// A chain has become active, and its members are told now.
    pub(super) fn activate(&mut self, range: RangeId, now_us: u64) {
        self.activated_us.insert(range, now_us);
    }

    /// A range is over, or has another chain.
    pub(super) fn forget(&mut self, range: RangeId) {
        self.activated_us.remove(&range);
    }

    /// What a node says of one of its ranges: perhaps it has to hear what has become of it.
    pub(super) fn answer_report(
        &self,
        member: Member,
        report: &Report,
        view: &LeaderView,
        now_us: u64,
        effects: &mut Effects,
    ) {
        let (id, state) = (report.range, view.state());
        if let Some(range) = state.ranges.get(&id) {
            let chain = &range.chain;
            let is_in = chain.place(member).is_some();
            // What it was told just now may be on its way.
            let is_on_way = self.activated_us.get(&id).is_some_and(|at| now_us < at + view.timing().resend_us);
            if (is_in || report.epoch.0 > 0) && report.epoch < chain.epoch && !is_on_way {
                tell_of_chains(chain.attempt, (&[], &[id]), member, state, effects);
            }
            let wanted = range.pending.iter().any(|pending| pending.target.contains(&member));
            let is_good = chain.members.len() >= view.replicas() && range.pending.is_none();
            if !is_in && !chain.has_node(member.node) && !wanted && range.learner != Some(member) && is_good {
                drop_range(member, id, chain.epoch, state, effects);
            }
        } else if let Some(over) = state.over.get(&id) {
            // Both that were merged have to be told of at once.
            let same = over.ranges.first().map(|range| &state.ranges[range].came_of[..]);
            tell_of_chains(over.attempt, (same.unwrap_or(&[]), &over.ranges), member, state, effects);
        } else if (id < state.next_range && !state.may_be_lost(id)) || planted(Bug::DropUnknown) {
            drop_range(member, id, Epoch(u32::MAX), state, effects);
        }
    }
}

/// Tells a node of ranges that are over, and of chains that are active.
pub(super) fn tell_of_chains(
    attempt: Attempt,
    (over, active): (&[RangeId], &[RangeId]),
    to: Member,
    state: &State,
    effects: &mut Effects,
) {
    let chains = active.iter().filter_map(|id| Some((*id, state.ranges.get(id)?.chain.clone()))).collect();
    let message = Message::Activate { incarnation: to.incarnation, attempt, over: over.to_vec(), chains };
    effects.send.push((Address::Node(to.node), message));
}

fn drop_range(member: Member, range: RangeId, epoch: Epoch, state: &State, effects: &mut Effects) {
    let over = state.ranges.get(&range).map_or(Attempt(0), |range| range.attempt);
    let message = Message::Drop { incarnation: member.incarnation, range, epoch, over };
    effects.send.push((Address::Node(member.node), message));
}

/// Gives a node its life, if it was given to this start.
pub(super) fn welcome(node: NodeId, nonce: u64, state: &State, effects: &mut Effects) {
    let registered = state.nodes.get(&node).filter(|registered| registered.nonce == nonce);
    if let Some((registered, cluster)) = registered.zip(state.cluster) {
        let message = Message::Welcome { cluster, nonce, incarnation: registered.incarnation };
        effects.send.push((Address::Node(node), message));
    }
}

/// Shows which chains have changed since the `known` one of all changes, and who owns which wedge.
pub(super) fn show_view(asker: Address, known: u64, state: &State, effects: &mut Effects) {
    let newer = state.by_change.range((Excluded((known, RangeId(u32::MAX))), Unbounded));
    let chains = newer.map(|(_, id)| (*id, state.ranges[id].chain.clone())).collect();
    let wedges = state.wedges.wedges().to_vec();
    effects.send.push((asker, Message::View { since: known, number: state.changes, chains, wedges }));
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{leading, member};
    use super::*;
    use crate::ids::{Health, Position, Seq};
    use crate::manager::{Command, Into};

    /// What a node is answered that reports a range in this epoch.
    fn answer(notices: &ChainNotices, (node, range): (u64, RangeId), epoch: u32, view: &LeaderView) -> Vec<Message> {
        let (last, health) = (Position::default(), Health::Sound);
        let report = Report { range, last, held: None, caught_up: false, epoch: Epoch(epoch), health };
        let mut effects = Effects::default();
        notices.answer_report(member(node), &report, view, 1000, &mut effects);
        effects.send.into_iter().map(|(_, message)| message).collect()
    }

    #[test]
    fn a_member_hears_of_its_chain_again_unless_it_was_told_just_now() {
        let (mut view, mut notices) = (leading(2, 1), ChainNotices::default());
        let (range, attempt, into, after) = (RangeId(2), Attempt(1), Into::Itself, Position::default());
        view.apply(&Command::Begin { range, attempt, target: vec![member(1)], source: None, into }).unwrap();
        view.apply(&Command::Activate { range, attempt, into, after, first: Seq(1) }).unwrap();
        notices.activate(range, 1000);
        assert_eq!(answer(&notices, (1, range), 0, &view), []);
        notices.forget(range);
        assert!(matches!(answer(&notices, (1, range), 0, &view)[..], [Message::Activate { .. }]));
        assert_eq!(answer(&notices, (1, range), 1, &view), [], "it knows");
        let others = answer(&notices, (2, range), 0, &view);
        assert!(matches!(others[..], [Message::Drop { epoch: Epoch(1), .. }]), "it is no member: {others:?}");
    }

    #[test]
    fn a_range_that_never_was_is_kept_and_one_that_is_over_is_not() {
        let (view, notices) = (leading(1, 1), ChainNotices::default());
        assert_eq!(answer(&notices, (1, view.state().next_range), 0, &view), []);
        let formed = answer(&notices, (1, RangeId(1)), 0, &view);
        assert!(matches!(formed[..], [Message::Drop { epoch: Epoch(u32::MAX), .. }]), "{formed:?}");
    }

    #[test]
    fn a_view_holds_what_is_newer() {
        let (view, mut effects) = (leading(1, 1), Effects::default());
        for known in [0, view.state().changes] {
            show_view(Address::Manager, known, view.state(), &mut effects);
        }
        let chains = effects.send.iter().map(|(_, message)| match message {
            Message::View { chains, .. } => chains.len(),
            _ => 0,
        });
        assert!(chains.eq([0, 0]), "no chain has been active");
    }
}
