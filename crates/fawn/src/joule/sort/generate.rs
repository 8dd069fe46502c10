//! `fawn joule sort generate`: a file of the benchmark's records.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use fawn_joule::sort::generate::{GeneratePlan, generate};
use fawn_joule::sort::gensort::{RECORD_BYTES, RecordText};
use fawn_joule::sort::output::Leftovers;
use fawn_report::amount::{bytes, counted};

use super::shape::{MOST_THREADS, threads_or_cores};
use crate::bench::output::Bar;
use crate::interrupt::tell_how_to_go_on;
use crate::outcome::{CommandStatus, UsageError};
use crate::progress::TerminalBar;
use crate::table::print_json;
use crate::tell::unless_closed;
use crate::values::{Count, number, parse_entries};

/// Arguments of `fawn joule sort generate`.
#[derive(Debug, Args)]
#[command(after_help = "\
The records are those of the sort benchmark's own generator, byte for byte: 100 bytes, of which the first 10 are the \
key. The command prints their checksum, which does not depend on their order. Compare it with that of the sorted \
file: `fawn joule sort validate --checksum HEX FILE`.

FILE appears when it is whole. An interrupted command leaves nothing behind.

For example, the 10 GB of the smallest JouleSort class:
  fawn joule sort generate --ascii --records 100M input")]
pub struct GenerateArguments {
    /// File to write; it is replaced if it exists
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Number of records, e.g. 100M
    #[arg(long, value_name = "N", value_parser = parse_entries, hide_env = true)]
    pub records: Count,
    /// Make records of printable characters, each a line
    #[arg(long, hide_env = true)]
    pub ascii: bool,
    /// Let three quarters of the keys share their first six bytes with many others
    #[arg(long, hide_env = true)]
    pub skewed: bool,
    /// Number of the first record
    #[arg(long, value_name = "N", default_value = "0")]
    pub first: Count,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=MOST_THREADS))]
    pub threads: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs it.
///
/// # Errors
/// [`UsageError`], or what [`fawn_joule::sort::error::SortError`] says.
pub fn run(arguments: &GenerateArguments) -> anyhow::Result<CommandStatus> {
    if arguments.first.0.checked_add(arguments.records.0).is_none() {
        let what = "the number of the last record has more than 64 bits: give a smaller --first, or fewer --records";
        return Err(UsageError(what.to_owned()).into());
    }
    let plan = GeneratePlan {
        records: arguments.records.0,
        first: arguments.first.0,
        text: if arguments.ascii { RecordText::Ascii } else { RecordText::Binary },
        is_skewed: arguments.skewed,
        threads: threads_or_cores(arguments.threads),
    };
    let (bar, leftovers) = (Bar(TerminalBar::parts()), Leftovers::default());
    let removed = leftovers.clone();
    tell_how_to_go_on(&bar.0, "nothing was generated", move || removed.remove())?;
    let totals = generate(&plan, &arguments.file, &bar, &leftovers);
    bar.0.finish();
    let totals = totals?;
    unless_closed(if arguments.json {
        print_json(&totals)
    } else {
        let size = bytes((totals.records * RECORD_BYTES as u64) as f64);
        let records = counted(totals.records, "record", "records");
        writeln!(std::io::stdout(), "generated {records} ({size}), checksum {}", totals.checksum)
    })?;
    Ok(CommandStatus::Done)
}
