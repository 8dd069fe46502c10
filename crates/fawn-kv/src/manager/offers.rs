//! What nodes offer that have keys of no cluster yet.

use crate::ids::NodeId;
use crate::store::Plain;
use fawn_ring::{DomainId, MachineId};

/// A node that offers what it has.
pub(super) struct Offer {
    pub(super) node: NodeId,
    pub(super) nonce: u64,
    pub(super) machine: MachineId,
    pub(super) domain: Option<DomainId>,
    pub(super) virtual_ids: u32,
    pub(super) plain: Plain,
}

/// What a node has offered.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreOffer {
    pub(super) plain: Plain,
    pub(super) at_us: u64,
}
