//! `fawn gordon flash`: a flash array under an FTL.

use clap::Args;
use fawn_gordon::flash::presets::presets;
use fawn_gordon::flash::raw::{self, RawBandwidth};
use fawn_gordon::flash::{FlashModel, Geometry};
use fawn_gordon::ftl::{FtlError, FtlSettings, HostRoom};
use fawn_gordon::measure::steady::WarmUpChoice;
use fawn_gordon::measure::tables::{self, Sheet, beside};
use fawn_gordon::measure::{FlashMeasurement, FlashReport, MeasurementError};
use fawn_gordon::time::SimTime;
use fawn_report::amount::{counted, percent};
use serde_json::json;

use super::array::ArrayArguments;
use super::ftl::{self, FtlArguments};
use super::output::{bar, print};
use super::typed::TypedFlags;
use super::workload::{WorkloadArguments, WorkloadReport};
use crate::outcome::{CommandStatus, UsageError};
use crate::table::print_json;
use crate::tell::unless_closed;
use crate::values::{Count, parse_entries};

/// Arguments of `fawn gordon flash`.
#[derive(Debug, Args)]
#[command(after_help = "\
Simulated time has nothing to do with the time that the command takes. Equal arguments give equal results.

Presets are described with their sources by --presets. A file has the same values, in TOML or JSON, and may begin \
with a preset; see nodes/flash in the book. `fawn bench paper gordon-figure-4` and `gordon-figure-5` sweep \
write points and super-pages as the paper does. Sizes of arrays do not change bandwidth: --blocks makes them smaller, so \
that the command is quick.

--first-state auto takes the steady state of uniform writes in closed form, where the workload is uniform and the \
cleaning greedy or FIFO. Elsewhere it writes every page once, then as many pages as there are three times over, at \
the workload's own addresses. The report says which. Reads of what was never written touch no flash.

Write amplification counts super-pages: theory stands beside it where there is any. Energy is modelled: the power of \
the dies times the time for which their cells work.

For example:
  fawn gordon flash --workload sequential --bytes 256K --reads 100% --blocks 64
  fawn gordon flash --array mqsim-default --blocks 128 --reads 0
  fawn gordon flash --raw
  fawn gordon flash --blocks 64 --spare 20% --power-cut")]
pub struct FlashArguments {
    #[command(flatten)]
    pub array: ArrayArguments,
    #[command(flatten)]
    pub ftl: FtlArguments,
    #[command(flatten)]
    pub workload: WorkloadArguments,
    /// Print the bandwidth of one die and of all of the array, beside Table 1 of the paper
    #[arg(long, hide_env = true, conflicts_with_all = ["presets", "power_cut"], help_heading = "What to do")]
    pub raw: bool,
    /// Cut the power after so many requests, from 1, or half of them, and print what recovery takes and finds
    #[arg(
        long,
        value_name = "N|half",
        num_args = 0..=1,
        default_missing_value = "half",
        hide_env = true,
        value_parser = parse_cut,
        help_heading = "What to do"
    )]
    pub power_cut: Option<CutMoment>,
    /// List the presets with their sources
    #[arg(long, hide_env = true, help_heading = "What to do")]
    pub presets: bool,
    /// Print JSON
    #[arg(long, help_heading = "What to do")]
    pub json: bool,
}

/// When the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutMoment {
    /// In the middle of the workload.
    Half,
    /// Once so many requests are acknowledged, at least 1.
    After(u64),
}

impl CutMoment {
    /// How many of `all` requests are acknowledged then.
    fn requests(self, all: u64) -> Result<u64, UsageError> {
        match self {
            Self::Half => Ok((all / 2).max(1)),
            Self::After(count) if count > all => {
                let all = counted(all, "request", "requests");
                Err(UsageError(format!("--power-cut {count} is after the last of {all}: give fewer")))
            }
            Self::After(count) => Ok(count),
        }
    }
}

