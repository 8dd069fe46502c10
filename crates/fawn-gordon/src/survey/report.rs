//! A whole survey.

use fawn_report::Watch;
use serde::Serialize;

use super::pareto::{SurveyAxis, pareto_set};
use super::point::{RunFigures, SurveyPoint};
use super::settings::{SurveyBound, SurveySettings};
use crate::node::{ClusterTrace, NodeDesign, TraceColumn};

/// A survey's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurveyReport {
    /// How it was made.
    pub settings: SurveySettings,
    /// The workloads.
    pub workloads: Vec<String>,
    /// Nodes of the cluster.
    pub nodes: usize,
    /// The place of the reference among the points.
    pub reference: usize,
    /// Every design, in the order given.
    pub points: Vec<SurveyPoint>,
    /// Whether each point is in the Pareto set; `None` if one of its values is unknown.
    pub pareto: Vec<Option<bool>>,
    /// For each workload alone, whether each point is in its Pareto set.
    pub pareto_by_workload: Vec<Vec<Option<bool>>>,
    /// Columns that a trace lacks, each with how many traces lack it. They take no time and no energy here.
    pub unmeasured: Vec<(TraceColumn, usize)>,
}

impl SurveyReport {
    /// Runs every trace on every design. `None` without designs or traces.
    pub fn of(
        designs: &[NodeDesign],
        traces: &[ClusterTrace],
        settings: &SurveySettings,
        watch: &dyn Watch,
    ) -> Option<Self> {
        if designs.is_empty() || traces.is_empty() {
            return None;
        }
        let total = designs.len() as u64;
        let point = |(done, design): (u64, &NodeDesign)| {
            watch.progress(done, total, &design.name);
            SurveyPoint::of(design, traces, settings)
        };
        let points: Vec<SurveyPoint> = (0..).zip(designs).map(point).collect();
        watch.progress(total, total, "");
        let reference = points.iter().position(|point| point.name == settings.reference).unwrap_or(0);
        let lacking = |column: &TraceColumn| traces.iter().filter(|trace| !trace.is_measured(*column)).count();
        let lacking = TraceColumn::ALL.into_iter().map(|column| (column, lacking(&column)));
        let mut report = Self {
            settings: settings.clone(),
            workloads: traces.iter().map(|trace| trace.name.clone()).collect(),
            nodes: traces.iter().map(|trace| trace.nodes.len()).max().unwrap_or(0),
            reference,
            points,
            pareto: Vec::new(),
            pareto_by_workload: Vec::new(),
            unmeasured: lacking.filter(|(_, count)| *count > 0).collect(),
        };
        report.pareto = report.set(None);
        report.pareto_by_workload = (0..traces.len()).map(|workload| report.set(Some(workload))).collect();
        Some(report)
    }

    /// The Pareto set over all workloads or one.
    fn set(&self, workload: Option<usize>) -> Vec<Option<bool>> {
        let values = |point: &SurveyPoint| {
            self.settings.axes.iter().map(|axis| self.value(point, *axis, self.settings.bound, workload)).collect()
        };
        pareto_set(&self.points.iter().map(values).collect::<Vec<_>>())
    }

    /// A point's value on an axis, over all workloads (the mean of ratios to the reference) or on one.
    pub fn value(
        &self,
        point: &SurveyPoint,
        axis: SurveyAxis,
        bound: SurveyBound,
        workload: Option<usize>,
    ) -> Option<f64> {
        let reference = &self.points[self.reference];
        let ratio = |figure: fn(&RunFigures) -> f64| match workload {
            None => point.mean_ratio(bound, reference, figure),
            Some(at) => figure(point.cells[at].figures(bound)) / figure(reference.cells[at].figures(bound)),
        };
        match axis {
            SurveyAxis::Time => Some(ratio(|run| run.seconds)),
            SurveyAxis::Energy => Some(ratio(|run| run.joules)),
            SurveyAxis::Price => point.price_dollars,
        }
    }

    /// The points of the Pareto set, the fastest last.
    pub fn best(&self) -> Vec<&SurveyPoint> {
        let mut best: Vec<&SurveyPoint> = self
            .points
            .iter()
            .zip(&self.pareto)
            .filter_map(|(point, it)| (*it == Some(true)).then_some(point))
            .collect();
        let time = |point: &SurveyPoint| self.value(point, SurveyAxis::Time, self.settings.bound, None).unwrap_or(0.0);
        best.sort_by(|a, b| time(b).total_cmp(&time(a)));
        best
    }
}
