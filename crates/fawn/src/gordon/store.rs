//! `fawn gordon store`: FAWN's store on a simulated drive, beside two other patterns of writing.

use std::io::{self, Write};

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use comfy_table::CellAlignment;
use fawn_gordon::flash::presets::{preset, presets};
use fawn_gordon::store::{DriveSettings, StoreComparison, StoreDesign, StoreReport, StoreWorkload};
use fawn_gordon::time::SimTime;
use fawn_report::Watch;
use fawn_report::amount;

use super::output::bar;
use super::refusal::{of_store, stuck_note};
use super::typed::TypedFlags;
use crate::outcome::{CommandStatus, UsageError};
use crate::table::{print_json, terminal};
use crate::tell::unless_closed;
use crate::values::{Count, Size, decimal, number, parse_entries, parse_exponent, parse_share, parse_value_bytes};

/// Arguments of `fawn gordon store`.
#[derive(Debug, Args)]
#[command(after_help = "\
The store is FAWN's real code: commit log, seals, merges, gets. Its files lie on a simulated drive with a flash \
translation layer (FTL). Each value that a get returns is verified.

  store ×  bytes that the store writes to the drive per byte put
  FTL ×    bytes that the drive programs in flash per byte written to it
  flash ×  both: bytes programmed per byte put

Each trial loads the records, overwrites them --warm-up times, and then measures. The drive is a preset, scaled down to \
hold the records at --full; its timings stay. Years are those of the preset's full size. Without TRIM, every page of \
the drive has been written once before.

--memory-per-record, --spare and --trim take lists. Every combination is a trial.

For example:
  fawn gordon store --gets 0 --memory-per-record 24,16,12,8
  fawn gordon store --stores fawn --trim on,off --spare 7%,20% --full 60%
  fawn gordon store --drive gordon-mlc-133 --puts-per-second 5k --json")]
