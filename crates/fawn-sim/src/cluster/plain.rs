//! What a plain directory holds on which the first nodes are started, as the checkers are to know it.

use fawn_check::random::Random;
use fawn_check::{KvOperation, KvOutcome};
use fawn_kv::ids::RangeId;
use fawn_kv::store::Plain;
use fawn_ring::Interval;

use super::client::{About, name};
use super::node_store::NodeStore;
use super::world::{BEGIN_UNIX, World};

/// Values of a plain store are above this, and below those of any client.
const FIRST_VALUE: u64 = 500_000_000;

/// Clients begin so long after the first of these writes, in microseconds: each write has its own before that.
pub(super) const CLIENTS_BEGIN_US: u64 = 2000;

/// A write of a plain store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainWrite {
    /// A value.
    Put {
        /// The key.
        key: u64,
        /// The value.
        value: u64,
        /// Unix second at which it expires, or 0.
        expiry: u32,
    },
    /// A key is deleted that is there.
    Delete {
        /// The key.
        key: u64,
    },
    /// All that is there is gone, at this Unix second or, if that is 0, at once.
    Flush {
        /// That second.
        due: u32,
    },
}

/// What a store was asked to write, by a seed.
fn drawn(random: &mut Random, keys: &[u64], may_flush_later: bool) -> Vec<PlainWrite> {
    let mut writes = Vec::new();
    if keys.is_empty() {
        return writes;
    }
    let (count, mut there) = (random.below(3 * keys.len() as u64).min(400), Vec::new());
    for number in 0..count {
        let key = *random.pick(keys);
        match random.below(12) {
            0 => {
                writes.push(PlainWrite::Flush { due: 0 });
                there.clear();
            }
            1..4 if there.contains(&key) => {
                writes.push(PlainWrite::Delete { key });
                there.retain(|other| *other != key);
            }
            _ => {
                // As clients do, so that what expires is neither counted nor made longer.
                let expires = key % 4 == 3 && random.chance(1, 4);
                let expiry = if expires { BEGIN_UNIX + 2 + random.below(4) as u32 } else { 0 };
                writes.push(PlainWrite::Put { key, value: FIRST_VALUE + number * 64, expiry });
                there.push(key);
            }
        }
    }
    if may_flush_later && random.chance(1, 3) {
        writes.push(PlainWrite::Flush { due: BEGIN_UNIX + 2 + random.below(4) as u32 });
    }
    writes
}

impl World {
    /// Puts a plain directory under the first nodes, and tells the checkers what it holds.
    pub(super) fn begin_plain(&mut self, seed: u64) {
        let stores = self.plan.adopts;
        if stores == 0 {
            return;
        }
        let mut random = Random::new(seed ^ 0x0070_6c61_696e);
        let mut at_us = 0;
        for (store, keys) in Interval::ALL.divide(stores).into_iter().enumerate() {
            let plain = Plain { store: store as u32, stores, keys };
            let held: Vec<u64> =
                (0..self.plan.keys).filter(|key| keys.contains(&self.positions[*key as usize])).collect();
            let writes = drawn(&mut random, &held, self.weak.is_none());
            let (node_store, told) = NodeStore::of_plain(random.fork(), self.plan.on_flash, plain, &writes);
            self.places[store].left = Some((node_store, std::collections::BTreeMap::new()));
            for (write, cas) in writes.into_iter().zip(told) {
                at_us += 1;
                self.begin_with(at_us, write, cas, keys);
            }
        }
        // Of few keys so few are written that clients come later.
        assert!(at_us < CLIENTS_BEGIN_US, "clients come after what there was before");
    }

    fn begin_with(&mut self, at_us: u64, write: PlainWrite, cas: u64, of: Interval) {
        let operation = self.next_operation;
        self.next_operation += 1;
        let (about, asked, outcome) = match write {
            PlainWrite::Put { key, value, expiry } => {
                if expiry > 0 {
                    self.may_expire_later(key, value, expiry).expect("clocks are right at first");
                }
                (About::Key(key), KvOperation::Put { value }, KvOutcome::Stored { version: Some(cas) })
            }
            PlainWrite::Delete { key } => (About::Key(key), KvOperation::Delete, KvOutcome::Deleted),
            PlainWrite::Flush { due: 0 } => (About::Range(RangeId(0), of), KvOperation::Delete, KvOutcome::Gone),
            PlainWrite::Flush { due } => return self.flush_later(operation, About::Range(RangeId(0), of), due),
        };
        let keys = self.keys_of(about);
        self.note_asked(&keys, asked);
        for key in keys {
            let told = self.check(key, |checker| {
                checker.invoke(at_us, operation, asked)?;
                checker.complete(at_us, operation, outcome)
            });
            told.expect("what one client does is linearizable");
        }
    }
}

/// The name and the text of a value, as a store has them.
pub(super) fn written(key: u64, value: u64) -> (Vec<u8>, Vec<u8>) {
    (name(key), value.to_string().into_bytes())
}
