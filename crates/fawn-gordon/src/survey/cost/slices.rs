//! §6.3: a cluster in slices, each of which loads a job's data, computes on it and stores what came of it.

use serde::Serialize;

/// A slice of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClusterSlice {
    /// Nodes.
    pub nodes: u32,
    /// Bytes of a node's storage.
    pub node_bytes: f64,
    /// Bytes per second of a node's storage.
    pub node_bytes_per_second: f64,
    /// Bytes per second between the slice and the data warehouse, each way.
    pub link_bytes_per_second: f64,
    /// Joules per second that all nodes draw together.
    pub watts: f64,
}

/// The paper's: 64 nodes of 256 GB and 900 MB/s, two links of 1 Gbit/s, at 19 W a node (§3).
pub const PAPER_SLICE: ClusterSlice = ClusterSlice {
    nodes: 64,
    node_bytes: 256e9,
    node_bytes_per_second: 900e6,
    link_bytes_per_second: 2.0 * 1e9 / 8.0,
    watts: 64.0 * 19.0,
};

impl ClusterSlice {
    /// Bytes per second of all its nodes' storage.
    ///
    /// The paper prints 112 GB/s for its slice; its own 900 MB/s for each of 64 nodes make 57.6.
    pub fn bytes_per_second(&self) -> f64 {
        f64::from(self.nodes) * self.node_bytes_per_second
    }

    /// Bytes that it stores.
    pub fn bytes(&self) -> f64 {
        f64::from(self.nodes) * self.node_bytes
    }

    /// The share of its storage's bandwidth that the link can use.
    pub fn link_share(&self) -> f64 {
        self.link_bytes_per_second / self.bytes_per_second()
    }
}

/// A job of many like it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SliceJob {
    /// Bytes that it loads.
    pub input_bytes: f64,
    /// Bytes that it stores in the end.
    pub output_bytes: f64,
    /// Bytes that it writes besides, for as long as it runs.
    pub scratch_bytes: f64,
    /// Seconds that it computes.
    pub compute_seconds: f64,
}

/// How long a job takes when one follows the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SliceRun {
    /// Seconds to load.
    pub load_seconds: f64,
    /// Seconds to compute.
    pub compute_seconds: f64,
    /// Seconds to store.
    pub store_seconds: f64,
    /// Seconds from one job's end to the next one's.
    pub seconds_per_job: f64,
    /// Joules of the slice for each job.
    pub joules_per_job: f64,
    /// The share of time that it computes.
    pub compute_share: f64,
    /// Bytes that it has to hold at a time.
    pub bytes: f64,
    /// Whether they fit.
    pub fits: bool,
}

/// One job after the other: load, compute, store. With `overlapped`, the next job loads and the last one stores while
/// one computes. The link carries both directions at a time, and the slice holds two jobs' data.
pub fn run_jobs(slice: &ClusterSlice, job: &SliceJob, overlapped: bool) -> SliceRun {
    let load_seconds = job.input_bytes / slice.link_bytes_per_second;
    let store_seconds = job.output_bytes / slice.link_bytes_per_second;
    let (seconds_per_job, bytes) = if overlapped {
        let held = job.input_bytes + job.output_bytes;
        (job.compute_seconds.max(load_seconds).max(store_seconds), 2.0 * held + job.scratch_bytes)
    } else {
        let held = job.input_bytes + job.output_bytes + job.scratch_bytes;
        (load_seconds + job.compute_seconds + store_seconds, held)
    };
    SliceRun {
        load_seconds,
        compute_seconds: job.compute_seconds,
        store_seconds,
        seconds_per_job,
        joules_per_job: slice.watts * seconds_per_job,
        compute_share: if seconds_per_job > 0.0 { job.compute_seconds / seconds_per_job } else { 0.0 },
        bytes,
        fits: bytes <= slice.bytes(),
    }
}

/// Seconds that a job must compute on each gigabyte (10^9 bytes) for loading the next to be hidden.
pub fn hiding_seconds_per_gb(slice: &ClusterSlice) -> f64 {
    1e9 / slice.link_bytes_per_second
}
