//! What a range remembers of the requests that it has carried out, so that none is ever carried out twice.

use crate::ids::{Position, RequestId};
use crate::operation::Outcome;
use crate::range::entry::{Asked, Change, Entry};
use crate::range::range_map::RangeMap;
use crate::range::sequence_map::SequenceMap;
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

/// What is known of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStatus {
    /// Nothing: it may be carried out.
    New,
    /// It was carried out by the record at this place.
    Done(Position, Outcome),
    /// The session has said that it was answered.
    Answered,
    /// The session is not remembered, and began too long ago for that to mean that it is new.
    Expired,
    /// Nothing, and there is no room for another session.
    NoRoom,
    /// Nothing, and there is no room for another request of its session before it says that more are answered.
    TooMany,
}

/// How much a range remembers, at most. Records that are not committed yet may add to it, and two ranges that are merged
/// come to twice as much until the first record of the new one.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Sessions.
    pub sessions: usize,
    /// Requests of one session, and some that came before these.
    pub unanswered: usize,
    /// Requests of all sessions, and ends of the stretches that flushes have reached. Each session may have one more.
    pub requests: usize,
    /// A session that was used within so many seconds is not forgotten to make room for another.
    pub least_s: u32,
    /// Of sessions that begin more than so many seconds later than the range's time there are half as many at most.
    pub early_s: u32,
}

/// Bytes that what a range remembers of sessions is encoded in, at most, with [`Bounds::default`] and as many records that are
/// not committed as [`Timing::pending`](crate::timing::Timing) allows: it fits into one message.
pub const ENCODED_BYTES: usize = 4 << 20;

impl Default for Bounds {
    fn default() -> Self {
        Self { sessions: 4096, unanswered: 4096, requests: 16_384, least_s: 60, early_s: 3600 }
    }
}

impl Bounds {
    /// With so many sessions and requests more.
    #[must_use]
    pub fn and(self, more: usize) -> Self {
        Self { sessions: self.sessions + more, requests: self.requests + more, ..self }
    }

    /// The first so many requests that are not answered are taken, although as many of their session are remembered as may be.
    fn oldest(&self) -> u64 {
        1 + self.unanswered as u64 / 64
    }

    /// For a member that refuses nobody.
    #[must_use]
    pub fn doubled(self) -> Self {
        Self { sessions: 2 * self.sessions, requests: 2 * self.requests, ..self }
    }
}

/// The requests of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Session {
    /// Up to this number all are answered.
    answered: u64,
    /// Those above it that were carried out, each by itself: not only the highest.
    done: SequenceMap<(Position, Outcome)>,
    /// Unix second of its last record.
    used: u32,
}

impl Session {
    /// Whether it was not used since a second, and began, as its name says, up to another.
    fn is_over(&self, name: u64, idle_since: u32, horizon: u32) -> bool {
        self.used <= idle_since && began(name) <= horizon
    }

    /// Nothing is remembered but its name, and none of its requests is carried out any more.
    fn spend(&mut self) {
        self.done.clear();
        self.answered = u64::MAX;
    }

    fn is_spent(&self) -> bool {
        self.answered == u64::MAX && self.done.is_empty()
    }

    /// Forgets requests that are answered. Whoever asks says which are: any number may be.
    fn forget_answered(&mut self) {
        self.done.remove_up_to(self.answered);
    }
}

/// The committed requests of a range, by session. The same on every replica that has committed as far.
///
/// A session's number begins with the Unix second at which it began: the horizon is one of those.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "EncodedSessions")]
pub struct Sessions {
    by: BTreeMap<u64, Session>,
    /// A session that began up to this second, and is not there, has been forgotten.
    horizon: u32,
    /// Of flushes that were carried out and are not known to be answered: which keys they have reached. It may be some of
    /// the range only, where ranges that were merged were not all asked before.
    flushed: BTreeMap<RequestId, RangeMap<bool>>,
    /// Requests in `by`, and ends of stretches in `flushed`.
    #[serde(skip)]
    requests: usize,
}

