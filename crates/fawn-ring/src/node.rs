//! Who stands on the ring: nodes, the machines that they run on, and the failure domains of those.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::VirtualId;

/// A node: one process with its stores. Given by the manager, and never to two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u64);

impl NodeId {
    /// The bit of a number that says that the node is an archive.
    pub const ARCHIVE: u64 = 1 << 31;

    /// Whether the node is an archive: it keeps copies on slow disks, which are read only if no other node has them.
    ///
    /// The number says so, because a node's class never changes and everybody who knows a chain has to know it.
    pub const fn is_archive(self) -> bool {
        self.0 & Self::ARCHIVE != 0
    }

    /// The number without the bit of its class. No two nodes of a cluster have the same one.
    pub const fn number(self) -> u64 {
        self.0 & !Self::ARCHIVE
    }
}

/// A machine, which fails as a whole. Nodes that share one (one for each of its disks, say) are no replicas for each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MachineId(pub u64);

/// A set of machines that may fail together: a rack, a power supply, a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DomainId(pub u64);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for DomainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A node and all its places on the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Number by which the ring knows the node.
    pub id: NodeId,
    /// The machine that it runs on.
    pub machine: MachineId,
    /// The failure domain of that machine, if it has been told. A machine without one is a domain of its own.
    pub domain: Option<DomainId>,
    /// Its places on the ring, in any order, all different.
    pub virtual_ids: Vec<VirtualId>,
}

impl Node {
    /// The node with a name, at `count` places (the paper's V) that follow from the name, in no failure domain.
    pub fn named(id: NodeId, machine: MachineId, name: &[u8], count: u32) -> Self {
        Self { id, machine, domain: None, virtual_ids: VirtualId::all_of(name, count) }
    }

    /// The node's places, one at a time.
    pub fn virtual_nodes(&self) -> impl Iterator<Item = VirtualNode> {
        let Self { id: node, machine, domain, .. } = *self;
        self.virtual_ids.iter().map(move |id| VirtualNode { id: *id, node, machine, domain })
    }
}

/// One place of one node: what joins and leaves the ring, and what chains are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VirtualNode {
    /// The place on the ring.
    pub id: VirtualId,
    /// The node that has the place.
    pub node: NodeId,
    /// The machine that the node runs on.
    pub machine: MachineId,
    /// The machine's failure domain.
    pub domain: Option<DomainId>,
}
