//! Development tasks: `cargo xtask <task>`.
//!
//! | task | what it does |
//! |---|---|
//! | `tidy` | format, lints, documentation, and the project's own rules |
//! | `sim` | simulate clusters in which everything goes wrong |
//! | `fuzz` | every decoder on damaged inputs |
//! | `trial` | a cluster's processes under faults and load |
//! | `porcupine` | our linearizability checker and another one on the same histories |
//! | `bench-small` | the papers' experiments at a small scale, and whether all of their output is there |
//! | `ci` | `cargo test --workspace`, then `tidy` |
//!
//! Longer suites get tasks of their own here, so that everything that CI or a developer runs has one name. `command` has
//! their arguments, `sim_syntax` and `forms` what of `sim`'s goes together, `ended` the exit codes.
//!
//! The checks of `tidy`: `rules` (text), `circles`, `sizes` and `names` (structure, from what `source` and `modules` know),
//! `links`, `book`, `citations` and `sentences` (documents), `dependencies`. `exceptions` are the lists of what they let pass.

#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)] // see `tell`

mod bench;
mod book;
mod circles;
mod citations;
mod command;
mod dependencies;
mod ended;
mod exceptions;
mod forms;
mod fuzz;
mod help;
mod licence;
mod links;
mod modules;
mod names;
mod peers;
mod planted;
mod porcupine;
mod process;
mod prose;
mod renewal;
mod rules;
mod scale;
mod script;
mod seeds;
mod sentences;
mod sim;
mod sim_syntax;
mod sizes;
mod source;
mod summary;
mod tell;
mod tidy;
mod tree;
mod trial;
mod usage;

use std::process::ExitCode;

use command::Task;
use ended::TaskEnd;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    // Where nobody reads any more there is nobody to tell it.
    if !matches!(error.downcast_ref(), Some(TaskEnd::Closed)) {
        tell::tell(format_args!("xtask: {error:#}"));
    }
    ExitCode::from(ended::code(&error))
}

fn run() -> anyhow::Result<()> {
    match command::read(std::env::args_os())? {
        None => Ok(()),
        Some(Task::Tidy(arguments)) => tidy::run(&arguments),
        Some(Task::Sim(arguments)) => sim::run_task(forms::form(arguments)?),
        Some(Task::Fuzz(arguments)) => fuzz::run_task(&arguments),
        Some(Task::Porcupine(arguments)) => porcupine::run_task(&arguments),
        Some(Task::Trial(arguments)) => trial::run_task(&arguments),
        Some(Task::BenchSmall(arguments)) => bench::run_task(&arguments),
        Some(Task::Ci) => ci(),
    }
}

/// What CI runs.
fn ci() -> anyhow::Result<()> {
    process::cargo(&["test", "--workspace"], &[])?;
    tidy::run(&command::TidyArguments::default())
}
