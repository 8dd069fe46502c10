//! What a manager tells on its admin port: consensus, and the cluster if it leads.

use crate::driver::report::{ClusterReport, ManagerReport};
use crate::links::stream::Tls;
use fawn_admin::process::CERTIFICATE_END;
use fawn_admin::{Page, Source};
use std::time::Duration;
use tokio::sync::watch;

fawn_admin::families! {
    LEADS = Gauge "fawn_manager_leader" [] "Whether this manager leads.";
    KNOWS = Gauge "fawn_manager_knows_leader" [] "Whether this manager knows a leader.";
    TERM = Gauge "fawn_manager_term" [] "Term of the managers' consensus.";
    LOG = Gauge "fawn_manager_log_index" [] "Number of the last entry of the manager's log.";
    APPLIED = Gauge "fawn_manager_applied_index" [] "Number of the last entry that this manager has applied.";
    STALLED = Gauge "fawn_manager_log_stalled" [] "Whether this manager waits to write its log, because its device is full or memory is short.";
    GROUP = Gauge "fawn_manager_group_members" ["role"] "Managers of the group, by role: voter or learner.";
    EPOCHS = Counter "fawn_manager_epoch_changes_total" [] "Chains that the managers have activated since this one started.";
    MANAGERS_ALIVE = Gauge "fawn_cluster_managers_alive" [] "Managers from which the leader has heard recently.";
    MEMBERS = Gauge "fawn_cluster_members" [] "Members of the cluster.";
    MEMBERS_ALIVE = Gauge "fawn_cluster_members_alive" [] "Members from which the leader has heard recently.";
    MEMBER_UP = Gauge "fawn_cluster_member_up" ["member"] "Whether the leader has heard from the member recently.";
    MEMBER_DRAINING = Gauge "fawn_cluster_member_draining" ["member"] "Whether the member is draining.";
    MEMBER_TROUBLE = Gauge "fawn_cluster_member_trouble" ["member"] "Whether the member is out of service, refuses puts or has a wrong clock; fawn status shows the reason.";
    RANGES = Gauge "fawn_cluster_ranges" [] "Ranges.";
    RANGES_SHORT = Gauge "fawn_cluster_ranges_short" [] "Ranges with fewer replicas than configured.";
    LEAST_REPLICAS = Gauge "fawn_cluster_least_replicas" [] "Replicas of the range with the fewest.";
    RANGES_LEARNED = Gauge "fawn_cluster_ranges_copied" [] "Ranges that are being copied.";
    RANGES_CHANGING = Gauge "fawn_cluster_ranges_changing" [] "Ranges whose chain is changing.";
    RANGE_LAG = Gauge "fawn_cluster_range_lag_records" ["range"] "Records of the longest log of a range that are not known to be committed by all of its members.";
    LAG = Gauge "fawn_cluster_lag_records" [] "Largest number of records of the longest log of a range that are not known to be committed by all of its members.";
    RANGES_UNSERVED = Gauge "fawn_cluster_ranges_unserved" [] "Ranges that no member of their chain serves.";
    WEDGES_UNOWNED = Gauge "fawn_cluster_wedges_unowned" [] "Wedges without an owner.";
    SETTLED = Gauge "fawn_cluster_settled" [] "Whether the cluster has nothing to move or change.";
}

/// A report that is older was left by a manager that does not get on.
const OLD: Duration = Duration::from_secs(3);

/// A manager that runs.
pub struct ManagerMetrics {
    /// What it reports.
    pub report: watch::Receiver<Option<ManagerReport>>,
    /// What it shows on links.
    pub tls: Option<Tls>,
}

impl Source for ManagerMetrics {
    fn measure(&self, page: &mut Page) {
        if let Some(report) = &*self.report.borrow() {
            measure(report, page);
        }
        if let Some(expiry) = self.tls.as_ref().and_then(Tls::expiry) {
            page.put(&CERTIFICATE_END, &[&expiry.path.display().to_string()], expiry.validity.until as f64);
        }
    }

    fn troubles(&self) -> Vec<String> {
        let report = self.report.borrow();
        let trouble = report.as_ref().map_or_else(|| Some("it has not started yet".to_owned()), trouble);
        trouble.map(|why| format!("manager: {why}")).into_iter().collect()
    }
}

