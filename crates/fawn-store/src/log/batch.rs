//! The header of a batch and its checksum.
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | `fwnL` |
//! | 4..8 | CRC-32C, begun with the log's salt, of bytes 48 to the end of the batch's last page, then of bytes 8..48 |
//! | 8..10 | version |
//! | 10..12 | 1 in the page that an opening writes first, else 0 |
//! | 12..16 | checksum of the batch before |
//! | 16..24 | logical position of this page |
//! | 24..32 | generation |
//! | 32..40 | durable mark: everything below this logical page was durable when the batch was closed |
//! | 40..44 | bytes of entries |
//! | 44..48 | number of entries |
//!
//! Bytes 0..24 and 40..44 and the checksum's rule stay in every version, so that a newer version is known for what it is.

use crate::format::page::PAGE_BYTES;

/// Version of the batch format that is written, and the newest that is read.
pub const VERSION: u16 = 2;
/// Bytes of a batch's header.
pub const BATCH_HEADER_BYTES: usize = 48;
/// Longest batch, in pages (64 MiB): a record of a quarter of the largest segment (32 MiB) fits.
pub const MAX_BATCH_PAGES: usize = 16_384;

pub(super) const MAGIC: [u8; 4] = *b"fwnL";

/// The fields of a batch's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub checksum: u32,
    pub version: u16,
    /// It is the page that an opening writes before the manifest knows of its generation.
    pub is_opening: bool,
    pub previous: u32,
    pub position: u64,
    pub generation: u64,
    pub durable: u64,
    pub bytes: u32,
    pub entries: u32,
}

impl Header {
    /// Writes the header; the checksum goes in by [`seal`](Self::seal).
    fn encode(&self, out: &mut [u8; BATCH_HEADER_BYTES]) {
        out[0..4].copy_from_slice(&MAGIC);
        out[8..10].copy_from_slice(&self.version.to_le_bytes());
        out[10..12].copy_from_slice(&u16::from(self.is_opening).to_le_bytes());
        out[12..16].copy_from_slice(&self.previous.to_le_bytes());
        out[16..24].copy_from_slice(&self.position.to_le_bytes());
        out[24..32].copy_from_slice(&self.generation.to_le_bytes());
        out[32..40].copy_from_slice(&self.durable.to_le_bytes());
        out[40..44].copy_from_slice(&self.bytes.to_le_bytes());
        out[44..48].copy_from_slice(&self.entries.to_le_bytes());
    }

    /// Completes the batch in `pages`, given the running checksum of its bytes from 48 on. Returns the checksum.
    pub fn seal(&self, body_checksum: u32, pages: &mut [u8]) -> u32 {
        let header =
            pages.first_chunk_mut::<BATCH_HEADER_BYTES>().expect("a batch has a page at least, and so a header");
        self.encode(header);
        let checksum = crc32c::crc32c_append(body_checksum, &header[8..]);
        header[4..8].copy_from_slice(&checksum.to_le_bytes());
        checksum
    }

    /// The header at the start of `page`, when it is one by its magic and its length is within bounds. Nothing else
    /// is verified.
    pub fn parse(page: &[u8]) -> Option<Self> {
        let bytes = page.first_chunk::<BATCH_HEADER_BYTES>()?;
        if bytes[..4] != MAGIC {
            return None;
        }
        let header = Self {
            checksum: u32_at(bytes, 4),
            version: u16::from_le_bytes([bytes[8], bytes[9]]),
            is_opening: bytes[10] & 1 == 1,
            previous: u32_at(bytes, 12),
            position: u64_at(bytes, 16),
            generation: u64_at(bytes, 24),
            durable: u64_at(bytes, 32),
            bytes: u32_at(bytes, 40),
            entries: u32_at(bytes, 44),
        };
        (header.pages() <= MAX_BATCH_PAGES as u64).then_some(header)
    }

    /// Pages that the batch fills.
    pub fn pages(&self) -> u64 {
        pages_for_entries(self.bytes as usize) as u64
    }

    /// Whether the checksum of the batch in `pages` (all of its pages) is right.
    pub fn is_intact(&self, salt: u32, pages: &[u8]) -> bool {
        let body = crc32c::crc32c_append(salt, &pages[BATCH_HEADER_BYTES..]);
        self.checksum == crc32c::crc32c_append(body, &pages[8..BATCH_HEADER_BYTES])
    }
}

/// Pages of a batch with `bytes` bytes of entries.
pub(super) const fn pages_for_entries(bytes: usize) -> usize {
    (BATCH_HEADER_BYTES + bytes).div_ceil(PAGE_BYTES)
}

/// Where a batch of `pages` pages goes when the log ends at `next`: there, or at the start of the next lap.
pub(super) fn place(next: u64, pages: u64, ring_pages: u64) -> u64 {
    if next % ring_pages + pages <= ring_pages { next } else { next.next_multiple_of(ring_pages) }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
