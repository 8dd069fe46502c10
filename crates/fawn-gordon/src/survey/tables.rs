//! A survey as rows of text, for a terminal and for a page.

use fawn_report::TextTable;
use fawn_report::amount::{digits, dollars, percent};

use super::pareto::SurveyAxis;
use super::point::{BusyResource, SurveyPoint};
use super::report::SurveyReport;
use super::settings::SurveyBound;
use super::table6::{BoundPair, PRINTED, Table6Row};
use crate::node::NodeResource;

const UNKNOWN: &str = "unknown";

/// All points of a survey, or those of its Pareto set. Times and energies are relative to the reference, from the lower
/// to the upper bound; the estimate is relative to the reference's own.
pub fn points(report: &SurveyReport, only_best: bool) -> TextTable {
    let head = ["design", "time", "estimated", "energy", "watts", "price", "busy", "if infinite", "margin", "Pareto"];
    let rows = report.points.iter().zip(&report.pareto).filter(|(_, is_best)| !only_best || **is_best == Some(true));
    let mut rows: Vec<(f64, Vec<String>)> = rows
        .map(|(point, is_best)| {
            let time = report.value(point, SurveyAxis::Time, report.settings.bound, None).unwrap_or(f64::NAN);
            (time, cells(report, point, *is_best))
        })
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    TextTable::of(&head, &[6, 9], rows.into_iter().map(|(_, row)| row))
}

fn cells(report: &SurveyReport, point: &SurveyPoint, is_best: Option<bool>) -> Vec<String> {
    let range = |axis| {
        let value = |bound| report.value(point, axis, bound, None).unwrap_or(f64::NAN);
        between(value(SurveyBound::Nosync), value(SurveyBound::Sync))
    };
    let watts = |bound| point.mean(bound, |run| run.average_watts);
    let BusyResource { resource, saving, margin, next } = point.busy_resource(report.settings.bound);
    vec![
        point.name.clone(),
        range(SurveyAxis::Time),
        digits(report.value(point, SurveyAxis::Time, SurveyBound::Estimate, None).unwrap_or(f64::NAN)),
        range(SurveyAxis::Energy),
        between(watts(SurveyBound::Nosync), watts(SurveyBound::Sync)),
        point.price_dollars.map_or_else(|| UNKNOWN.to_owned(), dollars),
        resource.word().to_owned(),
        format!("−{}", percent(saving.max(0.0))),
        format!("{} to {}", percent(margin.max(0.0)), next.word()),
        match is_best {
            Some(true) => "yes",
            Some(false) => "",
            None => UNKNOWN,
        }
        .to_owned(),
    ]
}

fn between(a: f64, b: f64) -> String {
    let (low, high) = (digits(a.min(b)), digits(a.max(b)));
    if low == high { low } else { format!("{low} to {high}") }
}

/// What time remains if one resource were infinitely fast, by workload, for one point.
pub fn what_if(point: &SurveyPoint, bound: SurveyBound) -> TextTable {
    let head = ["workload", "seconds", "without processor", "without storage", "without network", "busy"];
    let rows = point.cells.iter().map(|cell| {
        let run = cell.figures(bound);
        let mut row = vec![cell.workload.clone(), digits(run.seconds)];
        row.extend(NodeResource::ALL.iter().zip(run.seconds_without).map(|(_, seconds)| {
            let saving = if run.seconds > 0.0 { 1.0 - seconds / run.seconds } else { 0.0 };
            format!("−{}", percent(saving.max(0.0)))
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
