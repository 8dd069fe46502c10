//! `fawn joule matrix`: how efficiency falls where a matrix outgrows a cache.

use std::time::Duration;

use clap::{Args, ValueEnum};
use fawn_joule::caches::CpuCache;
use fawn_joule::matrix::{MatrixPlan, PageSize, output, run as measure};
use fawn_meter::SystemRoots;

use super::energy::EnergyArguments;
use super::output::{SuiteOutputArguments, print};
use super::threads::ThreadCount;
use crate::bench::output::Bar;
use crate::outcome::{CommandStatus, UsageError};
use crate::progress::TerminalBar;
use crate::table::print_json;
use crate::tell::{tell, unless_closed};
use crate::values::{Size, decimal};

/// The share of this machine's memory that matrices take at most, unless somebody says otherwise.
const MEMORY_SHARE: u64 = 4;

/// Bytes of an element.
const ELEMENT_BYTES: u64 = 8;

/// A size of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PagesArgument {
    /// Pages of the usual size
    Base,
    /// Huge pages, as far as the kernel gives them
    Huge,
}

/// Arguments of `fawn joule matrix`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command multiplies a transposed matrix by a vector, over and over, for matrices from half of the first cache to \
four times the last one. It prints KFLOPS per watt, or multiplications per CPU second if there is no meter.

For example:
  fawn joule matrix --page matrix.html
  fawn joule matrix --threads all --watts 9.7 --idle-watts 2.8
The second one takes watts that you read off a plug while the command runs with all threads. Watts of one thread differ, \
so run --threads 1 by itself.

The exit code is 1 if the compiler interchanged the loops, because the curve then shows no caches. See operations/joules \
in the book.")]
pub struct MatrixArguments {
    /// Numbers of threads, one after the other
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,all")]
    pub threads: Vec<ThreadCount>,
    /// Pages that hold the matrix, one kind after the other
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "base,huge")]
    pub pages: Vec<PagesArgument>,
    /// Seconds of each point
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = decimal(0.001..=3600.0))]
    pub seconds: f64,
    /// Size of the smallest matrix [default: half of the first cache]
    #[arg(long, value_name = "SIZE")]
    pub smallest: Option<Size>,
    /// Size of the largest matrix [default: four times the last cache]
    #[arg(long, value_name = "SIZE")]
    pub largest: Option<Size>,
    #[command(flatten)]
    pub energy: EnergyArguments,
    #[command(flatten)]
    pub output: SuiteOutputArguments,
}

/// Measures.
///
/// # Errors
/// [`UsageError`], or what the measurement says.
pub fn run(arguments: &MatrixArguments) -> anyhow::Result<CommandStatus> {
    arguments.output.check([])?;
    let (plan, left_out) = arguments.plan()?;
    let meter = arguments.energy.open()?;
    arguments.energy.check_one_load(&plan.threads)?;
    let bar = Bar(TerminalBar::parts());
    let measured = measure(&plan, meter.as_ref(), &bar);
    bar.0.finish();
    let mut sweep = measured?;
    sweep.report.notes.extend(left_out);
    arguments.output.write_page(|origin| output::page(&sweep, &plan.caches, origin))?;
    unless_closed(if arguments.output.json {
        print_json(&sweep.report)
    } else {
        print(&[(output::heading(&sweep), output::table(&sweep))], &sweep.report.notes)
    })?;
    match sweep.check.filter(|check| !check.passed) {
        Some(check) => {
            tell(format_args!("fawn: {}", check.describe()));
            Ok(CommandStatus::Missing)
        }
        None => Ok(CommandStatus::Done),
    }
}

impl MatrixArguments {
    /// What to measure, and a note if the largest sizes are left out.
    pub(super) fn plan(&self) -> anyhow::Result<(MatrixPlan, Option<String>)> {
        let caches = CpuCache::all(&SystemRoots::under(&self.energy.meter.meter_root).sys);
        let (first, last) = (caches.first().map(|cache| cache.bytes), caches.last().map(|cache| cache.bytes));
        let smallest = self.smallest.map(|size| size.bytes).or_else(|| first.map(|bytes| bytes / 2));
        let mut left_out = None;
        let usual = last.map(|bytes| {
            let (wanted, most) = (4 * bytes, fawn_machine::memory().amount / MEMORY_SHARE);
            if wanted > most {
                left_out = Some(format!(
                    "matrices larger than a quarter of this machine's memory are left out: --largest {} has them",
                    Size { bytes: wanted }.flag()
                ));
            }
            wanted.min(most)
        });
        if self.largest.is_some() {
            left_out = None;
        }
        let largest = self.largest.map(|size| size.bytes).or(usual);
        let (Some(smallest_bytes), Some(largest_bytes)) = (smallest, largest) else {
            let unknown = "this system does not tell its caches: give --smallest and --largest, e.g. 16K and 64M";
            return Err(UsageError(unknown.to_owned()).into());
        };
        let refused = |what: &str| Err(UsageError(what.to_owned()).into());
        if smallest_bytes < ELEMENT_BYTES {
            return refused("the smallest matrix has one element, of 8 bytes: give --smallest 8 or more");
        }
        if smallest_bytes > largest_bytes {
            return refused(
                "no matrix is between --smallest and --largest: give a larger --largest or a smaller --smallest",
            );
        }
        let mut pages: Vec<PageSize> = Vec::new();
        for page in &self.pages {
            let page = if *page == PagesArgument::Base { PageSize::Base } else { PageSize::Huge };
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
        let threads = ThreadCount::resolve(&self.threads);
        let time = Duration::from_secs_f64(self.seconds);
        Ok((MatrixPlan { threads, pages, time, smallest_bytes, largest_bytes, caches }, left_out))
    }
}
