//! `fawn joule`: the energy suite, in work per joule.
//!
//! Arguments, files and tables are here, the workloads in `fawn-joule`.

mod phrases;

use clap::{Args, Subcommand};

use self::phrases::PhrasesArguments;
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
    /// Count how often each of many phrases occurs in texts, or print the lines that have one
    Phrases(Box<PhrasesArguments>),
}

/// Carries out a subcommand.
///
/// # Errors
/// What the subcommand says.
pub fn run(arguments: &JouleArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        JouleCommand::Phrases(arguments) => phrases::run(arguments),
    }
}
