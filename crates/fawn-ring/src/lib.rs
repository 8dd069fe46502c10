//! The 160-bit circular key space of FAWN-KV (SOSP'09 §3.4): key positions, the virtual IDs that own ranges of them,
//! and the chains that are to replicate those ranges.
//!
//! A key's position is a *keyed* hash of its bytes, so that nobody outside a cluster can aim keys at one node or
//! at one bucket of an index. Positions place keys; they never identify them: every layer that compares positions
//! also compares the full key, so that two keys with the same position are never mixed.
//!
//! The [`Ring`] says who *should* hold what: a function of the nodes that are members, and of nothing else. Who *does*,
//! in which epoch, is what `fawn-kv` decides and routes by: its manager brings the chains, one range at a time, to what
//! the ring says.
//!
//! ```
//! use fawn_ring::{MachineId, Node, NodeId, Ring, Secret};
//!
//! let node = |number: u64| Node::named(NodeId(number), MachineId(number), format!("node-{number}").as_bytes(), 8);
//! let ring = Ring::of(&[node(1), node(2), node(3)])?;
//!
//! let key = Secret([7; 32]).position(b"user:1");
//! let chain = ring.chain_of_key(&key, 3).expect("the ring has nodes");
//! assert_eq!(Some(&chain[0]), ring.owner(&key), "the head is the owner");
//! assert_eq!(chain.len(), 3);
//!
//! // A fourth node cuts a range at each of its eight places. Chains that it does not enter stay as they are.
//! let mut larger = ring.clone();
//! larger.insert_node(&node(4))?;
//! assert_eq!(larger.ranges().count(), ring.ranges().count() + 8);
//! let then = larger.chain_of_key(&key, 3).expect("the ring has nodes");
//! assert_eq!(then != chain, then.iter().any(|member| member.node == NodeId(4)));
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

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod interval;
mod key;
mod node;
mod range;
mod ring;
mod ring_error;
mod virtual_id;

pub use interval::Interval;
pub use key::{Key, KeyHasher, Secret};
pub use node::{DomainId, MachineId, Node, NodeId, VirtualNode};
pub use range::KeyRange;
pub use ring::Ring;
pub use ring_error::RingError;
pub use virtual_id::VirtualId;
