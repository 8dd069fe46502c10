//! The last page of a segment: what the file is and where its parts are.

use fawn_ring::{Interval, Key};

use super::prefix_packing::Fragments;
use super::{SegmentError, page_damage};
use crate::flash::{FileId, Flash};
use crate::format::page::{PageBuf, Place};

/// First bytes of a footer.
const MAGIC: [u8; 8] = *b"FAWNSEG2";
/// First bytes of a footer without a content.
const MAGIC_V1: [u8; 8] = *b"FAWNSEG1";
/// Encoded bytes before the content.
const BYTES: usize = 8 + 8 * 11 + 4 + 2 + 2 * Key::LEN;

/// A segment's footer. All page counts are in pages of 4096 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The segment's file number.
    pub file: u64,
    /// Pages of records, from page 0.
    pub data_pages: u64,
    /// Pages of the directory, after the data.
    pub directory_pages: u64,
    /// Pages of the fragments, after the directory.
    pub fragment_pages: u64,
    /// Number of records in the segment.
    pub records: u64,
    /// Bytes of the segment's records.
    pub bytes: u64,
    /// Delete records among them.
    pub deletes: u64,
    /// Lowest sequence number in the segment.
    pub seq_low: u64,
    /// Highest sequence number in the segment.
    pub seq_high: u64,
    /// Records with an expiry.
    pub expiring: u64,
    /// The latest expiry among them, Unix seconds.
    pub latest_expiry: u32,
    /// Shape of the fragments.
    pub fragments: Fragments,
    /// Lowest position of a key in the segment.
    pub low: Key,
    /// Highest position of a key in the segment.
    pub high: Key,
    /// Checksum of the checksums of all pages before the footer: two segments of one number that hold anything different
    /// have different ones. None in what older releases wrote.
    pub content: Option<u32>,
}

impl Footer {
    /// About how many of the records are numbered up to `seq`, as if their numbers were evenly spread.
    pub fn numbered_up_to(&self, seq: u64) -> u64 {
        if self.records == 0 || seq < self.seq_low {
            return 0;
        }
        let numbers = |high: u64| u128::from(high - self.seq_low) + 1;
        (u128::from(self.records) * numbers(seq.min(self.seq_high)) / numbers(self.seq_high)) as u64
    }

    /// The share of the records that lies in `keys`, keys being evenly spread; above 0 when any of them may.
    pub fn share_in(&self, keys: &Interval) -> f64 {
        let (low, high) = (self.low.max(keys.low), self.high.min(keys.high));
        if low > high {
            return 0.0;
        }
        let width = |low: &Key, high: &Key| (high.prefix() - low.prefix()) as f64 + 1.0;
        width(&low, &high) / width(&self.low, &self.high)
    }

    /// About how many of the records lie in `keys`; exactly, where all do.
    pub fn records_in(&self, keys: &Interval) -> u64 {
        (self.records as f64 * self.share_in(keys)).round() as u64
    }

    /// The footer of a segment that holds nothing yet.
    pub(super) fn empty(file: u64) -> Self {
        Self {
            file,
            data_pages: 0,
            directory_pages: 0,
            fragment_pages: 0,
            records: 0,
            bytes: 0,
            deletes: 0,
            seq_low: 0,
            seq_high: 0,
            expiring: 0,
            latest_expiry: 0,
            fragments: Fragments::default(),
            low: Key::MIN,
            high: Key::MIN,
            content: None,
        }
    }

    /// Pages of the whole file, footer included.
    pub fn total_pages(&self) -> u64 {
        self.data_pages + self.directory_pages + self.fragment_pages + 1
    }

