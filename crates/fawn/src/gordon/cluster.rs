//! `fawn gordon cluster`: recorded work on nodes of one design.

use std::io::{self, Write};

use clap::Args;
use clap::builder::PossibleValuesParser;
use comfy_table::CellAlignment;
use fawn_gordon::node::workloads::TABLE_2;
use fawn_gordon::survey::{ClusterReport, SurveySettings};

use super::designs::{DesignArguments, PAPER, TODAY};
use super::recordings::WorkloadArguments;
use super::survey::ModelArguments;
use super::typed::TypedFlags;
use crate::outcome::CommandStatus;
use crate::table::{print_json, terminal};
use crate::tell::unless_closed;

/// Arguments of `fawn gordon cluster`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each recording is a node: what it did in each second is done on a node of the design. Processors, storage and \
network of a node overlap; the slowest of the three decides how long a second's work takes.

  nosync    no node waits for another: the lower bound
  sync      after each second, all nodes wait for the slowest: the upper bound
  estimate  nodes run ahead by --lead seconds, and --in-flight requests per processor wait for each other; it may be \
above sync, whose nodes overlap perfectly

By default a second's work follows the one before at once, as in a batch job, and a node is off after its last one. \
With --as-recorded, work arrives when it was recorded, as on a server, and nodes stay on meanwhile.

Energy is modelled from the watts of the design at rest and under load.

For example:
  fawn gordon record web.recording --seconds 10m
  fawn gordon cluster --workload Sort --design '1 Atom 1.9 GHz, 1 flash array'
  fawn gordon cluster web.recording --cpu-mips 3000 --design 'Raspberry Pi 5 8 GB + NVMe 1 TB'")]
pub struct ClusterSimulationArguments {
    #[command(flatten)]
    pub workloads: WorkloadArguments,
    /// Kind of node: a name of --list, or a file with one design
    #[arg(long, value_name = "NAME|FILE", required_unless_present = "list")]
    pub design: Option<String>,
    /// Synthetic workload to simulate without a recording
    #[arg(long, value_name = "NAME", default_value = TABLE_2[0].name, hide_env = true,
        conflicts_with = "recordings", value_parser = synthetic_names())]
    pub workload: String,
    #[command(flatten)]
    pub model: ModelArguments,
    #[command(flatten)]
    pub ratings: DesignArguments,
    /// Also print what is busy in each second of the recording
    #[arg(long, hide_env = true)]
    pub by_second: bool,
    /// Print the names of all built-in designs instead
    #[arg(long, hide_env = true)]
    pub list: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl ClusterSimulationArguments {
    /// Refuses flags without an effect.
    pub fn check(&self, typed: &TypedFlags<'_>) -> Result<(), String> {
        if self.list {
            return typed.refuse_all::<Self>(&["list", "json", "ratings", "guess_writes"], "with --list");
        }
        self.workloads.check(typed)?;
        DesignArguments::check(self.design.as_deref().unwrap_or_default(), typed)
    }
}

fn synthetic_names() -> PossibleValuesParser {
    PossibleValuesParser::new(TABLE_2.map(|workload| workload.name))
}

/// Simulates a cluster, or lists designs.
///
/// # Errors
/// A recording or a design cannot be read or used.
pub fn run(arguments: &ClusterSimulationArguments) -> anyhow::Result<CommandStatus> {
    if arguments.list {
        unless_closed(list(arguments)?)?;
        return Ok(CommandStatus::Done);
    }
    let design = arguments.ratings.one(arguments.design.as_deref().unwrap_or_default())?;
    let trace = arguments.workloads.workload(&arguments.workload)?;
    let settings = SurveySettings { reference: design.name.clone(), ..arguments.model.settings() };
    let mut report = ClusterReport::of(&design, &trace, &settings, arguments.by_second);
    report.notes.splice(0..0, arguments.workloads.notes());
    unless_closed(if arguments.json { print_json(&report) } else { print(&report) })?;
    Ok(CommandStatus::Done)
}

fn list(arguments: &ClusterSimulationArguments) -> anyhow::Result<io::Result<()>> {
    let sets = [arguments.ratings.set(PAPER)?, arguments.ratings.set(TODAY)?];
    let names: Vec<&str> = sets.iter().flat_map(|set| &set.designs).map(|design| design.name.as_str()).collect();
    if arguments.json {
        return Ok(print_json(&names));
    }
    let mut out = io::stdout().lock();
    Ok(names.iter().try_for_each(|name| writeln!(out, "{name}")))
}

fn print(report: &ClusterReport) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}\n", report.heading())?;
    let table = |rows| terminal(&rows, CellAlignment::Left);
    writeln!(out, "{}\n", table(report.runs_table()))?;
    writeln!(out, "{}\n", table(report.limits_table()))?;
    writeln!(out, "{}", table(report.energy_table()))?;
    if !report.timeline.is_empty() {
        let bound = report.settings.bound.word();
        writeln!(out, "\nSecond by second under {bound}:\n\n{}", table(report.timeline_table()))?;
    }
    if !report.sources.is_empty() {
        writeln!(out)?;
    }
    for (column, source) in &report.sources {
        writeln!(out, "{column}: {source}")?;
    }
    report.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}
