//! Large values: a value above a quarter of a segment has a file of its own; its record is a stub that names it.

use crate::flash::FileId;
use crate::format::page::{PAGE_BYTES, PageBuf, pages_for};

/// What a stub record's value says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stub {
    /// Number of the value file.
    pub file: u64,
    /// Bytes of the value.
    pub bytes: u64,
    /// CRC-32C of the value.
    pub checksum: u32,
}

impl Stub {
    /// Length of an encoded stub, in bytes.
    pub const LEN: usize = 20;

    /// The stub of `value`, to be stored in file number `file`.
    pub fn of(file: u64, value: &[u8]) -> Self {
        Self { file, bytes: value.len() as u64, checksum: crc32c::crc32c(value) }
    }

    /// The file to read.
    pub fn id(&self) -> FileId {
        FileId::Value(self.file)
    }

    /// Its length in pages; the value's bytes fill them from the start, without page headers.
    pub fn pages(&self) -> u64 {
        self.bytes.div_ceil(PAGE_BYTES as u64)
    }

    /// The stub as the value of a record: file, bytes, checksum, little-endian.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[..8].copy_from_slice(&self.file.to_le_bytes());
        out[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        out[16..].copy_from_slice(&self.checksum.to_le_bytes());
        out
    }

    /// The stub that a record's value is; `None` when it is not one.
    pub fn decode(value: &[u8]) -> Option<Self> {
        let value: &[u8; Self::LEN] = value.try_into().ok()?;
        let mut word = [0; 8];
        word.copy_from_slice(&value[..8]);
        let file = u64::from_le_bytes(word);
        word.copy_from_slice(&value[8..16]);
        let bytes = u64::from_le_bytes(word);
        let checksum = u32::from_le_bytes([value[16], value[17], value[18], value[19]]);
        Some(Self { file, bytes, checksum })
    }

    /// `value` laid out in pages for its file.
    pub fn lay_out(value: &[u8]) -> PageBuf {
        let mut pages = PageBuf::zeroed(pages_for(value.len()));
        pages.bytes_mut()[..value.len()].copy_from_slice(value);
        pages
    }

    /// The value in the pages of its file, verified; `None` when they are damaged.
    pub fn value<'a>(&self, pages: &'a PageBuf) -> Option<&'a [u8]> {
        let value = pages.bytes().get(..usize::try_from(self.bytes).ok()?)?;
        (crc32c::crc32c(value) == self.checksum).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_value_reads_back_and_damage_is_seen() {
        let value = vec![7u8; 10_000];
        let stub = Stub::of(5, &value);
        let mut pages = Stub::lay_out(&value);
        assert_eq!(pages.len() as u64, stub.pages());
        assert_eq!(Stub::decode(&stub.encode()), Some(stub));
        assert_eq!(stub.value(&pages), Some(&value[..]));
        pages.bytes_mut()[9_999] ^= 1;
        assert_eq!(stub.value(&pages), None);
    }
}
