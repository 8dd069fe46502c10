//! How much a front-end takes on.

/// How much a front-end takes on, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests in flight.
    pub flights: usize,
    /// Bytes of what is in flight, and of parts of answers that wait for the rest, each.
    pub bytes: usize,
    /// Who may wait for one answer.
    pub waiters: usize,
    /// Keys of one multi-get …
    pub keys: usize,
    /// … and bytes of what they are answered: whoever is refused asks for fewer.
    pub many_bytes: usize,
    /// Wedges that flushes under way have yet to flush; with so many no other flush begins. A flush of another front-end can
    /// take hundreds: it asks for each wedge by itself. Each flush that is asked for adds them up.
    pub flushed_wedges: usize,
    /// The cache may have this many times `N log2 N` entries …
    pub cache_factor: u32,
    /// … and no more bytes than this.
    pub cache_bytes: u64,
    /// What is not answered is tried again after this, in microseconds …
    pub retry_us: u64,
    /// … and given up after this.
    pub deadline_us: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            flights: 16_384,
            bytes: 256 << 20,
            waiters: 4096,
            keys: 1024,
            many_bytes: 16 << 20,
            flushed_wedges: 8192,
            cache_factor: 4,
            cache_bytes: 64 << 20,
            retry_us: 100_000,
            deadline_us: 5_000_000,
        }
    }
}
