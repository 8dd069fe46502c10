//! The filter of a slice's base: which keys it surely does not hold, told from DRAM.
//!
//! A base has no index entries ([`Base`](crate::work::Base)), so that an absent key costs a read. A *binary fuse filter*
//! (Graf and Lemire 2022) with fingerprints of 8 bits lets one in 256 of them through, for 9.1 to 9.6 bits a record. It is
//! made of the prefixes of the base's records, which a merge has at hand and a load reads from the fragments; nothing of it
//! is on flash, and it never changes.
//!
//! Building takes 25 bytes a key beside the keys. A base may have millions, so it gets a filter for each
//! [`PIECE_KEYS`] or fewer, in key order: 6.5 MiB at most while it is built.

use xorf::{BinaryFuse8, Filter as _};

/// Keys of one piece, at most.
const PIECE_KEYS: usize = 1 << 18;

/// The keys of a run, about: immutable.
pub struct Filter {
    /// The filters of neighbouring keys, in key order.
    pieces: Box<[Piece]>,
}

/// The filter of some neighbouring keys.
struct Piece {
    /// The lowest key prefix of the piece.
    low: u64,
    filter: BinaryFuse8,
}

impl Filter {
    /// The filter of keys with these prefixes, which are in order; several may be equal. `None` when it cannot be built,
    /// which does not happen with prefixes that come from a keyed hash.
    pub fn new(prefixes: &[u64]) -> Option<Self> {
        assert!(prefixes.is_sorted(), "a run's prefixes are in order");
        let count = prefixes.len().div_ceil(PIECE_KEYS).max(1);
        let piece = |keys: &[u64]| Some(Piece { low: *keys.first()?, filter: build(keys)? });
        let pieces = prefixes.chunks(prefixes.len().div_ceil(count).max(1)).map(piece);
        Some(Self { pieces: pieces.collect::<Option<_>>()? })
    }

    /// Whether a key with this prefix may be there: always if it is, else once in 256 times.
    #[inline]
    pub fn may_hold(&self, prefix: u64) -> bool {
        let above = self.pieces.partition_point(|piece| piece.low <= prefix);
        above > 0 && self.pieces[above - 1].filter.contains(&prefix)
    }

    /// Bytes allocated, this struct included.
    pub fn bytes(&self) -> usize {
        let fingerprints: usize = self.pieces.iter().map(|piece| piece.filter.len()).sum();
        size_of::<Self>() + size_of_val(&*self.pieces) + fingerprints
    }
}

/// The filter of keys in order, which it wants each once.
fn build(keys: &[u64]) -> Option<BinaryFuse8> {
    if keys.windows(2).all(|pair| pair[0] < pair[1]) {
        return BinaryFuse8::try_from(keys).ok();
    }
    let mut distinct = keys.to_vec();
    distinct.dedup();
    BinaryFuse8::try_from(distinct.as_slice()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Prefixes as a keyed hash spreads them.
    fn hashed(seed: u64, count: usize) -> Vec<u64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        };
        let mut prefixes: Vec<u64> = (0..count).map(|_| next()).collect();
        prefixes.sort_unstable();
        prefixes
    }

    /// Of so many other prefixes, those that the filter lets through.
    fn passed(filter: &Filter, seed: u64, count: usize) -> usize {
        hashed(!seed, count).iter().filter(|prefix| filter.may_hold(**prefix)).count()
    }

    #[test]
    fn no_key_of_any_small_number_of_them_is_denied() {
        for count in 0..1500 {
            let prefixes = hashed(count as u64, count);
            let filter = Filter::new(&prefixes).unwrap_or_else(|| panic!("{count} keys have a filter"));
            assert!(prefixes.iter().all(|prefix| filter.may_hold(*prefix)), "{count} keys");
        }
        assert!(!Filter::new(&[]).unwrap().may_hold(7));
    }

    #[test]
    fn keys_beyond_a_piece_are_known_in_ten_bits_each_and_one_of_two_hundred_others_is_let_through_at_most() {
        for count in [60_000, PIECE_KEYS, PIECE_KEYS + 1, 3 * PIECE_KEYS - 5] {
            let prefixes = hashed(3, count);
            let filter = Filter::new(&prefixes).unwrap();
            assert!(prefixes.iter().all(|prefix| filter.may_hold(*prefix)), "{count} keys");
            assert_eq!(filter.pieces.len(), count.div_ceil(PIECE_KEYS));
            let bits = filter.bytes() as f64 * 8.0 / count as f64;
            assert!((8.0..9.8).contains(&bits), "{count} keys: {bits} bits each");
            let passed = passed(&filter, 3, 200_000);
            assert!((500..1000).contains(&passed), "{count} keys: {passed} of 200,000");
        }
    }

    #[test]
    fn keys_that_share_their_prefix_are_known() {
        // Among them some that lie on both sides of a border between pieces.
        for copies in [2, 3, 50] {
            let mut prefixes: Vec<u64> = hashed(5, 400_000 / copies)
                .into_iter()
                .flat_map(|prefix| std::iter::repeat_n(prefix, copies))
                .collect();
            prefixes.extend([0, 0, 0, u64::MAX, u64::MAX]);
            prefixes.sort_unstable();
            let filter = Filter::new(&prefixes).unwrap();
            assert!(prefixes.iter().all(|prefix| filter.may_hold(*prefix)), "{copies} copies");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn any_prefixes_are_known_and_few_others_let_through(seed: u64, count in 0usize..20_000, shift in 0u32..20) {
            // A slice's prefixes share their leading bits.
            let mut prefixes: Vec<u64> = hashed(seed, count).into_iter().map(|prefix| prefix >> shift).collect();
            prefixes.extend(prefixes.first().copied());
            prefixes.sort_unstable();
            let filter = Filter::new(&prefixes).expect("random prefixes have a filter");
            prop_assert!(prefixes.iter().all(|prefix| filter.may_hold(*prefix)));
            // 156 are expected; 230 are six standard deviations more.
            let passed = passed(&filter, seed, 40_000);
            prop_assert!(passed < 230, "{} of 40,000", passed);
        }
    }
}
