//! The figures of each workload by which machines are compared.

use std::collections::BTreeMap;
use std::time::Duration;

use fawn_report::amount::{bytes, digits, number, percent, plain};
use fawn_report::chart::Row;
use fawn_report::csv::line;
use fawn_report::{BenchReport, Scope, TextTable};
use serde_json::Value;

use crate::kv::curve::common;
use crate::kv::qos::objective_name;
use crate::measure::EfficiencyKind;
use crate::results::SuiteResults;

/// Work that is compared, in the order of a table: the group, then what was done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeadlineKey {
    /// The place of the workload among all, and of the figure within it.
    pub(crate) place: (u8, u64),
    /// What was done.
    pub work: String,
    /// In which unit it is counted.
    pub unit: &'static str,
}

/// What a machine does of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headline {
    /// Units of work for each joule or each second of CPU time.
    pub value: f64,
    /// Which.
    pub kind: EfficiencyKind,
    /// What the joules cover; `None`: there are no joules, or the results do not say.
    pub scope: Option<Scope>,
    /// How far the joules may be off, as a share; `None`: not known.
    pub uncertainty_share: Option<f64>,
    /// Units of work for each second of CPU time, whatever else is known.
    pub a_cpu_second: Option<f64>,
    /// Units of work for each second.
    pub a_second: Option<f64>,
}

/// Sizes of matrices that are compared, bytes. Each machine has a point near each that is within its sweep.
const MATRIX_BYTES: &[u64] = &[32 << 10, 256 << 10, 2 << 20, 16 << 20, 128 << 20];
/// A point is near a size within this factor: half a step of the sweep, and what an odd number of rows makes of it.
const NEAR: f64 = 1.12;
/// The block of digests that is compared, bytes.
const BLOCK_BYTES: u64 = 8192;

/// The figures of a machine.
pub fn headlines(results: &SuiteResults) -> BTreeMap<HeadlineKey, Headline> {
    let mut all = BTreeMap::new();
    let mut add = |place: (u8, u64), work: String, unit: &'static str, size: f64, row: &Row| {
        if let Some(headline) = Headline::of(row, size) {
            all.insert(HeadlineKey { place, work, unit }, headline);
        }
    };
    if let Some(report) = results.report("sort")
        && let Some(whole) = report.rows.last()
    {
        add((0, 0), format!("sort {} records", parameter(report, "records")), "records", 1.0, whole);
    }
    if let Some(report) = results.report("joule phrases") {
        let searched = report.rows.iter().filter(|row| text(row, "step") == "search");
        for row in searched {
            add((1, 0), format!("count {} phrases in text", parameter(report, "phrases")), "MB", 1e6, row);
        }
    }
    if let Some(report) = results.report("crypto") {
        for row in of_threads(report) {
            let (name, what, library) = (text(row, "name"), text(row, "what"), text(row, "library"));
            let threads = threads_of(row, report);
            // Without the processor's own instructions a digest only shows what these are good for.
            if what == "digest"
                && text(row, "instructions") != "none"
                && row.get("block_bytes").and_then(Value::as_u64) == Some(BLOCK_BYTES)
            {
                let place = (2, u64::from(!name.starts_with("SHA")));
                add(place, format!("{name} of 8 KiB by {library}, {threads}"), "MB", 1e6, row);
            } else if what != "digest" {
                add((3, 0), format!("{name} {what} by {library}, {threads}"), "signatures", 1.0, row);
            }
        }
    }
    if let Some(report) = results.report("matrix") {
        for (place, bytes) in (0..).zip(MATRIX_BYTES) {
            for row in of_threads(report).filter(|row| text(row, "pages") == "base" && is_near(row, *bytes)) {
                let threads = threads_of(row, report);
                add((4, place), format!("matrix of {}, {threads}", size(*bytes)), "MFLOP", 1e6, row);
            }
        }
    }
    if let Some(report) = results.report("fixed") {
        for row in of_threads(report).filter(|row| text(row, "origin") == "this machine") {
            add((5, 0), format!("integer work, {}", threads_of(row, report)), "million operations", 1e6, row);
        }
    }
    if let Some(report) = results.report("kv") {
        let work = queries(report);
        for row in report.rows.iter().filter(|row| text(row, "what") == "capacity") {
            add((6, 0), format!("{work}, at capacity"), "queries", 1.0, row);
        }
        if let Some((objective, row)) = best_service(report) {
            add(
                (6, 1),
                format!("{work}, within {objective}, at the best load"),
                "answers",
                1.0,
                &with_reading(row, report),
            );
        }
    }
    all
}

