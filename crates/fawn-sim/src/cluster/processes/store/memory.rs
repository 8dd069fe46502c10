//! A datastore in memory whose unsynced writes are lost in a crash, all or the last of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fawn_check::random::Random;
use fawn_kv::ids::{Attempt, ClusterId, Epoch, Position, RangeId, Seq};
use fawn_kv::range::entry::{Change, Entry, Kept, Version};
use fawn_kv::range::meta::Meta;
use fawn_kv::store::{CasNumbers, Gate, Lookup, Part, Place, Plain, RangeStore, RecoveredRange, Scan, Ticket, adopted};
use fawn_ring::{Interval, Key};

use crate::cluster::keys::SECRET;
use crate::cluster::processes::store::plain::{PlainWrite, written};
use crate::cluster::processes::store::read::FlashRead;

/// Keys in one part of a copy.
const SCAN: usize = 2;

/// One write.
#[derive(Clone, Debug)]
enum MemoryWrite {
    Join(ClusterId),
    /// What the plain store holds is a range.
    Adopt(ClusterId, RangeId),
    Create(RangeId, Interval),
    Append(RangeId, Entry),
    Truncate(RangeId, Position),
    Hold(RangeId, Attempt),
    Reset(RangeId),
    Install(RangeId, Vec<Kept>),
    InstallEnd(RangeId, Meta, Seq),
    /// What is committed up to here need not be in the log any more.
    Commit(RangeId, Position),
    /// Deleted versions up to here are forgotten.
    Forget(RangeId, Seq),
    Inherit(Vec<RangeId>, Vec<(RangeId, RecoveredRange)>),
    Drop(RangeId),
}

/// One range.
#[derive(Clone, Debug)]
struct RangeImage {
    /// The newest version of each key, by its position.
    kept: BTreeMap<(Key, Vec<u8>), Kept>,
    forgotten: Seq,
    recovered: RecoveredRange,
    entries: VecDeque<Entry>,
}

impl RangeImage {
    fn new(keys: Interval) -> Self {
        let recovered = RecoveredRange { keys, held: None, meta: Meta::default(), entries: Vec::new() };
        Self { kept: BTreeMap::new(), forgotten: Seq(0), recovered, entries: VecDeque::new() }
    }

    fn commit(&mut self, entry: &Entry) {
        let version = match &entry.change {
            Change::Delete => None,
            Change::Value(version) => Some(version.clone()),
            _ => return,
        };
        self.keep(Kept { key: entry.key.clone(), position: entry.position, version });
    }

    fn settle_to(&mut self, to: Position) {
        while let Some(entry) = self.entries.pop_front_if(|entry| entry.position <= to) {
            self.recovered.meta.commit(&entry);
            self.commit(&entry);
        }
    }

    /// All of the log is committed.
    fn settle(&mut self) {
        if let Some(last) = self.entries.back().map(|entry| entry.position) {
            self.settle_to(last);
        }
    }

    fn keep(&mut self, kept: Kept) {
        self.kept.insert((SECRET.position(&kept.key), kept.key.clone()), kept);
    }

    fn forget(&mut self, upto: Seq) {
        let gone = |kept: &Kept| kept.version.is_none() && kept.position.seq <= upto;
        self.kept.retain(|_, kept| !gone(kept));
        self.forgotten = self.forgotten.max(upto);
    }
}

/// All ranges of a store, after some of its writes.
#[derive(Clone, Debug, Default)]
struct Images {
    /// The cluster that they are of.
    cluster: Option<ClusterId>,
    ranges: BTreeMap<RangeId, RangeImage>,
    /// What is of no cluster: which store it is, and the range that it is to become.
    plain: Option<(Plain, RangeImage)>,
}

impl Images {
    fn at(&mut self, range: RangeId) -> &mut RangeImage {
        self.ranges.get_mut(&range).expect("a range is created before it is written to")
    }

