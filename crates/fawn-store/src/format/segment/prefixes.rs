//! The prefixes of all records of a segment, in order, bucketed and packed: what a slice's index is rebuilt from.
//!
//! All prefixes share their top `shared_bits`; the next `bucket_bits` choose a bucket; the rest is stored in whole
//! bytes. The byte stream over the pages' payloads is: the number of records below each bucket and at the end
//! (`2^bucket_bits + 1` × u32), then the records' rests, little-endian. The bits lose nothing: prefixes read back
//! exactly, since the index places records by all of them.

use std::ops::Range;

use fawn_ring::Interval;

use super::footer::Footer;
use super::{SegmentError, page_damage};
use crate::flash::{FileId, Fill, Flash};
use crate::format::page::{PAGE_PAYLOAD_BYTES, Page, PageBuf, Place};

/// Pages read at once, of one segment or of several.
const READ_PAGES: usize = 64;

/// The prefixes, in order, of all records of a segment whose prefix lies within `interval`'s.
///
/// # Errors
/// The device's, or damage.
pub fn read_prefixes(flash: &dyn Flash, footer: &Footer, interval: &Interval) -> Result<Vec<u64>, SegmentError> {
    read_prefixes_of(flash, &[(footer, *interval)]).pop().expect("one for each that is asked for")
}

/// The same of several segments, each in an interval of its own: what they have is read together.
///
/// # Errors
/// Those of [`read_prefixes`], of each.
pub fn read_prefixes_of(flash: &dyn Flash, wanted: &[(&Footer, Interval)]) -> Vec<Result<Vec<u64>, SegmentError>> {
    let stretches: Vec<Option<Stretch<'_>>> =
        wanted.iter().map(|(footer, interval)| Stretch::of(footer, interval)).collect();
    let spans: Vec<Span<'_>> = stretches.iter().flatten().map(Stretch::counts).collect();
    let mut counts = read_spans(flash, &spans).into_iter();
    let counted: Vec<Option<Result<NumberedStretch<'_>, SegmentError>>> = stretches
        .into_iter()
        .map(|stretch| {
            stretch.map(|stretch| counts.next().expect("one for each").and_then(|bytes| stretch.counted(bytes)))
        })
        .collect();
    let spans: Vec<Span<'_>> = counted.iter().flatten().flatten().map(NumberedStretch::rests).collect();
    let mut rests = read_spans(flash, &spans).into_iter();
    counted
        .into_iter()
        .map(|counted| {
            let Some(counted) = counted else { return Ok(Vec::new()) };
            let counted = counted?;
            rests.next().expect("one for each").and_then(|bytes| counted.prefixes(&bytes))
        })
        .collect()
}

/// A stretch of a segment's records, asked for by the prefixes at its ends.
struct Stretch<'a> {
    footer: &'a Footer,
    low: u64,
    high: u64,
    first_bucket: usize,
    last_bucket: usize,
}

impl<'a> Stretch<'a> {
    /// `None` when no record can lie in it.
    fn of(footer: &'a Footer, interval: &Interval) -> Option<Self> {
        let shape = footer.fragments;
        let low = interval.low.prefix().max(footer.low.prefix());
        let high = interval.high.prefix().min(footer.high.prefix());
        if footer.records == 0 || low > high {
            return None;
        }
        Some(Self { footer, low, high, first_bucket: shape.bucket(low), last_bucket: shape.bucket(high) })
    }

    /// Where the counts of its buckets are.
    fn counts(&self) -> Span<'a> {
        Span { footer: self.footer, start: self.first_bucket * 4, len: (self.last_bucket + 2 - self.first_bucket) * 4 }
    }

    /// With the counts that were read.
    fn counted(self, counts: Vec<u8>) -> Result<NumberedStretch<'a>, SegmentError> {
        let counted = NumberedStretch { counts, from: 0, to: 0, stretch: self };
        let (from, to) = (counted.count(counted.stretch.first_bucket), counted.count(counted.stretch.last_bucket + 1));
        if from > to || to as u64 > counted.stretch.footer.records {
            return Err(damage(counted.stretch.footer, "the fragments' buckets are invalid").into());
        }
        Ok(NumberedStretch { from, to, ..counted })
    }
}

/// A stretch whose records are known by number.
struct NumberedStretch<'a> {
    stretch: Stretch<'a>,
    counts: Vec<u8>,
    from: usize,
    to: usize,
}

impl<'a> NumberedStretch<'a> {
    /// Records in the buckets before `bucket`.
    fn count(&self, bucket: usize) -> usize {
        let at = (bucket - self.stretch.first_bucket) * 4;
        let counts = &self.counts[at..at + 4];
        u32::from_le_bytes([counts[0], counts[1], counts[2], counts[3]]) as usize
    }

