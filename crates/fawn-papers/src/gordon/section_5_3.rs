//! Gordon, §5.3: the simulator's bounds beside the time that recorded jobs have taken.

use fawn_gordon::node::{ClusterModel, ClusterTrace, NodeDesign, NodeRates, TraceColumn};
use serde_json::json;

use super::simulated;
use super::traces::recorded;
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::traces::RecordedJob;

/// The share of a second below which a node is not busy.
const QUIET: f64 = 0.1;

/// Simulates it.
///
/// # Errors
/// A recording cannot be read.
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = simulated(&[
        ("workload", "workload", None),
        ("way", "from, to", None),
        ("recorded_on", "recorded on", None),
        ("node", "node", None),
        ("measured_s", "measured, s", Some(1)),
        ("nosync_s", "nosync, s", Some(1)),
        ("sync_s", "sync, s", Some(1)),
        ("estimate_s", "estimate, s", Some(1)),
        ("is_bracketed", "bracketed", None),
        ("sync_share", "sync/measured", Some(2)),
        ("quiet_s", "lost while no node is busy, s", Some(1)),
        ("partly_s", "lost while the busiest is partly busy, s", Some(1)),
    ]);
    let Some(runs) = recorded(run, &mut finding)? else {
        return Ok(Finding::skipped(
            "the bounds are compared with the time of recorded jobs, and these are synthetic traces: give --traces DIR with \
             recordings of integrations/hadoop/record"
                .to_owned(),
        ));
    };
    // What was recorded on one cluster is replayed on the nodes of every one on which the same job was measured.
    for source in &runs {
        for job in &source.jobs {
            for target in &runs {
                let is_same = |other: &&RecordedJob| other.workload.name == job.workload.name && other.way == job.way;
                for measured in target.jobs.iter().filter(is_same) {
                    finding.row(replayed(job, &source.node, measured.seconds, &target.node));
                }
            }
        }
    }
    let count = |is_it: bool| finding.rows.iter().filter(|row| row["is_bracketed"] == is_it).count();
    let (inside, outside) = (count(true), count(false));
    finding.charts =
        vec![Chart::bars("Upper bound over the measured time", "workload", Axis::linear("sync_share", "times"))];
    finding.note(format!(
        "{inside} of {} measured times lie between the bounds. On the node where a job was recorded, a second of it takes longer \
         than a second only where the node did more than its rates allow. So sync mostly ends before the job. The gap is time in \
         which no node is fully used: jobs wait for containers, for heartbeats, and for their client",
        inside + outside
    ));
    finding.note(
        "the paper calls sync the upper bound of time on other nodes. Neither bound knows of waiting that does not depend on the \
         node. The bounds take no time from what the page cache answers",
    );
    Ok(finding)
}

fn replayed(job: &RecordedJob, own: &NodeDesign, measured_s: f64, node: &NodeDesign) -> serde_json::Value {
    let seconds = |model: ClusterModel| model.seconds(&job.trace, node, None);
    let (nosync, sync) = (seconds(ClusterModel::nosync()), seconds(ClusterModel::sync()));
    let (quiet_s, partly_s) = lost_seconds(&job.trace, own);
    json!({
        "workload": job.workload.name, "way": job.way, "recorded_on": own.name, "node": node.name,
        "measured_s": measured_s, "nosync_s": nosync, "sync_s": sync,
        "estimate_s": seconds(ClusterModel::estimate(10, 4)),
        "is_bracketed": nosync <= measured_s && measured_s <= sync,
        "sync_share": sync / measured_s,
        "quiet_s": quiet_s, "partly_s": partly_s,
    })
}

/// Time of a recording in which its busiest node could have done more: in seconds with no busy node, and in the others.
fn lost_seconds(trace: &ClusterTrace, node: &NodeDesign) -> (f64, f64) {
    let rates = NodeRates::of(node);
    let knows_misses = trace.is_measured(TraceColumn::CacheMisses);
    let (mut quiet_s, mut partly_s) = (0.0, 0.0);
    for second in 0..trace.seconds() {
        let samples = trace.nodes.iter().filter_map(|samples| samples.get(second));
        let busiest = samples.map(|sample| rates.demand(sample, knows_misses).longest()).fold(0.0, f64::max);
        *(if busiest < QUIET { &mut quiet_s } else { &mut partly_s }) += (1.0 - busiest).max(0.0);
    }
    (quiet_s, partly_s)
}
