//! `fawn joule all`: every workload of the suite at one size, kept in a file for `fawn joule compare`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use fawn_joule::caches::CpuCache;
use fawn_joule::crypto::openssl::Openssl;
use fawn_joule::crypto::{BLOCKS, CryptoPlan};
use fawn_joule::fixed::catalogue::PointCatalogue;
use fawn_joule::fixed::{FixedPlan, PAPER_FIXED_WATTS};
use fawn_joule::headline::{csv, headlines, table};
use fawn_joule::kv::output as kv_output;
use fawn_joule::page::SuitePage;
use fawn_joule::phrases::{Matcher, MatcherOptions, PhraseList, SearchGoal, TextInput, cache_bytes, sample, search};
use fawn_joule::results::SuiteResults;
use fawn_joule::sort::generate::{GeneratePlan, generate};
use fawn_joule::sort::gensort::RecordText;
use fawn_joule::sort::input::InputRecords;
use fawn_joule::sort::job::{SortOptions, sort};
use fawn_joule::sort::output::Leftovers;
use fawn_joule::sort::record::RecordShape;
use fawn_joule::sort::validate::validate;
use fawn_joule::{CostMeter, crypto, fixed, matrix, phrases, sort as sorting};
use fawn_meter::{Meter, SystemRoots};
use fawn_report::{BenchReport, Watch};

use super::energy::EnergyArguments;
use super::kv::{self, KvArguments, KvExtent};
use super::matrix::{MatrixArguments, PagesArgument};
use super::output::{SuiteOutputArguments, origin, print, working_directory};
use super::sort::files::free_memory;
use super::threads::ThreadCount;
use crate::bench::output::Bar;
use crate::interrupt::tell_how_to_go_on;
use crate::outcome::CommandStatus;
use crate::output_file::{check_output, create};
use crate::progress::TerminalBar;
use crate::resources::{cores, host_name};
use crate::table::print_json;
use crate::tell::{tell, unless_closed};
use crate::values::Size;

/// How large the workloads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SuiteScale {
    /// Seconds: whether everything works, on figures that say little
    Tiny,
    /// Minutes: 1 GB of records, 100 MB of text
    Small,
    /// As in the paper: 10 GB of records, 1 GB of text
    Full,
}

/// What a scale means.
struct Workloads {
    /// Of each point of a matrix, a digest, a signature.
    time: Duration,
    records: u64,
    text_bytes: u64,
    phrases: u64,
    /// Key-value queries.
    kv: KvExtent,
    /// Whether `openssl speed` runs, which takes whole seconds.
    has_openssl: bool,
}

impl SuiteScale {
    fn workloads(self) -> Workloads {
        let of = |ms, records, text_bytes, phrases, kv| Workloads {
            time: Duration::from_millis(ms),
            records,
            text_bytes,
            phrases,
            kv,
            has_openssl: self != Self::Tiny,
        };
        match self {
            Self::Tiny => {
                let kv =
                    KvExtent { keys: 5_000, memory: 8 << 20, time: Duration::from_millis(100), loads: &[0.2, 0.6] };
                of(5, 50_000, 4_000_000, 5_000, kv)
            }
            Self::Small => {
                let kv = KvExtent { keys: 500_000, memory: 32 << 20, time: Duration::from_secs(2), loads: kv::LOADS };
                of(300, 10_000_000, 100_000_000, 100_000, kv)
            }
            Self::Full => {
                let kv =
                    KvExtent { keys: 10_000_000, memory: 256 << 20, time: Duration::from_secs(10), loads: kv::LOADS };
                of(1000, 100_000_000, 1_000_000_000, 1_000_000, kv)
            }
        }
    }
}

/// Arguments of `fawn joule all`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command runs the sort, the search for phrases, the matrix product, cryptography, integer work and key-value \
queries, one after the other. --out keeps the results for `fawn joule compare`.

For example, on each of two machines:
  fawn joule all --meter-idle 30s --out board.json
and then on one of them:
  fawn joule compare board.json server.json --page compare.html

Files of records, of text and of a server are written below --dir, and removed at the end. They need three times the \
size of the records. See operations/joules in the book.")]
pub struct AllArguments {
    /// Size of the workloads
    #[arg(long, value_name = "SCALE", default_value = "small")]
    pub scale: SuiteScale,
    /// Name of this machine in comparisons [default: its host name]
    #[arg(long, value_name = "NAME", hide_env = true, value_parser = NonEmptyStringValueParser::new())]
    pub name: Option<String>,
    /// Directory on the disk to measure
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Write the results into this file, for `fawn joule compare`
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub out: Option<PathBuf>,
    /// Write the figures as comma-separated values
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub csv: Option<PathBuf>,
    #[command(flatten)]
    pub energy: EnergyArguments,
    #[command(flatten)]
    pub output: SuiteOutputArguments,
}

