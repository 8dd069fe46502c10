//! The `fawn` command.
//!
//! # Layout
//!
//! | module | what it is |
//! |---|---|
//! | `command` | every subcommand and its arguments |
//! | `config` | flags from the environment and from a file |
//! | `values` | argument types: sizes, durations, acknowledgement modes |
//! | `serve` | one store, alone |
//! | `node` | processes of a cluster |
//! | `gateway` | a process that serves HTTP alone |
//! | `local_cluster` | a whole cluster in one process |
//! | `observe` | logs, and the admin port |
//! | `cluster` | managers, members that leave, settings, the status |
//! | `store_command` | a store at rest: check, stats, dump |
//! | `bench` | a store, measured, and servers over a network |
//! | `plan` | how many nodes, and what they cost |
//! | `gordon` | simulated flash, disks and nodes; traces and recordings of this machine |
//! | `joule` | the energy suite: workloads in work per joule |
//! | `certs` | a cluster's certificates |
//! | `load`, `dump`, `keys` | the commands that are clients; `connect` says how they reach a server |
//! | `summary` | what a load or a dump has come to, for people and as JSON |
//! | `outcome` | what a command comes to |
//! | `output_file` | files that results are written into |
//! | `resources` | what is taken of the machine where nobody says how much |
//! | `interrupt` | Ctrl-C where much was done |
//! | `progress`, `transfer_ui` | a bar on a terminal |
//! | `table` | tables on a terminal |
//! | `tell` | standard error and output without a reader |
//!
//! Exit codes: 0 when everything asked for was done, 1 when something failed or was not found, 2 when the command line
//! or the configuration is wrong. Where 1 is an answer, e.g. that no phrase occurs, a failure is 2, too. A load, a dump or a
//! benchmark that a signal ends says how to go on, and gives 128 and the signal's number: 130 for Ctrl-C, 143 for SIGTERM,
//! 129 for SIGHUP.

#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)] // see `tell`

mod allocator;
mod bench;
mod certs;
mod cluster;
mod command;
mod config;
mod connect;
mod consistency;
mod dump;
mod gateway;
mod gordon;
mod interrupt;
mod joule;
mod keys;
mod load;
mod local_cluster;
mod node;
mod observe;
mod outcome;
mod output_file;
mod plan;
mod progress;
mod resources;
mod serve;
mod shell;
mod store_command;
mod summary;
mod table;
mod tell;
mod transfer_ui;
mod values;

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use command::{Command, Fawn};
use config::CommandLineError;
use outcome::{CommandStatus, NoAnswer, UsageError};
use signal_hook::consts::SIGXFSZ;

fn main() -> ExitCode {
    allocator::give_back_soon();
    if fawn_bench::children::end_with_parent() {
        return ExitCode::FAILURE;
    }
    // What is written beyond the limit of file sizes (ulimit -f) fails, and says why, instead of ending the program.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    tell::finish_before_abort();
    // The first reading looks for the kernel's clock: while there is one thread, so that all read the same one.
    let _ = fawn_flash::clock::boot_ms();
    let fawn = match config::parse(std::env::args_os().collect(), &config::environment()) {
        Ok(fawn) => fawn,
        Err(refused) => return refuse(&refused),
    };
    warn(&fawn);
    let result = carry_out(&fawn);
    // A command that has failed before there was a log has them, too: they may be why.
    for line in observe::unsaid() {
        tell::tell(format_args!("fawn: {line}"));
    }
    tell::finish();
    match result {
        Ok(CommandStatus::Done) => ExitCode::SUCCESS,
        Ok(CommandStatus::Missing) => ExitCode::FAILURE,
        Err(error) => match error.downcast::<NoAnswer>() {
            Ok(NoAnswer(error)) => report(&fawn, &error, ExitCode::from(2)),
            Err(error) => report(&fawn, &error, ExitCode::FAILURE),
        },
    }
}

/// Says why a command failed; the exit code, which is `failed` where nothing else says it.
fn report(fawn: &Fawn, error: &anyhow::Error, failed: ExitCode) -> ExitCode {
    // The reader of our output has what it wanted (`fawn dump - | head`).
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    if let Some(UsageError(what)) = error.downcast_ref() {
        // As for `complain`.
        let _ = fawn.misused(what).print();
        return ExitCode::from(2);
    }
    complain(error);
    failed
}

