//! Requests at the head: never carried out twice, conditions judged against the newest state.

use super::context::Context;
use super::replica::{Active, Phase, Replica};
use super::requests::Request;
use super::stretch::NO_KEY;
use crate::ids::{Asker, Position, RangeId, RequestId};
use crate::operation::{self, Append, Decision, Item, NewValue, Operation, Outcome, evaluate};
use crate::range::entry::{Asked, Change, Entry, Kept, MAX_KEY_BYTES, MAX_VALUE_BYTES, Shown, Version};
use crate::range::sessions::{RequestStatus, Room, Sessions};
use crate::store::{Lookup, Place, RangeStore, Ticket};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::{Now, Timing};
use crate::wire::Answer;
use fawn_ring::Key;

/// By how many seconds a range's time may be ahead of its head's clock: by so much clocks may differ, about.
const AHEAD_S: u32 = 5;

impl Active {
    /// Whether the chain takes no writes.
    pub(super) fn is_too_short(&self) -> bool {
        let too_few = !self.chain.takes_writes();
        if too_few {
            took(Path::TooFew);
        }
        too_few && !planted(Bug::TooShort)
    }

    /// Whether its store has no room for another record of the head just now. A member that does not answer takes what the
    /// owner takes for as long as its log can: nobody waits for it.
    pub(super) fn is_behind<S: RangeStore>(&self, range: RangeId, context: &mut Context<'_, S>) -> bool {
        if self.is_silent() {
            return !context.store.takes(range, Place::Silent);
        }
        !context.store.ready() || !context.store.takes(range, Place::Head)
    }
}

impl Replica {
    pub(super) fn request<S: RangeStore>(&mut self, mut request: Request, context: &mut Context<'_, S>) {
        let (asker, id) = (request.asker, request.id);
        if request.key.is_empty() || request.key.len() > MAX_KEY_BYTES {
            return self.reply(asker, id, Answer::Malformed, context);
        }
        if !self.log.keys().contains(&request.lies) {
            return self.reply(asker, id, Answer::NotMine, context);
        }
        let is_head = matches!(&self.phase, Phase::Active(active) if active.is_head());
        if is_head && self.log.is_fenced(&request.lies, request.wedge) {
            // Nor is it told what came of a try by way of the new owner, which may not know that yet, and cache what was
            // there before.
            return self.reply(asker, id, Answer::Fenced, context);
        }
        request.is_done = match self.answered(id, request.answered, context) {
            // What it showed is looked up.
            Some(Answer::Done { outcome, .. }) if outcome.shows_item() => true,
            Some(answer) => return self.reply(asker, id, answer, context),
            None => false,
        };
        let crowded = self.is_crowded(context);
        let Phase::Active(active) = &mut self.phase else { return };
        // It waits for its record to be committed, or for its key to be read.
        if self.log.suffix().answers(id) || active.queue.holds(id) {
            took(Path::RetryWaits);
            return;
        }
        if active.chain.is_weak() && active.chain.epoch != request.epoch && !planted(Bug::WeakAnyEpoch) {
            // Not all members were asked.
            return self.reply(asker, id, Answer::NotMine, context);
        }
        let behind = active.is_behind(self.log.range(), context);
        if crowded || behind {
            return self.reply(asker, id, Answer::Busy, context);
        }
        if active.queue.by_key.contains_key(&request.key) {
            return active.queue.push(request);
        }
        let is_blind = !request.is_done && is_blind(&request.operation);
        let needs_no_read = (is_blind || self.log.suffix().has_key(&request.lies)) && !planted(Bug::HeadReadsCommitted);
        let ticket = context.tickets.1;
        let found = if needs_no_read {
            Lookup::Known(None)
        } else {
            context.store.lookup(self.log.range(), &request.key, ticket)
        };
        match found {
            Lookup::Known(kept) if request.is_done => self.resume(request, kept.as_ref(), context),
            Lookup::Known(kept) => self.evaluate(request, kept.as_ref(), context),
            Lookup::Later => {
                context.tickets.0.insert(ticket, self.log.range());
                context.tickets.1 += 1;
                active.queue.reads.insert(ticket, request.key.clone());
                active.queue.push(request);
            }
        }
    }

    /// Answers, unless that is for the owner to do.
    pub(super) fn reply<S: RangeStore>(
        &self,
        asker: Asker,
        id: RequestId,
        answer: Answer,
        context: &mut Context<'_, S>,
    ) {
        if !matches!(&self.phase, Phase::Active(active) if active.is_silent()) {
            context.reply(asker, id, answer);
        }
    }

