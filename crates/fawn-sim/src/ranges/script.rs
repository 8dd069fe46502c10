//! What is asked of a node's store: all that the protocol may ask, in any order that it may.

use std::sync::Arc;

use fawn_check::random::Random;
use fawn_kv::ids::{Address, Asker, Attempt, Position, RangeId, RequestId, Seq};
use fawn_kv::operation::Outcome;
use fawn_kv::range::entry::{Asked, Change, Entry, Kept, Version};
use fawn_kv::range::meta::Meta;
use fawn_kv::store::{Place, RangeStore, RecoveredRange};
use fawn_ring::{Interval, Key};

use super::machine::RangeMachine;
use super::model::RangeWrite;

/// Bytes of a name, at most.
const MOST_NAME: usize = 8;
/// Most records of a range that are not committed.
const SUFFIX: usize = 12;

impl RangeMachine {
    /// Asks one thing of the store, and carries the program on for a while.
    pub fn step(&mut self) {
        match self.random.weighted(&[60, 60, 4, 4, 2, 8, 3, 2, 2, 2, 1, 30, 2, 6]) {
            0 => self.append(),
            1 => self.commit(),
            2 => self.truncate(),
            3 => self.hold(),
            4 => self.reset(),
            5 => self.install(),
            6 => self.install_end(),
            7 => self.create(),
            8 => self.split(),
            9 => self.merge(),
            10 => self.drop_range(),
            11 => self.get(),
            12 => self.scan(),
            _ => self.tick(),
        }
        for _ in 0..self.random.below(4) {
            self.turn();
        }
    }

    fn any_range(&mut self) -> Option<RangeId> {
        let ranges: Vec<RangeId> = self.model.now().0.keys().copied().collect();
        (!ranges.is_empty()).then(|| *self.random.pick(&ranges))
    }

    fn any_name(&mut self, range: RangeId) -> Option<Vec<u8>> {
        let keys = self.model.now().0[&range].keys;
        let names: Vec<_> = self.names.iter().filter(|(key, _)| keys.contains(key)).map(|(_, name)| name).collect();
        (!names.is_empty()).then(|| (*self.random.pick(&names)).clone())
    }

    fn append(&mut self) {
        let Some(range) = self.any_range() else { return };
        let is_long = self.model.now().0[&range].suffix().count() >= SUFFIX;
        let place = *self.random.pick(&[Place::Head, Place::Between, Place::Tail]);
        let is_ready = place != Place::Head || self.program.store.ready();
        if is_long || !is_ready || !self.program.store.takes(range, place) {
            return;
        }
        let Some(name) = self.any_name(range) else { return };
        let last = self.model.now().0[&range].last();
        let begins = last.epoch.0 == 0 || self.random.chance(1, 30);
        let entry = if begins {
            let position = Position { epoch: last.epoch.next(), seq: Seq(last.seq.0 + self.random.within(1, 5)) };
            Entry { position, time: self.unix, key: Vec::new(), change: Change::Begin { after: last }, asked: None }
        } else {
            let position = Position { epoch: last.epoch, seq: last.seq.next() };
            let longest = self.program.store.longest_record() - MOST_NAME;
            let change = draw_change(&mut self.random, longest, self.unix);
            let has_key = !matches!(change, Change::Flush { .. });
            let key = if has_key { name } else { Vec::new() };
            self.next_request += 1;
            let id = RequestId { session: self.random.below(3), number: self.next_request };
            let asked = Asked {
                id,
                answered: self.next_request - 1,
                asker: Asker { address: Address::Client(7), tag: 0 },
                outcome: Outcome::NotStored,
                shown: None,
            };
            let asked = self.random.chance(2, 3).then_some(asked);
            // A clock is ahead now and then. A later record may set that back.
            let ahead = if self.next_request.is_multiple_of(61) { 1000 } else { 0 };
            Entry { position, time: self.unix + ahead, key, change, asked }
        };
        let gate = self.program.store.append(range, &Arc::new(entry.clone()));
        self.wrote(gate, range, RangeWrite::Append(entry));
    }