/// `gets of 256 B`, `gets of 1 KiB, 10 % sets`.
fn queries(report: &BenchReport) -> String {
    let of = |name: &str| report.parameters.get(name).and_then(Value::as_f64).unwrap_or_default();
    let sets = of("sets");
    let mixed = if sets > 0.0 { format!(", {} sets", percent(sets)) } else { String::new() };
    format!("gets of {}{mixed}", bytes(of("value_bytes")))
}

/// The load at which a joule buys most answers within the common objective, and that objective.
fn best_service(report: &BenchReport) -> Option<(String, &Row)> {
    let rows = || report.rows.iter().filter(|row| text(row, "what") == "objective");
    let objective = |row: &Row| figure(row, "objective_us").map(|us| Duration::from_secs_f64(us / 1e6));
    let common = common(rows().filter_map(objective))?;
    let kind = EfficiencyKind::of(&report.rows);
    let value = |row: &&Row| kind.figure(row).unwrap_or(-1.0);
    let best = rows().filter(|row| objective(row) == Some(common)).max_by(|a, b| value(a).total_cmp(&value(b)))?;
    Some((objective_name(figure(best, "objective_us")?), best))
}

/// The row of an objective with the whole reading, which only the row of its load has.
fn with_reading(row: &Row, report: &BenchReport) -> Row {
    let is_its_load =
        |other: &&Row| text(other, "what") == "load" && other.get("load_percent") == row.get("load_percent");
    let reading = report.rows.iter().find(is_its_load).and_then(|load| load.get("energy"));
    let mut row = row.clone();
    row.extend(reading.map(|reading| ("energy".to_owned(), reading.clone())));
    row
}

/// What the joules of a row cover.
fn scope_of(row: &Row) -> Option<Scope> {
    serde_json::from_value(row.get("energy")?.get("scope")?.clone()).ok()
}

/// The figures of a machine as a table.
pub fn table(all: &BTreeMap<HeadlineKey, Headline>) -> TextTable {
    let rows = all.iter().map(|(key, headline)| {
        let error = headline.uncertainty_share.map_or_else(String::new, |share| format!(" ± {}", percent(share)));
        let a_second = headline.a_second.map_or_else(|| "-".to_owned(), amount);
        let unit = format!("{} per {}", key.unit, headline.kind.unit());
        vec![key.work.clone(), format!("{}{error}", amount(headline.value)), unit, a_second]
    });
    TextTable::of(&["work", "efficiency", "counted in", "per second"], &[0, 2], rows)
}

/// The figures of a machine as comma-separated values.
pub fn csv(all: &BTreeMap<HeadlineKey, Headline>) -> String {
    let known = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let lines = all.iter().map(|(key, headline)| {
        let (value, share) = (headline.value.to_string(), known(headline.uncertainty_share));
        let (a_cpu_second, a_second) = (known(headline.a_cpu_second), known(headline.a_second));
        line([&key.work, key.unit, &value, headline.kind.unit(), &share, &a_cpu_second, &a_second])
    });
    let head = line(["work", "unit", "value", "per", "uncertainty_share", "a_cpu_second", "a_second"]);
    std::iter::once(head).chain(lines).collect()
}

