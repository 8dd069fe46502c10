//! What a range remembers of the requests that it has carried out, so that none is ever carried out twice.

use crate::entry::{Asked, Change, Entry};
use crate::ids::{Position, RequestId};
use crate::operation::Outcome;
use crate::paths::{Path, took};
use crate::planted::{Bug, planted};
use crate::steps::Steps;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing: it may be carried out.
    New,
    /// It was carried out by the record at this place.
    Done(Position, Outcome),
    /// The session has said that it was answered.
    Answered,
    /// The session is not remembered, and began too long ago for that to mean that it is new.
    Expired,
}

/// The requests of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Session {
    /// Up to this number all are answered.
    answered: u64,
    /// Those above it that were carried out, each by itself: not only the highest.
    done: BTreeMap<u64, (Position, Outcome)>,
    /// Unix second of its last record.
    used: u32,
}

impl Session {
    /// Whether it was not used since a second, and began, as its name says, up to another.
    fn is_over(&self, name: u64, idle_since: u32, horizon: u32) -> bool {
        self.used <= idle_since && began(name) <= horizon
    }

    /// Forgets requests that are answered. Whoever asks says which are: any number may be.
    fn forget_answered(&mut self) {
        self.done = self.answered.checked_add(1).map_or_else(BTreeMap::new, |first| self.done.split_off(&first));
    }
}

/// The committed requests of a range, by session. The same on every replica that has committed as far.
///
/// A session's number begins with the Unix second at which it began: the horizon is one of those.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    by: BTreeMap<u64, Session>,
    /// A session that began up to this second, and is not there, has been forgotten.
    horizon: u32,
    /// Of flushes that were carried out and are not known to be answered: which keys they have reached. It may be some of
    /// the range only, where ranges that were merged were not all asked before.
    flushed: BTreeMap<RequestId, Steps<bool>>,
}

impl Sessions {
    /// What is known of a request.
    pub fn known(&self, id: RequestId) -> Known {
        let Some(session) = self.by.get(&id.session) else {
            let expired = self.has_forgotten(id.session) && !planted(Bug::ExpiredExecutes);
            return if expired { Known::Expired } else { Known::New };
        };
        match session.done.get(&id.number) {
            Some((position, outcome)) => Known::Done(*position, *outcome),
            None if id.number <= session.answered => Known::Answered,
            None => Known::New,
        }
    }

    /// Whether the session is one of those that a [`Change::Expire`] of these seconds would have forgotten.
    pub fn would_forget(&self, session: u64, idle_since: u32, horizon: u32) -> bool {
        self.by.get(&session).is_some_and(|known| known.is_over(session, idle_since, horizon))
    }

    /// Whether the session may have been here, and is not remembered.
    fn has_forgotten(&self, session: u64) -> bool {
        self.horizon > 0 && began(session) <= self.horizon && !self.by.contains_key(&session)
    }

    /// The keys that the flush of this name has reached.
    pub fn flushed(&self, id: RequestId) -> Option<&Steps<bool>> {
        self.flushed.get(&id)
    }

    /// Notes what a committed record answers.
    pub fn commit(&mut self, entry: &Entry) {
        if let Change::Expire { idle_since, horizon } = entry.change {
            self.horizon = self.horizon.max(horizon);
            let before = self.by.len();
            self.by.retain(|name, session| !session.is_over(*name, idle_since, horizon));
            self.flushed.retain(|id, _| self.by.contains_key(&id.session));
            if self.by.len() < before {
                took(Path::SessionsForgotten);
            }
        }
        let Some(Asked { id, answered, outcome, .. }) = entry.asked else { return };
        let session = self.by.entry(id.session).or_default();
        session.used = session.used.max(entry.time);
        if answered > session.answered {
            session.answered = answered;
            session.forget_answered();
            self.flushed.retain(|flush, _| flush.session != id.session || flush.number > answered);
        }
        if planted(Bug::OnlyTheHighest) {
            session.done = session.done.split_off(&id.number);
        }
        if id.number > session.answered {
            let before = session.done.insert(id.number, (entry.position, outcome));
            let flushes = if let Change::Flush { keys, .. } = &entry.change { keys.as_slice() } else { &[] };
            let is_first = before.is_none() || !flushes.is_empty();
            assert!(is_first || may_double(), "at most one record of a request about a key is committed");
            for keys in flushes {
                self.flushed.entry(id).or_default().add(keys);
            }
        }
    }

