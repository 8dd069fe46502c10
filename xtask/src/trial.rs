//! A cluster's processes under faults and load. The program is `fawn-trial`.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::command::TrialArguments;
use crate::process::{become_cargo_run, cargo, root};

/// Builds the fawn command, and becomes the trial of it: signals and exit code are the trial's.
///
/// # Errors
/// Something cannot be built or started.
pub fn run_task(arguments: &TrialArguments) -> anyhow::Result<()> {
    let release: &[&str] = if arguments.release { &["--release"] } else { &[] };
    let build = [&["build", "--quiet", "--package", "fawn"], release].concat();
    let mut rest = arguments.rest.clone();
    if arguments.upgrade {
        rest.splice(0..0, [OsString::from("--from"), previous(&build, arguments.release)?.into_os_string()]);
    }
    cargo(&build, &[])?;
    become_cargo_run(&[&["--package", "fawn-trial"], release].concat(), &rest)
}

/// Builds what is to others as the release before this one, and keeps it beside the command, which is built next: what both
/// depend on is built once.
fn previous(build: &[&str], is_release: bool) -> anyhow::Result<PathBuf> {
    let target = PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| root().join("target").into()));
    let built = root().join(target).join(if is_release { "release" } else { "debug" });
    cargo(&[build, &["--features", "previous-version"]].concat(), &[])?;
    let previous = built.join("fawn-previous");
    std::fs::copy(built.join("fawn"), &previous).with_context(|| format!("{} cannot be kept", previous.display()))?;
    Ok(previous)
}