/// A figure for people: `15,000,000`, `3.79`.
pub(crate) fn amount(value: f64) -> String {
    if value >= 1000.0 { number(value, 0) } else { digits(value) }
}

impl Headline {
    /// Of a row, whose work is divided by the size of a unit; `None`: it has no figure.
    fn of(row: &Row, unit: f64) -> Option<Self> {
        let kind = EfficiencyKind::of(std::slice::from_ref(row));
        let a_cpu_second = EfficiencyKind::CpuSecond.figure(row).map(|value| value / unit);
        Some(Self {
            value: kind.figure(row)? / unit,
            kind,
            scope: scope_of(row).filter(|_| kind != EfficiencyKind::CpuSecond),
            uncertainty_share: kind.uncertainty_share(row),
            a_cpu_second,
            a_second: figure(row, "work_a_second").map(|value| value / unit),
        })
    }
}

/// Rows of one thread, and of as many as the machine has.
fn of_threads(report: &BenchReport) -> impl Iterator<Item = &Row> {
    let most = most_threads(report);
    report.rows.iter().filter(move |row| row_threads(row).is_some_and(|threads| threads == 1 || threads == most))
}

fn row_threads(row: &Row) -> Option<u64> {
    row.get("threads")?.as_u64()
}

fn most_threads(report: &BenchReport) -> u64 {
    report.rows.iter().filter_map(row_threads).max().unwrap_or(1)
}

fn threads_of(row: &Row, report: &BenchReport) -> &'static str {
    let is_all = row_threads(row) == Some(most_threads(report));
    // A machine with one core has one row for both.
    if is_all && most_threads(report) > 1 { "all threads" } else { "one thread" }
}

fn is_near(row: &Row, bytes: u64) -> bool {
    figure(row, "matrix_bytes").is_some_and(|it| (it / bytes as f64).max(bytes as f64 / it) <= NEAR)
}

fn figure(row: &Row, name: &str) -> Option<f64> {
    row.get(name).and_then(Value::as_f64)
}

