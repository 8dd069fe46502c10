//! Positions in the 160-bit key space and the keyed hash that makes them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::Hasher;

use serde::{Deserialize, Serialize};

/// A position in the 160-bit key space, as 20 big-endian bytes, so that byte order is ring order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key(pub [u8; 20]);

/// As their bytes are, eight of them at once.
impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.prefix().cmp(&other.prefix()).then_with(|| self.0[8..].cmp(&other.0[8..]))
    }
}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key {
    /// Bytes of a position.
    pub const LEN: usize = 20;
    /// The lowest position of the key space.
    pub const MIN: Self = Self([0; Self::LEN]);
    /// The highest position of the key space.
    pub const MAX: Self = Self([0xff; Self::LEN]);

    /// The top 64 bits, which order keys but for ties of one in 2^64. Indexes and page directories work with these.
    #[inline]
    pub fn prefix(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[..8]);
        u64::from_be_bytes(bytes)
    }

    /// The lowest position whose [`prefix`](Self::prefix) is `prefix`.
    pub fn lowest_with_prefix(prefix: u64) -> Self {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&prefix.to_be_bytes());
        Self(bytes)
    }

    /// The highest position whose [`prefix`](Self::prefix) is `prefix`.
    pub fn highest_with_prefix(prefix: u64) -> Self {
        let mut bytes = [0xff; Self::LEN];
        bytes[..8].copy_from_slice(&prefix.to_be_bytes());
        Self(bytes)
    }

    /// The position before; `None` below [`Key::MIN`].
    pub fn predecessor(&self) -> Option<Self> {
        let mut bytes = self.0;
        for byte in bytes.iter_mut().rev() {
            let (difference, borrow) = byte.overflowing_sub(1);
            *byte = difference;
            if !borrow {
                return Some(Self(bytes));
            }
        }
        None
    }

    /// The next position clockwise; `None` after [`Key::MAX`].
    pub fn successor(&self) -> Option<Self> {
        let mut bytes = self.0;
        for byte in bytes.iter_mut().rev() {
            let (sum, carry) = byte.overflowing_add(1);
            *byte = sum;
            if !carry {
                return Some(Self(bytes));
            }
        }
        None
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// The secret hash key of a cluster, or of one stand-alone store. It is chosen at random when the directory is made,
/// lives in its manifest, and never changes afterwards. Never printed; sent to members of its cluster,
/// and to clients that the managers let in, alone.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret(pub [u8; 32]);

impl Secret {
    /// The position of a key: keyed BLAKE3 of its bytes, truncated to 160 bits.
    #[inline]
    pub fn position(&self, name: &[u8]) -> Key {
        let hash = blake3::keyed_hash(&self.0, name);
        let mut key = [0; Key::LEN];
        key.copy_from_slice(&hash.as_bytes()[..Key::LEN]);
        Key(key)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A hasher for tables by [`Key`]: the end of a key is its hash. Positions are uniform, and nobody outside can choose them;
/// keys of one range differ in their ends, not in how they begin.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last_chunk::<8>() {
            self.0 ^= u64::from_le_bytes(*last);
        }
    }

    /// A fixed-size array's length says nothing.
    fn write_usize(&mut self, _: usize) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_orders_like_the_whole_key() {
        let secret = Secret([7; 32]);
        let mut keys: Vec<Key> = (0..1000u32).map(|n| secret.position(&n.to_le_bytes())).collect();
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0].prefix() <= pair[1].prefix()));
    }

    #[test]
    fn keys_are_ordered_as_their_bytes_are() {
        let secret = Secret([7; 32]);
        let mut keys = vec![Key::MIN, Key::MAX];
        for n in 0..30_u32 {
            let key = secret.position(&n.to_le_bytes());
            keys.extend([Key::lowest_with_prefix(key.prefix()), key, Key::highest_with_prefix(key.prefix())]);
        }
        for (a, b) in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
            assert_eq!(a.cmp(b), a.0.cmp(&b.0));
        }
    }

    #[test]
    fn a_key_that_is_a_prefix_of_another_has_another_position() {
        let secret = Secret([7; 32]);
        assert_ne!(secret.position(b"user"), secret.position(b"user1"));
        assert_ne!(secret.position(b""), secret.position(b"\0"));
    }

    /// The published test vectors of BLAKE3: whoever hashes keys elsewhere, in whatever language, can check against them.
    #[test]
    fn clients_in_different_languages_hash_keys_alike_by_the_published_vectors() {
        let secret = Secret(*b"whats the Elvish word for friend");
        let input: Vec<u8> = (0..=250).cycle().take(1024).collect();
        for (len, hash) in [
            (0, "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3"),
            (1, "6d7878dfff2f485635d39013278ae14f1454b8c0"),
            (1024, "75c46f6f3d9eb4f55ecaaee480db732e6c210554"),
        ] {
            assert_eq!(format!("{:?}", secret.position(&input[..len])), hash, "{len} bytes");
        }
    }

    #[test]
    fn two_secrets_place_one_key_differently() {
        assert_ne!(Secret([1; 32]).position(b"k"), Secret([2; 32]).position(b"k"));
    }

    #[test]
    fn successor_carries_and_ends_at_the_top() {
        let mut low = Key::MIN;
        low.0[19] = 0xff;
        assert_eq!(low.successor().map(|key| (key.0[18], key.0[19])), Some((1, 0)));
        assert_eq!(Key::MAX.successor(), None);
        assert_eq!(low.successor().and_then(|next| next.predecessor()), Some(low));
        assert_eq!(Key::MIN.predecessor(), None);
    }

    #[test]
    fn a_secret_is_never_printed() {
        assert_eq!(format!("{:?}", Secret([9; 32])), "Secret(…)");
    }
}
