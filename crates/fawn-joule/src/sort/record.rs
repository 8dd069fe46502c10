//! The shape of records: how long they are, and where their keys lie.

use std::cmp::Ordering;

use super::error::SortError;

/// Leading bytes of a key that are compared as one number.
pub const PREFIX_BYTES: usize = 12;

/// Records of one size, ordered by the bytes of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordShape {
    record_bytes: usize,
    key_offset: usize,
    key_bytes: usize,
    /// Bytes of the prefix that count, as a mask of its number.
    mask: u128,
}

impl RecordShape {
    /// The benchmark's records: 100 bytes, of which the first 10 are the key.
    pub const BENCHMARK: Self = Self { record_bytes: 100, key_offset: 0, key_bytes: 10, mask: mask(10) };

    /// Records of this many bytes, with a key of `key_bytes` from `key_offset` on.
    ///
    /// # Errors
    /// Record or key are empty, or the key ends behind the record.
    pub fn new(record_bytes: usize, key_offset: usize, key_bytes: usize) -> Result<Self, SortError> {
        if record_bytes == 0 {
            return Err(SortError::EmptyRecord);
        }
        if key_bytes == 0 {
            return Err(SortError::EmptyKey);
        }
        let end = key_offset.checked_add(key_bytes).filter(|end| *end <= record_bytes);
        end.ok_or(SortError::Shape)?;
        Ok(Self { record_bytes, key_offset, key_bytes, mask: mask(key_bytes) })
    }

    /// Bytes of a record.
    pub fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    /// Bytes of a key.
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// Where in a record the key begins.
    pub fn key_offset(&self) -> usize {
        self.key_offset
    }

    /// The key of a record.
    #[inline]
    pub fn key<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        &record[self.key_offset..][..self.key_bytes]
    }

    /// The first [`PREFIX_BYTES`] of a record's key as the high 96 bits of a number; zeros stand for what a shorter key lacks. The
    /// low 32 bits are zero.
    #[inline]
    pub fn prefix(&self, record: &[u8]) -> u128 {
        match record[self.key_offset..].first_chunk::<16>() {
            Some(bytes) => u128::from_be_bytes(*bytes) & self.mask,
            None => prefix_of(self.key(record)),
        }
    }

    /// Whether equal prefixes do not mean equal keys.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.key_bytes > PREFIX_BYTES
    }

    /// Compares two records by their whole keys.
    pub fn compare(&self, first: &[u8], second: &[u8]) -> Ordering {
        self.key(first).cmp(self.key(second))
    }

    /// The least number of records that fill whole pages of this many bytes.
    pub fn records_a_page_unit(&self, page_bytes: usize) -> usize {
        page_bytes / gcd(self.record_bytes, page_bytes)
    }
}

/// The prefix of a key, as [`RecordShape::prefix`] has it.
pub fn prefix_of(key: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let taken = key.len().min(PREFIX_BYTES);
    bytes[..taken].copy_from_slice(&key[..taken]);
    u128::from_be_bytes(bytes)
}

/// The bits of the prefix that a key of this many bytes has.
const fn mask(key_bytes: usize) -> u128 {
    let taken = if key_bytes < PREFIX_BYTES { key_bytes } else { PREFIX_BYTES };
    u128::MAX << (128 - 8 * taken)
}

fn gcd(first: usize, second: usize) -> usize {
    if second == 0 { first } else { gcd(second, first % second) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_order_as_keys_do_wherever_the_key_lies() {
        for (record_bytes, key_offset, key_bytes) in [(100, 0, 10), (20, 17, 3), (30, 1, 29), (12, 0, 12), (1, 0, 1)] {
            let shape = RecordShape::new(record_bytes, key_offset, key_bytes).unwrap();
            let records: Vec<Vec<u8>> =
                (0..50u8).map(|n| (0..record_bytes as u8).map(|at| n.wrapping_mul(at ^ 0x97)).collect()).collect();
            for first in &records {
                for second in &records {
                    let (by_prefix, by_key) =
                        (shape.prefix(first).cmp(&shape.prefix(second)), shape.compare(first, second));
                    assert!(by_prefix == by_key || by_prefix == Ordering::Equal && shape.is_long());
                }
                assert_eq!(shape.prefix(first), prefix_of(shape.key(first)));
            }
        }
    }

    #[test]
    fn a_key_lies_in_its_record() {
        for (record_bytes, key_offset, key_bytes) in [(10, 0, 0), (10, 5, 6), (10, usize::MAX, 2), (0, 0, 0)] {
            assert!(RecordShape::new(record_bytes, key_offset, key_bytes).is_err());
        }
        let says = |record_bytes: usize, key_bytes: usize| {
            RecordShape::new(record_bytes, 0, key_bytes).unwrap_err().to_string()
        };
        assert!(says(0, 10).contains("give --record-size 1 or more"));
        assert!(says(100, 0).contains("give --key-size 1 or more"));
        assert!(says(100, 101).contains("together are at most --record-size"));
    }

    #[test]
    fn whole_pages_hold_whole_records() {
        for (record_bytes, records) in [(100, 1024), (4096, 1), (8192, 1), (1, 4096), (4095, 4096), (64, 64)] {
            let shape = RecordShape::new(record_bytes, 0, 1).unwrap();
            assert_eq!(shape.records_a_page_unit(4096), records, "{record_bytes}");
        }
    }
}
