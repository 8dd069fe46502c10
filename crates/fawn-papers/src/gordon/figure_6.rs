//! Gordon, Figure 6: time and energy of every configuration.

use fawn_gordon::survey::figures::figure_6;
use fawn_gordon::survey::{SurveyAxis, scatter};
use serde_json::json;

use super::{simulated, survey, traces};
use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;

/// Simulates it.
///
/// # Errors
/// A recording cannot be read.
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = simulated(&[
        ("workload", "workload", None),
        ("design", "design", None),
        ("storage", "storage", None),
        ("time", "time", Some(3)),
        ("energy", "energy", Some(3)),
        ("is_pareto", "Pareto", None),
    ]);
    let report = survey::make(run, &mut finding)?;
    for row in figure_6(&report) {
        finding.row(json!({
            "workload": row.workload, "design": row.design, "storage": row.storage, "time": row.time,
            "energy": row.energy, "is_pareto": row.is_pareto,
        }));
    }
    finding.pictures.push(scatter(&report, None, SurveyAxis::Energy));
    let best: Vec<&str> = report.best().into_iter().map(|point| point.name.as_str()).collect();
    let is_disk = |row: &&crate::finding::Row| row["storage"] == "disk" && row["is_pareto"] == true;
    let disks = finding.rows.iter().filter(is_disk).count();
    finding.note(format!(
        "relative to four Core 2 at 2.4 GHz with one disk, under sync. On average these are Pareto optimal: {}. Of the designs that \
         are so on any workload, {disks} have disks; the paper states that all have flash",
        best.join("; ")
    ));
    if !traces::say(run, &mut finding) {
        return Ok(finding);
    }
    finding.note(
        "a difference: the paper circles six designs. By its own tables four Atoms dominate one Atom and one Core 2 here, as p \
         processors take a p-th of the time. The paper draws this figure without numbers",
    );
    Ok(finding)
}
