//! A rolling hash over windows of a text: each step takes one byte in and another one out.
//!
//! The hash of the window `c₀ … c₋₁` is `Σ enter[cᵢ] · BASEⁿ⁻¹⁻ⁱ` modulo 2⁶⁴. Each byte has a random number of 64 bits instead of its
//! value, so the upper bits depend on the last byte as much as on the first one, and need no further mixing. Bytes that are to be
//! the same, e.g. `A` and `a`, have the same number.

/// Odd, so that no byte of a long window fades away.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15 | 5;

/// Longer windows tell hardly more texts apart, and take longer to begin.
pub const LONGEST_WINDOW: usize = 256;

/// Which bytes are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Each byte is itself alone.
    #[default]
    Exact,
    /// Letters of ASCII are the same in upper and lower case.
    AsciiInsensitive,
}

impl Case {
    /// The byte that stands for all that are the same.
    pub fn fold(self, byte: u8) -> u8 {
        match self {
            Self::Exact => byte,
            Self::AsciiInsensitive => byte.to_ascii_lowercase(),
        }
    }

    /// Whether `text` begins with `start`.
    pub fn begins_with(self, text: &[u8], start: &[u8]) -> bool {
        match (self, text.get(..start.len())) {
            (_, None) => false,
            (Self::Exact, Some(begin)) => begin == start,
            (Self::AsciiInsensitive, Some(begin)) => begin.eq_ignore_ascii_case(start),
        }
    }

    /// A number that is the same for texts that are the same.
    pub fn hash(self, text: &[u8]) -> u64 {
        mix(text.iter().fold(0, |hash, byte| (hash ^ u64::from(self.fold(*byte))).wrapping_mul(BASE).rotate_left(23)))
    }

    /// How the texts follow each other.
    pub fn compare(self, one: &[u8], other: &[u8]) -> std::cmp::Ordering {
        match self {
            Self::Exact => one.cmp(other),
            Self::AsciiInsensitive => {
                one.iter().map(u8::to_ascii_lowercase).cmp(other.iter().map(u8::to_ascii_lowercase))
            }
        }
    }
}

/// The hash of windows of one length.
#[derive(Clone, Debug)]
pub struct RollingHash {
    window: usize,
    enter: [u64; 256],
    leave: [u64; 256],
}

impl RollingHash {
    /// For windows of so many bytes.
    ///
    /// # Panics
    /// No byte is no window.
    pub fn new(window: usize, case: Case) -> Self {
        assert!((1..=LONGEST_WINDOW).contains(&window), "a window has from one to {LONGEST_WINDOW} bytes");
        let enter = std::array::from_fn(|byte| mix(u64::from(case.fold(byte as u8)) + 1));
        let power = (0..window).fold(1u64, |power, _| power.wrapping_mul(BASE));
        Self { window, enter, leave: enter.map(|number: u64| number.wrapping_mul(power)) }
    }

    /// Bytes of a window.
    pub fn window(&self) -> usize {
        self.window
    }

    /// The hash of a window, the start of `text`.
    pub fn of(&self, text: &[u8]) -> u64 {
        text[..self.window]
            .iter()
            .fold(0, |hash, byte| hash.wrapping_mul(BASE).wrapping_add(self.enter[usize::from(*byte)]))
    }

    /// The hash of the next window, which has `last` at its end; `before` was the first byte of this one.
    #[inline]
    pub fn roll(&self, hash: u64, before: u8, last: u8) -> u64 {
        let change = self.enter[usize::from(last)].wrapping_sub(self.leave[usize::from(before)]);
        hash.wrapping_mul(BASE).wrapping_add(change)
    }
}

/// Spreads a number over 64 bits (the finaliser of `SplitMix64`).
#[inline]
pub fn mix(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_that_rolls_is_that_of_each_window() {
        let text: Vec<u8> = (0..1000u32).map(|at| (mix(u64::from(at)) >> 56) as u8).collect();
        for window in [1, 2, 19, 64, 200, LONGEST_WINDOW] {
            let hash = RollingHash::new(window, Case::Exact);
            let mut rolled = hash.of(&text);
            for at in 1..=text.len() - window {
                rolled = hash.roll(rolled, text[at - 1], text[at + window - 1]);
                assert_eq!(rolled, hash.of(&text[at..]), "{window} bytes at {at}");
            }
        }
    }

    #[test]
    fn case_counts_unless_it_is_ignored() {
        let hashes = |case| ["Deer Park", "deer park"].map(|text| RollingHash::new(9, case).of(text.as_bytes()));
        let [upper, lower] = hashes(Case::Exact);
        assert_ne!(upper, lower);
        let [upper, lower] = hashes(Case::AsciiInsensitive);
        assert_eq!(upper, lower);
    }

    #[test]
    fn upper_bits_depend_on_every_byte() {
        let hash = RollingHash::new(8, Case::Exact);
        let text = *b"phrases!";
        for at in 0..text.len() {
            let mut other = text;
            other[at] ^= 1;
            assert_ne!(hash.of(&text) >> 44, hash.of(&other) >> 44, "byte {at}");
        }
    }
}
