//! e-Energy 2010, Tables 2 and 3: the sort benchmark, in one pass and in two, beside GNU sort.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fawn_joule::cost::Cost;
use fawn_joule::measure::EfficiencyKind;
use fawn_joule::sort::error::SortError;
use fawn_joule::sort::generate::{GeneratePlan, RecordTotals, generate};
use fawn_joule::sort::gensort::{RECORD_BYTES, RecordText};
use fawn_joule::sort::input::InputRecords;
use fawn_joule::sort::job::{SortOptions, SortOutcome, sort};
use fawn_joule::sort::output::Leftovers;
use fawn_joule::sort::record::RecordShape;
use fawn_joule::sort::sort_plan::{SortDemand, SortPlan};
use fawn_joule::sort::validate::validate;
use fawn_machine::host::{available_memory, known_free_bytes};
use fawn_meter::report::sum;
use fawn_plan::paper::energy_sort_figures;
use fawn_report::amount::number;
use serde_json::json;

use crate::efficiency::note_provenance;
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding, Row};
use crate::run::Run;
use crate::testbed::peer;

/// The class of the paper: 10 GB.
const CLASS: u64 = 100_000_000;
/// Two passes have a tenth of the data as memory.
const MEMORY_SHARE: u64 = 10;
/// Files of the data's size at a time: input, output and spool, or the files of GNU sort.
const FILES: u64 = 3;

/// The machine of the paper's runs.
const FAWN_SORT: &str = "Xeon, one pass";

/// Figures of the paper's tables, in the order of its columns.
const FIGURES: [&str; 8] = [
    "seconds",
    "watts",
    "joules",
    "operations_a_joule",
    "read_cpu_percent",
    "write_cpu_percent",
    "read_mb_a_second",
    "write_mb_a_second",
];

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = Finding::of(&[
        ("what", "sort", None),
        ("run", "run", None),
        ("seconds", "s", Some(3)),
        ("work_a_second", "records/s", Some(0)),
        ("watts", "watts", Some(1)),
        ("joules", "J", Some(1)),
        ("operations_a_joule", "records a joule", Some(0)),
        ("modelled_watts", "watts, modelled", Some(1)),
        ("operations_a_modelled_joule", "records a modelled joule", Some(0)),
        ("operations_a_cpu_second", "records a CPU second", Some(0)),
        ("read_cpu_percent", "CPU while reading, %", Some(0)),
        ("write_cpu_percent", "CPU while writing, %", Some(0)),
        ("read_mb_a_second", "in, MB/s", Some(1)),
        ("write_mb_a_second", "out, MB/s", Some(1)),
    ]);
    let bench = SortBench::prepare(run, &mut finding)?;
    let memory = bench.two_pass_memory()?;
    if bench.fits_one_pass() {
        bench.measure("one pass", bench.one_pass_memory(), &mut finding)?;
    } else {
        finding.note(format!(
            "one pass was left out: it needs {} GB of memory, more than three quarters of what is free",
            number(bench.one_pass_memory() as f64 / 1e9, 1)
        ));
    }
    bench.measure("two passes", memory, &mut finding)?;
    bench.measure_gnu(memory, &mut finding)?;
    finding.parameter("two_pass_memory_bytes", memory);
    publish(&mut finding);
    note(&mut finding, run);
    Ok(finding)
}

/// Records in a file, and what is done with them.
struct SortBench<'r> {
    run: &'r Run<'r>,
    input: PathBuf,
    output: PathBuf,
    made: RecordTotals,
    threads: usize,
    runs: usize,
}

impl<'r> SortBench<'r> {
    fn prepare(run: &'r Run<'r>, finding: &mut Finding) -> Result<Self, Error> {
        let wanted: u64 = run.pick(20_000, 2_000_000, CLASS);
        let records = fitting(wanted, known_free_bytes(&run.dir).unwrap_or(u64::MAX));
        if records < wanted {
            finding.note(format!(
                "the disk has room for {} of the {} records of this scale",
                number(records as f64, 0),
                number(wanted as f64, 0)
            ));
        }
        let threads = fawn_machine::cores().0.get();
        let runs = run.pick(2, 3, 5);
        let (input, output) = (run.dir.join("records"), run.dir.join("sorted"));
        let plan = GeneratePlan { records, first: 0, text: RecordText::Ascii, is_skewed: false, threads };
        let made = generate(&plan, &input, run.watch, &Leftovers::default())?;
        finding.parameter("records", records);
        finding.parameter("record_bytes", RECORD_BYTES);
        finding.parameter("checksum", made.checksum.to_string());
        finding.parameter("threads", threads);
        finding.parameter("runs", runs);
        Ok(Self { run, input, output, made, threads, runs })
    }

