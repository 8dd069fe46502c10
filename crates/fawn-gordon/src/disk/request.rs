//! What a disk is asked, and what it answers.

use fawn_report::amount::counted;
use thiserror::Error;

use crate::trace::{Access, BlockRequest, SECTOR_BYTES};

/// A command for a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRequest {
    /// A number of the caller's.
    pub id: u64,
    /// When it is issued, in nanoseconds.
    pub arrival_ns: u64,
    /// What is asked.
    pub access: Access,
    /// The first sector.
    pub sector: u64,
    /// How many sectors. At least 1, except for a flush.
    pub sectors: u64,
}

impl DiskRequest {
    /// A trace's request on a disk of `disk_sectors` sectors: whole sectors, and addresses past the end from the beginning
    /// again. `None` if the request is larger than the disk.
    pub fn fitted(request: &BlockRequest, id: u64, disk_sectors: u64) -> Option<Self> {
        let first = request.offset / SECTOR_BYTES;
        let sectors = request.end().div_ceil(SECTOR_BYTES) - first;
        let room = disk_sectors.checked_sub(sectors)?;
        let sector = if first <= room { first } else { first % (room + 1) };
        Some(Self { id, arrival_ns: request.time_ns, access: request.access, sector, sectors })
    }

    /// The sector after the last one.
    pub fn end(&self) -> u64 {
        self.sector + self.sectors
    }
}

/// How a command was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiskService {
    /// A read from the buffer, or from what the head was reading ahead.
    ReadHit,
    /// A read from the platters.
    ReadMiss,
    /// A write that the buffer took.
    WriteHit,
    /// A write to the platters.
    WriteMiss,
    /// A flush or a discard.
    Control,
}

/// A command that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskCompletion {
    /// The command.
    pub request: DiskRequest,
    /// When it is done, in nanoseconds.
    pub finish_ns: u64,
    /// How it was served.
    pub service: DiskService,
    /// The arm's way, in nanoseconds. 0 if the arm did not move for this command.
    pub seek_ns: u64,
    /// The wait for the sector to come round, in nanoseconds.
    pub rotation_ns: u64,
    /// The transfer between platters and buffer, in nanoseconds.
    pub transfer_ns: u64,
}

impl DiskCompletion {
    /// From the command's arrival until it was done, in nanoseconds.
    pub fn response_ns(&self) -> u64 {
        self.finish_ns - self.request.arrival_ns
    }

    /// What of the response was neither seek, rotation nor transfer: the queue, the controller and the interface.
    pub fn waiting_ns(&self) -> u64 {
        self.response_ns().saturating_sub(self.seek_ns + self.rotation_ns + self.transfer_ns)
    }
}

/// Why a disk refuses a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DiskRefusal {
    /// It is issued before another one, or before what is simulated already.
    #[error("a command arrives at {arrival_ns} ns, and the disk is at {now_ns} ns: sort the trace by time")]
    Past {
        /// When it arrives.
        arrival_ns: u64,
        /// How far the disk is.
        now_ns: u64,
    },
    /// Its sectors are not all on the disk, or there are none.
    #[error(
        "a request of {} from {sector} on is not on a disk of {disk_sectors} sectors: fit the trace to it",
        counted(*sectors, "sector", "sectors")
    )]
    Extent {
        /// The first one.
        sector: u64,
        /// How many.
        sectors: u64,
        /// Sectors of the disk.
        disk_sectors: u64,
    },
}
