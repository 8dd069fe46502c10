//! A survey as rows of text, for a terminal and for a page.

use fawn_report::TextTable;
use fawn_report::amount::{counted, digits, dollars, percent};

use super::catalogue::UnsurveyedOption;
use super::point::{BusyResource, SurveyPoint};
use super::report::SurveyReport;
use super::settings::SurveyBound;
use super::summary::{BoundFigures, PointSummary};
use super::table6::{BoundPair, PRINTED, Table6Row};
use crate::node::NodeResource;

const UNKNOWN: &str = "unknown";

/// All points of a survey, or those of its Pareto set, the fastest first. Times and energies relative to the reference go
/// from the lower to the upper bound; the estimate is relative to the reference's own. Seconds and joules are of all
/// workloads, and of the survey's bound.
pub fn points(report: &SurveyReport, only_best: bool) -> TextTable {
    points_in_order(report, only_best).0
}

/// The same, with the place of each row's design in the survey.
pub(super) fn points_in_order(report: &SurveyReport, only_best: bool) -> (TextTable, Vec<usize>) {
    let head = [
        "design",
        "time",
        "estimated",
        "energy",
        "seconds",
        "kJ",
        "watts",
        "price",
        "busy",
        "if infinite",
        "margin",
        "Pareto",
    ];
    let bound = report.settings.bound;
    let is_asked = |at: &usize| !only_best || report.pareto[*at] == Some(true);
    let mut order: Vec<usize> = (0..report.points.len()).filter(is_asked).collect();
    let time = |at: &usize| report.summaries[*at].time_ratio.get(bound);
    order.sort_by(|a, b| time(a).total_cmp(&time(b)));
    let numbers = report.numbers();
    let rows = order.iter().map(|at| cells(&report.summaries[*at], bound, numbers[*at]));
    (TextTable::of(&head, &[8, 10], rows), order)
}

fn cells(summary: &PointSummary, bound: SurveyBound, number: Option<usize>) -> Vec<String> {
    let BusyResource { resource, saving, margin, next } = summary.busy;
    vec![
        summary.name.clone(),
        range(summary.time_ratio),
        figure(summary.time_ratio.estimate),
        range(summary.energy_ratio),
        figure(summary.seconds.get(bound)),
        figure(summary.joules.get(bound) / 1e3),
        range(summary.node_watts),
        summary.price_dollars.map_or_else(|| UNKNOWN.to_owned(), dollars),
        resource.word().to_owned(),
        saved(saving),
        format!("{} to {}", percent(margin.max(0.0)), next.word()),
        match (summary.is_pareto, number) {
            (None, _) => UNKNOWN.to_owned(),
            (_, number) => number.map_or_else(String::new, |number| number.to_string()),
        },
    ]
}

/// From the lower to the upper bound.
fn range(figures: BoundFigures) -> String {
    let (low, high) = (figures.nosync.min(figures.sync), figures.nosync.max(figures.sync));
    let (low, high) = (figure(low), figure(high));
    if low == high { low } else { format!("{low} to {high}") }
}

fn figure(value: f64) -> String {
    if value.is_finite() { digits(value) } else { UNKNOWN.to_owned() }
}

/// By what share of itself a time falls: 0.25 as `−25 %`. What falls by nothing has no sign.
pub(super) fn saved(share: f64) -> String {
    if share > 0.0 { format!("−{}", percent(share)) } else { percent(0.0) }
}

/// What time remains if one resource were infinitely fast, by workload, for one point.
pub fn what_if(point: &SurveyPoint, bound: SurveyBound) -> TextTable {
    let head = ["workload", "seconds of work", "without processor", "without storage", "without network", "busy"];
    let rows = point.cells.iter().map(|cell| {
        let run = cell.figures(bound);
        let mut row = vec![cell.workload.clone(), digits(run.work_seconds)];
        row.extend(NodeResource::ALL.iter().zip(run.seconds_without).map(|(_, seconds)| {
            let saving = if run.work_seconds > 0.0 { 1.0 - seconds / run.work_seconds } else { 0.0 };
            saved(saving)
        }));
        row.push(run.busy_resource().resource.word().to_owned());
        row
    });
    TextTable::of(&head, &[5], rows)
}

