//! How a store divides its memory among buffers, merges, index and record cache.

use crate::options::{MAX_FROZEN, Options};

/// The parts of a memory budget that do not depend on what is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryBudget {
    memory: u64,
    buffers: u64,
    merges: u64,
    process: u64,
}

impl MemoryBudget {
    /// That of these options, with open segments of so many bytes.
    pub(crate) fn new(options: &Options, segment_bytes: usize) -> Self {
        Self {
            memory: options.memory,
            // The arenas, and their hash indexes and the seal's working set on top.
            buffers: (1 + MAX_FROZEN as u64) * segment_bytes as u64 * 5 / 4,
            merges: options.merge_bytes(),
            process: options.process_bytes(),
        }
    }

    /// What the budget leaves for the index beside buffers, merges, the process itself and the least that the cache gets.
    pub(crate) fn index_bytes(&self) -> u64 {
        let beside = self.buffers + self.merges + self.process + self.least_cache_bytes();
        self.memory.saturating_sub(beside).max(self.memory / 4)
    }

    /// What the cache gets beside an index of so many bytes.
    pub(crate) fn cache_bytes(&self, index_bytes: u64) -> u64 {
        let used = index_bytes + self.buffers + self.merges + self.process;
        self.memory.saturating_sub(used).max(self.least_cache_bytes())
    }

    /// Whether the index alone has reached what the budget leaves beside the buffers.
    #[inline]
    pub(crate) fn is_full_of(&self, index_bytes: u64) -> bool {
        index_bytes + self.buffers.min(self.memory / 2) > self.memory
    }

    /// What the record cache gets in any case.
    fn least_cache_bytes(&self) -> u64 {
        self.memory / 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_ring::Secret;

    #[test]
    fn index_and_cache_share_what_is_left_of_the_memory() {
        let options = Options::new(Secret([1; 32]), 1 << 30);
        let budget = MemoryBudget::new(&options, 32 << 20);
        let index = budget.index_bytes();
        assert!(index > (1 << 30) / 2 && budget.cache_bytes(index) == (1 << 30) / 32);
        assert_eq!(budget.cache_bytes(0), index + budget.cache_bytes(index));
        assert!(!budget.is_full_of(index) && budget.is_full_of(1 << 30));
    }
}
