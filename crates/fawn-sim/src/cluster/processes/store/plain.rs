//! What a plain directory was asked to write on whose stores the first nodes are started.

use fawn_check::random::Random;

use crate::cluster::keys::name;
use crate::cluster::time::BEGIN_UNIX;

/// Values of a plain store are above this, and below those of any client.
const FIRST_VALUE: u64 = 500_000_000;

/// Clients begin so long after the first of these writes, in microseconds: each write has its own before that.
pub const CLIENTS_BEGIN_US: u64 = 2000;

/// A write of a plain store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainWrite {
    /// A value.
    Put {
        /// The key.
        key: u64,
        /// The value.
        value: u64,
        /// Unix second at which it expires, or 0.
        expiry: u32,
    },
    /// A key is deleted that is there.
    Delete {
        /// The key.
        key: u64,
    },
    /// All that is there is gone, at this Unix second or, if that is 0, at once.
    Flush {
        /// That second.
        due: u32,
    },
}

/// What a store was asked to write, by a seed.
pub fn draw_writes(random: &mut Random, keys: &[u64], may_flush_later: bool) -> Vec<PlainWrite> {
    let mut writes = Vec::new();
    if keys.is_empty() {
        return writes;
    }
    let (count, mut there) = (random.below(3 * keys.len() as u64).min(400), Vec::new());
    for number in 0..count {
        let key = *random.pick(keys);
        match random.below(12) {
            0 => {
                writes.push(PlainWrite::Flush { due: 0 });
                there.clear();
            }
            1..4 if there.contains(&key) => {
                writes.push(PlainWrite::Delete { key });
                there.retain(|other| *other != key);
            }
            _ => {
                // As clients do, so that what expires is neither counted nor made longer.
                let expires = key % 4 == 3 && random.chance(1, 4);
                let expiry = if expires { BEGIN_UNIX + 2 + random.below(4) as u32 } else { 0 };
                writes.push(PlainWrite::Put { key, value: FIRST_VALUE + number * 64, expiry });
                there.push(key);
            }
        }
    }
    if may_flush_later && random.chance(1, 3) {
        writes.push(PlainWrite::Flush { due: BEGIN_UNIX + 2 + random.below(4) as u32 });
    }
    writes
}

/// The name and the text of a value, as a store has them.
pub fn written(key: u64, value: u64) -> (Vec<u8>, Vec<u8>) {
    (name(key), value.to_string().into_bytes())
}