pub struct StoreTrialArguments {
    /// Records that the store holds
    #[arg(long, value_name = "COUNT", default_value = "500k", value_parser = parse_entries)]
    pub records: Count,
    /// Bytes per value; keys have 20
    #[arg(long, value_name = "SIZE", default_value = "256", value_parser = parse_value_bytes)]
    pub value: Size,
    /// Share of gets among the measured operations
    #[arg(long, value_name = "PERCENT", default_value = "50%", value_parser = parse_share)]
    pub gets: f64,
    /// Choose records by Zipf's law with this exponent, e.g. 0.99 [default: uniformly]
    #[arg(long, value_name = "EXPONENT", value_parser = parse_exponent)]
    pub zipf: Option<f64>,
    /// Stores to try
    #[arg(long, value_name = "STORE", value_delimiter = ',', default_value = "fawn,pages,lsm")]
    pub stores: Vec<StoreKind>,
    /// DRAM of FAWN's store, in bytes per record from 0.5 to 10000; below about 14 it is drained
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "16,12,8", value_parser = decimal(0.5..=10_000.0))]
    pub memory_per_record: Vec<f64>,
    /// DRAM of the LSM tree's table [default: a 128th of the records' bytes]
    #[arg(long, value_name = "SIZE")]
    pub memtable: Option<Size>,
    /// Design of the drive
    #[arg(long, value_name = "PRESET", default_value = "femu-default", value_parser = drives())]
    pub drive: String,
    /// Share of the drive's space that the records take, each counted once
    #[arg(long, value_name = "PERCENT", default_value = "50%", value_parser = parse_share)]
    pub full: f64,
    /// Share of the flash that the host does not see (over-provisioning) [default: the preset's]
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = parse_share)]
    pub spare: Vec<f64>,
    /// Whether the drive is told what is freed
    #[arg(long, value_name = "SWITCH", value_delimiter = ',', default_value = "on")]
    pub trim: Vec<Switch>,
    /// Puts before the measurement, per record, up to 1000
    #[arg(long, value_name = "TIMES", default_value_t = 3.0, value_parser = decimal(0.0..=1_000.0))]
    pub warm_up: f64,
    /// Measured puts, per record, from 0.01 to 1000
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = decimal(0.01..=1_000.0))]
    pub measured: f64,
    /// Operations in flight
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = number::<u32>(1..=65_536))]
    pub clients: u32,
    /// Operations per second that arrive [default: as fast as they are answered]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Count>,
    /// Processor time per operation in nanoseconds; a put takes about 1000 (fawn bench store load)
    #[arg(long, value_name = "NS", default_value_t = 1_000, value_parser = number::<u64>(0..=1_000_000_000))]
    pub cpu_ns: u64,
    /// Puts per second for the drive's years
    #[arg(long, value_name = "RATE", default_value = "1k", value_parser = parse_entries)]
    pub puts_per_second: Count,
    /// Erases that each block is rated for [default: the preset's, if its source states them]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=10_000_000))]
    pub erases: Option<u32>,
    /// Bytes that the drive's maker warrants to be written, e.g. 600TB; units are powers of 1000
    #[arg(long, value_name = "SIZE", value_parser = fawn_plan::amount::parse_bytes)]
    pub tbw: Option<f64>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u64>(..))]
    pub seed: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Stores to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreKind {
    /// FAWN's store
    Fawn,
    /// Pages that are updated in place
    Pages,
    /// A log-structured merge tree with leveled compaction
    Lsm,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

fn drives() -> PossibleValuesParser {
    PossibleValuesParser::new(presets().into_iter().map(|preset| preset.name))
}

/// Tries the stores.
///
/// # Errors
/// The arguments contradict each other, or a trial fails.
pub fn run(arguments: &StoreTrialArguments) -> anyhow::Result<CommandStatus> {
    let comparison = arguments.comparison()?;
    let total = comparison.operations();
    let bar = bar()?;
    let mut told = 0;
    let report = comparison.run(|done, store| {
        if done >= told {
            told = done + total / 1_000;
            bar.progress(done, total, store);
        }
    });
    bar.0.finish();
    let mut report = report.map_err(of_store)?;
    report.notes = notes(&report);
    unless_closed(if arguments.json { print_json(&report) } else { print(&report) })?;
    Ok(CommandStatus::Done)
}

impl StoreTrialArguments {
    /// Refuses flags of stores that are not tried.
    pub fn check(&self, typed: &TypedFlags<'_>) -> Result<(), String> {
        if !self.stores.contains(&StoreKind::Fawn) {
            typed.refuse(&["memory_per_record"], "without fawn among the stores")?;
        }
        if !self.stores.contains(&StoreKind::Lsm) {
            typed.refuse(&["memtable"], "without lsm among the stores")?;
        }
        Ok(())
    }

    fn comparison(&self) -> anyhow::Result<StoreComparison> {
        let workload = StoreWorkload {
            records: self.records.0,
            value_bytes: u32::try_from(self.value.bytes).unwrap_or(u32::MAX),
            get_share: self.gets,
            zipf: self.zipf,
            warm_up: self.warm_up,
            measured: self.measured,
            clients: self.clients,
            rate_per_s: self.rate.map(|rate| rate.0 as f64),
            cpu: SimTime::from_ns(self.cpu_ns),
            seed: self.seed,
        };
        if !(0.01..=0.95).contains(&self.full) {
            return Err(UsageError("--full must be from 1% to 95%: the store needs space to clean".to_owned()).into());
        }
        if self.memtable.is_some_and(|memtable| memtable.bytes == 0) {
            return Err(UsageError("--memtable is 0: give the bytes of a table, e.g. 64K".to_owned()).into());
        }
        let preset = preset(&self.drive).context("clap has asked for a preset")?;
        let whole = preset.design.geometry.bytes() as f64;
        if let Some(tbw) = self.tbw.filter(|tbw| *tbw < whole) {
            let (tbw, whole) = (amount::bytes(tbw), amount::bytes(whole));
            let what = format!("--tbw is {tbw}, and {} has {whole} of flash: give more, e.g. 600TB", self.drive);
            return Err(UsageError(what).into());
        }
        let bytes = (workload.live_bytes() as f64 / self.full) as u64;
        let spares = if self.spare.is_empty() { vec![preset.spare_factor] } else { self.spare.clone() };
        let mut drives = Vec::new();
        for spare_factor in spares {
            for trim in &self.trim {
                let usual = DriveSettings::of(preset.clone(), bytes);
                let rated_erases = self.erases.or(usual.rated_erases);
                drives.push(DriveSettings { spare_factor, trim: *trim == Switch::On, rated_erases, ..usual });
            }
        }
        let (puts_per_s, tbw_bytes) = (self.puts_per_second.0 as f64, self.tbw);
        Ok(StoreComparison { designs: self.designs(&workload), workload, drives, puts_per_s, tbw_bytes })
    }

    fn designs(&self, workload: &StoreWorkload) -> Vec<StoreDesign> {
        let mut designs = Vec::new();
        for store in &self.stores {
            match store {
                StoreKind::Fawn => {
                    for bytes in &self.memory_per_record {
                        designs.push(StoreDesign::Fawn { memory_bytes: (workload.records as f64 * bytes) as u64 });
                    }
                }
                StoreKind::Pages => designs.push(StoreDesign::PageStore),
                StoreKind::Lsm => {
                    let memtable_bytes = self.memtable.map_or(workload.live_bytes() / 128, |size| size.bytes);
                    designs.push(StoreDesign::Lsm { memtable_bytes });
                }
            }
        }
        designs
    }
}

/// What the report says of stores without a row and of years that are not known, with flags that change it.
fn notes(report: &StoreReport) -> Vec<String> {
    let mut notes: Vec<String> = report.stuck.iter().map(stuck_note).collect();
    notes.extend(report.notes.iter().cloned());
    if !report.is_rated() {
        let drive = report.drive;
        notes.push(format!("How often {drive} may be erased is not known, so years are not: give --erases or --tbw."));
    }
    notes
}

fn print(report: &StoreReport) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}\n", report.heading())?;
    writeln!(out, "{}\n", terminal(&report.writes(), CellAlignment::Left))?;
    writeln!(out, "{}\n", terminal(&report.operations_table(), CellAlignment::Left))?;
    report.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}
