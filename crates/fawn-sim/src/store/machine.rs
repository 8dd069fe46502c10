//! One store with everything that a program around it does, in one thread and by one seed.
//!
//! A [`Machine`] owns a [`Store`], its [`Maintenance`], a [`SimFlash`] and an [`Oracle`]. Its calls look as if they
//! blocked; while they wait, [`turn`](Machine::turn) carries the rest of the program on in a random order: batches of
//! the commit log are taken, written and handed back, maintenance steps, events are delivered late, installs go on in
//! small steps, gets that were begun read their pages. Every answer is checked against the oracle the moment it is
//! released, so that a wrong one panics where it happens.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fawn_check::random::Random;
use fawn_store::flash::{Flash, FlashError};
use fawn_store::large::Stub;
use fawn_store::page::PageBuf;
use fawn_store::record::{Kind, Marks, Record};
use fawn_store::work::Event;
use fawn_store::{Ack, Batch, Committed, Damage, Gate, Maintenance, OpenError, Options, Stats, Step, Store};

use super::gets::{Get, Gets};
use super::oracle::{Item, Oracle};
use crate::flash::SimFlash;

/// Turns after which a call that still waits is stuck for good.
pub(super) const STUCK_TURNS: u64 = 2_000_000;

/// What the clock shows when a machine is made, in milliseconds.
const START_MS: u64 = 1_000_000_000_000;

/// Why a get gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Bytes on flash are damaged, and the store says so.
    Damaged(Damage),
    /// The device failed the read.
    Flash(FlashError),
}

/// How often each part of the program gets its turn.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Taking, writing and handing back batches of the commit log.
    pub log: u64,
    /// Handing work over, maintenance steps.
    pub maintenance: u64,
    /// Delivering events, installing.
    pub install: u64,
    /// Carrying on gets that were begun.
    pub gets: u64,
}

impl Pace {
    /// All parts are as fast.
    pub const EVEN: Self = Self { log: 1, maintenance: 1, install: 1, gets: 1 };
}

/// Items with their keys, in key order.
pub type Named = Vec<(Vec<u8>, Item)>;

/// What a put says beside key and value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// The client's flags.
    pub client_flags: u32,
    /// Unix second of expiry; 0 for never.
    pub expiry: u32,
    /// Stale and won.
    pub marks: Marks,
    /// A cas that the client chose.
    pub client_cas: Option<u64>,
}

/// A batch of the commit log between being taken and being handed back.
pub(super) enum InFlight {
    Taken(Batch),
    Written(Committed),
}

/// A store, the program around it and the device under it. See the module's text.
pub struct Machine {
    pub(super) flash: SimFlash,
    pub(super) store: Store,
    pub(super) maintenance: Maintenance,
    pub(super) oracle: Oracle,
    pub(super) random: Random,
    pub(super) options: Options,
    pace: Pace,
    pub(super) clock_ms: u64,
    pub(super) in_flight: Option<InFlight>,
    pub(super) events: VecDeque<Event>,
    pub(super) gets: Gets,
    /// Gates of changes that are not acknowledged yet, with the states that they make.
    pub(super) pending: VecDeque<(Gate, u64)>,
    /// Highest sequence number ever given out for each key.
    pub(super) highest_seq: BTreeMap<Vec<u8>, u64>,
    /// When a scheduled flush falls due.
    pub(super) flush_due: Option<u32>,
    /// Stubs appended, by sequence number.
    pub(super) stubs: BTreeMap<u64, Stub>,
}

