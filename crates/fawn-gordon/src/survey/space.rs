//! A space of designs: every processor with every frequency, number, storage and network.

use serde::{Deserialize, Serialize};

use crate::node::{MemoryModel, NodeDesign, NodeStorage, ProcessorModel};

/// A processor to choose, with its frequencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessorChoice {
    /// The processor.
    pub model: ProcessorModel,
    /// Its frequencies.
    pub hz: Vec<f64>,
    /// How many a node may have.
    pub counts: Vec<u32>,
}

/// A storage to choose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageChoice {
    /// The storage; its `devices` are those of `counts`.
    pub storage: NodeStorage,
    /// How many devices a node may have.
    pub counts: Vec<u32>,
}

/// Parts that nodes are put together from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesignSpace {
    /// Processors; a node has one kind.
    pub processors: Vec<ProcessorChoice>,
    /// Storage; a node has one kind.
    pub storages: Vec<StorageChoice>,
    /// Memory of every node.
    pub memory: MemoryModel,
    /// Networks in bytes per second each way; a node has one.
    pub network_bytes_per_second: Vec<f64>,
    /// Overhead of every node, as a share of its power.
    #[serde(default)]
    pub overhead_share: f64,
    /// Price of what every node has besides.
    #[serde(default)]
    pub base_price_dollars: Option<f64>,
    /// Watts that a node may draw at most; those beyond are left out.
    #[serde(default)]
    pub most_watts: Option<f64>,
    /// What is to be said of all of them.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl DesignSpace {
    /// Every node of the space within its power budget.
    pub fn designs(&self) -> Vec<NodeDesign> {
        let mut designs = Vec::new();
        for processor in &self.processors {
            for count in &processor.counts {
                for hz in &processor.hz {
                    for storage in &self.storages {
                        for devices in &storage.counts {
                            for network in &self.network_bytes_per_second {
                                designs.push(self.design(processor, *count, *hz, &storage.storage, *devices, *network));
                            }
                        }
                    }
                }
            }
        }
        designs.retain(|design| self.most_watts.is_none_or(|most| design.watts().active <= most));
        designs
    }

    fn design(
        &self,
        processor: &ProcessorChoice,
        processors: u32,
        hz: f64,
        storage: &NodeStorage,
        devices: u32,
        network: f64,
    ) -> NodeDesign {
        let model = &processor.model;
        let plural = if devices == 1 { "" } else { "s" };
        let mut name = format!(
            "{processors} {} {} GHz, {devices} {}{plural}",
            model.name,
            fawn_report::amount::digits(hz / 1e9),
            storage.name
        );
        if self.network_bytes_per_second.len() > 1 {
            name.push_str(", ");
            name.push_str(&fawn_report::amount::digits(network * 8.0 / 1e9));
            name.push_str(" Gbit/s");
        }
        NodeDesign {
            name,
            processor: model.clone(),
            processors,
            hz,
            memory: self.memory,
            storage: NodeStorage { devices, ..storage.clone() },
            network_bytes_per_second: network,
            overhead_share: self.overhead_share,
            base_price_dollars: self.base_price_dollars,
            notes: self.notes.clone(),
        }
    }
}
