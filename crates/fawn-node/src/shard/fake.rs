//! Stores in memory for tests, which can be told to be cold, busy, loading, slow to commit or broken.

use crate::observe::samples::StoreSample;
use crate::request::TaskTicket;
use crate::runtime::clock::Now;
use crate::shard::stores::{
    Gates, LookupOutcome, LoopStats, ReadCallback, ReadExtent, ReadOutcome, Reads, StoreEvent, Stores, Turn,
};
use fawn_ring::Key;
use fawn_store::flash::{FileId, FlashError, Space};
use fawn_store::large::Stub;
use fawn_store::page::{Page, PageBuf};
use fawn_store::record::{Kind, Record};
use fawn_store::work::ScanPart;
use fawn_store::{AppendReceipt, Gate, Refusal, Write};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the tests of a node turn while it runs; one for all its stores.
#[derive(Debug, Default)]
pub struct Knobs {
    /// Lookups of keys that begin with `cold` need a read, of keys that begin with `twice` two.
    pub cold: AtomicBool,
    /// Reads do not come back.
    pub reads_held: AtomicBool,
    /// Reads of keys that end with `bad` fail.
    pub bad: AtomicBool,
    /// Reads come back no more.
    pub reads_fail: AtomicBool,
    /// Appends are refused as busy.
    pub busy: AtomicBool,
    /// Flushes are refused as busy.
    pub flush_busy: AtomicBool,
    /// Every turn says that what was refused may be tried again.
    pub nag: AtomicBool,
    /// Appends that were refused as busy.
    pub refused: AtomicU64,
    /// Values from this size on have files of their own, unless it is 0.
    pub large_from: AtomicU64,
    /// Large values are not written.
    pub values_held: AtomicBool,
    /// Files of large values are not there when they are read.
    pub values_gone: AtomicBool,
    /// Every store stops.
    pub stop: AtomicBool,
    /// The values that have files of their own.
    values: Mutex<HashMap<u64, Vec<u8>>>,
    /// Lookups find their index loading.
    pub loading: AtomicBool,
    /// Appends need a commit, and none is made while `commits_held`.
    pub durable: AtomicBool,
    /// See `durable`.
    pub commits_held: AtomicBool,
    /// The next commit fails.
    pub fail_commit: AtomicBool,
    /// Appends are refused for want of memory (1), space (2).
    pub refuse: AtomicU64,
    /// Reads submitted, and calls to submit.
    pub reads: AtomicU64,
    /// See `reads`.
    pub submits: AtomicU64,
    /// Appends that are committed.
    pub committed: AtomicU64,
    /// Stores that were stopped cleanly.
    pub stopped: AtomicU64,
    /// Turns last for as long as this is so.
    pub stuck: AtomicBool,
    /// Most keys that were warmed together.
    pub warmed: AtomicU64,
    /// The loops' eventfds, written when a knob was turned.
    bells: Mutex<Vec<OwnedFd>>,
}

impl Knobs {
    /// Sets a knob and makes all loops look.
    pub fn set(&self, knob: impl Fn(&Self) -> &AtomicBool, value: bool) {
        knob(self).store(value, Ordering::SeqCst);
        self.ring();
    }

    pub fn ring(&self) {
        for bell in self.bells.lock().unwrap().iter() {
            rustix::io::write(bell, &1_u64.to_ne_bytes()).unwrap();
        }
    }

    fn is(&self, knob: impl Fn(&Self) -> &AtomicBool) -> bool {
        knob(self).load(Ordering::SeqCst)
    }
}

fn bell(knobs: &Knobs) -> OwnedFd {
    let bell = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
    knobs.bells.lock().unwrap().push(bell.try_clone().unwrap());
    bell
}

/// One loop's stores.
#[derive(Debug)]
pub struct Fake {
    stores: Vec<One>,
    knobs: Arc<Knobs>,
    bell: OwnedFd,
    /// Something was refused and is parked.
    refused: bool,
    /// Large values to be written.
    values: Vec<(TaskTicket, Vec<u8>)>,
    news: Vec<StoreEvent>,
}

