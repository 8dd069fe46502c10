//! A datastore in memory whose unsynced writes are lost in a crash, all or the last of them.

use std::collections::{BTreeMap, HashMap, VecDeque};

use fawn_kv::entry::{Change, Entry, Kept};
use fawn_kv::ids::{Attempt, Position, RangeId};
use fawn_kv::sessions::Sessions;
use fawn_kv::store::{Gate, Lookup, RangeStore, Recovered, Ticket};

use crate::random::Random;

/// Keys in one part of a copy.
const SCAN: usize = 8;

/// One write.
#[derive(Clone, Debug)]
enum Write {
    Append(Entry),
    Truncate(Position),
    Hold(Attempt),
    Reset,
    Install(Vec<Kept>),
    InstallEnd(Position, Sessions),
    /// What is committed up to here need not be in the log any more.
    Commit(Position),
}

/// One range.
#[derive(Clone, Debug, Default)]
struct Image {
    kept: BTreeMap<Vec<u8>, Kept>,
    held: Option<Attempt>,
    committed: Position,
    sessions: Sessions,
    entries: VecDeque<Entry>,
}

impl Image {
    fn write(&mut self, write: &Write) {
        match write {
            Write::Append(entry) => self.entries.push_back(entry.clone()),
            Write::Truncate(to) => while self.entries.pop_back_if(|entry| entry.position > *to).is_some() {},
            Write::Hold(attempt) => self.held = Some(*attempt),
            Write::Reset => *self = Self::default(),
            Write::Install(kept) => self.keep_all(kept),
            Write::InstallEnd(at, sessions) => (self.committed, self.sessions) = (*at, sessions.clone()),
            Write::Commit(to) => {
                while let Some(entry) = self.entries.pop_front_if(|entry| entry.position <= *to) {
                    self.committed = entry.position;
                    self.sessions.commit(&entry);
                    self.commit(&entry);
                }
            }
        }
    }

    fn commit(&mut self, entry: &Entry) {
        let version = match &entry.change {
            Change::Nothing => return,
            Change::Delete => None,
            Change::Value(version) => Some(version.clone()),
        };
        self.keep(Kept { key: entry.key.clone(), position: entry.position, version });
    }

    fn keep_all(&mut self, kept: &[Kept]) {
        for kept in kept {
            self.keep(kept.clone());
        }
    }

    fn keep(&mut self, kept: Kept) {
        if self.kept.get(&kept.key).is_none_or(|other| other.position < kept.position) {
            self.kept.insert(kept.key.clone(), kept);
        }
    }
}

/// The datastore of one simulated node.
#[derive(Debug)]
pub struct MemoryStore {
    /// What lookups see: only the keys.
    shown: HashMap<RangeId, Image>,
    /// What a crash leaves, at least.
    base: BTreeMap<RangeId, Image>,
    /// What is not durable yet, in order.
    unsynced: VecDeque<(RangeId, Write)>,
    durable: Gate,
    /// Lookups that wait for flash.
    pub waiting: Vec<(Ticket, Option<Kept>)>,
    random: Random,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(random: Random) -> Self {
        Self {
            shown: HashMap::new(),
            base: BTreeMap::new(),
            unsynced: VecDeque::new(),
            durable: Gate(0),
            waiting: Vec::new(),
            random,
        }
    }

    fn write(&mut self, range: RangeId, write: Write) -> Gate {
        self.unsynced.push_back((range, write));
        Gate(self.durable.0 + self.unsynced.len() as u64)
    }

    /// The gate of everything written so far.
    pub fn written(&self) -> Gate {
        Gate(self.durable.0 + self.unsynced.len() as u64)
    }

    /// A sync that began with `gate` is done.
    pub fn synced(&mut self, gate: Gate) {
        while self.durable < gate {
            let (range, write) = self.unsynced.pop_front().expect("a gate is written before it is durable");
            self.base.entry(range).or_default().write(&write);
            self.durable.0 += 1;
        }
    }

    /// Loses what is not durable, but perhaps for the first of it; and says what is left.
    pub fn crash(mut self, random: Random) -> (Self, BTreeMap<RangeId, Recovered>) {
        let survives = self.random.below(self.unsynced.len() as u64 + 1);
        if self.random.chance(1, 2) {
            self.synced(Gate(self.durable.0 + survives));
        }
        let mut store = Self::new(random);
        let recovered = |image: &Image| Recovered {
            held: image.held,
            committed: image.committed,
            sessions: image.sessions.clone(),
            entries: image.entries.iter().cloned().collect(),
        };
        let recovered = self.base.iter().map(|(range, image)| (*range, recovered(image))).collect();
        let shown = |image: &Image| Image { kept: image.kept.clone(), ..Image::default() };
        store.shown = self.base.iter().map(|(range, image)| (*range, shown(image))).collect();
        store.base = self.base;
        (store, recovered)
    }
}

impl RangeStore for MemoryStore {
    fn append(&mut self, range: RangeId, entry: &Entry) -> Gate {
        self.write(range, Write::Append(entry.clone()))
    }

    fn truncate(&mut self, range: RangeId, to: Position) -> Gate {
        self.write(range, Write::Truncate(to))
    }

    fn hold(&mut self, range: RangeId, attempt: Attempt) -> Gate {
        self.write(range, Write::Hold(attempt))
    }

    fn reset(&mut self, range: RangeId) -> Gate {
        self.shown.remove(&range);
        self.write(range, Write::Reset)
    }

    fn install(&mut self, range: RangeId, kept: &[Kept]) -> Gate {
        let image = self.shown.entry(range).or_default();
        image.keep_all(kept);
        self.write(range, Write::Install(kept.to_vec()))
    }

    fn install_end(&mut self, range: RangeId, at: Position, sessions: &Sessions) -> Gate {
        self.write(range, Write::InstallEnd(at, sessions.clone()))
    }

    fn commit(&mut self, range: RangeId, entry: &Entry, _: &Sessions) {
        self.shown.entry(range).or_default().commit(entry);
        // As when a segment is sealed.
        if self.random.chance(1, 8) {
            self.write(range, Write::Commit(entry.position));
        }
    }

    fn lookup(&mut self, range: RangeId, key: &[u8], ticket: Ticket) -> Lookup {
        let kept = self.shown.get(&range).and_then(|image| image.kept.get(key)).cloned();
        if self.random.chance(1, 3) {
            self.waiting.push((ticket, kept));
            return Lookup::Later;
        }
        Lookup::Known(kept)
    }

    fn scan(&self, range: RangeId, after: Option<&[u8]>) -> (Vec<Kept>, bool) {
        let Some(image) = self.shown.get(&range) else { return (Vec::new(), false) };
        let from = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        let mut rest = image.kept.range::<[u8], _>((from, std::ops::Bound::Unbounded)).map(|(_, kept)| kept.clone());
        let part = rest.by_ref().take(SCAN).collect();
        (part, rest.next().is_some())
    }

    fn durable(&self) -> Gate {
        self.durable
    }
}
