//! A cluster's processes under faults and load. The program is `fawn-trial`.

use crate::command::TrialArguments;
use crate::process::{become_cargo_run, cargo};

/// Builds the fawn command, and becomes the trial of it: signals and exit code are the trial's.
///
/// # Errors
/// Something cannot be built or started.
pub fn run_task(arguments: &TrialArguments) -> anyhow::Result<()> {
    let release: &[&str] = if arguments.release { &["--release"] } else { &[] };
    cargo(&[&["build", "--quiet", "--package", "fawn"], release].concat(), &[])?;
    become_cargo_run(&[&["--package", "fawn-trial"], release].concat(), &arguments.rest)
}
