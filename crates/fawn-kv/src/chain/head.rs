//! Requests at the head: never carried out twice, conditions judged against the newest state.

use super::active_chain::ActiveChain;
use super::context::Context;
use super::log::RangeLog;
use super::range_clock::{RangeClock, is_too_soon};
use super::request_queue::RequestQueue;
use super::requests::Request;
use super::session_expiry::SessionExpiry;
use super::stretch::NO_KEY;
use crate::ids::{Address, Epoch, Position, RequestId};
use crate::operation::{self, Append, Decision, Item, NewValue, Operation, Outcome, evaluate};
use crate::range::entry::{Asked, Change, Entry, Kept, MAX_VALUE_BYTES, Shown, Version};
use crate::range::sessions::{RequestStatus, Sessions};
use crate::store::{Lookup, RangeStore, Ticket};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Timing;
use crate::wire::version::PARTS;
use crate::wire::{Answer, Message};
use fawn_ring::Key;

/// What a member does that numbers records.
#[derive(Debug, Default)]
pub(super) struct Head {
    queue: RequestQueue,
    sessions: SessionExpiry,
    clock: RangeClock,
}

impl Head {
    /// Whether the request waits for its key to be read.
    pub(super) fn holds(&self, id: RequestId) -> bool {
        self.queue.holds(id)
    }

    /// Whether the head takes no request before some are committed, or durable.
    pub(super) fn is_crowded<S: RangeStore>(
        &self,
        chain: &ActiveChain,
        log: &RangeLog,
        context: &Context<'_, S>,
    ) -> bool {
        let (waiting, waiting_bytes) = self.queue.waiting();
        let Timing { pending, pending_bytes, .. } = context.timing;
        let (records, bytes) = log.suffix().size();
        records + waiting >= pending
            || bytes + waiting_bytes >= pending_bytes
            || log.lags(chain.config().rules.unsynced, (waiting, waiting_bytes), context)
    }

    /// Time has passed.
    pub(super) fn tick<S: RangeStore>(
        &mut self,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        self.clock.heal(chain, log, context);
        self.sessions.expire(chain, log, context);
    }

    /// The chain has begun: of two ranges that were merged, it remembers no more sessions than of one.
    pub(super) fn begin<S: RangeStore>(
        &mut self,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        self.sessions.forget_overfull(chain, log, context);
    }

    /// The member that answers gets wants a barrier.
    pub(super) fn barrier<S: RangeStore>(
        &self,
        from: Address,
        (epoch, number): (Epoch, u64),
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let reader = chain.config().reader();
        // A reader whose barrier does not come asks again.
        if chain.is_head()
            && chain.epoch() == epoch
            && from == Address::Node(reader.node)
            && !self.is_crowded(chain, log, context)
        {
            let seq = log.append_next(epoch, NO_KEY, Change::Nothing, None, context);
            context.send(reader, Message::BarrierAt { range: log.range(), epoch, number, seq });
        }
    }

    /// A client asks for an operation.
    pub(super) fn request<S: RangeStore>(
        &mut self,
        mut request: Request,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let (asker, id) = (request.asker, request.id);
        if let Some(refusal) = request.refusal(log.keys()) {
            return chain.reply(asker, id, refusal, context);
        }
        if chain.is_head() && log.is_fenced(&request.lies, request.wedge) {
            // Nor is it told what came of a try by way of the new owner, which may not know that yet, and cache what was
            // there before.
            return chain.reply(asker, id, Answer::Fenced, context);
        }
        request.is_done = match self.answered(id, request.answered, chain, log, context) {
            // What it showed is looked up.
            Some(Answer::Done { outcome, .. }) if outcome.shows_item() => true,
            Some(answer) => return chain.reply(asker, id, answer, context),
            None => false,
        };
        let crowded = self.is_crowded(chain, log, context);
        // It waits for its record to be committed, or for its key to be read.
        if log.suffix().answers(id) || self.queue.holds(id) {
            took(Path::RetryWaits);
            return;
        }
        if chain.config().is_weak() && chain.epoch() != request.epoch && !planted(Bug::WeakAnyEpoch) {
            // Not all members were asked.
            return chain.reply(asker, id, Answer::NotMine, context);
        }
        let behind = chain.is_behind(log.range(), context);
        if crowded || behind {
            return chain.reply(asker, id, Answer::Busy, context);
        }
        if self.queue.reads(&request.key) {
            return self.queue.push(request);
        }
        let is_blind = !request.is_done && is_blind(&request.operation);
        let needs_no_read = (is_blind || log.suffix().has_key(&request.lies)) && !planted(Bug::HeadReadsCommitted);
        let found = if needs_no_read {
            Lookup::Known(None)
        } else {
            context.store.lookup(log.range(), &request.key, context.tickets.1)
        };
        match found {
            Lookup::Known(kept) if request.is_done => self.resume(request, kept.as_ref(), chain, log, context),
            Lookup::Known(kept) => carry_out(request, kept.as_ref(), chain, log, context),
            Lookup::Later => self.queue.push_first(context.wait(log.range()), request),
        }
    }

