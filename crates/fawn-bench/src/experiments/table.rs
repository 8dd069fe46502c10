//! Everything at once: value sizes by memory budgets, each cell with a store of its own that is deleted behind it.

use std::fs;
use std::time::Duration;

use fawn_meter::Energy;
use fawn_report::{BenchReport, Watch};
use fawn_workload::KEY_BYTES;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::measure::{LOAD, StoreExperiment as _, load, measure, parameters, told_again};
use super::{AbsentExperiment, GetExperiment, MixedExperiment, OverwriteExperiment};
use crate::device::DeviceReader;
use crate::error::Error;
use crate::journal::Journal;
use crate::setup::Setup;

/// Gets in flight.
const DEPTH: u32 = 32;
/// Entries of a cell at least.
const LEAST_ENTRIES: u64 = 1000;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableExperiment {
    /// Bytes of a value: a row of cells each.
    pub value_bytes: Vec<usize>,
    /// Memory budgets.
    pub memories: Vec<u64>,
    /// Keys and values of a cell, bytes.
    pub cell_bytes: u64,
    /// The longest that any experiment of a cell but the load takes.
    pub cell_time: Duration,
    /// Who reads the device.
    pub device: DeviceReader,
}

/// Runs an experiment on a cell: its report, and the name under which that is kept.
type Measurement<'e> = &'e dyn Fn() -> Result<(BenchReport, String), Error>;

/// How far it has come.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SoFar {
    cells: usize,
    rows: Vec<Value>,
}

impl TableExperiment {
    /// Runs it.
    ///
    /// # Errors
    /// As the experiments have them, but for an index that does not fit its budget, which is a result.
    pub fn run(&self, setup: &Setup, watch: &dyn Watch) -> Result<BenchReport, Error> {
        if self.value_bytes.is_empty() || self.memories.is_empty() {
            return Err(Error::Unfit("a table needs at least one size of values and one budget".to_owned()));
        }
        let mut journal = Journal::open(&setup.dir)?;
        let filter = if setup.miss_filter { " miss-filter" } else { "" };
        let meter = setup.meter_words();
        let name = format!("table {} ack={}{filter}{meter}", parameters(self), setup.ack_name());
        if setup.again {
            journal.forget(&name)?;
        }
        if let Some(report) = journal.result(&name) {
            told_again(watch);
            return Ok(report.clone());
        }
        let mut so_far: SoFar = journal.unfinished(&name).unwrap_or_default();
        let cells: Vec<(usize, u64)> =
            self.value_bytes.iter().flat_map(|bytes| self.memories.iter().map(|memory| (*bytes, *memory))).collect();
        for (number, (value_bytes, memory)) in cells.iter().enumerate().skip(so_far.cells) {
            let dir = setup.dir.join(format!("cell-{value_bytes}-{memory}"));
            let entries = (self.cell_bytes / (KEY_BYTES + value_bytes) as u64).max(LEAST_ENTRIES);
            let of_cell = Setup {
                dir: dir.clone(),
                entries,
                value_bytes: *value_bytes,
                memory: *memory,
                depth: DEPTH,
                again: false,
                ..setup.clone()
            };
            let cell = CellWatch { watch, number: number as u64, of: cells.len() as u64 };
            so_far.rows.extend(self.cell(&of_cell, &cell)?);
            so_far.cells = number + 1;
            fs::remove_dir_all(&dir).map_err(Error::io(&dir))?;
            journal.note(&name, &so_far)?;
        }
        let mut report = BenchReport::new("table");
        report.parameter("cell_bytes", self.cell_bytes);
        report.parameter("cell_seconds", self.cell_time.as_secs_f64());
        report.parameter("ack", setup.ack_name());
        report.parameter("miss_filter", setup.miss_filter);
        report.parameter("depth", DEPTH);
        for row in so_far.rows {
            report.row(row);
        }
        let first =
            report.rows.iter().find_map(|row| serde_json::from_value::<Energy>(row.get("energy")?.clone()).ok());
        report.metered(fawn_meter::provenance(&report.rows, first.as_ref()));
        report.notes.extend(setup.meter.as_ref().and_then(fawn_meter::Meter::loss));
        report.notes.push(format!("gets have {DEPTH} in flight; of mixed, six of seven operations are gets"));
        journal.finish(&name, &report)?;
        Ok(report)
    }

