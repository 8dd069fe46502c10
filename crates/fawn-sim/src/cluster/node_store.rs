//! The datastore of a simulated node: one in memory, or production's on simulated flash.

use std::collections::BTreeMap;

use fawn_kv::entry::{Entry, Kept};
use fawn_kv::ids::{Attempt, Position, RangeId, Seq};
use fawn_kv::meta::Meta;
use fawn_kv::store::{Gate, Lookup, RangeStore, Recovered, Scan, Ticket};
use fawn_ring::{Interval, Key};

use super::events::Read;
use super::flash_store::FlashNode;
use super::store::MemoryStore;
use crate::random::Random;

/// What lookups and scans that had to wait for flash have found.
pub type Reads = Vec<(Ticket, Read)>;

/// One of the two.
pub enum NodeStore {
    /// Quick, and forgets deletions at random.
    Memory(MemoryStore),
    /// With the formats, seals, merges and the recovery of production.
    Flash(Box<FlashNode>),
}

/// Carries out a call on whichever it is.
macro_rules! either {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Self::Memory($store) => $call,
            Self::Flash($store) => $call,
        }
    };
}

impl NodeStore {
    /// An empty store.
    pub fn new(random: Random, on_flash: bool) -> Self {
        if on_flash { Self::Flash(Box::new(FlashNode::new(random))) } else { Self::Memory(MemoryStore::new(random)) }
    }

    /// Keys that lookups see, deleted ones included, in all ranges; `None` where nobody counts them.
    pub fn keys(&self) -> Option<usize> {
        if let Self::Memory(store) = self { Some(store.keys()) } else { None }
    }

    /// The gate of everything written so far.
    pub fn written(&self) -> Gate {
        either!(self, store => store.written())
    }

    /// A sync that began with `gate` is done.
    pub fn synced(&mut self, gate: Gate) {
        either!(self, store => store.synced(gate));
    }

    /// What has been found since the last call.
    pub fn take_reads(&mut self) -> Reads {
        either!(self, store => store.take_reads())
    }

    /// Time has passed.
    pub fn idle(&mut self) {
        either!(self, store => store.idle());
    }

    /// From here on the device has no room, or has some again.
    pub fn set_full(&mut self, full: bool) {
        either!(self, store => store.set_full(full));
    }

    /// The next write fails, and with it all that follow.
    pub fn fail(&mut self) {
        either!(self, store => store.fail());
    }

    /// Loses what is not durable, but perhaps for some of it; and says what is left.
    pub fn crash(self, random: Random) -> (Self, BTreeMap<RangeId, Recovered>) {
        match self {
            Self::Memory(store) => {
                let (store, recovered) = store.crash(random);
                (Self::Memory(store), recovered)
            }
            Self::Flash(store) => {
                let (store, recovered) = store.crash(random);
                (Self::Flash(Box::new(store)), recovered)
            }
        }
    }
}

impl RangeStore for NodeStore {
    fn create(&mut self, range: RangeId, keys: Interval) -> Gate {
        either!(self, store => store.create(range, keys))
    }

    fn append(&mut self, range: RangeId, entry: &Entry) -> Gate {
        either!(self, store => store.append(range, entry))
    }

    fn truncate(&mut self, range: RangeId, to: Position) -> Gate {
        either!(self, store => store.truncate(range, to))
    }

    fn hold(&mut self, range: RangeId, attempt: Attempt) -> Gate {
        either!(self, store => store.hold(range, attempt))
    }

    fn reset(&mut self, range: RangeId) -> Gate {
        either!(self, store => store.reset(range))
    }

    fn install(&mut self, range: RangeId, kept: &[Kept]) -> Gate {
        either!(self, store => store.install(range, kept))
    }

    fn install_end(&mut self, range: RangeId, meta: &Meta, forgotten: Seq) -> Gate {
        either!(self, store => store.install_end(range, meta, forgotten))
    }

    fn commit(&mut self, range: RangeId, entry: &Entry) {
        either!(self, store => store.commit(range, entry));
    }

    fn inherit(&mut self, over: &[RangeId], ranges: &[(RangeId, Recovered)]) -> Gate {
        either!(self, store => store.inherit(over, ranges))
    }

    fn drop_range(&mut self, range: RangeId) -> Gate {
        either!(self, store => store.drop_range(range))
    }

    fn lookup(&mut self, range: RangeId, key: &[u8], ticket: Ticket) -> Lookup {
        either!(self, store => store.lookup(range, key, ticket))
    }

    fn scan(&mut self, range: RangeId, from: Option<Key>, since: Seq, least: Position, ticket: Ticket) -> Scan {
        either!(self, store => store.scan(range, from, since, least, ticket))
    }

    fn longest_record(&self) -> usize {
        either!(self, store => store.longest_record())
    }

    fn ready(&mut self, range: RangeId) -> bool {
        either!(self, store => store.ready(range))
    }

    fn is_full(&self) -> bool {
        either!(self, store => store.is_full())
    }

    fn has_failed(&self) -> bool {
        either!(self, store => store.has_failed())
    }

    fn forgotten(&self, range: RangeId) -> Seq {
        either!(self, store => store.forgotten(range))
    }

    fn durable(&self) -> Gate {
        either!(self, store => store.durable())
    }
}