    /// What a request can be answered at once, if anything: it was carried out, or cannot be, here. It says that all of its
    /// session are answered up to `upto`.
    pub(super) fn answered<S: RangeStore>(
        &self,
        id: RequestId,
        upto: u64,
        chain: &ActiveChain,
        log: &RangeLog,
        context: &Context<'_, S>,
    ) -> Option<Answer> {
        if !chain.is_head() {
            return Some(Answer::NotMine);
        }
        let known = log.meta().sessions.known_within(id, upto, log.time(), &context.timing.sessions);
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
                if chain.is_silent() && forgot(known, id.session, &log.meta().sessions) => {}
            RequestStatus::Answered | RequestStatus::Expired => {
                took(if known == RequestStatus::Expired { Path::SessionExpired } else { Path::RetryRefused });
                return Some(unknown(&log.meta().sessions, context));
            }
            RequestStatus::New | RequestStatus::NoRoom | RequestStatus::TooMany
                if self.sessions.forgets(id.session, log) =>
            {
                return Some(Answer::Busy);
            }
            // Whoever does not answer cannot refuse either.
            RequestStatus::NoRoom | RequestStatus::TooMany
                if chain.is_silent() || log.suffix().answers(id) || self.queue.holds(id) => {}
            RequestStatus::NoRoom | RequestStatus::TooMany => {
                took(if known == RequestStatus::NoRoom { Path::NoRoomForSession } else { Path::TooManyUnanswered });
                return Some(Answer::Busy);
            }
            RequestStatus::New => {}
        }
        if planted(Bug::RetryBeforeCommit)
            && let Some(Entry { asked: Some(asked), position, .. }) = log.suffix().answer(id)
        {
            return Some(Answer::Done { outcome: asked.outcome, position: *position, again: true, shown: None });
        }
        chain.is_too_short().then_some(Answer::TooFew)
    }

    /// The key of requests that wait has been read.
    pub(super) fn read<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        kept: Option<&Kept>,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        for request in self.queue.pop(ticket) {
            // Those before it may have taken the room.
            if chain.is_behind(log.range(), context) {
                chain.reply(request.asker, request.id, Answer::Busy, context);
            } else {
                self.resume(request, kept, chain, log, context);
            }
        }
    }

    /// The key of requests that wait cannot be read.
    pub(super) fn give_up_read<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        refusal: &Answer,
        chain: &ActiveChain,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        for request in self.queue.pop(ticket) {
            // What was carried out before is known without what it has shown.
            let known = if log.is_fenced(&request.lies, request.wedge) {
                Some(Answer::Fenced)
            } else {
                self.answered(request.id, request.answered, chain, log, context)
            };
            chain.reply(request.asker, request.id, known.unwrap_or_else(|| refusal.clone()), context);
        }
    }

    /// Goes on with a request whose key has been read. It may have been carried out before, or its session forgotten
    /// meanwhile. That others have been answered since, and that it was given up, is no reason: it came first. But what was
    /// carried out before it came is never carried out again, whatever its session has forgotten meanwhile.
    fn resume<S: RangeStore>(
        &self,
        request: Request,
        kept: Option<&Kept>,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let (asker, id) = (request.asker, request.id);
        let is_fenced = log.is_fenced(&request.lies, request.wedge);
        let was_given_up = log.meta().sessions.known(id) == RequestStatus::Answered;
        match self.answered(id, request.answered, chain, log, context).filter(|_| !is_fenced && !was_given_up) {
            Some(Answer::Done { outcome, position, again, .. }) => {
                let shown = shown_again(&request.lies, outcome, position, kept, log);
                chain.reply(asker, id, Answer::Done { outcome, position, again, shown }, context);
            }
            Some(answer) => chain.reply(asker, id, answer, context),
            None if request.is_done && !is_fenced => {
                chain.reply(asker, id, unknown(&log.meta().sessions, context), context);
            }
            None => carry_out(request, kept, chain, log, context),
        }
    }
}

