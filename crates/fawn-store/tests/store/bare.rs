//! A store and nothing else.

use fawn_sim::flash::SimFlash;
use fawn_store::flash::{FileId, Flash};
use fawn_store::page::PageBuf;
use fawn_store::{FinishedRead, Lookup, Maintenance, Options, Refusal, Step, Store, Write};

pub const NOW: u32 = 1_000_000_000;

/// A segment's file and a page of it.
type Place = (FileId, u64);

/// No oracle remembers what was put, so that puts may be without number.
pub struct Bare {
    pub flash: SimFlash,
    pub store: Store,
    maintenance: Maintenance,
    clock_ms: u64,
}

impl Bare {
    pub fn new(options: Options) -> Self {
        Self::on(SimFlash::new(1), options)
    }

    pub fn on(flash: SimFlash, options: Options) -> Self {
        let (store, maintenance, _) = Store::open(options, &flash, NOW).unwrap();
        Self { flash, store, maintenance, clock_ms: 0 }
    }

    pub fn put(&mut self, name: &[u8], value: &[u8]) {
        self.write(Write::value(name, value));
    }

    pub fn delete(&mut self, name: &[u8]) {
        self.write(Write::delete(name));
    }

    fn write(&mut self, write: Write<'_>) {
        let key = self.store.options().secret.position(write.key);
        loop {
            match self.store.append(&key, write, NOW) {
                Ok(_) => return,
                Err(Refusal::Busy) => {
                    let idle = !self.pump();
                    assert!(!idle, "busy, with nothing under way that would change that: {:?}", self.store.stats());
                }
                Err(refusal) => panic!("{refusal}: {:?}", self.store.stats()),
            }
        }
    }

    /// One round of everything; whether anything was done.
    pub fn pump(&mut self) -> bool {
        let mut worked = !self.store.is_idle();
        self.clock_ms += 1;
        if let Some(batch) = self.store.take_batch(self.clock_ms) {
            let result = self.flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
            self.store.committed(fawn_store::WrittenBatch { batch, result });
        }
        while let Some(work) = self.store.take_work() {
            self.maintenance.submit(work);
            worked = true;
        }
        match self.maintenance.step(&self.flash) {
            Step::Idle | Step::Stalled => {}
            Step::More => worked = true,
            Step::Event(event) => {
                self.store.handle(event);
                worked = true;
            }
        }
        self.store.step(100_000) || worked
    }

    pub fn settle(&mut self) {
        while self.pump() {}
        assert_eq!(self.store.stopped(), None);
    }

    pub fn seal(&mut self) {
        while self.store.seal().is_err() {
            self.pump();
        }
        self.settle();
    }

    /// The value of `name` and the pages that it took to read it.
    pub fn get(&mut self, name: &[u8]) -> Option<(Vec<u8>, Option<Place>)> {
        let key = self.store.options().secret.position(name);
        let mut read = match self.store.lookup(&key, name, NOW) {
            Lookup::Found { record, .. } => return Some((record.value.to_vec(), None)),
            Lookup::Absent { .. } => return None,
            Lookup::Read(read) => read,
            other => panic!("everything is loaded: {other:?}"),
        };
        loop {
            let mut pages = PageBuf::zeroed(read.count as usize);
            let place = (read.file, read.first);
            self.flash.read(read.file, read.first, pages.pages_mut()).unwrap();
            match self.store.finish(read, pages.pages_mut(), &key, name, NOW) {
                FinishedRead::Found(record) => return Some((record.value.to_vec(), Some(place))),
                FinishedRead::Absent { .. } => return None,
                FinishedRead::Read(next) => read = next,
                other @ FinishedRead::Damaged(_) => panic!("{other:?}"),
            }
        }
    }
}
