//! How a survey is made.

use serde::{Deserialize, Serialize};

use super::pareto::SurveyAxis;
use crate::node::ClusterModel;

/// Which of a cell's runs counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SurveyBound {
    /// The upper bound, as the paper's Figure 6 has it.
    Sync,
    /// The lower bound.
    Nosync,
    /// The estimate.
    Estimate,
}

impl SurveyBound {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sync, Self::Nosync, Self::Estimate];

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Nosync => "nosync",
            Self::Estimate => "estimate",
        }
    }
}

/// How a survey is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveySettings {
    /// The design that times and energies are relative to; the first if there is none of this name.
    pub reference: String,
    /// What the Pareto set is over.
    pub axes: Vec<SurveyAxis>,
    /// Whose times and energies the Pareto set compares.
    pub bound: SurveyBound,
    /// Of the estimate: seconds of the trace by which a node may be ahead of the slowest.
    pub lead: u32,
    /// Of the estimate: requests under way for each processor.
    pub in_flight: u32,
    /// Whether work arrives as it was recorded, as on a server whose clients decide.
    #[serde(default)]
    pub paced: bool,
}

impl SurveySettings {
    /// The cluster model of a bound.
    pub fn model(&self, bound: SurveyBound) -> ClusterModel {
        let model = match bound {
            SurveyBound::Sync => ClusterModel::sync(),
            SurveyBound::Nosync => ClusterModel::nosync(),
            SurveyBound::Estimate => ClusterModel::estimate(self.lead, self.in_flight),
        };
        model.with_pace(self.paced)
    }
}

impl Default for SurveySettings {
    /// Time and energy under `sync`, as in the paper; the estimate with ten seconds of lead and four requests in flight.
    fn default() -> Self {
        Self {
            reference: "4 Core 2 2.4 GHz, 1 disk".to_owned(),
            axes: vec![SurveyAxis::Time, SurveyAxis::Energy],
            bound: SurveyBound::Sync,
            lead: 10,
            in_flight: 4,
            paced: false,
        }
    }
}
