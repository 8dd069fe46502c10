//! Arguments of `fawn config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `fawn config`.
#[derive(Debug, Args)]
pub struct ConfigArguments {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: ConfigCommand,
}

impl ConfigArguments {
    /// Whether that is `fawn config check`.
    pub fn is_check(&self) -> bool {
        matches!(self.command, ConfigCommand::Check(_))
    }
}

/// What `fawn config` does.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// List all errors in a file and in the environment, one sentence each; exit code 1 if there are any
    Check(CheckArguments),
    /// Print the effective settings of commands and the source of each value, as a configuration file
    Show(ShowArguments),
}

/// Arguments of `fawn config check`.
#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// File to check [default: that of --config]
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `fawn config show`.
#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// Commands, e.g. serve or certs-init [default: those that the file or the environment configures]
    #[arg(value_name = "COMMAND")]
    pub(super) commands: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}
