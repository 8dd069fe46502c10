//! Fixed power as tables and as a page.

use fawn_report::amount::{digits, number, percent};
use fawn_report::chart::{Axis, Chart, Row};
use fawn_report::{BenchReport, TextTable};
use serde_json::{Value, json};

use crate::page::{PageOrigin, SuitePage};

fn text(row: &Row, name: &str) -> String {
    row.get(name).and_then(Value::as_str).unwrap_or("-").to_owned()
}

fn figure(row: &Row, name: &str) -> Option<f64> {
    row.get(name)?.as_f64()
}

fn told(row: &Row, name: &str) -> String {
    let written = |value: f64| if value < 100.0 { digits(value) } else { number(value, 0) };
    figure(row, name).map_or_else(|| "-".to_owned(), written)
}

fn is_of_catalogue(row: &Row) -> bool {
    row.get("origin").is_some_and(|origin| origin == "catalogue")
}

fn fixed_watts(report: &BenchReport) -> f64 {
    report.parameters.get("fixed_watts").and_then(Value::as_f64).unwrap_or(0.0)
}

fn best(row: &Row) -> String {
    if row.get("is_best") == Some(&json!(true)) { "best".to_owned() } else { String::new() }
}

fn lost(row: &Row) -> String {
    figure(row, "lost_share").map_or_else(|| "-".to_owned(), percent)
}

/// The catalogue's points, numbered as in the chart.
pub fn points(report: &BenchReport) -> TextTable {
    let fixed = format!("with {} W", fixed_watts(report));
    let head = ["point", "#", "MIPS", "W", "MIPS/W alone", &fixed, "lost", "", "watts of", "instructions"];
    let rows = report.rows.iter().filter(|row| is_of_catalogue(row)).zip(1..).map(|(row, at)| {
        vec![
            text(row, "point"),
            at.to_string(),
            told(row, "mips"),
            told(row, "point_watts"),
            told(row, "mips_a_watt"),
            told(row, "mips_a_watt_with_fixed"),
            lost(row),
            best(row),
            text(row, "covers"),
            text(row, "measure"),
        ]
    });
    TextTable::of(&head, &[7, 8, 9], rows)
}

/// Millions of operations per second of CPU time.
fn a_cpu_second(row: &Row) -> String {
    figure(row, "operations_a_cpu_second").map_or_else(|| "-".to_owned(), |it| number(it / 1e6, 0))
}

/// This machine's points; it has no rows if none was measured.
pub fn own(report: &BenchReport) -> TextTable {
    let fixed = format!("with {} W more", fixed_watts(report));
    let head = ["point", "MIPS", "per CPU-s", "W", "W by", "MIPS/W", "above idle", &fixed, "lost", ""];
    let rows = report.rows.iter().filter(|row| !is_of_catalogue(row)).map(|row| {
        vec![
            text(row, "point"),
            told(row, "mips"),
            a_cpu_second(row),
            told(row, "point_watts"),
            text(row, "watts_kind"),
            told(row, "mips_a_watt"),
            told(row, "mips_a_watt_above_idle"),
            told(row, "mips_a_watt_with_fixed"),
            lost(row),
            best(row),
        ]
    });
    TextTable::of(&head, &[4, 9], rows)
}

/// The number of a point of the catalogue; threads or load of one of this machine.
fn label(row: &Row, number: usize) -> String {
    let of = |name: &str| figure(row, name);
    match (of("threads"), of("load")) {
        (Some(threads), _) => fawn_report::amount::counted(threads as u64, "thread", "threads"),
        (None, Some(load)) => format!("{} load", percent(load)),
        (None, None) => number.to_string(),
    }
}

fn sources(report: &BenchReport) -> TextTable {
    let rows = report.rows.iter().filter(|row| is_of_catalogue(row)).zip(1..);
    let rows = rows.map(|(row, at)| {
        vec![format!("{at} {}", text(row, "point")), text(row, "kind"), text(row, "date"), text(row, "source")]
    });
    TextTable::of(&["point", "kind", "date", "source"], &[1, 2, 3], rows)
}

/// The page.
pub fn page(report: &BenchReport, origin: &PageOrigin) -> String {
    let fixed = fixed_watts(report);
    let about = "Efficiency of processors and machines over their speed, alone and with fixed power added. Very slow \
                 processors lose most, very fast ones have little to lose, and the best point lies between. After e-Energy \
                 2010, Figure 2.";
    let mut page = SuitePage::new("Fixed power", about, origin);
    let with = format!("with {fixed} W");
    let series = [("alone", "mips_a_watt"), (with.as_str(), "mips_a_watt_with_fixed")];
    let drawn = |is_shown: &dyn Fn(&Row) -> bool| -> Vec<Row> {
        let mut rows = Vec::new();
        for (name, column) in series {
            for (row, at) in report.rows.iter().filter(|row| is_shown(row)).zip(1..) {
                let mut row = row.clone();
                let value = figure(&row, column);
                row.insert("series".to_owned(), json!(name));
                row.insert("shown".to_owned(), json!(value));
                // The other series has the same points.
                let label = if column == "mips_a_watt" { String::new() } else { label(&row, at) };
                row.insert("label".to_owned(), json!(label));
                rows.push(row);
            }
        }
        rows
    };
    let title = format!("MIPS per watt over MIPS, alone and with {fixed} W of fixed power");
    let axes = || (Axis::log("mips", "MIPS"), Axis::log("shown", "MIPS per watt"));
    let chart = Chart::points(&title, axes().0, axes().1).by("series").labelled("label");
    page.chart(&chart, (&drawn(&is_of_catalogue), ""), (&[], ""));
    page.table("Points of the catalogue", &points(report));
    let own_rows = own(report);
    if !own_rows.rows.is_empty() {
        page.chart(
            &Chart::points("This machine", Axis::linear("mips", "MIPS"), Axis::linear("shown", "MIPS per watt"))
                .by("series")
                .labelled("label"),
            (&drawn(&|row| !is_of_catalogue(row)), ""),
            (&[], ""),
        );
        page.table("Points of this machine", &own_rows);
    }
    page.sentences("Sources", &sources(report));
    page.notes(&report.notes);
    page.finish()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use fawn_report::Nobody;

    use super::*;
    use crate::fixed::catalogue::PointCatalogue;
    use crate::fixed::{FixedPlan, run};

    #[test]
    fn a_table_has_every_point_with_what_fixed_power_costs_it() {
        let (catalogue, sys) = (PointCatalogue::built_in(), PathBuf::from("/no-such-system"));
        let plan = FixedPlan { catalogue, fixed_watts: 0.1, threads: 1, time: Duration::ZERO, sys };
        let report = run(&plan, None, &Nobody).unwrap();
        let table = points(&report);
        assert_eq!(table.rows.len(), plan.catalogue.points.len());
        assert_eq!(table.rows[0][..7], ["MSP430F112 at 1 MHz, 2.2 V", "1", "1", "0.00044", "2,273", "9.96", "99.6 %"]);
        assert!(own(&report).rows.is_empty());
        let origin = PageOrigin {
            machine: "m".to_owned(),
            program: "fawn".to_owned(),
            command: "fawn joule fixed".to_owned(),
            date: "2026-11-29".to_owned(),
        };
        let page = page(&report, &origin);
        for what in ["<circle", "SLAS256D", "with 0.1 W", ">15</text>"] {
            assert!(page.contains(what), "{what}");
        }
        assert!(!page.contains("<polyline"), "points of different machines are not joined");
    }
}