#[derive(Debug, Default)]
struct One {
    /// Each key's newest record and its sequence number; `None` is deleted.
    items: HashMap<Vec<u8>, (u64, Vec<u8>)>,
    seq: u64,
    durable: u64,
    /// Records up to this one are flushed.
    flushed: u64,
    failed: bool,
}

/// A lookup under way.
#[derive(Debug)]
pub struct FakeRead {
    left: u32,
    name: Vec<u8>,
    /// What the pages held when the lookup was made.
    found: Option<Vec<u8>>,
}

/// The reads of one loop.
#[derive(Debug)]
pub struct FakeReads {
    queued: VecDeque<(TaskTicket, ReadExtent)>,
    under_way: VecDeque<(TaskTicket, ReadExtent)>,
    knobs: Arc<Knobs>,
    bell: OwnedFd,
}

impl Fake {
    /// `count` empty stores.
    pub fn new(count: usize, knobs: &Arc<Knobs>) -> (Self, FakeReads) {
        let stores = (0..count).map(|_| One::default()).collect();
        let reads = FakeReads {
            queued: VecDeque::new(),
            under_way: VecDeque::new(),
            knobs: Arc::clone(knobs),
            bell: bell(knobs),
        };
        let (knobs, bell) = (Arc::clone(knobs), bell(knobs));
        (Self { stores, knobs, bell, refused: false, values: Vec::new(), news: Vec::new() }, reads)
    }

    fn gate(&self, seq: u64) -> Gate {
        if self.knobs.is(|knobs| &knobs.durable) { Gate(seq) } else { Gate::NONE }
    }
}

impl One {
    fn find(&self, name: &[u8], now: Now) -> Option<(u64, Record<'_>)> {
        let (seq, bytes) = self.items.get(name)?;
        let (record, _) = Record::decode(bytes).unwrap();
        (record.kind != Kind::Delete && !record.is_expired(now.unix)).then_some((*seq, record))
    }
}

impl Gates for Fake {
    fn durable(&self, store: usize) -> Gate {
        Gate(self.stores[store].durable)
    }
}

impl Stores for Fake {
    type Read = FakeRead;
    type Reads = FakeReads;

    fn count(&self) -> usize {
        self.stores.len()
    }

    fn prefetch(&self, store: usize, keys: &[Key]) {
        assert!(store < self.stores.len() && keys.len() <= crate::net::prefetch::PREFETCHED_KEYS);
        self.knobs.warmed.fetch_max(keys.len() as u64, Ordering::SeqCst);
    }