    /// The rows of one cell.
    fn cell(&self, setup: &Setup, watch: &CellWatch<'_>) -> Result<Vec<Value>, Error> {
        let time = self.cell_time;
        let get = GetExperiment { depths: vec![DEPTH], rounds: 3, time: time / 6, device: self.device };
        let mixed = MixedExperiment { depth: DEPTH, gets_a_put: 6, time };
        let overwrite = OverwriteExperiment { passes: 1, zipf: None, most_time: Some(time) };
        let absent = AbsentExperiment { depth: DEPTH, time: time / 4 };
        let experiments: [(&str, Measurement<'_>); 5] = [
            (LOAD, &|| load(setup, watch)),
            (GetExperiment::WORD, &|| measure(setup, &get, watch)),
            (MixedExperiment::WORD, &|| measure(setup, &mixed, watch)),
            (OverwriteExperiment::WORD, &|| measure(setup, &overwrite, watch)),
            (AbsentExperiment::WORD, &|| measure(setup, &absent, watch)),
        ];
        let mut rows = Vec::new();
        for (word, run) in experiments {
            let report = match run() {
                Ok((report, _)) => report,
                Err(error @ Error::OutOfMemory { .. }) => {
                    rows.push(json!({
                        "value_bytes": setup.value_bytes,
                        "memory": setup.memory,
                        "entries": setup.entries,
                        "experiment": word,
                        "what": error.to_string(),
                    }));
                    if word == LOAD {
                        return Ok(rows);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            rows.push(row(setup, &report));
        }
        Ok(rows)
    }
}

/// The row of the table that one experiment's only row becomes; its figures are kept beside.
fn row(setup: &Setup, report: &BenchReport) -> Value {
    let of = &report.rows[0];
    let first = |names: &[&str]| names.iter().find_map(|name| of.get(*name)).cloned().unwrap_or(Value::Null);
    let mut row: Map<String, Value> = of.clone();
    let memory = report.memory.clone().unwrap_or_default();
    for (name, value) in [
        ("value_bytes", setup.value_bytes.into()),
        ("memory", setup.memory.into()),
        ("entries", setup.entries.into()),
        ("experiment", report.experiment.clone().into()),
        ("a_second", first(&["operations_a_second", "gets_a_second", "puts_a_second"])),
        ("cpu_us", first(&["cpu_us_an_operation", "cpu_us_a_get", "cpu_us_a_put"])),
        ("write_amplification", first(&["write_amplification", "written_over_user"])),
        ("index_bytes_an_entry", memory.index_bytes_an_entry.into()),
        ("rss_without_cache_bytes_an_entry", memory.rss_without_cache_bytes_an_entry.into()),
    ] {
        row.insert(name.to_owned(), value);
    }
    if let Some(ratio) = of.get("ratio").and_then(Value::as_f64) {
        row.insert("what".to_owned(), format!("{ratio:.2} of the device's reads").into());
    }
    Value::Object(row)
}

/// Which cell it is, for those who look on.
struct CellWatch<'w> {
    watch: &'w dyn Watch,
    number: u64,
    of: u64,
}

impl Watch for CellWatch<'_> {
    fn progress(&self, done: u64, total: u64, what: &str) {
        let what = format!("cell {} of {}, {what}: {} %", self.number + 1, self.of, done * 100 / total.max(1));
        self.watch.progress(self.number, self.of, &what);
    }

    // What is told again in a cell was interrupted.
    fn note(&self, _: &str) {}
}
