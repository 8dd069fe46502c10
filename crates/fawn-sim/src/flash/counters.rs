//! What a device has done.

/// What a device has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Operations but reads: the places where power may be cut.
    pub write_points: u64,
    /// Reads.
    pub reads: u64,
    /// Pages read.
    pub pages_read: u64,
    /// Writes.
    pub writes: u64,
    /// Pages written.
    pub pages_written: u64,
    /// Syncs of files.
    pub syncs: u64,
}
