//! FAWN's store on a simulated drive: its real code, an event loop and a maintenance thread.

use std::collections::{BTreeMap, VecDeque};

use fawn_store::flash::{FileId, Flash as _, FlashError};
use fawn_store::page::{PAGE_BYTES, PageBuf};
use fawn_store::work::MaintenanceEvent;
use fawn_store::{
    Batch, FinishedRead, Gate, Lookup, Maintenance, Options, Read, Refusal, Step, Store, Write, WrittenBatch,
};
use fawn_workload::{key_of, version_of, write_value};

use super::clients::{Clients, RequestInFlight, TrialOperation};
use super::disk::{SimulatedDisk, Ticket};
use super::pace::OwedRest;
use super::settings::StoreTrialError;
use super::store_run::StoreRun;
use super::world::{Foreground, World};
use crate::time::SimTime;

/// The clock of a store shows this when simulated time begins.
const START_SECOND: u32 = 1_000_000_000;
/// Between looks at the drive's space: a small drive fills faster than a large one, whose server looks once a second.
const TICK: SimTime = SimTime::from_ms(50);
/// Index entries installed at a time.
const INSTALL_BUDGET: usize = 4_096;
/// For how long a seal that lacks space waits.
const STALL: SimTime = SimTime::from_ms(5);
/// After so long without an answer nothing will come.
const STUCK: SimTime = SimTime::from_ms(60_000);

/// A batch of the commit log on its way.
struct LogWrite {
    ticket: Ticket,
    batch: Batch,
}

/// A get that reads.
struct PendingGet {
    issued: RequestInFlight,
    read: Read,
}

/// The event loop of a store.
pub struct FawnServer {
    store: Store,
    clients: Clients,
    log_write: Option<LogWrite>,
    gets: BTreeMap<Ticket, PendingGet>,
    /// Operations that wait for a gate.
    gated: BTreeMap<Gate, Vec<RequestInFlight>>,
    /// Operations that the store told to come back, and why.
    blocked: VecDeque<RequestInFlight>,
    refusal: Option<String>,
    failed: Option<StoreTrialError>,
    tick_at: SimTime,
    value: Vec<u8>,
    get_bytes: u64,
}

fn second(now: SimTime) -> u32 {
    START_SECOND + now.seconds() as u32
}

impl FawnServer {
    fn new(store: Store, clients: Clients) -> Self {
        let value = vec![0; clients.workload().value_bytes as usize];
        Self {
            store,
            clients,
            log_write: None,
            gets: BTreeMap::new(),
            gated: BTreeMap::new(),
            blocked: VecDeque::new(),
            refusal: None,
            failed: None,
            tick_at: SimTime::ZERO,
            value,
            get_bytes: 0,
        }
    }

    /// Its clients.
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    fn fail(&mut self, error: StoreTrialError) {
        self.failed.get_or_insert(error);
    }

    fn start(&mut self, mut issued: RequestInFlight, disk: &mut SimulatedDisk) {
        let name = key_of(issued.index);
        let key = self.store.options().secret.position(&name);
        let now = second(disk.now());
        match issued.operation {
            TrialOperation::Put => {
                issued.version = self.clients.issued(issued.index) + 1;
                write_value(issued.index, issued.version, &mut self.value);
                match self.store.append(&key, Write::value(&name, &self.value), now) {
                    Ok(receipt) => {
                        self.clients.took(issued.index, issued.version);
                        self.answer_after(receipt.gate, issued, disk.now());
                    }
                    Err(refusal @ (Refusal::TooLarge | Refusal::FlushedApart | Refusal::Stopped(_))) => {
                        self.fail(StoreTrialError::Stopped(refusal.to_string()));
                    }
                    Err(refusal) => {
                        self.refusal = Some(refusal.to_string());
                        self.blocked.push_back(issued);
                    }
                }
            }
            TrialOperation::Get => {
                issued.version = self.clients.issued(issued.index);
                match self.store.lookup(&key, &name, now) {
                    Lookup::Found { record, gate } => {
                        let found = version_of(issued.index, record.value);
                        self.answer_get(found, gate, issued, disk.now());
                    }
                    Lookup::Absent { gate } => self.answer_get(None, gate, issued, disk.now()),
                    Lookup::Read(read) => self.read(read, issued, disk),
                    Lookup::Loading => self.blocked.push_back(issued),
                    Lookup::Damaged(damage) => self.fail(StoreTrialError::Stopped(damage.to_string())),
                }
            }
        }
    }

    fn read(&mut self, read: Read, issued: RequestInFlight, disk: &mut SimulatedDisk) {
        self.get_bytes += u64::from(read.count) * PAGE_BYTES as u64;
        match disk.read_file(read.file, read.first, u64::from(read.count)) {
            Some(ticket) => drop(self.gets.insert(ticket, PendingGet { issued, read })),
            None => self.fail(StoreTrialError::Stopped(format!("{} is gone while it is read", read.file))),
        }
    }

