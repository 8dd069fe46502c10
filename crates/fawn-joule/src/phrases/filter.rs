//! Bloom filters whose bits of one phrase are in one word, so that a question is one access to memory.
//!
//! The first filter is small enough for the cache and sets two bits for each phrase; the second one is larger, sets four, and is asked
//! about what passes the first.

use std::sync::atomic::{AtomicU64, Ordering};

use super::hash::mix;

/// Words of the first filter at most: its index and its bits are different bits of a hash up to here.
const MOST_WORDS: usize = 1 << 23;

/// The bits of a word that stand for a hash.
fn bit(hash: u64, shift: u32) -> u64 {
    1 << (hash >> shift & 63)
}

/// Words of a filter with at least so many bits, a power of two.
fn words_of(bits: usize) -> usize {
    bits.div_ceil(64).next_power_of_two().clamp(2, MOST_WORDS)
}

/// The share of other hashes that a filter lets pass, if it sets `bits` for each of its own: from how full its words are.
fn share(words: impl ExactSizeIterator<Item = u64>, bits: i32) -> f64 {
    let count = words.len() as f64;
    words.map(|word| (f64::from(word.count_ones()) / 64.0).powi(bits)).sum::<f64>() / count
}

/// The first filter: two bits for each phrase, found by the upper bits of a hash.
#[derive(Clone, Debug)]
pub struct FirstFilter {
    words: Vec<u64>,
    shift: u32,
}

impl FirstFilter {
    /// An empty filter of at least so many bits.
    pub fn new(bits: usize) -> Self {
        let words = vec![0; words_of(bits)];
        let shift = 64 - words.len().trailing_zeros();
        Self { words, shift }
    }

    /// Takes a hash in.
    pub fn insert(&mut self, hash: u64) {
        self.words[(hash >> self.shift) as usize] |= bit(hash, 35) | bit(hash, 29);
    }

    /// Whether the hash may be in it.
    #[inline]
    pub fn has(&self, hash: u64) -> bool {
        let word = self.words[(hash >> self.shift) as usize];
        word >> (hash >> 35 & 63) & (word >> (hash >> 29 & 63)) & 1 != 0
    }

    /// Share of other hashes that pass.
    pub fn false_share(&self) -> f64 {
        share(self.words.iter().copied(), 2)
    }

    /// Its memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

/// Where the second filter has the bits of a hash.
#[derive(Clone, Copy, Debug)]
struct BitPlace {
    word: usize,
    bits: u64,
}

/// The second filter: four bits for each phrase, independent of those of the first.
#[derive(Clone, Debug)]
pub struct SecondFilter {
    words: Vec<u64>,
    shift: u32,
}

impl SecondFilter {
    /// An empty filter of at least so many bits.
    pub fn new(bits: usize) -> Self {
        let words = vec![0; words_of(bits)];
        let shift = 64 - words.len().trailing_zeros();
        Self { words, shift }
    }

    #[inline]
    fn place(&self, hash: u64) -> BitPlace {
        let hash = mix(hash);
        BitPlace {
            word: (hash >> self.shift) as usize,
            bits: bit(hash, 0) | bit(hash, 6) | bit(hash, 12) | bit(hash, 18),
        }
    }

    /// Takes a hash in.
    pub fn insert(&mut self, hash: u64) {
        let BitPlace { word, bits } = self.place(hash);
        self.words[word] |= bits;
    }

    /// Whether the hash may be in it.
    #[inline]
    pub fn has(&self, hash: u64) -> bool {
        let BitPlace { word, bits } = self.place(hash);
        self.words[word] & bits == bits
    }

    /// Share of other hashes that pass.
    pub fn false_share(&self) -> f64 {
        share(self.words.iter().copied(), 4)
    }

    /// Its memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

/// The filter that is fed forward: the bits of each window that has passed the second filter, in words of the same number. A phrase of
/// which one bit is missing is nowhere in the text.
#[derive(Debug)]
pub struct WindowMarks {
    words: Vec<AtomicU64>,
}

impl WindowMarks {
    /// No window has passed yet.
    pub fn new(of: &SecondFilter) -> Self {
        Self { words: of.words.iter().map(|_| AtomicU64::new(0)).collect() }
    }

    /// A window with this hash has passed `of`.
    pub fn mark(&self, of: &SecondFilter, hash: u64) {
        let BitPlace { word, bits } = of.place(hash);
        // Most windows that pass often have marked their bits before, and other cores keep their copies of the word.
        if self.words[word].load(Ordering::Relaxed) & bits != bits {
            self.words[word].fetch_or(bits, Ordering::Relaxed);
        }
    }

    /// Whether a window with this hash may have passed.
    pub fn has(&self, of: &SecondFilter, hash: u64) -> bool {
        let BitPlace { word, bits } = of.place(hash);
        self.words[word].load(Ordering::Relaxed) & bits == bits
    }

    /// Its memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of a million hashes that pass although none was taken in.
    fn seen(has: impl Fn(u64) -> bool) -> f64 {
        let others = 1_000_000u32;
        (0..others).filter(|at| has(mix(u64::from(*at) + (1 << 40)))).count() as f64 / f64::from(others)
    }

    #[test]
    fn filters_know_what_they_took_and_predict_what_else_passes() {
        let (mut first, mut second) = (FirstFilter::new(8 * 100_000), SecondFilter::new(16 * 100_000));
        for at in 0..100_000 {
            first.insert(mix(at));
            second.insert(mix(at));
        }
        assert!((0..100_000).all(|at| first.has(mix(at)) && second.has(mix(at))));
        let pairs = [
            (first.false_share(), seen(|hash| first.has(hash))),
            (second.false_share(), seen(|hash| second.has(hash))),
            (first.false_share() * second.false_share(), seen(|hash| first.has(hash) && second.has(hash))),
        ];
        for ((predicted, seen), tolerance) in pairs.into_iter().zip([0.03, 0.05, 0.3]) {
            assert!((seen / predicted - 1.0).abs() < tolerance, "{seen} seen, {predicted} predicted");
        }
    }

    #[test]
    fn a_filter_without_phrases_lets_nothing_pass() {
        let (first, second) = (FirstFilter::new(0), SecondFilter::new(1 << 20));
        assert!(first.false_share() + second.false_share() < f64::MIN_POSITIVE);
        assert!((0..1_000_000).all(|at| !first.has(mix(at)) && !second.has(mix(at))));
        assert_eq!(second.bytes(), 1 << 17);
    }

    #[test]
    fn what_no_window_has_marked_is_thinned_out() {
        let mut filter = SecondFilter::new(16 * 10_000);
        (0..10_000).for_each(|at| filter.insert(mix(at)));
        let marks = WindowMarks::new(&filter);
        (0..100).for_each(|at| marks.mark(&filter, mix(at)));
        assert!((0..100).all(|at| marks.has(&filter, mix(at))));
        let left = (0..10_000).filter(|at| marks.has(&filter, mix(*at))).count();
        assert!(left < 120, "{left} are left of 10,000, of which 100 are in the text");
    }
}
