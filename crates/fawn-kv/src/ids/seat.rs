//! Processes by number: seats, each an event loop with a node or a front-end, and managers.

use super::numbers::{Address, FrontId};
use fawn_ring::NodeId;
use serde::{Deserialize, Serialize};

/// A member of the managers' group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ManagerId(pub u64);

/// One event loop of a process that serves: it runs a node, a front-end, or both, which have its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeatId(pub u32);

impl SeatId {
    /// The number without what says of which class the node is. No two seats of a cluster have the same one.
    pub const fn number(self) -> u32 {
        NodeId(self.0 as u64).number() as u32
    }

    /// The node that it runs, if it does.
    pub fn node(self) -> Address {
        Address::Node(NodeId(u64::from(self.0)))
    }

    /// The front-end that it runs, if it does.
    pub fn front(self) -> Address {
        Address::Front(FrontId(self.0))
    }

    /// Where an address is to be found: `None` for managers and clients.
    pub fn of(address: Address) -> Option<Self> {
        match address {
            Address::Node(NodeId(node)) => u32::try_from(node).ok().map(Self),
            Address::Front(FrontId(front)) => Some(Self(front)),
            Address::Manager | Address::Client(_) => None,
        }
    }
}
