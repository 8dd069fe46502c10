//! What a manager tells on its admin port. It is put together a few times a second, as nobody who asks for it is to wait
//! for the manager.

use super::operate::HEARD;
use super::{Driver, Seat};
use crate::clock::now_us;
use fawn_kv::manager::Standing;
use fawn_kv::manager::roster::Member;
use fawn_kv::status::Role;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Between two reports.
const EVERY: Duration = Duration::from_millis(250);

/// How a manager does.
#[derive(Clone, Debug)]
pub struct Report {
    /// When this was so.
    pub at: Instant,
    /// It leads, and its manager knows.
    pub leads: bool,
    /// Somebody leads, as far as it knows.
    pub knows_leader: bool,
    /// It has heard a majority lately, or need not, as it does not lead.
    pub has_majority: bool,
    /// Why it waits to write its log, if it does.
    pub stalled: Option<String>,
    /// The term.
    pub term: u64,
    /// Number of the last entry of its log.
    pub log_index: u64,
    /// Number of the last entry that it has applied.
    pub applied_index: u64,
    /// Managers of the group, and how many of them vote.
    pub managers: u64,
    /// See `managers`.
    pub voters: u64,
    /// Chains that were activated by what was decided, since it started.
    pub epoch_changes: u64,
    /// The cluster, if it leads.
    pub cluster: Option<ClusterReport>,
}

/// How a cluster does, as its managers' leader sees it.
#[derive(Clone, Debug, Default)]
pub struct ClusterReport {
    /// Managers that were heard lately, the leader itself too.
    pub managers_alive: u64,
    /// Members by name.
    pub members: Vec<MemberReport>,
    /// Ranges: all, those with fewer replicas than they should have, those that somebody learns, those that change.
    pub ranges: u64,
    /// See `ranges`.
    pub short: u64,
    /// Members of the shortest chain.
    pub least_replicas: u64,
    /// See `ranges`.
    pub learned: u64,
    /// See `ranges`.
    pub changing: u64,
    /// Wedges without an owner.
    pub unowned: u64,
    /// Ranges that nobody serves at the moment.
    pub unserved: u64,
    /// A sentence of them, once that has lasted.
    pub lost: Option<String>,
    /// All who live are where they should be.
    pub is_settled: bool,
    /// By range: records of the longest log of its chain that not all of them know to be committed.
    pub lags: BTreeMap<u32, u64>,
}

/// How a member does.
#[derive(Clone, Debug)]
pub struct MemberReport {
    /// Its name.
    pub name: String,
    /// All of its seats were heard lately.
    pub is_alive: bool,
    /// It is to leave.
    pub is_draining: bool,
    /// It takes no part.
    pub is_in_trouble: bool,
}

fn is_heard(seat: &Seat, now_us: u64) -> bool {
    seat.heard_us.is_some_and(|at| now_us.saturating_sub(at) < HEARD.as_micros() as u64)
}

impl Driver {
    /// Puts a report together, and says in the log what has changed, if the last report is old.
    pub(super) fn report(&mut self) {
        let is_due = self.reports.borrow().as_ref().is_none_or(|last| last.at.elapsed() >= EVERY);
        if is_due {
            let report = self.new_report();
            self.reports.send_replace(Some(report));
            if self.leads() {
                self.log_changes();
            }
        }
    }

    fn new_report(&self) -> Report {
        let metrics = self.group.metrics().borrow().clone();
        let membership = metrics.membership_config.membership();
        Report {
            at: Instant::now(),
            leads: self.leads(),
            knows_leader: metrics.current_leader.is_some(),
            has_majority: !self.leads() || self.has_majority(),
            stalled: self.proposer.stalled(),
            term: metrics.current_term,
            log_index: metrics.last_log_index.unwrap_or(0),
            applied_index: metrics.last_applied.map_or(0, |applied| applied.index),
            managers: membership.nodes().count() as u64,
            voters: membership.voter_ids().count() as u64,
            epoch_changes: self.epoch_changes,
            cluster: if self.leads() { self.cluster_report() } else { None },
        }
    }

    fn cluster_report(&self) -> Option<ClusterReport> {
        let manager = self.manager.as_ref()?;
        let state = manager.state();
        let count =
            |is: &dyn Fn(&fawn_kv::manager::Range) -> bool| state.ranges.values().filter(|range| is(range)).count();
        let replicas = state.settings.replicas as usize;
        Some(ClusterReport {
            managers_alive: self.managers().iter().filter(|manager| manager.lag.is_some()).count() as u64,
            members: self.facts.roster.members.iter().map(|(name, member)| self.member_report(name, member)).collect(),
            ranges: state.ranges.len() as u64,
            short: count(&|range| range.chain.members.len() < replicas) as u64,
            least_replicas: state.ranges.values().map(|range| range.chain.members.len()).min().unwrap_or(0) as u64,
            learned: count(&|range| range.learner.is_some()) as u64,
            changing: count(&|range| range.pending.is_some()) as u64,
            unowned: state.wedges.wedges().iter().filter(|wedge| wedge.owner.is_none()).count() as u64,
            unserved: self.unserved(state).len() as u64,
            lost: self.cluster_log.unserved().map(str::to_owned),
            is_settled: manager.is_settled(),
            lags: self.lags(),
        })
    }

    fn member_report(&self, name: &str, member: &Member) -> MemberReport {
        let now_us = now_us();
        let is_heard = |seat| self.seats.get(&seat).is_some_and(|known| is_heard(known, now_us));
        let stands = |seat| {
            let node = self.manager.as_ref()?.state().nodes.get(&super::operate::node_of(seat))?;
            Some(node.standing)
        };
        let trouble = |seat| self.seats.get(&seat)?.figures.as_ref()?.trouble.as_ref();
        MemberReport {
            name: name.to_owned(),
            is_alive: member.seats().all(is_heard),
            is_draining: member.seats().any(|seat| stands(seat) == Some(Standing::Draining)),
            is_in_trouble: member.seats().any(|seat| trouble(seat).is_some()),
        }
    }

    fn lags(&self) -> BTreeMap<u32, u64> {
        // What one that is not heard said last is no news of now.
        let now_us = now_us();
        let heard = self.seats.values().filter(|seat| is_heard(seat, now_us));
        let figures = heard.filter_map(|seat| seat.figures.as_ref());
        let active = || figures.clone().flat_map(|figures| &figures.ranges).filter(|range| range.role != Role::Idle);
        let mut lasts: BTreeMap<u32, u64> = BTreeMap::new();
        for range in active().filter(|range| range.epoch.0 > 0) {
            let last = lasts.entry(range.range.0).or_default();
            *last = range.last.seq.0.max(*last);
        }
        let mut lags = BTreeMap::new();
        for range in active() {
            let Some(last) = lasts.get(&range.range.0) else { continue };
            let lag: &mut u64 = lags.entry(range.range.0).or_default();
            *lag = last.saturating_sub(range.committed.seq.0).max(*lag);
        }
        lags
    }
}
