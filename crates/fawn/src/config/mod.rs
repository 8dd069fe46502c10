//! Flags that are not on the command line: from the environment and from a file.
//!
//! Nothing here knows any flag: what there is, is read from `clap`'s description of the commands, so that each flag of each
//! command can be configured. One rule for all, for a command `node drain` with a flag `--some-flag`:
//!
//! | where | name | for |
//! |---|---|---|
//! | command line | `--some-flag VALUE`; a switch also as `--some-flag=false` | this run |
//! | environment | `FAWN_NODE_DRAIN_SOME_FLAG` | this command |
//! | environment | `FAWN_SOME_FLAG` | every command that has the flag |
//! | file | `some-flag = VALUE` in `[node-drain]` | this command |
//! | file | `some-flag = VALUE` before all tables, or in `[common]` | every command that has the flag |
//! | default | | |
//!
//! The first that is there counts. What is found is appended to the arguments of the command line (before a `--`), which
//! then are parsed as if all had been written there: one way to check, one to refuse.
//!
//! # Layout
//!
//! | module | what it is |
//! |---|---|
//! | `flags` | the sections of a file and their keys, from `clap` |
//! | `file` | a file as entries with their lines |
//! | `variables` | the environment, without what is set for services of the name |
//! | `settings` | which value counts, and where it is from |
//! | `problem` | what is wrong, in a sentence |
//! | `merge` | the command line with what is configured |
//! | `check`, `show` | `fawn config` |

mod check;
mod file;
mod flags;
mod merge;
mod problem;
mod settings;
mod show;
mod variables;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::outcome::Outcome;

pub use merge::{Refused, parse};
pub use problem::Problem;
pub use variables::environment;

/// Arguments of `fawn config`.
#[derive(Debug, Args)]
pub struct ConfigArguments {
    /// What to do.
    #[command(subcommand)]
    command: ConfigCommand,
}

impl ConfigArguments {
    /// Whether that is `fawn config check`.
    pub fn is_check(&self) -> bool {
        matches!(self.command, ConfigCommand::Check(_))
    }
}

/// What `fawn config` does.
#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// List all errors in a file and in the environment, one sentence each; exit code 1 if there are any
    Check(CheckArguments),
    /// Print the effective settings of commands and the source of each value, as a configuration file
    Show(ShowArguments),
}

/// Arguments of `fawn config check`.
#[derive(Debug, Args)]
struct CheckArguments {
    /// File to check [default: that of --config]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Arguments of `fawn config show`.
#[derive(Debug, Args)]
struct ShowArguments {
    /// Commands, e.g. serve or certs-init [default: those that the file or the environment configures]
    #[arg(value_name = "COMMAND")]
    commands: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Does what is asked for, with the file of `--config`.
pub fn run(arguments: &ConfigArguments, file: Option<&PathBuf>) -> anyhow::Result<Outcome> {
    match &arguments.command {
        ConfigCommand::Check(arguments) => check::run(arguments.file.as_ref().or(file), arguments.json),
        ConfigCommand::Show(arguments) => show::run(&arguments.commands, file, arguments.json),
    }
}
