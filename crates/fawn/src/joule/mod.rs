//! `fawn joule`: the energy suite, in work per joule.
//!
//! Arguments, files and tables are here, the workloads in `fawn-joule`.

mod sort;

use clap::{Args, Subcommand};

use crate::outcome::CommandStatus;

/// Arguments of `fawn joule`.
#[derive(Debug, Args)]
pub struct JouleArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: JouleCommand,
}

/// The subcommands of `fawn joule`.
#[derive(Debug, Subcommand)]
pub enum JouleCommand {
    /// Sort records from file to file: generate, sort, validate
    Sort(sort::JouleSortArguments),
}

/// Carries out a subcommand.
///
/// # Errors
/// What the subcommand says.
pub fn run(arguments: &JouleArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        JouleCommand::Sort(arguments) => sort::run(arguments),
    }
}
