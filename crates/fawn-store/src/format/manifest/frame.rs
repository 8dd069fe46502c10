//! Frames: one snapshot or one commit of edits, in whole pages.
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | `fwnM` |
//! | 4..8 | CRC-32C, begun with that of the manifest's number, of bytes 8 to the end of the frame's last page |
//! | 8..10 | version |
//! | 10 | kind: 1 snapshot, 2 edits |
//! | 11 | zero |
//! | 12..16 | checksum of the frame before; 0 for the snapshot |
//! | 16..24 | page of the file at which the frame's first copy begins |
//! | 24..28 | bytes of the body |
//! | 28..32 | zero |
//! | 32.. | body |
//!
//! The header and the checksum's rule stay in every version, so that a newer version is known for what it is.

use zerocopy::IntoBytes;

use crate::format::page::{PAGE_BYTES, Page, PageBuf};

/// The version that is written, and the newest that is read.
pub const VERSION: u16 = 4;
/// The first version with bonds.
pub(super) const WITH_BONDS: u16 = 4;

pub(super) const SNAPSHOT: u8 = 1;
pub(super) const EDITS: u8 = 2;

const HEADER_BYTES: usize = 32;
const MAGIC: [u8; 4] = *b"fwnM";

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub checksum: u32,
    pub version: u16,
    pub kind: u8,
    pub previous: u32,
    pub page: u64,
    pub bytes: u32,
}

impl Frame {
    /// Pages of one copy.
    pub fn pages(&self) -> u64 {
        frame_pages(self.bytes as usize)
    }

    /// Encodes both copies of a frame. Returns its header too.
    pub fn encode(number: u64, kind: u8, previous: u32, page: u64, body: &[u8]) -> (Self, PageBuf) {
        let pages = frame_pages(body.len()) as usize;
        let mut frame = Self { checksum: 0, version: VERSION, kind, previous, page, bytes: body.len() as u32 };
        let mut buffer = PageBuf::zeroed(2 * pages);
        let (first, second) = buffer.bytes_mut().split_at_mut(pages * PAGE_BYTES);
        first[0..4].copy_from_slice(&MAGIC);
        first[8..10].copy_from_slice(&frame.version.to_le_bytes());
        first[10] = kind;
        first[12..16].copy_from_slice(&previous.to_le_bytes());
        first[16..24].copy_from_slice(&page.to_le_bytes());
        first[24..28].copy_from_slice(&frame.bytes.to_le_bytes());
        first[HEADER_BYTES..HEADER_BYTES + body.len()].copy_from_slice(body);
        frame.checksum = checksum(number, first);
        first[4..8].copy_from_slice(&frame.checksum.to_le_bytes());
        second.copy_from_slice(first);
        (frame, buffer)
    }

    /// The intact frame whose bytes begin at page `at` of `pages`, the whole file of manifest `number`.
    pub fn read(number: u64, pages: &[Page], at: u64) -> Option<(Self, &[u8])> {
        let rest = pages.get(usize::try_from(at).ok()?..)?;
        let header = rest.first()?.0.first_chunk::<HEADER_BYTES>()?;
        if header[..4] != MAGIC {
            return None;
        }
        let frame = Self {
            checksum: u32_at(header, 4),
            version: u16::from_le_bytes([header[8], header[9]]),
            kind: header[10],
            previous: u32_at(header, 12),
            page: u64::from(u32_at(header, 16)) | u64::from(u32_at(header, 20)) << 32,
            bytes: u32_at(header, 24),
        };
        let bytes = rest.get(..frame.pages() as usize)?.as_bytes();
        let body = &bytes[HEADER_BYTES..HEADER_BYTES + frame.bytes as usize];
        (frame.checksum == checksum(number, bytes)).then_some((frame, body))
    }
}

/// Pages of one copy of a frame with a body of `bytes` bytes.
pub(super) fn frame_pages(bytes: usize) -> u64 {
    (HEADER_BYTES + bytes).div_ceil(PAGE_BYTES) as u64
}

fn checksum(number: u64, frame: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), &frame[8..])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
