//! The keys of a run: their names, where they lie, and which of them may have values that expire.

use fawn_ring::{Key, Secret};

/// Where keys lie in all simulated clusters.
pub const SECRET: Secret = Secret([7; 32]);

/// The name of a key.
pub fn name(key: u64) -> Vec<u8> {
    format!("key-{key:04}").into_bytes()
}

/// Where a key lies.
pub fn position(key: u64) -> Key {
    SECRET.position(&name(key))
}

/// Whether values of a key are fields of hashes, if any are.
pub fn is_hash(key: u64) -> bool {
    key % 8 == 1
}

/// Whether values of a key are put that expire.
pub fn expires(key: u64) -> bool {
    key % 4 == 3
}
