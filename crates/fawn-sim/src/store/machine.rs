//! One store with everything that a program around it does, in one thread and by one seed.
//!
//! A [`Machine`] owns a [`Store`], its maintenance, a [`SimFlash`] and an [`Oracle`]. Its calls look as if they
//! blocked; while they wait, [`turn`](Machine::turn) carries the rest of the program on in a random order: batches of
//! the commit log are taken, written and handed back, maintenance steps, events are delivered late, installs go on in
//! small steps, gets that were begun read their pages. Every answer is checked against the oracle the moment it is
//! released, so that a wrong one panics where it happens.

use std::collections::BTreeMap;

use fawn_check::random::Random;
use fawn_store::flash::FlashError;
use fawn_store::large::Stub;
use fawn_store::record::Marks;
use fawn_store::{OpenError, Options, Stats, Store};

use super::gets::{PendingGet, PendingGets};
use super::history::History;
use super::oracle::{Oracle, OracleItem};
use super::program::{Failure, Program};
use crate::flash::SimFlash;

/// Turns after which a call that still waits is stuck for good.
pub(super) const STUCK_TURNS: u64 = 2_000_000;

/// What the clock shows when a machine is made, in milliseconds.
const START_MS: u64 = 1_000_000_000_000;

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
pub type OracleItems = Vec<(Vec<u8>, OracleItem)>;

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

/// A store, the program around it and the device under it. See the module's text.
pub struct Machine {
    pub(super) program: Program,
    pub(super) history: History,
    pub(super) random: Random,
    pub(super) options: Options,
    pace: Pace,
    pub(super) gets: PendingGets,
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
        Ok(Self {
            program: Program::open(flash, options.clone(), START_MS)?,
            history: History::new(oracle, options.ack),
            random: Random::new(seed),
            options,
            pace: Pace::EVEN,
            gets: PendingGets::default(),
            flush_due: None,
            stubs: BTreeMap::new(),
        })
    }

    /// The device.
    pub fn flash(&self) -> &SimFlash {
        &self.program.flash
    }

    /// What the store must answer.
    pub fn oracle(&self) -> &Oracle {
        &self.history.oracle
    }

    /// The store itself.
    pub fn store(&mut self) -> &mut Store {
        &mut self.program.store
    }

    /// The machine's choices.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// The store's figures.
    pub fn stats(&self) -> Stats {
        self.program.store.stats()
    }

    /// Unix second.
    pub fn now(&self) -> u32 {
        self.program.now()
    }

    /// Lets time pass; the store hears of it once a second.
    pub fn advance_clock(&mut self, ms: u64) {
        let before = self.now();
        self.program.clock_ms += ms;
        if self.flush_due.is_some_and(|due| due <= self.now()) {
            // Everything before the flush is made durable first, so that it is clear what it covers.
            self.flush_due = None;
            self.sync_log();
            let state = self.history.oracle.flush(|_| true);
            self.history.oracle.acknowledge(state);
        }
        let now = self.now();
        if now > before {
            self.program.store.tick(now, true);
        }
    }

    /// Changes how often each part of the program gets its turn.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Whether nothing more can happen before a restart: the device has crashed.
    pub fn is_down(&self) -> bool {
        self.program.is_down()
    }

    /// What `name` holds, once that may be answered. `Ok(None)` is "not found"; an empty value is not.
    ///
    /// # Errors
    /// [`Failure`], never a wrong value (that panics).
    pub fn get(&mut self, name: &[u8]) -> Result<Option<OracleItem>, Failure> {
        let mut get = PendingGet::begin(&self.program, &self.history, name);
        for _ in 0..STUCK_TURNS {
            if let Some(answer) = get.advance(&mut self.program, &mut self.history) {
                return answer;
            }
            if self.is_down() {
                get.drop_unanswered(&mut self.program);
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
        let get = PendingGet::begin(&self.program, &self.history, name);
        self.gets.push(get);
    }

    /// Turns until every get that was begun is answered, or the device crashes.
    pub fn finish_gets(&mut self) {
        self.turn_until(|machine| machine.gets.is_empty());
    }

    /// Carries one part of the program on, chosen at random by the [`Pace`].
    pub fn turn(&mut self) {
        let Pace { log, maintenance, install, gets } = self.pace;
        match self.random.weighted(&[log, maintenance, install, gets]) {
            0 => self.turn_log(),
            1 => drop(self.turn_maintenance()),
            2 => self.turn_install(),
            _ => self.gets.turn(&mut self.random, &mut self.program, &mut self.history),
        }
    }

    /// Turns until `done`; false when the store stops or the device crashes first.
    pub fn turn_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        for turn in 1..STUCK_TURNS {
            if done(self) {
                return true;
            }
            if self.is_down() || self.program.store.stopped().is_some() {
                return false;
            }
            // Waiting takes time.
            if turn % 1000 == 0 {
                self.advance_clock(100);
            }
            self.turn();
        }
        panic!("waited for what never happens: {:?}", self.program.store.stats());
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
            self.gets.turn(&mut self.random, &mut self.program, &mut self.history);
            let idle = !worked && self.program.is_idle() && self.gets.is_empty();
            idle_rounds = if idle { idle_rounds + 1 } else { 0 };
            // An install step or a reclaim may bring more work in the next round.
            if idle_rounds > 8 {
                return;
            }
        }
        panic!("the store never comes to rest: {:?}", self.program.store.stats());
    }

    /// Writes the commit log until nothing is unsynced, whatever the acknowledgement mode; everything issued so far is
    /// safe then.
    pub fn sync_log(&mut self) {
        for _ in 0..STUCK_TURNS {
            if self.program.store.is_idle() && self.program.is_log_idle() {
                self.history.acknowledge_all();
                return;
            }
            if self.is_down() || self.program.store.stopped().is_some() {
                return;
            }
            self.program.clock_ms += 1;
            self.turn_log();
        }
        panic!("the log is never idle");
    }

    /// One step of the commit log: take a batch, write it, or hand it back.
    pub fn turn_log(&mut self) {
        if self.program.turn_log() {
            self.history.release(self.program.store.durable());
        }
    }

    /// Hands work over and makes one maintenance step; whether there was anything to do.
    pub fn turn_maintenance(&mut self) -> bool {
        self.program.turn_maintenance()
    }

    /// Delivers one event or installs a few entries.
    pub(super) fn turn_install(&mut self) {
        self.program.turn_install(&mut self.random);
        self.history.release(self.program.store.durable());
    }
}
