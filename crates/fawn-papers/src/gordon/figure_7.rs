//! Gordon, Figure 7: which component limits, by workload.

use fawn_gordon::survey::figures::figure_7;
use fawn_gordon::survey::{SurveyBound, stacked_bars};
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
        ("design", "design", None),
        ("workload", "workload", None),
        ("processor", "processor", Some(3)),
        ("storage", "storage", Some(3)),
        ("network", "network", Some(3)),
        ("several", "several", Some(3)),
        ("waiting", "waiting for nodes", Some(3)),
    ]);
    let report = survey::make(run, &mut finding)?;
    let points = [survey::MAX_E, survey::MAX_E_DISK, survey::MIN_T].map(|name| survey::point(&report, name));
    let mut bars = Vec::new();
    for row in figure_7(&points, SurveyBound::Nosync) {
        bars.push((
            format!("{}: {}", row.design, row.workload),
            vec![row.processor, row.storage, row.network, row.several, row.waiting],
        ));
        finding.row(json!({
            "design": row.design, "workload": row.workload, "processor": row.processor, "storage": row.storage,
            "network": row.network, "several": row.several, "waiting": row.waiting,
        }));
    }
    let parts = ["processor", "storage", "network", "several", "waiting for nodes"];
    finding.pictures.push(stacked_bars("Time by the components that limit", &parts, &bars));
    finding.note("shares of the nodes' time in which a component is fully used, without barriers");
    if !traces::say(run, &mut finding) {
        return Ok(finding);
    }
    finding.note(
        "as in the paper, the processor limits \
         the most efficient design, and disk and processors limit its disk design about equally. A difference: Identity on the \
         fastest design is bound by the network here, not by flash: two of three copies travel at 125 MB/s, flash takes 900",
    );
    Ok(finding)
}
