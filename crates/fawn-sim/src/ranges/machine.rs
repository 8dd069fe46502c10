//! The machine: batches, work, events and reads go in and out of the store in a random order.

use std::collections::{BTreeMap, VecDeque};

use fawn_check::random::Random;
use fawn_kv::ids::{ClusterId, Position, RangeId, Seq};
use fawn_kv::range::entry::{Entry, Kept};
use fawn_kv::store::{Answer, FlashStore, Gate, Lookup, OpenedStore, Part, RangeStore, Scan, Ticket};
use fawn_ring::Key;
use fawn_store::Options;

use super::model::{RangeModel, RangeWrite, RestartState, brief};
use super::probe::Probe;
use super::program::Program;
use crate::flash::{PowerCut, SimFlash};

/// Turns after which what still waits is stuck for good.
const STUCK_TURNS: u64 = 300_000;
/// Names of keys.
const NAMES: u32 = 60;

/// What has happened to a machine, all its restarts counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineCounts {
    /// Segments sealed.
    pub seals: u64,
    /// Slices merged.
    pub merges: u64,
    /// Writes that found no room in the log at once.
    pub waits: u64,
    /// Write points at which the power was cut.
    pub points_cut: u64,
}

/// A node's store, the program around it, the device under it, and what it must hold. See the module's text.
pub struct RangeMachine {
    pub(super) program: Program,
    pub(super) model: RangeModel,
    pub(super) random: Random,
    pub(super) options: Options,
    next_ticket: Ticket,
    /// Lookups that wait: range, key, what was shown when they began.
    looking: BTreeMap<Ticket, (RangeId, Vec<u8>, Option<Kept>)>,
    answers: BTreeMap<Ticket, Answer>,
    /// When records are durable, for each range in order.
    pub(super) synced: VecDeque<(Gate, RangeId, Position)>,
    /// Names with their positions, in order of these.
    pub(super) names: Vec<(Key, Vec<u8>)>,
    pub(super) next_request: u64,
    pub(super) next_range: u32,
    pub(super) unix: u32,
    slow_log: bool,
    seen: MachineCounts,
}

impl RangeMachine {
    /// A machine with an empty device.
    ///
    /// # Errors
    /// Why the store cannot be made.
    pub fn new(options: Options, seed: u64) -> Result<Self, String> {
        let model = RangeModel::new(options.secret);
        let (machine, _) = Self::on(SimFlash::new(seed), options, seed, model)?;
        Ok(machine)
    }

    fn on(flash: SimFlash, options: Options, seed: u64, model: RangeModel) -> Result<(Self, Ranges), String> {
        let probe = Probe::new(flash);
        let OpenedStore { mut store, maintenance, ranges, .. } =
            FlashStore::open(options.clone(), &probe).map_err(|error| format!("the store does not open: {error}"))?;
        // As a node does, before it has a range.
        if store.cluster().is_none() {
            store.join(ClusterId([9; 16]));
        }
        let name = |number: u32| format!("name-{number}").into_bytes();
        let mut names: Vec<_> = (0..NAMES).map(|n| (options.secret.position(&name(n)), name(n))).collect();
        names.sort();
        let machine = Self {
            program: Program::new(probe, store, maintenance),
            model,
            random: Random::new(seed),
            options,
            next_ticket: 0,
            looking: BTreeMap::new(),
            answers: BTreeMap::new(),
            synced: VecDeque::new(),
            names,
            next_request: 1,
            next_range: 1,
            unix: 1_000_000_000,
            slow_log: seed.is_multiple_of(3),
            seen: MachineCounts::default(),
        };
        Ok((machine, ranges))
    }

    /// The device.
    pub fn flash(&self) -> &SimFlash {
        &self.program.probe.flash
    }

    /// The store.
    pub fn store(&self) -> &FlashStore {
        &self.program.store
    }

    /// Whether the device has crashed.
    pub fn is_down(&self) -> bool {
        self.program.probe.flash.has_crashed()
    }