/// Amdahl's balance of each point; a balanced node has 1 everywhere.
pub fn balance(report: &SurveyReport) -> TextTable {
    let head =
        ["design", "I/O bits per instruction", "memory bytes per instruction/s", "accesses per 50k", "network bits"];
    let rows = report.points.iter().map(|point| {
        let balance = &point.balance;
        vec![
            point.name.clone(),
            digits(balance.io_bits_per_instruction),
            balance.memory_bytes_per_instruction.map_or_else(|| UNKNOWN.to_owned(), digits),
            digits(balance.accesses_per_50k_instructions),
            digits(balance.network_bits_per_instruction),
        ]
    });
    TextTable::of(&head, &[], rows)
}

/// Table 6, each row of the paper above ours.
pub fn table_6(rows: &[Table6Row]) -> TextTable {
    let head = ["design", "", "watts", "watts/MinP-disk", "perf per watt/MaxE-disk", "speed/MinT-disk"];
    let both = |pair: BoundPair| format!("{:.2} {:.2}", pair.nosync, pair.sync);
    let row = |name: &str, whose: &str, row: &Table6Row| {
        let figures = [row.watts, row.watts_ratio, row.efficiency_ratio, row.speedup].map(both);
        [name.to_owned(), whose.to_owned()].into_iter().chain(figures).collect::<Vec<_>>()
    };
    let pairs = PRINTED.into_iter().zip(rows);
    let lines = pairs.flat_map(|(printed, ours)| {
        let name = if ours.label.is_empty() { ours.design.clone() } else { format!("{}: {}", ours.label, ours.design) };
        [row(&name, "paper", &printed), row("", "ours", ours)]
    });
    TextTable::of(&head, &[1], lines)
}

/// What was left out, by what nobody has said of it.
pub fn left_out(options: &[UnsurveyedOption]) -> Vec<String> {
    let mut by_missing: Vec<(&[&str], Vec<&str>)> = Vec::new();
    for option in options {
        match by_missing.iter_mut().find(|(missing, _)| *missing == option.missing) {
            Some((_, names)) => names.push(&option.name),
            None => by_missing.push((&option.missing, vec![&option.name])),
        }
    }
    let line = |(missing, names): (&[&str], Vec<&str>)| {
        format!("left out, no {} known: {}", missing.join(", no "), names.join("; "))
    };
    by_missing.into_iter().map(line).collect()
}

/// What has to be known of all designs or of some: each note of designs once, with theirs.
pub fn notes(report: &SurveyReport) -> Vec<String> {
    let mut lines = report.notes.clone();
    for (column, traces) in &report.unmeasured {
        lines.push(format!(
            "{column} was not measured in {traces} of {}, and takes no time there",
            counted(report.workloads.len() as u64, "workload", "workloads")
        ));
    }
    let uncompared = report.pareto.iter().filter(|is_best| is_best.is_none()).count();
    if uncompared > 0 {
        let axes: Vec<&str> = report.settings.axes.iter().map(|axis| axis.word()).collect();
        let designs = counted(uncompared as u64, "design is", "designs are");
        lines
            .push(format!("{designs} not compared for the Pareto set: {} must all be known for that", axes.join(", ")));
    }
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for point in &report.points {
        for note in &point.notes {
            match said.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) => names.push(&point.name),
                None => said.push((note, vec![&point.name])),
            }
        }
    }
    for (note, names) in said {
        let whose = if names.len() == report.points.len() { "all designs".to_owned() } else { names.join(", ") };
        lines.push(format!("{whose}: {note}"));
    }
    lines.extend(left_out(&report.left_out));
    lines
}