/// Whether what is known of a request is that its session was forgotten.
fn forgot(known: RequestStatus, session: u64, sessions: &Sessions) -> bool {
    let is_forgotten = known == RequestStatus::Expired || sessions.is_spent(session);
    is_forgotten && !planted(Bug::WeakForgetsSilently)
}

/// What a request has shown that the record at `position` carried out, as far as the key has not changed since.
fn shown_again(lies: &Key, outcome: Outcome, position: Position, kept: Option<&Kept>, log: &RangeLog) -> Option<Shown> {
    if !outcome.shows_item() {
        return None;
    }
    if matches!(outcome, Outcome::Hit(hit) if hit.created) {
        return Some(Shown { value: Vec::new(), flags: 0 });
    }
    let is_as_it_was = |kept: &&Kept| !log.suffix().has_key(lies) && kept.position <= position;
    let kept = kept.filter(|kept| is_as_it_was(kept) || planted(Bug::RetryShowsNewest))?;
    took(Path::ShownAgain);
    kept.version.as_ref().map(Version::shown)
}

/// Carries a request out: `kept` is the newest committed version of its key, which a newer record may have changed.
fn carry_out<S: RangeStore>(
    request: Request,
    kept: Option<&Kept>,
    chain: &ActiveChain,
    log: &mut RangeLog,
    context: &mut Context<'_, S>,
) {
    let Request { id, answered, asker, wedge, key, lies, operation, .. } = request;
    let Ok(operation) = postcard::from_bytes::<Operation<'_>>(&operation) else {
        return chain.reply(asker, id, Answer::Malformed, context);
    };
    if log.is_fenced(&lies, wedge) {
        return chain.reply(asker, id, Answer::Fenced, context);
    }
    if operation.is_of_part() && context.timing.version < PARTS {
        // A member of an older release could not read the record.
        return chain.reply(asker, id, Answer::NeedsUpgrade, context);
    }
    let most_bytes = context.store.longest_record().saturating_sub(key.len()).min(MAX_VALUE_BYTES);
    let now = log.stamp(context);
    if operation.expiries().any(|expiry| is_too_soon(expiry, now, context.unix)) {
        took(Path::TimeAhead);
        return chain.reply(asker, id, Answer::Ahead { time: now }, context);
    }
    let newest = log.suffix().newest(&lies).filter(|_| !planted(Bug::HeadReadsCommitted));
    let current = match newest {
        Some(Entry { change: Change::Value(version), position, .. }) => Some((version, *position)),
        Some(_) => None,
        None => kept.and_then(|kept| Some((kept.version.as_ref()?, kept.position))),
    };
    let current =
        current.filter(|(version, position)| log.suffix().ahead().shows_at(&lies, version, position.seq, now));
    let item = current.map(|(version, position)| item(version, position));
    let Decision { append, outcome, shown: computed } = evaluate(&operation, item, now, most_bytes);
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
    // What is shown may be the new version itself. If not, the record holds both, and is no longer than one may be.
    let value = if let Change::Value(version) = &change { Some(version.value.as_slice()) } else { None };
    let computed = Some(computed).filter(|shown| outcome == Outcome::Computed && value != Some(shown));
    if value.map_or(0, <[u8]>::len).saturating_add(computed.as_ref().map_or(0, Vec::len)) > most_bytes {
        return chain.reply(asker, id, Answer::TooLarge, context);
    }
    if matches!(change, Change::Value(_)) && chain.has_no_room(context) {
        took(Path::Full);
        return chain.reply(asker, id, Answer::Full, context);
    }
    let shown = match computed {
        Some(value) => Some(Shown { value, flags: 0 }),
        None if outcome.shows_item() && value.is_none() => current.map(|(version, _)| version.shown()),
        None => None,
    };
    if planted(Bug::FailedConditionAtOnce) && change == Change::Nothing {
        return chain.reply(asker, id, Answer::Done { outcome, position: log.last(), again: false, shown }, context);
    }
    // A record that changes nothing must not stand for its key.
    let key = if change == Change::Nothing { NO_KEY } else { (key, lies) };
    log.append_next(chain.epoch(), key, change, Some(Asked { id, answered, asker, outcome, shown }), context);
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