    fn demand(&self, memory: u64) -> SortDemand {
        SortDemand { shape: RecordShape::BENCHMARK, records: self.made.records, memory, threads: self.threads }
    }

    fn bytes(&self) -> u64 {
        self.made.records * RECORD_BYTES as u64
    }

    /// A tenth of the data, or what two passes need at least.
    fn two_pass_memory(&self) -> Result<u64, Error> {
        let memory = self.bytes() / MEMORY_SHARE;
        match SortPlan::of(&self.demand(memory)) {
            Ok(_) => Ok(memory),
            Err(SortError::Memory { needed }) => Ok(needed),
            Err(other) => Err(other.into()),
        }
    }

    /// The least memory, to an eighth, in which one pass is enough.
    fn one_pass_memory(&self) -> u64 {
        let mut memory = self.bytes().max(1 << 20);
        while SortPlan::of(&self.demand(memory)).map_or(true, |plan| plan.second.is_some()) {
            memory += memory / 8;
        }
        memory
    }

    fn fits_one_pass(&self) -> bool {
        let free = available_memory().map_or(u64::MAX, |free| free / 4 * 3);
        self.one_pass_memory() <= free
    }

    /// Sorts so often, with a row for each run, one of their mean and one of their deviation.
    fn measure(&self, what: &str, memory: u64, finding: &mut Finding) -> Result<(), Error> {
        let options = SortOptions {
            inputs: vec![self.input.clone()],
            outputs: vec![self.output.clone()],
            shape: RecordShape::BENCHMARK,
            memory,
            threads: self.threads,
            spool: None,
        };
        let mut rows = Vec::new();
        for number in 1..=self.runs {
            let outcome = sort(&options, self.run.tools.meter.as_ref(), self.run.watch, &Leftovers::default())?;
            self.verify(what)?;
            rows.push(self.row(what, number, &outcome));
            if number == 1 && !outcome.is_direct {
                finding.note("a file system refuses transfers around the page cache, which took part");
            }
            if let Some(second) = outcome.plan.second {
                finding.parameter("two_pass_runs_merged", second.runs);
            }
        }
        finding.rows.extend(summarised(rows));
        Ok(())
    }

    fn row(&self, what: &str, number: usize, outcome: &SortOutcome) -> Row {
        let (first, last) = (&outcome.phases[0], &outcome.phases[outcome.phases.len() - 1]);
        let costs = || outcome.phases.iter().map(|phase| &phase.cost);
        let whole = Cost {
            seconds: costs().map(|cost| cost.seconds).sum(),
            cpu_seconds: costs().map(|cost| cost.cpu_seconds).sum(),
            energy: sum(costs().map(|cost| cost.energy.as_ref())),
        };
        let mut row = Row::new();
        whole.write(&mut row, outcome.records as f64);
        let percent = |cost: &Cost| 100.0 * cost.cpu_seconds / cost.seconds.max(1e-9);
        let rate = |cost: &Cost| self.bytes() as f64 / 1e6 / cost.seconds.max(1e-9);
        for (name, value) in [
            ("read_cpu_percent", percent(&first.cost)),
            ("write_cpu_percent", percent(&last.cost)),
            ("read_mb_a_second", rate(&first.cost)),
            ("write_mb_a_second", rate(&last.cost)),
        ] {
            row.insert(name.to_owned(), json!(value));
        }
        label(&mut row, what, &number.to_string());
        row
    }

    /// Refuses what is not the input in order, and removes it.
    fn verify(&self, what: &str) -> Result<(), Error> {
        let sorted = InputRecords::open(std::slice::from_ref(&self.output), RecordShape::BENCHMARK)?;
        let found = validate(&sorted, self.threads, self.run.watch)?;
        if (found.records, found.checksum) != (self.made.records, self.made.checksum) || found.unordered > 0 {
            return Err(Error::Wrong(format!("records that were sorted ({what}) are not those of the input in order")));
        }
        fs::remove_file(&self.output).map_err(Error::io(&self.output))
    }

