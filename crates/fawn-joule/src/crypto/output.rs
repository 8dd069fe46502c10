//! Figures of cryptography as tables and as a page.

use fawn_report::amount::number;
use fawn_report::chart::{Axis, Chart, Row};
use fawn_report::{BenchReport, TextTable};
use serde_json::{Value, json};

use crate::measure::EfficiencyKind;
use crate::page::{PageOrigin, SuitePage};

/// What the paper's Table 4 has: workload, processes, work, Core i7 desktop, Atom. Work is MB of a digest, else signatures.
const TABLE_4: &[(&str, &str, f64, f64, f64, f64)] = &[
    ("SHA-1", "one process", 360.0, 75.0, 107.0, 19.1),
    ("SHA-1", "all threads", 1187.0, 117.0, 259.0, 20.7),
    ("RSA sign", "all threads", 8748.0, 124.0, 1173.5, 21.0),
    ("RSA verify", "all threads", 170_248.0, 124.0, 21_279.0, 21.0),
];

fn text(row: &Row, name: &str) -> String {
    match row.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => "-".to_owned(),
    }
}

/// A figure divided by `unit`, with three digits or more.
fn figure(row: &Row, name: &str, unit: f64) -> String {
    let Some(value) = row.get(name).and_then(Value::as_f64).map(|value| value / unit) else { return "-".to_owned() };
    number(value, usize::from(value < 100.0))
}

fn is_digest(row: &Row) -> bool {
    row.get("what").is_some_and(|what| what == "digest")
}

fn heads(lead: &[&str], work: &str, kind: EfficiencyKind) -> Vec<String> {
    let mut head: Vec<String> = lead.iter().map(|it| (*it).to_owned()).collect();
    head.push(format!("{work}/s"));
    head.push(format!("{work} per CPU-s"));
    if kind != EfficiencyKind::CpuSecond {
        head.push(format!("{work} per {}", kind.unit()));
    }
    head
}

fn cells(row: &Row, lead: &[&str], unit: f64, kind: EfficiencyKind) -> Vec<String> {
    let mut cells: Vec<String> = lead.iter().map(|name| text(row, name)).collect();
    cells.push(figure(row, "work_a_second", unit));
    cells.push(figure(row, EfficiencyKind::CpuSecond.column(), unit));
    if kind != EfficiencyKind::CpuSecond {
        cells.push(figure(row, kind.column(), unit));
    }
    cells
}

/// Digests: MB are 1,000,000 bytes.
pub fn digests(report: &BenchReport) -> TextTable {
    let kind = EfficiencyKind::of(&report.rows);
    let head = heads(&["digest", "by", "SHA instructions", "threads", "block"], "MB", kind);
    let lead = ["name", "library", "instructions", "threads", "block_bytes"];
    let rows = report.rows.iter().filter(|row| is_digest(row)).map(|row| cells(row, &lead, 1e6, kind)).collect();
    TextTable { head, rows, text: vec![1, 2] }
}

/// Signatures.
pub fn signatures(report: &BenchReport) -> TextTable {
    let kind = EfficiencyKind::of(&report.rows);
    let head = heads(&["signature", "by", "what", "threads"], "ops", kind);
    let lead = ["name", "library", "what", "threads"];
    let rows = report.rows.iter().filter(|row| !is_digest(row)).map(|row| cells(row, &lead, 1.0, kind)).collect();
    TextTable { head, rows, text: vec![1, 2] }
}

/// The paper's own figures.
pub fn table_4() -> TextTable {
    let head = ["work", "processes", "Core i7 per s", "W", "per J", "Atom per s", "W", "per J"];
    let rows = TABLE_4.iter().map(|(what, processes, i7, i7_watts, atom, atom_watts)| {
        let unit = if what.starts_with("SHA") { " MB" } else { "" };
        vec![
            (*what).to_owned(),
            (*processes).to_owned(),
            format!("{}{unit}", number(*i7, 0)),
            number(*i7_watts, 0),
            number(i7 / i7_watts, 1),
            format!("{}{unit}", number(*atom, 0)),
            number(*atom_watts, 1),
            number(atom / atom_watts, 1),
        ]
    });
    TextTable::of(&head, &[1], rows)
}

