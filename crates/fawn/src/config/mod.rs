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
//! | `negative` | negative numbers on the command line |
//! | `arguments`, `check`, `show` | `fawn config` |

mod arguments;
mod check;
mod file;
mod flags;
mod merge;
mod negative;
mod problem;
mod settings;
mod show;
mod variables;

use std::path::PathBuf;

use arguments::ConfigCommand;

use crate::outcome::CommandStatus;

pub use arguments::ConfigArguments;
pub use merge::{CommandLineError, parse};
pub use problem::Problem;
pub use variables::environment;

/// Does what is asked for, with the file of `--config`.
pub fn run(arguments: &ConfigArguments, file: Option<&PathBuf>) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        ConfigCommand::Check(arguments) => check::run(arguments.file.as_ref().or(file), arguments.json),
        ConfigCommand::Show(arguments) => show::run(&arguments.commands, file, arguments.json),
    }
}
