//! What a range remembers beside its keys: the same on every replica that has committed as far.

use crate::chain::Fences;
use crate::entry::{Change, Entry, Version};
use crate::ids::{Epoch, Position, Seq};
use crate::planted::{Bug, planted};
use crate::sessions::Sessions;
use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};

/// A `flush_all`: of the range, or of a part of it that was another range when it was flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Flush {
    keys: Interval,
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
    /// None, or one for every key.
    flushes: Vec<Flush>,
    /// Which wedge epochs are served still.
    pub fences: Fences,
}

impl Alive {
    /// A record is in the log.
    pub fn apply(&mut self, keys: Interval, entry: &Entry) {
        if let Change::Fence { keys, epoch, .. } = &entry.change {
            self.fences.raise(keys, *epoch);
        }
        let time = self.time.max(entry.time);
        self.time = time;
        for flush in self.flushes.iter_mut().filter(|flush| flush.due > 0 && flush.due <= time) {
            (flush.upto, flush.due) = (flush.upto.max(entry.position.seq.0 - 1), 0);
        }
        if let Change::Flush { due } = entry.change {
            if due <= time {
                self.flushes = vec![Flush { keys, upto: entry.position.seq.0, due: 0 }];
            } else if self.flushes.is_empty() {
                self.flushes.push(Flush { keys, upto: 0, due });
            }
            for flush in self.flushes.iter_mut().filter(|_| due > time) {
                flush.due = due;
            }
        }
    }

    /// Whether no flush tells the two apart.
    pub fn is_flushed_as(&self, other: &Self) -> bool {
        self.flushes == other.flushes
    }

    /// Whether a version of `key` can be seen when a record stamped with `time`, no less than [`Alive::time`], is next.
    pub fn shows_at(&self, key: &Key, version: &Version, seq: Seq, time: u32) -> bool {
        let gone = |flush: &Flush| (flush.due > 0 && flush.due <= time) || seq.0 <= flush.upto;
        let flushed = self.flushes.iter().any(|flush| gone(flush) && flush.keys.contains(key));
        !flushed && (version.expiry == 0 || version.expiry > time)
    }

    fn cut(&self, keys: Interval) -> Self {
        let part = |flush: &Flush| {
            let (low, high) = (flush.keys.low.max(keys.low), flush.keys.high.min(keys.high));
            (low <= high).then(|| Flush { keys: Interval::new(low, high), ..*flush })
        };
        let (time, fences) = (self.time, self.fences.clone());
        Self { time, flushes: self.flushes.iter().filter_map(part).collect(), fences }
    }

    fn joined(self, other: Self, keys: [Interval; 2]) -> Self {
        let time = self.time.max(other.time);
        let mut fences = self.fences.clone();
        fences.join(&other.fences);
        let mut flushes: Vec<Flush> = Vec::new();
        if self.flushes.is_empty() && other.flushes.is_empty() {
            return Self { time, flushes, fences };
        }
        for (part, keys) in [self, other].into_iter().zip(keys) {
            if part.flushes.is_empty() {
                flushes.push(Flush { keys, upto: 0, due: 0 });
            }
            flushes.extend(part.flushes);
        }
        Self { time, flushes, fences }
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
    pub fn commit(&mut self, keys: Interval, entry: &Entry) {
        self.committed = entry.position;
        if let Change::Begin { after } = entry.change {
            self.begins.push((entry.position.epoch, after));
            if self.begins.len() > BEGINS {
                self.begins.remove(0);
            }
        }
        self.sessions.commit(entry);
        self.alive.apply(keys, entry);
    }

    /// Whether this log is known to go on from one that was committed up to `other`. It does not where members lost what
    /// they had not synced, and the chain went on from before it.
    pub fn goes_on_from(&self, other: Position) -> bool {
        if other == Position::default() {
            return true;
        }
        match self.begins.iter().find(|(epoch, _)| *epoch > other.epoch) {
            Some((_, after)) => {
                let is_next = self.begins.first().is_some_and(|(epoch, _)| *epoch <= other.epoch.next());
                is_next && other <= *after
            }
            None => true,
        }
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
        let alive = if planted(Bug::MergeLosesFlush) { Alive::default() } else { self.alive.joined(other.alive, keys) };
        let sessions =
            if planted(Bug::MergeLosesSessions) { Sessions::default() } else { self.sessions.merged(other.sessions) };
        Self { committed, sessions, alive, begins: Vec::new() }
    }
}
