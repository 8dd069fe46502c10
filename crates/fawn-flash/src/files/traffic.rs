//! What is asked of the device, counted where it is asked.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one store's files. They are shared by threads each of which waits for the device anyway. Reads of a
/// [`Reader`](crate::Reader) are its own.
#[derive(Debug, Default)]
pub struct TrafficCounters {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    syncs: AtomicU64,
}

impl TrafficCounters {
    /// Counts a read of so many bytes.
    pub fn count_read(&self, bytes: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts a write of so many bytes.
    pub fn count_write(&self, bytes: usize) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts a sync.
    pub fn count_sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    /// The sums so far.
    pub fn sums(&self) -> DeviceTraffic {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Self { reads, read_bytes, writes, written_bytes, syncs } = self;
        DeviceTraffic {
            reads: of(reads),
            read_bytes: of(read_bytes),
            writes: of(writes),
            written_bytes: of(written_bytes),
            syncs: of(syncs),
        }
    }
}

/// What was asked of the device since the files were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTraffic {
    /// Reads, those of a [`Reader`](crate::Reader) aside.
    pub reads: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes of these writes.
    pub written_bytes: u64,
    /// Syncs; a write that is durable when it is done counts as both.
    pub syncs: u64,
}