fn parse_cut(text: &str) -> Result<CutMoment, String> {
    if text == "half" { Ok(CutMoment::Half) } else { parse_entries(text).map(|Count(count)| CutMoment::After(count)) }
}

impl FlashArguments {
    /// Refuses flags without an effect.
    pub fn check(&self, typed: &TypedFlags<'_>) -> Result<(), String> {
        if self.presets {
            return typed.refuse_all::<Self>(&["presets", "json"], "with --presets");
        }
        if self.raw {
            typed.refuse_all::<FtlArguments>(&[], "with --raw")?;
            return typed.refuse_all::<WorkloadArguments>(&[], "with --raw");
        }
        if self.power_cut.is_some() {
            typed.refuse(&["rate", "spacing"], "with --power-cut, which serves requests as fast as they are taken")?;
        }
        self.workload.check(typed)
    }
}

/// Simulates an array.
///
/// # Errors
/// The array, the FTL or the workload cannot be, or the array wears out.
pub fn run(arguments: &FlashArguments) -> anyhow::Result<CommandStatus> {
    if arguments.presets {
        let models: Vec<FlashModel> = presets().into_iter().map(FlashModel::from).collect();
        let shown =
            if arguments.json { print_json(&models) } else { print(&[], &[tables::flash_presets(&models)], &[]) };
        unless_closed(shown)?;
        return Ok(CommandStatus::Done);
    }
    let model = arguments.array.model()?;
    if arguments.raw {
        return print_raw(&model, arguments.json);
    }
    let workload = &arguments.workload;
    let settings = arguments.ftl.settings(&model, workload.seed)?;
    let cuts_power = arguments.power_cut.is_some();
    let head = format!("{}: {}", model.name, model.source);
    check_reads(arguments, &settings)?;
    let geometry = model.design.geometry;
    let mut measurement = FlashMeasurement::new(model, settings, cuts_power)
        .map_err(|error| UsageError(format!("the array cannot be simulated: {}", told(&error, geometry, &settings))))?;
    let pattern = workload.pattern(measurement.capacity_bytes())?;
    let cut = arguments.power_cut.map(|moment| moment.requests(pattern.requests)).transpose()?;
    let bar = bar()?;
    measurement.warm_up(arguments.ftl.first_state, Some(&pattern), &bar)?;
    let lines = [
        head,
        ftl::line(&settings),
        workload.line(&pattern),
        format!("First state: {}", measurement.first_state().sentence),
    ];
    let requests = workload.requests(&pattern)?;
    if let Some(after) = cut {
        let first_state = measurement.first_state().clone();
        let report = measurement.cut_power(requests, after)?;
        bar.0.finish();
        unless_closed(if arguments.json {
            print_json(&json!({
                "workload": workload.line(&pattern),
                "first_state": first_state,
                "settings": settings,
                "power_cut": report,
            }))
        } else {
            print(&lines, &[tables::power_cut(&report)], &[])
        })?;
        return Ok(if report.pages_lost == 0 { CommandStatus::Done } else { CommandStatus::Missing });
    }
    let report = measurement.run(requests, pattern.requests, workload.pacing(), &bar)?;
    bar.0.finish();
    unless_closed(if arguments.json {
        print_json(&WorkloadReport { workload: workload.line(&pattern), report: &report })
    } else {
        print(&lines, &[beside(&[Sheet::of_flash(&report)])], &notes(&report))
    })?;
    Ok(CommandStatus::Done)
}

/// Refuses reads that would all end at once.
fn check_reads(arguments: &FlashArguments, settings: &FtlSettings) -> Result<(), UsageError> {
    let is_empty = arguments.ftl.first_state == WarmUpChoice::Empty;
    if is_empty && arguments.workload.reads >= 1.0 && settings.costs.unmapped_read == SimTime::ZERO {
        let what = "--reads 100% with --first-state empty reads what was never written, which takes no time: leave \
                    --first-state out, lower --reads, or give --unmapped-read-us";
        return Err(UsageError(what.to_owned()));
    }
    Ok(())
}

