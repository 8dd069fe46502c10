//! The prefixes of all records of a segment, in order, bucketed and packed: what a slice's index is rebuilt from.
//!
//! All prefixes share their top `shared_bits`; the next `bucket_bits` choose a bucket; the rest is stored in whole
//! bytes. The byte stream over the pages' payloads is: the number of records below each bucket and at the end
//! (`2^bucket_bits + 1` × u32), then the records' rests, little-endian. The bits lose nothing: prefixes read back
//! exactly, since the index places records by all of them.

use fawn_ring::Interval;

use super::footer::Footer;
use super::{SegmentError, page_damage};
use crate::flash::{FileId, Flash};
use crate::page::{PAGE_PAYLOAD_BYTES, PageBuf, Place};

/// Pages read at once.
const READ_PAGES: usize = 64;

/// The shape of a segment's fragments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragments {
    /// The lowest prefix; only its top `shared_bits` count.
    pub common: u64,
    /// Leading bits that all prefixes share; at most 63.
    pub shared_bits: u8,
    /// Bits that choose the bucket; at most 24.
    pub bucket_bits: u8,
}

impl Fragments {
    /// The cheapest shape for `prefixes`, which are sorted.
    pub(super) fn plan(prefixes: &[u64]) -> Self {
        let (Some(first), Some(last)) = (prefixes.first(), prefixes.last()) else {
            return Self::default();
        };
        let shared_bits = (first ^ last).leading_zeros().min(63) as u8;
        let cost = |bucket_bits: &u8| {
            let shape = Self { common: 0, shared_bits, bucket_bits: *bucket_bits };
            (4 << bucket_bits) + prefixes.len() * shape.width()
        };
        let bucket_bits = (0..=24.min(63 - shared_bits)).min_by_key(cost).unwrap_or(0);
        Self { common: *first, shared_bits, bucket_bits }
    }

    /// Whether prefixes from `low` to `high` can have this shape.
    pub(super) fn covers(self, low: u64, high: u64) -> bool {
        let is_shape = self.shared_bits <= 63 && self.bucket_bits <= 24.min(63 - self.shared_bits);
        is_shape && self.with_shared(low) == low && self.with_shared(high) == high
    }

    /// Bytes of one record's rest.
    fn width(self) -> usize {
        (64 - usize::from(self.shared_bits) - usize::from(self.bucket_bits)).div_ceil(8)
    }

    fn rest_bits(self) -> u32 {
        64 - u32::from(self.shared_bits) - u32::from(self.bucket_bits)
    }

    fn buckets(self) -> usize {
        1 << self.bucket_bits
    }

    fn bucket(self, prefix: u64) -> usize {
        let below = if self.shared_bits == 0 { prefix } else { prefix & (u64::MAX >> self.shared_bits) };
        (below >> self.rest_bits().min(63)) as usize * usize::from(self.rest_bits() < 64)
    }

    /// The top bits that all prefixes share, the others zero.
    fn shared(self) -> u64 {
        if self.shared_bits == 0 { 0 } else { self.common & !(u64::MAX >> self.shared_bits) }
    }

    /// The prefix with the top bits that all share.
    fn with_shared(self, prefix: u64) -> u64 {
        self.shared() | prefix & (u64::MAX >> self.shared_bits)
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.rest_bits())
    }

    /// Gives the byte stream to `sink`, piece by piece.
    pub(super) fn encode<E>(self, prefixes: &[u64], mut sink: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut below = 0usize;
        for bucket in 0..=self.buckets() {
            while below < prefixes.len() && self.bucket(prefixes[below]) < bucket {
                below += 1;
            }
            let count = if bucket == self.buckets() { prefixes.len() } else { below };
            sink(&(count as u32).to_le_bytes())?;
        }
        let width = self.width();
        for prefix in prefixes {
            sink(&(prefix & self.mask()).to_le_bytes()[..width])?;
        }
        Ok(())
    }
}

