//! What the system says of CPU time: of other processes, and of the whole machine.

use std::fs;
use std::io::{Error, ErrorKind};
use std::thread;
use std::time::{Duration, Instant};

use fawn_report::Watch;

use crate::error::LoadgenError;

/// CPU time of processes so far, all threads, those that have ended too, in microseconds; at least as fine as two ticks of the
/// system, 20 ms, and finer while no thread ends.
///
/// # Errors
/// [`LoadgenError::Process`].
pub fn processes_cpu_us(pids: &[u32]) -> Result<f64, LoadgenError> {
    pids.iter().map(|pid| process_cpu_us(*pid).map_err(|source| LoadgenError::Process { pid: *pid, source })).sum()
}

/// Processes that take less than this of a processor each, over two such times in a row, have nothing left to do.
const IDLE_SHARE: f64 = 0.05;
/// How long it is looked what they take.
const IDLE_LOOK: Duration = Duration::from_millis(200);

/// Waits until processes rest, as a load leaves seals and merges behind; whether they do within this time. Without
/// processes there is nothing to wait for.
///
/// # Errors
/// [`LoadgenError::Process`].
pub fn wait_until_idle(pids: &[u32], within: Duration, watch: &dyn Watch) -> Result<bool, LoadgenError> {
    let (began, mut idle) = (Instant::now(), 0);
    while idle < 2 && !pids.is_empty() {
        watch.progress(0, 1, "waiting until the servers have finished the load");
        let (before, since) = (processes_cpu_us(pids)?, Instant::now());
        thread::sleep(IDLE_LOOK);
        let share = (processes_cpu_us(pids)? - before) / since.elapsed().as_micros() as f64;
        idle = if share < IDLE_SHARE * pids.len() as f64 { idle + 1 } else { 0 };
        if began.elapsed() > within {
            return Ok(false);
        }
    }
    Ok(true)
}

fn process_cpu_us(pid: u32) -> Result<f64, Error> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let ticks =
        ticks(&text).ok_or_else(|| Error::new(ErrorKind::InvalidData, "the system reports it in another form"))?;
    let us = ticks as f64 * 1e6 / rustix::param::clock_ticks_per_second() as f64;
    // Neither is too much: ticks are rounded down, and threads that have ended are missing below.
    Ok(us.max(threads_cpu_us(pid).unwrap_or_default()))
}

/// CPU time of the threads that a process has now, microseconds; `None` where the system does not tell.
fn threads_cpu_us(pid: u32) -> Option<f64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let texts = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    texts.map(|text| Some(text.split_ascii_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e3)).sum()
}

/// User and system time of a line of `/proc/PID/stat`.
fn ticks(text: &str) -> Option<u64> {
    // The name, in brackets, may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// What all processors together did so far, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCpu {
    /// Computing, for this system or for others of the host.
    busy: u64,
    /// Of this, for others of the host.
    stolen: u64,
    total: u64,
}

impl HostCpu {
    /// So far; `None` where the system does not tell.
    pub fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        // user, nice, system, idle, iowait, irq, softirq, steal; what follows is part of user and nice.
        let fields: Vec<u64> = line.split_ascii_whitespace().take(8).filter_map(|field| field.parse().ok()).collect();
        let (total, idle) = (fields.iter().sum::<u64>(), fields.get(3)? + fields.get(4)?);
        Some(Self { busy: total - idle, stolen: *fields.get(7)?, total })
    }

    /// CPU time since `before`, microseconds; and the share of all time that was stolen.
    pub fn since(&self, before: &Self) -> (f64, f64) {
        let busy = self.busy.saturating_sub(before.busy) as f64;
        let stolen = self.stolen.saturating_sub(before.stolen) as f64;
        let total = self.total.saturating_sub(before.total).max(1) as f64;
        (busy * 1e6 / rustix::param::clock_ticks_per_second() as f64, stolen / total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_be_called_anything() {
        let line = "42 (a) b) S 1 42 42 0 -1 4194304 100 0 0 0 250 150 0 0 20 0 3 0 1000 1 2 3";
        assert_eq!(ticks(line), Some(400));
        assert_eq!(ticks("42 (a) S 1"), None);
    }

    #[test]
    fn the_machine_s_time_is_told_apart() {
        let at = |text| HostCpu::parse(text).unwrap();
        let before = at("cpu  100 0 50 1000 10 0 5 5 0 0\ncpu0 1 2\n");
        let after = at("cpu  150 0 70 1100 10 0 5 25 0 0\n");
        let (busy_us, stolen) = after.since(&before);
        assert!((busy_us - 0.9e6).abs() < 1.0 && (stolen - 20.0 / 190.0).abs() < 1e-9, "{busy_us} {stolen}");
    }

    #[test]
    fn a_process_that_rests_is_not_awaited_for_long_and_none_not_at_all() {
        let long = Duration::from_mins(1);
        let began = Instant::now();
        assert!(wait_until_idle(&[], long, &fawn_report::Nobody).unwrap());
        assert!(began.elapsed() < IDLE_LOOK);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(wait_until_idle(&[child.id()], long, &fawn_report::Nobody).unwrap());
        assert!((2 * IDLE_LOOK..long).contains(&began.elapsed()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_a_process_took_since_it_began_is_seen_although_it_is_less_than_a_tick() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        thread::sleep(Duration::from_millis(50));
        let (threads, all) = (threads_cpu_us(child.id()), process_cpu_us(child.id()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        // A kernel may be built without.
        assert!(threads.is_none_or(|us| us > 0.0 && us <= all), "{threads:?}, {all}");
    }

    #[test]
    fn our_own_time_rises_and_a_process_that_is_not_there_is_named() {
        let own = std::process::id();
        let before = processes_cpu_us(&[own, own]).unwrap();
        let began = fawn_machine::process::cpu_us();
        while fawn_machine::process::cpu_us() - began < 60_000.0 {}
        assert!(processes_cpu_us(&[own, own]).unwrap() - before >= 80_000.0);
        let error = processes_cpu_us(&[u32::MAX]).unwrap_err().to_string();
        assert!(error.contains("process 4294967295"), "{error}");
    }
}
