//! One workload on one design, with all that is known of it.

use std::collections::BTreeMap;

use fawn_report::TextTable;
use fawn_report::amount::{counted, digits, dollars, percent};
use serde::Serialize;

use super::point::{RunFigures, SurveyPoint};
use super::settings::{SurveyBound, SurveySettings};
use super::tables::saved;
use crate::node::{ClusterTrace, NodeDesign, NodeResource, TimelineSecond, TraceColumn, TraceTotals};

/// One workload on a cluster of one design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterReport {
    /// The workload.
    pub workload: String,
    /// Nodes.
    pub nodes: usize,
    /// Seconds of the longest trace.
    pub recorded_seconds: usize,
    /// Sums over all nodes and seconds.
    pub totals: TraceTotals,
    /// Where each measured column is from.
    pub sources: BTreeMap<TraceColumn, String>,
    /// Columns that nobody measured. They take no time and no energy.
    pub unmeasured: Vec<TraceColumn>,
    /// How it was simulated.
    pub settings: SurveySettings,
    /// Price of all nodes; `None` if unknown.
    pub cluster_price_dollars: Option<f64>,
    /// The design, with its runs in its only cell.
    pub design: SurveyPoint,
    /// What was busy in each second of the trace, under the settings' bound. Empty if nobody asked.
    pub timeline: Vec<TimelineSecond>,
    /// What is to be said of it.
    pub notes: Vec<String>,
}

impl ClusterReport {
    /// Runs a trace on nodes of a design under all bounds, and second by second under that of the settings.
    pub fn of(design: &NodeDesign, trace: &ClusterTrace, settings: &SurveySettings, by_second: bool) -> Self {
        let point = SurveyPoint::of(design, std::slice::from_ref(trace), settings);
        let model = settings.model(settings.bound);
        let unmeasured = trace.unmeasured();
        let absent = unmeasured.iter().map(|column| format!("{column} was not measured, and takes no time here"));
        Self {
            workload: trace.name.clone(),
            nodes: trace.nodes.len(),
            recorded_seconds: trace.seconds(),
            totals: trace.totals(),
            sources: trace.sources.clone(),
            settings: settings.clone(),
            cluster_price_dollars: point.price_dollars.map(|price| price * trace.nodes.len() as f64),
            timeline: if by_second { model.timeline(trace, design) } else { Vec::new() },
            notes: absent.chain(design.notes.iter().cloned()).collect(),
            unmeasured,
            design: point,
        }
    }

    /// The runs, each with its bound: from the lower to the upper one, then the estimate.
    fn runs(&self) -> [(SurveyBound, &RunFigures); 3] {
        let bounds = [SurveyBound::Nosync, SurveyBound::Sync, SurveyBound::Estimate];
        bounds.map(|bound| (bound, self.design.cells[0].figures(bound)))
    }

    /// Time and energy by bound, and how busy components were while nodes were on.
    pub fn runs_table(&self) -> TextTable {
        let head = [
            "",
            "seconds",
            "of work",
            "of recorded",
            "kJ",
            "kJ if all stay on",
            "watts a node",
            "processor",
            "memory",
            "storage",
            "network",
        ];
        let rows = self.runs().map(|(bound, run)| {
            let recorded = run.seconds / self.recorded_seconds.max(1) as f64;
            let activity = run.activity;
            vec![
                bound_name(bound).to_owned(),
                digits(run.seconds),
                digits(run.work_seconds),
                percent(recorded),
                digits(run.joules / 1e3),
                digits(run.joules_staying_on / 1e3),
                digits(run.average_watts),
                percent(activity.processor),
                percent(activity.memory),
                percent(activity.storage),
                percent(activity.network),
            ]
        });
        TextTable::of(&head, &[], rows.into_iter())
    }

    /// Which resource limits: shares of all nodes' time in which it was fully used, and by how much the time falls if it were
    /// infinitely fast.
    pub fn limits_table(&self) -> TextTable {
        let head = [
            "",
            "processor full",
            "storage full",
            "network full",
            "waiting",
            "without processor",
            "without storage",
            "without network",
            "limit",
            "margin",
        ];
        let rows = self.runs().map(|(bound, run)| {
            let all = run.busy.by_set.iter().sum::<f64>() + run.busy.waiting;
            let mut row = vec![bound_name(bound).to_owned()];
            row.extend(NodeResource::ALL.map(|resource| percent(run.busy.share(resource))));
            row.push(percent(if all > 0.0 { run.busy.waiting / all } else { 0.0 }));
            let shares = run.seconds_without.map(|without| 1.0 - without / run.work_seconds.max(f64::MIN_POSITIVE));
            row.extend(shares.map(saved));
            let limit = run.busy_resource();
            row.push(limit.resource.word().to_owned());
            row.push(format!("{} to {}", percent(limit.margin.max(0.0)), limit.next.word()));
            row
        });
        TextTable::of(&head, &[8, 9], rows.into_iter())
    }

    /// Modelled energy by component and bound, in kilojoules.
    pub fn energy_table(&self) -> TextTable {
        let rows = self.runs().map(|(bound, run)| {
            let parts = run.component_joules;
            let mut row = vec![bound_name(bound).to_owned()];
            row.extend([parts.processor, parts.memory, parts.storage, parts.overhead].map(|it| digits(it / 1e3)));
            row
        });
        TextTable::of(&["kJ of", "processors", "memory", "storage", "overhead"], &[], rows.into_iter())
    }

    /// What was busy in each second of the trace.
    pub fn timeline_table(&self) -> TextTable {
        let head =
            ["second", "nodes", "took, s", "done at, s", "processor", "storage", "network", "waited, s", "limit"];
        let rows = self.timeline.iter().map(|second| {
            vec![
                second.second.to_string(),
                second.nodes.to_string(),
                digits(second.slowest_s),
                format!("{:.2}", second.finished_s),
                percent(second.processor),
                percent(second.storage),
                percent(second.network),
                digits(second.waited_s),
                second.busy.map_or("none", NodeResource::word).to_owned(),
            ]
        });
        TextTable::of(&head, &[8], rows)
    }

    /// What it is of, in two lines.
    pub fn heading(&self) -> String {
        let price = |price: Option<f64>| price.map_or_else(|| "an unknown price".to_owned(), dollars);
        let pace = if self.settings.paced { "work arrives as recorded" } else { "work follows work" };
        format!(
            "{}: {}, {} recorded; {pace}\n{}: {} to {} W and {} a node, {} for all; energy is modelled",
            self.workload,
            counted(self.nodes as u64, "node", "nodes"),
            counted(self.recorded_seconds as u64, "second", "seconds"),
            self.design.name,
            digits(self.design.watts_idle),
            digits(self.design.watts_active),
            price(self.design.price_dollars),
            price(self.cluster_price_dollars),
        )
    }
}

/// A bound as tables name it.
fn bound_name(bound: SurveyBound) -> &'static str {
    match bound {
        SurveyBound::Nosync => "nosync (lower bound)",
        SurveyBound::Sync => "sync (upper bound)",
        SurveyBound::Estimate => "estimate",
    }
}
