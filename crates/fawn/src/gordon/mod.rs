//! `fawn gordon`: flash arrays, disks and whole nodes that nobody has built, simulated.
//!
//! Arguments and files are here, the models in `fawn-gordon`.

mod store;

use clap::{Args, Subcommand};

use crate::outcome::CommandStatus;

/// Arguments of `fawn gordon`.
#[derive(Debug, Args)]
pub struct GordonArguments {
    /// What to simulate.
    #[command(subcommand)]
    pub command: GordonCommand,
}

/// What is below `fawn gordon`.
#[derive(Debug, Subcommand)]
pub enum GordonCommand {
    /// Run FAWN's store on a simulated drive: bytes programmed per byte put, years, joules and latency
    Store(Box<store::Arguments>),
}

/// Runs it.
///
/// # Errors
/// What each subcommand says.
pub fn run(arguments: &GordonArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        GordonCommand::Store(arguments) => store::run(arguments),
    }
}
