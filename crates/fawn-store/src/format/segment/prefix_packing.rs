//! How the prefixes of a segment's records are bucketed and packed.

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
    pub(super) fn width(self) -> usize {
        (64 - usize::from(self.shared_bits) - usize::from(self.bucket_bits)).div_ceil(8)
    }

    pub(super) fn rest_bits(self) -> u32 {
        64 - u32::from(self.shared_bits) - u32::from(self.bucket_bits)
    }

    pub(super) fn buckets(self) -> usize {
        1 << self.bucket_bits
    }

    pub(super) fn bucket(self, prefix: u64) -> usize {
        let below = if self.shared_bits == 0 { prefix } else { prefix & (u64::MAX >> self.shared_bits) };
        (below >> self.rest_bits().min(63)) as usize * usize::from(self.rest_bits() < 64)
    }

    /// The top bits that all prefixes share, the others zero.
    pub(super) fn shared(self) -> u64 {
        if self.shared_bits == 0 { 0 } else { self.common & !(u64::MAX >> self.shared_bits) }
    }

    /// The prefix with the top bits that all share.
    pub(super) fn with_shared(self, prefix: u64) -> u64 {
        self.shared() | prefix & (u64::MAX >> self.shared_bits)
    }

    pub(super) fn mask(self) -> u64 {
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