    fn finish(&mut self, PendingGet { issued, read }: PendingGet, disk: &mut SimulatedDisk) {
        let mut pages = PageBuf::zeroed(read.count as usize);
        let there = {
            use zerocopy::IntoBytes as _;
            disk.copy_file(read.file, read.first, pages.pages_mut().as_mut_slice().as_mut_bytes())
        };
        if !there {
            return self.fail(StoreTrialError::Stopped(format!("{} is gone while it is read", read.file)));
        }
        let name = key_of(issued.index);
        let key = self.store.options().secret.position(&name);
        match self.store.finish(read, pages.pages_mut(), &key, &name, second(disk.now())) {
            FinishedRead::Found(record) => {
                let found = version_of(issued.index, record.value);
                self.answer_get(found, Gate::NONE, issued, disk.now());
            }
            FinishedRead::Absent { gate } => self.answer_get(None, gate, issued, disk.now()),
            FinishedRead::Read(read) => self.read(read, issued, disk),
            FinishedRead::Damaged(damage) => self.fail(StoreTrialError::Stopped(damage.to_string())),
        }
    }

    fn answer_get(&mut self, found: Option<u32>, gate: Gate, issued: RequestInFlight, now: SimTime) {
        if found.unwrap_or(0) != issued.version {
            let expected = issued.version;
            return self.fail(StoreTrialError::Wrong { index: issued.index, found, expected });
        }
        self.answer_after(gate, issued, now);
    }

    fn answer_after(&mut self, gate: Gate, issued: RequestInFlight, now: SimTime) {
        if gate <= self.store.durable() {
            self.clients.answer(&issued, now);
        } else {
            self.gated.entry(gate).or_default().push(issued);
        }
    }

    /// Sends the next batch of the commit log, if there is one and none is on its way.
    fn send_batch(&mut self, disk: &mut SimulatedDisk) {
        if self.log_write.is_some() {
            return;
        }
        let Some(batch) = self.store.take_batch(disk.now().ns() / 1_000_000) else { return };
        let (first, count) = (batch.first, batch.pages.pages().len() as u64);
        let ticket = {
            use zerocopy::IntoBytes as _;
            disk.write_file(FileId::CommitLog, first, count, Some(batch.pages.pages().as_bytes()))
        };
        match ticket {
            Some(ticket) => self.log_write = Some(LogWrite { ticket, batch }),
            None => self.fail(StoreTrialError::Stopped("the commit log has no place on the drive".to_owned())),
        }
    }

    fn log_written(&mut self, LogWrite { batch, .. }: LogWrite, disk: &mut SimulatedDisk) {
        // Places of the log that were written for the first time.
        if let Some(ticket) = disk.sync_file(FileId::CommitLog) {
            self.log_write = Some(LogWrite { ticket, batch });
            return;
        }
        self.store.committed(WrittenBatch { batch, result: Ok(()) });
        let later = self.gated.split_off(&Gate(self.store.durable().0 + 1));
        for issued in std::mem::replace(&mut self.gated, later).into_values().flatten() {
            self.clients.answer(&issued, disk.now());
        }
        self.retry(disk);
        self.send_batch(disk);
    }

    /// Tries again what was told to come back.
    fn retry(&mut self, disk: &mut SimulatedDisk) {
        for issued in std::mem::take(&mut self.blocked) {
            self.start(issued, disk);
        }
        self.send_batch(disk);
    }

    fn deliver(&mut self, event: MaintenanceEvent, disk: &mut SimulatedDisk) {
        self.store.handle(event);
        while self.store.step(INSTALL_BUDGET) {}
        self.retry(disk);
    }
}

impl Foreground for FawnServer {
    fn next_at(&self, now: SimTime) -> Option<SimTime> {
        if self.failed.is_some() {
            return None;
        }
        Some(self.clients.next_at(now).unwrap_or(SimTime::NEVER).min(self.tick_at))
    }

    fn wake(&mut self, disk: &mut SimulatedDisk) {
        if disk.now() >= self.tick_at {
            self.tick_at = disk.now() + TICK;
            self.store.tick(second(disk.now()), true);
            self.retry(disk);
        }
        while let Some(issued) = self.clients.next(disk.now()) {
            self.start(issued, disk);
        }
        self.send_batch(disk);
    }

    fn done(&mut self, ticket: Ticket, disk: &mut SimulatedDisk) {
        if let Some(write) = self.log_write.take_if(|write| write.ticket == ticket) {
            self.log_written(write, disk);
        } else if let Some(get) = self.gets.remove(&ticket) {
            self.finish(get, disk);
        }
    }
}

/// A store, its event loop and its maintenance thread.
pub struct FawnRun<'p> {
    world: World<'p, Option<FawnServer>>,
    maintenance: Maintenance,
    rest: OwedRest,
    last_answer: (u64, SimTime),
}