fn text<'r>(row: &'r Row, name: &str) -> &'r str {
    row.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn parameter(report: &BenchReport, name: &str) -> String {
    report.parameters.get(name).and_then(Value::as_f64).map_or_else(|| "?".to_owned(), plain)
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// Results of a machine that does so much of everything for each CPU second, and for each joule of this kind.
    pub(crate) fn machine(name: &str, scale: f64, joules: Option<(&str, f64)>) -> SuiteResults {
        let program = ("fawn 1".to_owned(), "fawn joule all".to_owned());
        let mut results = SuiteResults::new(name.to_owned(), "a chip".to_owned(), program, "2026-11-29".to_owned());
        let figures = |row: Value, work: f64| {
            let Value::Object(mut row) = row else { unreachable!("rows are objects") };
            row.insert("operations_a_cpu_second".to_owned(), json!(work * scale));
            row.insert("work_a_second".to_owned(), json!(work * scale * 2.0));
            if let Some((word, each)) = joules {
                row.insert(format!("operations_a_{word}joule"), json!(work * scale * each));
                row.insert(format!("{word}joules"), json!(50.0));
                row.insert(format!("uncertainty_{word}joules"), json!(5.0));
                row.insert("energy".to_owned(), json!({ "scope": "wall" }));
            }
            row
        };
        let mut sort = BenchReport::new("sort");
        sort.parameter("records", 1000);
        sort.rows.push(figures(json!({ "phase": "merge" }), 7e6));
        sort.rows.push(figures(json!({ "phase": "both" }), 5e6));
        let mut matrix = BenchReport::new("matrix");
        for (threads, bytes) in [(1, 34_000), (2, 34_000), (2, 60_000)] {
            let row = json!({ "threads": threads, "matrix_bytes": bytes, "pages": "base" });
            matrix.rows.push(figures(row, 3e9 / f64::from(threads)));
        }
        let mut crypto = BenchReport::new("crypto");
        for (library, each) in [("sha1", 2e9), ("openssl", 1e9)] {
            let row = json!({
                "name": "SHA-1", "what": "digest", "library": library, "threads": 1, "block_bytes": 8192
            });
            crypto.rows.push(figures(row, each));
        }
        results.reports = vec![sort, matrix, crypto];
        results
    }

    #[test]
    fn each_workload_gives_the_figures_that_other_machines_have_too() {
        let all = headlines(&machine("a", 1.0, None));
        let of = |work: &str| {
            let (key, headline) =
                all.iter().find(|(key, _)| key.work == work).unwrap_or_else(|| panic!("{work}: {all:?}"));
            (key.unit, headline.value, headline.kind)
        };
        assert_eq!(of("sort 1,000 records"), ("records", 5e6, EfficiencyKind::CpuSecond));
        assert_eq!(of("matrix of 32 KiB, one thread"), ("MFLOP", 3e3, EfficiencyKind::CpuSecond));
        assert_eq!(of("matrix of 32 KiB, all threads"), ("MFLOP", 1.5e3, EfficiencyKind::CpuSecond));
        assert_eq!(of("SHA-1 of 8 KiB by sha1, one thread"), ("MB", 2e3, EfficiencyKind::CpuSecond));
        assert_eq!(of("SHA-1 of 8 KiB by openssl, one thread"), ("MB", 1e3, EfficiencyKind::CpuSecond));
        assert_eq!(all.len(), 5, "60 KB is near no size that is compared");
    }

    #[test]
    fn queries_are_compared_at_capacity_and_answers_at_the_load_at_which_a_joule_buys_most() {
        let mut results = machine("a", 1.0, None);
        let mut kv = BenchReport::new("kv");
        kv.parameter("value_bytes", 256);
        kv.parameter("sets", 0.1);
        kv.row(json!({ "what": "capacity", "operations_a_cpu_second": 50_000.0, "work_a_second": 40_000.0 }));
        for (load, us, each) in [(10, 1000, 20_000.0), (50, 1000, 45_000.0), (50, 5000, 48_000.0), (90, 1000, 9000.0)] {
            kv.row(json!({
                "what": "objective", "load_percent": load, "objective_us": us, "operations_a_cpu_second": each,
                "operations_a_joule": each
            }));
        }
        kv.row(json!({ "what": "load", "load_percent": 50, "energy": { "scope": "board" } }));
        results.reports.push(kv);
        let all = headlines(&results);
        let of = |work: &str| {
            let found = all.iter().find(|(key, _)| key.work == work).unwrap_or_else(|| panic!("{work}: {all:?}"));
            (found.0.unit, found.1.value, found.0.place.0)
        };
        assert_eq!(of("gets of 256 B, 10 % sets, at capacity"), ("queries", 50_000.0, 6));
        assert_eq!(of("gets of 256 B, 10 % sets, within 1 ms, at the best load"), ("answers", 45_000.0, 6));
        let scopes: Vec<Option<Scope>> = all.values().rev().map(|headline| headline.scope).take(2).collect();
        assert_eq!(scopes, [Some(Scope::Board), None], "an objective has the joules of its load");
    }

    #[test]
    fn joules_come_with_their_kind_and_how_far_they_may_be_off() {
        let all = headlines(&machine("a", 1.0, Some(("modelled_", 0.5))));
        let sort = all.iter().find(|(key, _)| key.unit == "records").unwrap().1;
        assert_eq!((sort.value, sort.kind), (2.5e6, EfficiencyKind::Modelled));
        assert_eq!((sort.uncertainty_share, sort.a_cpu_second), (Some(0.1), Some(5e6)));
        assert_eq!(sort.scope, Some(Scope::Wall));
        assert_eq!(headlines(&machine("a", 1.0, None)).values().find_map(|headline| headline.scope), None);
    }
}
