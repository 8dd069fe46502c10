//! What a survey says of one design over all workloads: a row of its tables.

use serde::Serialize;

use super::pareto::SurveyAxis;
use super::point::{BusyResource, RunFigures, SurveyPoint};
use super::report::SurveyReport;
use super::settings::SurveyBound;

/// A figure by bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BoundFigures {
    /// Without barriers.
    pub nosync: f64,
    /// With a barrier after each sample.
    pub sync: f64,
    /// Estimated.
    pub estimate: f64,
}

impl BoundFigures {
    fn of(figure: impl Fn(SurveyBound) -> f64) -> Self {
        Self {
            nosync: figure(SurveyBound::Nosync),
            sync: figure(SurveyBound::Sync),
            estimate: figure(SurveyBound::Estimate),
        }
    }

    /// That of a bound.
    pub fn get(&self, bound: SurveyBound) -> f64 {
        match bound {
            SurveyBound::Sync => self.sync,
            SurveyBound::Nosync => self.nosync,
            SurveyBound::Estimate => self.estimate,
        }
    }
}

/// One design over all workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointSummary {
    /// The design.
    pub name: String,
    /// Seconds of all workloads, one after the other.
    pub seconds: BoundFigures,
    /// Modelled joules of all workloads.
    pub joules: BoundFigures,
    /// Time relative to the reference under the same bound: the mean over the workloads.
    pub time_ratio: BoundFigures,
    /// The same of energy.
    pub energy_ratio: BoundFigures,
    /// Mean watts of a node, with those that are off.
    pub node_watts: BoundFigures,
    /// Price of a node; `None` if unknown.
    pub price_dollars: Option<f64>,
    /// What time is lost to under the survey's bound.
    pub busy: BusyResource,
    /// Whether it is in the Pareto set; `None` if one of its values is unknown.
    pub is_pareto: Option<bool>,
}

impl PointSummary {
    /// A point of a survey.
    pub(super) fn of(report: &SurveyReport, point: &SurveyPoint, is_pareto: Option<bool>) -> Self {
        let sum = |figure: fn(&RunFigures) -> f64| {
            BoundFigures::of(|bound| point.cells.iter().map(|cell| figure(cell.figures(bound))).sum())
        };
        let ratio = |axis| BoundFigures::of(|bound| report.value(point, axis, bound, None).unwrap_or(f64::NAN));
        Self {
            name: point.name.clone(),
            seconds: sum(|run| run.seconds),
            joules: sum(|run| run.joules),
            time_ratio: ratio(SurveyAxis::Time),
            energy_ratio: ratio(SurveyAxis::Energy),
            node_watts: BoundFigures::of(|bound| point.mean(bound, |run| run.average_watts)),
            price_dollars: point.price_dollars,
            busy: point.busy_resource(report.settings.bound),
            is_pareto,
        }
    }
}
