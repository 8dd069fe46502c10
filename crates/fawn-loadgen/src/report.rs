//! The report of a run.

use fawn_meter::Energy;
use fawn_report::{BenchReport, Column, Form, TextTable, column};
use serde_json::{Map, Value, json};

use crate::mix::RequestPurpose;
use crate::phase::PhaseResult;
use crate::plan::LoadPlan;
use crate::stats::RequestStats;

/// Of what was asked for, a server that takes less does not keep up.
const KEEPS_UP: f64 = 0.98;
/// A server is not what limits when the generator could ask only so many times as often.
const LEAST_HEADROOM: f64 = 1.5;

/// The columns of its table.
const COLUMNS: &[Column] = &[
    column("what", "", Form::Text),
    column("operations", "operations", Form::Number(0)),
    column("operations_a_second", "/s", Form::Number(0)),
    column("asked_a_second", "asked /s", Form::Number(0)),
    column("hit_share", "hits", Form::Percent),
    column("p50_us", "p50 us", Form::Number(0)),
    column("p90_us", "p90 us", Form::Number(0)),
    column("p99_us", "p99 us", Form::Number(0)),
    column("p999_us", "p99.9 us", Form::Number(0)),
    column("longest_us", "longest us", Form::Number(0)),
    column("late_p99_us", "sent late p99 us", Form::Number(0)),
    column("unsent", "unsent", Form::Number(0)),
    column("server_cpu_us", "server CPU-us", Form::Number(3)),
    column("generator_cpu_us", "ours", Form::Number(3)),
    column("machine_cpu_us", "machine's", Form::Number(3)),
    column("stolen_share", "stolen", Form::Percent),
    column("headroom", "headroom", Form::Number(2)),
    column("refused", "refused", Form::Number(0)),
    column("wrong", "wrong", Form::Number(0)),
];

/// The table of such a report.
pub fn table(report: &BenchReport) -> TextTable {
    report.table(COLUMNS.iter().chain(fawn_meter::report::COLUMNS))
}

/// Puts it together from the phases that there were.
pub fn report(
    plan: &LoadPlan,
    floor: Option<&PhaseResult>,
    load: Option<&PhaseResult>,
    measured: Option<&PhaseResult>,
) -> BenchReport {
    let mut report = BenchReport::new(if plan.workload.is_some() { "ycsb" } else { "net" });
    parameters(&mut report, plan);
    if let Some(floor) = floor {
        report.row(Value::Object(whole("nothing (calibration)", floor)));
        let cpu_us = per(floor.stats.cpu_us, floor.stats.answered()).unwrap_or_default();
        report.notes.push(format!(
            "the generator needs {cpu_us:.3} CPU-us per operation, so {} can send {:.0} per second",
            if plan.threads == 1 { "a core".to_owned() } else { format!("{} cores", plan.threads) },
            plan.threads as f64 * 1e6 / cpu_us.max(1e-3),
        ));
    }
    if let Some(load) = load {
        report.row(Value::Object(whole("load", load)));
        if load.stats.put_again > 0 {
            report.notes.push(format!(
                "the server refused {} sets of the load, and the generator retried them",
                load.stats.put_again
            ));
        }
    }
    if let Some(measured) = measured {
        rows(&mut report, plan, measured, floor);
        notes(&mut report, plan, measured);
    }
    energy_notes(&mut report, plan, measured.and_then(metered).or(load.and_then(metered)));
    report
}

fn parameters(report: &mut BenchReport, plan: &LoadPlan) {
    let targets: Vec<String> = plan.targets.iter().map(ToString::to_string).collect();
    report.parameter("servers", targets);
    report.parameter("threads", plan.threads);
    report.parameter("connections", plan.connections);
    report.parameter("depth", plan.depth);
    report.parameter("protocol", plan.protocol.name());
    match plan.workload {
        None => {
            report.parameter("keys", plan.keys);
            report.parameter("puts", plan.mix.sets);
        }
        Some(workload) => {
            report.parameter("workload", workload.name());
            report.parameter("records", plan.keys);
            report.parameter("operations", plan.operations);
            for (name, share) in [
                ("reads", plan.mix.gets()),
                ("updates", plan.mix.sets),
                ("inserts", plan.mix.inserts),
                ("read_modify_writes", plan.mix.modifies),
            ] {
                report.parameter(name, share);
            }
        }
    }
    report.parameter("value_bytes", plan.value_bytes);
    report.parameter("distribution", plan.distribution.to_string());
    // A number of operations is counted from the first, and ends when all are done.
    let timed = |time: std::time::Duration| plan.operations.is_none().then_some(time.as_secs_f64());
    report.parameter("seconds", timed(plan.time));
    report.parameter("warm_up_seconds", timed(plan.warm_up).unwrap_or_default());
    report.parameter("rate", plan.pace.map(|pace| pace.rate));
    report.parameter("spacing", plan.pace.map(|pace| pace.spacing.name()));
}

/// What operations of each kind are called: gets, sets, inserts, modifies. A published workload has words of its own.
fn words(plan: &LoadPlan) -> [&'static str; 4] {
    match plan.workload {
        None => ["gets", "sets", "inserts", "modifies"],
        Some(_) => ["reads", "updates", "inserts", "read-modify-writes"],
    }
}