    fn commit(&mut self) {
        let Some(range) = self.any_range() else { return };
        let durable = self.program.store.durable();
        self.synced.retain(|(gate, ..)| *gate > durable);
        let state = &self.model.now().0[&range];
        let Some(entry) = state.suffix().next().cloned() else { return };
        // A learner commits what is not durable yet.
        let is_durable = !self.synced.iter().any(|(_, of, at)| *of == range && *at == entry.position);
        if is_durable || (state.held.is_none() && self.program.store.is_logged()) {
            let lies = self.options.secret.position(&entry.key);
            self.program.store.commit(range, &entry, &lies);
            self.model.commit(range, &entry);
        }
    }

    fn truncate(&mut self) {
        let Some(range) = self.any_range() else { return };
        let state = &self.model.now().0[&range];
        let mut places = vec![state.meta.committed];
        places.extend(state.suffix().map(|entry| entry.position));
        let to = *self.random.pick(&places);
        let gate = self.program.store.truncate(range, to);
        self.wrote(gate, range, RangeWrite::Truncate(to));
    }

    fn hold(&mut self) {
        let Some(range) = self.any_range() else { return };
        let attempt = Attempt(self.random.below(1000) as u32);
        let gate = self.program.store.hold(range, attempt);
        self.wrote(gate, range, RangeWrite::Hold(attempt));
    }

    fn reset(&mut self) {
        let Some(range) = self.any_range() else { return };
        let gate = self.program.store.reset(range);
        self.wrote(gate, range, RangeWrite::Reset);
    }

    fn install(&mut self) {
        let Some(range) = self.any_range() else { return };
        if self.model.now().0[&range].suffix().next().is_some() {
            return;
        }
        let mut kept = Vec::new();
        for _ in 0..self.random.below(4) {
            let Some(key) = self.any_name(range) else { return };
            let position = Position { epoch: fawn_kv::ids::Epoch(1), seq: Seq(self.random.within(1, 50)) };
            let longest = self.program.store.longest_record() - MOST_NAME;
            let is_there = self.random.chance(4, 5);
            let mut version = is_there.then(|| draw_version(&mut self.random, longest, self.unix));
            if let Some(version) = &mut version {
                // All of it is one write.
                version.value.truncate(self.program.store.longest_record() / 8);
            }
            if !kept.iter().any(|other: &Kept| other.key == key) {
                kept.push(Kept { key, position, version });
            }
        }
        if !kept.is_empty()
            && let Some(gate) = self.program.store.install(range, &kept)
        {
            self.wrote(gate, range, RangeWrite::Install(kept));
        }
    }

    fn install_end(&mut self) {
        let Some(range) = self.any_range() else { return };
        let state = &self.model.now().0[&range];
        if state.suffix().next().is_some() {
            return;
        }
        let mut meta = state.meta.clone();
        meta.committed.epoch = meta.committed.epoch.next();
        meta.committed.seq.0 += self.random.below(60);
        let gate = self.program.store.install_end(range, &meta, Seq(self.random.below(10)));
        self.wrote(gate, range, RangeWrite::InstallEnd(meta));
    }

    fn new_range(&mut self) -> RangeId {
        self.next_range += 1;
        RangeId(self.next_range)
    }

    fn create(&mut self) {
        let quarters = Interval::ALL.divide(4);
        let free = quarters.iter().filter(|keys| self.model.now().0.values().all(|range| !range.keys.overlaps(keys)));
        let free: Vec<Interval> = free.copied().collect();
        if free.is_empty() {
            return;
        }
        let keys = *self.random.pick(&free);
        let range = self.new_range();
        let gate = self.program.store.create(range, keys);
        self.wrote(gate, range, RangeWrite::Create(keys));
    }

