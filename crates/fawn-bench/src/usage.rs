//! What a stretch of work took: time, CPU time, transfers to and from the device, and the store's own counts beside.

use std::fs;
use std::path::Path;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// CPU time of this process so far, all threads, in microseconds.
pub fn cpu_us() -> f64 {
    us(ClockId::ProcessCPUTime)
}

/// Bytes that are free to us in the file system of a directory.
///
/// # Errors
/// [`Error::Io`].
pub fn free_bytes(dir: &Path) -> Result<u64, Error> {
    let found = rustix::fs::statvfs(dir).map_err(|errno| Error::io(dir)(errno.into()))?;
    Ok(found.f_bavail * found.f_frsize)
}

/// What the system says of this machine's memory, bytes: `MemTotal`, `MemAvailable`; `None`: nothing.
pub fn machine_memory(what: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    number_after(&format!("\n{text}"), &format!("\n{what}:"))?.checked_mul(1024)
}

/// Memory that this process may still take, bytes: what is available on the machine, as far as limits of containers and of the
/// process let it; `None`: nothing says.
pub fn available_memory() -> Option<u64> {
    let limit = fawn_flash::machine::memory().amount;
    machine_memory("MemAvailable").map(|available| if limit == 0 { available } else { available.min(limit) })
}

/// CPU time of this thread so far, in microseconds.
pub fn thread_cpu_us() -> f64 {
    us(ClockId::ThreadCPUTime)
}

fn us(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// What this process has read from and written to devices so far, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transfers {
    read: u64,
    /// What is in the page cache counts as written.
    written: u64,
    /// What was written and never came to a device, as it was deleted before.
    cancelled: u64,
}

impl Transfers {
    /// Until now; `None` where the system does not tell.
    fn now() -> Option<Self> {
        Self::of(&fs::read_to_string("/proc/self/io").ok()?)
    }

    fn of(text: &str) -> Option<Self> {
        Some(Self {
            read: number_after(text, "\nread_bytes: ")?,
            written: number_after(text, "\nwrite_bytes: ")?,
            cancelled: number_after(text, "\ncancelled_write_bytes: ").unwrap_or(0),
        })
    }

    /// Bytes read and written since `before`.
    fn since(self, before: Self) -> (u64, u64) {
        let written = self.written - before.written;
        (self.read - before.read, written.saturating_sub(self.cancelled - before.cancelled))
    }
}

/// CPU time so far, in microseconds, of the threads of this process that seal, merge, cut and load; `None` where the system
/// does not tell.
pub fn maintenance_cpu_us() -> Option<f64> {
    let mut all = None;
    for task in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let of = |name: &str| fs::read_to_string(task.path().join(name)).ok();
        if of("comm").is_some_and(|name| name.starts_with("fawn-tend-")) {
            let ns: f64 = of("schedstat")?.split(' ').next()?.parse().ok()?;
            all = Some(all.unwrap_or(0.0) + ns / 1e3);
        }
    }
    all
}

fn number_after(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(name)?;
    let rest = rest.trim_start();
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

/// Resident memory of this process now and at most, in bytes; `None` where the system does not tell.
pub fn resident_bytes() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let kib = |name| number_after(&text, name).map(|kib| kib << 10);
    Some((kib("\nVmRSS:")?, kib("\nVmHWM:")?))
}

/// Bytes of the device that the files of a store take: the commit log, and all else.
///
/// # Errors
/// What the system says of the directory.
pub fn space(store: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let (mut log, mut rest) = (0, 0);
    for entry in fs::read_dir(store)? {
        let entry = entry?;
        // What was removed since takes nothing, and what is kept for a full device holds nothing.
        let Ok(found) = entry.metadata() else { continue };
        if entry.file_name() == "spare" {
            continue;
        }
        let bytes = found.blocks() * 512;
        if entry.file_name() == "commit-log" { log += bytes } else { rest += bytes }
    }
    Ok((log, rest))
}

/// The store's own counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Reads planned.
    pub reads: u64,
    /// Pages in them.
    pub pages_read: u64,
    /// Reads that did not hold the key sought.
    pub false_reads: u64,
    /// Lookups that the cache answered.
    pub cache_hits: u64,
    /// Commit-log batches.
    pub batches: u64,
    /// Seals installed.
    pub seals: u64,
    /// Merges installed.
    pub merges: u64,
    /// Bytes that the store wrote to files.
    pub written_bytes: u64,
    /// Bytes that it read, lookups aside: merges and loads of indexes.
    pub maintenance_read_bytes: u64,
}

impl Counts {
    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            reads: of(self.reads, other.reads),
            pages_read: of(self.pages_read, other.pages_read),
            false_reads: of(self.false_reads, other.false_reads),
            cache_hits: of(self.cache_hits, other.cache_hits),
            batches: of(self.batches, other.batches),
            seals: of(self.seals, other.seals),
            merges: of(self.merges, other.merges),
            written_bytes: of(self.written_bytes, other.written_bytes),
            maintenance_read_bytes: of(self.maintenance_read_bytes, other.maintenance_read_bytes),
        }
    }
}