/// A row for all operations, and one for each kind where there are several, or their names are published.
fn rows(report: &mut BenchReport, plan: &LoadPlan, measured: &PhaseResult, floor: Option<&PhaseResult>) {
    let stats = &measured.stats;
    let mut all = whole("all", measured);
    all.insert("asked_a_second".to_owned(), json!(plan.pace.map(|pace| pace.rate)));
    all.insert("unsent".to_owned(), json!(plan.pace.map(|_| stats.unsent)));
    if plan.pace.is_some() && stats.late.count() > 0 {
        all.insert("late_p99_us".to_owned(), stats.late.us(0.99).into());
    }
    all.insert("wrong".to_owned(), stats.wrong.count.into());
    all.insert("refused".to_owned(), stats.refused.count.into());
    if let Some(floor) = floor {
        let headroom = rate(floor, floor.stats.answered()) / rate(measured, stats.answered()).max(1e-9);
        all.insert("headroom".to_owned(), headroom.into());
        if headroom < LEAST_HEADROOM {
            report.notes.push(format!(
                "the generator sent a server that does nothing only {headroom:.2} times as many operations: the \
                generator, or the machine that both share, limits the result; give more --threads, or another \
                machine"
            ));
        }
    }
    report.row(Value::Object(all));
    let kinds = [stats.gets(), stats.sets(), stats.of(RequestPurpose::Insert).clone(), stats.modifies.clone()];
    let mut kinds: Vec<_> = words(plan).into_iter().zip(kinds).collect();
    kinds.retain(|(_, counted)| counted.answered > 0);
    if kinds.len() > 1 || plan.workload.is_some() {
        for (what, counted) in &kinds {
            report.row(Value::Object(row(what, measured, counted)));
        }
    }
}

fn notes(report: &mut BenchReport, plan: &LoadPlan, measured: &PhaseResult) {
    let stats = &measured.stats;
    if let Some(pace) = plan.pace {
        let answered = rate(measured, stats.answered());
        // Of those that were due, which by chance are more or fewer than the rate says.
        let due = rate(measured, stats.operations().latencies.count());
        if answered < due * KEEPS_UP {
            // A number of operations is counted from the first.
            let has_warm_up = plan.operations.is_none() && !plan.warm_up.is_zero();
            let first = if has_warm_up { ", beginning with those of the warm-up" } else { "" };
            report.notes.push(format!(
                "of {due:.0} operations per second that were due, {answered:.0} were answered{first} ({:.0} were \
                requested): latencies grow as long as this lasts, and mean little",
                pace.rate
            ));
        }
    }
    if stats.unsent > 0 {
        report.notes.push(format!(
            "of {} operations that were due, {} were not sent by the end: they count with their time of waiting until then, so that the true latencies are at least these",
            stats.operations().latencies.count(),
            stats.unsent
        ));
    }
    let [gets, sets, _, modifies] = words(plan);
    if stats.modifies.answered > 0 {
        report.notes.push(format!("{gets} and {sets} also count the two halves of {modifies}"));
    }
    let misses = stats.misses as f64 / stats.gets().answered.max(1) as f64;
    if misses > 0.0 {
        report.notes.push(format!("{:.2} % of the {gets} found nothing; --load sets all keys first", misses * 100.0));
    }
    if let Some(first) = &stats.wrong.first {
        report.notes.push(format!("{} wrong values, the first: {first}", stats.wrong.count));
    }
    if let Some(first) = &stats.refused.first {
        report.notes.push(format!("{} operations were refused, the first: {first}", stats.refused.count));
    }
}

fn metered(measured: &PhaseResult) -> Option<&Energy> {
    measured.energy.as_ref()
}

/// Where the joules are from, and whose they are.
fn energy_notes(report: &mut BenchReport, plan: &LoadPlan, energy: Option<&Energy>) {
    report.metered(fawn_meter::provenance(&report.rows, energy));
    report.notes.extend(plan.meter.as_ref().and_then(fawn_meter::Meter::loss));
    if energy.is_some_and(|energy| energy.kind.is_of_this_machine()) {
        report
            .notes
            .push("the energy is that of this machine: of the generator, and of no server elsewhere".to_owned());
    }
}

/// A row with what all operations of a phase took.
fn whole(what: &str, measured: &PhaseResult) -> Map<String, Value> {
    let stats = &measured.stats;
    let answered = stats.answered();
    let mut row = row(what, measured, &stats.operations());
    let gets = stats.gets().answered;
    let hits = 1.0 - stats.misses as f64 / gets.max(1) as f64;
    row.insert("hit_share".to_owned(), json!((gets > 0).then_some(hits)));
    row.insert("generator_cpu_us".to_owned(), json!(per(stats.cpu_us, answered)));
    row.insert("server_cpu_us".to_owned(), json!(measured.server_cpu_us.and_then(|us| per(us, answered))));
    row.insert("machine_cpu_us".to_owned(), json!(measured.machine.and_then(|(us, _)| per(us, answered))));
    row.insert("stolen_share".to_owned(), json!(measured.machine.map(|(_, share)| share)));
    let server_us = measured.server_cpu_us.and_then(|us| per(us, answered));
    fawn_meter::write_row(&mut row, measured.energy.as_ref(), rate(measured, answered), server_us);
    row
}

fn row(what: &str, measured: &PhaseResult, counted: &RequestStats) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("what".to_owned(), what.into());
    row.insert("operations".to_owned(), counted.answered.into());
    row.insert("operations_a_second".to_owned(), rate(measured, counted.answered).into());
    let if_any = |us: f64| (counted.latencies.count() > 0).then_some(us);
    for (name, share) in [("p50_us", 0.5), ("p90_us", 0.9), ("p99_us", 0.99), ("p999_us", 0.999)] {
        row.insert(name.to_owned(), json!(if_any(counted.latencies.us(share))));
    }
    row.insert("longest_us".to_owned(), json!(if_any(counted.latencies.longest_us())));
    row
}

fn rate(measured: &PhaseResult, answered: u64) -> f64 {
    answered as f64 / measured.seconds.max(1e-9)
}

/// Of each operation; none where there was none.
fn per(us: f64, answered: u64) -> Option<f64> {
    (answered > 0).then(|| us / answered as f64)
}
