//! Nodes and clusters of them: how long recorded work takes on a node that nobody has built, and what it draws.
//!
//! The model is that of Gordon (ASPLOS 2009) §5.2 and §5.3. A trace says for each second what a node has done: it
//! executed instructions, and moved bytes by network and disk. A design says how fast a node does each. The longest of
//! the three times is the time of the sample, as if processor, disk and network overlapped perfectly. Between nodes there
//! is a barrier after each sample ([`ClusterModel::sync`], the paper's upper bound) or none ([`ClusterModel::nosync`],
//! its lower bound). [`ClusterModel::estimate`] lies between them: nodes run ahead of the slowest by a few seconds, and
//! requests wait for each other inside a node.
//!
//! Times are seconds, energies joules and powers watts, as `f64`.

mod cluster;
mod demand;
mod design;
mod power;
mod processor;
mod queueing;
mod sample;
mod storage;
mod timeline;
mod trace_file;
pub mod workloads;

pub use cluster::{BusyTime, ClusterModel, ClusterRun, ComponentActivity};
pub use demand::{NodeRates, NodeResource, SampleDemand};
pub use design::{MemoryModel, NodeDesign};
pub use power::{ComponentJoules, WattRange};
pub use processor::{CpuCalibration, ProcessorModel, VoltageRange};
pub use queueing::closed_network_seconds;
pub use sample::{ClusterTrace, ResourceSample, TraceTotals};
pub use storage::{AccessRate, DeviceWatts, NodeStorage};
pub use timeline::TimelineSecond;
pub use trace_file::{read_node_trace, write_node_trace};

pub use crate::trace::TraceColumn;
