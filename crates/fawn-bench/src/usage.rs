//! What a stretch of work took: time, CPU time, transfers to and from the device, and the store's own counts beside.

use std::fs;
use std::path::Path;
use std::time::Instant;

use fawn_machine::process::{Transfers, cpu_us, threads_cpu_us};
use serde::{Deserialize, Serialize};

/// CPU time so far, in microseconds, of the threads of this process that seal, merge, cut and load. `None` if the system does not
/// say.
pub fn maintenance_cpu_us() -> Option<f64> {
    threads_cpu_us("fawn-tend-")
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
pub struct StoreCounts {
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

impl StoreCounts {
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
pub struct WorkUsage {
    /// Wall time.
    pub seconds: f64,
    /// CPU time of the process, all threads, microseconds.
    pub cpu_us: f64,
    /// Bytes read from devices, by the system's count; `None` where it does not tell.
    pub read_bytes: Option<u64>,
    /// Bytes written to devices, likewise.
    pub write_bytes: Option<u64>,
    /// The store's own counts.
    pub counts: StoreCounts,
}

impl WorkUsage {
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
pub struct Stopwatch {
    began: Instant,
    cpu_us: f64,
    device: Option<Transfers>,
    counts: StoreCounts,
}

impl Stopwatch {
    /// Begins, where the store counts `counts`.
    pub fn start(counts: StoreCounts) -> Self {
        Self { device: Transfers::now(), counts, cpu_us: cpu_us(), began: Instant::now() }
    }

    /// What was used since, where the store counts `counts` now.
    pub fn usage(&self, counts: StoreCounts) -> WorkUsage {
        let seconds = self.began.elapsed().as_secs_f64();
        let cpu_us = cpu_us() - self.cpu_us;
        let device = Transfers::now().zip(self.device).map(|(now, before)| now.since(before));
        WorkUsage {
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
    fn usage_adds_up_and_what_is_not_known_stays_so() {
        let one = WorkUsage { seconds: 1.0, cpu_us: 2.0, read_bytes: Some(3), write_bytes: None, ..WorkUsage::none() };
        let mut sum = WorkUsage::none();
        sum.add(&one);
        sum.add(&one);
        assert_eq!((sum.seconds, sum.cpu_us, sum.read_bytes, sum.write_bytes), (2.0, 4.0, Some(6), None));
        assert_eq!(sum.after(&one), one);
        let less = WorkUsage { read_bytes: Some(1), ..one };
        assert_eq!(less.after(&one).read_bytes, Some(0));
    }
}