    /// What a request can be answered at once, if anything: it was carried out, or cannot be, here. It says that all of its
    /// session are answered up to `upto`.
    pub(super) fn answered<S: RangeStore>(&self, id: RequestId, upto: u64, context: &Context<'_, S>) -> Option<Answer> {
        let Phase::Active(active) = &self.phase else { return Some(Answer::NotMine) };
        if !active.is_head() {
            return Some(Answer::NotMine);
        }
        let known = self.log.meta().sessions.known_within(id, upto, self.log.time(), &context.timing.sessions);
        match known {
            RequestStatus::Done(..) if planted(Bug::NoDedupe) => {}
            RequestStatus::Answered if planted(Bug::AnsweredExecutes) => {}
            RequestStatus::Done(position, outcome) => {
                took(Path::RetryAnswered);
                return Some(Answer::Done { outcome, position, again: true, shown: None });
            }
            // Whoever does not answer cannot say that it has forgotten the session, as the owner need not have: their clocks
            // may have jumped. It would miss all that comes under that name.
            RequestStatus::Answered | RequestStatus::Expired
                if active.is_silent() && self.forgot(known, id.session) => {}
            RequestStatus::Answered | RequestStatus::Expired => {
                took(if known == RequestStatus::Expired { Path::SessionExpired } else { Path::RetryRefused });
                return Some(unknown(&self.log.meta().sessions, context));
            }
            RequestStatus::New | RequestStatus::NoRoom | RequestStatus::TooMany if self.forgets(id.session, active) => {
                return Some(Answer::Busy);
            }
            // Whoever does not answer cannot refuse either.
            RequestStatus::NoRoom | RequestStatus::TooMany
                if active.is_silent() || self.log.suffix().answers(id) || active.queue.holds(id) => {}
            RequestStatus::NoRoom | RequestStatus::TooMany => {
                took(if known == RequestStatus::NoRoom { Path::NoRoomForSession } else { Path::TooManyUnanswered });
                return Some(Answer::Busy);
            }
            RequestStatus::New => {}
        }
        if planted(Bug::RetryBeforeCommit)
            && let Some(Entry { asked: Some(asked), position, .. }) = self.log.suffix().answer(id)
        {
            return Some(Answer::Done { outcome: asked.outcome, position: *position, again: true, shown: None });
        }
        active.is_too_short().then_some(Answer::TooFew)
    }

    /// Whether what is known of a request is that its session was forgotten.
    fn forgot(&self, known: RequestStatus, session: u64) -> bool {
        let is_forgotten = known == RequestStatus::Expired || self.log.meta().sessions.is_spent(session);
        is_forgotten && !planted(Bug::WeakForgetsSilently)
    }

    /// Whether a session is about to be forgotten: a record of it that came after that would bring it back without what it
    /// has asked before.
    fn forgets(&self, session: u64, active: &Active) -> bool {
        if active.queue.expiry <= self.log.committed().seq {
            return false;
        }
        self.log.suffix().forgets(session, self.log.meta().sessions.used(session))
    }