    /// What is here of a range is inherited by two, however much it is; now and then this node is part of one alone.
    fn split(&mut self) {
        let Some(range) = self.any_range() else { return };
        let state = std::rc::Rc::clone(&self.model.now().0[&range]);
        let Interval { low, high } = state.keys;
        // A range ends with all of it committed, or cut off; records that are not go with it here, but not many.
        let uncommitted: usize = state.suffix().map(Entry::bytes).sum();
        if high.prefix() - low.prefix() < 1 << 60 || uncommitted > self.program.store.longest_record() {
            return;
        }
        let at = Key::lowest_with_prefix(low.prefix() + (high.prefix() - low.prefix()) / 2);
        let Some((left, right)) = state.keys.cut(&at) else { return };
        let secret = self.options.secret;
        let part = |keys: Interval| {
            let is_there = |entry: &&Entry| entry.key.is_empty() || keys.contains(&secret.position(&entry.key));
            let entries = state.suffix().filter(is_there).cloned().collect();
            RecoveredRange { keys, held: state.held, meta: state.meta.cut(keys), entries }
        };
        let mut ranges = vec![(self.new_range(), part(left)), (self.new_range(), part(right))];
        if self.random.chance(1, 5) {
            ranges.remove(self.random.below(2) as usize);
        }
        let gate = self.program.store.inherit(&[range], &ranges);
        self.wrote(gate, range, RangeWrite::Inherit(vec![range], ranges));
    }

    fn merge(&mut self) {
        let Some(lower) = self.any_range() else { return };
        let mine = std::rc::Rc::clone(&self.model.now().0[&lower]);
        let next = mine.keys.high.successor();
        let ranges = self.model.now().0.iter();
        let Some((upper, other)) = ranges.clone().find(|(_, other)| Some(other.keys.low) == next) else { return };
        let (upper, other) = (*upper, std::rc::Rc::clone(other));
        if mine.suffix().next().is_some() || other.suffix().next().is_some() {
            return;
        }
        let committed = mine.meta.committed.max(other.meta.committed);
        let meta: Meta = mine.meta.clone().joined(other.meta.clone(), [mine.keys, other.keys], committed);
        let keys = Interval::new(mine.keys.low, other.keys.high);
        let merged = (self.new_range(), RecoveredRange { keys, held: mine.held, meta, entries: Vec::new() });
        let gate = self.program.store.inherit(&[lower, upper], std::slice::from_ref(&merged));
        self.wrote(gate, lower, RangeWrite::Inherit(vec![lower, upper], vec![merged]));
    }

    fn drop_range(&mut self) {
        let Some(range) = self.any_range() else { return };
        let gate = self.program.store.drop_range(range);
        self.wrote(gate, range, RangeWrite::Drop);
    }

    fn get(&mut self) {
        let Some(range) = self.any_range() else { return };
        if let Some(name) = self.any_name(range) {
            self.look(range, &name);
        }
    }

    fn scan(&mut self) {
        let Some(range) = self.any_range() else { return };
        let last = self.model.now().0[&range].last().seq.0;
        let since = if self.random.chance(1, 2) { 0 } else { self.random.below(last + 1) };
        self.copy(range, Seq(since));
    }
}

/// What a client stores, in a second, with a value of at most `longest` bytes.
fn draw_version(random: &mut Random, longest: usize, unix: u32) -> Version {
    let len = match random.below(20) {
        0 => longest,
        1 => random.within(0, longest as u64) as usize,
        _ => longest.min(random.below(300) as usize),
    };
    let mut value = vec![0; len];
    random.fill(&mut value);
    Version {
        value,
        flags: random.below(3) as u32,
        expiry: if random.chance(1, 6) { unix + random.below(40) as u32 } else { 0 },
        stale: random.chance(1, 9),
        won: random.chance(1, 9),
        client_cas: random.chance(1, 9).then(|| random.word()),
    }
}

/// What a record does to a key.
fn draw_change(random: &mut Random, longest: usize, unix: u32) -> Change {
    match random.below(10) {
        0 => Change::Nothing,
        1 => Change::Delete,
        2 if random.chance(1, 5) => Change::Flush { due: 0, keys: vec![Interval::ALL] },
        _ => Change::Value(draw_version(random, longest, unix)),
    }
}
