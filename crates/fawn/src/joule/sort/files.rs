//! `fawn joule sort sort`: records sorted from files into files, and a report of what it took.

use std::path::{Path, PathBuf};

use clap::Args;
use fawn_files::links;
use fawn_joule::sort::job::{SortOptions, sort};
use fawn_joule::sort::output::Leftovers;
use fawn_joule::sort::sort_report::{report, table};
use fawn_machine::host::available_memory;

use super::shape::{MOST_THREADS, ShapeArguments, threads_or_cores};
use crate::bench::output::{Bar, print};
use crate::interrupt::tell_how_to_go_on;
use crate::joule::energy::EnergyArguments;
use crate::outcome::{CommandStatus, UsageError};
use crate::output_file::check_output;
use crate::progress::TerminalBar;
use crate::table::print_json;
use crate::tell::unless_closed;
use crate::values::{Size, number};

/// Files that the records may be divided into.
const MOST_OUTPUTS: u64 = 10_000;
/// What is taken where the system does not say how much memory there is.
const UNKNOWN_MEMORY: u64 = 256 << 20;

/// Arguments of `fawn joule sort sort`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command sorts records by the bytes of their keys. Records of equal keys stay in the order of the input. If they \
fit in --memory, with 16 bytes more for each record, one pass is enough. Otherwise sorted runs are spooled and \
merged; the spool is a file without a name, which the system removes whenever the process ends.

Reads and writes go around the page cache (O_DIRECT) if the file systems allow it. The outputs appear when all \
records are on the device, and the input is only read. An interrupted command leaves nothing behind.

The report has records as the unit of work: per CPU second, and per joule if there is a meter. `fawn bench meters` \
lists the meters of this machine.

For example, the smallest JouleSort class:
  fawn joule sort generate --ascii --records 100M input
  fawn joule sort sort input --output sorted
  fawn joule sort validate --input input sorted")]
pub struct SortArguments {
    /// Files to sort
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,
    /// File for the sorted records; repeat it for several, the least keys first
    #[arg(long, short, value_name = "FILE", required = true, hide_env = true)]
    pub output: Vec<PathBuf>,
    /// Divide the records among so many files, FILE-1, FILE-2 and so on
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=MOST_OUTPUTS), hide_env = true)]
    pub outputs: Option<u32>,
    #[command(flatten)]
    pub shape: ShapeArguments,
    /// Memory for records and buffers [default: three quarters of what the machine or the container has free]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Threads that sort and merge [default: one for each core]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=MOST_THREADS))]
    pub threads: Option<u32>,
    /// Directory for sorted runs [default: that of the first output]
    #[arg(long, value_name = "DIR", hide_env = true)]
    pub spool: Option<PathBuf>,
    #[command(flatten)]
    pub energy: EnergyArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl SortArguments {
    /// The names of all outputs.
    fn outputs(&self) -> anyhow::Result<Vec<PathBuf>> {
        let outputs = match (self.outputs, self.output.as_slice()) {
            (None, outputs) => outputs.to_vec(),
            (Some(count), [output]) => {
                // Names of one length are in order for every program.
                let digits = count.to_string().len();
                (1..=count).map(|number| links::with_suffix(output, &format!("-{number:0digits$}"))).collect()
            }
            (Some(_), _) => {
                let what = "--outputs numbers the files of one --output: give one --output, or leave --outputs out";
                return Err(UsageError(what.to_owned()).into());
            }
        };
        for (number, output) in outputs.iter().enumerate() {
            let others = self.inputs.iter().chain(&outputs[..number]).map(PathBuf::as_path);
            check_output(output, "--output", others)?;
        }
        Ok(outputs)
    }
}

/// Runs it.
///
/// # Errors
/// [`UsageError`], or what [`fawn_joule::sort::error::SortError`] says.
pub fn run(arguments: &SortArguments) -> anyhow::Result<CommandStatus> {
    let options = SortOptions {
        inputs: arguments.inputs.clone(),
        outputs: arguments.outputs()?,
        shape: arguments.shape.shape()?,
        memory: arguments.memory.map_or_else(free_memory, |memory| memory.bytes),
        threads: threads_or_cores(arguments.threads),
        spool: arguments.spool.clone(),
    };
    if let Some(directory) = options.spool.as_deref().filter(|directory| !Path::is_dir(directory)) {
        let what = format!("--spool {} is no directory: name one that exists", directory.display());
        return Err(UsageError(what).into());
    }
    let meter = arguments.energy.open()?;
    let (bar, leftovers) = (Bar(TerminalBar::parts()), Leftovers::default());
    let removed = leftovers.clone();
    tell_how_to_go_on(&bar.0, "the input is as it was, and there is no output", move || removed.remove())?;
    let outcome = sort(&options, meter.as_ref(), &bar, &leftovers);
    bar.0.finish();
    let report = report(&options, &outcome?);
    unless_closed(if arguments.json { print_json(&report) } else { print(&report, &table(&report)) })?;
    Ok(CommandStatus::Done)
}

/// Three quarters of the memory that is free.
pub fn free_memory() -> u64 {
    available_memory().map_or(UNKNOWN_MEMORY, |free| free / 4 * 3)
}
