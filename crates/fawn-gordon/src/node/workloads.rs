//! The workloads of Gordon's Table 2, and traces made after them.
//!
//! The paper's traces are lost. What is known of them: the bytes that each workload reads and writes (Table 2), the
//! pattern of its accesses (§4.2.2: 8 KB at a boundary of 128 KB, then the other 120 KB), how they were collected (32
//! virtual machines on eight servers with one disk each, §5.1) and what came of them (Table 6, Figures 7 and 8).
//!
//! [`synthetic`] makes traces with these properties:
//!
//! | property | how it is made |
//! |---|---|
//! | bytes read and written | exactly Table 2, over all nodes |
//! | accesses | one for each 64 KiB, the mean of 8 and 120 |
//! | phases | map on all nodes, then shuffle and reduce, then a tail in which only the reducers work |
//! | processor | nodes and seconds differ in the map phase; later all but the reducers are idle |
//! | disk | nodes and seconds differ, with less of it where the processor is busy |
//! | network | two of three copies of what is written travel |
//! | cache misses | 8 for each 1,000 instructions |
//! | length | so long that the servers' eight disks could move the bytes, and longer if the processors need it |
//!
//! The shape's constants ([`TraceShape::fitted`]) and the workloads' processor activities were searched for once, so that
//! the figures of Table 6 come out as near as they can. They are no measurement, and agreement with Table 6 is no proof
//! of it: its speeds are fitted. The disk's rates and the traces' lengths were chosen by hand in
//! between. What is not fitted is Table 2, the processors' rates and all watts, and which designs win.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;

use super::sample::{ClusterTrace, ResourceSample};
use crate::trace::TraceColumn;

/// Nodes of the paper's cluster.
pub const NODES: usize = 32;

/// Instructions per second of the collecting machines: a Core 2 at 2.4 GHz with 1.5 instructions per cycle (Table 4).
pub const COLLECTING_INSTRUCTIONS_PER_SECOND: f64 = 1.5 * 2.4e9;

/// Bytes of an access, the mean of 8 KB and 120 KB.
pub const BYTES_PER_ACCESS: f64 = 65_536.0;

/// By which the scale of a logistic law is multiplied to be near a normal one.
const NORMAL_TO_LOGISTIC: f64 = 1.702;

const MISSES_PER_INSTRUCTION: f64 = 0.008;

/// Copies beyond the first, which travel by network, of the three that the file system keeps.
const TRAVELLING_SHARE: f64 = 2.0 / 3.0;

/// A workload of Table 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PaperWorkload {
    /// What it is called.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// Size of its input or output, in 10^9 bytes.
    pub size_gb: f64,
    /// Megabytes read from the disks of all nodes.
    pub read_mb: f64,
    /// Megabytes written.
    pub write_mb: f64,
    /// Seconds of its synthetic trace on the collecting machines. Not in the paper.
    pub trace_seconds: u32,
    /// How busy its synthetic trace keeps processors, from 0 to 1. Not in the paper, but that complex grep computes most
    /// and that `RandomWriter` and Identity are about I/O.
    pub activity: f64,
}

/// Table 2. It has seven workloads; the eighth line in the legend of Figure 5 is their average.
pub const TABLE_2: [PaperWorkload; 7] = [
    workload("RandomWriter", "output random data", 10.0, (351.0, 26_860.0), (150, 0.8)),
    workload("Identity", "copy all inputs to the output", 15.0, (45_106.0, 103_650.0), (820, 0.08)),
    workload("Sort", "sort random numbers", 1.0, (1_373.0, 5_672.0), (60, 1.0)),
    workload("Grep (simple)", "search for \"the\" in multi-lingual text", 8.0, (8_448.0, 483.0), (200, 1.0)),
    workload("Grep (complex)", "complex regular expression in multi-lingual text", 8.0, (9_199.0, 958.0), (400, 1.0)),
    workload("N-Gram", "frequent phrases of N words in multi-lingual text", 4.0, (40_133.0, 90_688.0), (720, 0.8)),
    workload("WebIndex", "index of web pages", 13.0, (18_925.0, 62_808.0), (450, 0.1)),
];

const fn workload(
    name: &'static str,
    description: &'static str,
    size_gb: f64,
    (read_mb, write_mb): (f64, f64),
    (trace_seconds, activity): (u32, f64),
) -> PaperWorkload {
    PaperWorkload { name, description, size_gb, read_mb, write_mb, trace_seconds, activity }
}

/// How the work of a synthetic trace lies in time and over nodes. Deviations are those of the logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TraceShape {
    /// Share of the time that is the map phase.
    pub map_share: f64,
    /// Share of the time that is the tail.
    pub tail_share: f64,
    /// Processor activity of a node in the map phase.
    pub map_activity: f64,
    /// Processor activity of a reducer before the tail; in the tail it is 1.
    pub reduce_activity: f64,
    /// Nodes that reduce.
    pub reducers: usize,
    /// Deviation of the map work over nodes.
    pub processor_over_nodes: f64,
    /// Deviation of processor activity over seconds.
    pub processor_over_seconds: f64,
    /// Deviation of disk traffic over nodes.
    pub disk_over_nodes: f64,
    /// Deviation of disk traffic over seconds.
    pub disk_over_seconds: f64,
}

impl TraceShape {
    /// The constants that fit Table 6 best.
    pub const fn fitted() -> Self {
        Self {
            map_share: 0.38,
            tail_share: 0.09,
            map_activity: 0.36,
            reduce_activity: 0.74,
            reducers: 2,
            processor_over_nodes: 1.0,
            processor_over_seconds: 0.44,
            disk_over_nodes: 0.60,
            disk_over_seconds: 0.75,
        }
    }
}

