//! A node's datastore as production has it, on simulated flash: crashes tear what was not synced, recovery is the real
//! one, seals and merges go on beside requests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fawn_check::random::Random;
use fawn_kv::ids::{Attempt, ClusterId, Position, RangeId, Seq};
use fawn_kv::range::entry::{Entry, Kept};
use fawn_kv::range::meta::Meta;
use fawn_kv::store::{
    AdoptError, Answer, CasNumbers, FlashStore, Gate, Lookup, OpenedStore, Place, Plain, RangeStore, RecoveredRange,
    Scan, Ticket,
};
use fawn_ring::{Interval, Key};
use fawn_store::flash::{FileId, Flash};
use fawn_store::page::PageBuf;
use fawn_store::work::MaintenanceEvent;
use fawn_store::{Maintenance, Options, Refusal, Step, Store, Write as StoreWrite, WrittenBatch};

use crate::cluster::keys::SECRET;
use crate::cluster::processes::store::plain::{PlainWrite, written};
use crate::cluster::processes::store::read::FlashRead;
use crate::cluster::time::BEGIN_UNIX;
use crate::flash::{Fault, PowerCut, SimFlash};

/// Pieces of work after which what still waits is stuck for good.
const STUCK: u64 = 100_000;

/// Pieces of work after which what waits on a disk that is full, or has failed, goes on later.
const PATIENCE: u64 = 50;

/// The datastore of one simulated node, with the program around it.
pub struct FlashNode {
    store: FlashStore,
    maintenance: Maintenance,
    flash: SimFlash,
    /// It was made as one of a plain directory.
    was: Option<Plain>,
    events: VecDeque<MaintenanceEvent>,
    /// What lookups and scans have found that wait for flash: it is told later.
    found: Vec<(Ticket, FlashRead)>,
    /// Lookups and scans that nothing is found for yet.
    asked: u64,
    /// The device has no room.
    full: bool,
    calls: u64,
    random: Random,
}

impl FlashNode {
    /// An empty store.
    pub fn new(mut random: Random) -> Self {
        let flash = SimFlash::new(random.word());
        Self::open(flash, random, None).0
    }

    fn open(flash: SimFlash, random: Random, was: Option<Plain>) -> (Self, BTreeMap<RangeId, RecoveredRange>) {
        // Without taking from the numbers that follow: the same files serve both ways.
        let mut drawn = random.clone();
        let (drain, miss_filter) = (Some(drawn.chance(1, 2)), drawn.chance(1, 2));
        let options = Options { drain, miss_filter, ..options() };
        let opened = match was {
            None => FlashStore::open(options, &flash).map_err(AdoptError::from),
            Some(Plain { store, stores, keys }) => {
                FlashStore::open_plain(Options { index: store, count: stores, ..options }, &flash, keys)
            }
        };
        let OpenedStore { store, maintenance, ranges, .. } =
            opened.unwrap_or_else(|error| panic!("a store opens: {error}"));
        let (events, found) = (VecDeque::new(), Vec::new());
        (Self { store, maintenance, flash, was, events, found, asked: 0, full: false, calls: 0, random }, ranges)
    }

    /// A plain store after some writes, and what each of them was told as cas.
    pub fn of_plain(mut random: Random, plain: Plain, writes: &[PlainWrite]) -> (Self, Vec<u64>) {
        let flash = SimFlash::new(random.word());
        let Plain { store: index, stores: count, keys: interval } = plain;
        let options = Options { index, count, interval, ..options() };
        let opened = Store::open(options, &flash, BEFORE_UNIX);
        let (store, maintenance, _) = opened.unwrap_or_else(|error| panic!("a store is made: {error}"));
        let mut before = Before { store, maintenance, flash };
        let cas = CasNumbers::of(index, count);
        let told = writes.iter().map(|write| cas.told(before.write(write))).collect();
        if random.chance(1, 2) {
            // Some of it is in segments, then.
            let sealed = before.store.seal();
            assert!(sealed.is_ok(), "few segments wait: {sealed:?}");
        }
        before.rest();
        if random.chance(1, 2) {
            before.store.close();
            before.rest();
        }
        (Self::open(before.flash, random, Some(plain)).0, told)
    }

    /// The gate of everything written so far.
    pub fn written(&self) -> Gate {
        self.store.written()
    }

    /// A sync that began with `gate` is done.
    pub fn synced(&mut self, gate: Gate) {
        self.run_until(|node| node.store.durable() >= gate);
    }

    /// What has been found since the last call.
    pub fn take_reads(&mut self) -> Vec<(Ticket, FlashRead)> {
        if self.asked > 0 {
            self.work();
        }
        std::mem::take(&mut self.found)
    }

