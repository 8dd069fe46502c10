//! `fawn joule`: the energy suite, in work per joule.
//!
//! Arguments, files and tables are here, the workloads in `fawn-joule`.

mod all;
mod compare;
mod crypto;
pub mod energy;
mod fixed;
mod kv;
mod matrix;
mod output;
mod phrases;
mod sort;
mod threads;

use clap::{Args, Subcommand};

use self::all::AllArguments;
use self::compare::CompareArguments;
use self::crypto::CryptoArguments;
use self::fixed::FixedArguments;
use self::kv::KvArguments;
use self::matrix::MatrixArguments;
use self::phrases::PhrasesArguments;
pub use self::phrases::with_cache_of_this_machine;
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
    /// Run every workload at one size, and keep the results for a comparison
    All(Box<AllArguments>),
    /// Put machines beside each other: who does more of which work per joule
    Compare(Box<CompareArguments>),
    /// Multiply matrices of growing sizes: work per joule as they outgrow the caches
    Matrix(Box<MatrixArguments>),
    /// Compute digests and signatures: work per joule, with openssl beside it
    Crypto(Box<CryptoArguments>),
    /// Show what fixed power costs processors, machines and this one
    Fixed(Box<FixedArguments>),
    /// Query servers of keys and values: work per joule at capacity, quality of service per joule over load
    Kv(Box<KvArguments>),
    /// Sort records from file to file: generate, sort, validate
    Sort(sort::JouleSortArguments),
    /// Count how often each of many phrases occurs in texts, or print the lines that have one
    Phrases(Box<PhrasesArguments>),
}

/// Carries out a subcommand.
///
/// # Errors
/// What the subcommand says.
pub fn run(arguments: &JouleArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        JouleCommand::All(arguments) => all::run(arguments),
        JouleCommand::Compare(arguments) => compare::run(arguments),
        JouleCommand::Matrix(arguments) => matrix::run(arguments),
        JouleCommand::Crypto(arguments) => crypto::run(arguments),
        JouleCommand::Fixed(arguments) => fixed::run(arguments),
        JouleCommand::Kv(arguments) => kv::run(arguments),
        JouleCommand::Sort(arguments) => sort::run(arguments),
        JouleCommand::Phrases(arguments) => phrases::run(arguments),
    }
}