    /// Where what their buckets do not say of the prefixes is.
    fn rests(&self) -> Span<'a> {
        let footer = self.stretch.footer;
        let (shape, width) = (footer.fragments, footer.fragments.width());
        Span { footer, start: (shape.buckets() + 1) * 4 + self.from * width, len: (self.to - self.from) * width }
    }

    /// The prefixes, from the rests that were read.
    fn prefixes(&self, rests: &[u8]) -> Result<Vec<u64>, SegmentError> {
        let Stretch { footer, low, high, first_bucket, .. } = self.stretch;
        let (shape, width) = (footer.fragments, footer.fragments.width());
        let mut prefixes = Vec::with_capacity(self.to - self.from);
        let mut bucket = first_bucket;
        for (n, rest) in rests.chunks_exact(width).enumerate() {
            while self.from + n >= self.count(bucket + 1) {
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
            return Err(damage(footer, "the fragments are not in order").into());
        }
        Ok(prefixes)
    }
}

/// Bytes of a segment's fragments: a stream over the payloads of their pages, all of which are full but the last.
struct Span<'a> {
    footer: &'a Footer,
    start: usize,
    len: usize,
}

impl Span<'_> {
    /// Its pages, counted from the first of the fragments.
    fn pages(&self) -> Range<usize> {
        if self.len == 0 {
            return 0..0;
        }
        self.start / PAGE_PAYLOAD_BYTES..(self.start + self.len - 1) / PAGE_PAYLOAD_BYTES + 1
    }

    fn is_there(&self) -> bool {
        self.pages().end as u64 <= self.footer.fragment_pages
    }

    fn file(&self) -> FileId {
        FileId::Segment(self.footer.file)
    }

    /// The span's bytes, read by themselves.
    fn read(&self, flash: &dyn Flash) -> Result<Vec<u8>, SegmentError> {
        if !self.is_there() {
            return Err(damage(self.footer, "the fragments end early").into());
        }
        let wanted = self.pages();
        let mut out = Vec::with_capacity(self.len);
        let mut buffer = PageBuf::zeroed(wanted.len().min(READ_PAGES));
        for next in wanted.clone().step_by(READ_PAGES) {
            let pages = &mut buffer.pages_mut()[..(wanted.end - next).min(READ_PAGES)];
            flash.read(self.file(), self.footer.fragments_at() + next as u64, pages)?;
            self.take(pages, next, &mut out)?;
        }
        self.whole(out)
    }

    /// Adds to `out` what of it is in `pages`, of which the first is page `first` of the fragments.
    fn take(&self, pages: &[Page], first: usize, out: &mut Vec<u8>) -> Result<(), SegmentError> {
        for (n, page) in pages.iter().enumerate() {
            let place = Place { file: self.footer.file, page: self.footer.fragments_at() + (first + n) as u64 };
            if !page.is_intact(place) {
                return Err(page_damage(self.file(), place.page, "a fragment page's checksum does not match").into());
            }
            let skip = if out.is_empty() { self.start.saturating_sub((first + n) * PAGE_PAYLOAD_BYTES) } else { 0 };
            let payload = &page.payload()[..page.used()];
            let take = payload.get(skip..).unwrap_or_default();
            out.extend_from_slice(&take[..take.len().min(self.len - out.len())]);
        }
        Ok(())
    }

    fn whole(&self, out: Vec<u8>) -> Result<Vec<u8>, SegmentError> {
        if out.len() < self.len { Err(damage(self.footer, "the fragments end early").into()) } else { Ok(out) }
    }
}

/// The bytes of all spans, read together as far as [`READ_PAGES`] reach.
fn read_spans(flash: &dyn Flash, spans: &[Span<'_>]) -> Vec<Result<Vec<u8>, SegmentError>> {
    let mut all = Vec::with_capacity(spans.len());
    let mut left = spans;
    while !left.is_empty() {
        let mut pages = 0;
        let is_in = |span: &&Span<'_>| {
            pages += span.pages().len();
            pages <= READ_PAGES && span.is_there()
        };
        let count = left.iter().take_while(is_in).count();
        let (together, rest) = left.split_at(count.max(1));
        left = rest;
        let read = if count > 1 { read_at_once(flash, together) } else { None };
        match read {
            Some(read) => all.extend(read),
            // Large, or alone; or one cannot be read, and each is told for itself.
            None => all.extend(together.iter().map(|span| span.read(flash))),
        }
    }
    all
}

/// The bytes of all spans; `None` when the device fails.
fn read_at_once(flash: &dyn Flash, spans: &[Span<'_>]) -> Option<Vec<Result<Vec<u8>, SegmentError>>> {
    let mut buffer = PageBuf::zeroed(spans.iter().map(|span| span.pages().len()).sum());
    let mut left = buffer.pages_mut().as_mut_slice();
    let mut fills = Vec::with_capacity(spans.len());
    for span in spans.iter().filter(|span| span.len > 0) {
        let pages = left.split_off_mut(..span.pages().len()).expect("there are pages for all");
        fills.push(Fill { file: span.file(), first: span.footer.fragments_at() + span.pages().start as u64, pages });
    }
    flash.read_many(&mut fills).ok()?;
    let mut left = buffer.pages();
    let take = |span: &Span<'_>| {
        let pages = left.split_off(..span.pages().len()).expect("there are pages for all");
        let mut out = Vec::with_capacity(span.len);
        span.take(pages, span.pages().start, &mut out)?;
        span.whole(out)
    };
    Some(spans.iter().map(take).collect())
}

fn damage(footer: &Footer, what: &str) -> crate::api::Damage {
    page_damage(FileId::Segment(footer.file), footer.fragments_at(), what)
}
