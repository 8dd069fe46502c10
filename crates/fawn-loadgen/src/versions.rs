//! Which versions of a key a get may find.
//!
//! Sets of a key get rising versions. Where a set is acknowledged, whatever was acknowledged before that set began is gone
//! for good; sets that were in flight together may take effect in any order. So a key has a floor, below which no get
//! that begins from now on may find anything, and the number of its last set, above which there is nothing.
//!
//! For keys with several sets in flight the floor is a little low, never too high: sets are taken together in two
//! generations, of which the older one takes no more. A set of the younger began after all sets before the older
//! generation had been acknowledged, so that its acknowledgement lifts the floor to the first of the older one.
//!
//! What other runs have left counts as version 0 and may be anything, until a set of this run is acknowledged.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fawn_workload::mix;

/// Parts of the table of sets in flight, so that loops seldom wait for each other.
const SHARDS: usize = 64;

/// The version of a key that is set once, by a load.
const LOADED: u32 = 1;

/// The versions of all keys, shared by all loops.
pub struct KeyVersions {
    /// What is added to numbers to make the versions in values, another for each run.
    base: u32,
    /// The number of keys that were not set since this was made.
    untouched: u32,
    /// The keys that may be loaded and set again; those after them are inserted by this run, once.
    loaded: u64,
    /// For each key the floor in the upper half, its last set's number in the lower; 0: as they were. Empty: nothing is set.
    keys: Vec<AtomicU64>,
    shards: Vec<Mutex<Shard>>,
}

#[derive(Default)]
struct Shard {
    open: HashMap<u64, OpenSets, BuildHasherDefault<KeyHasher>>,
    /// Keys of which a set was refused. Nobody knows whether it takes effect after all, so that their floor stays.
    unsure: HashSet<u64, BuildHasherDefault<KeyHasher>>,
}

/// The sets in flight of one key.
struct OpenSets {
    older: Generation,
    younger: Generation,
}

#[derive(Clone, Copy)]
struct Generation {
    /// Its first number.
    first: u32,
    in_flight: u32,
    /// What the floor is once one of it is acknowledged.
    floor: u32,
}

/// Indexes are numbers in a row: one multiplication spreads them.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }
}

impl KeyVersions {
    /// DRAM that it takes for so many keys.
    pub fn bytes(keys: u64, has_sets: bool) -> u64 {
        if has_sets { keys.saturating_mul(size_of::<AtomicU64>() as u64) } else { 0 }
    }

