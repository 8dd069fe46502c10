//! Figures of key-value work as tables, a page, and comma-separated values.

use fawn_report::amount::{number, percent};
use fawn_report::chart::{Axis, Chart, Row};
use fawn_report::csv::line;
use fawn_report::{BenchReport, TextTable};
use serde_json::{Value, json};

use super::qos::objective_name;
use crate::measure::EfficiencyKind;
use crate::page::{PageOrigin, SuitePage};

/// Lines of a chart at most: more are not told apart.
const MOST_LINES: usize = 6;

fn figure(row: &Row, name: &str) -> Option<f64> {
    row.get(name)?.as_f64()
}

fn cell(row: &Row, name: &str, unit: f64, decimals: usize) -> String {
    figure(row, name).map_or_else(|| "-".to_owned(), |value| number(value / unit, decimals))
}

fn is(row: &Row, what: &str) -> bool {
    row.get("what").is_some_and(|it| it == what)
}

/// The rows of the capacity and of each load.
fn points(report: &BenchReport) -> impl Iterator<Item = &Row> {
    report.rows.iter().filter(|row| !is(row, "objective"))
}

/// `capacity`, `30 %`.
fn load_name(row: &Row) -> String {
    figure(row, "load_percent").map_or_else(|| "capacity".to_owned(), |load| percent(load / 100.0))
}

/// The objective by which the rows of points count their answers.
fn common_objective(report: &BenchReport) -> String {
    points(report).find_map(|row| figure(row, "objective_us")).map_or_else(String::new, objective_name)
}

/// Rates and latencies of each load.
pub fn latencies(report: &BenchReport) -> TextTable {
    let head = [
        "load",
        "asked/s",
        "answered/s",
        "mean us",
        "p50 us",
        "p99 us",
        "p99.9 us",
        "worst us",
        "sent late p99 us",
        "delayed by",
    ];
    let rows = points(report).map(|row| {
        let figures =
            ["asked_a_second", "work_a_second", "mean_us", "p50_us", "p99_us", "p999_us", "longest_us", "late_p99_us"];
        let delayed = row.get("delayed_by").and_then(Value::as_str).unwrap_or("-").to_owned();
        let figures = figures.iter().map(|name| cell(row, name, 1.0, 0));
        std::iter::once(load_name(row)).chain(figures).chain([delayed]).collect()
    });
    TextTable::of(&head, &[9], rows)
}

/// Answers and idle stretches of each load, and what they cost.
pub fn answers(report: &BenchReport) -> TextTable {
    let kind = EfficiencyKind::of(&report.rows);
    let joules = match kind {
        EfficiencyKind::Measured => Some("joules"),
        EfficiencyKind::Modelled => Some("modelled_joules"),
        EfficiencyKind::HandRead => Some("hand_read_joules"),
        EfficiencyKind::CpuSecond => None,
    };
    let within = format!("within {}", common_objective(report));
    let mut head = vec!["load", "requests", within.as_str(), "late", "wrong", "missing", "CPU-s"];
    head.extend(joules.map(|_| kind.unit()));
    let each = format!("answers per {}", kind.unit());
    head.extend([each.as_str(), "idle", "idle mean us", "idle longest us"]);
    let rows = points(report).map(|row| {
        let mut cells = vec![load_name(row)];
        cells.extend(["asked", "within", "late", "wrong", "missing"].map(|name| cell(row, name, 1.0, 0)));
        cells.push(cell(row, "server_cpu_seconds", 1.0, 2));
        cells.extend(joules.map(|name| cell(row, name, 1.0, 2)));
        cells.push(kind.figure(row).map_or_else(|| "-".to_owned(), crate::headline::amount));
        cells.push(figure(row, "idle_share").map_or_else(|| "-".to_owned(), percent));
        cells.extend(["idle_mean_us", "idle_longest_us"].map(|name| cell(row, name, 1.0, 0)));
        cells
    });
    TextTable::of(&head, &[], rows)
}

