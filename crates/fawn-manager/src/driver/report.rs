//! What a manager tells on its admin port. It is put together a few times a second, as nobody who asks for it is to wait
//! for the manager.

use super::cluster_log::{ClusterLog, ClusterView, unserved};
use super::committed::CommittedState;
use super::group::ManagerGroup;
use super::proposals::Proposer;
use super::seats::{Seats, node_of};
use fawn_kv::manager::roster::Member;
use fawn_kv::manager::{Standing, State};
use fawn_kv::status::Role;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Between two reports.
const EVERY: Duration = Duration::from_millis(250);

/// How a manager does.
#[derive(Clone, Debug)]
pub struct ManagerReport {
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
    /// Managers of the group.
    pub managers: u64,
    /// Those of `managers` that vote.
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
    /// Ranges.
    pub ranges: u64,
    /// Ranges with fewer replicas than they should have.
    pub short: u64,
    /// Members of the shortest chain.
    pub least_replicas: u64,
    /// Ranges that a learner copies.
    pub learned: u64,
    /// Ranges whose chain is changing.
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

/// What a report is put together from.
#[derive(Clone, Copy)]
pub struct ReportSource<'a> {
    /// The group of managers.
    pub group: &'a ManagerGroup,
    /// Who proposes to it.
    pub proposer: &'a Proposer,
    /// What is decided.
    pub committed: &'a CommittedState,
    /// What seats say.
    pub seats: &'a Seats,
    /// This member leads.
    pub is_leading: bool,
    /// The time.
    pub now_us: u64,
}

/// Reports for the admin port, and what the log says of the cluster.
#[derive(Debug)]
pub struct Reports {
    published: watch::Sender<Option<ManagerReport>>,
    /// Chains that were activated since this member started.
    epoch_changes: u64,
    cluster_log: ClusterLog,
}

impl Reports {
    /// Reports go to `published`.
    pub fn new(published: watch::Sender<Option<ManagerReport>>) -> Self {
        Self { published, epoch_changes: 0, cluster_log: ClusterLog::default() }
    }

    /// A chain was activated.
    pub fn count_epoch_change(&mut self) {
        self.epoch_changes += 1;
    }

    /// A new leader has logged nothing of the cluster yet.
    pub fn forget_cluster(&mut self) {
        self.cluster_log = ClusterLog::default();
    }

    /// Publishes a report, and logs what has changed, if the last report is old.
    pub fn refresh(&mut self, source: ReportSource<'_>) {
        let is_due = self.published.borrow().as_ref().is_none_or(|last| last.at.elapsed() >= EVERY);
        if !is_due {
            return;
        }
        let report = self.report(source);
        self.published.send_replace(Some(report));
        if source.is_leading
            && let Some(cluster) = ClusterView::of(source.committed, source.seats, source.now_us)
        {
            self.cluster_log.log_changes(source.now_us, &cluster);
        }
    }

    fn report(&self, source: ReportSource<'_>) -> ManagerReport {
        let metrics = source.group.metrics();
        let membership = metrics.membership_config.membership();
        let is_leading = source.is_leading;
        ManagerReport {
            at: Instant::now(),
            leads: is_leading,
            knows_leader: metrics.current_leader.is_some(),
            has_majority: !is_leading || source.group.has_majority(),
            stalled: source.proposer.stalled(),
            term: metrics.current_term,
            log_index: metrics.last_log_index.unwrap_or(0),
            applied_index: metrics.last_applied.map_or(0, |applied| applied.index),
            managers: membership.nodes().count() as u64,
            voters: membership.voter_ids().count() as u64,
            epoch_changes: self.epoch_changes,
            cluster: if is_leading { self.cluster(source) } else { None },
        }
    }

    fn cluster(&self, source: ReportSource<'_>) -> Option<ClusterReport> {
        let ReportSource { group, committed, seats, now_us, .. } = source;
        let manager = committed.manager()?;
        let state = manager.state();
        let count =
            |is: &dyn Fn(&fawn_kv::manager::Range) -> bool| state.ranges.values().filter(|range| is(range)).count();
        let replicas = state.settings.replicas as usize;
        let members = committed.facts().roster.members.iter();
        Some(ClusterReport {
            managers_alive: group.statuses().iter().filter(|manager| manager.lag.is_some()).count() as u64,
            members: members.map(|(name, member)| member_report(name, member, state, seats, now_us)).collect(),
            ranges: state.ranges.len() as u64,
            short: count(&|range| range.chain.members.len() < replicas) as u64,
            least_replicas: state.ranges.values().map(|range| range.chain.members.len()).min().unwrap_or(0) as u64,
            learned: count(&|range| range.learner.is_some()) as u64,
            changing: count(&|range| range.pending.is_some()) as u64,
            unowned: state.wedges.wedges().iter().filter(|wedge| wedge.owner.is_none()).count() as u64,
            unserved: unserved(committed, state, seats, now_us).len() as u64,
            lost: self.cluster_log.unserved().map(str::to_owned),
            is_settled: manager.is_settled(),
            lags: lags(seats, now_us),
        })
    }
}

fn member_report(name: &str, member: &Member, state: &State, seats: &Seats, now_us: u64) -> MemberReport {
    let stands = |seat| Some(state.nodes.get(&node_of(seat))?.standing);
    let trouble = |seat| seats.figures(seat)?.trouble.as_ref();
    MemberReport {
        name: name.to_owned(),
        is_alive: member.seats().all(|seat| seats.is_recent(seat, now_us)),
        is_draining: member.seats().any(|seat| stands(seat) == Some(Standing::Draining)),
        is_in_trouble: member.seats().any(|seat| trouble(seat).is_some()),
    }
}

/// By range: records of the longest log of its chain that not all of them know to be committed.
fn lags(seats: &Seats, now_us: u64) -> BTreeMap<u32, u64> {
    let figures = seats.recent_figures(now_us);
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

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use fawn_kv::status::SeatFigures;

    #[test]
    fn a_member_is_alive_while_all_of_its_seats_are_heard_and_in_trouble_if_one_says_so() {
        let committed = testing::committed(&["a"]);
        let (member, state) = (committed.member("a").unwrap(), committed.state().unwrap());
        let mut seats = Seats::default();
        let report = |seats: &Seats, now_us| {
            let report = member_report("a", member, state, seats, now_us);
            (report.is_alive, report.is_in_trouble)
        };
        assert_eq!(report(&seats, 0), (false, false));
        let figures = SeatFigures { seat: member.first, trouble: Some("full".to_owned()), ..SeatFigures::default() };
        seats.report_figures(figures, 0);
        assert_eq!(report(&seats, 0), (true, true));
        assert_eq!(report(&seats, 2_000_000), (false, true));
    }
}
