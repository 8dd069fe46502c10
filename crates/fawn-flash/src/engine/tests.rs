use fawn_ring::Secret;
use fawn_store::{Ack, Gate, Lookup, Refusal, Write};
use rustix::event::epoll;

use super::*;
use crate::{Caching, ReadPath, Reader, ReaderOptions};

fn options(ack: Ack) -> Options {
    Options { ack, segment_bytes: 64 << 10, ..Options::new(Secret([3; 32]), 8 << 20) }
}

fn open(directory: &std::path::Path, ack: Ack) -> (Engine, Opening) {
    let files = Arc::new(Files::open(directory, Caching::Auto).unwrap());
    Engine::open(files, options(ack), clock::unix()).unwrap()
}

/// An event loop with nothing but an engine and a reader.
struct Loop {
    engine: Engine,
    reader: Reader,
    poll: std::os::fd::OwnedFd,
    wakes: u64,
}

impl Loop {
    fn new(engine: Engine) -> Self {
        let options = ReaderOptions { path: ReadPath::Auto, depth: 16, ..ReaderOptions::default() };
        let reader = Reader::new(Arc::clone(engine.files()), options).unwrap();
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poll, &engine, epoll::EventData::new_u64(1), flags).unwrap();
        epoll::add(&poll, &reader, epoll::EventData::new_u64(2), flags).unwrap();
        Self { engine, reader, poll, wakes: 0 }
    }

    /// Waits for something to happen and takes it in.
    fn turn(&mut self) -> PollOutcome {
        let now_ms = clock::monotonic_ms();
        let polled = self.engine.poll(clock::unix(), now_ms);
        if polled != PollOutcome::default() {
            return polled;
        }
        let ms = self.engine.timeout_ms(now_ms).min(5000);
        let wait = rustix::time::Timespec {
            tv_sec: (ms / 1000).cast_signed(),
            tv_nsec: (ms % 1000 * 1_000_000).cast_signed(),
        };
        let mut events = Vec::with_capacity(4);
        let _ = epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), Some(&wait));
        self.wakes += 1;
        self.engine.poll(clock::unix(), clock::monotonic_ms())
    }

    fn put(&mut self, name: &[u8], value: &[u8]) -> Gate {
        let key = self.engine.store().options().secret.position(name);
        loop {
            match self.engine.store().append(&key, Write::value(name, value), clock::unix()) {
                Ok(appended) => return appended.gate,
                Err(Refusal::Busy) => drop(self.turn()),
                Err(refusal) => panic!("{refusal}"),
            }
        }
    }

    fn wait_for(&mut self, gate: Gate) {
        while self.engine.store().durable() < gate {
            self.turn();
        }
    }

    fn get(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        let key = self.engine.store().options().secret.position(name);
        let mut read = loop {
            match self.engine.store().lookup(&key, name, clock::unix()) {
                Lookup::Found { record, .. } => return Some(record.value.to_vec()),
                Lookup::Absent { .. } => return None,
                Lookup::Read(read) => break read,
                Lookup::Loading => drop(self.turn()),
                Lookup::Damaged(damage) => panic!("{damage}"),
            }
        };
        loop {
            self.reader.push(9, read.file, read.first, read.count);
            self.reader.submit().unwrap();
            let mut pages = None;
            while pages.is_none() {
                let _ = self.turn();
                self.reader.complete(|_, result| pages = Some(result.unwrap().to_vec())).unwrap();
            }
            let mut pages = pages.unwrap();
            match self.engine.store().finish(read, &mut pages, &key, name, clock::unix()) {
                fawn_store::FinishedRead::Found(record) => return Some(record.value.to_vec()),
                fawn_store::FinishedRead::Absent { .. } => return None,
                fawn_store::FinishedRead::Read(next) => read = next,
                fawn_store::FinishedRead::Damaged(damage) => panic!("{damage}"),
            }
        }
    }
}

#[test]
fn an_event_loop_puts_seals_reads_and_opens_again() {
    let directory = tempfile::tempdir().unwrap();
    for (round, ack) in [Ack::Durable, Ack::Interval { ms: 3 }, Ack::Memory].into_iter().enumerate() {
        let (engine, opening) = open(directory.path(), ack);
        assert_eq!((opening.created, opening.clean), (round == 0, true));
        let mut turns = Loop::new(engine);
        for number in 0..2000u32 {
            let gate = turns.put(&number.to_le_bytes(), &[round as u8; 150]);
            if number.is_multiple_of(100) {
                turns.wait_for(gate);
            }
        }
        for number in 0..2000u32 {
            assert_eq!(turns.get(&number.to_le_bytes()), Some(vec![round as u8; 150]), "{number}, {ack:?}");
        }
        assert_eq!(turns.get(b"absent"), None);
        if ack == Ack::Memory {
            turns.engine.store().seal().unwrap();
            turns.turn();
        }
        assert!(turns.engine.store().stats().maintenance.seals > 2);
        turns.engine.close().unwrap();
    }
}

