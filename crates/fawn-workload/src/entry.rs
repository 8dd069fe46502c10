//! Keys and values of entries.
//!
//! Both follow from the entry's index, and a value also from its version. A reader recomputes what it must find, so nothing is
//! remembered of any entry.

/// Bytes of every key.
pub const KEY_BYTES: usize = 20;
/// Smallest value: it tells its version.
pub const LEAST_VALUE_BYTES: usize = 8;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// `SplitMix64`'s finalizer: a permutation of all numbers that looks like chance.
#[inline]
pub fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(GOLDEN);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The key of entry `index`; no two entries share one.
#[inline]
pub fn key_of(index: u64) -> [u8; KEY_BYTES] {
    let (first, second) = (mix(index), mix(!index));
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&first.to_le_bytes());
    key[8..16].copy_from_slice(&second.to_le_bytes());
    key[16..].copy_from_slice(&((first ^ second.rotate_left(32)) as u32).to_le_bytes());
    key
}

/// What the first word of a value is, its version aside.
#[inline]
fn stamp(index: u64) -> u64 {
    mix(index ^ 0x5851_f42d_4c95_7f2d)
}

/// Writes the value of entry `index` in this version, of at least [`LEAST_VALUE_BYTES`]. It does not compress.
#[inline]
pub fn write_value(index: u64, version: u32, value: &mut [u8]) {
    let first = stamp(index) ^ u64::from(version);
    let (head, rest) = value.split_first_chunk_mut::<8>().expect("a value has at least 8 bytes");
    *head = first.to_le_bytes();
    let (words, tail) = rest.as_chunks_mut::<8>();
    let tail_word = word(first, words.len());
    for (number, chunk) in words.iter_mut().enumerate() {
        *chunk = word(first, number).to_le_bytes();
    }
    tail.copy_from_slice(&tail_word.to_le_bytes()[..tail.len()]);
}

/// The version of a value of entry `index`, every byte of which is looked at; `None` when it is none that
/// [`write_value`] makes.
#[inline]
pub fn version_of(index: u64, value: &[u8]) -> Option<u32> {
    let (head, rest) = value.split_first_chunk::<8>()?;
    let first = u64::from_le_bytes(*head);
    let version = u32::try_from(first ^ stamp(index)).ok()?;
    let (words, tail) = rest.as_chunks::<8>();
    let wrong = words
        .iter()
        .enumerate()
        .fold(0, |wrong, (number, chunk)| wrong | (u64::from_le_bytes(*chunk) ^ word(first, number)));
    let is_right = wrong == 0 && *tail == word(first, words.len()).to_le_bytes()[..tail.len()];
    is_right.then_some(version)
}

/// A word of a value's stream, by one wide multiplication: what is verified is read at memory's speed.
#[inline]
fn word(first: u64, number: usize) -> u64 {
    let place = first.wrapping_add((number as u64 + 1).wrapping_mul(0xa076_1d64_78bd_642f));
    let product = u128::from(place) * u128::from(place ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_value_tells_its_version_and_nothing_else_does() {
        for bytes in [8, 9, 20, 256] {
            let mut value = vec![0; bytes];
            write_value(7, 3, &mut value);
            assert_eq!(version_of(7, &value), Some(3));
            assert_eq!(version_of(8, &value), None, "it is another entry's");
            for at in 0..bytes {
                let mut wrong = value.clone();
                wrong[at] ^= 0x80;
                assert_ne!(version_of(7, &wrong), Some(3), "byte {at} of {bytes}");
            }
        }
        assert_eq!(version_of(7, b"short"), None);
    }

    #[test]
    fn a_changed_version_without_its_bytes_is_no_value() {
        let mut value = vec![0; 64];
        write_value(7, 3, &mut value);
        value[0] ^= 1;
        assert_eq!(version_of(7, &value), None);
    }

    #[test]
    fn keys_differ() {
        let keys: BTreeSet<_> = (0..10_000).map(key_of).collect();
        assert_eq!(keys.len(), 10_000);
    }
}
