//! Running other programs at the root of the workspace.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// The root of the workspace: that of the checkout that the current directory is in, else the one that this was built in.
pub fn root() -> PathBuf {
    let current = std::env::current_dir().unwrap_or_default();
    let checkout = current.ancestors().find(|directory| directory.join("xtask/Cargo.toml").is_file());
    let built_in = || Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a directory in the workspace");
    checkout.unwrap_or_else(built_in).to_owned()
}

/// Runs cargo with some environment; its output goes where ours goes.
///
/// # Errors
/// It cannot be started or fails.
pub fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
    shown(cargo_command().args(arguments).envs(environment.iter().copied()))
}

/// Cargo, the one that runs us if it does. It does not get what that one says of our package: build scripts that watch it, as
/// ring's does, would be run again, and much compiled again, each time that another package's program calls Cargo.
pub fn cargo_command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let is_of_our_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_of_our_package)) {
        command.env_remove(name);
    }
    command
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

/// Runs a program at the root of the workspace; its output goes where ours goes.
///
/// # Errors
/// It cannot be started or fails.
pub fn shown(command: &mut Command) -> anyhow::Result<()> {
    let status = command.current_dir(root()).status();
    let status = status.with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if status.success() { Ok(()) } else { bail!("`{}` failed", words(command)) }
}

/// What a program prints that runs at the root of the workspace.
///
/// # Errors
/// It cannot be started or fails.
pub fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.current_dir(root()).output();
    let output = output.with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", words(command), String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` printed no text", words(command)))
}

/// The program and its arguments, for a person.
fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