    /// Of two ranges that become one: all that either remembers. What one has forgotten of a session the other never knew: a
    /// session that either has forgotten is.
    #[must_use]
    pub fn merged(mut self, mut other: Self) -> Self {
        let mut forgotten: Vec<u64> = self.by.keys().copied().filter(|id| other.has_forgotten(*id)).collect();
        forgotten.extend(other.by.keys().copied().filter(|id| self.has_forgotten(*id)));
        for id in forgotten {
            self.by.remove(&id);
            other.by.remove(&id);
        }
        for (id, theirs) in other.by {
            let mine = self.by.entry(id).or_default();
            mine.answered = mine.answered.max(theirs.answered);
            mine.used = mine.used.max(theirs.used);
            mine.done.extend(theirs.done);
            mine.forget_answered();
        }
        for (id, theirs) in other.flushed {
            self.flushed.entry(id).or_default().join(&theirs);
        }
        self.flushed.retain(|id, _| self.by.get(&id.session).is_some_and(|session| session.answered < id.number));
        self.horizon = self.horizon.max(other.horizon);
        self
    }

    /// Sessions that are remembered.
    pub fn len(&self) -> usize {
        self.by.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.by.is_empty()
    }

    /// Whether one of them was used last, and began, up to a second.
    pub fn forgets_any(&self, idle_since: u32) -> bool {
        self.by.iter().any(|(name, session)| session.is_over(*name, idle_since, idle_since))
    }
}

/// The Unix second at which a session began.
fn began(session: u64) -> u32 {
    (session >> 32) as u32
}

/// Whether a planted bug carries requests out twice, for the checker to notice.
pub(crate) fn may_double() -> bool {
    [
        Bug::NoDedupe,
        Bug::CopyLosesSessions,
        Bug::SplitLosesSessions,
        Bug::MergeLosesSessions,
        Bug::AnsweredExecutes,
        Bug::ExpiredExecutes,
        Bug::OnlyTheHighest,
    ]
    .into_iter()
    .any(planted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Address, Asker, Epoch, Seq};

    #[test]
    fn of_two_ranges_that_become_one_neither_brings_back_a_session_that_the_other_has_forgotten() {
        let asker = Asker { address: Address::Client(1), tag: 0 };
        let id = |number| RequestId { session: 5 << 32, number };
        let entry = |seq, time, change, id: Option<RequestId>| {
            let asked = id.map(|id| Asked { id, answered: 0, asker, outcome: Outcome::Deleted, shown: None });
            Entry { position: Position { epoch: Epoch(1), seq: Seq(seq) }, time, key: Vec::new(), change, asked }
        };
        let (mut one, mut other) = (Sessions::default(), Sessions::default());
        one.commit(&entry(1, 7, Change::Nothing, Some(id(1))));
        one.commit(&entry(2, 20, Change::Expire { idle_since: 10, horizon: 10 }, None));
        other.commit(&entry(1, 8, Change::Nothing, Some(id(2))));
        for merged in [one.clone().merged(other.clone()), other.merged(one)] {
            assert_eq!(merged.known(id(1)), Known::Expired, "it was carried out in one of them");
        }
    }

    #[test]
    fn a_session_may_say_that_all_there_can_be_is_answered() {
        let mut sessions = Sessions::default();
        for (seq, answered) in [(1, 0), (2, u64::MAX)] {
            let (id, asker) = (RequestId { session: 5, number: seq }, Asker { address: Address::Client(1), tag: 0 });
            let asked = Some(Asked { id, answered, asker, outcome: Outcome::Deleted, shown: None });
            let position = Position { epoch: Epoch(1), seq: Seq(seq) };
            sessions.commit(&Entry { position, time: 7, key: Vec::new(), change: Change::Nothing, asked });
        }
        let sessions = Sessions::default().merged(sessions);
        for number in [1, 2, 3, u64::MAX] {
            assert_eq!(sessions.known(RequestId { session: 5, number }), Known::Answered);
        }
    }
}