    /// From here on, a power cut at each write point must leave a state that may be left: that is looked at in every turn.
    pub fn cut_everywhere(&mut self) {
        self.program.probe.remember();
    }

    /// What has happened.
    pub fn seen(&self) -> MachineCounts {
        let stats = self.program.store.store().stats();
        let MachineCounts { seals, merges, .. } = self.seen;
        MachineCounts { seals: seals + stats.maintenance.seals, merges: merges + stats.maintenance.merges, ..self.seen }
    }

    fn cut_since_last_turn(&mut self) {
        for flash in self.program.probe.take() {
            self.seen.points_cut += 1;
            for cut in [PowerCut::Lost, PowerCut::Kept, PowerCut::Torn] {
                let flash = flash.clone();
                flash.power_cut(cut, self.random.word());
                let checked = self.check_fork(flash);
                checked.unwrap_or_else(|why| panic!("write point {}, {cut:?}: {why}", self.seen.points_cut));
            }
        }
    }

    /// A restart on `flash` finds a state that may be left; this machine goes on as it was.
    fn check_fork(&mut self, flash: SimFlash) -> Result<(), String> {
        let (mut fork, ranges) = Self::on(flash, self.options.clone(), self.random.word(), self.model.clone())?;
        let found = fork.find(ranges);
        fork.model.recover(&found)
    }

    /// Cuts the power and opens the store again: what is left is a state that may be left, and the machine goes on with it.
    ///
    /// # Errors
    /// What was wrong.
    pub fn crash(&mut self, cut: PowerCut) -> Result<(), String> {
        let flash = self.program.probe.flash.clone();
        flash.power_cut(cut, self.random.word());
        self.reopen(flash)
    }

    /// Stops as a program does, and opens the store again.
    ///
    /// # Errors
    /// What was wrong.
    pub fn stop(&mut self) -> Result<(), String> {
        self.program.store.hurry();
        self.turn_until(|machine| machine.program.is_idle());
        self.program.store.close();
        self.turn_until(|machine| machine.program.store.is_closed());
        self.model.durable(self.program.store.written());
        let flash = self.program.probe.flash.clone();
        flash.power_cut(PowerCut::Lost, 0);
        self.reopen(flash)
    }

    fn reopen(&mut self, flash: SimFlash) -> Result<(), String> {
        let (mut next, ranges) = Self::on(flash, self.options.clone(), self.random.word(), self.model.clone())?;
        (next.next_request, next.next_range, next.unix) = (self.next_request, self.next_range, self.unix);
        let found = next.find(ranges);
        next.model.recover(&found)?;
        next.seen = self.seen();
        *self = next;
        Ok(())
    }

    /// Reads everything.
    fn find(&mut self, ranges: Ranges) -> RestartState {
        let mut shown = BTreeMap::new();
        for (range, recovered) in &ranges {
            for (_, name) in self.names.clone().iter().filter(|(key, _)| recovered.keys.contains(key)) {
                shown.insert((*range, name.clone()), self.look_now(*range, name));
            }
        }
        let forgotten = ranges.keys().map(|range| (*range, self.program.store.forgotten(*range))).collect();
        RestartState { ranges, shown, forgotten }
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        self.next_ticket
    }

    fn look_now(&mut self, range: RangeId, name: &[u8]) -> Option<Kept> {
        let ticket = self.ticket();
        if let Lookup::Known(kept) = self.program.store.lookup(range, name, ticket) {
            return kept;
        }
        match self.wait_for(ticket) {
            Answer::Version(kept) => kept,
            other => panic!("a lookup on a sound device is answered: {other:?}"),
        }
    }

    fn wait_for(&mut self, ticket: Ticket) -> Answer {
        self.turn_until(|machine| machine.answers.contains_key(&ticket));
        self.answers.remove(&ticket).expect("it was just there")
    }

