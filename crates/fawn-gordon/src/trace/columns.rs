//! The columns of a recording: what is measured of a machine by the second.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a recording can say of one period on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceColumn {
    /// Instructions executed by all processors.
    Instructions,
    /// Seconds of processor time, of all processors. The model takes no time from it; it becomes instructions by
    /// calibration, where no counter has counted them.
    CpuSeconds,
    /// Misses of the last cache, each a line of 64 bytes from memory.
    CacheMisses,
    /// Bytes received from the network.
    NetworkInBytes,
    /// Bytes sent.
    NetworkOutBytes,
    /// Bytes read from disk or flash, without what a cache answered.
    DiskReadBytes,
    /// Bytes written.
    DiskWriteBytes,
    /// Accesses that read.
    DiskReads,
    /// Accesses that write.
    DiskWrites,
}

/// Number of columns.
pub const COLUMNS: usize = 9;

impl TraceColumn {
    /// All of them, in the order in which recordings write them.
    pub const ALL: [Self; COLUMNS] = [
        Self::Instructions,
        Self::CpuSeconds,
        Self::CacheMisses,
        Self::NetworkInBytes,
        Self::NetworkOutBytes,
        Self::DiskReadBytes,
        Self::DiskWriteBytes,
        Self::DiskReads,
        Self::DiskWrites,
    ];

    /// The name in recordings and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::CpuSeconds => "cpu_seconds",
            Self::CacheMisses => "cache_misses",
            Self::NetworkInBytes => "network_in_bytes",
            Self::NetworkOutBytes => "network_out_bytes",
            Self::DiskReadBytes => "disk_read_bytes",
            Self::DiskWriteBytes => "disk_write_bytes",
            Self::DiskReads => "disk_reads",
            Self::DiskWrites => "disk_writes",
        }
    }

    /// The column with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }
}

impl fmt::Display for TraceColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
