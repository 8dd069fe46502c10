//! `fawn gordon`: flash arrays, disks and whole nodes, simulated; traces, and recordings of this machine.
//!
//! Arguments and files are here, the models in `fawn-gordon`.

pub mod array;
mod cluster;
mod cost;
mod designs;
pub mod disk;
mod disk_notes;
pub mod flash;
pub mod ftl;
pub mod output;
pub mod record;
mod recordings;
pub mod replay;
mod store;
mod survey;
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
    /// Simulate a recorded workload on a cluster of one kind of node: time, energy, and what limits
    Cluster(Box<cluster::ClusterSimulationArguments>),
    /// Compute what storing, copying and moving data costs on flash, memory and disks
    Cost(Box<cost::CostArguments>),
    /// Simulate a disk: seeks, rotation, zones, buffer and queue
    Disk(Box<disk::DiskArguments>),
    /// Simulate a flash array under an FTL: bandwidth, latencies, write amplification, wear, power cuts
    Flash(Box<flash::FlashArguments>),
    /// Record what this machine does by the second, and each request to its disks
    Record(Box<record::RecordArguments>),
    /// Replay a block trace on simulated arrays and disks, beside each other, or convert it
    Replay(Box<replay::ReplayArguments>),
    /// Run FAWN's store on a simulated drive: bytes programmed per byte put, years, joules and latency
    Store(Box<store::StoreTrialArguments>),
    /// Compare many kinds of nodes on recorded workloads by time, energy and price
    Survey(Box<survey::SurveyArguments>),
}

/// Carries out a subcommand.
///
/// # Errors
/// What the subcommand says.
pub fn run(arguments: &GordonArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        GordonCommand::Cluster(arguments) => cluster::run(arguments),
        GordonCommand::Cost(arguments) => cost::run(arguments),
        GordonCommand::Disk(arguments) => disk::run(arguments),
        GordonCommand::Flash(arguments) => flash::run(arguments),
        GordonCommand::Record(arguments) => record::run(arguments),
        GordonCommand::Replay(arguments) => replay::run(arguments),
        GordonCommand::Store(arguments) => store::run(arguments),
        GordonCommand::Survey(arguments) => survey::run(arguments),
    }
}
