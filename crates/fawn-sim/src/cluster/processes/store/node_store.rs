//! The datastore of a simulated node: one in memory, or production's on simulated flash.

use std::collections::BTreeMap;
use std::sync::Arc;

use fawn_check::random::Random;
use fawn_kv::ids::{Attempt, ClusterId, Position, RangeId, Seq};
use fawn_kv::range::entry::{Entry, Kept};
use fawn_kv::range::meta::Meta;
use fawn_kv::store::{Gate, Lookup, Place, Plain, RangeStore, RecoveredRange, Scan, Ticket};
use fawn_ring::{Interval, Key};

use crate::cluster::processes::store::flash::FlashNode;
use crate::cluster::processes::store::memory::MemoryStore;
use crate::cluster::processes::store::plain::PlainWrite;
use crate::cluster::processes::store::read::FlashRead;

/// What lookups and scans that had to wait for flash have found.
pub type Reads = Vec<(Ticket, FlashRead)>;

/// One of the two.
pub enum NodeStore {
    /// Quick, and forgets deletions at random.
    Memory(Box<MemoryStore>),
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
        if on_flash {
            Self::Flash(Box::new(FlashNode::new(random)))
        } else {
            Self::Memory(Box::new(MemoryStore::new(random)))
        }
    }

    /// A plain store after some writes, and what each of them was told as cas.
    pub fn of_plain(random: Random, on_flash: bool, plain: Plain, writes: &[PlainWrite]) -> (Self, Vec<u64>) {
        if on_flash {
            let (store, told) = FlashNode::of_plain(random, plain, writes);
            (Self::Flash(Box::new(store)), told)
        } else {
            let (store, told) = MemoryStore::of_plain(random, plain, writes);
            (Self::Memory(Box::new(store)), told)
        }
    }

    /// Keys that lookups see, deleted ones included, in all ranges; `None` where nobody counts them.
    pub fn keys(&self) -> Option<usize> {
        if let Self::Memory(store) = self { Some(store.keys()) } else { None }
    }

    /// What lookups see of a range; nothing where that has to be read first.
    pub fn kept(&self, range: RangeId) -> impl Iterator<Item = &Kept> {
        if let Self::Memory(store) = self { Some(store.kept(range)) } else { None }.into_iter().flatten()
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
    pub fn crash(self, random: Random) -> (Self, BTreeMap<RangeId, RecoveredRange>) {
        match self {
            Self::Memory(store) => {
                let (store, recovered) = store.crash(random);
                (Self::Memory(Box::new(store)), recovered)
            }
            Self::Flash(store) => {
                let (store, recovered) = store.crash(random);
                (Self::Flash(Box::new(store)), recovered)
            }
        }
    }
}

impl RangeStore for NodeStore {
    fn cluster(&self) -> Option<ClusterId> {
        either!(self, store => store.cluster())
    }

    fn join(&mut self, cluster: ClusterId) -> Gate {
        either!(self, store => store.join(cluster))
    }

    fn plain(&self) -> Option<Plain> {
        either!(self, store => store.plain())
    }

    fn adopt(&mut self, cluster: ClusterId, range: RangeId) -> Option<RecoveredRange> {
        either!(self, store => store.adopt(cluster, range))
    }

    fn create(&mut self, range: RangeId, keys: Interval) -> Gate {
        either!(self, store => store.create(range, keys))
    }

