//! Scaling of key prefixes to small positions.

/// A monotone map from the key prefixes `low..=high` onto the positions `0..positions`, evenly: one subtraction, one
/// shift, one 64 × 64 → 128 bit multiplication.
///
/// The position of `prefix` is `(prefix - low) * positions / (high - low + 1)`, with a rounding that may fall one
/// short, always in the same way: equal prefixes have equal positions, and order never turns round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The lowest key prefix of the frame.
    low: u64,
    /// Distance from the lowest to the highest prefix: `high - low`.
    span: u64,
    /// `positions / (high - low + 1)` as a fixed-point number, relative to `before` and `after`.
    factor: u64,
    /// Left shift that brings the highest bit of `span` to bit 63.
    before: u32,
    /// Right shift of the product's upper half.
    after: u32,
}

impl Frame {
    /// The most positions that a frame can have.
    pub const MAX_POSITIONS: u64 = 1 << 48;

    /// The frame of the prefixes `low..=high` with `positions` positions, 1 to [`MAX_POSITIONS`](Self::MAX_POSITIONS).
    pub fn new(low: u64, high: u64, positions: u64) -> Self {
        assert!(low <= high, "a frame's ends are in order");
        assert!((1..=Self::MAX_POSITIONS).contains(&positions), "a frame has 1 to 2^48 positions");
        let span = high - low;
        if span == 0 {
            return Self { low, span, factor: 0, before: 0, after: 0 };
        }
        let before = span.leading_zeros();
        // In (2^63, 2^64]; the product below is at most 2^127, so that the quotient fits 64 bits.
        let width = (u128::from(span) + 1) << before;
        let scale = 127 - positions.next_power_of_two().trailing_zeros();
        let factor = (u128::from(positions) << scale) / width;
        let factor = u64::try_from(factor).expect("2^127 over more than 2^63 fits 64 bits");
        Self { low, span, factor, before, after: scale - 64 }
    }

    /// The position of `prefix`, which lies in the frame.
    #[inline]
    pub fn position(&self, prefix: u64) -> u64 {
        let offset = prefix.wrapping_sub(self.low);
        assert!(offset <= self.span, "a key is looked up in the slice that covers it");
        let product = u128::from(offset << self.before) * u128::from(self.factor);
        ((product >> 64) as u64) >> self.after
    }

    /// The lowest key prefix of the frame.
    #[inline]
    pub fn low(&self) -> u64 {
        self.low
    }

    /// The highest key prefix of the frame.
    #[inline]
    pub fn high(&self) -> u64 {
        self.low + self.span
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_whole_key_space_fills_every_position() {
        for positions in [1, 2, 3, 1000, 1 << 24, Frame::MAX_POSITIONS] {
            let frame = Frame::new(0, u64::MAX, positions);
            assert_eq!(frame.position(0), 0);
            assert_eq!(frame.position(u64::MAX), positions - 1);
        }
    }

    #[test]
    fn an_interval_of_one_prefix_has_position_zero() {
        for low in [0, 77, u64::MAX] {
            assert_eq!(Frame::new(low, low, 1 << 30).position(low), 0);
        }
    }

    #[test]
    fn positions_are_evenly_used() {
        let (low, high) = (u64::MAX / 7 * 3, u64::MAX / 7 * 3 + (u64::MAX / 37));
        let frame = Frame::new(low, high, 10);
        let mut counts = [0; 10];
        for step in 0..10_000 {
            counts[frame.position(low + (high - low) / 10_000 * step) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (999..=1001).contains(&count)), "{counts:?}");
    }

    proptest! {
        #[test]
        fn positions_keep_order_and_stay_in_bounds(
            ends in any::<(u64, u64)>(),
            narrow in 0u32..64,
            positions in 1..=Frame::MAX_POSITIONS,
            inside in proptest::collection::vec(any::<u64>(), 2..50),
        ) {
            let low = ends.0;
            let high = low.saturating_add(ends.1 >> narrow);
            let frame = Frame::new(low, high, positions);
            let mut inside: Vec<u64> = inside
                .into_iter()
                .map(|at| low + ((u128::from(at) * (u128::from(high - low) + 1)) >> 64) as u64)
                .collect();
            inside.extend([low, high]);
            inside.sort_unstable();
            let found: Vec<u64> = inside.iter().map(|&prefix| frame.position(prefix)).collect();
            prop_assert!(found.windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert!(found.iter().all(|&position| position < positions));
            for (prefix, position) in inside.iter().zip(&found) {
                let exact = u128::from(prefix - low) * u128::from(positions) / (u128::from(high - low) + 1);
                prop_assert!(exact.abs_diff(u128::from(*position)) <= 1);
            }
        }
    }
}
