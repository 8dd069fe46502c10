//! Figures 6, 7 and 8 of the paper as rows.

use serde::Serialize;

use super::pareto::SurveyAxis;
use super::point::{SurveyCell, SurveyPoint};
use super::report::SurveyReport;
use super::settings::SurveyBound;
use crate::node::{ComponentJoules, NodeResource};

/// A point of Figure 6: a design on a workload, or on their average.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure6Row {
    /// The workload; `average` for the average.
    pub workload: String,
    /// The design.
    pub design: String,
    /// Whether its storage is flash, disk or another.
    pub storage: String,
    /// Time relative to the reference.
    pub time: f64,
    /// Energy relative to the reference.
    pub energy: f64,
    /// Whether it is in this workload's Pareto set.
    pub is_pareto: bool,
}

/// Figure 6: every design on every workload and on average.
pub fn figure_6(report: &SurveyReport) -> Vec<Figure6Row> {
    let bound = report.settings.bound;
    let mut rows = Vec::new();
    let workloads = (0..report.workloads.len()).map(Some).chain([None]);
    for workload in workloads {
        let set = workload.map_or(&report.pareto, |at| &report.pareto_by_workload[at]);
        for (point, is_pareto) in report.points.iter().zip(set) {
            let value = |axis| report.value(point, axis, bound, workload).unwrap_or(f64::NAN);
            rows.push(Figure6Row {
                workload: workload.map_or_else(|| "average".to_owned(), |at| report.workloads[at].clone()),
                design: point.name.clone(),
                storage: point.storage.clone(),
                time: value(SurveyAxis::Time),
                energy: value(SurveyAxis::Energy),
                is_pareto: *is_pareto == Some(true),
            });
        }
    }
    rows
}

/// A bar of Figure 7: shares of the node-time of a workload by the resources that are fully used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure7Row {
    /// The workload.
    pub workload: String,
    /// The design.
    pub design: String,
    /// The processors alone.
    pub processor: f64,
    /// Storage alone.
    pub storage: f64,
    /// The network alone.
    pub network: f64,
    /// Two or three of them at a time.
    pub several: f64,
    /// None: requests wait for each other inside the node.
    pub none: f64,
    /// Waiting for other nodes.
    pub waiting: f64,
}

/// Figure 7: time by component. Waiting for other nodes is the paper's idle time of the sync model.
pub fn figure_7(points: &[&SurveyPoint], bound: SurveyBound) -> Vec<Figure7Row> {
    let row = |point: &SurveyPoint, cell: &SurveyCell| {
        let busy = cell.figures(bound).busy;
        let all = busy.by_set.iter().sum::<f64>() + busy.waiting;
        let share = |seconds: f64| if all > 0.0 { seconds / all } else { 0.0 };
        let alone = |resource: NodeResource| share(busy.by_set[1 << resource as usize]);
        let sets = busy.by_set.iter().enumerate();
        let several: f64 = sets.filter(|(set, _)| set.count_ones() > 1).map(|(_, it)| it).sum();
        Figure7Row {
            workload: cell.workload.clone(),
            design: point.name.clone(),
            processor: alone(NodeResource::Processor),
            storage: alone(NodeResource::Storage),
            network: alone(NodeResource::Network),
            several: share(several),
            none: share(busy.by_set[0]),
            waiting: share(busy.waiting),
        }
    };
    points.iter().flat_map(|point| point.cells.iter().map(move |cell| row(point, cell))).collect()
}

/// A bar of Figure 8: energy by component, relative to all of another design's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure8Row {
    /// The workload; `average` for the mean of all.
    pub workload: String,
    /// Processors.
    pub processor: f64,
    /// Memory.
    pub memory: f64,
    /// Storage.
    pub storage: f64,
    /// Everything else.
    pub overhead: f64,
}

impl Figure8Row {
    /// All components.
    pub fn total(&self) -> f64 {
        self.processor + self.memory + self.storage + self.overhead
    }
}

/// Figure 8: a design's energy relative to another's, and the average.
pub fn figure_8(point: &SurveyPoint, relative_to: &SurveyPoint, bound: SurveyBound) -> Vec<Figure8Row> {
    let row = |(cell, other): (&SurveyCell, &SurveyCell)| {
        let (joules, all) = (cell.figures(bound).component_joules, other.figures(bound).joules);
        let share = |part: fn(&ComponentJoules) -> f64| part(&joules) / all;
        Figure8Row {
            workload: cell.workload.clone(),
            processor: share(|it| it.processor),
            memory: share(|it| it.memory),
            storage: share(|it| it.storage),
            overhead: share(|it| it.overhead),
        }
    };
    let mut rows: Vec<Figure8Row> = point.cells.iter().zip(&relative_to.cells).map(row).collect();
    let mean = |part: fn(&Figure8Row) -> f64| rows.iter().map(part).sum::<f64>() / rows.len().max(1) as f64;
    let average = Figure8Row {
        workload: "average".to_owned(),
        processor: mean(|it| it.processor),
        memory: mean(|it| it.memory),
        storage: mean(|it| it.storage),
        overhead: mean(|it| it.overhead),
    };
    rows.push(average);
    rows
}
