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
    cargo(&build, &[])?;
    let mut rest = arguments.rest.clone();
    if arguments.upgrade {
        rest.splice(0..0, [OsString::from("--from"), previous(&build, arguments.release)?.into_os_string()]);
    }
    become_cargo_run(&[&["--package", "fawn-trial"], release].concat(), &rest)
}

/// Builds what is to others as the release before this one, in a directory of its own.
fn previous(build: &[&str], is_release: bool) -> anyhow::Result<PathBuf> {
    let target = PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| root().join("target").into()));
    let target = root().join(target).join("previous");
    let dir = target.to_str().context("the target directory's name is no text")?;
    cargo(&[build, &["--features", "previous-version", "--target-dir", dir]].concat(), &[])?;
    Ok(target.join(if is_release { "release" } else { "debug" }).join("fawn"))
}
