//! Traces: what each node of a cluster has done, second by second.

use std::collections::BTreeMap;

use fawn_report::amount::several;
use serde::{Deserialize, Serialize};

use super::processor::CpuCalibration;
use crate::trace::TraceColumn;

/// What one node has done in one second. Columns that were not measured are 0 here; [`ClusterTrace::sources`] tells
/// them from columns that were measured as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceSample {
    /// Instructions executed by all processors.
    pub instructions: f64,
    /// Seconds of processor time.
    pub cpu_seconds: f64,
    /// Misses of the last cache.
    pub cache_misses: f64,
    /// Bytes received from the network.
    pub network_in_bytes: f64,
    /// Bytes sent.
    pub network_out_bytes: f64,
    /// Bytes read from disk or flash.
    pub disk_read_bytes: f64,
    /// Bytes written.
    pub disk_write_bytes: f64,
    /// Accesses that read.
    pub disk_reads: f64,
    /// Accesses that write.
    pub disk_writes: f64,
}

impl ResourceSample {
    /// The value of a column.
    pub fn value(&self, column: TraceColumn) -> f64 {
        match column {
            TraceColumn::Instructions => self.instructions,
            TraceColumn::CpuSeconds => self.cpu_seconds,
            TraceColumn::CacheMisses => self.cache_misses,
            TraceColumn::NetworkInBytes => self.network_in_bytes,
            TraceColumn::NetworkOutBytes => self.network_out_bytes,
            TraceColumn::DiskReadBytes => self.disk_read_bytes,
            TraceColumn::DiskWriteBytes => self.disk_write_bytes,
            TraceColumn::DiskReads => self.disk_reads,
            TraceColumn::DiskWrites => self.disk_writes,
        }
    }

    /// The place of a column's value.
    pub fn value_mut(&mut self, column: TraceColumn) -> &mut f64 {
        match column {
            TraceColumn::Instructions => &mut self.instructions,
            TraceColumn::CpuSeconds => &mut self.cpu_seconds,
            TraceColumn::CacheMisses => &mut self.cache_misses,
            TraceColumn::NetworkInBytes => &mut self.network_in_bytes,
            TraceColumn::NetworkOutBytes => &mut self.network_out_bytes,
            TraceColumn::DiskReadBytes => &mut self.disk_read_bytes,
            TraceColumn::DiskWriteBytes => &mut self.disk_write_bytes,
            TraceColumn::DiskReads => &mut self.disk_reads,
            TraceColumn::DiskWrites => &mut self.disk_writes,
        }
    }
}

/// The traces of all nodes of a cluster under one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterTrace {
    /// The workload.
    pub name: String,
    /// The measured columns, each with its source, such as a counter or a file under `/proc`. A column that is absent
    /// was not measured; it takes no time, and results name it.
    pub sources: BTreeMap<TraceColumn, String>,
    /// The samples of each node, from the first second on. Nodes may end early.
    pub nodes: Vec<Vec<ResourceSample>>,
}

/// Sums over all nodes and seconds of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TraceTotals {
    /// Instructions.
    pub instructions: f64,
    /// Bytes sent by network.
    pub network_bytes: f64,
    /// Bytes read from disk.
    pub disk_read_bytes: f64,
    /// Bytes written.
    pub disk_write_bytes: f64,
    /// Accesses to the disk.
    pub disk_accesses: f64,
}

impl ClusterTrace {
    /// The traces of nodes as [`read_node_trace`](super::read_node_trace) gives them. A column counts as measured if it was
    /// measured on every node; of a column that some nodes lack, the others' values are dropped.
    pub fn of_nodes(
        name: &str,
        traces: impl IntoIterator<Item = (Vec<ResourceSample>, BTreeMap<TraceColumn, String>)>,
    ) -> Self {
        let (mut nodes, sources): (Vec<Vec<ResourceSample>>, Vec<BTreeMap<TraceColumn, String>>) =
            traces.into_iter().unzip();
        let mut common: BTreeMap<TraceColumn, String> = BTreeMap::new();
        for column in TraceColumn::ALL {
            let mut known: Vec<&String> = sources.iter().filter_map(|sources| sources.get(&column)).collect();
            if known.len() == nodes.len() && !known.is_empty() {
                known.dedup();
                let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
                common.insert(column, known.join("; "));
            } else {
                nodes.iter_mut().flatten().for_each(|sample| *sample.value_mut(column) = 0.0);
            }
        }
        Self { name: name.to_owned(), sources: common, nodes }
    }

    /// Whether a column was measured.
    pub fn is_measured(&self, column: TraceColumn) -> bool {
        self.sources.contains_key(&column)
    }

    /// The columns that take time or energy and that nobody measured.
    pub fn unmeasured(&self) -> Vec<TraceColumn> {
        let counts = |column: &TraceColumn| *column != TraceColumn::CpuSeconds;
        TraceColumn::ALL.into_iter().filter(counts).filter(|column| !self.is_measured(*column)).collect()
    }

    /// Turns processor time into instructions, if no counter has counted them. Whether it did.
    pub fn calibrate(&mut self, calibration: &CpuCalibration) -> bool {
        if self.is_measured(TraceColumn::Instructions) || !self.is_measured(TraceColumn::CpuSeconds) {
            return false;
        }
        for sample in self.nodes.iter_mut().flatten() {
            sample.instructions = calibration.instructions(sample.cpu_seconds);
        }
        let (per_cycle, ghz) = (calibration.instructions_per_cycle, calibration.hz / 1e9);
        let source =
            format!("processor time at {} per cycle and {ghz} GHz", several(per_cycle, "instruction", "instructions"));
        self.sources.insert(TraceColumn::Instructions, source);
        true
    }

    /// Seconds of the longest trace.
    pub fn seconds(&self) -> usize {
        self.nodes.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Sums over all nodes and seconds.
    pub fn totals(&self) -> TraceTotals {
        let mut totals = TraceTotals::default();
        for sample in self.nodes.iter().flatten() {
            totals.instructions += sample.instructions;
            totals.network_bytes += sample.network_out_bytes;
            totals.disk_read_bytes += sample.disk_read_bytes;
            totals.disk_write_bytes += sample.disk_write_bytes;
            totals.disk_accesses += sample.disk_reads + sample.disk_writes;
        }
        totals
    }
}