    fn lookup(&mut self, store: usize, _: &Key, name: &[u8], now: Now) -> LookupOutcome<'_, FakeRead> {
        if self.knobs.is(|knobs| &knobs.loading) {
            self.refused = true;
            return LookupOutcome::Loading;
        }
        if self.knobs.is(|knobs| &knobs.cold) && (name.starts_with(b"cold") || name.starts_with(b"twice")) {
            let found = self.stores[store].find(name, now).map(|(_, record)| {
                let mut bytes = Vec::new();
                record.encode(&mut bytes);
                bytes
            });
            let left = 1 + u32::from(name.starts_with(b"twice"));
            return LookupOutcome::Read(FakeRead { left, name: name.to_vec(), found });
        }
        let seq = self.stores[store].items.get(name).map_or(0, |(seq, _)| *seq);
        let gate = self.gate(seq);
        match self.stores[store].find(name, now) {
            Some((_, record)) => LookupOutcome::Found(record, gate),
            None => LookupOutcome::Absent(gate),
        }
    }

    fn extent(read: &FakeRead) -> ReadExtent {
        assert!(read.left > 0);
        ReadExtent { file: FileId::Segment(1), first: 0, count: 1 }
    }

    fn finish<'p>(
        &mut self,
        store: usize,
        read: FakeRead,
        pages: &'p mut [Page],
        _: &Key,
        name: &[u8],
        _: Now,
    ) -> ReadOutcome<'p, FakeRead> {
        assert_eq!(read.name, name);
        if read.left > 1 {
            return ReadOutcome::Read(FakeRead { left: read.left - 1, ..read });
        }
        if self.knobs.is(|knobs| &knobs.bad) && name.ends_with(b"bad") {
            return ReadOutcome::Failed("told to fail".into());
        }
        let Some(bytes) = read.found else { return ReadOutcome::Absent(Gate::NONE) };
        let page = &mut pages[0].0;
        page[..bytes.len()].copy_from_slice(&bytes);
        let record = Record::decode(page).unwrap().0;
        if record.seq <= self.stores[store].flushed {
            return ReadOutcome::Absent(Gate::NONE);
        }
        ReadOutcome::Found(record)
    }

    fn abandon(&mut self, _: usize, _: FakeRead) {}

    fn append(&mut self, store: usize, _: &Key, write: Write<'_>, _: Now) -> Result<AppendReceipt, Refusal> {
        match self.knobs.refuse.load(Ordering::SeqCst) {
            1 => return Err(Refusal::OutOfMemory),
            2 => return Err(Refusal::NoSpace),
            _ => {}
        }
        if self.stores[store].failed {
            return Err(Refusal::Stopped("told to fail".into()));
        }
        let large_from = self.knobs.large_from.load(Ordering::SeqCst);
        if write.kind == Kind::Value && large_from > 0 && write.value.len() as u64 >= large_from {
            return Err(Refusal::TooLarge);
        }
        if self.knobs.is(|knobs| &knobs.busy) {
            self.refused = true;
            self.knobs.refused.fetch_add(1, Ordering::SeqCst);
            return Err(Refusal::Busy);
        }
        let one = &mut self.stores[store];
        one.seq += 1;
        let record = Record {
            kind: write.kind,
            marks: write.marks,
            epoch: 0,
            seq: one.seq,
            client_flags: write.client_flags,
            expiry: write.expiry,
            client_cas: write.client_cas,
            key: write.key,
            value: write.value,
        };
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        one.items.insert(write.key.to_vec(), (one.seq, bytes));
        let seq = one.seq;
        Ok(AppendReceipt { seq, gate: self.gate(seq) })
    }

    fn flush_all(&mut self, store: usize, at_unix: u32, _: Now) -> Result<Gate, Refusal> {
        assert_eq!(at_unix, 0, "the fake flushes at once");
        if self.stores[store].failed {
            return Err(Refusal::Stopped("told to fail".into()));
        }
        if self.knobs.is(|knobs| &knobs.flush_busy) {
            self.refused = true;
            return Err(Refusal::Busy);
        }
        let one = &mut self.stores[store];
        one.items.clear();
        one.flushed = one.seq;
        one.seq += 1;
        let seq = one.seq;
        Ok(self.gate(seq))
    }

    fn write_value(&mut self, _: usize, ticket: TaskTicket, value: Vec<u8>) {
        self.values.push((ticket, value));
    }

    fn drop_value(&mut self, _: usize, _: &Stub) {}

    fn scan(&mut self, _: usize, ticket: TaskTicket, _: Key, _: bool, _: Now) {
        let scanned = ScanPart {
            id: 0,
            records: Vec::new(),
            next: None,
            lost: None,
            error: Some("the fake scans nothing".into()),
        };
        self.news.push(StoreEvent::Scanned { ticket, scanned });
    }

    fn wants_turn(&self) -> bool {
        !self.news.is_empty() || (!self.values.is_empty() && !self.knobs.is(|knobs| &knobs.values_held))
    }

    fn turn(&mut self, _: Now) -> Turn {
        while self.knobs.is(|knobs| &knobs.stuck) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if !self.knobs.is(|knobs| &knobs.values_held) {
            for (ticket, value) in self.values.drain(..) {
                let mut values = self.knobs.values.lock().unwrap();
                let stub = Stub::of(values.len() as u64, &value);
                values.insert(stub.file, value);
                self.news.push(StoreEvent::Written { ticket, result: Ok(stub) });
            }
        }
        let mut turn = Turn { news: std::mem::take(&mut self.news), ..Turn::default() };
        let held = self.knobs.is(|knobs| &knobs.commits_held);
        let stop = self.knobs.is(|knobs| &knobs.stop);
        for (number, one) in self.stores.iter_mut().enumerate() {
            if stop && !std::mem::replace(&mut one.failed, true) {
                turn.stopped.push((number, "told to stop".into()));
            }
            if one.durable == one.seq || held || one.failed {
                continue;
            }
            if self.knobs.is(|knobs| &knobs.fail_commit) {
                one.failed = true;
                turn.stopped.push((number, "told to fail".into()));
                continue;
            }
            self.knobs.committed.fetch_add(one.seq - one.durable, Ordering::SeqCst);
            one.durable = one.seq;
            turn.more = true;
        }
        // Retries come with the next event, as in a real store.
        let knobs = &self.knobs;
        let refuses = [&knobs.busy, &knobs.flush_busy, &knobs.loading];
        if !refuses.iter().any(|knob| knob.load(Ordering::SeqCst)) {
            turn.retry = std::mem::take(&mut self.refused);
        }
        turn.retry |= self.knobs.is(|knobs| &knobs.nag);
        turn
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.bell.as_fd()]
    }

    fn samples(&self) -> Vec<StoreSample> {
        Vec::new()
    }

    fn space(&self) -> Option<Space> {
        None
    }

    fn stats(&self, _: Now) -> LoopStats {
        let live = self.stores.iter().map(|one| one.items.len() as u64).sum();
        LoopStats { numbers: vec![("fawn_entries".into(), live)], texts: Vec::new() }
    }

    fn stop(self) -> Result<(), String> {
        self.knobs.stopped.fetch_add(self.stores.len() as u64, Ordering::SeqCst);
        Ok(())
    }
}

