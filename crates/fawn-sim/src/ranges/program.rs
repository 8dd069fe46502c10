//! The program around a node's store: the commit thread, the maintenance thread and reads, of which one part at a time goes
//! on.

use std::collections::VecDeque;

use fawn_check::random::Random;
use fawn_kv::store::{Fetch, FlashStore};
use fawn_store::flash::{FileId, Flash};
use fawn_store::page::PageBuf;
use fawn_store::work::MaintenanceEvent;
use fawn_store::{Batch, Maintenance, Step, WrittenBatch};

use super::probe::Probe;

/// A batch of the log between being taken and being handed back.
enum InFlight {
    Taken(Batch),
    Written(WrittenBatch),
}

/// A node's store, the device under it, and what is on its way between them.
pub(super) struct Program {
    pub(super) probe: Probe,
    pub(super) store: FlashStore,
    maintenance: Maintenance,
    clock_ms: u64,
    in_flight: Option<InFlight>,
    events: VecDeque<MaintenanceEvent>,
    fetches: Vec<Fetch>,
}

impl Program {
    pub(super) fn new(probe: Probe, store: FlashStore, maintenance: Maintenance) -> Self {
        let (clock_ms, events, fetches) = (1_000_000, VecDeque::new(), Vec::new());
        Self { probe, store, maintenance, clock_ms, in_flight: None, events, fetches }
    }

    /// Whether no batch of the log is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.store.is_idle() && self.in_flight.is_none()
    }

    /// Lets a second pass.
    pub(super) fn tick(&mut self) {
        self.clock_ms += 1000;
        self.store.tick();
    }

    /// A batch of the log is taken, written, or handed back: whether the last.
    pub(super) fn turn_log(&mut self) -> bool {
        match self.in_flight.take() {
            None => self.in_flight = self.store.take_batch(self.clock_ms).map(InFlight::Taken),
            Some(InFlight::Taken(batch)) => {
                let result = self.probe.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
                self.in_flight = Some(InFlight::Written(WrittenBatch { batch, result }));
            }
            Some(InFlight::Written(committed)) => {
                self.store.committed(committed);
                return true;
            }
        }
        false
    }

    /// Maintenance goes on by a step.
    pub(super) fn turn_maintenance(&mut self) {
        if let Some(work) = self.store.take_work() {
            self.maintenance.submit(work);
        }
        if let Step::Event(event) = self.maintenance.step(&self.probe) {
            self.events.push_back(event);
        }
    }

    /// The store takes what maintenance has done.
    pub(super) fn turn_install(&mut self, random: &mut Random) {
        if let Some(event) = self.events.pop_front() {
            self.store.handle(event);
        }
        self.store.step(random.within(1, 64) as usize);
    }

    /// One of the reads that the store waits for is done.
    pub(super) fn turn_reads(&mut self, random: &mut Random) {
        while let Some(fetch) = self.store.take_fetch() {
            self.fetches.push(fetch);
        }
        if self.fetches.is_empty() {
            return;
        }
        let chosen = random.below(self.fetches.len() as u64) as usize;
        let fetch = self.fetches.swap_remove(chosen);
        let mut pages = PageBuf::zeroed(fetch.read.count as usize);
        let read = self.probe.read(fetch.read.file, fetch.read.first, pages.pages_mut());
        self.store.fetched(fetch, read.map(|()| pages.pages_mut().as_mut_slice()));
    }
}
