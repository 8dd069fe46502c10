//! The response cache: the newest versions of few keys, that there is none included.
//!
//! It is there to keep the load on nodes even, not to save it: with the most wanted `N log N` keys of a cluster of `N`
//! nodes here, what is left to be asked is spread over all of them (coupon collector; CMU-PDL-08-108 §3.5). Eviction is
//! scan-resistant (by `quick_cache`). An entry is of one wedge epoch, and of no use in another.

use super::in_flight::{Age, age};
use crate::ids::WedgeEpoch;
use crate::range::entry::Kept;
use fawn_ring::{Interval, Key, KeyHasher};
use quick_cache::unsync::{Cache as QuickCache, DefaultLifecycle};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// An entry counts once for each so many bytes that it has begun, so that one number bounds both entries and bytes.
const UNIT_BYTES: u64 = 4096;

/// What an entry costs beside its key and value: position, slot and the allocator's share.
const OVERHEAD_BYTES: u64 = 128;

/// Entries that are enough for a cluster of so many nodes: `factor · N · log2 N`, and a few for the smallest.
pub fn entries_for(nodes: usize, factor: u32) -> u64 {
    let nodes = nodes.max(2) as f64;
    (f64::from(factor) * nodes * nodes.log2()).ceil() as u64
}

#[derive(Clone, Debug)]
struct Entry {
    kept: Arc<Kept>,
    /// Unix second from when on it may not be shown; 0: none.
    until: u32,
    epoch: WedgeEpoch,
}

#[derive(Clone, Debug)]
struct Weighter;

impl quick_cache::Weighter<Key, Entry> for Weighter {
    fn weight(&self, _: &Key, entry: &Entry) -> u64 {
        units(&entry.kept)
    }
}

fn units(kept: &Kept) -> u64 {
    let value = kept.version.as_ref().map_or(0, |version| version.value.len());
    (kept.key.len() as u64 + value as u64 + OVERHEAD_BYTES).div_ceil(UNIT_BYTES)
}

/// The cache of one front-end.
#[derive(Debug)]
pub struct Cache {
    entries: QuickCache<Key, Entry, Weighter, BuildHasherDefault<KeyHasher>>,
    budget_bytes: u64,
}

impl Cache {
    /// A cache that holds nothing yet, nor may, before it is [resized](Self::resize); of at most `budget_bytes` ever.
    pub fn new(budget_bytes: u64) -> Self {
        let entries = QuickCache::with(64, 0, Weighter, BuildHasherDefault::default(), DefaultLifecycle::default());
        Self { entries, budget_bytes }
    }

    /// Makes room for `entries`, as far as the budget allows; what no longer fits goes.
    pub fn resize(&mut self, entries: u64) {
        let capacity = entries.min(self.budget_bytes / UNIT_BYTES);
        if capacity != self.entries.capacity() {
            self.entries.set_capacity(capacity);
        }
    }

    /// What is known of a key in a wedge epoch, and from which Unix second on it may not be shown; 0: none.
    pub fn get(&mut self, place: &Key, key: &[u8], epoch: WedgeEpoch) -> Option<(&Arc<Kept>, u32)> {
        let entry = self.entries.get(place)?;
        (entry.kept.key == key && entry.epoch == epoch).then_some((&entry.kept, entry.until))
    }

    /// The same in whatever epoch, as a planted bug has it.
    pub(super) fn get_of_any_epoch(&mut self, place: &Key, key: &[u8]) -> Option<(&Arc<Kept>, u32)> {
        let entry = self.entries.get(place).filter(|entry| entry.kept.key == key)?;
        Some((&entry.kept, entry.until))
    }

    /// How new what is here of a key is, whatever its epoch.
    pub(super) fn age(&self, place: &Key, key: &[u8]) -> Option<Age> {
        self.entries.peek(place).filter(|entry| entry.kept.key == key).map(|entry| age(&entry.kept))
    }

