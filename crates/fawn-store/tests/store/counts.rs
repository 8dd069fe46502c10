//! What a store of ranges counts as live, against a scan: stretches of keys are filled, emptied and filled again, sealed,
//! merged and replayed in between.

use std::collections::BTreeMap;

use fawn_check::random::Random;
use fawn_ring::{Interval, Key};
use fawn_sim::flash::SimFlash;
use fawn_store::record::{Kind, Marks, Record};
use fawn_store::{CountedKeys, Maintenance, Refusal, Store};

use crate::common::{for_seeds, number, tiny};
use crate::ranges::{scanned, settle};

/// Stretches that are emptied; they end where no slice does.
const STRETCHES: usize = 8;
const KEYS: u64 = 300;
const VALUE: [u8; 100] = [7; 100];
/// Bytes of a record with such a value, at most.
const RECORD_BYTES: u64 = 160;

/// Slots that share a position without being of one key, about.
const BY_CHANCE: u64 = 2;

/// What a test does to the store, as its log says it.
#[derive(Clone, Copy, Debug)]
enum Act {
    Put(u64, u64),
    Delete(u64, u64),
    Empty(u64, u64),
}

impl Act {
    fn encode(self) -> Vec<u8> {
        let (kind, first, second) = match self {
            Self::Put(key, seq) => (0, key, seq),
            Self::Delete(key, seq) => (1, key, seq),
            Self::Empty(first, last) => (2, first, last),
        };
        [kind, first, second].iter().flat_map(|word: &u64| word.to_le_bytes()).collect()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |n: usize| Some(u64::from_le_bytes(bytes.get(8 * n..8 * n + 8)?.try_into().ok()?));
        let (first, second) = (word(1)?, word(2)?);
        Some(match word(0)? {
            0 => Self::Put(first, second),
            1 => Self::Delete(first, second),
            _ => Self::Empty(first, second),
        })
    }

    fn apply(self, store: &mut Store) {
        let (key, seq, value) = match self {
            Self::Put(key, seq) => (key, seq, &VALUE[..]),
            Self::Delete(key, seq) => (key, seq, &[][..]),
            Self::Empty(first, last) => return store.replication().empty(stretch(first, last)),
        };
        let (name, position) = named(store, key);
        let kind = if value.is_empty() { Kind::Delete } else { Kind::Value };
        let marks = Marks::default();
        let record =
            Record { kind, marks, epoch: 1, seq, client_flags: 0, expiry: 0, client_cas: None, key: &name, value };
        store.replication().append(&position, &record).unwrap();
    }
}

fn stretch(first: u64, last: u64) -> Interval {
    let all = Interval::ALL.divide(STRETCHES as u32);
    Interval::new(all[first as usize].low, all[last as usize].high)
}

fn named(store: &Store, key: u64) -> (Vec<u8>, Key) {
    let name = format!("key-{key:04}").into_bytes();
    let position = store.options().secret.position(&name);
    (name, position)
}

struct World {
    flash: SimFlash,
    store: Store,
    maintenance: Maintenance,
    /// Live keys.
    model: BTreeMap<u64, u64>,
    seq: u64,
    /// Delete records taken, those that were replayed each time.
    deletes: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let flash = SimFlash::new(seed);
        let (store, maintenance, _) = Self::open(&flash);
        let mut world = Self { flash, store, maintenance, model: BTreeMap::new(), seq: 0, deletes: 0 };
        world.settle();
        world
    }

    /// Opens the store; also how many delete records were replayed.
    fn open(flash: &SimFlash) -> (Store, Maintenance, u64) {
        let mut deletes = 0;
        let mut owner = |store: &mut Store, _: u64, bytes: &[u8]| {
            if let Some(act) = Act::decode(bytes) {
                act.apply(store);
                deletes += u64::from(matches!(act, Act::Delete(..)));
            }
            Ok(())
        };
        let (store, maintenance, _) = Store::open_ranges(tiny(), flash, 0, &mut owner).unwrap();
        (store, maintenance, deletes)
    }

    fn settle(&mut self) {
        settle(&mut self.store, &mut self.maintenance, &self.flash);
    }

    fn act(&mut self, act: Act) {
        while let Err(refusal) = self.store.replication().log(7, &act.encode(), (4096, 4096)) {
            assert_eq!(refusal, Refusal::Busy);
            self.settle();
            if self.store.replication().wants_checkpoint(true) {
                self.checkpoint();
            }
        }
        act.apply(&mut self.store);
        match act {
            Act::Put(key, seq) => drop(self.model.insert(key, seq)),
            Act::Delete(key, _) => {
                self.deletes += 1;
                self.model.remove(&key);
            }
            Act::Empty(first, last) => {
                let (keys, store) = (stretch(first, last), &self.store);
                self.model.retain(|key, _| !keys.contains(&named(store, *key).1));
            }
        }
    }

    fn put(&mut self, keys: impl Iterator<Item = u64>) {
        for key in keys {
            self.seq += 1;
            self.act(Act::Put(key, self.seq));
        }
    }

    /// As in a copy: whatever number it had.
    fn put_within(&mut self, keys: Interval) {
        let within: Vec<u64> = (0..KEYS).filter(|key| keys.contains(&named(&self.store, *key).1)).collect();
        self.put(within.into_iter());
    }

    fn checkpoint(&mut self) {
        self.store.replication().checkpoint(&[(7, Vec::new())]).unwrap();
        self.settle();
    }

    fn restart(&mut self) {
        self.settle();
        let deletes;
        (self.store, self.maintenance, deletes) = Self::open(&self.flash);
        self.deletes += deletes;
        self.settle();
    }

    /// Counted is what a scan finds, but for `deletes` at most.
    fn check(&mut self, what: &str) {
        self.store.replication().freeze();
        self.settle();
        let (records, bytes) = scanned(&mut self.store, &mut self.maintenance, &self.flash);
        assert_eq!(records, self.model.len() as u64, "{what}: what is there");
        let stats = self.store.stats();
        let near = |counted: u64, found: u64, slack: u64| counted.abs_diff(found) <= slack;
        let slack = BY_CHANCE + self.deletes;
        assert!(near(stats.entries, records, slack), "{what}: {} counted of {records}", stats.entries);
        let live = stats.live_bytes;
        // Deletions are shorter than other records, too, all of which are taken for as long as their average.
        let most = RECORD_BYTES * (slack + self.deletes);
        assert!(near(live, bytes, most), "{what}: {live} bytes counted of {bytes}: {stats:?}");
    }
}