    /// Time has passed: what was put off for want of room is tried again.
    pub fn idle(&mut self) {
        if self.store.is_full() || !self.store.is_logged() {
            self.store.tick();
            for _ in 0..4 {
                self.write_batch();
                self.work();
            }
        }
    }

    /// From here on the device has no room for more than is on it, or as much as it ever had.
    pub fn set_full(&mut self, full: bool) {
        if full != self.full {
            self.flash.set_capacity(if full { self.flash.used_bytes() } else { u64::MAX });
            self.full = full;
        }
    }

    /// The next write fails: the store writes nothing after that.
    pub fn fail(&mut self) {
        self.flash.inject(Fault::Write { nth: 0 });
        self.write_batch();
    }

    /// Loses what is not durable, but perhaps for some of it; and says what is left.
    pub fn crash(mut self, mut random: Random) -> (Self, BTreeMap<RangeId, RecoveredRange>) {
        self.flash.clear_faults();
        if !self.store.has_failed()
            && self.random.chance(1, 2)
            && let Some(batch) = self.store.take_batch(0)
        {
            // It fails only when the device has.
            let written = self.flash.write(FileId::CommitLog, batch.first, batch.pages.pages());
            assert_eq!(written, Ok(()), "a write before a crash works");
        }
        let cut = *random.pick(&[PowerCut::Lost, PowerCut::Kept, PowerCut::Torn]);
        self.flash.power_cut(cut, random.word());
        let (mut node, ranges) = Self::open(self.flash, random, self.was);
        node.full = self.full;
        (node, ranges)
    }

    /// Goes on with batches, work, events and reads until `done`; on a disk that is full, or has failed, for a while.
    fn run_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        let is_sound = !self.full && !self.store.has_failed();
        for _ in 0..if is_sound { STUCK } else { PATIENCE } {
            if done(self) {
                return;
            }
            self.write_batch();
            self.work();
        }
        assert!(!is_sound || self.store.has_failed(), "waited for what never happens: {:?}", self.store.stopped());
    }

    fn write_batch(&mut self) {
        if let Some(batch) = self.store.take_batch(0) {
            let result = self.flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
            self.store.committed(WrittenBatch { batch, result });
        }
    }

    /// One piece of the work beside requests.
    fn work(&mut self) {
        if let Some(work) = self.store.take_work() {
            self.maintenance.submit(work);
        }
        if let Step::Event(event) = self.maintenance.step(&self.flash) {
            self.events.push_back(event);
        }
        if let Some(event) = self.events.pop_front() {
            self.store.handle(event);
        }
        self.store.step(64);
        while let Some(fetch) = self.store.take_fetch() {
            let mut pages = PageBuf::zeroed(fetch.read.count as usize);
            let read = self.flash.read(fetch.read.file, fetch.read.first, pages.pages_mut());
            self.store.fetched(fetch, read.map(|()| pages.pages_mut().as_mut_slice()));
        }
        while let Some((ticket, answer)) = self.store.take_answer() {
            self.asked -= 1;
            let read = match answer {
                Answer::Version(kept) => FlashRead::Key(kept),
                Answer::Part(part) => FlashRead::Part(part),
                Answer::Failed(_) => FlashRead::Failed,
                Answer::Refused(_) => FlashRead::Refused,
            };
            self.found.push((ticket, read));
        }
    }

    /// After a call: the work goes on, sometimes.
    fn go_on(&mut self) {
        self.calls += 1;
        if self.calls.is_multiple_of(1000) {
            self.store.tick();
        }
        for _ in 0..self.random.below(4) {
            self.work();
        }
    }

    /// Goes on until what waits for flash is found.
    fn wait(&mut self) {
        self.asked += 1;
        self.run_until(|node| node.asked == 0);
    }
}

/// Small, so that everything happens in the seconds that are simulated.
fn options() -> Options {
    Options {
        segment_bytes: 16 << 10,
        log_pages: 48,
        slices: 4,
        slice_bytes: 24 << 10,
        ..Options::new(SECRET, 4 << 20)
    }
}

/// When a plain store was written to.
const BEFORE_UNIX: u32 = BEGIN_UNIX - 1000;

/// A plain store, before any node is started on it.
struct Before {
    store: Store,
    maintenance: Maintenance,
    flash: SimFlash,
}