    /// First page of the fragments.
    pub fn fragments_at(&self) -> u64 {
        self.data_pages + self.directory_pages
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BYTES + 4);
        out.extend_from_slice(if self.content.is_some() { &MAGIC } else { &MAGIC_V1 });
        for word in [
            self.file,
            self.data_pages,
            self.directory_pages,
            self.fragment_pages,
            self.records,
            self.bytes,
            self.deletes,
            self.seq_low,
            self.seq_high,
            self.expiring,
            self.fragments.common,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.latest_expiry.to_le_bytes());
        out.extend_from_slice(&[self.fragments.shared_bits, self.fragments.bucket_bits]);
        out.extend_from_slice(&self.low.0);
        out.extend_from_slice(&self.high.0);
        out.extend(self.content.iter().flat_map(|content| content.to_le_bytes()));
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (bytes, content) = bytes.split_at_checked(BYTES)?;
        let content = match (bytes.first_chunk()?, content) {
            (&MAGIC_V1, []) => None,
            (&MAGIC, content) => Some(u32::from_le_bytes(content.try_into().ok()?)),
            _ => return None,
        };
        let word = |n: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 + 8 * n..16 + 8 * n]);
            u64::from_le_bytes(word)
        };
        let key = |at: usize| {
            let mut key = [0; Key::LEN];
            key.copy_from_slice(&bytes[at..at + Key::LEN]);
            Key(key)
        };
        let rest = 8 + 8 * 11;
        Some(Self {
            file: word(0),
            data_pages: word(1),
            directory_pages: word(2),
            fragment_pages: word(3),
            records: word(4),
            bytes: word(5),
            deletes: word(6),
            seq_low: word(7),
            seq_high: word(8),
            expiring: word(9),
            latest_expiry: u32::from_le_bytes([bytes[rest], bytes[rest + 1], bytes[rest + 2], bytes[rest + 3]]),
            fragments: Fragments { common: word(10), shared_bits: bytes[rest + 4], bucket_bits: bytes[rest + 5] },
            low: key(rest + 6),
            high: key(rest + 6 + Key::LEN),
            content,
        })
    }

    /// Whether what the footer says can be true of a file of `total_pages` pages: whoever reads on relies on it.
    fn is_sound(&self, total_pages: u64) -> bool {
        let parts = [self.data_pages, self.directory_pages, self.fragment_pages, 1];
        let sum = parts.iter().try_fold(0u64, |sum, pages| sum.checked_add(*pages));
        sum == Some(total_pages)
            && self.low <= self.high
            && self.seq_low <= self.seq_high
            && (self.records == 0 || self.fragments.covers(self.low.prefix(), self.high.prefix()))
    }

    /// Reads the footer of segment `file`, which has `total_pages` pages.
    ///
    /// # Errors
    /// The device's, or damage.
    pub fn read(flash: &dyn Flash, file: u64, total_pages: u64) -> Result<Self, SegmentError> {
        let id = FileId::Segment(file);
        let at = total_pages.checked_sub(1).ok_or_else(|| page_damage(id, 0, "the file is empty"))?;
        let mut page = PageBuf::zeroed(1);
        flash.read(id, at, page.pages_mut())?;
        let page = &page.pages()[0];
        if !page.is_intact(Place { file, page: at }) {
            return Err(page_damage(id, at, "the footer's checksum does not match").into());
        }
        let footer = Self::decode(&page.payload()[..page.used()])
            .filter(|footer| footer.file == file && footer.is_sound(total_pages))
            .ok_or_else(|| page_damage(id, at, "the footer is invalid"))?;
        Ok(footer)
    }

    /// Reads the directory: for each data page the prefix of its first byte's owner.
    ///
    /// # Errors
    /// The device's, or damage.
    pub fn read_directory(&self, flash: &dyn Flash) -> Result<Vec<u64>, SegmentError> {
        let id = FileId::Segment(self.file);
        let mut buffer = PageBuf::zeroed(self.directory_pages as usize);
        flash.read(id, self.data_pages, buffer.pages_mut())?;
        let mut prefixes = Vec::with_capacity(self.data_pages as usize);
        for (n, page) in buffer.pages().iter().enumerate() {
            let at = self.data_pages + n as u64;
            if !page.is_intact(Place { file: self.file, page: at }) {
                return Err(page_damage(id, at, "a directory page's checksum does not match").into());
            }
            prefixes.extend(page.payload()[..page.used()].chunks_exact(8).map(|word| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(word);
                u64::from_le_bytes(bytes)
            }));
        }
        if !prefixes.is_sorted() {
            return Err(page_damage(id, self.data_pages, "the directory is not in order").into());
        }
        if prefixes.len() as u64 != self.data_pages {
            return Err(page_damage(id, self.data_pages, "the directory does not name every page").into());
        }
        Ok(prefixes)
    }
}