/// The prefixes, in order, of all records of a segment whose prefix lies within `interval`'s.
///
/// # Errors
/// The device's, or damage.
pub fn read_prefixes(flash: &dyn Flash, footer: &Footer, interval: &Interval) -> Result<Vec<u64>, SegmentError> {
    let shape = footer.fragments;
    let low = interval.low.prefix().max(footer.low.prefix());
    let high = interval.high.prefix().min(footer.high.prefix());
    if footer.records == 0 || low > high {
        return Ok(Vec::new());
    }
    let mut stream = Stream { flash, footer };
    let (first_bucket, last_bucket) = (shape.bucket(low), shape.bucket(high));
    let counts = stream.bytes(first_bucket * 4, (last_bucket + 2 - first_bucket) * 4)?;
    let count = |bucket: usize| {
        let at = (bucket - first_bucket) * 4;
        u32::from_le_bytes([counts[at], counts[at + 1], counts[at + 2], counts[at + 3]]) as usize
    };
    let (from, to) = (count(first_bucket), count(last_bucket + 1));
    if from > to || to as u64 > footer.records {
        return Err(stream.damage("the fragments' buckets make no sense").into());
    }
    let width = shape.width();
    let rests = stream.bytes((shape.buckets() + 1) * 4 + from * width, (to - from) * width)?;
    let mut prefixes = Vec::with_capacity(to - from);
    let mut bucket = first_bucket;
    for (n, rest) in rests.chunks_exact(width).enumerate() {
        while from + n >= count(bucket + 1) {
            bucket += 1;
        }
        let mut word = [0; 8];
        word[..width].copy_from_slice(rest);
        let high_bits = if shape.rest_bits() == 64 { 0 } else { (bucket as u64) << shape.rest_bits() };
        let prefix = shape.shared() | high_bits | u64::from_le_bytes(word);
        if (low..=high).contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    if !prefixes.is_sorted() {
        return Err(stream.damage("the fragments are not in order").into());
    }
    Ok(prefixes)
}

/// The fragments' byte stream over the payloads of their pages, all of which are full but the last.
struct Stream<'a> {
    flash: &'a dyn Flash,
    footer: &'a Footer,
}

impl Stream<'_> {
    fn bytes(&mut self, start: usize, len: usize) -> Result<Vec<u8>, SegmentError> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let (first, last) = (start / PAGE_PAYLOAD_BYTES, (start + len - 1) / PAGE_PAYLOAD_BYTES);
        if last as u64 >= self.footer.fragment_pages {
            return Err(self.damage("the fragments end early").into());
        }
        let mut out = Vec::with_capacity(len);
        let id = FileId::Segment(self.footer.file);
        let mut buffer = PageBuf::zeroed((last + 1 - first).min(READ_PAGES));
        let mut skip = start - first * PAGE_PAYLOAD_BYTES;
        let mut next = first;
        while next <= last {
            let pages = (last + 1 - next).min(READ_PAGES);
            let at = self.footer.fragments_at() + next as u64;
            self.flash.read(id, at, &mut buffer.pages_mut()[..pages])?;
            for (n, page) in buffer.pages()[..pages].iter().enumerate() {
                let place = Place { file: self.footer.file, page: at + n as u64 };
                if !page.is_intact(place) {
                    return Err(page_damage(id, place.page, "a fragment page's checksum does not match").into());
                }
                let payload = &page.payload()[..page.used()];
                let take = payload.get(skip..).unwrap_or_default();
                out.extend_from_slice(&take[..take.len().min(len - out.len())]);
                skip = 0;
            }
            next += pages;
        }
        if out.len() < len {
            return Err(self.damage("the fragments end early").into());
        }
        Ok(out)
    }

    fn damage(&self, what: &str) -> crate::api::Damage {
        page_damage(FileId::Segment(self.footer.file), self.footer.fragments_at(), what)
    }
}
