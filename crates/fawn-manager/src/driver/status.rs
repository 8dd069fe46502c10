//! The status of the cluster, as operators see it.

use super::committed::CommittedState;
use super::group::ManagerGroup;
use super::seats::{Seats, node_of, seat_of};
use super::separations::Separations;
use fawn_kv::ids::{SeatId, WedgeId};
use fawn_kv::manager::Manager;
use fawn_kv::manager::roster::Member;
use fawn_kv::status::{RangeStatus, SeatDetails, SeatStatus, Status, WedgeStatus};
use std::collections::BTreeMap;

/// What a status is put together from.
#[derive(Clone, Copy)]
pub struct StatusSource<'a> {
    /// The group of managers.
    pub group: &'a ManagerGroup,
    /// What is decided.
    pub committed: &'a CommittedState,
    /// What seats say.
    pub seats: &'a Seats,
    /// Nodes that are kept out of chains with others.
    pub separations: &'a Separations,
    /// The term in which this member leads.
    pub term: u64,
    /// The time.
    pub now_us: u64,
}

/// The status of a cluster that has begun, for operators.
pub fn status(source: StatusSource<'_>, manager: &Manager) -> Status {
    let StatusSource { group, committed, seats, separations, term, now_us } = source;
    let (state, roster) = (manager.state(), &committed.facts().roster);
    let seat_statuses = roster.members.values().flat_map(Member::seats).map(|seat| {
        let node = state.nodes.get(&node_of(seat));
        SeatStatus {
            seat,
            incarnation: node.map(|node| node.incarnation),
            standing: node.map(|node| node.standing),
            heard_ms: seats.heard_us(seat).map(|at| now_us.saturating_sub(at) / 1000),
            figures: seats.figures(seat).map(|figures| separations.with_reason(figures.clone(), committed)),
        }
    });
    let ranges = state.by_last.values().filter_map(|id| Some((*id, state.ranges.get(id)?)));
    let ranges = ranges.map(|(range, known)| RangeStatus {
        range,
        chain: known.chain.clone(),
        learner: known.learner.map(|learner| seat_of(learner.node)),
        attempt: known.attempt,
        is_changing: known.pending.is_some(),
    });
    let wedges = (0..).zip(state.wedges.wedges());
    let wedges = wedges.map(|(id, wedge)| WedgeStatus { wedge: WedgeId(id), epoch: wedge.epoch, owner: wedge.owner });
    Status {
        cluster: state.cluster,
        leader: group.me(),
        term,
        managers: group.statuses(),
        settings: state.settings,
        roster: roster.clone(),
        seats: seat_statuses.collect(),
        ranges: ranges.collect(),
        wedges: wedges.collect(),
        is_settled: manager.is_settled(),
        version: None,
        details: BTreeMap::new(),
    }
}

/// What is known of seats beside their status.
pub fn details(committed: &CommittedState, seats: &Seats, now_us: u64) -> BTreeMap<SeatId, SeatDetails> {
    let of_members = committed.facts().roster.members.values().flat_map(Member::seats);
    of_members.filter_map(|seat| Some((seat, seats.details(seat, now_us)?))).collect()
}
