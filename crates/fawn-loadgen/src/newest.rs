//! What was written last, of all loops: for gets that prefer it, and for the keys that are inserted.
//!
//! A record that is inserted counts once it is answered, and all before it are: whoever draws from those below
//! [`Newest::end`] finds every one of them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How far sets and inserts have come.
pub struct Newest {
    /// Sets begun, where they go through all keys in turn.
    sets: AtomicU64,
    /// The entries that are loaded; those from here on are inserted.
    loaded: u64,
    /// The next entry that is inserted.
    next: AtomicU64,
    /// Every entry below is there.
    end: AtomicU64,
    /// Entries above that are answered, while one below them is not.
    early: Mutex<BTreeSet<u64>>,
}

impl Newest {
    /// There are so many entries, and nothing was written yet.
    pub fn new(loaded: u64) -> Self {
        Self {
            sets: AtomicU64::new(0),
            loaded,
            next: AtomicU64::new(loaded),
            end: AtomicU64::new(loaded),
            early: Mutex::default(),
        }
    }

    /// How many sets were begun.
    #[inline]
    pub fn sets(&self) -> u64 {
        self.sets.load(Ordering::Relaxed)
    }

    /// Begins a set; how many were begun before.
    #[inline]
    pub fn begin_set(&self) -> u64 {
        self.sets.fetch_add(1, Ordering::Relaxed)
    }

    /// The entry to insert next.
    #[inline]
    pub fn begin_insert(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// An insert was answered. One that was refused counts as well, as in YCSB: or no later one ever would.
    pub fn end_insert(&self, index: u64) {
        if index < self.loaded {
            // A load's, which is drawn from once it is complete.
            return;
        }
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.insert(index);
        let mut end = self.end.load(Ordering::Relaxed);
        while early.remove(&end) {
            end += 1;
        }
        // Only the holder of the lock stores.
        self.end.store(end, Ordering::Release);
    }

    /// Every entry below is there.
    #[inline]
    pub fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_counts_once_all_before_it_are_answered() {
        let newest = Newest::new(10);
        assert_eq!([(); 4].map(|()| newest.begin_insert()), [10, 11, 12, 13]);
        for (answered, end) in [(11, 10), (12, 10), (10, 13), (13, 14)] {
            newest.end_insert(answered);
            assert_eq!(newest.end(), end, "{answered} was answered");
        }
        assert!(newest.early.lock().unwrap().is_empty(), "nothing is held of what all have");
    }

    #[test]
    fn what_a_load_inserts_is_not_held() {
        let newest = Newest::new(10);
        (0..10).for_each(|index| newest.end_insert(index));
        assert_eq!(newest.end(), 10);
        assert!(newest.early.lock().unwrap().is_empty());
    }
}