/// What a stretch of work took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Wall time.
    pub seconds: f64,
    /// CPU time of the process, all threads, microseconds.
    pub cpu_us: f64,
    /// Bytes read from devices, by the system's count; `None` where it does not tell.
    pub read_bytes: Option<u64>,
    /// Bytes written to devices, likewise.
    pub write_bytes: Option<u64>,
    /// The store's own counts.
    pub counts: Counts,
}

impl Usage {
    /// Adds what more work took.
    pub fn add(&mut self, more: &Self) {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        *self = Self {
            seconds: self.seconds + more.seconds,
            cpu_us: self.cpu_us + more.cpu_us,
            read_bytes: sum(self.read_bytes, more.read_bytes),
            write_bytes: sum(self.write_bytes, more.write_bytes),
            counts: self.counts.each(more.counts, |one, other| one + other),
        };
    }

    /// What was used after `before`, which is the beginning of this.
    #[must_use]
    pub fn after(&self, before: &Self) -> Self {
        // What was written before may have been deleted since, so that it came to no device.
        let difference = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        Self {
            seconds: self.seconds - before.seconds,
            cpu_us: self.cpu_us - before.cpu_us,
            read_bytes: difference(self.read_bytes, before.read_bytes),
            write_bytes: difference(self.write_bytes, before.write_bytes),
            counts: self.counts.each(before.counts, |now, before| now - before),
        }
    }

    /// Nothing yet, to add to.
    pub fn none() -> Self {
        Self { read_bytes: Some(0), write_bytes: Some(0), ..Self::default() }
    }
}

/// Takes the measure of a stretch of work.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    began: Instant,
    cpu_us: f64,
    device: Option<Transfers>,
    counts: Counts,
}

impl Meter {
    /// Begins, where the store counts `counts`.
    pub fn start(counts: Counts) -> Self {
        Self { device: Transfers::now(), counts, cpu_us: cpu_us(), began: Instant::now() }
    }

    /// What was used since, where the store counts `counts` now.
    pub fn usage(&self, counts: Counts) -> Usage {
        let seconds = self.began.elapsed().as_secs_f64();
        let cpu_us = cpu_us() - self.cpu_us;
        let device = Transfers::now().zip(self.device).map(|(now, before)| now.since(before));
        Usage {
            seconds,
            cpu_us,
            read_bytes: device.map(|(read, _)| read),
            write_bytes: device.map(|(_, written)| written),
            counts: counts.each(self.counts, |now, before| now - before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_what_the_system_says() {
        let text = "rchar: 1\nread_bytes: 4096\nwrite_bytes: 12\ncancelled_write_bytes: 3\n";
        assert_eq!(number_after(text, "\nread_bytes: "), Some(4096));
        assert_eq!(number_after(text, "\nwrite_bytes: "), Some(12));
        assert_eq!(number_after("Name:\tx\nVmRSS:\t     812 kB\n", "\nVmRSS:"), Some(812));
        assert_eq!(number_after(text, "\nVmRSS:"), None);
        let (now, most) = resident_bytes().unwrap();
        assert!(now > 0 && most >= now);
        let [total, available] = ["MemTotal", "MemAvailable"].map(|what| machine_memory(what).unwrap());
        assert!(available > 0 && available <= total, "{available} of {total}");
        assert_eq!(machine_memory("Mem"), None);
    }

    #[test]
    fn what_was_deleted_before_it_was_written_does_not_count() {
        let transfers = |written: u64, cancelled: u64| {
            let text = format!("rchar: 1\nread_bytes: 7\nwrite_bytes: {written}\ncancelled_write_bytes: {cancelled}\n");
            Transfers::of(&text).unwrap()
        };
        assert_eq!(transfers(5000, 2000), Transfers { read: 7, written: 5000, cancelled: 2000 });
        assert_eq!(transfers(9000, 3000).since(transfers(5000, 2000)), (0, 3000));
        // Written before, deleted since.
        assert_eq!(transfers(5100, 2900).since(transfers(5000, 2000)), (0, 0));
        // Deleted before anything was written.
        assert_eq!(transfers(5000, 9000).since(transfers(0, 9000)), (0, 5000));
    }

    #[test]
    fn usage_adds_up_and_what_is_not_known_stays_so() {
        let one = Usage { seconds: 1.0, cpu_us: 2.0, read_bytes: Some(3), write_bytes: None, ..Usage::none() };
        let mut sum = Usage::none();
        sum.add(&one);
        sum.add(&one);
        assert_eq!((sum.seconds, sum.cpu_us, sum.read_bytes, sum.write_bytes), (2.0, 4.0, Some(6), None));
        assert_eq!(sum.after(&one), one);
        let less = Usage { read_bytes: Some(1), ..one };
        assert_eq!(less.after(&one).read_bytes, Some(0));
    }
}