/// Measures.
///
/// # Errors
/// A workload cannot be carried out, or a result cannot be written.
pub fn run(arguments: &AllArguments) -> anyhow::Result<CommandStatus> {
    arguments.check()?;
    let dir = working_directory(&arguments.dir)?;
    let bar = Bar(TerminalBar::parts());
    let path = dir.path().to_owned();
    tell_how_to_go_on(&bar.0, "nothing was kept, run the same command again", move || {
        kv::clear(&path);
    })?;
    // Watts that were read by hand are those of one load.
    let threads = if arguments.energy.watts.is_some() {
        vec![ThreadCount::All]
    } else {
        vec![ThreadCount::Exactly(1), ThreadCount::All]
    };
    let meter = arguments.energy.open()?;
    let suite = SuiteRun {
        arguments,
        workloads: arguments.scale.workloads(),
        threads,
        dir: dir.path(),
        meter: meter.as_ref(),
        bar: &bar,
    };
    let reports = kv::unless_interrupted(suite.run());
    bar.0.finish();
    let (reports, is_sound) = reports?;
    let origin = origin();
    let name = arguments.name.clone().unwrap_or_else(host_name);
    let mut results = SuiteResults::new(name, origin.machine, (origin.program, origin.command), origin.date);
    results.reports = reports;
    arguments.write(&results)?;
    let (all, notes) = (headlines(&results), notes(&results));
    unless_closed(if arguments.output.json { print_json(&results) } else { print(&[("", table(&all))], &notes) })?;
    Ok(if is_sound { CommandStatus::Done } else { CommandStatus::Missing })
}

impl AllArguments {
    /// Refuses files that cannot be written, before anything is measured.
    fn check(&self) -> anyhow::Result<()> {
        let paths = |files: [&Option<PathBuf>; 2]| files.into_iter().flatten().cloned().collect::<Vec<PathBuf>>();
        let page = &self.output.page;
        self.output.check([])?;
        for (file, flag, others) in
            [(&self.out, "--out", paths([&self.csv, page])), (&self.csv, "--csv", paths([&self.out, page]))]
        {
            if let Some(file) = file {
                check_output(file, flag, others.iter().map(PathBuf::as_path))?;
            }
        }
        Ok(())
    }

    fn write(&self, results: &SuiteResults) -> anyhow::Result<()> {
        let cannot_write = |file: &Path| format!("cannot write {}", file.display());
        if let Some(file) = &self.out {
            let text = serde_json::to_string_pretty(results)? + "\n";
            create(file, "--out", [])?.write_all(text.as_bytes()).with_context(|| cannot_write(file))?;
        }
        if let Some(file) = &self.csv {
            let text = csv(&headlines(results));
            create(file, "--csv", [])?.write_all(text.as_bytes()).with_context(|| cannot_write(file))?;
        }
        self.output.write_page(|origin| {
            let about =
                "All workloads of the suite on one machine. `fawn joule compare` puts machines beside each other.";
            let mut page = SuitePage::new(&format!("Work per joule: {}", results.machine), about, origin);
            page.table("Figures", &table(&headlines(results)));
            if let Some(report) = results.report("matrix") {
                let caches = CpuCache::all(&SystemRoots::under(&self.energy.meter.meter_root).sys);
                matrix::output::add_curve(&mut page, report, &caches);
            }
            if let Some(report) = results.report("kv") {
                kv_output::add_charts(&mut page, report);
            }
            page.notes(&notes(results));
            page.finish()
        })
    }
}

/// What the reports say, each note once.
fn notes(results: &SuiteResults) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in results.reports.iter().flat_map(|report| &report.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// All workloads, one after the other.
struct SuiteRun<'a> {
    arguments: &'a AllArguments,
    workloads: Workloads,
    threads: Vec<ThreadCount>,
    dir: &'a Path,
    meter: Option<&'a Meter>,
    bar: &'a Bar,
}

