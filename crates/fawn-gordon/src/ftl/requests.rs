//! What the host asks of the device, and what it is answered.

use serde::{Deserialize, Serialize};

use crate::flash::LatencyParts;
use crate::time::SimTime;

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostKind {
    /// Reads. What was never written or is trimmed reads as zeros.
    Read,
    /// Writes. It is acknowledged once it is on flash.
    Write,
    /// Trims the super-pages that lie in the range as a whole. It is acknowledged once it survives a power cut.
    Trim,
    /// A write barrier. It is acknowledged once every write and trim that came before it is: at once if none is under
    /// way, since an acknowledged write is on flash. It has no extent.
    Flush,
}

/// A request of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRequest {
    /// When it arrives. Requests are given in the order of arrival.
    pub at: SimTime,
    /// What it is.
    pub kind: HostKind,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Stands for what a write writes, for tests of what survives.
    pub stamp: u32,
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostReply {
    /// The request, by the order of admission from 0.
    pub number: u64,
    /// What it was.
    pub kind: HostKind,
    /// Bytes.
    pub bytes: u64,
    /// When it arrived.
    pub arrived: SimTime,
    /// When it was done.
    pub finished: SimTime,
    /// Where the time went. The parts add up to the time between arrival and end.
    pub parts: LatencyParts,
}

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalMode {
    /// When they arrive, or as soon after as the queue has a place.
    Timed,
    /// As soon as the queue has a place, whatever their times.
    Saturated,
}

/// How the controller served requests, in super-page accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceCounts {
    /// Reads of what is not mapped.
    pub unmapped_reads: u64,
    /// Reads that joined one under way.
    pub joined_reads: u64,
    /// Reads from the last page read, or from a write that waits.
    pub buffered_reads: u64,
    /// Reads from flash for the host.
    pub flash_reads: u64,
    /// Writes that joined one that waits.
    pub combined_writes: u64,
    /// Writes of less than a super-page, for which the rest was read first.
    pub modified_pages: u64,
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Requests that were served.
    pub requests: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Simulated time.
    pub elapsed: SimTime,
    /// All latencies together, by part.
    pub latency: LatencyParts,
    /// The longest latency.
    pub longest: SimTime,
}

impl RunReport {
    /// Counts a reply.
    pub fn add(&mut self, reply: &HostReply) {
        self.requests += 1;
        match reply.kind {
            HostKind::Read => self.bytes_read += reply.bytes,
            HostKind::Write => self.bytes_written += reply.bytes,
            HostKind::Trim | HostKind::Flush => {}
        }
        self.latency += reply.parts;
        self.longest = self.longest.max(reply.finished - reply.arrived);
    }

    /// Bytes a second, read and written.
    pub fn bytes_per_second(&self) -> f64 {
        (self.bytes_read + self.bytes_written) as f64 / self.elapsed.seconds()
    }

    /// Mean latency.
    pub fn mean_latency(&self) -> SimTime {
        SimTime::from_ns(self.latency.total().ns() / self.requests.max(1))
    }
}
