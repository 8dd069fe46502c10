//! The survey that Table 6 and Figures 6 to 8 show: the paper's 84 configurations on recorded or synthetic traces.

use fawn_gordon::survey::table6::DESIGNS;
use fawn_gordon::survey::{SurveyPoint, SurveyReport, SurveySettings, paper};

use super::traces;
use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;

/// The most efficient design (Table 6's `MaxE`).
pub const MAX_E: &str = DESIGNS[1];
/// The fastest one (`MinT`).
pub const MIN_T: &str = DESIGNS[5];
/// The most efficient design with disks.
pub const MAX_E_DISK: &str = "4 Atom 1.9 GHz, 1 disk";

/// Makes the survey.
///
/// # Errors
/// A recording cannot be read.
pub fn make(run: &Run<'_>, finding: &mut Finding) -> Result<SurveyReport, Error> {
    let traces = traces::workloads(run, finding)?;
    let report = SurveyReport::of(&paper::space().designs(), &traces, &SurveySettings::default(), run.watch);
    Ok(report.expect("the paper has designs and workloads"))
}

/// The design of this name.
pub fn point<'r>(report: &'r SurveyReport, name: &str) -> &'r SurveyPoint {
    report.points.iter().find(|point| point.name == name).expect("the paper's space has the design")
}