    /// GNU sort, by whole lines, which begin with the key.
    fn measure_gnu(&self, memory: u64, finding: &mut Finding) -> Result<(), Error> {
        let gnu = peer::find("sort", std::env::var_os("PATH").as_deref());
        let gnu = gnu.and_then(|path| Some((peer::version(&path).filter(|it| it.contains("GNU"))?, path)));
        let Some((version, program)) = gnu else {
            finding.note("GNU sort was left out: it is not in PATH (apt-get install coreutils)");
            return Ok(());
        };
        let (version, what) = (version.rsplit(' ').next().unwrap_or_default().to_owned(), "GNU sort");
        let mut rows = Vec::new();
        for number in 1..=self.run.pick(1, self.runs, 1) {
            self.run.watch.progress(0, 1, "sorting by GNU sort");
            let taken = peer::run_metered(self.run, self.gnu_command(&program, memory))?;
            self.verify(what)?;
            let mut row = Row::new();
            taken.cost.write(&mut row, self.made.records as f64);
            label(&mut row, what, &number.to_string());
            rows.push(row);
        }
        finding.rows.extend(summarised(rows));
        finding.parameter("gnu_sort", version.as_str());
        finding.note(format!(
            "GNU sort {version} has as many threads and as much memory as two passes (-S, --parallel); it reads and writes \
             through the page cache, so the end of its writes is not in its time"
        ));
        Ok(())
    }

    fn gnu_command(&self, program: &Path, memory: u64) -> Command {
        let mut command = Command::new(program);
        command.arg(format!("-S{memory}b")).arg(format!("--parallel={}", self.threads));
        command.arg("-T").arg(&self.run.dir).arg("-o").arg(&self.output).arg(&self.input);
        command
    }
}

/// How many of these records a disk with so much free space sorts.
fn fitting(wanted: u64, free: u64) -> u64 {
    // A tenth of the space stays free.
    wanted.min(free / 10 * 9 / FILES / RECORD_BYTES as u64)
}

fn label(row: &mut Row, what: &str, run: &str) {
    row.insert("what".to_owned(), json!(what));
    row.insert("run".to_owned(), json!(run));
}

/// The runs, and behind them the mean and the deviation of each of their figures. The charts show the mean.
fn summarised(mut rows: Vec<Row>) -> Vec<Row> {
    let what = rows.first().and_then(|row| row.get("what")?.as_str()).unwrap_or_default().to_owned();
    let mut names: Vec<String> = rows.iter().flat_map(Row::keys).cloned().collect();
    names.sort();
    names.dedup();
    let (mut means, mut deviations) = (Row::new(), Row::new());
    for name in names {
        let values: Option<Vec<f64>> = rows.iter().map(|row| row.get(&name)?.as_f64()).collect();
        let Some(values) = values else { continue };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        means.insert(name.clone(), json!(mean));
        if values.len() > 1 {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            deviations.insert(name, json!((squares / (values.len() - 1) as f64).sqrt()));
        }
    }
    chart(&mut means);
    label(&mut means, &what, "mean");
    label(&mut deviations, &what, "deviation");
    if rows.len() > 1 {
        rows.extend([means, deviations]);
    } else {
        rows.iter_mut().for_each(chart);
    }
    rows
}

/// Makes a row one that the charts show.
fn chart(row: &mut Row) {
    for kind in [EfficiencyKind::Measured, EfficiencyKind::Modelled, EfficiencyKind::CpuSecond] {
        if let Some(figure) = kind.figure(row) {
            row.insert(charted(kind), json!(figure));
        }
    }
}

fn charted(kind: EfficiencyKind) -> String {
    format!("mean_{}", kind.column())
}