impl SuiteRun<'_> {
    /// The reports, and whether all results were right.
    fn run(&self) -> anyhow::Result<(Vec<BenchReport>, bool)> {
        let (sorted, is_sorted) = self.sort().context("cannot sort")?;
        let phrases = self.phrases().context("cannot search for phrases")?;
        let (matrix, is_in_order) = self.matrix()?;
        let crypto = self.crypto()?;
        let fixed = self.fixed()?;
        let (kv, is_answered) = self.kv().context("cannot measure key-value queries")?;
        Ok((vec![sorted, phrases, crypto, matrix, fixed, kv], is_sorted && is_in_order && is_answered))
    }

    fn sort(&self) -> anyhow::Result<(BenchReport, bool)> {
        let (input, output) = (self.dir.join("records"), self.dir.join("sorted"));
        let (shape, leftovers) = (RecordShape::BENCHMARK, Leftovers::default());
        let threads = cores().get();
        let plan = GeneratePlan {
            records: self.workloads.records,
            first: 0,
            text: RecordText::Ascii,
            is_skewed: false,
            threads,
        };
        let made = generate(&plan, &input, self.bar, &leftovers)?;
        let options = SortOptions {
            inputs: vec![input.clone()],
            outputs: vec![output.clone()],
            shape,
            memory: free_memory(),
            threads,
            spool: None,
        };
        let outcome = sort(&options, self.meter, self.bar, &leftovers)?;
        let summary = validate(&InputRecords::open(std::slice::from_ref(&output), shape)?, threads, self.bar)?;
        let is_right = summary.checksum == made.checksum && summary.first_unordered.is_none();
        if !is_right {
            tell(
                "fawn: the sorted records are not those of the input, or not in order: check this machine's memory and disk",
            );
        }
        for file in [input, output] {
            fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
        Ok((sorting::sort_report::report(&options, &outcome), is_right))
    }

    fn phrases(&self) -> anyhow::Result<BenchReport> {
        self.bar.progress(0, 1, "making a text");
        let text = self.dir.join("text");
        let mut file = BufWriter::new(File::create(&text)?);
        let lines = sample::write_text(&mut file, self.workloads.text_bytes)?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        let list = PhraseList::parse(sample::phrases(self.workloads.phrases, lines))?;
        let cost = CostMeter::start(None)?;
        let sys = SystemRoots::under(&self.arguments.energy.meter.meter_root).sys;
        let cache_bytes = cache_bytes(&CpuCache::all(&sys));
        let matcher = Matcher::build(list, MatcherOptions { cache_bytes, ..MatcherOptions::default() });
        let preparation = cost.stop()?;
        let threads: NonZeroUsize = cores();
        let cost = CostMeter::start(self.meter)?;
        let outcome = search(&matcher, [TextInput::File(text)], SearchGoal::Counts, threads, &|bytes| {
            self.bar.progress(bytes, self.workloads.text_bytes, "searching for phrases");
        });
        let cost = cost.stop()?;
        let mut report = phrases::report::report(&matcher, &outcome?, threads, &preparation, &cost);
        report.notes.push("phrases are looked for in a text that is made, the same on every machine".to_owned());
        Ok(report)
    }

    fn matrix(&self) -> anyhow::Result<(BenchReport, bool)> {
        let sys = SystemRoots::under(&self.arguments.energy.meter.meter_root).sys;
        // Where the system does not tell its caches.
        let is_unknown = CpuCache::all(&sys).is_empty();
        let arguments = MatrixArguments {
            threads: self.threads.clone(),
            pages: vec![PagesArgument::Base],
            seconds: self.workloads.time.as_secs_f64(),
            smallest: is_unknown.then_some(Size { bytes: 16 << 10 }),
            largest: is_unknown.then_some(Size { bytes: 64 << 20 }),
            energy: self.arguments.energy.clone(),
            output: self.arguments.output.clone(),
        };
        let (plan, left_out) = arguments.plan()?;
        let mut sweep = matrix::run(&plan, self.meter, self.bar)?;
        sweep.report.notes.extend(left_out);
        let failed = sweep.check.filter(|check| !check.passed);
        if let Some(check) = &failed {
            tell(format_args!("fawn: {}", check.describe()));
        }
        Ok((sweep.report, failed.is_none()))
    }

    fn crypto(&self) -> anyhow::Result<BenchReport> {
        let openssl = if self.workloads.has_openssl {
            Openssl::find(&"openssl".into()).map_err(|why| format!("{why}, so its figures are missing"))
        } else {
            Err("openssl takes whole seconds, and was left out at this scale".to_owned())
        };
        let plan = CryptoPlan {
            threads: ThreadCount::resolve(&self.threads),
            time: self.workloads.time,
            blocks: BLOCKS.last().copied().into_iter().collect(),
            openssl,
        };
        Ok(crypto::run(&plan, self.meter, self.bar)?)
    }

    fn kv(&self) -> anyhow::Result<(BenchReport, bool)> {
        let extent = self.workloads.kv;
        // Watts that were read by hand are those of full load.
        let extent = if self.arguments.energy.watts.is_some() { KvExtent { loads: &[1.0], ..extent } } else { extent };
        let (energy, output) = (self.arguments.energy.clone(), self.arguments.output.clone());
        let arguments = KvArguments::own_server(extent, energy, output);
        let findings = kv::measure_own(&arguments, &self.dir.join("kv"), self.meter.cloned(), self.bar)?;
        let is_right = kv::tell_faults(&findings) == CommandStatus::Done;
        Ok((findings.report, is_right))
    }

    fn fixed(&self) -> anyhow::Result<BenchReport> {
        let plan = FixedPlan {
            catalogue: PointCatalogue::built_in(),
            fixed_watts: PAPER_FIXED_WATTS,
            threads: cores().get(),
            time: self.workloads.time,
            sys: SystemRoots::under(&self.arguments.energy.meter.meter_root).sys,
        };
        Ok(fixed::run(&plan, self.meter, self.bar)?)
    }
}