/// [`Sessions`] as they are encoded: the rest follows.
#[derive(Deserialize)]
#[serde(rename = "Sessions")]
struct EncodedSessions {
    by: BTreeMap<u64, Session>,
    horizon: u32,
    flushed: BTreeMap<RequestId, RangeMap<bool>>,
}

impl From<EncodedSessions> for Sessions {
    fn from(EncodedSessions { by, horizon, flushed }: EncodedSessions) -> Self {
        let mut sessions = Self { by, horizon, flushed, requests: 0 };
        sessions.count_again();
        sessions
    }
}

impl Sessions {
    /// What is known of a request.
    pub fn known(&self, id: RequestId) -> RequestStatus {
        self.judged(id, |_| RequestStatus::New)
    }

    /// The same at range time `time`, and whether there is room for the request, which says that all up to `answered` are.
    pub fn known_within(&self, id: RequestId, answered: u64, time: u32, bounds: &Bounds) -> RequestStatus {
        let is_full = self.requests >= bounds.requests;
        self.judged(id, |session| match session {
            None if is_full || self.by.len() >= bounds.sessions => RequestStatus::NoRoom,
            None if self.is_too_early(id.session, time, bounds) => RequestStatus::NoRoom,
            // What makes room is always taken. So are the oldest requests: none of those that are remembered can be forgotten
            // before they are answered.
            Some(session @ Session { done, .. }) if is_full || done.len() >= bounds.unanswered => {
                let makes_room = done.first().is_some_and(|first| first <= answered);
                let oldest = if is_full { 1 } else { bounds.oldest() };
                let is_old = id.number.saturating_sub(session.answered.max(answered)) <= oldest;
                if makes_room || is_old { RequestStatus::New } else { RequestStatus::TooMany }
            }
            _ => RequestStatus::New,
        })
    }

    /// What is known of a request; `new`: if that is nothing, by what is known of its session.
    fn judged(&self, id: RequestId, new: impl FnOnce(Option<&Session>) -> RequestStatus) -> RequestStatus {
        let Some(session) = self.by.get(&id.session) else {
            let expired = self.is_before_horizon(id.session) && !planted(Bug::ExpiredExecutes);
            return if expired { RequestStatus::Expired } else { new(None) };
        };
        match session.done.get(id.number) {
            Some((position, outcome)) => RequestStatus::Done(*position, *outcome),
            None if id.number <= session.answered => RequestStatus::Answered,
            None => new(Some(session)),
        }
    }

    /// Whether a session begins in a time to come, and too many do. They cannot be forgotten before.
    fn is_too_early(&self, session: u64, time: u32, bounds: &Bounds) -> bool {
        // Where the horizon is beyond the range's time, all have to begin later than that.
        let early = time.max(self.horizon).saturating_add(bounds.early_s);
        began(session) > early && self.begin_after(early).count() >= bounds.sessions / 2
    }

    /// The sessions that begin later than a second.
    fn begin_after(&self, second: u32) -> impl Iterator<Item = &Session> {
        self.by.range((Excluded(last_of(second)), Unbounded)).map(|(_, session)| session)
    }

    /// The second of its last committed record, if the session is remembered.
    pub fn used(&self, session: u64) -> Option<u32> {
        self.by.get(&session).map(|session| session.used)
    }

    /// Whoever begins another session begins it later than this second.
    pub fn horizon(&self) -> u32 {
        self.horizon
    }

    /// Whether nothing is remembered of the session but its name.
    pub fn is_spent(&self, session: u64) -> bool {
        self.by.get(&session).is_some_and(Session::is_spent)
    }

    /// Whether the session may have been here, and is not remembered.
    fn has_forgotten(&self, session: u64) -> bool {
        self.is_before_horizon(session) && !self.by.contains_key(&session)
    }

    fn is_before_horizon(&self, session: u64) -> bool {
        self.horizon > 0 && began(session) <= self.horizon
    }