/// The page.
pub fn page(report: &BenchReport, origin: &PageOrigin) -> String {
    let about = "Digests of blocks and signatures, each for the same time, with the processor's instructions for SHA and \
                 without. After e-Energy 2010, Table 4.";
    let mut page = SuitePage::new("Cryptography", about, origin);
    let kind = EfficiencyKind::of(&report.rows);
    let threads: Vec<&Value> =
        report.rows.iter().filter_map(|row| row.get("threads")).fold(Vec::new(), |mut seen, it| {
            if !seen.contains(&it) {
                seen.push(it);
            }
            seen
        });
    let drawn: Vec<Row> = report.rows.iter().filter(|row| is_digest(row)).map(|row| shown(row, kind, 1e6)).collect();
    for threads in &threads {
        let of = |row: &&Row| row.get("threads") == Some(*threads);
        let rows: Vec<Row> = drawn.iter().filter(of).cloned().collect();
        let count = fawn_report::amount::counted(threads.as_u64().unwrap_or(0), "thread", "threads");
        let title = format!("MB per {} over block size, {count}", kind.unit());
        let axes = (Axis::bytes("block_bytes", "block"), Axis::linear("shown", &format!("MB per {}", kind.unit())));
        page.chart(&Chart::lines(&title, axes.0, axes.1).by("series"), (&rows, ""), (&[], ""));
    }
    page.table("Digests", &digests(report));
    page.table("Signatures", &signatures(report));
    page.table("The paper's Table 4, machines of 2009", &table_4());
    page.notes(&report.notes);
    page.finish()
}

/// A row with what a chart draws of it.
fn shown(row: &Row, kind: EfficiencyKind, unit: f64) -> Row {
    let mut row = row.clone();
    let instructions = match text(&row, "instructions").as_str() {
        "none" => ", without SHA instructions".to_owned(),
        _ => String::new(),
    };
    let series = format!("{} by {}{instructions}", text(&row, "name"), text(&row, "library"));
    let figure = kind.figure(&row).map(|figure| figure / unit);
    row.insert("series".to_owned(), json!(series));
    row.insert("shown".to_owned(), json!(figure));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> BenchReport {
        let mut report = BenchReport::new("crypto");
        report.row(json!({
            "name": "SHA-1", "library": "sha1", "what": "digest", "threads": 1, "instructions": "own", "block_bytes": 8192,
            "work_a_second": 2e9, "operations_a_cpu_second": 2.1e9, "operations_a_joule": 5e7,
        }));
        report.row(json!({
            "name": "RSA-1024", "library": "openssl", "what": "sign", "threads": 1, "operations_a_cpu_second": 16_000.0,
        }));
        report
    }

    #[test]
    fn digests_are_told_in_megabytes_and_signatures_as_they_are() {
        let digests = digests(&report());
        assert_eq!(digests.head[5..], ["MB/s", "MB per CPU-s", "MB per J"]);
        assert_eq!(digests.rows, [["SHA-1", "sha1", "own", "1", "8192", "2,000", "2,100", "50.0"]]);
        let signatures = signatures(&report());
        assert_eq!(signatures.rows, [["RSA-1024", "openssl", "sign", "1", "-", "16,000", "-"]]);
    }

    #[test]
    fn the_paper_s_efficiencies_follow_from_its_rates_and_watts() {
        let rows = table_4().rows;
        let column = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>();
        // As Table 4 prints them: 4.8, 10.1, 70.6, 1373; 5.6, 12.51, 55.9, 1013.
        assert_eq!(column(4), ["4.8", "10.1", "70.5", "1,373.0"]);
        assert_eq!(column(7), ["5.6", "12.5", "55.9", "1,013.3"]);
    }
}