/// Says what is set in the environment and means nothing: in the log of a command that has one.
fn warn(fawn: &Fawn) {
    let lines = fawn.warnings.iter().map(ToString::to_string);
    match &fawn.command {
        // They say it themselves, or take nothing from there.
        Command::Config(arguments) if arguments.is_check() => {}
        Command::Completions(_) | Command::Man(_) => {}
        Command::Serve(_) | Command::Frontend(_) | Command::Gateway(_) => observe::warn_later(lines),
        Command::Node(arguments) if arguments.command.is_none() => observe::warn_later(lines),
        Command::Manager(arguments) if arguments.command.is_none() => observe::warn_later(lines),
        _ => lines.for_each(|line| tell::tell(format_args!("fawn: {line}"))),
    }
}

/// Runs the command.
fn carry_out(fawn: &Fawn) -> anyhow::Result<CommandStatus> {
    fawn.command.check(&fawn.typed).map_err(UsageError)?;
    match &fawn.command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Node(arguments) => match &arguments.command {
            Some(command) => cluster::member::run(command),
            None => node::run(&arguments.run),
        },
        Command::Frontend(arguments) => node::run_frontend(arguments),
        Command::Gateway(arguments) => gateway::run(arguments),
        Command::Load(arguments) => load::run(arguments),
        Command::Dump(arguments) => dump::run(arguments, arguments.is_of_cluster(&fawn.typed)),
        Command::Get(arguments) => keys::get(arguments),
        Command::Set(arguments) => keys::set(arguments),
        Command::Delete(arguments) => keys::delete(arguments),
        Command::Store(arguments) => store_command::run(arguments),
        Command::Manager(arguments) => cluster::manager::run(arguments),
        Command::Status(arguments) => cluster::status::run(arguments),
        Command::Cluster(arguments) => cluster::settings::run(arguments),
        Command::Rebalance(arguments) => cluster::settings::rebalance(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Plan(arguments) => plan::run(arguments),
        Command::Gordon(arguments) => gordon::run(arguments),
        Command::Joule(arguments) => joule::run(arguments),
        Command::Certs(arguments) => certs::run(arguments),
        Command::Config(arguments) => config::run(arguments, fawn.config.as_ref()),
        Command::Completions(arguments) => shell::completions(arguments),
        Command::Man(arguments) => shell::man(arguments),
    }
}

/// Says what is wrong with the arguments, or with what stands for them elsewhere.
fn refuse(refused: &CommandLineError) -> ExitCode {
    match refused {
        CommandLineError::Usage(error, notes) => {
            // As for `complain`.
            let _ = error.print();
            for note in notes {
                tell::tell(format_args!("note: {note}"));
            }
            // Help and version are no errors.
            if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
        }
        CommandLineError::Problems(problems) => {
            for problem in problems {
                tell::tell(format_args!("fawn: {problem}"));
            }
            ExitCode::from(2)
        }
    }
}

/// Whether standard output was closed by its reader. Sockets report their broken pipes as a `ConnectionError`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
}

/// Prints `fawn: <error>: <cause>…` on standard error, the name in red on a terminal.
fn complain(error: &anyhow::Error) {
    let mut stderr = std::io::stderr().lock();
    let coloured = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let (red, plain) = if coloured { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    // Standard error is the last place to complain to: if it is closed, nobody listens.
    let _ = writeln!(stderr, "{red}fawn:{plain} {}", sentence(error));
}

/// The error with its causes, `what: why: why`, without those that it tells itself.
fn sentence(error: &anyhow::Error) -> String {
    tell::advised(error.chain().fold(String::new(), |told, cause| match cause.to_string() {
        cause if told.is_empty() => cause,
        cause if told.contains(&cause) => told,
        cause => format!("{told}: {cause}"),
    }))
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn a_cause_is_told_once() {
        let cause = std::io::Error::other("no space");
        let error = anyhow::Error::new(cause).context("cannot write a (no space)").context("giving up");
        assert_eq!(sentence(&error), "giving up: cannot write a (no space)");
        let error = anyhow::Error::new(std::io::Error::from_raw_os_error(24)).context("opening a");
        assert!(sentence(&error).ends_with("(os error 24): raise the limit of open files (ulimit -n)"));
    }
}
