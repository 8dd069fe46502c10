//! Running other programs at the root of the workspace.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

/// The root of the workspace.
pub fn root() -> PathBuf {
    let xtask = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is a directory in the workspace").to_owned()
}

/// Runs cargo with some environment; its output goes where ours goes.
///
/// # Errors
/// It cannot be started or fails.
pub fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
    let mut command = cargo_command();
    let status = command.args(arguments).envs(environment.iter().copied()).current_dir(root()).status();
    let status = status.context("cannot start cargo")?;
    if status.success() { Ok(()) } else { bail!("`cargo {}` failed", arguments.join(" ")) }
}

fn cargo_command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Becomes a program of the workspace, which cargo builds first: its exit code and its signals are ours. It stays in this
/// directory, from which files are named.
///
/// # Errors
/// Cargo cannot be started. It does not return otherwise.
pub fn become_cargo_run(
    options: &[&str],
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<()> {
    let mut command = cargo_command();
    command.args(["run", "--quiet", "--manifest-path"]).arg(root().join("Cargo.toml")).args(options);
    Err(command.arg("--").args(arguments).exec()).context("cannot start cargo")
}

/// Runs a program; its output goes where ours goes.
///
/// # Errors
/// It cannot be started or fails.
pub fn shown(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(program).args(arguments).current_dir(root()).status();
    let status = status.with_context(|| format!("cannot start {program}"))?;
    if status.success() { Ok(()) } else { bail!("`{program} {}` failed", arguments.join(" ")) }
}

/// What a program prints.
///
/// # Errors
/// It cannot be started or fails.
pub fn output(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(arguments).current_dir(root()).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("`{program} {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("{program} printed no text"))
}
