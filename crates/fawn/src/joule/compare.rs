//! `fawn joule compare`: machines beside each other.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use fawn_files::links;
use fawn_joule::compare::MachineComparison;
use fawn_joule::results::SuiteResults;

use super::output::{SuiteOutputArguments, print};
use crate::outcome::{CommandStatus, UsageError};
use crate::output_file::{check_output, create};
use crate::table::print_json;
use crate::tell::unless_closed;

/// Arguments of `fawn joule compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command compares machines by the work that at least two of them have done, e.g. records sorted per joule. It names \
the machine that does more, and whether the errors of the meters leave that open. Joules that were measured, modelled and \
read by hand are shown with their kind and not compared with each other. Nor are joules of different scopes: the package, \
the board, the wall.

For example:
  fawn joule compare board.json server.json --page compare.html")]
pub struct CompareArguments {
    /// Files that `fawn joule all --out` has written, one for each machine
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    pub files: Vec<PathBuf>,
    /// Write the figures as comma-separated values
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub csv: Option<PathBuf>,
    #[command(flatten)]
    pub output: SuiteOutputArguments,
}

/// Compares.
///
/// # Errors
/// [`UsageError`], a file has no results, or a result cannot be written.
pub fn run(arguments: &CompareArguments) -> anyhow::Result<CommandStatus> {
    if arguments.files.len() < 2 {
        return Err(UsageError("a comparison takes two machines: name two files at least".to_owned()).into());
    }
    for (number, file) in arguments.files.iter().enumerate() {
        if arguments.files[..number].iter().any(|other| other == file || links::is_same(other, file)) {
            let twice = format!("{} is named twice: name one file for each machine", file.display());
            return Err(UsageError(twice).into());
        }
    }
    let inputs = || arguments.files.iter().map(PathBuf::as_path);
    arguments.output.check(inputs())?;
    if let Some(file) = &arguments.csv {
        check_output(file, "--csv", inputs().chain(arguments.output.page.as_deref()))?;
    }
    let results = arguments.files.iter().map(|file| read(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let comparison = MachineComparison::of(&results);
    if comparison.is_empty() {
        anyhow::bail!(
            "these machines have no work in common: measure both with the same --scale of `fawn joule all` and the same \
             release"
        );
    }
    if let Some(file) = &arguments.csv {
        let written = create(file, "--csv", [])?.write_all(comparison.csv().as_bytes());
        written.with_context(|| format!("cannot write {}", file.display()))?;
    }
    arguments.output.write_page(|origin| comparison.page(origin))?;
    unless_closed(if arguments.output.json {
        print_json(&comparison.report())
    } else {
        print(&[("", comparison.table())], comparison.notes())
    })?;
    Ok(CommandStatus::Done)
}

fn read(file: &Path) -> anyhow::Result<SuiteResults> {
    let cannot_read = || format!("cannot read {}", file.display());
    let text = fs::read_to_string(file).with_context(cannot_read)?;
    SuiteResults::parse(&text).with_context(cannot_read)
}
