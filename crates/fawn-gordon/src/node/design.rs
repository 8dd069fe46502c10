//! A node that may not exist: its processors, memory, storage and network, what they draw and what they cost.

use serde::{Deserialize, Serialize};

use super::power::WattRange;
use super::processor::ProcessorModel;
use super::storage::NodeStorage;

/// A node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryModel {
    /// Size in bytes; absent if unknown. Nothing but Amdahl's balance needs it.
    #[serde(default)]
    pub bytes: Option<f64>,
    /// Power of all of it.
    pub watts: WattRange,
    /// Bytes per second at full activity.
    pub bytes_per_second: f64,
    /// Price of all of it.
    #[serde(default)]
    pub price_dollars: Option<f64>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeDesign {
    /// What it is called; no other of its survey has the name.
    pub name: String,
    /// Its processors.
    pub processor: ProcessorModel,
    /// How many: each runs its own instance of the workload.
    pub processors: u32,
    /// Their frequency.
    pub hz: f64,
    /// Its memory.
    pub memory: MemoryModel,
    /// Its storage.
    pub storage: NodeStorage,
    /// Bytes per second of its network, each way.
    pub network_bytes_per_second: f64,
    /// Power outside of all components, as a share of the node's average power (Gordon's system overhead), from 0 to
    /// below 1.
    #[serde(default)]
    pub overhead_share: f64,
    /// Price of what is neither processor nor memory nor storage, or of the whole node if those have none of their own.
    #[serde(default)]
    pub base_price_dollars: Option<f64>,
    /// Where its values are from, and what has been assumed.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl NodeDesign {
    /// Instructions per second of all processors.
    pub fn instructions_per_second(&self) -> f64 {
        f64::from(self.processors) * self.processor.instructions_per_second(self.hz)
    }

    /// Power of all components and the overhead, at rest and with everything active.
    pub fn watts(&self) -> WattRange {
        let processor = self.processor.watts_at(self.hz).times(f64::from(self.processors));
        let (storage, devices) = (&self.storage, f64::from(self.storage.devices));
        let parts = [
            processor,
            self.memory.watts,
            WattRange::new(storage.watts.idle, storage.watts.read.max(storage.watts.write)).times(devices),
            storage.watts_controller,
        ];
        let with_overhead = |watts: f64| watts / (1.0 - self.overhead_share);
        let idle = parts.iter().map(|part| part.idle).sum();
        WattRange::new(with_overhead(idle), with_overhead(parts.iter().map(|part| part.active).sum()))
    }

    /// The overhead's share, as Gordon §5.2 measures it on a server: its power at rest less that of its components at rest,
    /// over its average power under load.
    pub fn measured_overhead_share(idle_watts: f64, idle_component_watts: f64, average_watts: f64) -> f64 {
        (idle_watts - idle_component_watts) / average_watts
    }

    /// Price of the node; `None` if a part's is unknown.
    pub fn price_dollars(&self) -> Option<f64> {
        let processors = self.processor.price_dollars? * f64::from(self.processors);
        let storage = self.storage.price_dollars? * f64::from(self.storage.devices);
        Some(processors + storage + self.memory.price_dollars? + self.base_price_dollars?)
    }
}
