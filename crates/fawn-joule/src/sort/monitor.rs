//! How far a job is, counted by all its threads.

use std::sync::atomic::{AtomicU64, Ordering};

use fawn_report::Watch;

/// Bytes that are done of all, told to a listener.
pub struct ByteMonitor<'w> {
    watch: &'w (dyn Watch + Sync),
    done: AtomicU64,
    total: u64,
}

impl<'w> ByteMonitor<'w> {
    /// Nothing is done of `total` bytes.
    pub fn new(watch: &'w (dyn Watch + Sync), total: u64) -> Self {
        Self { watch, done: AtomicU64::new(0), total }
    }

    /// More bytes are done; `what` is under way.
    pub fn add(&self, bytes: u64, what: &str) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.watch.progress(done, self.total, what);
    }

    /// Something that a person should know.
    pub fn note(&self, line: &str) {
        self.watch.note(line);
    }
}