impl Reads for FakeReads {
    fn push(&mut self, _: usize, ticket: TaskTicket, extent: ReadExtent) {
        self.queued.push_back((ticket, extent));
    }

    fn submit(&mut self) -> Result<(), String> {
        if self.queued.is_empty() {
            return Ok(());
        }
        self.knobs.reads.fetch_add(self.queued.len() as u64, Ordering::SeqCst);
        // Turns without a read submit as well, and how many there are depends on time.
        self.knobs.submits.fetch_add(u64::from(!self.queued.is_empty()), Ordering::SeqCst);
        self.under_way.append(&mut self.queued);
        rustix::io::write(&self.bell, &1_u64.to_ne_bytes()).unwrap();
        Ok(())
    }

    fn complete(&mut self, done: ReadCallback<'_>) -> Result<(), String> {
        if self.knobs.is(|knobs| &knobs.reads_held) {
            return Ok(());
        }
        if self.knobs.is(|knobs| &knobs.reads_fail) {
            return Err("told to fail".into());
        }
        // Newest first: no order may be relied on.
        while let Some((ticket, extent)) = self.under_way.pop_back() {
            let gone = self.knobs.is(|knobs| &knobs.values_gone);
            let mut pages = match extent.file {
                file @ FileId::Value(_) if gone => {
                    done(ticket, Err(FlashError::NotFound(file)));
                    continue;
                }
                FileId::Value(file) => Stub::lay_out(&self.knobs.values.lock().unwrap()[&file]),
                _ => PageBuf::zeroed(1),
            };
            done(ticket, Ok(pages.pages_mut()));
        }
        Ok(())
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.bell.as_fd()]
    }
}