    /// Nothing is known of any of `keys` keys, or, with `is_loaded`, each was just set once and acknowledged. Where nothing will be
    /// set, nothing is held of them. Other keys are got once they are inserted, and not set again.
    pub fn new(keys: u64, base: u32, is_loaded: bool, has_sets: bool) -> Self {
        let held = if has_sets { keys } else { 0 };
        Self {
            base,
            untouched: if is_loaded { LOADED } else { 0 },
            loaded: keys,
            keys: (0..held).map(|_| AtomicU64::new(0)).collect(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// The version in the values of a load, and of what is inserted.
    pub fn loaded_version(&self) -> u32 {
        self.base.wrapping_add(LOADED)
    }

    /// Floor and last number of a key.
    #[inline]
    fn range(&self, index: u64) -> (u32, u32) {
        if index >= self.loaded {
            return (LOADED, LOADED);
        }
        match self.keys.get(index as usize).map_or(0, |word| word.load(Ordering::Acquire)) {
            0 => (self.untouched, self.untouched),
            word => ((word >> 32) as u32, word as u32),
        }
    }

    /// To be called before a get is sent: what [`KeyVersions::is_possible`] must know of now.
    #[inline]
    pub fn floor(&self, index: u64) -> u32 {
        self.range(index).0
    }

    /// Whether a get that was sent at `floor` may find a value of this version.
    #[inline]
    pub fn is_possible(&self, index: u64, floor: u32, version: u32) -> bool {
        floor == 0 || (floor..=self.range(index).1).contains(&version.wrapping_sub(self.base))
    }

    /// The versions that [`KeyVersions::is_possible`], for people.
    pub fn possible(&self, index: u64, floor: u32) -> (u32, u32) {
        (self.base.wrapping_add(floor), self.base.wrapping_add(self.range(index).1))
    }

    /// To be called before a set is sent: its version.
    pub fn begin_set(&self, index: u64) -> u32 {
        let mut shard = self.shard(index);
        let (floor, last) = self.range(index);
        let number = last.checked_add(1).expect("a key is set fewer than 2^32 times in a run");
        let fresh = Generation { first: number, in_flight: 0, floor: number };
        let open = shard.open.entry(index).or_insert(OpenSets { older: fresh, younger: fresh });
        open.younger.in_flight += 1;
        self.put(index, floor, number);
        self.base.wrapping_add(number)
    }

    /// The set with this version was answered.
    pub fn end_set(&self, index: u64, version: u32, was_stored: bool) {
        let number = version.wrapping_sub(self.base);
        let mut shard = self.shard(index);
        let (floor, last) = self.range(index);
        if !was_stored {
            shard.unsure.insert(index);
        }
        let is_sure = shard.unsure.is_empty() || !shard.unsure.contains(&index);
        let open = shard.open.get_mut(&index).expect("an answered set was begun");
        let generation = if number < open.younger.first { &mut open.older } else { &mut open.younger };
        generation.in_flight -= 1;
        if is_sure {
            self.put(index, floor.max(generation.floor), last);
        }
        if open.older.in_flight == 0 {
            if open.younger.in_flight == 0 {
                shard.open.remove(&index);
            } else {
                open.older = open.younger;
                open.younger = Generation { first: last + 1, in_flight: 0, floor: open.older.first };
            }
        }
    }

    fn put(&self, index: u64, floor: u32, last: u32) {
        self.keys[index as usize].store(u64::from(floor) << 32 | u64::from(last), Ordering::Release);
    }

    fn shard(&self, index: u64) -> MutexGuard<'_, Shard> {
        self.shards[index as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u32 = 4_000_000_000;

    fn found(versions: &KeyVersions, floor: u32) -> Vec<u32> {
        (0..10).filter(|number| versions.is_possible(3, floor, BASE.wrapping_add(*number))).collect()
    }

    #[test]
    fn after_a_set_is_acknowledged_nothing_older_is_possible() {
        let versions = KeyVersions::new(10, BASE, true, true);
        let before = versions.floor(3);
        assert_eq!(found(&versions, before), [1]);
        let version = versions.begin_set(3);
        assert_eq!(version, BASE + 2);
        assert_eq!(found(&versions, before), [1, 2], "a set in flight may have taken effect");
        versions.end_set(3, version, true);
        assert_eq!(found(&versions, before), [1, 2], "a get that began before may have been answered before");
        assert_eq!(found(&versions, versions.floor(3)), [2]);
        assert_eq!(versions.floor(4), 1);
    }

    #[test]
    fn what_other_runs_left_is_possible_until_a_set_of_this_run() {
        let versions = KeyVersions::new(10, BASE, false, true);
        let before = versions.floor(3);
        assert!(versions.is_possible(3, before, 17) && versions.is_possible(3, before, BASE - 5));
        let version = versions.begin_set(3);
        versions.end_set(3, version, true);
        assert_eq!(found(&versions, versions.floor(3)), [1]);
        assert!(!versions.is_possible(3, versions.floor(3), BASE - 5));
    }

    #[test]
    fn sets_in_flight_together_may_take_effect_in_any_order() {
        let versions = KeyVersions::new(10, BASE, true, true);
        let (two, three) = (versions.begin_set(3), versions.begin_set(3));
        versions.end_set(3, three, true);
        assert_eq!(found(&versions, versions.floor(3)), [2, 3]);
        let four = versions.begin_set(3);
        versions.end_set(3, two, true);
        versions.end_set(3, four, true);
        // Four began when three was acknowledged and two was not.
        let possible = found(&versions, versions.floor(3));
        assert!(possible.contains(&2) && possible.contains(&4) && !possible.contains(&1), "{possible:?}");
        let five = versions.begin_set(3);
        versions.end_set(3, five, true);
        assert_eq!(found(&versions, versions.floor(3)), [5]);
    }

    #[test]
    fn the_floor_rises_though_there_is_always_a_set_in_flight() {
        let versions = KeyVersions::new(10, BASE, true, true);
        let mut before = versions.begin_set(3);
        for _ in 0..100 {
            let next = versions.begin_set(3);
            versions.end_set(3, before, true);
            before = next;
        }
        let floor = versions.floor(3);
        assert!((97..=101).contains(&floor), "{floor} of 102");
    }

    #[test]
    fn what_this_run_has_inserted_has_its_version_and_no_other() {
        for is_loaded in [false, true] {
            let versions = KeyVersions::new(3, BASE, is_loaded, false);
            assert_eq!(found(&versions, versions.floor(3)), [1], "key 3 is the first that is inserted");
            assert!(!versions.is_possible(3, versions.floor(3), BASE - 5), "an earlier run's");
        }
    }

    #[test]
    fn a_refused_set_may_take_effect_at_any_time() {
        let versions = KeyVersions::new(10, BASE, true, true);
        let two = versions.begin_set(3);
        versions.end_set(3, two, false);
        let three = versions.begin_set(3);
        versions.end_set(3, three, true);
        assert_eq!(found(&versions, versions.floor(3)), [1, 2, 3]);
    }

    /// A register to which sets are applied at some moment between their beginning and their end.
    #[test]
    fn no_order_of_sets_and_gets_in_flight_is_taken_for_wrong() {
        use rand::rngs::SmallRng;
        use rand::{Rng as _, SeedableRng as _};
        for seed in 0..300 {
            let mut random = SmallRng::seed_from_u64(seed);
            let versions = KeyVersions::new(10, BASE, seed % 2 == 0, true);
            let mut held = versions.loaded_version();
            let (mut begun, mut applied, mut gets) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..400 {
                match random.next_u64() % 5 {
                    0 if begun.len() + applied.len() < 6 => begun.push(versions.begin_set(3)),
                    1 if !begun.is_empty() => {
                        held = begun.swap_remove(random.next_u64() as usize % begun.len());
                        applied.push(held);
                    }
                    2 if !applied.is_empty() => {
                        let ended = applied.swap_remove(random.next_u64() as usize % applied.len());
                        versions.end_set(3, ended, true);
                    }
                    3 => gets.push(versions.floor(3)),
                    _ if !gets.is_empty() => {
                        let floor = gets.swap_remove(random.next_u64() as usize % gets.len());
                        assert!(versions.is_possible(3, floor, held), "seed {seed}: {held} at {floor}");
                    }
                    _ => {}
                }
            }
        }
    }
}
