//! Why a virtual node cannot join the ring.

use crate::{MachineId, NodeId, VirtualId};

/// Why a virtual node cannot join the ring. The ring is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// Two virtual nodes cannot stand at one place. By chance that never happens: the node has joined already, or two
    /// nodes have one name.
    #[error(
        "node {node} cannot join at {id}, which is the place of node {holder}: give each node its own name, and let \
        it join once"
    )]
    Taken {
        /// The place on the ring.
        id: VirtualId,
        /// The node that cannot join.
        node: NodeId,
        /// The node that has the place.
        holder: NodeId,
    },
    /// The node is on the ring already, and is said to run on another machine there.
    #[error(
        "node {node} cannot join from machine {machine} while it is on the ring from machine {known}: remove it \
        there first"
    )]
    OtherMachine {
        /// The node that cannot join.
        node: NodeId,
        /// Where it is said to run now.
        machine: MachineId,
        /// Where the ring knows it to run.
        known: MachineId,
    },
    /// The machine is on the ring already, with this node or another, and is said to be in another failure domain there.
    #[error(
        "node {node} names another failure domain for machine {machine} than the ring has: give all nodes of a \
        machine the same domain, and remove them all before it moves"
    )]
    OtherDomain {
        /// The node that cannot join.
        node: NodeId,
        /// The machine that the node names.
        machine: MachineId,
    },
}
