//! Pages: the unit of every transfer to and from flash, each with its own checksum.
//!
//! A page is 4096 bytes: an 8-byte header and 4088 bytes of payload. The checksum covers the page's *place* (which
//! file, which page number) as well as its bytes, so that a page written to or read from the wrong place never parses.
//! Buffers of pages are aligned to the page size, as `O_DIRECT` asks.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 4096;
/// Bytes of a page's header.
pub const PAGE_HEADER_BYTES: usize = 8;
/// Bytes of a page's payload.
pub const PAGE_PAYLOAD_BYTES: usize = PAGE_BYTES - PAGE_HEADER_BYTES;

/// One page, aligned to its size.
///
/// | bytes | field |
/// |---|---|
/// | 0..4 | CRC-32C of the place (16 bytes, see [`Place`]) and of bytes 4..4096, little-endian |
/// | 4..6 | payload bytes in use, from the start, little-endian |
/// | 6..8 | offset in the payload of the first record that *starts* in this page; `0xffff` when none does |
/// | 8..4096 | payload |
#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
pub struct Page(pub [u8; PAGE_BYTES]);

/// Where a page belongs; mixed into its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's identity: never reused within a store.
    pub file: u64,
    /// Page number from the start of the file.
    pub page: u64,
}

/// No record starts in the page.
pub const NO_RECORD_STARTS: u16 = 0xffff;

impl Page {
    /// A page of zeros.
    pub fn zeroed() -> Self {
        Self([0; PAGE_BYTES])
    }

    /// The payload, used or not.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.0[PAGE_HEADER_BYTES..]
    }

    /// The payload, for filling.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.0[PAGE_HEADER_BYTES..]
    }

    /// Payload bytes in use.
    #[inline]
    pub fn used(&self) -> usize {
        usize::from(u16::from_le_bytes([self.0[4], self.0[5]]))
    }

    /// Offset in the payload of the first record that starts here.
    #[inline]
    pub fn first_record(&self) -> Option<usize> {
        let offset = u16::from_le_bytes([self.0[6], self.0[7]]);
        (offset != NO_RECORD_STARTS).then_some(usize::from(offset))
    }

    /// Fills in the header once the payload is complete.
    pub fn seal(&mut self, place: Place, used: usize, first_record: Option<usize>) {
        assert!(used <= PAGE_PAYLOAD_BYTES, "a page's payload fits the page");
        let first = first_record.map_or(NO_RECORD_STARTS, |offset| offset as u16);
        self.0[4..6].copy_from_slice(&(used as u16).to_le_bytes());
        self.0[6..8].copy_from_slice(&first.to_le_bytes());
        let checksum = self.checksum(place);
        self.0[0..4].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Whether the page is intact and in its place. On `true`, [`used`](Self::used) and
    /// [`first_record`](Self::first_record) are within bounds: a record starts in what is used.
    #[inline]
    pub fn is_intact(&self, place: Place) -> bool {
        let stored = u32::from_le_bytes([self.0[0], self.0[1], self.0[2], self.0[3]]);
        stored == self.checksum(place)
            && self.used() <= PAGE_PAYLOAD_BYTES
            && self.first_record().is_none_or(|offset| offset < self.used())
    }

    fn checksum(&self, place: Place) -> u32 {
        let mut salt = [0; 16];
        salt[..8].copy_from_slice(&place.file.to_le_bytes());
        salt[8..].copy_from_slice(&place.page.to_le_bytes());
        crc32c::crc32c_append(crc32c::crc32c(&salt), &self.0[4..])
    }
}

/// A page-aligned buffer of whole pages.
#[derive(Clone, Default)]
pub struct PageBuf {
    pages: Vec<Page>,
}

impl PageBuf {
    /// A buffer of `count` zeroed pages, allocated without touching them twice.
    pub fn zeroed(count: usize) -> Self {
        Self { pages: Page::new_vec_zeroed(count).unwrap_or_else(|_| panic!("{count} pages can be allocated")) }
    }

    /// The pages of the buffer.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// The pages, for filling.
    pub fn pages_mut(&mut self) -> &mut Vec<Page> {
        &mut self.pages
    }

    /// The pages as bytes.
    pub fn bytes(&self) -> &[u8] {
        self.pages.as_slice().as_bytes()
    }

    /// The pages as bytes, for filling.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.pages.as_mut_slice().as_mut_bytes()
    }

    /// Number of pages in the buffer.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there is no page.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
}

impl std::fmt::Debug for PageBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PageBuf({} pages)", self.pages.len())
    }
}

/// Number of pages that hold `bytes` bytes.
pub const fn pages_for(bytes: usize) -> usize {
    bytes.div_ceil(PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_in_the_wrong_place_does_not_parse() {
        let mut page = Page::zeroed();
        page.payload_mut()[..3].copy_from_slice(b"abc");
        let place = Place { file: 3, page: 9 };
        page.seal(place, 3, Some(0));
        assert!(page.is_intact(place));
        assert!(!page.is_intact(Place { file: 3, page: 10 }));
        assert!(!page.is_intact(Place { file: 4, page: 9 }));
    }

    #[test]
    fn a_record_starts_in_what_is_used_or_the_page_is_not_intact() {
        let (mut page, place) = (Page::zeroed(), Place { file: 1, page: 0 });
        for (first, is_intact) in [(None, true), (Some(29), true), (Some(30), false), (Some(4000), false)] {
            page.seal(place, 30, first);
            assert_eq!(page.is_intact(place), is_intact, "a record starts at {first:?} of 30 bytes");
        }
    }

    #[test]
    fn every_bit_flip_of_a_page_is_seen() {
        let mut page = Page::zeroed();
        let place = Place { file: 1, page: 0 };
        page.seal(place, 100, None);
        for bit in 0..PAGE_BYTES * 8 {
            page.0[bit / 8] ^= 1 << (bit % 8);
            assert!(!page.is_intact(place), "bit {bit} flipped unseen");
            page.0[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn buffers_are_page_aligned() {
        let buffer = PageBuf::zeroed(3);
        assert_eq!(buffer.bytes().as_ptr() as usize % PAGE_BYTES, 0);
        assert_eq!(buffer.bytes().len(), 3 * PAGE_BYTES);
    }
}
