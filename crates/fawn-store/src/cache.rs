//! The record cache: records that were read from flash, whole, by key position.
//!
//! Hashed order makes neighbours on a page unrelated, so that caching pages would waste DRAM: records are cached. The
//! policy is scan-resistant (S3-FIFO family, by `quick_cache`). An entry is removed when its key is written, so what
//! is here is the newest sealed version.

use std::hash::{BuildHasherDefault, Hasher};

use fawn_ring::Key;
use quick_cache::unsync::Cache as QuickCache;
use quick_cache::unsync::DefaultLifecycle;

use crate::format::record::Record;

/// What an entry costs beside its bytes: key, pointers, slot and the allocator's share.
const ENTRY_OVERHEAD_BYTES: u64 = 64;

/// Bytes that are evicted at a time: to evict many records would hold the event loop up.
const MOST_EVICTED: u64 = 128 << 10;

#[derive(Clone)]
struct Weighter;

impl quick_cache::Weighter<Key, Box<[u8]>> for Weighter {
    fn weight(&self, _: &Key, bytes: &Box<[u8]>) -> u64 {
        bytes.len() as u64 + ENTRY_OVERHEAD_BYTES
    }
}

/// Positions are uniform already: their prefix is the hash.
#[derive(Clone, Copy, Default)]
struct PrefixHasher(u64);

impl Hasher for PrefixHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    /// A fixed-size array's length says nothing.
    fn write_usize(&mut self, _: usize) {}
}

/// The record cache of one store.
pub(crate) struct Cache {
    records: QuickCache<Key, Box<[u8]>, Weighter, BuildHasherDefault<PrefixHasher>>,
    capacity: u64,
    /// What the cache may take; its capacity is more while it has yet to become smaller.
    target: u64,
    /// Lookups that the cache answered.
    pub hits: u64,
    /// Lookups that the cache could not answer.
    pub misses: u64,
}

impl Cache {
    pub(crate) fn new(capacity: u64) -> Self {
        let records =
            QuickCache::with(1024, capacity, Weighter, BuildHasherDefault::default(), DefaultLifecycle::default());
        Self { records, capacity, target: capacity, hits: 0, misses: 0 }
    }

    /// The cached record of the key `name` at position `key`.
    #[inline]
    pub(crate) fn get(&mut self, key: &Key, name: &[u8]) -> Option<&[u8]> {
        let found = self.records.get(key).filter(|bytes| is_of(bytes, name));
        if found.is_some() {
            self.hits += 1;
        } else {
            self.misses += 1;
        }
        found.map(|bytes| &**bytes)
    }

    /// The entry at `key`, whoever's it is, without counting.
    #[inline]
    pub(crate) fn peek(&self, key: &Key) -> Option<&[u8]> {
        self.records.peek(key).map(|bytes| &**bytes)
    }

    pub(crate) fn insert(&mut self, key: Key, record: &[u8]) {
        if (record.len() as u64 + ENTRY_OVERHEAD_BYTES) * 16 <= self.capacity {
            self.records.insert(key, record.into());
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, key: &Key) {
        if !self.records.is_empty() {
            self.records.remove(key);
        }
    }

    /// Drops all records; the capacity stays.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
    }

    /// Changes what the cache may take, in bytes, and begins to evict down to it.
    pub(crate) fn set_target(&mut self, target: u64) {
        self.target = target;
        self.shrink();
    }

    /// Goes on to evict down to the target. Whether there is more to evict.
    pub(crate) fn shrink(&mut self) -> bool {
        let capacity = self.target.max(self.bytes().saturating_sub(MOST_EVICTED));
        if capacity != self.capacity {
            self.capacity = capacity;
            self.records.set_capacity(capacity);
        }
        self.capacity > self.target
    }

    /// Bytes held, overhead included.
    pub(crate) fn bytes(&self) -> u64 {
        self.records.weight()
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }
}

fn is_of(bytes: &[u8], name: &[u8]) -> bool {
    Record::decode_trusted(bytes).is_ok_and(|record| record.key == name)
}
