//! One design of a survey on all workloads.

use serde::Serialize;

use super::balance::AmdahlBalance;
use super::settings::{SurveyBound, SurveySettings};
use crate::node::{BusyTime, ClusterTrace, ComponentActivity, ComponentJoules, NodeDesign, NodeResource};

/// A run of one workload under one way of synchronising.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFigures {
    /// Seconds until the last node has finished.
    pub seconds: f64,
    /// Joules of all nodes.
    pub joules: f64,
    /// The same if none were off before the last has finished.
    pub joules_staying_on: f64,
    /// The same by component.
    pub component_joules: ComponentJoules,
    /// Average watts of a node, with those that are off.
    pub average_watts: f64,
    /// How busy components were while their nodes were on.
    pub activity: ComponentActivity,
    /// Node-seconds by fully used resources.
    pub busy: BusyTime,
    /// Seconds of the work alone: those above, less the time in which work that arrives as recorded had not arrived.
    pub work_seconds: f64,
    /// Seconds of the work alone if one resource were infinitely fast, in the order of [`NodeResource::ALL`].
    pub seconds_without: [f64; 3],
}

impl RunFigures {
    /// The resource that time is lost to.
    pub fn busy_resource(&self) -> BusyResource {
        BusyResource::of(self.work_seconds, self.seconds_without)
    }
}

/// The resource whose infinite speed would save most, and by how much more than the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BusyResource {
    /// The resource.
    pub resource: NodeResource,
    /// The share of the time that its infinite speed would save.
    pub saving: f64,
    /// That share less the one of the next resource.
    pub margin: f64,
    /// The next.
    pub next: NodeResource,
}

impl BusyResource {
    /// From the time, and those with one resource infinitely fast in the order of [`NodeResource::ALL`].
    pub fn of(seconds: f64, seconds_without: [f64; 3]) -> Self {
        let saving = |without: f64| if seconds > 0.0 { 1.0 - without / seconds } else { 0.0 };
        let mut savings = [0, 1, 2].map(|at| (NodeResource::ALL[at], saving(seconds_without[at])));
        savings.sort_by(|a, b| b.1.total_cmp(&a.1));
        let [(resource, most), (next, second), _] = savings;
        Self { resource, saving: most, margin: most - second, next }
    }
}

/// One workload on one design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurveyCell {
    /// The workload.
    pub workload: String,
    /// With a barrier after each sample: the upper bound.
    pub sync: RunFigures,
    /// Without barriers: the lower bound.
    pub nosync: RunFigures,
    /// The estimate with queueing. It may exceed `sync`, which assumes that resources overlap perfectly.
    pub estimate: RunFigures,
}

impl SurveyCell {
    fn of(design: &NodeDesign, trace: &ClusterTrace, settings: &SurveySettings) -> Self {
        let run = |bound| {
            let model = settings.model(bound);
            let (run, work) = (model.run(trace, design), model.with_pace(false));
            RunFigures {
                seconds: run.seconds,
                joules: run.joules.total(),
                joules_staying_on: run.joules_staying_on,
                component_joules: run.joules,
                average_watts: run.average_watts(),
                activity: run.activity,
                busy: run.busy,
                work_seconds: if settings.paced { work.seconds(trace, design, None) } else { run.seconds },
                seconds_without: NodeResource::ALL.map(|it| work.seconds(trace, design, Some(it))),
            }
        };
        Self {
            workload: trace.name.clone(),
            sync: run(SurveyBound::Sync),
            nosync: run(SurveyBound::Nosync),
            estimate: run(SurveyBound::Estimate),
        }
    }

    /// The run under this bound.
    pub fn figures(&self, bound: SurveyBound) -> &RunFigures {
        match bound {
            SurveyBound::Sync => &self.sync,
            SurveyBound::Nosync => &self.nosync,
            SurveyBound::Estimate => &self.estimate,
        }
    }
}

/// One design on all workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurveyPoint {
    /// The design's name.
    pub name: String,
    /// The processor's name.
    pub processor: String,
    /// How many there are.
    pub processors: u32,
    /// Their frequency.
    pub hz: f64,
    /// The storage's name.
    pub storage: String,
    /// How many devices there are.
    pub devices: u32,
    /// Price of a node; `None` if unknown.
    pub price_dollars: Option<f64>,
    /// Watts of a node at rest and with everything active.
    pub watts_idle: f64,
    /// See `watts_idle`.
    pub watts_active: f64,
    /// How its parts match.
    pub balance: AmdahlBalance,
    /// What is to be said of it.
    pub notes: Vec<String>,
    /// Each workload, in the order of the traces.
    pub cells: Vec<SurveyCell>,
}

impl SurveyPoint {
    /// Runs all traces on a design.
    pub(super) fn of(design: &NodeDesign, traces: &[ClusterTrace], settings: &SurveySettings) -> Self {
        let watts = design.watts();
        Self {
            name: design.name.clone(),
            processor: design.processor.name.clone(),
            processors: design.processors,
            hz: design.hz,
            storage: design.storage.name.clone(),
            devices: design.storage.devices,
            price_dollars: design.price_dollars(),
            watts_idle: watts.idle,
            watts_active: watts.active,
            balance: AmdahlBalance::of(design),
            notes: design.notes.clone(),
            cells: traces.iter().map(|trace| SurveyCell::of(design, trace, settings)).collect(),
        }
    }

    /// The mean of a figure over all workloads.
    pub fn mean(&self, bound: SurveyBound, figure: impl Fn(&RunFigures) -> f64) -> f64 {
        let sum: f64 = self.cells.iter().map(|cell| figure(cell.figures(bound))).sum();
        sum / self.cells.len().max(1) as f64
    }

    /// The mean over all workloads of a figure's ratio to another point's.
    pub fn mean_ratio(&self, bound: SurveyBound, other: &Self, figure: impl Fn(&RunFigures) -> f64) -> f64 {
        let pairs = self.cells.iter().zip(&other.cells);
        let ratio = |(a, b): (&SurveyCell, &SurveyCell)| figure(a.figures(bound)) / figure(b.figures(bound));
        pairs.map(ratio).sum::<f64>() / self.cells.len().max(1) as f64
    }

    /// The resource that time is lost to over all workloads: of the means of their savings.
    pub fn busy_resource(&self, bound: SurveyBound) -> BusyResource {
        let share =
            |at: usize| self.mean(bound, |run| run.seconds_without[at] / run.work_seconds.max(f64::MIN_POSITIVE));
        BusyResource::of(1.0, [0, 1, 2].map(share))
    }
}
