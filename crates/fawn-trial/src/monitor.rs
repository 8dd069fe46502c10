//! What processes take of the machine while the trial lasts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Serialize;

/// The processes to watch, by name.
pub type WatchedProcesses = Arc<Mutex<BTreeMap<String, u32>>>;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// Looks after a process's start that do not count: it is still opening its files.
const WARM: usize = 5;

/// What a process had at one time.
#[derive(Clone, Copy, Debug)]
struct ProcessSample {
    pid: u32,
    rss_kib: u64,
    sockets: u64,
    files: u64,
    threads: u64,
}

/// Watches processes.
#[derive(Debug)]
pub struct Monitor {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<BTreeMap<String, Vec<ProcessSample>>>,
}

/// What a process took, over all its lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessUsage {
    /// Its name.
    pub name: String,
    /// Lives.
    pub lives: usize,
    /// Medians of the first and the last third of the time, and the most, in KiB.
    pub rss_kib: [u64; 3],
    /// The same of open sockets, …
    pub sockets: [u64; 3],
    /// … of all other open files, among them those of the store, …
    pub files: [u64; 3],
    /// … and of threads.
    pub threads: [u64; 3],
}

impl Monitor {
    /// Begins.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(watched: &WatchedProcesses) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (watched, until) = (Arc::clone(watched), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("monitor".to_owned()).spawn(move || watch(&watched, &until))?;
        Ok(Self { stop, thread })
    }

    /// Ends, and tells.
    pub fn stop(self) -> Vec<ProcessUsage> {
        self.stop.store(true, Ordering::Relaxed);
        let samples = self.thread.join().expect("the monitor does not panic");
        samples.into_iter().filter_map(|(name, samples)| usage(name, &samples)).collect()
    }
}

fn watch(watched: &WatchedProcesses, stop: &AtomicBool) -> BTreeMap<String, Vec<ProcessSample>> {
    let mut samples: BTreeMap<String, Vec<ProcessSample>> = BTreeMap::new();
    while !stop.load(Ordering::Relaxed) {
        let now: Vec<(String, u32)> = {
            let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
            watched.iter().map(|(name, &pid)| (name.clone(), pid)).collect()
        };
        for (name, pid) in now {
            if let Some(sample) = look(pid) {
                samples.entry(name).or_default().push(sample);
            }
        }
        std::thread::sleep(PERIOD);
    }
    samples
}

/// What a process has now; `None`: it has gone.
fn look(pid: u32) -> Option<ProcessSample> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    let (mut sockets, mut files) = (0, 0);
    for descriptor in std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten() {
        let to = std::fs::read_link(descriptor.path()).unwrap_or_default();
        if to.to_string_lossy().starts_with("socket:") { sockets += 1 } else { files += 1 }
    }
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.count() as u64;
    Some(ProcessSample { pid, rss_kib: pages * rustix::param::page_size() as u64 / 1024, sockets, files, threads })
}

fn usage(name: String, samples: &[ProcessSample]) -> Option<ProcessUsage> {
    let mut lives = 0;
    let mut warm = Vec::new();
    let mut age = 0;
    for (at, sample) in samples.iter().enumerate() {
        if at == 0 || samples[at - 1].pid != sample.pid {
            (lives, age) = (lives + 1, 0);
        }
        age += 1;
        if age > WARM {
            warm.push(*sample);
        }
    }
    let third = warm.len().div_ceil(3);
    let (first, last) = (warm.get(..third)?, warm.get(warm.len() - third..)?);
    let figures = |figure: fn(&ProcessSample) -> u64| {
        let most = warm.iter().map(figure).max()?;
        Some([median(first, figure)?, median(last, figure)?, most])
    };
    let (rss_kib, threads) = (figures(|sample| sample.rss_kib)?, figures(|sample| sample.threads)?);
    let (sockets, files) = (figures(|sample| sample.sockets)?, figures(|sample| sample.files)?);
    Some(ProcessUsage { name, lives, rss_kib, sockets, files, threads })
}

fn median(samples: &[ProcessSample], figure: fn(&ProcessSample) -> u64) -> Option<u64> {
    let mut figures: Vec<u64> = samples.iter().map(figure).collect();
    figures.sort_unstable();
    figures.get(figures.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_files() {
        let sample = look(std::process::id()).unwrap();
        assert!(sample.rss_kib > 100 && sample.files >= 3 && sample.threads >= 1, "{sample:?}");
    }

    #[test]
    fn growth_shows_and_a_restart_does_not_count_as_shrinking() {
        let sample = |pid, rss_kib| ProcessSample { pid, rss_kib, sockets: 10, files: 11, threads: 2 };
        let mut samples: Vec<ProcessSample> = (0..30).map(|at| sample(1, 1000 + at * 10)).collect();
        samples.extend((0..5).map(|_| sample(2, 1)));
        let usage = usage("n1".to_owned(), &samples).unwrap();
        assert_eq!(usage.lives, 2);
        assert!(usage.rss_kib[0] < usage.rss_kib[1] && usage.rss_kib[2] == 1290, "{usage:?}");
        assert_eq!((usage.sockets, usage.files, usage.threads), ([10; 3], [11; 3], [2; 3]));
    }
}
