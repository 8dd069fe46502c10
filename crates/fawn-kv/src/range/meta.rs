//! What a range remembers beside its keys: the same on every replica that has committed as far.

use crate::ids::{Epoch, Position, Seq};
use crate::range::entry::{Change, Entry, Version};
use crate::range::fences::Fences;
use crate::range::range_map::RangeMap;
use crate::range::sessions::Sessions;
use crate::testing::injected_bugs::{Bug, planted};
use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};

/// What flushes have made of some keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Flush {
    /// Versions up to this number are gone.
    upto: u64,
    /// Unix second from which on everything is gone that was written before; 0 for none.
    due: u32,
}

/// What holds as of a place in the log: what is still there at the range's time, and who is fenced off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alive {
    /// The range's time: the Unix second that the newest record is stamped with.
    pub time: u32,
    /// By position.
    flushes: RangeMap<Flush>,
    /// Which wedge epochs are served still.
    pub fences: Fences,
}

impl Alive {
    /// A record is in the log.
    pub fn apply(&mut self, entry: &Entry) {
        if let Change::Fence { keys, epoch, .. } = &entry.change {
            self.fences.raise(keys, *epoch);
        }
        let time = if self.is_set_back(entry) { entry.time } else { self.time.max(entry.time) };
        let seq = entry.position.seq.0;
        self.time = time;
        let is_due = |flush: &Flush| flush.due > 0 && flush.due <= time;
        if self.flushes.values().any(is_due) {
            self.flushes.change(&Interval::ALL, |flush| {
                if is_due(flush) {
                    *flush = Flush { upto: flush.upto.max(seq - 1), due: 0 };
                }
            });
        }
        if let Change::Flush { due, keys } = &entry.change {
            for keys in keys {
                // One that comes later takes the place of one that is not due yet.
                self.flushes.change(keys, |flush| {
                    *flush = if *due <= time { Flush { upto: seq, due: 0 } } else { Flush { due: *due, ..*flush } };
                });
            }
        }
    }

    /// Whether a record that follows sets the time back: one that does nothing, that nobody has asked for, and that is stamped
    /// with an earlier second. What has expired since and is still there is there again.
    pub fn is_set_back(&self, entry: &Entry) -> bool {
        entry.change == Change::Nothing && entry.asked.is_none() && entry.time < self.time
    }

    /// Up to which number versions are gone by flushes, stretch by stretch.
    pub fn flushed(&self, keys: &Interval) -> impl Iterator<Item = (Interval, u64)> {
        self.flushes.parts(keys).map(|(keys, flush)| (keys, flush.upto))
    }

    /// Stretches that flushes tell apart.
    pub fn stretches(&self) -> usize {
        self.flushes.values().count()
    }

    /// Whether no flush tells the two apart.
    pub fn is_flushed_as(&self, other: &Self) -> bool {
        self.flushes == other.flushes
    }

    /// Whether a version of `key` can be seen when a record stamped with `time`, no less than [`Alive::time`], is next.
    pub fn shows_at(&self, key: &Key, version: &Version, seq: Seq, time: u32) -> bool {
        let flush = self.flushes.at(key);
        let flushed = (flush.due > 0 && flush.due <= time) || seq.0 <= flush.upto;
        !flushed && (version.expiry == 0 || version.expiry > time)
    }

    /// What decides which versions of the key at a position can be seen: the time, and up to where they were flushed.
    pub fn as_of(&self, place: &Key) -> (u32, u64) {
        (self.time, self.flushes.at(place).upto)
    }

    /// Unix second from which on what is there now of the key at a position is gone by a flush; 0: none is to come.
    pub fn flush_due(&self, place: impl FnOnce() -> Key) -> u32 {
        let awaits = self.flushes.values().any(|flush| flush.due > 0);
        if awaits { self.flushes.at(&place()).due } else { 0 }
    }

    /// What decides which versions of these keys can be seen, and nothing else.
    #[must_use]
    pub fn shown_of(&self, keys: Interval) -> Self {
        Self { time: self.time, flushes: self.flushes.cut(&keys), fences: Fences::default() }
    }

    fn cut(&self, keys: Interval) -> Self {
        Self { time: self.time, flushes: self.flushes.cut(&keys), fences: self.fences.clone() }
    }

    fn joined(self, other: &Self, keys: [Interval; 2]) -> Self {
        let Self { time, flushes, mut fences } = self;
        fences.join(&other.fences);
        let mut flushes = flushes.cut(&keys[0]);
        for (keys, flush) in other.flushes.parts(&keys[1]) {
            flushes.change(&keys, |slot| *slot = flush);
        }
        Self { time: time.max(other.time), flushes, fences }
    }
}

/// What is committed of a range, beside its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The end of what is committed.
    pub committed: Position,
    /// What was carried out.
    pub sessions: Sessions,
    /// What is still there.
    pub alive: Alive,
    /// The newest epochs, and where the log ended that each goes on from; oldest first.
    pub begins: Vec<(Epoch, Position)>,
}

/// Epochs that are remembered.
const BEGINS: usize = 16;

impl Meta {
    /// A record is committed.
    pub fn commit(&mut self, entry: &Entry) {
        self.committed = entry.position;
        if let Change::Begin { after } = entry.change {
            self.begins.push((entry.position.epoch, after));
            if self.begins.len() > BEGINS {
                self.begins.remove(0);
            }
        }
        if self.alive.is_set_back(entry) {
            self.sessions.set_back(entry.time);
        }
        self.sessions.commit(entry);
        self.alive.apply(entry);
    }

    /// What is known of a range that was a plain store: which was flushed up to a number, and is to be at a Unix second,
    /// or 0.
    pub fn adopted(committed: Position, keys: Interval, flushed: u64, due: u32) -> Self {
        let mut alive = Alive::default();
        alive.flushes.change(&keys, |flush| *flush = Flush { upto: flushed, due });
        Self { committed, alive, ..Self::default() }
    }

    /// What a part of a range inherits.
    #[must_use]
    pub fn cut(&self, keys: Interval) -> Self {
        let alive = if planted(Bug::SplitLosesFlush) { Alive::default() } else { self.alive.cut(keys) };
        let sessions = if planted(Bug::SplitLosesSessions) { Sessions::default() } else { self.sessions.clone() };
        Self { committed: self.committed, sessions, alive, begins: self.begins.clone() }
    }

    /// What a range inherits of the two that it is made of; `self` is the lower one.
    #[must_use]
    pub fn joined(self, other: Self, keys: [Interval; 2], committed: Position) -> Self {
        let alive =
            if planted(Bug::MergeLosesFlush) { Alive::default() } else { self.alive.joined(&other.alive, keys) };
        let sessions =
            if planted(Bug::MergeLosesSessions) { Sessions::default() } else { self.sessions.merged(other.sessions) };
        Self { committed, sessions, alive, begins: Vec::new() }
    }
}
