//! When items were last used: what `mg` answers to the flags `h`, `l` and `t`'s neighbours.
//!
//! A store on flash cannot keep this beside each item, so a small table of fixed size remembers the items used lately
//! and forgets others at random (two keys that share a place push each other out). A forgotten item counts as not
//! fetched, last used now.

use fawn_ring::Key;

/// Places in a store's table; 8 bytes each.
const PLACES: usize = 1 << 15;
const HIT: u64 = 1 << 63;

/// The table of one store.
#[derive(Debug)]
pub struct Recency {
    /// Bit 63: fetched since stored; 31 bits of the key; 32 bits of Unix time. 0 is empty.
    places: Box<[u64]>,
}

/// What the table knows of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastUse {
    /// It was fetched before.
    pub fetched: bool,
    /// Unix second of its last use.
    pub at: u32,
}

impl Default for Recency {
    fn default() -> Self {
        Self { places: vec![0; PLACES].into_boxed_slice() }
    }
}

impl Recency {
    #[inline]
    fn place(key: &Key) -> (usize, u64) {
        let word = |at: usize| u32::from_le_bytes([key.0[at], key.0[at + 1], key.0[at + 2], key.0[at + 3]]);
        (word(12) as usize % PLACES, u64::from(word(16) >> 1) << 32)
    }

    /// The last use of `key`, if it is still known.
    pub fn get(&self, key: &Key) -> Option<LastUse> {
        let (place, tag) = Self::place(key);
        let entry = self.places[place];
        let known = entry != 0 && entry & !HIT & !0xffff_ffff == tag;
        known.then_some(LastUse { fetched: entry & HIT != 0, at: entry as u32 })
    }

    /// `key` was fetched at `now`.
    #[inline]
    pub fn fetched(&mut self, key: &Key, now: u32) {
        let (place, tag) = Self::place(key);
        self.places[place] = HIT | tag | u64::from(now);
    }

    /// `key` was stored at `now`.
    #[inline]
    pub fn stored(&mut self, key: &Key, now: u32) {
        let (place, tag) = Self::place(key);
        self.places[place] = tag | u64::from(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_ring::Secret;

    #[test]
    fn a_fetch_is_remembered_until_the_item_is_stored_again() {
        let (mut table, key) = (Recency::default(), Secret([1; 32]).position(b"key"));
        assert_eq!(table.get(&key), None);
        table.stored(&key, 10);
        assert_eq!(table.get(&key), Some(LastUse { fetched: false, at: 10 }));
        table.fetched(&key, 11);
        assert_eq!(table.get(&key), Some(LastUse { fetched: true, at: 11 }));
        table.stored(&key, 12);
        assert_eq!(table.get(&key), Some(LastUse { fetched: false, at: 12 }));
        assert_eq!(table.get(&Secret([1; 32]).position(b"other")), None);
    }
}