/// Why an array cannot be simulated, with the flags that change it.
pub fn told(error: &MeasurementError, geometry: Geometry, settings: &FtlSettings) -> String {
    match error {
        MeasurementError::Ftl(FtlError::NoRoom { most, pages, .. }) => {
            let spare = percent(settings.spare_factor);
            let blocks = geometry.blocks_per_plane;
            let more = least_blocks(geometry, settings).map(|least| format!("--blocks {least} or more"));
            // Rounded up to a tenth of a percent.
            let least_spare = (1000.0 * (1.0 - *most as f64 / (*pages as f64).max(1.0))).ceil() / 10.0;
            let spared = (*most > 0).then(|| format!("--spare {least_spare}% or more"));
            let choices: Vec<String> = more.into_iter().chain(spared).collect();
            format!(
                "--blocks {blocks} with --spare {spare} leaves cleaning no room: give {}",
                if choices.is_empty() { "another --stripe".to_owned() } else { choices.join(", or ") }
            )
        }
        MeasurementError::Ftl(FtlError::Dram { needs, has }) => format!(
            "the FTL needs {needs} bytes of DRAM, and --dram is {has}: give more, a larger --stripe, or fewer --blocks"
        ),
        MeasurementError::Medium { pages } => format!(
            "--power-cut keeps what is on flash in memory, and {pages} super-pages are too many: give fewer than --blocks {}",
            geometry.blocks_per_plane
        ),
        other => other.to_string(),
    }
}

/// The fewest blocks of a plane that leave cleaning room.
fn least_blocks(geometry: Geometry, settings: &FtlSettings) -> Option<u32> {
    let fits = |blocks: u32| HostRoom::of(Geometry { blocks_per_plane: blocks, ..geometry }, settings).is_ok();
    let planes = u64::from(geometry.dies()) * u64::from(geometry.planes_per_die);
    let (mut low, mut high) = (geometry.blocks_per_plane, geometry.blocks_per_plane);
    while !fits(high) {
        low = high;
        high = high.checked_mul(2).filter(|blocks| *blocks <= 1 << 20 && planes * u64::from(*blocks) < 1 << 31)?;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// Why a report has no rates, if it has none.
pub fn without_rates(report: &FlashReport) -> Option<String> {
    (report.throughput.elapsed_s <= 0.0).then(|| {
        format!(
            "{}: no simulated time passed, since no request touched flash; there are no rates. Give another --first-state.",
            report.name
        )
    })
}

/// What is to be known about a report besides its figures.
pub fn notes(report: &FlashReport) -> Vec<String> {
    let mut notes: Vec<String> = without_rates(report).into_iter().collect();
    if let Some(amplification) = &report.write_amplification {
        let spare = percent(amplification.effective_spare_factor.max(0.0));
        notes.push(if amplification.theory.is_some() {
            format!("Theory: {}, with an effective spare of {spare}.", amplification.theory_source)
        } else {
            format!("Theory: {}.", amplification.theory_source)
        });
    }
    match &report.energy {
        Some(energy) => notes.push(format!("Energy is modelled: {}.", energy.model)),
        None => notes.push(
            "Energy is not modelled, since no source states the power of a die: give --die-idle-w and --die-active-w."
                .to_owned(),
        ),
    }
    notes
}

fn print_raw(model: &FlashModel, json: bool) -> anyhow::Result<CommandStatus> {
    let mut rows = raw::table_1()?;
    rows.push(RawBandwidth::of(&model.name, &model.design)?);
    let lines =
        ["Table 1 of the paper, and below it the array that was asked for. Pages count with their spare bytes, \
                  erases with data alone."
            .to_owned()];
    unless_closed(if json { print_json(&rows) } else { print(&lines, &[raw::table(&rows)], &[]) })?;
    Ok(CommandStatus::Done)
}
