//! The page directory of a sorted run: from a key to the one or few adjacent pages that hold its record.
//!
//! Keys are hashed, so the page of a key is nearly known from the key alone; what is left to remember is about ten
//! bits a page. A page's entry is the prefix of its *owner*: the key of the record that owns the page's first payload
//! byte. Records straddle pages, and one request must find a whole record, hence the **owner rule**: a record starts in
//! the last page whose owner is below its key, and goes on into every page whose owner is its key.
//!
//! Owners are coded by Elias and Fano's method: scaled to 256 positions a page between the lowest and the highest
//! owner, the low 8 bits stored plainly and the rest in unary, 1.28 bytes a page in all. Two keys that share a position
//! are not told apart, so that about one range in 250 is a page longer than it need be; no range is ever too short.
//!
//! This is our own code because every look-up in a sealed segment passes through it: `vers-vecs`, whose `rank` would
//! serve, takes as many bytes and two to three times as long (67 ns against 150–200 ns with a million pages).

use crate::sealed::index::Frame;
use std::ops::Range;

#[cfg(test)]
mod tests;

/// Low bits of a position that are stored plainly.
const LOW_BITS: u32 = 8;
/// Every how many zeros the unary part notes where it is.
const SAMPLE: u32 = 128;

/// The page directory of one sorted run, immutable.
#[derive(Debug)]
pub struct PageDirectory {
    /// Scales the prefixes from the lowest to the highest owner's to `2^8` positions a page.
    frame: Frame,
    /// The low 8 bits of each page's position.
    lows: Box<[u8]>,
    /// The high parts in unary: for each high part in order, a one for each page that has it, then a zero.
    highs: Box<[u64]>,
    /// The bit at which every 128th zero of `highs` stands, from the first on.
    samples: Box<[u32]>,
}

impl PageDirectory {
    /// The most pages in a run: 2^31 − 1.
    pub const MAX_PAGES: usize = u32::MAX as usize / 2;

    /// The directory of a run of `prefixes.len()` pages, at most [`MAX_PAGES`](Self::MAX_PAGES), from the prefix of each
    /// page's owner, or from [`boundary`](Self::boundary) where the page begins with a record. Prefixes never decrease;
    /// the first is that of the run's first record.
    pub fn new(prefixes: &[u64]) -> Self {
        assert!(prefixes.len() <= Self::MAX_PAGES, "a run has fewer than 2^31 pages");
        assert!(prefixes.is_sorted(), "the owners of pages are in order");
        let (low, high) = (prefixes.first().copied().unwrap_or(0), prefixes.last().copied().unwrap_or(0));
        let frame = Frame::new(low, high, (prefixes.len().max(1) as u64) << LOW_BITS);
        let mut highs = vec![0u64; (2 * prefixes.len()).div_ceil(64)].into_boxed_slice();
        let mut lows = Vec::with_capacity(prefixes.len());
        for (page, &prefix) in prefixes.iter().enumerate() {
            let position = frame.position(prefix);
            let bit = (position >> LOW_BITS) as usize + page;
            highs[bit / 64] |= 1 << (bit % 64);
            lows.push(position as u8);
        }
        let zeros = (0..2 * prefixes.len()).filter(|bit| highs[bit / 64] >> (bit % 64) & 1 == 0);
        let samples = zeros.step_by(SAMPLE as usize).map(|bit| bit as u32).collect();
        Self { frame, lows: lows.into_boxed_slice(), highs, samples }
    }

    /// The pages to read for the record with a key of prefix `prefix`: if the run has one, it lies in them entirely.
    /// Empty when the run starts above it.
    #[inline]
    pub fn locate(&self, prefix: u64) -> Range<u32> {
        if prefix < self.frame.low() || self.lows.is_empty() {
            return 0..0;
        }
        if prefix > self.frame.high() {
            return self.pages() - 1..self.pages();
        }
        let (below, up_to) = self.owners(self.frame.position(prefix));
        // Page 0 has an owner not above the prefix, so that `up_to` is at least 1.
        below.saturating_sub(1)..up_to
    }

    /// All pages that may hold bytes of records whose prefixes lie in `low_prefix..=high_prefix`.
    pub fn page_span(&self, low_prefix: u64, high_prefix: u64) -> Range<u32> {
        assert!(low_prefix <= high_prefix, "an interval's ends are in order");
        self.locate(low_prefix).start..self.locate(high_prefix).end
    }

    /// What to give [`new`](Self::new) as the owner of a page at whose first payload byte a record *begins*, from the
    /// prefixes of the last record before it and of that record: their middle.
    ///
    /// The record's own prefix would do, but then its range begins a page early, since nothing says that the record
    /// does not begin there. Page 0 takes its first record's own prefix.
    pub fn boundary(before: u64, first: u64) -> u64 {
        assert!(before <= first, "records are in order");
        before + (first - before).div_ceil(2)
    }

    /// Number of data pages that the directory describes.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.lows.len() as u32
    }

    /// Bytes allocated, this struct included.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.lows.len() + size_of_val(&*self.highs) + size_of_val(&*self.samples)
    }

    /// How many pages have an owner below `position`, and how many have one below it or at it.
    #[inline]
    fn owners(&self, position: u64) -> (u32, u32) {
        let (high, low) = ((position >> LOW_BITS) as u32, position as u8);
        // The zeros before bit `n` are the high parts that are complete, the ones are pages.
        let begin = if high == 0 { 0 } else { self.zero(high - 1) + 1 };
        let end = self.next_zero(begin);
        let (first, last) = (begin - high, end - high);
        let same = &self.lows[first as usize..last as usize];
        let below = same.partition_point(|&other| other < low);
        let up_to = below + same[below..].partition_point(|&other| other <= low);
        (first + below as u32, first + up_to as u32)
    }

    /// The bit of the zero with number `number` in the unary part, counted from 0.
    #[inline]
    fn zero(&self, number: u32) -> u32 {
        let sample = self.samples[(number / SAMPLE) as usize];
        let mut left = number % SAMPLE;
        let mut word = sample / 64;
        let mut zeros = !self.highs[word as usize] & (u64::MAX << (sample % 64));
        loop {
            let count = zeros.count_ones();
            if left < count {
                return word * 64 + select(zeros, left);
            }
            left -= count;
            word += 1;
            zeros = !self.highs[word as usize];
        }
    }

    /// The first zero at bit `from` or after it. Every high part ends with one.
    #[inline]
    fn next_zero(&self, from: u32) -> u32 {
        let mut word = from / 64;
        let mut zeros = !self.highs[word as usize] & (u64::MAX << (from % 64));
        while zeros == 0 {
            word += 1;
            zeros = !self.highs[word as usize];
        }
        word * 64 + zeros.trailing_zeros()
    }
}

/// The index of the one with number `number` (from 0) in `word`, which has more than `number` ones.
#[inline]
fn select(word: u64, number: u32) -> u32 {
    let (mut word, mut number, mut base) = (word, number, 0);
    for width in [32, 16, 8] {
        let lower = (word & ((1 << width) - 1)).count_ones();
        if number >= lower {
            number -= lower;
            word >>= width;
            base += width;
        }
    }
    for _ in 0..number {
        word &= word - 1;
    }
    base + word.trailing_zeros()
}