/// Answers within each objective, for each joule or CPU second, by load.
pub fn service(report: &BenchReport) -> TextTable {
    let kind = EfficiencyKind::of(&report.rows);
    let rows: Vec<&Row> = report.rows.iter().filter(|row| is(row, "objective")).collect();
    let mut loads: Vec<String> = Vec::new();
    let mut objectives: Vec<f64> = Vec::new();
    for row in &rows {
        let (load, objective) = (load_name(row), figure(row, "objective_us").unwrap_or_default());
        if !loads.contains(&load) {
            loads.push(load);
        }
        if !objectives.contains(&objective) {
            objectives.push(objective);
        }
    }
    let of = |objective: f64, load: &String| {
        let is_it = |row: &&&Row| figure(row, "objective_us") == Some(objective) && load_name(row) == *load;
        let figure = rows.iter().find(is_it).and_then(|row| kind.figure(row));
        figure.map_or_else(|| "-".to_owned(), crate::headline::amount)
    };
    let lines = objectives.iter().map(|objective| {
        let cells = loads.iter().map(|load| of(*objective, load));
        std::iter::once(objective_name(*objective)).chain(cells).collect()
    });
    let heads: Vec<String> = loads.iter().map(|load| format!("at {load}")).collect();
    let head: Vec<&str> = std::iter::once("objective").chain(heads.iter().map(String::as_str)).collect();
    TextTable::of(&head, &[], lines)
}

/// What the figures of [`service`] are.
pub fn service_heading(report: &BenchReport) -> String {
    format!("Right answers within the objective per {}", EfficiencyKind::of(&report.rows).unit())
}

/// A line for each load and objective, and one for the capacity, whose answers are by the common objective.
pub fn csv(report: &BenchReport) -> String {
    let kind = EfficiencyKind::of(&report.rows);
    let of_point = [
        "asked_a_second",
        "work_a_second",
        "mean_us",
        "p50_us",
        "p99_us",
        "p999_us",
        "longest_us",
        "late_p99_us",
        "server_cpu_seconds",
        "generator_cpu_seconds",
        "idle_share",
        "idle_mean_us",
        "idle_longest_us",
    ];
    let of_answers = ["objective_us", "asked", "within", "late", "wrong", "missing"];
    let text = |row: &Row, name: &str| figure(row, name).map_or_else(String::new, |value| value.to_string());
    let head = ["load_percent"].into_iter().chain(of_point).chain(of_answers).chain(["within_per", "per"]);
    let mut out = line(head);
    for point in points(report) {
        let load = point.get("load_percent");
        let is_of_it = |row: &&Row| is(row, "objective") && row.get("load_percent") == load;
        let mut answers: Vec<&Row> = report.rows.iter().filter(is_of_it).collect();
        if answers.is_empty() {
            answers.push(point);
        }
        for row in answers {
            let cells = of_point.iter().map(|name| text(point, name));
            let cells = std::iter::once(text(point, "load_percent")).chain(cells);
            let cells = cells.chain(of_answers.iter().map(|name| text(row, name)));
            let each = kind.figure(row).map_or_else(String::new, |value| value.to_string());
            out += &line(cells.chain([each, kind.unit().to_owned()]));
        }
    }
    out
}

/// The page: latencies over load, and quality of service over the objective.
pub fn page(report: &BenchReport, origin: &PageOrigin) -> String {
    let about = "Random queries to servers of keys and values. Their capacity is what a closed loop reaches; at shares of it, \
                 requests come at times of their own, and latencies count from these. Quality of service is the number of right \
                 answers within an objective, for each joule; late, wrong and missing ones count nothing. After e-Energy 2010, \
                 Table 1 and section 4.";
    let mut page = SuitePage::new("Key-value queries: latency and quality of service", about, origin);
    add_charts(&mut page, report);
    page.table("Latency by load", &latencies(report));
    page.table("Answers and cost by load", &answers(report));
    page.table(&service_heading(report), &service(report));
    page.notes(&report.notes);
    page.finish()
}