    fn write(&mut self, write: &MemoryWrite) {
        match write {
            MemoryWrite::Join(cluster) => self.cluster = Some(*cluster),
            MemoryWrite::Adopt(cluster, range) => {
                self.cluster = Some(*cluster);
                self.ranges.extend(self.plain.take().map(|(_, image)| (*range, image)));
            }
            MemoryWrite::Create(range, keys) => {
                self.ranges.insert(*range, RangeImage::new(*keys));
            }
            MemoryWrite::Append(range, entry) => self.at(*range).entries.push_back(entry.clone()),
            MemoryWrite::Truncate(range, to) => {
                while self.at(*range).entries.pop_back_if(|entry| entry.position > *to).is_some() {}
            }
            MemoryWrite::Hold(range, attempt) => self.at(*range).recovered.held = Some(*attempt),
            MemoryWrite::Reset(range) => {
                let keys = self.at(*range).recovered.keys;
                self.ranges.insert(*range, RangeImage::new(keys));
            }
            MemoryWrite::Install(range, kept) => {
                let image = self.at(*range);
                image.settle();
                for kept in kept {
                    image.keep(kept.clone());
                }
            }
            MemoryWrite::InstallEnd(range, meta, forgotten) => {
                let image = self.at(*range);
                image.settle();
                image.recovered.meta = meta.clone();
                image.forgotten = image.forgotten.max(*forgotten);
            }
            MemoryWrite::Commit(range, to) => {
                self.at(*range).settle_to(*to);
            }
            MemoryWrite::Forget(range, upto) => self.at(*range).forget(*upto),
            MemoryWrite::Inherit(over, ranges) => self.inherit(over, ranges),
            MemoryWrite::Drop(range) => {
                self.ranges.remove(range);
            }
        }
    }

    fn inherit(&mut self, over: &[RangeId], ranges: &[(RangeId, RecoveredRange)]) {
        let over: Vec<RangeImage> = over.iter().filter_map(|range| self.ranges.remove(range)).collect();
        let forgotten = over.iter().map(|image| image.forgotten).max().unwrap_or_default();
        let entries = over.iter().flat_map(|image| &image.entries);
        let mut all: Vec<Kept> = over.iter().flat_map(|image| image.kept.values()).cloned().collect();
        // What is in the log is all committed: whoever is not sure has cut it off.
        let mut committed = RangeImage::new(Interval::ALL);
        entries.for_each(|entry| committed.commit(entry));
        all.extend(committed.kept.into_values());
        for (range, recovered) in ranges {
            let mut image = RangeImage { forgotten, ..RangeImage::new(recovered.keys) };
            for kept in all.iter().filter(|kept| recovered.keys.contains(&SECRET.position(&kept.key))) {
                image.keep(kept.clone());
            }
            image.recovered = recovered.clone();
            self.ranges.insert(*range, image);
        }
    }
}

/// The datastore of one simulated node.
#[derive(Debug)]
pub struct MemoryStore {
    /// What lookups see: only the keys.
    shown: Images,
    /// What a crash leaves, at least.
    base: Images,
    /// What is not durable yet, in order.
    unsynced: VecDeque<MemoryWrite>,
    durable: Gate,
    /// Lookups that wait for flash.
    pub waiting: Vec<(Ticket, Option<Kept>)>,
    /// Scans that wait for flash.
    pub scans: Vec<(Ticket, Part)>,
    full: bool,
    failed: bool,
    random: Random,
}

impl MemoryStore {
    /// An empty store, by a seed.
    pub fn empty(seed: u64) -> Self {
        Self::new(Random::new(seed))
    }

    /// An empty store.
    pub fn new(random: Random) -> Self {
        Self {
            shown: Images::default(),
            base: Images::default(),
            unsynced: VecDeque::new(),
            durable: Gate(0),
            waiting: Vec::new(),
            scans: Vec::new(),
            full: false,
            failed: false,
            random,
        }
    }