impl Machine {
    /// A machine with an empty device.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn new(options: Options, seed: u64) -> Result<Self, OpenError> {
        Self::on(SimFlash::new(seed), options, seed, Oracle::default())
    }

    /// A machine on `flash`, of which `oracle` knows what it holds.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn on(flash: SimFlash, options: Options, seed: u64, oracle: Oracle) -> Result<Self, OpenError> {
        let clock_ms = START_MS;
        let (store, maintenance, _) = Store::open(options.clone(), &flash, seconds(clock_ms))?;
        Ok(Self {
            flash,
            store,
            maintenance,
            oracle,
            random: Random::new(seed),
            options,
            pace: Pace::EVEN,
            clock_ms,
            in_flight: None,
            events: VecDeque::new(),
            gets: Gets::default(),
            pending: VecDeque::new(),
            highest_seq: BTreeMap::new(),
            flush_due: None,
            stubs: BTreeMap::new(),
        })
    }

    /// The device.
    pub fn flash(&self) -> &SimFlash {
        &self.flash
    }

    /// What the store must answer.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// The store itself.
    pub fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// The machine's choices.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// The store's figures.
    pub fn stats(&self) -> Stats {
        self.store.stats()
    }

    /// Unix second.
    pub fn now(&self) -> u32 {
        seconds(self.clock_ms)
    }

    /// Lets time pass; the store hears of it once a second.
    pub fn advance_clock(&mut self, ms: u64) {
        let before = self.now();
        self.clock_ms += ms;
        if self.flush_due.is_some_and(|due| due <= self.now()) {
            self.flush_falls_due();
        }
        if self.now() > before {
            self.store.tick(self.now());
        }
    }

    /// Changes how often each part of the program gets its turn.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Whether nothing more can happen before a restart: the device has crashed.
    pub fn is_down(&self) -> bool {
        self.flash.has_crashed()
    }

    /// What `name` holds, once that may be answered. `Ok(None)` is "not found"; an empty value is not.
    ///
    /// # Errors
    /// [`Failure`], never a wrong value (that panics).
    pub fn get(&mut self, name: &[u8]) -> Result<Option<Item>, Failure> {
        let mut get = Get::begin(self, name);
        for _ in 0..STUCK_TURNS {
            if let Some(answer) = get.advance(self) {
                return answer;
            }
            if self.is_down() {
                get.drop_unanswered(self);
                return Err(Failure::Flash(FlashError::Io("crashed".into())));
            }
            if self.random.chance(1, 2) {
                self.turn();
            }
        }
        panic!("a get of {:?} is never answered", String::from_utf8_lossy(name));
    }

    /// Begins a get that later turns carry on; its answer is checked when it comes. Damage and I/O errors panic.
    pub fn begin_get(&mut self, name: &[u8]) {
        let get = Get::begin(self, name);
        self.gets.push(get);
    }

    /// An answer has left that shows state `state`: it must survive from now on.
    pub(super) fn proved_durable(&mut self, state: u64) {
        if self.options.ack == Ack::Durable {
            self.oracle.acknowledge(state);
        }
    }

    /// Gets begun and not answered yet.
    pub fn gets_under_way(&self) -> usize {
        self.gets.len()
    }

    /// Turns until every get that was begun is answered, or the device crashes.
    pub fn finish_gets(&mut self) {
        self.turn_until(|machine| machine.gets.is_empty());
    }

    /// The item that a record of the store is; reads a large value's file. `None` when that file is gone: the record was
    /// superseded meanwhile, or the file is lost.
    pub(super) fn item(&self, record: &Record<'_>) -> Result<Option<Item>, Failure> {
        let value = match record.kind {
            Kind::Value => Arc::from(record.value),
            Kind::Delete | Kind::Lost => panic!("a lookup never finds {:?}", record.kind),
            Kind::Stub => {
                let stub = Stub::decode(record.value).expect("a stub's value is a stub");
                let mut pages = PageBuf::zeroed(stub.pages() as usize);
                match self.flash.read(stub.id(), 0, pages.pages_mut()) {
                    Err(FlashError::NotFound(_)) => return Ok(None),
                    other => other.map_err(Failure::Flash)?,
                }
                let damage = Damage { file: stub.id(), offset: 0, what: "the value's checksum does not match".into() };
                Arc::from(stub.value(&pages).ok_or(Failure::Damaged(damage))?)
            }
        };
        Ok(Some(Item {
            value,
            client_flags: record.client_flags,
            expiry: record.expiry,
            marks: record.marks,
            client_cas: record.client_cas,
            seq: record.seq,
        }))
    }

    /// Carries one part of the program on, chosen at random by the [`Pace`].
    pub fn turn(&mut self) {
        let Pace { log, maintenance, install, gets } = self.pace;
        match self.random.weighted(&[log, maintenance, install, gets]) {
            0 => self.turn_log(),
            1 => drop(self.turn_maintenance()),
            2 => self.turn_install(),
            _ => self.turn_gets(),
        }
    }

    /// Turns until `done`; false when the store stops or the device crashes first.
    pub fn turn_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        for turn in 1..STUCK_TURNS {
            if done(self) {
                return true;
            }
            if self.is_down() || self.store.stopped().is_some() {
                return false;
            }
            // Waiting takes time.
            if turn % 1000 == 0 {
                self.advance_clock(100);
            }
            self.turn();
        }
        panic!("waited for what never happens: {:?}", self.store.stats());
    }

    /// Lets everything that is under way come to its end: batches written, work done, events handled, gets answered.
    pub fn settle(&mut self) {
        let mut idle_rounds = 0;
        for _ in 0..STUCK_TURNS {
            if self.is_down() {
                return;
            }
            self.turn_log();
            let worked = self.turn_maintenance();
            self.turn_install();
            self.turn_gets();
            let idle = !worked && self.in_flight.is_none() && self.events.is_empty() && self.gets.is_empty();
            idle_rounds = if idle { idle_rounds + 1 } else { 0 };
            // An install step or a reclaim may bring more work in the next round.
            if idle_rounds > 8 {
                return;
            }
        }
        panic!("the store never comes to rest: {:?}", self.store.stats());
    }

    /// Writes the commit log until nothing is unsynced, whatever the acknowledgement mode; everything issued so far is
    /// safe then.
    pub fn sync_log(&mut self) {
        for _ in 0..STUCK_TURNS {
            if self.store.is_idle() && self.in_flight.is_none() {
                self.oracle.acknowledge(self.oracle.issued());
                return;
            }
            if self.is_down() || self.store.stopped().is_some() {
                return;
            }
            self.clock_ms += 1;
            self.turn_log();
        }
        panic!("the log is never idle");
    }

    /// One step of the commit log: take a batch, write it, or hand it back.
    pub fn turn_log(&mut self) {
        self.in_flight = match self.in_flight.take() {
            None => self.store.take_batch(self.clock_ms).map(InFlight::Taken),
            Some(InFlight::Taken(batch)) => {
                let result =
                    self.flash.write_durably(fawn_store::flash::FileId::CommitLog, batch.first, batch.pages.pages());
                Some(InFlight::Written(Committed { batch, result }))
            }
            Some(InFlight::Written(committed)) => {
                self.store.committed(committed);
                self.release_acknowledgements();
                None
            }
        };
    }

    /// Hands work over and makes one maintenance step; whether there was anything to do.
    pub fn turn_maintenance(&mut self) -> bool {
        let mut worked = false;
        if let Some(work) = self.store.take_work() {
            self.maintenance.submit(work);
            worked = true;
        }
        match self.maintenance.step(&self.flash) {
            Step::Idle | Step::Stalled => worked,
            Step::More => true,
            Step::Event(event) => {
                self.events.push_back(event);
                true
            }
        }
    }

    /// Delivers one event or installs a few entries.
    pub fn turn_install(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.store.handle(event);
        }
        let budget = self.random.within(1, 64) as usize;
        self.store.step(budget);
        self.release_acknowledgements();
    }

    fn turn_gets(&mut self) {
        if self.gets.is_empty() {
            return;
        }
        let chosen = self.random.below(self.gets.len() as u64) as usize;
        let mut get = self.gets.take(chosen);
        match get.advance(self) {
            None => self.gets.push(get),
            Some(Ok(_)) => {}
            Some(Err(failure)) if self.is_down() => drop(failure),
            Some(Err(failure)) => panic!("a get on a sound device fails: {failure:?}"),
        }
    }
}

pub(super) fn seconds(clock_ms: u64) -> u32 {
    (clock_ms / 1000) as u32
}
