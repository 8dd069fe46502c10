//! The loop over a text's windows: a rolling hash, the filters, the table.
//!
//! A rolling hash is a chain of multiplications, each waiting for the one before. So several windows roll at once, each over a stretch
//! of its own of the text, and a core works on all of them meanwhile. What passes a filter is gathered without a branch, and the next
//! filter is asked about all that was gathered: its accesses to memory do not wait for each other either.

use std::ops::Range;

use super::filter::FirstFilter;
use super::hash::RollingHash;

/// Windows that roll at once.
const STREAMS: usize = 4;

/// Windows of a stream between two looks at what has passed.
const STEPS: usize = 128;

/// Windows between two looks.
const BLOCK: usize = STREAMS * STEPS;

/// Windows that have passed a filter: where they begin, and their hashes.
#[derive(Clone, Debug)]
pub struct Candidates {
    places: [u32; BLOCK],
    hashes: [u64; BLOCK],
    count: usize,
}

impl Default for Candidates {
    /// None.
    fn default() -> Self {
        Self { places: [0; BLOCK], hashes: [0; BLOCK], count: 0 }
    }
}

impl Candidates {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Place and hash of each.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.places.iter().copied().zip(self.hashes.iter().copied()).take(self.count)
    }

    /// Appends a window if it passes. Its place in the arrays is written in either case, as that is cheaper than to know.
    #[inline]
    fn push(&mut self, place: u32, hash: u64, passes: bool) {
        let at = self.count % BLOCK;
        self.places[at] = place;
        self.hashes[at] = hash;
        self.count += usize::from(passes);
    }

    /// Keeps those whose hashes pass.
    #[inline]
    pub fn retain(&mut self, passes: impl Fn(u64) -> bool) {
        let all = self.count.min(BLOCK);
        self.count = 0;
        for at in 0..all {
            let (place, hash) = (self.places[at], self.hashes[at]);
            self.push(place, hash, passes(hash));
        }
    }
}

/// Gives `look` what passes the first filter, of the windows that begin in `starts`, block after block, in no order. The text has a
/// byte before the first window. Returns how many windows there were.
pub fn scan(
    text: &[u8],
    starts: Range<usize>,
    hash: &RollingHash,
    first: &FirstFilter,
    candidates: &mut Candidates,
    mut look: impl FnMut(&mut Candidates),
) -> usize {
    let end = starts.end.min((text.len() + 1).saturating_sub(hash.window()));
    let windows = end.saturating_sub(starts.start);
    let each = windows / STREAMS / STEPS * STEPS;
    if each > 0 {
        let mut stretches =
            Stretches::<STREAMS>::begin(text, std::array::from_fn(|stream| starts.start + stream * each), hash);
        for _ in 0..each / STEPS {
            stretches.roll(first, candidates);
            if candidates.count > 0 {
                look(candidates);
            }
        }
    }
    let rest = starts.start + each * STREAMS;
    if rest < end {
        let mut stretches = Stretches::begin(text, [rest], hash);
        for _ in (rest..end).step_by(BLOCK) {
            let steps = BLOCK.min(end - stretches.places[0]);
            stretches.roll_some(steps, first, candidates);
            if candidates.count > 0 {
                look(candidates);
            }
        }
    }
    windows
}

/// Stretches of a text over which windows roll at once.
struct Stretches<'t, const N: usize> {
    text: &'t [u8],
    hash: &'t RollingHash,
    /// Where the next window of each begins.
    places: [usize; N],
    /// The hash of the window before.
    hashes: [u64; N],
}

impl<'t, const N: usize> Stretches<'t, N> {
    fn begin(text: &'t [u8], places: [usize; N], hash: &'t RollingHash) -> Self {
        Self { text, hash, places, hashes: places.map(|place| hash.of(&text[place - 1..])) }
    }