    /// A plain store after some writes, and what each of them was told as cas.
    pub fn of_plain(random: Random, plain: Plain, writes: &[PlainWrite]) -> (Self, Vec<u64>) {
        let cas = CasNumbers::of(plain.store, plain.stores);
        let (mut image, mut told, mut flushed, mut due) = (RangeImage::new(plain.keys), Vec::new(), 0, 0);
        for (write, seq) in writes.iter().zip(1..) {
            let position = Position { epoch: Epoch(0), seq: Seq(seq) };
            told.push(cas.told(seq));
            match *write {
                PlainWrite::Put { key, value, expiry } => {
                    let (key, value) = written(key, value);
                    let client_cas = cas.kept(0, seq, None);
                    let version = Version { value, flags: 0, expiry, stale: false, won: false, client_cas };
                    image.keep(Kept { key, position, version: Some(version) });
                }
                PlainWrite::Delete { key } => image.keep(Kept { key: written(key, 0).0, position, version: None }),
                PlainWrite::Flush { due: 0 } => (flushed, due) = (seq, 0),
                PlainWrite::Flush { due: at } => due = at,
            }
        }
        let end = cas.end(writes.len() as u64);
        image.recovered = adopted(plain.keys, end, flushed, due);
        image.forgotten = end.seq;
        let mut store = Self::new(random);
        store.shown.plain = Some((plain, image));
        store.base = store.shown.clone();
        (store, told)
    }

    /// What has been found since the last call.
    pub fn take_reads(&mut self) -> Vec<(Ticket, FlashRead)> {
        let keys = std::mem::take(&mut self.waiting).into_iter().map(|(ticket, kept)| (ticket, FlashRead::Key(kept)));
        let parts = std::mem::take(&mut self.scans).into_iter().map(|(ticket, part)| (ticket, FlashRead::Part(part)));
        keys.chain(parts).collect()
    }

    /// Time has passed.
    #[allow(clippy::unused_self)] // the other kind of store has work to do
    pub fn idle(&self) {}

    /// From here on it says that there is no room, or that there is.
    pub fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    /// From here on nothing becomes durable.
    pub fn fail(&mut self) {
        self.failed = true;
    }

    fn write(&mut self, write: MemoryWrite) -> Gate {
        self.unsynced.push_back(write);
        self.written()
    }

    /// Writes what lookups see at once.
    fn show(&mut self, write: MemoryWrite) -> Gate {
        self.shown.write(&write);
        self.write(write)
    }

    /// Keys that lookups see, deleted ones included, in all ranges.
    pub fn keys(&self) -> usize {
        self.shown.ranges.values().map(|image| image.kept.len()).sum()
    }

    /// What lookups see of a range.
    pub fn kept(&self, range: RangeId) -> impl Iterator<Item = &Kept> {
        self.shown.ranges.get(&range).into_iter().flat_map(|image| image.kept.values())
    }

    /// The gate of everything written so far.
    pub fn written(&self) -> Gate {
        Gate(self.durable.0 + self.unsynced.len() as u64)
    }

    /// A sync that began with `gate` is done.
    pub fn synced(&mut self, gate: Gate) {
        while self.durable < gate && !self.failed {
            let write = self.unsynced.pop_front().expect("a gate is written before it is durable");
            self.base.write(&write);
            self.durable.0 += 1;
        }
    }

    /// Loses what is not durable, but perhaps for the first of it; and says what is left.
    pub fn crash(mut self, random: Random) -> (Self, BTreeMap<RangeId, RecoveredRange>) {
        self.failed = false;
        let survives = self.random.below(self.unsynced.len() as u64 + 1);
        if self.random.chance(1, 2) {
            self.synced(Gate(self.durable.0 + survives));
        }
        let mut store = Self::new(random);
        let recovered = |image: &RangeImage| RecoveredRange {
            entries: image.entries.iter().cloned().collect(),
            ..image.recovered.clone()
        };
        let recovered = self.base.ranges.iter().map(|(range, image)| (*range, recovered(image))).collect();
        store.shown = self.base.clone();
        store.base = self.base;
        for image in store.shown.ranges.values_mut() {
            image.entries.clear();
        }
        (store, recovered)
    }
}

impl RangeStore for MemoryStore {
    fn cluster(&self) -> Option<ClusterId> {
        self.shown.cluster
    }

    fn join(&mut self, cluster: ClusterId) -> Gate {
        self.show(MemoryWrite::Join(cluster))
    }

    fn plain(&self) -> Option<Plain> {
        self.shown.plain.as_ref().map(|(plain, _)| *plain)
    }