    /// Forgets sessions that have not been used for long and, if there are too many, those used least recently.
    pub(super) fn expire_sessions<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let Phase::Active(active) = &mut self.phase else { return };
        let Timing { session_idle_s, sessions: bounds, .. } = context.timing;
        let time = self.log.time();
        if active.queue.stands.0 != time {
            active.queue.stands = (time, context.now_us);
        }
        // The range's time stands still while nothing is written, and nothing may be before there is room. Nor need the clock
        // of the day have come so far.
        let stood_s = context.now_us.saturating_sub(active.queue.stands.1) / 1_000_000;
        let now = time.saturating_add(stood_s as u32).max(context.unix);
        // Once a second is enough. The range's time may have been set back since.
        let is_under_way = active.queue.expiry > self.log.committed().seq;
        if !active.is_head() || active.queue.expired_at == now || is_under_way {
            return;
        }
        active.queue.expired_at = now;
        let sessions = &self.log.meta().sessions;
        // Whoever does not answer cannot say that it has forgotten, or that it is full: it remembers for longer than the
        // owner, and more.
        let (idle, room) = if active.is_silent() {
            let idle = time.saturating_sub(session_idle_s.saturating_mul(2));
            (idle, sessions.overfull(&bounds.doubled(), u32::MAX, time))
        } else {
            let least = now.saturating_sub(bounds.least_s);
            (time.saturating_sub(session_idle_s), sessions.overfull(&bounds, least, time))
        };
        // By a time that is ahead all would be idle, and those that begin now would have begun too long ago.
        let idle = if self.ahead_s(context.unix) > 0 { 0 } else { idle };
        self.forget_sessions(idle, room, context);
    }

    /// Of two ranges that were merged, remembers no more than of one.
    pub(super) fn forget_overfull<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let Timing { sessions: bounds, pending, .. } = context.timing;
        let is_head = matches!(&self.phase, Phase::Active(active) if active.is_head() && !active.is_silent());
        if is_head {
            let room = self.log.meta().sessions.overfull(&bounds.and(pending), u32::MAX, self.log.time());
            self.forget_sessions(0, room, context);
        }
    }

    /// Appends a record that forgets the sessions that were not used since the later of two seconds, if there are any:
    /// since `idle`, or as `room` says to make room.
    fn forget_sessions<S: RangeStore>(&mut self, idle: u32, room: Option<Room>, context: &mut Context<'_, S>) {
        let room = room.unwrap_or_default();
        let idle_since = idle.max(room.idle_since);
        // Where the horizon is beyond the range's time, it keeps off whatever began up to there.
        let horizon = idle_since.max(room.horizon).max(self.log.meta().sessions.horizon());
        if !self.log.meta().sessions.forgets_any(idle_since, horizon) {
            return;
        }
        if idle_since > idle {
            took(Path::SessionsMadeRoom);
        }
        let expiry = self.log.append_next(self.epoch(), NO_KEY, Change::Expire { idle_since, horizon }, None, context);
        if let Phase::Active(active) = &mut self.phase {
            active.queue.expiry = expiry;
        }
    }

    /// The key of requests that wait has been read.
    pub(super) fn read_for_head<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        kept: Option<&Kept>,
        context: &mut Context<'_, S>,
    ) {
        let Phase::Active(active) = &mut self.phase else { return };
        for request in active.queue.pop(ticket) {
            // Those before it may have taken the room.
            let behind = matches!(&self.phase, Phase::Active(active) if active.is_behind(self.log.range(), context));
            if behind {
                self.reply(request.asker, request.id, Answer::Busy, context);
            } else {
                self.resume(request, kept, context);
            }
        }
    }

    /// Goes on with a request whose key has been read. It may have been carried out before, or its session forgotten
    /// meanwhile. That others have been answered since, and that it was given up, is no reason: it came first. But what was
    /// carried out before it came is never carried out again, whatever its session has forgotten meanwhile.
    fn resume<S: RangeStore>(&mut self, request: Request, kept: Option<&Kept>, context: &mut Context<'_, S>) {
        let (asker, id) = (request.asker, request.id);
        let is_fenced = self.log.is_fenced(&request.lies, request.wedge);
        let was_given_up = self.log.meta().sessions.known(id) == RequestStatus::Answered;
        match self.answered(id, request.answered, context).filter(|_| !is_fenced && !was_given_up) {
            Some(Answer::Done { outcome, position, again, .. }) => {
                let shown = self.shown_again(&request.lies, outcome, position, kept);
                self.reply(asker, id, Answer::Done { outcome, position, again, shown }, context);
            }
            Some(answer) => self.reply(asker, id, answer, context),
            None if request.is_done && !is_fenced => {
                self.reply(asker, id, unknown(&self.log.meta().sessions, context), context);
            }
            None => self.evaluate(request, kept, context),
        }
    }

    /// What a request has shown that the record at `position` carried out, as far as the key has not changed since.
    fn shown_again(&self, lies: &Key, outcome: Outcome, position: Position, kept: Option<&Kept>) -> Option<Shown> {
        if !outcome.shows_item() {
            return None;
        }
        if matches!(outcome, Outcome::Hit(hit) if hit.created) {
            return Some(Shown { value: Vec::new(), flags: 0 });
        }
        let is_as_it_was = |kept: &&Kept| !self.log.suffix().has_key(lies) && kept.position <= position;
        let kept = kept.filter(|kept| is_as_it_was(kept) || planted(Bug::RetryShowsNewest))?;
        took(Path::ShownAgain);
        kept.version.as_ref().map(Version::shown)
    }

    /// Carries a request out: `kept` is the newest committed version of its key, which a newer record may have changed.
    fn evaluate<S: RangeStore>(&mut self, request: Request, kept: Option<&Kept>, context: &mut Context<'_, S>) {
        let Request { id, answered, asker, wedge, key, lies, operation, .. } = request;
        let Ok(operation) = postcard::from_bytes::<Operation<'_>>(&operation) else {
            return self.reply(asker, id, Answer::Malformed, context);
        };
        if self.log.is_fenced(&lies, wedge) {
            return self.reply(asker, id, Answer::Fenced, context);
        }
        let most_bytes = context.store.longest_record().saturating_sub(key.len()).min(MAX_VALUE_BYTES);
        let now = self.log.stamp(context);
        if operation.expiries().any(|expiry| is_too_soon(expiry, now, context.unix)) {
            took(Path::TimeAhead);
            return self.reply(asker, id, Answer::Ahead { time: now }, context);
        }
        let newest = self.log.suffix().newest(&lies).filter(|_| !planted(Bug::HeadReadsCommitted));
        let current = match newest {
            Some(Entry { change: Change::Value(version), position, .. }) => Some((version, *position)),
            Some(_) => None,
            None => kept.and_then(|kept| Some((kept.version.as_ref()?, kept.position))),
        };
        let current =
            current.filter(|(version, position)| self.log.suffix().ahead().shows_at(&lies, version, position.seq, now));
        let item = current.map(|(version, position)| item(version, position));
        let Decision { append, outcome } = evaluate(&operation, item, now, most_bytes);
        let change = match append {
            Append::Nothing => Change::Nothing,
            Append::Delete => Change::Delete,
            Append::Value(operation::Version { value, flags, expiry, stale, won, client_cas }) => {
                let value = match value {
                    NewValue::Given(value) => value.to_vec(),
                    NewValue::Made(value) => value,
                    NewValue::Unchanged => current.map_or_else(Vec::new, |(version, _)| version.value.clone()),
                };
                Change::Value(Version { value, flags, expiry, stale, won, client_cas })
            }
        };
        if matches!(&change, Change::Value(version) if version.value.len() > most_bytes) {
            return self.reply(asker, id, Answer::TooLarge, context);
        }
        if matches!(change, Change::Value(_)) && self.takes_no_values(context) {
            return self.reply(asker, id, Answer::Full, context);
        }
        let is_held = matches!(&change, Change::Value(_)) || !outcome.shows_item();
        let shown = current.filter(|_| !is_held).map(|(version, _)| version.shown());
        if planted(Bug::FailedConditionAtOnce) && change == Change::Nothing {
            return self.reply(
                asker,
                id,
                Answer::Done { outcome, position: self.log.last(), again: false, shown },
                context,
            );
        }
        // A record that changes nothing must not stand for its key.
        let key = if change == Change::Nothing { NO_KEY } else { (key, lies) };
        self.log.append_next(self.epoch(), key, change, Some(Asked { id, answered, asker, outcome, shown }), context);
    }

    /// By how many seconds the range's time is ahead of the member's clock, if by so much that what is set would expire too
    /// soon; of a head that knows what time it is.
    pub fn ahead_s(&self, unix: u32) -> u32 {
        let is_head = matches!(&self.phase, Phase::Active(active) if active.is_head());
        let ahead_s = self.log.time().saturating_sub(unix);
        if is_head && unix > Now::UNKNOWN && ahead_s > AHEAD_S { ahead_s } else { 0 }
    }

    /// The range's time as of its last record, committed or not.
    pub fn last_time(&self) -> u32 {
        self.log.time()
    }

    /// Sets the range's time back once it has been ahead for a while of all that the head has ever gone by, and no further back
    /// than that. A head that went by a later time itself cannot tell whether it was wrong then, or is now: what has been seen
    /// to expire must not come back.
    pub(super) fn heal_time<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let unix = context.unix;
        let by = if planted(Bug::ClockGoesBack) { unix } else { unix.max(context.latest) };
        let is_ahead = self.ahead_s(unix) > 0 && self.ahead_s(by) > 0;
        let heal_us = context.timing.heal_us;
        let behind = matches!(&self.phase, Phase::Active(active) if active.is_behind(self.log.range(), context));
        let Phase::Active(active) = &mut self.phase else { return };
        if !is_ahead {
            active.queue.ahead_since_us = None;
            return;
        }
        let since_us = *active.queue.ahead_since_us.get_or_insert(context.now_us);
        // Members of an older release would not set theirs back, and judge what expires by another time than this one.
        if context.now_us < since_us + heal_us || behind || !context.timing.sets_time_back {
            return;
        }
        active.queue.ahead_since_us = None;
        took(Path::TimeSetBack);
        self.log.append_at(by, self.epoch(), NO_KEY, Change::Nothing, None, context);
    }
}

/// Whether an expiry is to come by a head's clock, and over already by a range's time that is ahead of it.
pub(super) fn is_too_soon(expiry: u32, time: u32, unix: u32) -> bool {
    unix > Now::UNKNOWN && expiry > unix && expiry <= time && time - unix > AHEAD_S
}

/// What a request is answered of which nothing is known any more.
fn unknown<S: RangeStore>(sessions: &Sessions, context: &Context<'_, S>) -> Answer {
    // By a time that is ahead nobody is to name a session: that may be set back.
    Answer::Unknown { time: context.unix.max(sessions.horizon().saturating_add(1)) }
}

/// Whether the operation is carried out without a look at what is there.
fn is_blind(operation: &[u8]) -> bool {
    postcard::from_bytes::<Operation<'_>>(operation).is_ok_and(|operation| !operation.needs_current())
}

fn item(version: &Version, position: Position) -> Item<'_> {
    Item {
        value: &version.value,
        flags: version.flags,
        expiry: version.expiry,
        cas: version.client_cas.unwrap_or(position.seq.0),
        stale: version.stale,
        won: version.won,
    }
}

#[cfg(test)]
mod tests;