/// Adds the paper's tables and the charts.
fn publish(finding: &mut Finding) {
    let row = |run: &str, figures: &[f64; 8]| {
        let mut row: Row =
            FIGURES.iter().zip(figures).map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        label(&mut row, FAWN_SORT, run);
        row
    };
    let [runs @ .., mean, deviation] = energy_sort_figures();
    for (number, figures) in runs.iter().enumerate() {
        let mut row = row(&(number + 1).to_string(), figures);
        row.insert("work_a_second".to_owned(), json!(CLASS as f64 / figures[0]));
        finding.published.push(row);
    }
    for (run, figures) in [("mean", &mean), ("deviation", &deviation)] {
        let mut row = row(run, figures);
        if run == "mean" {
            row.insert("work_a_second".to_owned(), json!(CLASS as f64 / figures[0]));
            chart(&mut row);
        }
        finding.published.push(row);
    }
    finding.printed(json!({
        "what": "Atom 330, two passes", "run": "in its text", "watts": 33.0,
        "operations_a_joule": 35_000.0, charted(EfficiencyKind::Measured): 35_000.0,
    }));
    for (kind, title, axis) in [
        (EfficiencyKind::Measured, "Records a joule", "records a joule"),
        (EfficiencyKind::Modelled, "Records a modelled joule", "records a modelled joule"),
        (EfficiencyKind::CpuSecond, "Records a second of CPU time", "records a CPU second"),
    ] {
        finding.charts.push(Chart::bars(title, "what", Axis::linear(&charted(kind), axis)));
    }
}

/// Says how the energy came about, and what the tables compare.
fn note(finding: &mut Finding, run: &Run<'_>) {
    note_provenance(finding, run);
    finding.note(
        "`fawn plan --paper energy-tables-2-3` recomputes the paper's tables from their own inputs. The 41 W of the parts at \
         rest are the one figure that does not follow: the paper prints 43",
    );
    finding.note(
        "records are those of the benchmark in ASCII; each output was validated, and its checksum is that of the input. CPU \
         and MB/s are of the phase that reads and sorts, and of the one that merges and writes; two passes also write the \
         spool in the first and read it in the second",
    );
    finding.note(
        "the paper's Xeon L3426 has four X25-E and an ioDrive, its Atom 330 four X25-E, and NSort sorts; its CPU is in percent of \
         one of eight hardware threads, ours of one of this machine's",
    );
    finding.note(
        "the paper's 26 % over the Indy winner of January 2010, 5 % and 12 % over the later entry, cannot be recomputed: it does \
         not print their figures",
    );
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn row(value: Value) -> Row {
        let Value::Object(row) = value else { unreachable!("rows are objects") };
        row
    }

    #[test]
    fn runs_are_followed_by_their_mean_and_deviation_and_the_charts_show_the_mean() {
        let runs: Vec<Row> = [2.0, 4.0]
            .map(|figure| {
                row(json!({ "what": "one pass", "run": "1", "seconds": figure, "operations_a_cpu_second": figure }))
            })
            .into();
        let all = summarised(runs);
        let of = |at: usize, name: &str| all[at].get(name).cloned().unwrap_or_default();
        assert_eq!((all.len(), of(2, "run"), of(3, "run")), (4, json!("mean"), json!("deviation")));
        assert_eq!((of(2, "seconds"), of(3, "seconds")), (json!(3.0), json!(2f64.sqrt())));
        let is_charted: Vec<bool> = (0..4).map(|at| !of(at, "mean_operations_a_cpu_second").is_null()).collect();
        assert_eq!(is_charted, [false, false, true, false]);
        let alone = summarised(vec![row(json!({ "what": "x", "operations_a_cpu_second": 7.0 }))]);
        assert_eq!((alone.len(), &alone[0]["mean_operations_a_cpu_second"]), (1, &json!(7.0)));
    }

    #[test]
    fn fewer_records_are_sorted_where_the_disk_is_small() {
        assert_eq!(fitting(CLASS, 1 << 40), CLASS);
        let some = fitting(CLASS, 10_000_000_000);
        assert_eq!(some, 30_000_000);
    }

    #[test]
    fn the_papers_means_are_those_of_its_runs() {
        let [runs @ .., printed, _] = energy_sort_figures();
        for (at, name) in FIGURES.iter().enumerate() {
            let mean = runs.iter().map(|figures| figures[at]).sum::<f64>() / 5.0;
            assert!((mean / printed[at] - 1.0).abs() < 0.0005, "{name}: {mean}");
        }
    }
}
