//! `fawn gordon survey`: which of many designs are worth a look.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use comfy_table::CellAlignment;
use fawn_gordon::survey::{SurveyAxis, SurveyBound, SurveyReport, SurveySettings, csv, page, tables};

use super::designs::{DesignArguments, TODAY};
use super::output::bar;
use super::recordings::WorkloadArguments;
use super::typed::TypedFlags;
use crate::outcome::{CommandStatus, UsageError};
use crate::output_file::{check_output, create};
use crate::table::{print_json, terminal};
use crate::tell::unless_closed;
use crate::values::number;

/// Arguments of `fawn gordon survey`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every design runs every workload, as in `fawn gordon cluster`. The Pareto set has the designs that no other one is at \
least as good as on all axes and better on one. Times and energies are relative to the reference, each as a range \
from nosync to sync. Energy is modelled.

  busy         the resource that time is lost to
  if infinite  by how much the time falls if this resource is infinitely fast
  margin       by how much more than with the next resource

A directory is a workload with a file for each node, and so is a single file. Without recordings, the survey runs \
the seven workloads of the Gordon paper, which are synthetic.

A design that lacks a rate, watts or a processor rating is left out, and named. --designs takes a file of your own \
designs, or a catalogue as `fawn plan` takes it. The formats are in nodes/survey in the book.

For example:
  fawn gordon survey --designs gordon-2009
  fawn gordon survey web.recording --cpu-mips 3000 --as-recorded --axes energy,price")]
pub struct SurveyArguments {
    #[command(flatten)]
    pub workloads: WorkloadArguments,
    /// Designs: gordon-2009, a catalogue (today, paper-2009, paper-2009-stated), or a file
    #[arg(long, value_name = "NAME|FILE", default_value = TODAY)]
    pub designs: String,
    #[command(flatten)]
    pub ratings: DesignArguments,
    /// Axes of the Pareto set [default: time,energy, and price if it is known of each design]
    #[arg(long, value_name = "AXES", value_delimiter = ',')]
    pub axes: Vec<AxisChoice>,
    /// Design that times and energies are relative to [default: four Core 2 and one disk, else the first]
    #[arg(long, value_name = "NAME")]
    pub reference: Option<String>,
    #[command(flatten)]
    pub model: ModelArguments,
    /// Print all designs in the table, not the Pareto set alone
    #[arg(long, hide_env = true, conflicts_with_all = ["json", "csv"])]
    pub all: bool,
    /// Write an HTML page with pictures of all designs
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub html: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print comma-separated values: a line for each design, workload and bound
    #[arg(long)]
    pub csv: bool,
}

/// How a cluster is simulated.
#[derive(Clone, Debug, Args)]
pub struct ModelArguments {
    /// Bound whose times and energies are compared
    #[arg(long, default_value = "sync")]
    pub bound: BoundChoice,
    /// Of the estimate: seconds by which a node may run ahead of the slowest
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = number::<u32>(0..=1_000_000))]
    pub lead: u32,
    /// Of the estimate: requests in flight per processor
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<u32>(1..=1024))]
    pub in_flight: u32,
    /// Let work arrive when it was recorded, as on a server, instead of one second's work after the other
    #[arg(long)]
    pub as_recorded: bool,
}

/// A bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BoundChoice {
    /// The upper bound
    Sync,
    /// The lower bound
    Nosync,
    /// The estimate between them
    Estimate,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AxisChoice {
    /// Time of the workloads
    Time,
    /// Energy of the workloads
    Energy,
    /// Price of a node
    Price,
}

impl From<AxisChoice> for SurveyAxis {
    fn from(choice: AxisChoice) -> Self {
        match choice {
            AxisChoice::Time => Self::Time,
            AxisChoice::Energy => Self::Energy,
            AxisChoice::Price => Self::Price,
        }
    }
}

impl ModelArguments {
    /// With the axes and the reference of the paper.
    pub fn settings(&self) -> SurveySettings {
        let bound = match self.bound {
            BoundChoice::Sync => SurveyBound::Sync,
            BoundChoice::Nosync => SurveyBound::Nosync,
            BoundChoice::Estimate => SurveyBound::Estimate,
        };
        let (lead, in_flight, paced) = (self.lead, self.in_flight, self.as_recorded);
        SurveySettings { bound, lead, in_flight, paced, ..SurveySettings::default() }
    }
}

impl SurveyArguments {
    /// Refuses flags without an effect.
    pub fn check(&self, typed: &TypedFlags<'_>) -> Result<(), String> {
        self.workloads.check(typed)?;
        DesignArguments::check(&self.designs, typed)
    }

    /// Every file that is read.
    fn inputs(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = self.workloads.files()?;
        files.extend(self.ratings.catalogues.ratings.clone());
        files.push(PathBuf::from(&self.designs));
        Ok(files)
    }
}

/// Surveys designs.
///
/// # Errors
/// A recording, a design or a rating cannot be read or used; the page cannot be written.
pub fn run(arguments: &SurveyArguments) -> anyhow::Result<CommandStatus> {
    let inputs = arguments.inputs()?;
    let inputs = || inputs.iter().map(PathBuf::as_path);
    if let Some(file) = &arguments.html {
        check_output(file, "--html", inputs())?;
    }
    let set = arguments.ratings.set(&arguments.designs)?;
    if set.designs.is_empty() {
        let what = tables::left_out(&set.left_out).join("; ");
        bail!("{} has no design of which enough is known: {what}; add --ratings FILE", arguments.designs);
    }
    let workloads = arguments.workloads.workloads()?;
    let mut settings = arguments.model.settings();
    if let Some(reference) = &arguments.reference {
        if !set.designs.iter().any(|design| design.name == *reference) {
            let what = format!("--reference `{reference}` is none of the designs that are surveyed; --all prints them");
            return Err(UsageError(what).into());
        }
        settings.reference.clone_from(reference);
    }
    let is_priced = set.designs.iter().all(|design| design.price_dollars().is_some());
    settings.axes = if arguments.axes.is_empty() {
        SurveyAxis::ALL.into_iter().filter(|axis| *axis != SurveyAxis::Price || is_priced).collect()
    } else {
        SurveyAxis::ALL.into_iter().filter(|axis| arguments.axes.iter().any(|it| *axis == (*it).into())).collect()
    };
    if settings.axes.len() < 2 {
        return Err(UsageError("a Pareto set needs two axes or three, e.g. --axes time,energy".to_owned()).into());
    }
    let bar = bar()?;
    let made = SurveyReport::of(&set.designs, &workloads, &settings, &bar);
    bar.0.finish();
    let mut report = made.context("there are designs and workloads")?;
    report.title = set.title;
    report.left_out = set.left_out;
    report.notes = arguments.workloads.notes();
    if let Some(file) = &arguments.html {
        let written = create(file, "--html", inputs())?.write_all(page(&report).as_bytes());
        written.with_context(|| format!("cannot write {}", file.display()))?;
    }
    unless_closed(match (arguments.json, arguments.csv) {
        (true, _) => print_json(&report),
        (_, true) => write!(io::stdout().lock(), "{}", csv(&report)),
        _ => print(&report, arguments.all),
    })?;
    Ok(CommandStatus::Done)
}

fn print(report: &SurveyReport, all: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}\n{}\n", report.title, report.heading())?;
    writeln!(out, "{}", terminal(&tables::points(report, !all), CellAlignment::Left))?;
    let lines = tables::notes(report);
    if !lines.is_empty() {
        writeln!(out)?;
    }
    lines.iter().try_for_each(|line| writeln!(out, "note: {line}"))
}
