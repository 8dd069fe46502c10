//! `fawn gordon`: flash arrays, disks and whole nodes, simulated; traces, and recordings of this machine.
//!
//! Arguments and files are here, the models in `fawn-gordon`.

mod array;
mod cluster;
mod cost;
mod designs;
mod disk;
mod disk_files;
mod disk_notes;
mod flash;
mod ftl;
mod output;
mod packed;
mod record;
mod recordings;
mod replay;
mod store;
mod survey;
mod typed;
mod workload;

use clap::{Args, Subcommand};

use self::typed::TypedFlags;
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

impl GordonArguments {
    /// Refuses flags that would have no effect beside the others.
    ///
    /// # Errors
    /// Which one, and why.
    pub fn check(&self, typed: &[String]) -> Result<(), String> {
        let typed = TypedFlags(typed);
        match &self.command {
            GordonCommand::Cluster(arguments) => arguments.check(&typed),
            GordonCommand::Cost(arguments) => arguments.check(&typed),
            GordonCommand::Disk(arguments) => arguments.check(&typed),
            GordonCommand::Flash(arguments) => arguments.check(&typed),
            GordonCommand::Replay(arguments) => arguments.check(&typed),
            GordonCommand::Store(arguments) => arguments.check(&typed),
            GordonCommand::Survey(arguments) => arguments.check(&typed),
            GordonCommand::Record(_) => Ok(()),
        }
    }
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
