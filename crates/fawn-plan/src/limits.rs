//! How many gets a second a node answers: the least of what its device, its network and its processor allow.

use serde::{Deserialize, Serialize};

use crate::store::{answer_bytes, pages_a_get};
use crate::{CatalogueModel, NodeOption, Quantity};

/// What a cluster may run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// Room for records on flash.
    Space,
    /// Reads of the device.
    Device,
    /// What a node's network carries.
    Network,
    /// The processor's time.
    Cpu,
    /// DRAM for the index.
    Dram,
    /// Nodes to have each copy on another one.
    Replicas,
}

impl Resource {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Space => "space",
            Self::Device => "device",
            Self::Network => "network",
            Self::Cpu => "CPU",
            Self::Dram => "DRAM",
            Self::Replicas => "replicas",
        }
    }
}

/// Gets a second that each part of a node allows; `None` is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NodeLimits {
    /// Its reads, or what a source states of the whole node.
    pub device: Option<f64>,
    /// Its network, for answers.
    pub network: Option<f64>,
    /// Its processor.
    pub cpu: Option<f64>,
    /// Whether a source states the rate of the whole node, so that there is nothing else to ask for.
    #[serde(skip)]
    pub is_stated: bool,
}

impl NodeLimits {
    /// Those of a node, for values of this size.
    pub fn of(option: &NodeOption, model: CatalogueModel, value_bytes: f64) -> Self {
        let value = |quantity| option.value(quantity);
        let stated = value(Quantity::QueriesPerSecond);
        let (pages, answer) = match model {
            CatalogueModel::Stated => (1.0, value_bytes),
            CatalogueModel::Fawn => (pages_a_get(value_bytes), answer_bytes(value_bytes)),
        };
        Self {
            device: stated.or_else(|| value(Quantity::Read4kPerSecond).map(|reads| reads / pages)),
            network: value(Quantity::NetworkMbit).map(|mbit| mbit * 1e6 / 8.0 / answer),
            cpu: value(Quantity::CpuGetsPerSecond),
            is_stated: stated.is_some(),
        }
    }

    /// All three, by name.
    fn each(&self) -> [(Resource, Option<f64>); 3] {
        [(Resource::Device, self.device), (Resource::Network, self.network), (Resource::Cpu, self.cpu)]
    }

    /// Those that are known.
    pub fn known(&self) -> impl Iterator<Item = (Resource, f64)> {
        self.each().into_iter().filter_map(|(resource, rate)| Some((resource, rate?)))
    }

    /// Those that are not, though they matter.
    pub fn unknown(&self) -> Vec<Resource> {
        let missing = self.each().into_iter().filter(|(_, rate)| rate.is_none() && !self.is_stated);
        missing.map(|(resource, _)| resource).collect()
    }

    /// The least of those that are known, and which it is.
    pub fn least(&self) -> Option<(Resource, f64)> {
        self.known().min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    #[test]
    fn a_gigabit_port_caps_a_node_near_110_thousand_answers_of_1_kb() {
        let catalogue = Catalogue::built_in("today").unwrap();
        let pi = catalogue.options.iter().find(|option| option.name == "Raspberry Pi 5 8 GB + NVMe 1 TB").unwrap();
        let limits = NodeLimits::of(pi, catalogue.model, 1000.0);
        let network = limits.network.unwrap();
        assert!((110e3..115e3).contains(&network), "{network}");
        // 103,434 reads of 4 KiB, of which a get of 1 KB takes 1.26.
        let (resource, rate) = limits.least().unwrap();
        assert!(resource == Resource::Device && (82e3..83e3).contains(&rate), "{resource:?} {rate}");
        assert_eq!(limits.unknown(), [Resource::Cpu]);
    }

    #[test]
    fn what_a_source_states_of_a_whole_node_leaves_nothing_unknown() {
        let catalogue = Catalogue::built_in("paper-2009").unwrap();
        let limits = NodeLimits::of(&catalogue.options[4], catalogue.model, 1e6);
        assert_eq!((limits.least(), limits.unknown()), (Some((Resource::Device, 35_000.0)), vec![]));
    }
}