    /// The bytes before the next windows, and the last bytes of them.
    fn bytes(&self, place: usize) -> (&'t [u8], &'t [u8]) {
        (&self.text[place - 1..], &self.text[place - 1 + self.hash.window()..])
    }

    /// Takes so many windows of each. The number is a constant: no index is checked.
    fn roll(&mut self, first: &FirstFilter, candidates: &mut Candidates) {
        let array = |bytes: &'t [u8]| bytes.first_chunk::<STEPS>().expect("stretches are multiples of the steps");
        let leaving = self.places.map(|place| array(self.bytes(place).0));
        let entering = self.places.map(|place| array(self.bytes(place).1));
        let places = self.places.map(|place| place as u32);
        let mut hashes = self.hashes;
        let mut count = 0;
        for step in 0..STEPS {
            for stream in 0..N {
                let rolled = self.hash.roll(hashes[stream], leaving[stream][step], entering[stream][step]);
                hashes[stream] = rolled;
                // Its place in the arrays is written whether it passes or not, as that is cheaper than to know.
                candidates.places[count % BLOCK] = places[stream] + step as u32;
                candidates.hashes[count % BLOCK] = rolled;
                count += usize::from(first.has(rolled));
            }
        }
        candidates.count = count;
        self.hashes = hashes;
        self.places = self.places.map(|place| place + STEPS);
    }

    /// Takes any number of windows, at most as many as there are candidates.
    fn roll_some(&mut self, steps: usize, first: &FirstFilter, candidates: &mut Candidates) {
        candidates.count = 0;
        for stream in 0..N {
            let (leaving, entering) = self.bytes(self.places[stream]);
            for (step, (before, last)) in leaving.iter().zip(entering).take(steps).enumerate() {
                let rolled = self.hash.roll(self.hashes[stream], *before, *last);
                self.hashes[stream] = rolled;
                candidates.push((self.places[stream] + step) as u32, rolled, first.has(rolled));
            }
            self.places[stream] += steps;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrases::hash::{Case, mix};

    #[test]
    fn every_window_that_is_in_the_filter_is_given_once() {
        let text: Vec<u8> = (0..5000u32).map(|at| (mix(u64::from(at)) >> 62) as u8).collect();
        for window in [1, 5, 40, 256] {
            let hash = RollingHash::new(window, Case::Exact);
            let mut filter = FirstFilter::new(1 << 12);
            let wanted: Vec<usize> = (1..text.len() - window).step_by(97).collect();
            for at in &wanted {
                filter.insert(hash.of(&text[*at..]));
            }
            for starts in [1..text.len(), 1..2, 1..128, 3..515, 700..1212, 100..100, 4990..4995] {
                let mut places = Vec::new();
                let windows = scan(&text, starts.clone(), &hash, &filter, &mut Candidates::default(), |candidates| {
                    for (place, known) in candidates.iter() {
                        assert_eq!(known, hash.of(&text[place as usize..]));
                        places.push(place as usize);
                    }
                });
                let all = starts.start..starts.end.min(text.len() - window + 1).max(starts.start);
                assert_eq!(windows, all.len(), "{starts:?}, {window}");
                places.sort_unstable();
                let expected: Vec<usize> = all.filter(|at| filter.has(hash.of(&text[*at..]))).collect();
                assert_eq!(places, expected, "{starts:?}, {window}");
            }
        }
    }

    #[test]
    fn candidates_keep_what_passes_again() {
        let mut candidates = Candidates::default();
        (0..BLOCK as u32).for_each(|at| candidates.push(at, u64::from(at), true));
        assert_eq!(candidates.count(), BLOCK);
        candidates.retain(|hash| hash % 3 == 0);
        let kept: Vec<(u32, u64)> = candidates.iter().collect();
        assert_eq!(
            kept,
            (0..BLOCK as u64).filter(|hash| hash % 3 == 0).map(|hash| (hash as u32, hash)).collect::<Vec<_>>()
        );
    }
}
