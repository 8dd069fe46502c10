//! What has happened to a node's parts in ranges, counted.

/// Upper bounds of the counts of [`Pauses`], in microseconds.
pub const PAUSE_BOUNDS_US: [u64; 10] =
    [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 500_000, 2_000_000, 10_000_000];

/// For how long members of chains took and answered nothing while their chain changed: from the seal until they were active in
/// the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// How many there were.
    pub count: u64,
    /// How many of them took no longer than each of [`PAUSE_BOUNDS_US`], and longer than the one before.
    pub within: [u64; PAUSE_BOUNDS_US.len()],
    /// What they took together.
    pub total_us: u64,
}

impl Pauses {
    /// One more.
    pub(super) fn record(&mut self, us: u64) {
        self.count += 1;
        self.total_us += us;
        if let Some(bound) = PAUSE_BOUNDS_US.iter().position(|bound| us <= *bound) {
            self.within[bound] += 1;
        }
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.total_us += other.total_us;
        self.within.iter_mut().zip(other.within).for_each(|(mine, other)| *mine += other);
    }

    fn without(mut self, other: Self) -> Self {
        self.count = self.count.saturating_sub(other.count);
        self.total_us = self.total_us.saturating_sub(other.total_us);
        self.within.iter_mut().zip(other.within).for_each(|(mine, other)| *mine = mine.saturating_sub(other));
        self
    }
}

/// What has happened to parts in ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Chains that have become active with them.
    pub activations: u64,
    /// Bytes that they have copied from others.
    pub copied_bytes: u64,
    /// For how long they stood still.
    pub pauses: Pauses,
}

impl Tally {
    /// Adds what has happened to another.
    pub fn add(&mut self, other: Self) {
        self.activations += other.activations;
        self.copied_bytes += other.copied_bytes;
        self.pauses.add(other.pauses);
    }

    /// What of it is not in another.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self {
            activations: self.activations.saturating_sub(other.activations),
            copied_bytes: self.copied_bytes.saturating_sub(other.copied_bytes),
            pauses: self.pauses.without(other.pauses),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_counts_at_the_first_bound_that_it_does_not_exceed() {
        let mut pauses = Pauses::default();
        for us in [900, 1_000, 1_001, 3_000_000, 20_000_000] {
            pauses.record(us);
        }
        assert_eq!((pauses.count, pauses.total_us), (5, 23_002_901));
        assert_eq!(pauses.within, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        let mut twice = pauses;
        twice.add(pauses);
        assert_eq!(twice.without(pauses), pauses);
    }
}
