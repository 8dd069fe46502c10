//! `fawn joule sort validate`: whether records are in order, and whether they are the same as before.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use fawn_joule::sort::checksum::Checksum;
use fawn_joule::sort::input::InputRecords;
use fawn_joule::sort::validate::{OrderSummary, validate};
use fawn_report::amount::{counted, grouped};
use serde_json::json;

use super::shape::{MOST_THREADS, ShapeArguments, threads_or_cores};
use crate::bench::output::Bar;
use crate::outcome::{CommandStatus, answer};
use crate::progress::TerminalBar;
use crate::table::print_json;
use crate::tell::{tell, unless_closed};
use crate::values::number;

/// Arguments of `fawn joule sort validate`.
#[derive(Debug, Args)]
#[command(after_help = "\
The files are read as one, in the order given. The exit code is 1 if a record is out of order, or if --checksum or \
--input shows that the records are not the same. It is 2 if the command line is wrong or something failed.

For example:
  fawn joule sort validate --checksum 2faf0ab746e89a8 sorted
  fawn joule sort validate --input input sorted-1 sorted-2")]
pub struct ValidateArguments {
    /// Files to read
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Checksum that the records must have
    #[arg(long, value_name = "HEX", conflicts_with = "input", hide_env = true)]
    pub checksum: Option<Checksum>,
    /// File that held the records before; repeat it for several
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub input: Vec<PathBuf>,
    #[command(flatten)]
    pub shape: ShapeArguments,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=MOST_THREADS))]
    pub threads: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What the records are compared with.
struct Reference {
    records: Option<u64>,
    checksum: Checksum,
}

/// Runs it.
///
/// # Errors
/// What [`fawn_joule::sort::error::SortError`] says.
pub fn run(arguments: &ValidateArguments) -> anyhow::Result<CommandStatus> {
    answer(carry_out(arguments))
}

fn carry_out(arguments: &ValidateArguments) -> anyhow::Result<CommandStatus> {
    let (shape, threads) = (arguments.shape.shape()?, threads_or_cores(arguments.threads));
    let sorted = InputRecords::open(&arguments.files, shape)?;
    let before = InputRecords::open(&arguments.input, shape)?;
    let bar = Bar(TerminalBar::parts());
    let read = || -> anyhow::Result<_> {
        let summary = validate(&sorted, threads, &bar)?;
        let expected = match (arguments.checksum, arguments.input.is_empty()) {
            (Some(checksum), _) => Some(Reference { records: None, checksum }),
            (None, true) => None,
            (None, false) => {
                let OrderSummary { records, checksum, .. } = validate(&before, threads, &bar)?;
                Some(Reference { records: Some(records), checksum })
            }
        };
        Ok((summary, expected))
    };
    let found = read();
    bar.0.finish();
    let (summary, expected) = found?;
    let faults = faults(&sorted, &summary, expected.as_ref());
    unless_closed(if arguments.json { print_as_json(&sorted, &summary, &faults) } else { print(&summary) })?;
    for fault in &faults {
        tell(format_args!("fawn: {fault}"));
    }
    Ok(if faults.is_empty() { CommandStatus::Done } else { CommandStatus::Missing })
}

/// What is wrong with the records, a sentence each.
fn faults(input: &InputRecords, summary: &OrderSummary, expected: Option<&Reference>) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(first) = summary.first_unordered {
        let (path, number) = input.place(first);
        let counted = counted(summary.unordered, "record is", "records are");
        faults.push(format!("{counted} out of order, the first: record {number} of {}", path.display()));
    }
    let Some(expected) = expected else { return faults };
    if let Some(records) = expected.records
        && records != summary.records
    {
        let (now, before) = (counted(summary.records, "record", "records"), grouped(records));
        faults.push(format!("there are {now}, and there were {before}"));
    }
    if expected.checksum != summary.checksum {
        faults.push(format!("the checksum is {}, and it was {}", summary.checksum, expected.checksum));
    }
    faults
}

fn print(summary: &OrderSummary) -> io::Result<()> {
    let OrderSummary { records, checksum, duplicate_keys, .. } = summary;
    let order = if summary.first_unordered.is_none() { "in order" } else { "not in order" };
    let records = counted(*records, "record", "records");
    writeln!(io::stdout(), "{records}, checksum {checksum}, duplicate keys {}, {order}", grouped(*duplicate_keys))
}

fn print_as_json(input: &InputRecords, summary: &OrderSummary, faults: &[String]) -> io::Result<()> {
    let first_unordered = summary.first_unordered.map(|first| {
        let (path, record) = input.place(first);
        json!({ "file": path, "record": record })
    });
    print_json(&json!({
        "records": summary.records,
        "checksum": summary.checksum.to_string(),
        "duplicate_keys": summary.duplicate_keys,
        "unordered": summary.unordered,
        "first_unordered": first_unordered,
        "faults": faults,
    }))
}