    fn count_again(&mut self) {
        let requests: usize = self.by.values().map(|session| session.done.len()).sum();
        self.requests = requests + self.flushed.values().map(|keys| keys.values().count()).sum::<usize>();
    }

    /// The keys that the flush of this name has reached.
    pub fn flushed(&self, id: RequestId) -> Option<&RangeMap<bool>> {
        self.flushed.get(&id)
    }

    /// Notes what a committed record answers.
    pub fn commit(&mut self, entry: &Entry) {
        if let Change::Expire { idle_since, horizon } = entry.change {
            self.expire(idle_since, horizon);
        }
        let Some(Asked { id, answered, outcome, .. }) = entry.asked else { return };
        let session = self.by.entry(id.session).or_default();
        self.requests -= session.done.len();
        session.used = session.used.max(entry.time);
        if session.is_spent() {
            // A member of a weak chain has forgotten it, and the owner has not.
            session.answered = answered;
        }
        let mut flushes = matches!(entry.change, Change::Flush { .. });
        if answered > session.answered {
            session.answered = answered;
            session.forget_answered();
            if !self.flushed.is_empty() {
                let before = self.flushed.len();
                self.flushed.retain(|flush, _| flush.session != id.session || flush.number > answered);
                flushes |= self.flushed.len() < before;
            }
        }
        if planted(Bug::OnlyTheHighest) {
            session.done.remove_up_to(id.number.saturating_sub(1));
        }
        self.note(entry, id, outcome);
        if flushes {
            self.count_again();
        }
    }

    /// Remembers a request that was carried out.
    fn note(&mut self, entry: &Entry, id: RequestId, outcome: Outcome) {
        let session = self.by.entry(id.session).or_default();
        if id.number > session.answered {
            let before = session.done.insert(id.number, (entry.position, outcome));
            let flushes = if let Change::Flush { keys, .. } = &entry.change { keys.as_slice() } else { &[] };
            let is_first = before.is_none() || !flushes.is_empty();
            assert!(is_first || may_double(), "at most one record of a request about a key is committed");
            for keys in flushes {
                self.flushed.entry(id).or_default().add(keys);
            }
        }
        self.requests += session.done.len();
    }

    /// Forgets sessions that were not used since a second. Of one whose name begins later than `horizon`, the name is kept:
    /// no horizon would keep its requests off.
    fn expire(&mut self, idle_since: u32, horizon: u32) {
        if !planted(Bug::ForgottenWithoutHorizon) {
            self.horizon = self.horizon.max(horizon);
        }
        let before = self.by.len();
        self.by.retain(|name, session| !session.is_over(*name, idle_since, horizon));
        let early = self.by.range_mut((Excluded(last_of(horizon)), Unbounded)).map(|(_, session)| session);
        for session in early.filter(|session| session.used <= idle_since && !session.is_spent()) {
            took(Path::SessionSpent);
            session.spend();
        }
        let by = &self.by;
        self.flushed.retain(|id, _| by.get(&id.session).is_some_and(|session| session.answered < id.number));
        self.count_again();
        if self.by.len() < before {
            took(Path::SessionsForgotten);
        }
    }

