//! A whole survey.

use fawn_report::Watch;
use fawn_report::amount::counted;
use serde::Serialize;

use super::catalogue::UnsurveyedOption;
use super::pareto::{SurveyAxis, pareto_set};
use super::point::{RunFigures, SurveyPoint};
use super::settings::{SurveyBound, SurveySettings};
use super::summary::{BoundFigures, PointSummary};
use crate::node::{ClusterTrace, NodeDesign, TraceColumn};

/// A survey's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurveyReport {
    /// What was surveyed, in a line; whoever makes the survey says it.
    pub title: String,
    /// What is to be said of all of it, likewise.
    pub notes: Vec<String>,
    /// Designs that were left out as too little is known of them, likewise.
    pub left_out: Vec<UnsurveyedOption>,
    /// How it was made.
    pub settings: SurveySettings,
    /// The workloads.
    pub workloads: Vec<String>,
    /// Nodes of the cluster.
    pub nodes: usize,
    /// Seconds of each workload's trace.
    pub recorded_seconds: Vec<usize>,
    /// The place of the reference among the points.
    pub reference: usize,
    /// Every design, in the order given.
    pub points: Vec<SurveyPoint>,
    /// Whether each point is in the Pareto set; `None` if one of its values is unknown.
    pub pareto: Vec<Option<bool>>,
    /// Every design over all workloads, in the same order.
    pub summaries: Vec<PointSummary>,
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
            title: String::new(),
            notes: Vec::new(),
            left_out: Vec::new(),
            settings: settings.clone(),
            workloads: traces.iter().map(|trace| trace.name.clone()).collect(),
            nodes: traces.iter().map(|trace| trace.nodes.len()).max().unwrap_or(0),
            recorded_seconds: traces.iter().map(ClusterTrace::seconds).collect(),
            reference,
            points,
            pareto: Vec::new(),
            summaries: Vec::new(),
            pareto_by_workload: Vec::new(),
            unmeasured: lacking.filter(|(_, count)| *count > 0).collect(),
        };
        report.pareto = report.set(None);
        let pairs = report.points.iter().zip(&report.pareto);
        report.summaries = pairs.map(|(point, is_pareto)| report.summary_of(point, *is_pareto)).collect();
        report.pareto_by_workload = (0..traces.len()).map(|workload| report.set(Some(workload))).collect();
        Some(report)
    }

    /// A row of the tables.
    fn summary_of(&self, point: &SurveyPoint, is_pareto: Option<bool>) -> PointSummary {
        let sum = |figure: fn(&RunFigures) -> f64| {
            BoundFigures::of(|bound| point.cells.iter().map(|cell| figure(cell.figures(bound))).sum())
        };
        let ratio = |axis| BoundFigures::of(|bound| self.value(point, axis, bound, None).unwrap_or(f64::NAN));
        PointSummary {
            name: point.name.clone(),
            seconds: sum(|run| run.seconds),
            joules: sum(|run| run.joules),
            time_ratio: ratio(SurveyAxis::Time),
            energy_ratio: ratio(SurveyAxis::Energy),
            node_watts: BoundFigures::of(|bound| point.mean(bound, |run| run.average_watts)),
            price_dollars: point.price_dollars,
            busy: point.busy_resource(self.settings.bound),
            is_pareto,
        }
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

    /// What was run on what, in a line.
    pub fn heading(&self) -> String {
        let pace = if self.settings.paced { "; work arrives as recorded" } else { "" };
        format!(
            "{}, {}, {}; relative to {}; compared under {}{pace}",
            counted(self.points.len() as u64, "design", "designs"),
            counted(self.workloads.len() as u64, "workload", "workloads"),
            counted(self.nodes as u64, "node", "nodes"),
            self.points[self.reference].name,
            self.settings.bound.word(),
        )
    }

    /// The numbers of the points of the Pareto set, from 1 for the fastest: the names of their marks in pictures.
    pub fn numbers(&self) -> Vec<Option<usize>> {
        let mut best: Vec<usize> = (0..self.points.len()).filter(|at| self.pareto[*at] == Some(true)).collect();
        let time = |at: &usize| self.summaries[*at].time_ratio.get(self.settings.bound);
        best.sort_by(|a, b| time(a).total_cmp(&time(b)));
        let mut numbers = vec![None; self.points.len()];
        for (number, at) in (1..).zip(best) {
            numbers[at] = Some(number);
        }
        numbers
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