    fn adopt(&mut self, cluster: ClusterId, range: RangeId) -> Option<RecoveredRange> {
        let (_, image) = self.shown.plain.as_ref()?;
        // As while a seal is under way.
        if self.random.chance(1, 2) {
            return None;
        }
        let adopted = image.recovered.clone();
        self.show(MemoryWrite::Adopt(cluster, range));
        Some(adopted)
    }

    fn create(&mut self, range: RangeId, keys: Interval) -> Gate {
        self.show(MemoryWrite::Create(range, keys))
    }

    fn append(&mut self, range: RangeId, entry: &Arc<Entry>) -> Gate {
        self.write(MemoryWrite::Append(range, (**entry).clone()))
    }

    fn truncate(&mut self, range: RangeId, to: Position) -> Gate {
        self.write(MemoryWrite::Truncate(range, to))
    }

    fn hold(&mut self, range: RangeId, attempt: Attempt) -> Gate {
        self.write(MemoryWrite::Hold(range, attempt))
    }

    fn reset(&mut self, range: RangeId) -> Gate {
        self.show(MemoryWrite::Reset(range))
    }

    fn install(&mut self, range: RangeId, kept: &[Kept]) -> Option<Gate> {
        Some(self.show(MemoryWrite::Install(range, kept.to_vec())))
    }

    fn install_end(&mut self, range: RangeId, meta: &Meta, forgotten: Seq) -> Gate {
        self.show(MemoryWrite::InstallEnd(range, meta.clone(), forgotten))
    }

    fn commit(&mut self, range: RangeId, entry: &Entry, _: &Key) {
        self.shown.at(range).commit(entry);
        // As when a segment is sealed.
        if self.random.chance(1, 8) {
            self.write(MemoryWrite::Commit(range, entry.position));
            // As when slices are merged.
            if self.random.chance(1, 8) {
                let upto = Seq(entry.position.seq.0.saturating_sub(self.random.below(20)));
                self.show(MemoryWrite::Forget(range, upto));
            }
        }
    }

    fn inherit(&mut self, over: &[RangeId], ranges: &[(RangeId, RecoveredRange)]) -> Gate {
        self.show(MemoryWrite::Inherit(over.to_vec(), ranges.to_vec()))
    }

    fn drop_range(&mut self, range: RangeId) -> Gate {
        self.show(MemoryWrite::Drop(range))
    }

    fn lookup(&mut self, range: RangeId, key: &[u8], ticket: Ticket) -> Lookup {
        let image = self.shown.ranges.get(&range);
        let kept = image.and_then(|image| image.kept.get(&(SECRET.position(key), key.to_vec()))).cloned();
        if self.random.chance(1, 3) {
            self.waiting.push((ticket, kept));
            return Lookup::Later;
        }
        Lookup::Known(kept)
    }

    fn scan(&mut self, range: RangeId, from: Option<Key>, since: Seq, _: Position, ticket: Ticket) -> Scan {
        let Some(image) = self.shown.ranges.get(&range) else { return Scan::Known(Part::default()) };
        let mut part = Part::default();
        let from = (from.unwrap_or(Key::MIN), Vec::new());
        for ((key, _), kept) in image.kept.range(from..).filter(|(_, kept)| kept.position.seq > since) {
            // All keys of one position are in one part.
            let is_new = part.kept.last().is_none_or(|last| SECRET.position(&last.key) != *key);
            if part.kept.len() >= SCAN && is_new {
                part.next = Some(*key);
                break;
            }
            part.kept.push(kept.clone());
        }
        if self.random.chance(1, 3) {
            self.scans.push((ticket, part));
            return Scan::Later;
        }
        Scan::Known(part)
    }

    fn longest_record(&self) -> usize {
        1 << 20
    }

    fn ready(&mut self) -> bool {
        true
    }

    fn is_logged(&self) -> bool {
        true
    }

    fn takes(&mut self, _: RangeId, _: Place) -> bool {
        true
    }

    fn is_full(&self) -> bool {
        self.full
    }

    fn has_failed(&self) -> bool {
        self.failed
    }

    fn forgotten(&self, range: RangeId) -> Seq {
        self.shown.ranges.get(&range).map_or(Seq(0), |image| image.forgotten)
    }

    fn durable(&self) -> Gate {
        self.durable
    }
}