/// The traces of a workload on so many nodes, the same for the same seed.
pub fn synthetic(workload: &PaperWorkload, shape: &TraceShape, nodes: usize, seed: u64) -> ClusterTrace {
    let mut draw = Variation::seeded(seed ^ u64::from(workload.trace_seconds) << 32);
    let seconds = workload.trace_seconds as usize;
    let map_end = (seconds as f64 * shape.map_share) as usize;
    let tail_begin = seconds - (seconds as f64 * shape.tail_share) as usize;
    let processor_weights = draw.node_weights(nodes, shape.processor_over_nodes);
    let disk_weights = draw.node_weights(nodes, shape.disk_over_nodes);
    let mut traces = Vec::with_capacity(nodes);
    for (node, (processor_weight, disk_weight)) in processor_weights.into_iter().zip(disk_weights).enumerate() {
        let reduces = node < shape.reducers;
        let own_end = if reduces { seconds } else { tail_begin };
        let mut samples = Vec::with_capacity(own_end);
        for second in 0..own_end {
            let level = match second {
                _ if second >= tail_begin => 1.0,
                _ if second < map_end => shape.map_activity * processor_weight,
                _ if reduces => shape.reduce_activity,
                _ => 0.0,
            };
            let activity = (workload.activity * level * draw.next(shape.processor_over_seconds)).min(1.0);
            let mut sample = ResourceSample::default();
            sample.cpu_seconds = activity;
            sample.instructions = activity * COLLECTING_INSTRUCTIONS_PER_SECOND;
            sample.cache_misses = sample.instructions * MISSES_PER_INSTRUCTION;
            if second < tail_begin {
                // A processor that is busy leaves its disk alone, but for a twentieth.
                let mut traffic = || draw.next(shape.disk_over_seconds) * disk_weight * (1.05 - activity);
                let main = traffic();
                let second_stream = traffic();
                // Map reads its input and spills about a quarter of it; reduce reads back some and writes.
                let (read, write) =
                    if second < map_end { (main, 0.25 * second_stream) } else { (0.3 * main, second_stream) };
                (sample.disk_read_bytes, sample.disk_write_bytes) = (read, write);
            }
            samples.push(sample);
        }
        traces.push(samples);
    }
    scale(&mut traces, workload);
    ClusterTrace { name: workload.name.to_owned(), sources: sources(), nodes: traces }
}

/// All seven, each with a seed of its own.
pub fn suite(shape: &TraceShape, nodes: usize, seed: u64) -> Vec<ClusterTrace> {
    TABLE_2.iter().zip(0..).map(|(workload, at)| synthetic(workload, shape, nodes, seed.wrapping_add(at))).collect()
}

/// Turns relative disk traffic into Table 2's bytes, and what follows from bytes.
fn scale(traces: &mut [Vec<ResourceSample>], workload: &PaperWorkload) {
    let sum = |value: fn(&ResourceSample) -> f64| traces.iter().flatten().map(value).sum::<f64>();
    let factor = |mb: f64, sum: f64| if sum > 0.0 { mb * 1e6 / sum } else { 0.0 };
    let read = factor(workload.read_mb, sum(|sample| sample.disk_read_bytes));
    let write = factor(workload.write_mb, sum(|sample| sample.disk_write_bytes));
    for sample in traces.iter_mut().flatten() {
        sample.disk_read_bytes *= read;
        sample.disk_write_bytes *= write;
        sample.disk_reads = sample.disk_read_bytes / BYTES_PER_ACCESS;
        sample.disk_writes = sample.disk_write_bytes / BYTES_PER_ACCESS;
        sample.network_in_bytes = sample.disk_write_bytes * TRAVELLING_SHARE;
        sample.network_out_bytes = sample.network_in_bytes;
    }
}

fn sources() -> BTreeMap<TraceColumn, String> {
    let source = |column: TraceColumn| {
        let source = match column {
            TraceColumn::DiskReadBytes | TraceColumn::DiskWriteBytes => "synthetic, sums after Gordon Table 2",
            TraceColumn::DiskReads | TraceColumn::DiskWrites => "synthetic, one for 64 KiB (Gordon §4.2.2)",
            _ => "synthetic, fitted to Gordon Table 6",
        };
        (column, source.to_owned())
    };
    TraceColumn::ALL.into_iter().map(source).collect()
}

/// What makes nodes and seconds differ. All laws have a median of 1.
struct Variation(SmallRng);

impl Variation {
    fn seeded(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }

    /// Above 0, at most 1.
    fn share(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// From a log-normal law.
    fn next(&mut self, deviation: f64) -> f64 {
        let radius = (-2.0 * self.share().ln()).sqrt();
        (deviation * radius * (TAU * self.share()).cos()).exp()
    }

    /// One weight for each node, in random order, at even quantiles of a log-logistic law. Every seed has the same weights:
    /// the slowest node decides over time, and must not be a matter of luck.
    fn node_weights(&mut self, nodes: usize, deviation: f64) -> Vec<f64> {
        let weight = |node: usize| {
            let quantile = (node as f64 + 0.5) / nodes as f64;
            (quantile / (1.0 - quantile)).powf(deviation / NORMAL_TO_LOGISTIC)
        };
        let mut weights: Vec<f64> = (0..nodes).map(weight).collect();
        for at in (1..nodes).rev() {
            let other = (self.share() * (at + 1) as f64).ceil() as usize - 1;
            weights.swap(at, other.min(at));
        }
        weights
    }
}
