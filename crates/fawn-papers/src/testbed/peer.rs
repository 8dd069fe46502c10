//! A program of others that does the same work: what it takes of time, memory and energy.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fawn_joule::Cost;
use fawn_loadgen::system::processes_cpu_us;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::error::Error;
use crate::run::Run;

/// Between two looks at its memory.
const LOOK: Duration = Duration::from_millis(2);

/// What a program took.
#[derive(Clone, Debug)]
pub struct PeerCost {
    /// Time, CPU time to a tick of the system, and energy.
    pub cost: Cost,
    /// Its resident memory at most, bytes, as far as it was seen every few milliseconds; `None`: the system does not say.
    pub most_bytes: Option<u64>,
    /// What it printed.
    pub printed: String,
}

/// The program of this name in these directories, as in `PATH`.
pub fn find(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    path.into_iter().flat_map(std::env::split_paths).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// What a program says of its version: the first line; `None`: it cannot be run.
pub fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

/// Runs a program to its end, with bytes as characters, and metered where there is a meter. One that finds nothing ends with 1, as
/// grep does, and has not failed.
///
/// # Errors
/// It cannot be run, it fails, or the meter does.
pub fn run_metered(run: &Run<'_>, mut command: Command) -> Result<PeerCost, Error> {
    let program = PathBuf::from(command.get_program());
    let (out, log) = (run.dir.join("peer.out"), run.dir.join("peer.log"));
    let create = |path: &Path| File::create(path).map_err(Error::io(path));
    command.stdin(Stdio::null()).stdout(create(&out)?).stderr(create(&log)?).env("LC_ALL", "C");
    let metering = fawn_meter::start(run.tools.meter.as_ref())?;
    let began = Instant::now();
    let mut child = command.spawn().map_err(Error::io(&program))?;
    let most_bytes = until_it_ends(&child);
    let seconds = began.elapsed().as_secs_f64();
    // Before it is waited for, the system still knows what it took.
    let cpu_us = processes_cpu_us(&[child.id()]);
    let status = child.wait().map_err(Error::io(&program))?;
    let energy = fawn_meter::stop(metering)?;
    let cost = Cost { seconds, cpu_seconds: cpu_us? / 1e6, energy };
    if !matches!(status.code(), Some(0 | 1)) {
        let said = fs::read_to_string(&log).unwrap_or_default();
        let what = format!("{status}: {}", said.lines().last().unwrap_or("it says nothing"));
        return Err(Error::Program { program, what });
    }
    let printed = fs::read(&out).map_err(Error::io(&out))?;
    Ok(PeerCost { cost, most_bytes, printed: String::from_utf8_lossy(&printed).into_owned() })
}

/// Waits until it has ended, and leaves it to be waited for; the most memory that it had.
fn until_it_ends(child: &Child) -> Option<u64> {
    let status = format!("/proc/{}/status", child.id());
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    let flags = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let mut most = None;
    // An error means that nothing is left to wait for.
    while let Ok(None) = waitid(WaitId::Pid(pid), flags) {
        let seen = fs::read_to_string(&status).ok().and_then(|text| resident(&text));
        most = most.max(seen);
        std::thread::sleep(LOOK);
    }
    most
}

/// The most resident memory, bytes, that a `/proc/PID/status` has.
fn resident(text: &str) -> Option<u64> {
    let rest = text.split_once("\nVmHWM:")?.1.trim_start();
    rest.split_once(" kB")?.0.parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use fawn_bench::DeviceReader;
    use fawn_report::Nobody;

    use super::*;
    use crate::run::{Scale, Tools};

    fn shell(script: &str) -> Result<PeerCost, Error> {
        let dir = tempfile::tempdir().unwrap();
        let tools = Tools {
            fawn: "fawn".into(),
            peers: None,
            device: DeviceReader::Own,
            meter: None,
            traces: crate::GordonTraces::Synthetic,
        };
        let run = Run { scale: Scale::Tiny, dir: dir.path().to_owned(), tools: &tools, watch: &Nobody };
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run_metered(&run, command)
    }

    #[test]
    fn a_program_costs_its_own_cpu_time_and_memory() {
        let cost = shell("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; echo $i").unwrap();
        assert_eq!(cost.printed, "300000\n");
        assert!(cost.cost.cpu_seconds > 0.0 && cost.cost.seconds > 0.0 && cost.cost.energy.is_none(), "{cost:?}");
        assert!(cost.most_bytes.is_some_and(|bytes| bytes > 100 << 10), "{cost:?}");
    }

    #[test]
    fn a_program_that_finds_nothing_has_not_failed_and_another_has() {
        assert_eq!(shell("exit 1").unwrap().printed, "");
        let error = shell("echo no room >&2; exit 2").unwrap_err().to_string();
        assert!(error.contains("no room") && error.contains("sh") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn programs_are_sought_where_the_shell_looks() {
        let dir = tempfile::tempdir().unwrap();
        let path = Some(dir.path().as_os_str());
        assert_eq!((find("rg", path), find("rg", None)), (None, None));
        fs::write(dir.path().join("rg"), "").unwrap();
        assert_eq!(find("rg", path), Some(dir.path().join("rg")));
    }
}