fn measure(report: &ManagerReport, page: &mut Page) {
    page.put(&LEADS, &[], report.leads);
    page.put(&KNOWS, &[], report.knows_leader);
    page.put(&STALLED, &[], report.stalled.is_some());
    for (family, value) in [
        (&TERM, report.term),
        (&LOG, report.log_index),
        (&APPLIED, report.applied_index),
        (&EPOCHS, report.epoch_changes),
    ] {
        page.put(family, &[], value);
    }
    page.put(&GROUP, &["voter"], report.voters);
    page.put(&GROUP, &["learner"], report.managers.saturating_sub(report.voters));
    if let Some(cluster) = &report.cluster {
        measure_cluster(cluster, page);
    }
}

fn measure_cluster(cluster: &ClusterReport, page: &mut Page) {
    let alive = cluster.members.iter().filter(|member| member.is_alive).count() as u64;
    for (family, value) in [
        (&MANAGERS_ALIVE, cluster.managers_alive),
        (&MEMBERS, cluster.members.len() as u64),
        (&MEMBERS_ALIVE, alive),
        (&RANGES, cluster.ranges),
        (&RANGES_SHORT, cluster.short),
        (&LEAST_REPLICAS, cluster.least_replicas),
        (&LAG, cluster.lags.values().copied().max().unwrap_or(0)),
        (&RANGES_LEARNED, cluster.learned),
        (&RANGES_CHANGING, cluster.changing),
        (&RANGES_UNSERVED, cluster.unserved),
        (&WEDGES_UNOWNED, cluster.unowned),
    ] {
        page.put(family, &[], value);
    }
    page.put(&SETTLED, &[], cluster.is_settled);
    for member in &cluster.members {
        page.put(&MEMBER_UP, &[&member.name], member.is_alive);
        page.put(&MEMBER_DRAINING, &[&member.name], member.is_draining);
        page.put(&MEMBER_TROUBLE, &[&member.name], member.is_in_trouble);
    }
    if page.wants_ranges() {
        for (range, lag) in &cluster.lags {
            page.put(&RANGE_LAG, &[&range.to_string()], *lag);
        }
    }
}

/// Why a manager does not serve as it should.
fn trouble(report: &ManagerReport) -> Option<String> {
    let why = if report.at.elapsed() > OLD {
        "it makes no progress"
    } else if let Some(why) = &report.stalled {
        return Some(format!("it waits to write its log: {why}"));
    } else if !report.knows_leader {
        "it knows no leading manager"
    } else if !report.has_majority {
        "it led, and has lost contact with the majority"
    } else {
        return report.cluster.as_ref().and_then(|cluster| cluster.lost.clone());
    };
    Some(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn report() -> ManagerReport {
        ManagerReport {
            at: Instant::now(),
            leads: false,
            knows_leader: true,
            has_majority: true,
            stalled: None,
            term: 3,
            log_index: 20,
            applied_index: 19,
            managers: 3,
            voters: 3,
            epoch_changes: 0,
            cluster: None,
        }
    }

    fn managing(report: Option<ManagerReport>) -> ManagerMetrics {
        ManagerMetrics { report: watch::channel(report).1, tls: None }
    }

    #[test]
    fn a_manager_without_leader_or_majority_is_in_trouble() {
        let of = |change: fn(&mut ManagerReport)| {
            let mut report = report();
            change(&mut report);
            managing(Some(report)).troubles().join("; ")
        };
        assert_eq!(of(|_| {}), "");
        assert!(of(|report| report.knows_leader = false).starts_with("manager: it knows no leading manager"));
        assert!(of(|report| report.has_majority = false).contains("lost contact"));
        assert!(of(|report| report.stalled = Some("no space".into())).contains("to write its log: no space"));
        assert!(of(|report| report.at -= 2 * OLD).contains("makes no progress"));
        let lost = of(|report| {
            let lost = Some("8 of 8 ranges are out of service".to_owned());
            report.cluster = Some(ClusterReport { lost, ..ClusterReport::default() });
        });
        assert_eq!(lost, "manager: 8 of 8 ranges are out of service");
        assert!(managing(None).troubles()[0].contains("has not started yet"));
    }
}