impl<'p> FawnRun<'p> {
    /// Opens the store on a disk, or makes it, for these clients.
    ///
    /// # Errors
    /// The store's.
    pub fn open(disk: SimulatedDisk, options: Options, clients: Clients) -> Result<Self, StoreTrialError> {
        let world = World::new(disk, None);
        let (store, maintenance, _) = Store::open(options, &world, START_SECOND)?;
        world.with(|server, _| *server = Some(FawnServer::new(store, clients)));
        Ok(Self { world, maintenance, rest: OwedRest::default(), last_answer: (0, SimTime::ZERO) })
    }

    /// Its world.
    pub fn world(&self) -> &World<'p, Option<FawnServer>> {
        &self.world
    }

    fn with<R>(&self, action: impl FnOnce(&mut FawnServer, &mut SimulatedDisk) -> R) -> R {
        self.world.with(|server, disk| action(server.as_mut().expect("the store is open"), disk))
    }

    fn failure(&mut self) -> Result<(), StoreTrialError> {
        if let Some(error) = self.world.take_failure() {
            return Err(error);
        }
        let now = self.world.now();
        let (failed, stopped, answered, refusal) = self.with(|server, _| {
            let stopped = server.store.stopped().map(str::to_owned);
            (server.failed.take(), stopped, server.clients.answered(), server.refusal.clone())
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some(why) = stopped {
            return Err(StoreTrialError::Stopped(why));
        }
        if answered != self.last_answer.0 {
            self.last_answer = (answered, now);
        }
        if now.since(self.last_answer.1) > STUCK {
            return Err(StoreTrialError::Stuck(refusal.unwrap_or_else(|| "nothing is answered".to_owned())));
        }
        Ok(())
    }

    /// The version of a record, read as a client would, one after the other.
    ///
    /// # Errors
    /// Store or drive failed, or the pages are damaged.
    pub fn version(&mut self, index: u64) -> Result<Option<u32>, StoreTrialError> {
        enum Found {
            Version(Option<u32>),
            Read(Read),
            Loading,
            Damaged(String),
        }
        let name = key_of(index);
        let mut next = None;
        loop {
            let found = match next.take() {
                None => self.with(|server, disk| {
                    let key = server.store.options().secret.position(&name);
                    match server.store.lookup(&key, &name, second(disk.now())) {
                        Lookup::Found { record, .. } => Found::Version(version_of(index, record.value)),
                        Lookup::Absent { .. } => Found::Version(None),
                        Lookup::Read(read) => Found::Read(read),
                        Lookup::Loading => Found::Loading,
                        Lookup::Damaged(damage) => Found::Damaged(damage.to_string()),
                    }
                }),
                Some(read) => {
                    let Read { file, first, count, .. } = read;
                    let mut pages = PageBuf::zeroed(count as usize);
                    self.world.read(file, first, pages.pages_mut()).map_err(|error| stopped(&error))?;
                    self.with(|server, disk| {
                        let key = server.store.options().secret.position(&name);
                        match server.store.finish(read, pages.pages_mut(), &key, &name, second(disk.now())) {
                            FinishedRead::Found(record) => Found::Version(version_of(index, record.value)),
                            FinishedRead::Absent { .. } => Found::Version(None),
                            FinishedRead::Read(read) => Found::Read(read),
                            FinishedRead::Damaged(damage) => Found::Damaged(damage.to_string()),
                        }
                    })
                }
            };
            match found {
                Found::Version(version) => return Ok(version),
                Found::Read(read) => next = Some(read),
                Found::Loading => self.turn()?,
                Found::Damaged(damage) => return Err(StoreTrialError::Stopped(damage)),
            }
        }
    }
}

fn stopped(error: &FlashError) -> StoreTrialError {
    StoreTrialError::Stopped(error.to_string())
}

impl StoreRun for FawnRun<'_> {
    fn turn(&mut self) -> Result<(), StoreTrialError> {
        while let Some(work) = self.with(|server, _| server.store.take_work()) {
            self.maintenance.submit(work);
        }
        let began = self.world.now();
        match self.maintenance.step(&self.world) {
            Step::Event(event) => self.with(|server, disk| server.deliver(event, disk)),
            Step::More => {}
            Step::Stalled => self.world.sleep(began + STALL),
            Step::Idle => {
                self.world.advance(SimTime::NEVER);
            }
        }
        if self.maintenance.may_rest() {
            let urgency = self.with(|server, _| server.store.urgency());
            self.rest.owe(urgency, self.world.now() - began);
        } else {
            self.rest.forget();
        }
        let rest = self.rest.take();
        if rest > SimTime::ZERO {
            self.world.sleep(self.world.now() + rest);
        }
        self.failure()
    }

    fn look<R>(&mut self, look: impl FnOnce(&mut Clients, &SimulatedDisk) -> R) -> R {
        self.with(|server, disk| look(&mut server.clients, disk))
    }

    fn get_bytes(&mut self) -> u64 {
        self.with(|server, _| server.get_bytes)
    }

    fn store_stats(&mut self) -> Option<fawn_store::Stats> {
        Some(self.with(|server, _| server.store.stats()))
    }
}