    /// Begins a lookup, whose answer is checked when it comes.
    pub(super) fn look(&mut self, range: RangeId, name: &[u8]) {
        let ticket = self.ticket();
        let must = self.model.now().0[&range].newest(name).cloned();
        match self.program.store.lookup(range, name, ticket) {
            Lookup::Known(kept) => {
                self.model.check(&self.program.store, (range, name), must.as_ref(), kept.as_ref());
            }
            Lookup::Later => drop(self.looking.insert(ticket, (range, name.to_vec(), must))),
        }
    }

    /// Copies a range, from a place in its log on, and checks that nothing is lacking and nothing wrong.
    pub(super) fn copy(&mut self, range: RangeId, since: Seq) {
        let (mut from, mut copied) = (None, BTreeMap::new());
        loop {
            let ticket = self.ticket();
            let least = self.model.now().0[&range].meta.committed;
            let part = match self.program.store.scan(range, from, since, least, ticket) {
                Scan::Known(part) => part,
                Scan::Later => match self.wait_for(ticket) {
                    Answer::Part(part) => part,
                    other => panic!("a scan on a sound device is answered: {other:?}"),
                },
            };
            let Part { kept, next } = part;
            copied.extend(kept.into_iter().map(|kept| (kept.key.clone(), kept)));
            from = next;
            if from.is_none() {
                break;
            }
        }
        let state = &self.model.now().0[&range];
        let forgotten = self.program.store.forgotten(range);
        for (key, name) in &self.names {
            let found = copied.get(name);
            match state.newest(name).filter(|must| must.position.seq > since && state.keys.contains(key)) {
                None => assert!(state.may_return(name, found), "a copy holds no more than the range: {found:?}"),
                Some(must) => {
                    let is_right = state.is_same(must, found, forgotten);
                    assert!(is_right, "{} is copied, not {}", brief(Some(must)), brief(found));
                }
            }
        }
    }

    /// Notes a write.
    pub(super) fn wrote(&mut self, gate: Gate, range: RangeId, write: RangeWrite) {
        if let RangeWrite::Append(Entry { position, .. }) = &write {
            self.synced.push_back((gate, range, *position));
        }
        self.seen.waits += u64::from(!self.program.store.is_logged());
        self.model.write(gate, range, write);
    }

    /// Lets a second pass.
    pub(super) fn tick(&mut self) {
        self.unix += 1;
        self.program.tick();
    }

    /// Carries one part of the program on.
    pub fn turn(&mut self) {
        match self.random.weighted(&[if self.slow_log { 1 } else { 20 }, 20, 20, 20]) {
            0 if self.program.turn_log() => self.model.durable(self.program.store.durable()),
            0 => {}
            1 => self.program.turn_maintenance(),
            2 => self.program.turn_install(&mut self.random),
            _ => self.program.turn_reads(&mut self.random),
        }
        self.cut_since_last_turn();
        while let Some((ticket, answer)) = self.program.store.take_answer() {
            match (self.looking.remove(&ticket), answer) {
                (Some((range, name, must)), Answer::Version(kept)) => {
                    self.model.check(&self.program.store, (range, &name), must.as_ref(), kept.as_ref());
                }
                (Some(_), answer) => assert!(self.is_down(), "a lookup on a sound device is answered: {answer:?}"),
                (None, answer) => drop(self.answers.insert(ticket, answer)),
            }
        }
    }

    /// Turns until `done`, or until the device crashes.
    pub(super) fn turn_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        for turn in 1..STUCK_TURNS {
            if done(self) || self.is_down() {
                return;
            }
            if turn % 1000 == 0 {
                self.tick();
            }
            self.turn();
        }
        panic!(
            "waited for what never happens: {:?}, {:?}",
            self.program.store.stopped(),
            self.program.store.store().stats()
        );
    }
}

/// What a restart finds of the ranges.
type Ranges = BTreeMap<RangeId, fawn_kv::store::RecoveredRange>;
