//! Counters of the event-loop half, since the opening, by what they count.

use super::stats::Written;

/// Lookups and the reads that they asked for.
#[derive(Debug, Default)]
pub(super) struct ReadCounters {
    pub lookups: u64,
    pub reads: u64,
    pub pages_read: u64,
    pub false_reads: u64,
    pub read_hits: u64,
    pub hit_reads: u64,
    pub filter_refused: u64,
    pub filter_passed: u64,
}

/// Records that were appended, and puts that were refused.
#[derive(Debug, Default)]
pub(super) struct WriteCounters {
    pub appends: u64,
    pub appended_bytes: u64,
    pub superseded: u64,
    pub refused_memory: u64,
    pub refused_space: u64,
}

/// Seals and merges that were installed, and merges that failed.
#[derive(Debug, Default)]
pub(super) struct MaintenanceCounters {
    pub seals: u64,
    pub merges: u64,
    pub merge_failures: u64,
    pub last_merge_failure: Option<String>,
    pub lost: u64,
}

/// All counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub reads: ReadCounters,
    pub writes: WriteCounters,
    pub maintenance: MaintenanceCounters,
    /// Bytes written since the store was made, except for what `writes` and the log say.
    pub written: Written,
    /// `written` as it was when the store was opened.
    pub written_before: Written,
}

impl Counters {
    /// Those of a store to which so much was written before.
    pub(super) fn beginning_with(written: Written) -> Self {
        Self { written, written_before: written, ..Self::default() }
    }
}

impl WriteCounters {
    /// A record of `bytes` was appended.
    #[inline]
    pub(super) fn append(&mut self, bytes: usize, superseded: bool) {
        self.appends += 1;
        self.appended_bytes += bytes as u64;
        self.superseded += u64::from(superseded);
    }
}
