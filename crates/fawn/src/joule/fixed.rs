//! `fawn joule fixed`: what fixed power does to efficiency.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use fawn_joule::fixed::catalogue::PointCatalogue;
use fawn_joule::fixed::{FixedPlan, PAPER_FIXED_WATTS, output, run as analyse};
use fawn_meter::SystemRoots;

use super::energy::EnergyArguments;
use super::output::{SuiteOutputArguments, print};
use crate::bench::output::Bar;
use crate::outcome::CommandStatus;
use crate::progress::TerminalBar;
use crate::table::print_json;
use crate::tell::unless_closed;
use crate::values::decimal;

/// Arguments of `fawn joule fixed`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command shows how efficient processors and machines are alone, and with fixed power added. Then it measures integer \
work on this machine, by one thread up to all. With --meter-idle, or with --watts and --idle-watts, it also says what this \
machine's own fixed power costs.

For example:
  fawn joule fixed --page fixed.html --meter-idle 30s
  fawn joule fixed --watts 9.7 --idle-watts 2.8
The watts of the second one are those of all threads.

--points takes a file like crates/fawn-joule/catalogues/fixed-power.toml. See operations/joules in the book.")]
pub struct FixedArguments {
    /// Points of your own instead of the built-in ones (TOML)
    #[arg(long, value_name = "FILE")]
    pub points: Option<PathBuf>,
    /// Fixed power that is added to each point
    #[arg(long, value_name = "W", default_value_t = PAPER_FIXED_WATTS, value_parser = decimal(0.0..=1e6))]
    pub fixed_watts: f64,
    /// Seconds of each point of this machine; 0 leaves it out
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = decimal(0.0..=3600.0))]
    pub seconds: f64,
    #[command(flatten)]
    pub energy: EnergyArguments,
    #[command(flatten)]
    pub output: SuiteOutputArguments,
}

/// Analyses.
///
/// # Errors
/// The file of points or the meter cannot be read.
pub fn run(arguments: &FixedArguments) -> anyhow::Result<CommandStatus> {
    arguments.output.check(arguments.points.as_deref().into_iter().collect::<Vec<&Path>>())?;
    let catalogue = match &arguments.points {
        Some(file) => PointCatalogue::read(file)?,
        None => PointCatalogue::built_in(),
    };
    let plan = FixedPlan {
        catalogue,
        fixed_watts: arguments.fixed_watts,
        threads: fawn_machine::cores().0.get(),
        time: Duration::from_secs_f64(arguments.seconds),
        sys: SystemRoots::under(&arguments.energy.meter.meter_root).sys,
    };
    let meter = arguments.energy.open()?;
    let bar = Bar(TerminalBar::parts());
    let report = analyse(&plan, meter.as_ref(), &bar);
    bar.0.finish();
    let report = report?;
    arguments.output.write_page(|origin| output::page(&report, origin))?;
    unless_closed(if arguments.output.json {
        print_json(&report)
    } else {
        let mut tables = vec![("Points of the catalogue", output::points(&report))];
        let own = output::own(&report);
        if !own.rows.is_empty() {
            tables.push(("Points of this machine", own));
        }
        print(&tables, &report.notes)
    })?;
    Ok(CommandStatus::Done)
}
