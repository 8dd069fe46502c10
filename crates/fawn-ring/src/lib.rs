//! The 160-bit circular key space of FAWN-KV (SOSP'09 §3.4): key positions, the virtual IDs that own ranges of them,
//! the chains that replicate those ranges, and the view of all that by which everybody routes.
//!
//! A key's position is a *keyed* hash of its bytes, so that nobody outside a cluster can aim keys at one node or
//! at one bucket of an index. Positions place keys; they never identify them: every layer that compares positions
//! also compares the full key, so that two keys with the same position are never mixed.
//!
//! Two things describe a cluster. The [`Ring`] says who *should* hold what: a function of the nodes that are members.
//! The [`View`] says who *does*, in which epoch; only the manager changes it, one range at a time, towards the ring.
//! [`changes`] is the way from one to the other.
//!
//! ```
//! use fawn_ring::{Incarnation, MachineId, Node, NodeId, Ring, Secret, View, changes};
//!
//! let node = |number: u64| Node::named(NodeId(number), MachineId(number), format!("node-{number}").as_bytes(), 8);
//! let ring = Ring::of(&[node(1), node(2), node(3)])?;
//! let view = View::of(&ring, 3, |_| Incarnation(1));
//!
//! let key = Secret([7; 32]).position(b"user:1");
//! let chain = view.lookup(&key);
//! assert_eq!(chain.head().node, ring.owner(&key).expect("the ring has nodes").node);
//! assert_eq!(chain.members().len(), 3);
//!
//! // A fourth node splits eight ranges, and becomes a member of some more.
//! let mut larger = ring.clone();
//! larger.insert_node(&node(4))?;
//! assert!(changes(&ring, &larger, 3).len() > 8);
//! # Ok::<(), fawn_ring::RingError>(())
//! ```
//!
//! # Layout
//!
//! Places:
//!
//! * [`Key`]: a position, 160 bits.
//! * [`Secret`]: the 32-byte hash key of one cluster (or one stand-alone store).
//! * [`Interval`]: a stretch of the key space with inclusive ends.
//! * [`VirtualId`]: a place of a node on the ring.
//! * [`KeyRange`]: what a virtual ID owns; may wrap, and is one or two intervals.
//!
//! Who should hold what:
//!
//! * [`Node`], [`VirtualNode`]: a node with its machine and failure domain, and one of its places.
//! * [`Ring`]: owners and chains.
//! * [`changes`]: splits, replaced chains and merges from one ring to another.
//!
//! Who does:
//!
//! * [`Configuration`]: the members of one range in one [`Epoch`], with the [`Role`] of each.
//! * [`View`]: the configurations of all ranges, and the [`ViewChange`]s that make the next view.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod change;
mod configuration;
mod interval;
mod key;
mod node;
mod range;
mod ring;
mod ring_error;
mod view;
mod view_error;
mod virtual_id;

pub use change::{Change, changes};
pub use configuration::{Configuration, Epoch, Incarnation, Member, Role};
pub use interval::Interval;
pub use key::{Key, Secret};
pub use node::{DomainId, MachineId, Node, NodeId, VirtualNode};
pub use range::KeyRange;
pub use ring::Ring;
pub use ring_error::RingError;
pub use view::{View, ViewChange, ViewNumber};
pub use view_error::ViewError;
pub use virtual_id::VirtualId;
