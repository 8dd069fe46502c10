//! Gordon, Figure 8: energy by component of the most efficient design, relative to its disk design.

use fawn_gordon::survey::figures::figure_8;
use fawn_gordon::survey::{SurveyBound, stacked_bars};
use serde_json::json;

use super::{simulated, survey, traces};
use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;

/// The average as Table 6 has it.
const BY_TABLE_6: &str = "average, by Table 6";

/// Simulates it.
///
/// # Errors
/// A recording cannot be read.
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = simulated(&[
        ("bound", "", None),
        ("workload", "workload", None),
        ("processor", "processor", Some(3)),
        ("memory", "memory", Some(3)),
        ("storage", "storage", Some(3)),
        ("overhead", "overhead", Some(3)),
        ("total", "in all", Some(3)),
    ]);
    let report = survey::make(run, &mut finding)?;
    let (flash, disk) = (survey::point(&report, survey::MAX_E), survey::point(&report, survey::MAX_E_DISK));
    for bound in [SurveyBound::Sync, SurveyBound::Nosync] {
        let rows = figure_8(flash, disk, bound);
        let bars: Vec<_> = rows
            .iter()
            .map(|row| (row.workload.clone(), vec![row.processor, row.memory, row.storage, row.overhead]))
            .collect();
        let label = format!("Energy over that of the disk design, {}", bound.word());
        finding.pictures.push(stacked_bars(&label, &["processor", "memory", "storage", "overhead"], &bars));
        for row in rows {
            finding.row(json!({
                "bound": bound.word(), "workload": row.workload, "processor": row.processor, "memory": row.memory,
                "storage": row.storage, "overhead": row.overhead, "total": row.total(),
            }));
        }
        // Table 6 has the mean of the other ratio, the disk design's energy over this one's.
        let efficiency = disk.mean_ratio(bound, flash, |run| run.joules);
        finding.row(json!({ "bound": bound.word(), "workload": BY_TABLE_6, "total": 1.0 / efficiency }));
    }
    for (bound, total) in [("sync", 1.0 / 2.15), ("nosync", 1.0 / 2.54)] {
        finding.printed(json!({ "bound": bound, "workload": BY_TABLE_6, "total": total }));
    }
    finding.printed(json!({ "bound": "sync", "workload": "average, as §5.5 states it", "total": 0.4 }));
    if !traces::say(run, &mut finding) {
        finding.note(
            "energy of the most efficient design of the paper's survey over that of its most efficient disk design. Processors that \
             limit take the longer the fewer they are",
        );
        return Ok(finding);
    }
    finding.note(
        "as in the paper, memory and overhead take most of what is left. The mean of the workloads' shares is higher than the \
         paper's 40 %: where processors limit, one Atom takes so much longer than four that it needs about as much energy",
    );
    Ok(finding)
}
