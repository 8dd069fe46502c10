//! Gordon, Table 6: the best designs with flash, beside the best ones with disks.

use fawn_gordon::survey::table6::{DESIGNS, PRINTED, Table6Row, rows};
use serde_json::{Value, json};

use super::{simulated, survey, traces};
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;

/// Simulates it.
///
/// # Errors
/// A recording cannot be read.
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = simulated(&[
        ("design", "design", None),
        ("label", "", None),
        ("watts_nosync", "W, nosync", Some(2)),
        ("watts_sync", "W, sync", Some(2)),
        ("watts_ratio_nosync", "of MinP disk, nosync", Some(2)),
        ("watts_ratio_sync", "sync", Some(2)),
        ("efficiency_nosync", "performance/W of MaxE disk, nosync", Some(2)),
        ("efficiency_sync", "sync", Some(2)),
        ("speedup_nosync", "speed of MinT disk, nosync", Some(2)),
        ("speedup_sync", "sync", Some(2)),
        ("is_pareto", "Pareto", None),
    ]);
    let report = survey::make(run, &mut finding)?;
    for row in rows(&report).unwrap_or_default() {
        let at = report.points.iter().position(|point| point.name == row.design);
        let is_pareto = at.is_some_and(|at| report.pareto[at] == Some(true));
        let mut cells = cells(&row.design, &row);
        cells["is_pareto"] = is_pareto.into();
        finding.row(cells);
    }
    for (row, design) in PRINTED.iter().zip(DESIGNS) {
        let mut cells = cells(design, row);
        cells["is_pareto"] = (row.label != "MinP").into();
        finding.printed(cells);
    }
    finding.charts =
        vec![Chart::bars("Performance per watt, sync", "design", Axis::linear("efficiency_sync", "of MaxE disk"))];
    if !traces::say(run, &mut finding) {
        let of_paper = report.best().iter().filter(|point| DESIGNS.contains(&point.name.as_str())).count();
        let flash = report.best().iter().filter(|point| point.storage != "disk").count();
        finding.note(format!(
            "of {} Pareto-optimal designs {flash} have flash, and {of_paper} are in the paper's table. Printed watts of one Atom are \
             below what its parts draw at rest, and nodes of several Core 2 draw more in print than Table 3 allows",
            report.best().len()
        ));
        return Ok(finding);
    }
    finding.note(
        "speeds agree within 12 % because the traces are fitted to them, which proves nothing. Not fitted are the winners. \
         Differences: nodes of several Core 2 draw more in print than Table 3 allows, the printed watts of one Atom are \
         below what its parts draw at rest, and four Atoms dominate one Core 2 by Tables 3 and 4 whatever the traces",
    );
    Ok(finding)
}

fn cells(design: &str, row: &Table6Row) -> Value {
    json!({
        "design": design, "label": row.label,
        "watts_nosync": row.watts.nosync, "watts_sync": row.watts.sync,
        "watts_ratio_nosync": row.watts_ratio.nosync, "watts_ratio_sync": row.watts_ratio.sync,
        "efficiency_nosync": row.efficiency_ratio.nosync, "efficiency_sync": row.efficiency_ratio.sync,
        "speedup_nosync": row.speedup.nosync, "speedup_sync": row.speedup.sync,
    })
}
