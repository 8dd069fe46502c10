//! Gordon, Figure 6: time and energy of every configuration.

use fawn_gordon::survey::figures::figure_6;
use fawn_gordon::survey::{SurveyAxis, scatter};
use serde_json::json;

use super::{simulated, survey, synthetic};
use crate::finding::Finding;
use crate::run::Run;

/// Simulates it.
pub fn run(run: &Run<'_>) -> Finding {
    let mut finding = simulated(&[
        ("workload", "workload", None),
        ("design", "design", None),
        ("storage", "storage", None),
        ("time", "time", Some(3)),
        ("energy", "energy", Some(3)),
        ("is_pareto", "Pareto", None),
    ]);
    let report = survey::make(run, &mut finding);
    for row in figure_6(&report) {
        finding.row(json!({
            "workload": row.workload, "design": row.design, "storage": row.storage, "time": row.time,
            "energy": row.energy, "is_pareto": row.is_pareto,
        }));
    }
    finding.pictures.push(scatter(&report, None, SurveyAxis::Energy));
    let best: Vec<&str> = report.best().into_iter().map(|point| point.name.as_str()).collect();
    finding.note(format!(
        "relative to four Core 2 at 2.4 GHz with one disk, under sync. On average these are Pareto optimal: {}. All designs that \
         are so on any workload have flash, as the paper states",
        best.join("; ")
    ));
    synthetic(&mut finding);
    finding.note(
        "a difference: the paper circles six designs. By its own tables four Atoms dominate one Atom and one Core 2 here, as p \
         processors take a p-th of the time. The paper draws this figure without numbers",
    );
    finding
}
