//! Namespaces around the whole trial, so that nothing of it is left behind or seen outside, however it ends.
//!
//! The program starts itself again under `unshare`: with mounts, network and process numbers of its own, as root or as
//! the root of a user namespace. Mounts and networks go when the last process in them does, and when the first process of
//! a namespace of process numbers ends, by Ctrl-C, a panic or `kill -9`, the kernel ends all others.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::Context as _;

/// What has to be possible inside: mounts, and pairs of network devices.
const PROBE: &str = "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip netns add probe && \
    ip link add probe0 type veth peer name eth0 netns probe";

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command
}

/// Becomes this program inside of namespaces; comes back with the reason if they cannot be made.
///
/// # Errors
/// This program cannot be found or started.
pub fn enter() -> anyhow::Result<String> {
    let probe = match unshare().args(["sh", "-c", PROBE]).output() {
        Ok(probe) => probe,
        Err(error) => return Ok(format!("unshare (of util-linux) cannot be started: {error}")),
    };
    if !probe.status.success() {
        let said = String::from_utf8_lossy(&probe.stderr);
        return Ok(said.lines().next().unwrap_or("they cannot be made").to_owned());
    }
    let program = std::env::current_exe().context("this program has no file")?;
    let error = unshare().arg("--").arg(program).args(std::env::args_os().skip(1)).arg("--inside").exec();
    Err(error).context("cannot start unshare")
}
