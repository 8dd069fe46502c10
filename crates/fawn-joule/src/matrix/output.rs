//! A sweep as a table and as a page.

use fawn_report::amount::number;
use fawn_report::chart::{Axis, Chart, Row};
use fawn_report::{BenchReport, TextTable};
use serde_json::{Value, json};

use super::sweep::MatrixSweep;
use crate::caches::CpuCache;
use crate::measure::EfficiencyKind;
use crate::page::{PageOrigin, SuitePage};

/// What a value of the table is.
fn unit(kind: EfficiencyKind) -> &'static str {
    match kind {
        EfficiencyKind::Measured => "KFLOPS per W",
        EfficiencyKind::Modelled => "KFLOPS per modelled W",
        EfficiencyKind::HandRead => "KFLOPS per W by hand",
        EfficiencyKind::CpuSecond => "MFLOP per CPU-s",
    }
}

/// Operations of what a unit counts.
fn scale(kind: EfficiencyKind) -> f64 {
    if kind == EfficiencyKind::CpuSecond { 1e6 } else { 1e3 }
}

/// `1 thread, huge pages`.
fn series(row: &Row) -> String {
    let threads = row.get("threads").and_then(Value::as_u64).unwrap_or(0);
    let threads = fawn_report::amount::counted(threads, "thread", "threads");
    format!("{threads}, {} pages", row.get("pages").and_then(Value::as_str).unwrap_or_default())
}

fn names(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in rows.iter().map(series) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A row for each size, with a column for each number of threads and size of pages; its heading is [`heading`].
pub fn table(sweep: &MatrixSweep) -> TextTable {
    let rows = &sweep.report.rows;
    let (kind, names) = (EfficiencyKind::of(rows), names(rows));
    let mut sizes: Vec<u64> = rows.iter().filter_map(|row| row.get("matrix_bytes")?.as_u64()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let cell = |bytes: u64, name: &str| {
        let is_it = |row: &&Row| row["matrix_bytes"] == bytes && series(row) == name;
        let figure = rows.iter().find(is_it).and_then(|row| kind.figure(row));
        figure.map_or_else(|| "-".to_owned(), |figure| number(figure / scale(kind), 0))
    };
    let line = |bytes: u64| {
        let n = ((bytes / 8) as f64).sqrt().round();
        let lead = [kib(bytes), format!("{n}")];
        lead.into_iter().chain(names.iter().map(|name| cell(bytes, name))).collect()
    };
    let head = ["matrix", "rows"].map(str::to_owned).into_iter().chain(names.iter().cloned()).collect();
    TextTable { head, rows: sizes.into_iter().map(line).collect(), text: Vec::new() }
}

/// What the values of the table are.
pub fn heading(sweep: &MatrixSweep) -> &'static str {
    unit(EfficiencyKind::of(&sweep.report.rows))
}

fn kib(bytes: u64) -> String {
    if bytes < 1 << 20 {
        format!("{:.1} KiB", bytes as f64 / 1024.0)
    } else {
        format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
    }
}

/// The page: the curve over matrix size, with the caches.
pub fn page(sweep: &MatrixSweep, caches: &[CpuCache], origin: &PageOrigin) -> String {
    let about = "A product of a transposed matrix and a vector, over the size of the matrix. Each point is the same work for \
                 the same time; upright lines are the sizes of the caches. After e-Energy 2010, Figures 4 and 5.";
    let mut page = SuitePage::new("Matrix product over matrix size", about, origin);
    if let Some(check) = sweep.check.as_ref().filter(|check| !check.passed) {
        page.warning(&check.describe());
    }
    add_curve(&mut page, &sweep.report, caches);
    page.table(heading(sweep), &table(sweep));
    page.notes(&sweep.report.notes);
    page.finish()
}

/// Adds the curve over matrix size to a page, with the caches.
pub fn add_curve(page: &mut SuitePage, report: &BenchReport, caches: &[CpuCache]) {
    let rows = &report.rows;
    let kind = EfficiencyKind::of(rows);
    let drawn: Vec<Row> = rows
        .iter()
        .map(|row| {
            let mut row = row.clone();
            row.insert("series".to_owned(), json!(series(&row)));
            let figure = kind.figure(&row).map(|figure| figure / scale(kind));
            row.insert("shown".to_owned(), json!(figure));
            row
        })
        .collect();
    let limits = caches.iter().map(CpuCache::limit).collect();
    let title = format!("{} over matrix size", unit(kind));
    let chart = Chart::lines(&title, Axis::bytes("matrix_bytes", "matrix"), Axis::linear("shown", unit(kind)));
    page.chart(&chart.by("series").with_limits(limits), (&drawn, ""), (&[], ""));
    if !caches.is_empty() {
        let told: Vec<String> = caches.iter().map(CpuCache::describe).collect();
        page.paragraph(&format!("Caches of the first processor: {}.", told.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(column: &str) -> MatrixSweep {
        let mut report = BenchReport::new("matrix");
        for (bytes, threads, pages, figure) in [
            (24_200, 1, "base", 2e9),
            (24_200, 2, "base", 4e9),
            (2_096_152, 1, "base", 1e9),
            (2_096_152, 2, "base", 1.5e9),
        ] {
            report.row(json!({ "matrix_bytes": bytes, "threads": threads, "pages": pages, column: figure }));
        }
        MatrixSweep { report, check: None }
    }

    #[test]
    fn a_table_has_a_row_for_each_size_and_a_column_for_each_kind_of_run() {
        let sweep = sweep("operations_a_cpu_second");
        let table = table(&sweep);
        assert_eq!(table.head, ["matrix", "rows", "1 thread, base pages", "2 threads, base pages"]);
        assert_eq!(table.rows, [["23.6 KiB", "55", "2,000", "4,000"], ["2.0 MiB", "512", "1,000", "1,500"]]);
        assert_eq!(heading(&sweep), "MFLOP per CPU-s");
    }

    #[test]
    fn a_page_has_the_curve_with_the_caches_and_names_joules_by_their_kind() {
        let origin = PageOrigin {
            machine: "m".to_owned(),
            program: "fawn".to_owned(),
            command: "fawn joule matrix".to_owned(),
            date: "2026-11-29".to_owned(),
        };
        let caches = [CpuCache { level: 1, bytes: 48 << 10, shared_by: None }];
        let page = page(&sweep("operations_a_hand_read_joule"), &caches, &origin);
        for what in [">L1<", "L1 (48 KiB)", "KFLOPS per W by hand", "2 threads, base pages", "<polyline"] {
            assert!(page.contains(what), "{what}");
        }
        assert!(!page.contains("CPU-s"), "{page}");
    }
}