/// Adds both charts to a page.
pub fn add_charts(page: &mut SuitePage, report: &BenchReport) {
    let mut drawn: Vec<Row> = Vec::new();
    for (column, name) in [("p999_us", "p99.9"), ("p99_us", "p99"), ("mean_us", "mean"), ("p50_us", "median")] {
        for row in points(report).filter(|row| is(row, "load")) {
            let of = json!({ "load_percent": row.get("load_percent"), "us": row.get(column), "series": name });
            drawn.extend(of.as_object().cloned());
        }
    }
    let chart = Chart::lines(
        "Latency over load",
        Axis::linear("load_percent", "load, % of the capacity"),
        Axis::log("us", "latency, us"),
    );
    page.chart(&chart.by("series"), (&drawn, ""), (&[], ""));
    let kind = EfficiencyKind::of(&report.rows);
    let rows: Vec<&Row> = report.rows.iter().filter(|row| is(row, "objective")).collect();
    let names = shown(rows.iter().map(|row| load_name(row)));
    let drawn: Vec<Row> = rows
        .iter()
        .filter(|row| names.contains(&load_name(row)))
        .filter_map(|row| {
            let name = format!("{} load", load_name(row));
            let of = json!({ "objective_us": row.get("objective_us"), "qos": kind.figure(row), "series": name });
            of.as_object().cloned()
        })
        .collect();
    let axis = format!("answers within it per {}", kind.unit());
    let chart = Chart::lines(
        &format!("Quality of service per {} over the objective", kind.unit()),
        Axis::log("objective_us", "objective, us"),
        Axis::linear("qos", &axis),
    );
    page.chart(&chart.by("series"), (&drawn, ""), (&[], ""));
}

/// Of many loads those that a chart has lines of: the first, the last, and some between them.
fn shown(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.len() <= MOST_LINES {
        return names;
    }
    let place = |at: usize| at * (names.len() - 1) / (MOST_LINES - 1);
    (0..MOST_LINES).map(|at| names[place(at)].clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::point::tests::point;
    use super::*;

    fn report() -> BenchReport {
        let mut report = BenchReport::new("kv");
        let objectives = [100, 1000, 10_000].map(Duration::from_micros);
        let points = [point(None), point(Some(0.1)), point(Some(1.0))];
        report.rows.extend(points.iter().map(|point| point.row(objectives[1])));
        report.rows.extend(points[1..].iter().flat_map(|point| point.objective_rows(&objectives)));
        report
    }

    #[test]
    fn tables_have_a_row_for_each_load_and_for_each_objective() {
        let report = report();
        let loads = |table: &TextTable| table.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
        assert_eq!(loads(&latencies(&report)), ["capacity", "10 %", "100 %"]);
        let answers = answers(&report);
        assert_eq!(answers.head[2], "within 1 ms");
        assert_eq!(answers.rows[1][..8], ["10 %", "100", "98", "1", "1", "0", "0.10", "990"].map(str::to_owned));
        let service = service(&report);
        assert_eq!(service.head, ["objective", "at 10 %", "at 100 %"]);
        assert_eq!(service.rows[1], ["1 ms", "980", "980"]);
        assert_eq!(service.rows[0], ["100 us", "0", "0"]);
        assert_eq!(service_heading(&report), "Right answers within the objective per CPU-s");
    }

    #[test]
    fn comma_separated_values_have_a_line_for_each_load_and_objective() {
        let csv = csv(&report());
        assert_eq!(csv.lines().count(), 1 + 1 + 2 * 3, "{csv}");
        let columns = csv.lines().next().unwrap().split(',').count();
        assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
        assert!(csv.contains(",1000,100,98,1,1,0,980,CPU-s\n"), "{csv}");
    }

    #[test]
    fn a_page_has_both_charts_and_names_what_answers_are_divided_by() {
        let origin = PageOrigin {
            machine: "m".to_owned(),
            program: "fawn".to_owned(),
            command: "fawn joule kv".to_owned(),
            date: "2026-11-29".to_owned(),
        };
        let page = page(&report(), &origin);
        assert_eq!(page.matches("<svg").count(), 2);
        for what in ["Latency over load", "Quality of service per CPU-s over the objective", "p99.9", "10 % load"] {
            assert!(page.contains(what), "{what}: {page}");
        }
    }

    #[test]
    fn of_many_loads_a_chart_shows_the_first_the_last_and_some_between() {
        let names = |count: usize| shown((1..=count).map(|load| format!("{load}0 %")));
        assert_eq!(names(10), ["10 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
        assert_eq!(names(3).len(), 3);
    }
}