    /// The range's time is set back to a second: no session was used later.
    pub fn set_back(&mut self, time: u32) {
        for session in self.by.values_mut() {
            session.used = session.used.min(time);
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
        self.count_again();
        self
    }

    /// Whether an operation on a part of a value is among the requests: nobody reads that who speaks a version before
    /// [`PARTS`](crate::wire::version::PARTS).
    pub fn are_of_parts(&self) -> bool {
        let mut done = self.by.values().flat_map(|session| session.done.iter());
        done.any(|(_, (_, outcome))| outcome.is_of_part())
    }

    /// Sessions that are remembered.
    pub fn len(&self) -> usize {
        self.by.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.by.is_empty()
    }

    /// Whether a [`Change::Expire`] of these seconds would forget any of them.
    pub fn forgets_any(&self, idle_since: u32, horizon: u32) -> bool {
        let is_over = |(name, session): (&u64, &Session)| {
            let is_to_come = began(*name) > horizon;
            session.used <= idle_since && !(is_to_come && session.is_spent())
        };
        self.by.iter().any(is_over)
    }

    /// What has to be forgotten at range time `time` so that there is room again, of what was not used since `newest`; `None`:
    /// there is room.
    pub fn overfull(&self, bounds: &Bounds, newest: u32, time: u32) -> Option<Room> {
        let (mut sessions, mut requests) = (self.by.len(), self.requests);
        if sessions < bounds.sessions && requests < bounds.requests {
            return None;
        }
        // One that began later than it was used leaves its name.
        let of = |(name, session): (&u64, &Session)| (session.used, began(*name) <= session.used, session.done.len());
        let mut uses: Vec<(u32, bool, usize)> = self.by.iter().map(of).collect();
        uses.sort_unstable();
        let mut upto = 0;
        for (used, goes, done) in uses {
            upto = used;
            sessions -= usize::from(goes);
            requests -= done;
            if sessions < bounds.sessions - bounds.sessions / 8 && requests < bounds.requests - bounds.requests / 8 {
                break;
            }
        }
        let idle_since = upto.min(newest);
        Some(Room { idle_since, horizon: self.horizon_for_room(idle_since, time, bounds) })
    }

    /// Whether there is room for another session, or there will be once none that is here is used any more.
    pub fn makes_room(&self, bounds: &Bounds, time: u32) -> bool {
        let room = self.overfull(bounds, u32::MAX, time);
        room.is_none_or(|Room { idle_since, horizon }| {
            let stays = |(name, session): &(&u64, &Session)| !session.is_over(**name, idle_since, horizon);
            self.by.iter().filter(stays).count() < bounds.sessions
        })
    }

    /// The horizon that makes room where those named after a time to come leave none: so far that enough of them that were not
    /// used since a second are kept off by it. What begins up to there is given another name.
    fn horizon_for_room(&self, idle_since: u32, time: u32, bounds: &Bounds) -> u32 {
        let horizon = idle_since.max(self.horizon);
        let goes = |session: &Session| session.used <= idle_since;
        let begun = self.by.range(..=last_of(horizon)).filter(|(_, session)| goes(session)).count();
        let mut left = self.by.len() - begun;
        if left < bounds.sessions || planted(Bug::NamesStay) {
            return horizon;
        }
        // Those beyond are half as many at most, unless the range's time was set back since.
        let last = time.max(self.horizon).saturating_add(bounds.early_s.saturating_mul(2));
        let beyond = self.by.range((Excluded(last_of(last)), Unbounded)).map(|(name, _)| began(*name));
        let last = beyond.rev().nth(bounds.sessions / 2).unwrap_or(last);
        let to_come = self.by.range((Excluded(last_of(horizon)), Included(last_of(last))));
        let mut upto = horizon;
        for (name, _) in to_come.filter(|(_, session)| goes(session)) {
            if left < bounds.sessions - bounds.sessions / 8 && began(*name) > upto {
                break;
            }
            (upto, left) = (began(*name), left - 1);
        }
        took(Path::NamesMadeRoom);
        upto
    }
}

/// What is to be forgotten to make room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Sessions that were not used since this second.
    pub idle_since: u32,
    /// Of them those that began up to this one; of the others the name is kept.
    pub horizon: u32,
}

/// The Unix second at which a session began.
fn began(session: u64) -> u32 {
    (session >> 32) as u32
}

/// The last name of a session that begins in a second.
fn last_of(second: u32) -> u64 {
    u64::from(second) << 32 | u64::from(u32::MAX)
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
        Bug::ForgottenWithoutHorizon,
        Bug::OnlyTheHighest,
    ]
    .into_iter()
    .any(planted)
}

#[cfg(test)]
mod tests;
