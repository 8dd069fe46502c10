//! The 160-bit circular key space of FAWN-KV (SOSP'09 §3.4): key positions and the intervals that ranges own.
//!
//! A key's position is a *keyed* hash of its bytes, so that nobody outside a cluster can aim keys at one node or
//! at one bucket of an index. Positions place keys; they never identify them: every layer that compares positions
//! also compares the full key, so that two keys with the same position are never mixed.
//!
//! # Layout
//!
//! * [`Key`]: a position, 160 bits.
//! * [`Secret`]: the 32-byte hash key of one cluster (or one stand-alone store).
//! * [`Interval`]: a stretch of the key space with inclusive ends.

#![cfg_attr(test, allow(clippy::unwrap_used))]

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