#[test]
fn a_range_that_leaves_and_comes_back_is_counted_once() {
    let mut world = World::new(1);
    world.put(0..KEYS);
    world.checkpoint();
    world.check("filled");
    for (round, keys) in [(0, 7), (2, 4), (0, 5), (0, 7)].into_iter().enumerate() {
        world.act(Act::Empty(keys.0, keys.1));
        let void = format!("emptied {round}");
        assert_eq!(world.store.stats().entries.abs_diff(world.model.len() as u64), 0, "{void}, not sealed yet");
        world.check(&void);
        world.put_within(stretch(keys.0, keys.1));
        world.check(&format!("filled again {round}"));
        world.restart();
        world.check(&format!("replayed {round}"));
        world.checkpoint();
        world.restart();
        world.check(&format!("loaded {round}"));
    }
}

#[test]
fn what_was_superseded_before_it_was_emptied_is_not_counted_as_gone_twice() {
    let mut world = World::new(2);
    for _ in 0..2 {
        world.put(0..KEYS);
        world.checkpoint();
    }
    world.act(Act::Empty(1, 6));
    world.check("emptied");
    world.put_within(stretch(0, 3));
    world.check("filled in part, and superseded");
    world.restart();
    world.check("replayed");
}

/// What is counted now, sealed or not.
fn check_unsealed(world: &World, what: &str) {
    let there = world.model.len() as u64;
    let stats = world.store.stats();
    assert!(stats.entries.abs_diff(there) <= BY_CHANCE, "{what}: {} counted of {there}", stats.entries);
    let all = [CountedKeys { keys: Interval::ALL, flushed: 0 }];
    let [held] = world.store.contents().held_in(&all, &[Interval::ALL])[..] else { panic!("of each part") };
    assert!((held.entries - there as f64).abs() <= BY_CHANCE as f64, "{what}: {held:?} of {there}");
    let bytes = stats.live_bytes as f64 / there.max(1) as f64;
    assert!((120.0..=RECORD_BYTES as f64).contains(&bytes), "{what}: {bytes} bytes a record");
}

#[test]
fn a_key_that_is_sealed_and_in_a_buffer_counts_once() {
    let mut world = World::new(3);
    world.put(0..KEYS);
    world.checkpoint();
    check_unsealed(&world, "sealed");
    world.put(0..KEYS / 2);
    check_unsealed(&world, "half of it written again");
    world.put(0..KEYS / 2);
    check_unsealed(&world, "twice");
    // The log has what is sealed besides.
    world.restart();
    check_unsealed(&world, "replayed");
    for key in 0..20 {
        world.seq += 1;
        world.act(Act::Delete(key, world.seq));
    }
    check_unsealed(&world, "some of it deleted");
    world.put(KEYS..KEYS + 30);
    check_unsealed(&world, "new keys beside it");
}

fn random(seed: u64, with_deletes: bool) {
    let mut rng = Random::new(seed);
    let mut world = World::new(seed);
    for step in 0..60 {
        let first = rng.below(STRETCHES as u64);
        let last = first + rng.below(STRETCHES as u64 - first);
        match rng.below(12) {
            0..=2 => world.put_within(stretch(first, last)),
            3 | 4 => {
                let keys: Vec<u64> = (0..rng.below(40)).map(|_| rng.below(KEYS)).collect();
                world.put(keys.into_iter());
            }
            5..=7 => world.act(Act::Empty(first, last)),
            8 if with_deletes => {
                world.seq += 1;
                let key = rng.below(KEYS);
                world.act(Act::Delete(key, world.seq));
            }
            8 => {
                world.store.compact();
                world.settle();
                if world.store.replication().wants_checkpoint(false) {
                    world.checkpoint();
                }
            }
            9 => {
                world.settle();
                world.checkpoint();
            }
            10 => world.restart(),
            _ => world.check(&format!("seed {seed}, step {step}")),
        }
    }
    world.check(&format!("seed {seed}, end"));
    world.restart();
    world.check(&format!("seed {seed}, opened again"));
}

#[test]
fn whatever_is_emptied_and_filled_again_is_counted_as_a_scan_counts_it() {
    for_seeds("counts", 0, number("FAWN_COUNTS", 30), |seed| random(seed, false));
}

#[test]
fn deletions_make_the_count_wrong_by_no_more_than_there_were() {
    for_seeds("counts with deletions", 1000, number("FAWN_COUNTS", 30), |seed| random(seed, true));
}
