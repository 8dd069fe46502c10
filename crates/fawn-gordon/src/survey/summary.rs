//! What a survey says of one design over all workloads: a row of its tables.

use serde::Serialize;

use super::point::BusyResource;
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
    pub(super) fn of(figure: impl Fn(SurveyBound) -> f64) -> Self {
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
