//! Virtual IDs: where a node stands on the ring (FAWN SOSP'09 §3.4.1).
//!
//! A node stands at V places, so that what it owns is the sum of V random ranges and its load is spread over V
//! neighbours when it leaves. The places are a deterministic function of the node's name: a node that comes back finds
//! its old ranges, whoever asks computes the same ring, and no front-end needs to hand positions out.

use std::fmt;

use crate::Key;

/// A position of the ring at which a virtual node stands. It owns the keys from its predecessor (exclusive) to itself
/// (inclusive).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualId(pub Key);

/// Separates this use of BLAKE3 from all others. Part of the format: another string would move every node of a cluster.
const CONTEXT: &str = "fawn-ring 2026-11-22 virtual ID of a node";

impl VirtualId {
    /// The virtual ID with a number, counted from 0, of the node with a name: BLAKE3 in its key-derivation mode, of the
    /// name followed by the number as 4 little-endian bytes, truncated to 160 bits.
    ///
    /// It does not depend on the [`Secret`](crate::Secret) of a cluster: the secret keeps outsiders from aiming keys at
    /// a node, and for that it suffices that they do not know where keys fall.
    pub fn of(node_name: &[u8], number: u32) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(node_name).update(&number.to_le_bytes());
        let mut key = [0; Key::LEN];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..Key::LEN]);
        Self(Key(key))
    }

    /// The virtual IDs with the numbers `0..count` of the node with a name.
    pub fn all_of(node_name: &[u8], count: u32) -> Vec<Self> {
        (0..count).map(|number| Self::of(node_name, number)).collect()
    }
}

impl fmt::Debug for VirtualId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for VirtualId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Taken from another implementation of BLAKE3. A node that computed others would stand elsewhere after an upgrade.
    #[test]
    fn virtual_ids_are_the_derived_keys_of_name_and_number() {
        for (name, number, id) in [
            (&b""[..], 0, "ba640bab15d9d703636cb1caf071cbebcc2f8ee6"),
            (b"node-1", 0, "a351aaae27ae022504d149aac7153e5e3ec3262c"),
            (b"node-1", 7, "9a12aa35e56bb075f018c7f2e0211feb0e539936"),
        ] {
            assert_eq!(VirtualId::of(name, number).to_string(), id, "{name:?} {number}");
        }
    }

    #[test]
    fn a_node_has_as_many_virtual_ids_as_asked_for_and_keeps_the_first_when_it_takes_more() {
        let few = VirtualId::all_of(b"node-1", 4);
        let more = VirtualId::all_of(b"node-1", 8);
        assert_eq!((few.len(), more.len()), (4, 8));
        assert_eq!(few[..], more[..4]);
    }
}