#[test]
fn an_engine_that_is_dropped_keeps_what_it_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let mut turns = Loop::new(open(directory.path(), Ack::Durable).0);
    let gate = (0..100u32).map(|number| turns.put(&number.to_le_bytes(), b"value")).last().unwrap();
    turns.wait_for(gate);
    drop(turns);
    let (engine, opening) = open(directory.path(), Ack::Durable);
    assert!(!opening.clean && opening.replayed >= 100);
    let mut turns = Loop::new(engine);
    for number in 0..100u32 {
        assert_eq!(turns.get(&number.to_le_bytes()), Some(b"value".to_vec()));
    }
}

#[test]
fn a_batch_costs_the_event_loop_one_wake_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut turns = Loop::new(open(directory.path(), Ack::Durable).0);
    let gate = turns.put(b"first", b"value");
    turns.wait_for(gate);
    let (wakes, batches) = (turns.wakes, turns.engine.store().stats().log.batches);
    for number in 0..100u32 {
        let gate = turns.put(&number.to_le_bytes(), b"value");
        turns.wait_for(gate);
    }
    assert_eq!(turns.engine.store().stats().log.batches - batches, 100);
    let wakes = turns.wakes - wakes;
    // The second's tick may add some.
    assert!(wakes <= 110, "{wakes} wake-ups for 100 batches");
}

#[test]
fn an_interval_batch_leaves_in_time_though_nobody_asks() {
    let directory = tempfile::tempdir().unwrap();
    let mut turns = Loop::new(open(directory.path(), Ack::Interval { ms: 10 }).0);
    turns.put(b"key", b"value");
    while turns.engine.store().stats().log.batches == 0 || !turns.engine.store().is_idle() {
        let before = turns.wakes;
        turns.turn();
        assert!(turns.wakes < before + 100);
    }
    turns.engine.close().unwrap();
}

#[test]
fn a_device_that_fails_stops_the_store_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let mut turns = Loop::new(open(directory.path(), Ack::Durable).0);
    // The log's file is replaced by something that cannot be written.
    std::fs::remove_file(directory.path().join("commit-log")).unwrap();
    std::fs::create_dir(directory.path().join("commit-log")).unwrap();
    turns.engine.files().close_for_good(fawn_store::flash::FileId::CommitLog);
    turns.put(b"key", b"value");
    while turns.engine.store().stopped().is_none() {
        turns.turn();
    }
    let why = turns.engine.store().stopped().unwrap().to_owned();
    assert!(why.contains("commit log") && why.contains("Is a directory"), "{why}");
    assert!(turns.engine.close().unwrap_err().to_string().contains("commit log"));
}

#[test]
fn a_get_from_flash_allocates_nothing_but_what_the_cache_keeps() {
    /// The first half is sealed, whatever of the rest is.
    const KEYS: u32 = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let mut turns = Loop::new(open(directory.path(), Ack::Memory).0);
    for number in 0..KEYS {
        turns.put(&number.to_le_bytes(), &[7; 150]);
    }
    let (store, reader) = (turns.engine.store(), &mut turns.reader);
    let secret = store.options().secret;
    let mut get = |number: u32| {
        let name = number.to_le_bytes();
        let key = secret.position(&name);
        let lookup = store.lookup(&key, &name, clock::unix());
        let Lookup::Read(read) = lookup else { panic!("{lookup:?}") };
        reader.push(9, read.file, read.first, read.count);
        reader.wait(1).unwrap();
        let mut read = Some(read);
        let done = reader.complete(|_, pages| {
            let finished = store.finish(read.take().unwrap(), pages.unwrap(), &key, &name, clock::unix());
            let fawn_store::FinishedRead::Found(record) = finished else { panic!("{finished:?}") };
            assert_eq!(record.value, [7; 150]);
        });
        assert_eq!(done.unwrap(), 1);
    };
    // Files are opened, the cache fills up.
    (0..KEYS / 4).for_each(&mut get);
    let taken = allocation_counter::measure(|| (KEYS / 4..KEYS / 2).for_each(&mut get)).count_total;
    // One for the record, and the cache's own tables, seldom.
    assert!(taken <= u64::from(KEYS / 4) * 21 / 20, "{taken} allocations for {} gets", KEYS / 4);
}
