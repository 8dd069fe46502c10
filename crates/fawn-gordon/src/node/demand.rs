//! What a sample asks of a node's resources.

use serde::{Deserialize, Serialize};

use super::design::NodeDesign;
use super::sample::ResourceSample;

/// Bytes of a cache line, one for each miss.
const LINE_BYTES: f64 = 64.0;

/// A resource of a node that work waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeResource {
    /// The processors.
    Processor,
    /// Disks or flash.
    Storage,
    /// The network.
    Network,
}

impl NodeResource {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Processor, Self::Storage, Self::Network];

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::Storage => "storage",
            Self::Network => "network",
        }
    }
}

/// Seconds of each resource that a sample takes on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleDemand {
    /// Of the processors, all working.
    pub processor_s: f64,
    /// Of storage, reading.
    pub read_s: f64,
    /// Of storage, writing.
    pub write_s: f64,
    /// Of the network.
    pub network_s: f64,
    /// Of memory at full bandwidth. It limits nothing; it is memory's activity.
    pub memory_s: f64,
}

impl SampleDemand {
    /// Of storage, reading and writing.
    pub fn storage_s(&self) -> f64 {
        self.read_s + self.write_s
    }

    /// Seconds of one resource.
    pub fn of(&self, resource: NodeResource) -> f64 {
        match resource {
            NodeResource::Processor => self.processor_s,
            NodeResource::Storage => self.storage_s(),
            NodeResource::Network => self.network_s,
        }
    }

    /// The time of the sample if all resources overlap perfectly: the longest (Gordon §5.3).
    pub fn longest(&self) -> f64 {
        self.processor_s.max(self.storage_s()).max(self.network_s)
    }

    /// The time of the sample if nothing overlaps.
    pub fn sum(&self) -> f64 {
        self.processor_s + self.storage_s() + self.network_s
    }

    /// The same on a node whose resource is infinitely fast.
    #[must_use]
    pub fn without(mut self, resource: NodeResource) -> Self {
        match resource {
            NodeResource::Processor => self.processor_s = 0.0,
            NodeResource::Storage => (self.read_s, self.write_s) = (0.0, 0.0),
            NodeResource::Network => self.network_s = 0.0,
        }
        self
    }
}

/// The rates of a node, for samples by the million: seconds of each thing that a sample counts.
#[derive(Clone, Copy, Debug)]
pub struct NodeRates {
    instruction: f64,
    read_byte: f64,
    read_access: f64,
    write_byte: f64,
    write_access: f64,
    network_byte: f64,
    miss: f64,
}

impl NodeRates {
    /// The rates of a design.
    ///
    /// Gordon models p processors as p instances of the workload whose time is divided by p. All p instances together
    /// take p times the disk and network time of one and the processor time of one. Divided by p, processor time
    /// shrinks to 1/p and the others stay.
    pub fn of(design: &NodeDesign) -> Self {
        let (storage, devices) = (&design.storage, f64::from(design.storage.devices));
        Self {
            instruction: 1.0 / design.instructions_per_second(),
            read_byte: 1.0 / (storage.read.bytes_per_second * devices),
            read_access: storage.read.seconds_per_access / devices,
            write_byte: 1.0 / (storage.write.bytes_per_second * devices),
            write_access: storage.write.seconds_per_access / devices,
            network_byte: 1.0 / design.network_bytes_per_second,
            miss: LINE_BYTES / design.memory.bytes_per_second,
        }
    }

    /// What a sample takes. The network carries both directions at a time; the longer counts. Memory's activity is that
    /// of its misses; if those were not measured, it is the processors' (`knows_misses`).
    pub fn demand(&self, sample: &ResourceSample, knows_misses: bool) -> SampleDemand {
        let processor_s = sample.instructions * self.instruction;
        SampleDemand {
            processor_s,
            read_s: sample.disk_read_bytes * self.read_byte + sample.disk_reads * self.read_access,
            write_s: sample.disk_write_bytes * self.write_byte + sample.disk_writes * self.write_access,
            network_s: sample.network_in_bytes.max(sample.network_out_bytes) * self.network_byte,
            memory_s: if knows_misses { sample.cache_misses * self.miss } else { processor_s },
        }
    }
}