impl Before {
    /// Carries a write out; its number.
    fn write(&mut self, write: &PlainWrite) -> u64 {
        loop {
            let tried = match *write {
                PlainWrite::Put { key, value, expiry } => {
                    let (key, value) = written(key, value);
                    let write = StoreWrite { expiry, ..StoreWrite::value(&key, &value) };
                    self.store.append(&SECRET.position(&key), write, BEFORE_UNIX).map(|appended| appended.seq)
                }
                PlainWrite::Delete { key } => {
                    let key = written(key, 0).0;
                    let write = StoreWrite::delete(&key);
                    self.store.append(&SECRET.position(&key), write, BEFORE_UNIX).map(|appended| appended.seq)
                }
                PlainWrite::Flush { due } => {
                    self.store.flush_all(due, BEFORE_UNIX).map(|_| self.store.ranges().highest_seq())
                }
            };
            match tried {
                Ok(seq) => return seq,
                Err(refusal) => assert_eq!(refusal, Refusal::Busy, "a small store takes what it is given"),
            }
            self.rest();
        }
    }

    /// Goes on until there is nothing to do.
    fn rest(&mut self) {
        loop {
            if let Some(batch) = self.store.take_batch(0) {
                let result = self.flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
                self.store.committed(WrittenBatch { batch, result });
            }
            while let Some(work) = self.store.take_work() {
                self.maintenance.submit(work);
            }
            match self.maintenance.step(&self.flash) {
                Step::Event(event) => {
                    self.store.handle(event);
                    while self.store.step(usize::MAX) {}
                }
                Step::More => {}
                Step::Idle | Step::Stalled => return,
            }
        }
    }
}

impl RangeStore for FlashNode {
    fn cluster(&self) -> Option<ClusterId> {
        self.store.cluster()
    }

    fn join(&mut self, cluster: ClusterId) -> Gate {
        self.store.join(cluster)
    }

    fn plain(&self) -> Option<Plain> {
        RangeStore::plain(&self.store)
    }

    fn adopt(&mut self, cluster: ClusterId, range: RangeId) -> Option<RecoveredRange> {
        self.store.adopt(cluster, range)
    }

    fn create(&mut self, range: RangeId, keys: Interval) -> Gate {
        self.store.create(range, keys)
    }

    fn append(&mut self, range: RangeId, entry: &Arc<Entry>) -> Gate {
        let gate = self.store.append(range, entry);
        self.go_on();
        gate
    }

    fn truncate(&mut self, range: RangeId, to: Position) -> Gate {
        self.store.truncate(range, to)
    }

    fn hold(&mut self, range: RangeId, attempt: Attempt) -> Gate {
        self.store.hold(range, attempt)
    }

    fn reset(&mut self, range: RangeId) -> Gate {
        self.store.reset(range)
    }

    fn install(&mut self, range: RangeId, kept: &[Kept]) -> Option<Gate> {
        let gate = self.store.install(range, kept);
        self.go_on();
        gate
    }

    fn install_end(&mut self, range: RangeId, meta: &Meta, forgotten: Seq) -> Gate {
        self.store.install_end(range, meta, forgotten)
    }

    fn commit(&mut self, range: RangeId, entry: &Entry, lies: &Key) {
        self.store.commit(range, entry, lies);
        self.go_on();
    }

    fn inherit(&mut self, over: &[RangeId], ranges: &[(RangeId, RecoveredRange)]) -> Gate {
        self.store.inherit(over, ranges)
    }

    fn drop_range(&mut self, range: RangeId) -> Gate {
        self.store.drop_range(range)
    }

    fn lookup(&mut self, range: RangeId, key: &[u8], ticket: Ticket) -> Lookup {
        let found = self.store.lookup(range, key, ticket);
        if found == Lookup::Later {
            self.wait();
        }
        found
    }

    fn scan(&mut self, range: RangeId, from: Option<Key>, since: Seq, least: Position, ticket: Ticket) -> Scan {
        let found = self.store.scan(range, from, since, least, ticket);
        if found == Scan::Later {
            self.wait();
        }
        found
    }

    fn longest_record(&self) -> usize {
        self.store.longest_record()
    }

    fn ready(&mut self) -> bool {
        // Whoever waits for that asks again and again.
        self.go_on();
        self.store.ready()
    }

    fn is_logged(&self) -> bool {
        self.store.is_logged()
    }

    fn takes(&mut self, range: RangeId, place: Place) -> bool {
        // Now and then as if records took more than they do.
        self.store.takes(range, place) && (place == Place::Silent || !self.random.chance(1, 50))
    }

    fn is_full(&self) -> bool {
        self.store.is_full()
    }

    fn has_failed(&self) -> bool {
        self.store.has_failed()
    }

    fn forgotten(&self, range: RangeId) -> Seq {
        self.store.forgotten(range)
    }

    fn durable(&self) -> Gate {
        self.store.durable()
    }
}

#[cfg(test)]
mod tests;
