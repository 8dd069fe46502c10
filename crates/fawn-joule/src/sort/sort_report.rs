//! The report of a sort: what each phase took, and all of them together.

use fawn_machine::process::resident_bytes;
use fawn_meter::report::{COLUMNS, provenance, sum};
use fawn_report::amount::counted;
use fawn_report::{BenchReport, Column, Form, TextTable, column};
use serde_json::{Map, Value, json};

use super::job::{SortOptions, SortOutcome};
use super::phase::SortPhase;
use crate::cost::Cost;

/// The columns of the table, before those of energy.
const PHASE_COLUMNS: &[Column] = &[
    column("phase", "phase", Form::Text),
    column("seconds", "s", Form::Number(2)),
    column("cpu_seconds", "CPU-s", Form::Number(2)),
    column("work_a_second", "records/s", Form::Number(0)),
    column("read_bytes", "read", Form::MiB),
    column("written_bytes", "written", Form::MiB),
];

/// The report.
pub fn report(options: &SortOptions, outcome: &SortOutcome) -> BenchReport {
    let mut report = BenchReport::new("sort");
    report.parameter("records", outcome.records);
    report.parameter("record_bytes", options.shape.record_bytes());
    report.parameter("key_bytes", options.shape.key_bytes());
    report.parameter("key_offset", options.shape.key_offset());
    report.parameter("memory_bytes", options.memory);
    report.parameter("threads", options.threads);
    report.parameter("outputs", options.outputs.len());
    report.parameter("passes", if outcome.plan.second.is_some() { 2 } else { 1 });
    if let Some(second) = outcome.plan.second {
        report.parameter("runs", second.runs);
        report.parameter("merge_read_bytes", second.block);
    }
    report.parameter("direct", outcome.is_direct);
    let most = resident_bytes().map(|(_, most)| most);
    report.parameter("peak_memory_bytes", most);
    report.notes.push(memory_note(options, outcome, most));
    for phase in &outcome.phases {
        report.row(row(phase, outcome.records));
    }
    let whole = whole(&outcome.phases);
    report.row(row(&whole, outcome.records));
    let energy = whole.cost.energy.as_ref();
    report.metered(provenance(&report.rows, energy));
    if !outcome.is_direct {
        report.notes.push(
            "a file system refuses transfers around the page cache (O_DIRECT): the page cache took part, which may \
             count as memory of the process's group"
                .to_owned(),
        );
    }
    report
}

/// How many passes there were, and what the process took of the memory that it was given.
fn memory_note(options: &SortOptions, outcome: &SortOutcome, most: Option<u64>) -> String {
    let passes = match outcome.plan.second {
        None => "one pass".to_owned(),
        Some(second) => format!("two passes, {}", counted(second.runs, "run", "runs")),
    };
    let mib = |bytes: u64| format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20));
    let most = most.map_or_else(String::new, |most| format!("; the process took at most {}", mib(most)));
    format!("{passes}, --memory {}{most}", mib(options.memory))
}

/// The table of its rows.
pub fn table(report: &BenchReport) -> TextTable {
    report.table(PHASE_COLUMNS.iter().chain(COLUMNS))
}

fn row(phase: &SortPhase, records: u64) -> Value {
    let mut row = Map::new();
    row.insert("phase".to_owned(), json!(phase.name));
    row.insert("read_bytes".to_owned(), json!(phase.transfers.map(|(read, _)| read)));
    row.insert("written_bytes".to_owned(), json!(phase.transfers.map(|(_, written)| written)));
    phase.cost.write(&mut row, records as f64);
    Value::Object(row)
}

/// All phases together.
fn whole(phases: &[SortPhase]) -> SortPhase {
    let transfers: Option<Vec<(u64, u64)>> = phases.iter().map(|phase| phase.transfers).collect();
    SortPhase {
        name: "all",
        cost: Cost {
            seconds: phases.iter().map(|phase| phase.cost.seconds).sum(),
            cpu_seconds: phases.iter().map(|phase| phase.cost.cpu_seconds).sum(),
            energy: sum(phases.iter().map(|phase| phase.cost.energy.as_ref())),
        },
        transfers: transfers.map(|all| all.iter().fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))),
    }
}