    fn append(&mut self, range: RangeId, entry: &Arc<Entry>) -> Gate {
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

    fn install(&mut self, range: RangeId, kept: &[Kept]) -> Option<Gate> {
        either!(self, store => store.install(range, kept))
    }

    fn install_end(&mut self, range: RangeId, meta: &Meta, forgotten: Seq) -> Gate {
        either!(self, store => store.install_end(range, meta, forgotten))
    }

    fn commit(&mut self, range: RangeId, entry: &Entry, lies: &Key) {
        either!(self, store => store.commit(range, entry, lies));
    }

    fn inherit(&mut self, over: &[RangeId], ranges: &[(RangeId, RecoveredRange)]) -> Gate {
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

    fn ready(&mut self) -> bool {
        either!(self, store => store.ready())
    }

    fn is_logged(&self) -> bool {
        either!(self, store => store.is_logged())
    }

    fn takes(&mut self, range: RangeId, place: Place) -> bool {
        either!(self, store => store.takes(range, place))
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

#[cfg(test)]
mod tests {
    use fawn_kv::ids::{Address, Incarnation, NodeId};
    use fawn_kv::node::{Identity, Node, OtherCluster};
    use fawn_kv::timing::{Now, Timing};
    use fawn_kv::wire::Message;
    use fawn_ring::MachineId;

    use super::*;

    const RANGE: RangeId = RangeId(2);
    const OURS: ClusterId = ClusterId([1; 16]);
    const THEIRS: ClusterId = ClusterId([2; 16]);

    /// A store of [`OURS`] with a range, after as many writes as make production's log go round.
    fn kept(on_flash: bool) -> (NodeStore, BTreeMap<RangeId, RecoveredRange>) {
        let mut store = NodeStore::new(Random::new(1), on_flash);
        store.join(OURS);
        store.create(RANGE, Interval::ALL);
        for attempt in 1..20_000 {
            store.hold(RANGE, Attempt(attempt));
            if attempt % 16 == 0 {
                let written = store.written();
                store.synced(written);
            }
        }
        let written = store.written();
        store.synced(written);
        store.crash(Random::new(2))
    }

    #[test]
    fn a_store_is_of_one_cluster_for_life() {
        for on_flash in [false, true] {
            assert_eq!(NodeStore::new(Random::new(1), on_flash).cluster(), None);
            let (store, recovered) = kept(on_flash);
            assert_eq!((store.cluster(), recovered.len()), (Some(OURS), 1), "on flash: {on_flash}");
        }
    }

    #[test]
    fn a_node_takes_no_part_in_another_cluster_than_its_store_and_says_so() {
        for on_flash in [false, true] {
            let (store, recovered) = kept(on_flash);
            let (before, secret) = (store.written(), crate::cluster::keys::SECRET);
            let identity = Identity { id: NodeId(1), machine: MachineId(1), domain: None, virtual_ids: 1, secret };
            let mut node = Node::new(identity, 7, Timing::default(), store, recovered);
            let hear = |node: &mut Node<NodeStore>, message| {
                let (now, mut out) = (Now::at(1, 1), Vec::new());
                node.receive(now, Address::Manager, message, &mut out);
                node.tick(now, &mut out);
                out
            };
            let (nonce, incarnation) = (7, Incarnation(1));
            let out = hear(&mut node, Message::Welcome { cluster: THEIRS, nonce, incarnation });
            assert!(matches!(out[..], [(_, Message::Hello { cluster: Some(OURS), .. })]), "{out:?}");
            let refused = OtherCluster { kept: OURS, managers: Some(THEIRS) };
            assert_eq!((node.member(), node.other_cluster()), (None, Some(refused)));
            let said = refused.to_string();
            assert!(said.contains(&OURS.to_string()) && said.contains(&THEIRS.to_string()), "{said}");
            let (keys, attempt) = (Interval::ALL, Attempt(99_999));
            hear(&mut node, Message::Seal { incarnation, range: RANGE, keys, attempt, source: None });
            hear(&mut node, Message::OtherCluster { cluster: None });
            assert_eq!(node.other_cluster(), Some(OtherCluster { kept: OURS, managers: None }));
            assert_eq!((node.store().cluster(), node.store().written()), (Some(OURS), before), "nothing is changed");
            hear(&mut node, Message::Welcome { cluster: OURS, nonce, incarnation });
            assert_eq!((node.member().map(|me| me.incarnation), node.other_cluster()), (Some(incarnation), None));
            assert_eq!(node.replica(RANGE).and_then(fawn_kv::chain::Replica::held), Some(Attempt(19_999)));
        }
    }
}
