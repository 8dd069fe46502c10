//! `fawn gordon`: flash arrays, disks and whole nodes that nobody has built, simulated.
//!
//! Arguments and files are here, the models in `fawn-gordon`.

mod cluster;
mod cost;
mod designs;
mod recordings;
mod survey;

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
    /// Simulate a recorded workload on a cluster of one kind of node: time, energy, and what limits
    Cluster(Box<cluster::Arguments>),
    /// Compute what storing, copying and moving data costs on flash, memory and disks
    Cost(Box<cost::Arguments>),
    /// Compare many kinds of nodes on recorded workloads by time, energy and price
    Survey(Box<survey::Arguments>),
}

/// Runs it.
///
/// # Errors
/// What each subcommand says.
pub fn run(arguments: &GordonArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        GordonCommand::Cluster(arguments) => cluster::run(arguments),
        GordonCommand::Cost(arguments) => cost::run(arguments),
        GordonCommand::Survey(arguments) => survey::run(arguments),
    }
}