    /// Takes a version that may be shown before the Unix second `until`, or always (0), in the place of another one that
    /// may be here. One that is too large to be cached is not, nor is
    /// the other one any more.
    pub fn fill(&mut self, place: Key, kept: Arc<Kept>, until: u32, epoch: WedgeEpoch) {
        if units(&kept) * 8 > self.entries.capacity().max(8) {
            self.remove(&place);
        } else {
            self.entries.insert(place, Entry { kept, until, epoch });
        }
    }

    /// Drops what is at a position.
    pub fn remove(&mut self, place: &Key) {
        self.entries.remove(place);
    }

    /// Drops all keys of a wedge.
    pub fn empty(&mut self, keys: &Interval) {
        self.entries.retain(|place, _| !keys.contains(place));
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Epoch, Position, Seq};
    use crate::range::entry::Version;

    const EPOCH: WedgeEpoch = WedgeEpoch(1);

    fn at(number: u64) -> Key {
        // As spread as hashes are.
        Key::lowest_with_prefix(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn kept(number: u64, bytes: usize) -> Arc<Kept> {
        let value = vec![7; bytes];
        let version = Version { value, flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
        let position = Position { epoch: Epoch(1), seq: Seq(number) };
        Arc::new(Kept { key: number.to_be_bytes().to_vec(), position, version: Some(version) })
    }

    #[test]
    fn entries_grow_with_the_nodes_as_n_log_n() {
        assert_eq!([1, 2, 8, 1000].map(|nodes| entries_for(nodes, 1)), [2, 2, 24, 9966]);
        assert_eq!(entries_for(8, 3), 72);
    }

    #[test]
    fn neither_entries_nor_bytes_exceed_their_bounds() {
        let mut cache = Cache::new(1 << 20);
        cache.resize(100);
        for number in 0..1000 {
            cache.fill(at(number), kept(number, 10), 0, EPOCH);
        }
        assert!((50..=100).contains(&cache.len()), "{} entries", cache.len());
        cache.resize(u64::MAX);
        for number in 0..1000 {
            cache.fill(at(number), kept(number, 30_000), 0, EPOCH);
        }
        assert!(cache.len() * 30_000 <= 1 << 20 && cache.len() > 20, "{} entries", cache.len());
        cache.resize(10);
        assert!(cache.len() <= 10);
    }

    #[test]
    fn a_value_that_is_too_large_takes_the_place_of_nothing_but_its_own_key() {
        let mut cache = Cache::new(1 << 20);
        cache.resize(100);
        cache.fill(at(1), kept(1, 10), 0, EPOCH);
        cache.fill(at(2), kept(2, 10), 0, EPOCH);
        cache.fill(at(1), kept(1, 1 << 20), 0, EPOCH);
        assert_eq!(cache.get(&at(1), &1_u64.to_be_bytes(), EPOCH), None, "the older version is gone");
        assert!(cache.get(&at(2), &2_u64.to_be_bytes(), EPOCH).is_some());
    }

    #[test]
    fn an_entry_of_another_wedge_epoch_is_not_shown() {
        let mut cache = Cache::new(1 << 20);
        cache.resize(100);
        cache.fill(at(1), kept(1, 10), 0, EPOCH);
        assert_eq!(cache.get(&at(1), &1_u64.to_be_bytes(), EPOCH.next()), None);
        assert_eq!(cache.get(&at(1), b"another key at the same position", EPOCH), None);
        cache.empty(&Interval::ALL);
        assert!(cache.is_empty());
    }

    #[test]
    fn a_scan_does_not_drive_out_what_is_wanted_again_and_again() {
        let mut cache = Cache::new(1 << 20);
        cache.resize(100);
        let mut hits = 0;
        for number in 0..50_000_u64 {
            let hot = number % 40;
            let key = hot.to_be_bytes();
            if cache.get(&at(hot), &key, EPOCH).is_some() {
                hits += 1;
            } else {
                cache.fill(at(hot), kept(hot, 10), 0, EPOCH);
            }
            cache.fill(at(1_000_000 + number), kept(1_000_000 + number, 10), 0, EPOCH);
        }
        assert!(hits > 45_000, "{hits} of 50000");
    }
}
