//! `fawn joule sort`: the sort benchmark's records, generated, sorted and validated.

pub mod files;
mod generate;
mod shape;
mod validate;

use clap::{Args, Subcommand};

use crate::outcome::CommandStatus;

/// Arguments of `fawn joule sort`.
#[derive(Debug, Args)]
pub struct JouleSortArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: JouleSortCommand,
}

/// The subcommands of `fawn joule sort`.
#[derive(Debug, Subcommand)]
pub enum JouleSortCommand {
    /// Generate the benchmark's records, and print their checksum
    Generate(generate::GenerateArguments),
    /// Sort records from files into files, and report what it took
    Sort(Box<files::SortArguments>),
    /// Check the order and the checksum of records
    Validate(validate::ValidateArguments),
}

/// Carries out a subcommand.
///
/// # Errors
/// What the subcommand says.
pub fn run(arguments: &JouleSortArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        JouleSortCommand::Generate(arguments) => generate::run(arguments),
        JouleSortCommand::Sort(arguments) => files::run(arguments),
        JouleSortCommand::Validate(arguments) => validate::run(arguments),
    }
}
