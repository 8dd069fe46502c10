//! `fawn store`: a look into a store that no process has open.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, Subcommand};

use crate::Outcome;

/// Arguments of `fawn store`.
#[derive(Debug, Args)]
pub struct StoreArguments {
    /// What to look at.
    #[command(subcommand)]
    pub command: StoreCommand,
}

/// The subcommands of `fawn store`.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Read everything and report damage with its file and byte offset; exit code 1 when there is any
    Check(StoreDirectory),
    /// Print what the store holds: records, bytes, segments, index size
    Stats(StoreDirectory),
    /// Print every live record as jsonl, as `fawn load` reads it
    Dump(StoreDirectory),
}

/// A store's directory.
#[derive(Debug, Args)]
pub struct StoreDirectory {
    /// Directory of the data, as given to `fawn serve --dir`
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs one of the subcommands.
pub fn run(_arguments: &StoreArguments) -> anyhow::Result<Outcome> {
    bail!("this build has no store")
}
