//! `fawn gordon`: simulated flash arrays and disks, traces on them, and recordings of this machine.
//!
//! Arguments and files are here, the simulators in `fawn-gordon`.

pub mod array;
pub mod disk;
pub mod flash;
pub mod ftl;
pub mod output;
pub mod record;
pub mod replay;
pub mod workload;

use clap::{Args, Subcommand};

use crate::outcome::CommandStatus;

/// Arguments of `fawn gordon`.
#[derive(Debug, Args)]
pub struct GordonArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: GordonCommand,
}

/// The subcommands of `fawn gordon`.
#[derive(Debug, Subcommand)]
pub enum GordonCommand {
    /// Simulate a disk: seeks, rotation, zones, buffer and queue
    Disk(Box<disk::DiskArguments>),
    /// Simulate a flash array under an FTL: bandwidth, latencies, write amplification, wear, power cuts
    Flash(Box<flash::FlashArguments>),
    /// Record what this machine does by the second, and each request to its disks
    Record(Box<record::RecordArguments>),
    /// Replay a block trace on simulated arrays and disks, beside each other, or convert it
    Replay(Box<replay::ReplayArguments>),
}

/// Carries out a subcommand.
///
/// # Errors
/// What the subcommand says.
pub fn run(arguments: &GordonArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        GordonCommand::Disk(arguments) => disk::run(arguments),
        GordonCommand::Flash(arguments) => flash::run(arguments),
        GordonCommand::Record(arguments) => record::run(arguments),
        GordonCommand::Replay(arguments) => replay::run(arguments),
    }
}
