//! The machine: what a program wants, whom that is asked of, and what became of it.

use super::in_flight::{Flight, Flights};
use super::request::{Limits, RequestOutcome, Want};
use super::unreachable::Reachability;
use crate::frontend::in_flight::{Tag, Tries};
use crate::frontend::routes::Routes;
use crate::frontend::session::Sessions;
use crate::ids::{Address, Asker, FrontId, RequestId};
use crate::timing::Now;
use crate::wire::{Answer, Continuation, Message};
use fawn_ring::{Key, Secret};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Bytes of a continuation that are the client's own.
const OWN_BYTES: usize = 12;

/// Bytes of a program's continuation, at most.
pub const MOST_CONTINUATION_BYTES: usize = crate::wire::MOST_CONTINUATION_BYTES - OWN_BYTES;

/// Between two questions who owns what.
const ASK_VIEW_US: u64 = 50_000;

/// While nobody is known who could be asked.
const NOBODY_US: u64 = 20_000;

/// Names that a request is given beside its first, where ranges have forgotten its session.
const MOST_NAMES: u8 = 3;

/// A client.
#[derive(Debug)]
pub struct Client {
    me: Address,
    /// Drawn at random: tells its own continuations from those of others.
    low: u32,
    limits: Limits,
    secret: Secret,
    routes: Routes,
    sessions: Sessions,
    /// Who there is.
    fronts: BTreeSet<FrontId>,
    reach: Reachability,
    flights: Flights,
    tickets: u64,
    ended: VecDeque<(u64, RequestOutcome)>,
    asked_view_us: Option<u64>,
}

impl Client {
    /// One that answers go to as `me`. `low`, and the 255 numbers after it, is the lower half of no session that anybody else
    /// begins within the same second: it is drawn at random.
    pub fn new(me: Address, low: u32, limits: Limits, secret: Secret) -> Self {
        Self {
            me,
            low,
            limits,
            secret,
            routes: Routes::default(),
            sessions: Sessions::new(low),
            fronts: BTreeSet::new(),
            reach: Reachability::default(),
            flights: Flights::default(),
            tickets: 0,
            ended: VecDeque::new(),
            asked_view_us: None,
        }
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// When [`tick`](Self::tick) has something to do next.
    pub fn due_us(&self) -> Option<u64> {
        self.flights.next_due_us()
    }

    /// The next request that has ended, by the ticket that [`ask`](Self::ask) gave it.
    pub fn next_ended(&mut self) -> Option<(u64, RequestOutcome)> {
        self.ended.pop_front()
    }

    /// These front-ends are there, and no others.
    pub fn set_fronts(&mut self, fronts: impl IntoIterator<Item = FrontId>) {
        self.fronts = fronts.into_iter().collect();
        self.reach.retain(&self.fronts);
    }

    /// A front-end is being called, to ask it what was to be asked of it.
    pub fn called(&mut self, front: FrontId, now: Now) {
        self.reach.called(front, now.us, &self.limits);
    }

    /// A front-end has answered the call.
    pub fn up(&mut self, front: FrontId) {
        self.reach.up(front);
    }

    /// A front-end cannot be reached any more: what was asked of it may have been carried out, and is asked again.
    pub fn lost(&mut self, front: FrontId, now: Now) {
        self.reach.lost(front, now.us, &self.limits);
        self.ask_others(front, now);
    }

    /// A front-end cannot be reached: of what was to be said to it this was not sent, nor will be.
    pub fn unreached(&mut self, front: FrontId, unsent: &[(Address, Message)], now: Now) {
        self.reach.unreached(front, now.us, &self.limits);
        for (_, message) in unsent.iter().rev() {
            let (Message::Ask { id, asker, .. } | Message::AskFlush { id, asker, .. }) = message else { continue };
            let tag = Tag::of(asker.tag);
            if let Some(flight) = self.flights.get_mut(tag.flight).filter(|flight| flight.id == *id) {
                flight.unsent(tag.number, self.limits.retry_us.0);
            }
        }
        self.ask_others(front, now);
    }

    fn ask_others(&mut self, front: FrontId, now: Now) {
        for ticket in self.flights.asked_of(front) {
            self.flights.set_due(ticket, now.us);
        }
    }

    /// Something is wanted of a key until a deadline; the ticket comes back with what became of it.
    pub fn ask(
        &mut self,
        now: Now,
        key: Vec<u8>,
        want: Want,
        deadline_us: u64,
        out: &mut Vec<(Address, Message)>,
    ) -> u64 {
        if self.asked_view_us.is_none_or(|asked| now.us >= asked + self.limits.view_us) {
            self.ask_view(now.us, out);
        }
        self.tickets += 1;
        let (ticket, place) = (self.tickets, self.secret.position(&key));
        let mut number = |range| self.sessions.number(range, now.unix, self.limits.session_idle_s);
        let id = match want {
            Want::Get | Want::GetWith(_) => RequestId { session: 0, number: ticket },
            Want::Write(_) => number(self.routes.range_at(&place).map(|(range, _)| range)),
            Want::Flush { .. } => number(None),
        };
        let times = (now.us, deadline_us.max(now.us), self.limits.retry_us.0);
        self.flights.insert(ticket, Flight::new(id, place, key, want, times));
        self.send(ticket, now.us, out);
        ticket
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        while let Some(ticket) = self.flights.next_due(now.us) {
            let flight = self.flights.get(ticket).expect("what is due is in flight");
            if now.us >= flight.deadline_us {
                self.give_up(ticket);
            } else {
                self.ask_view(now.us, out);
                self.send(ticket, now.us, out);
            }
        }
    }

    /// A message has come.
    pub fn receive(&mut self, now: Now, (message, version): (Message, u8), out: &mut Vec<(Address, Message)>) {
        match message {
            Message::View { since, number, chains, wedges } => {
                self.routes.learn((since, number), chains, &wedges);
            }
            Message::Reply { id, tag, continuation, answer, .. } => {
                let tag = Tag::of(tag);
                if self.is_own(tag.flight, continuation) {
                    self.answered(id, tag, (answer, version), now, out);
                }
            }
            _ => {}
        }
    }

    /// Whether an answer to a request comes with what went with it, if with anything. A front-end that has begun another life
    /// may take an answer to somebody else for one to this client.
    fn is_own(&self, ticket: u64, continuation: Option<Continuation>) -> bool {
        let Some(given) = continuation else { return true };
        let want = self.flights.get(ticket).map(|flight| &flight.want);
        matches!(want, Some(Want::GetWith(continuation)) if given.blob == named(self.low, ticket, continuation))
    }

    /// Asks who owns what, not too often.
    fn ask_view(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        if self.asked_view_us.is_none_or(|asked| now_us >= asked + ASK_VIEW_US) {
            self.asked_view_us = Some(now_us);
            out.push((Address::Manager, Message::AskView { asker: self.me, known: self.routes.number() }));
        }
    }

    /// Whom to ask for a key: the owner of its wedge, or another who passes it on; each try goes to another of those. After an
    /// owner that said nothing, every other try does: it may be there, and the link to it broken. `Err`: nobody before then.
    fn whom(&self, place: &Key, (tried, is_silent): (u32, bool), now_us: u64) -> Result<FrontId, u64> {
        let owner = self.routes.wedge_at(place).and_then(|(_, wedge)| wedge.owner).map(|owner| owner.front);
        let owner = owner.filter(|owner| self.fronts.contains(owner));
        let is_good = |front: &FrontId| self.reach.is_good(*front, now_us);
        let goes_round = is_silent && tried % 2 == 1;
        if let Some(owner) = owner.filter(|owner| is_good(owner) && !goes_round) {
            return Ok(owner);
        }
        let mut others: Vec<FrontId> = self.fronts.iter().copied().filter(is_good).collect();
        if goes_round && others.len() > 1 {
            others.retain(|other| Some(*other) != owner);
        }
        if others.is_empty() {
            // If nobody can be reached, the owner is as good as anybody.
            let may_be_called = |front: &FrontId| self.reach.may_be_called(*front, now_us);
            if let Some(owner) = owner.filter(may_be_called) {
                return Ok(owner);
            }
            others.extend(self.fronts.iter().copied().filter(may_be_called));
        }
        let at = (place.prefix() as usize).wrapping_add(tried as usize);
        let other = others.get(at % others.len().max(1)).copied();
        other.ok_or_else(|| self.reach.again_us(&self.fronts).unwrap_or(now_us + NOBODY_US))
    }

    fn send(&mut self, ticket: u64, now_us: u64, out: &mut Vec<(Address, Message)>) {
        let flight = self.flights.get(ticket).expect("what is sent is in flight");
        let (place, tried) = (flight.place, flight.tried);
        let is_silent = tried > 0 && !flight.tries.is_refused();
        let front = match self.whom(&place, (tried, is_silent), now_us) {
            Ok(front) => front,
            Err(due_us) => return self.flights.set_due(ticket, due_us),
        };
        let flight = self.flights.get_mut(ticket).expect("it was just seen");
        let number = flight.tries.begin(1);
        let asker = Asker { address: self.me, tag: Tag { flight: ticket, number }.into() };
        let (id, key) = (flight.id, flight.key.clone());
        let answered = || Some(self.sessions.answered(id.session));
        let message = match &flight.want {
            Want::Get => Message::ask(id, None, asker, key, None),
            Want::GetWith(continuation) => {
                let (operation, continuation) = (None, Some(named(self.low, ticket, continuation)));
                Message::Ask { id, answered: None, asker, forwarded: false, key, place: None, operation, continuation }
            }
            Want::Write(operation) => Message::ask(id, answered(), asker, key, Some(operation.clone())),
            Want::Flush { due } => Message::AskFlush { id, answered: answered(), asker, wedge: None, due: *due },
        };
        out.push((Address::Front(front), message));
        flight.tried += 1;
        flight.sent += 1;
        flight.to = Some(front);
        let wait_us = flight.wait_us;
        flight.wait_us = (2 * wait_us).min(self.limits.retry_us.1);
        self.flights.set_due(ticket, now_us + wait_us);
    }

    fn answered(
        &mut self,
        id: RequestId,
        Tag { flight: ticket, number }: Tag,
        (answer, version): (Answer, u8),
        now: Now,
        out: &mut Vec<(Address, Message)>,
    ) {
        // To a try of what has ended.
        let Some(flight) = self.flights.get_mut(ticket).filter(|flight| flight.id == id) else { return };
        // Shown is the key that was asked for, or nothing: anything else is a fault of whoever answers, and is asked again.
        let is_other = matches!(&answer, Answer::Found(Some(kept)) if kept.key != flight.key);
        let answer = if is_other { Answer::TimedOut } else { answer };
        flight.tries.answered(number, &answer, version);
        let (is_refused, tried) = (flight.tries.is_refused(), flight.tried);
        let (is_get, is_flush) = (flight.is_get(), matches!(flight.want, Want::Flush { .. }));
        match answer {
            Answer::Found(kept) if is_get => {
                let kept = kept.map(Arc::unwrap_or_clone);
                let ended = match &mut flight.want {
                    Want::GetWith(continuation) => RequestOutcome::FoundWith(kept, std::mem::take(continuation)),
                    _ => RequestOutcome::Found(kept),
                };
                self.end(ticket, ended);
            }
            Answer::Done { outcome, position, shown, .. } if !is_get && !is_flush => {
                self.end(ticket, RequestOutcome::Done { outcome, position, shown });
            }
            Answer::Flushed if is_flush => self.end(ticket, RequestOutcome::Flushed),
            Answer::Unknown { time } if !is_get => {
                let may_go_on = is_refused && !is_flush && flight.renamed < MOST_NAMES;
                self.sessions.forgotten(id.session, time);
                if !may_go_on {
                    return self.end(ticket, RequestOutcome::Unknown);
                }
                self.rename(ticket, now);
                self.send(ticket, now.us, out);
            }
            // A seat with a larger limit may have taken another try, which will be answered as well: no more are begun.
            Answer::TooLarge if !is_refused => self.flights.set_due(ticket, u64::MAX),
            Answer::Malformed | Answer::Conditional | Answer::TooLarge => {
                self.end(ticket, RequestOutcome::Refused(answer));
            }
            // The front-end has tried again and again before it said so.
            Answer::TooFew | Answer::Full | Answer::Unreadable | Answer::Ahead { .. } | Answer::NeedsUpgrade
                if is_refused =>
            {
                self.end(ticket, RequestOutcome::Refused(answer));
            }
            Answer::NotMine | Answer::AskAgain | Answer::Fenced | Answer::Busy => {
                self.ask_view(now.us, out);
                let (least, most) = self.limits.refused_us;
                let wait_us = most.min(least << tried.min(16));
                self.flights.set_due(ticket, now.us + wait_us);
            }
            // Nobody knows yet: the next try may tell.
            _ => {
                self.ask_view(now.us, out);
                self.flights.set_due(ticket, now.us + self.limits.refused_us.0);
            }
        }
    }

    /// Ranges have forgotten the session of a request that was not carried out: it goes on in another.
    fn rename(&mut self, ticket: u64, now: Now) {
        let flight = self.flights.get_mut(ticket).expect("what is given another name is in flight");
        self.sessions.ended(flight.id);
        let range = self.routes.range_at(&flight.place).map(|(range, _)| range);
        flight.id = self.sessions.number(range, now.unix, self.limits.session_idle_s);
        (flight.tries, flight.renamed) = (Tries::default(), flight.renamed + 1);
    }

    /// The deadline of a request has come.
    fn give_up(&mut self, ticket: u64) {
        let flight = self.flights.get(ticket).expect("what is given up is in flight");
        let ended = match Tries::last_word(std::iter::once(&flight.tries)) {
            _ if flight.sent == 0 => RequestOutcome::Unreached,
            Answer::TimedOut => RequestOutcome::Unknown,
            refusal => RequestOutcome::Refused(refusal),
        };
        self.end(ticket, ended);
    }

    fn end(&mut self, ticket: u64, ended: RequestOutcome) {
        let flight = self.flights.remove(ticket).expect("what ends is in flight");
        if !flight.is_get() {
            self.sessions.ended(flight.id);
        }
        self.ended.push_back((ticket, ended));
    }
}

/// What travels with a get that front-ends remember nothing of: whose it is, which, and what the program gave.
fn named(low: u32, ticket: u64, continuation: &[u8]) -> Vec<u8> {
    let mut blob = Vec::with_capacity(OWN_BYTES + continuation.len());
    blob.extend_from_slice(&low.to_le_bytes());
    blob.extend_from_slice(&ticket.to_le_bytes());
    blob.extend_from_slice(continuation);
    blob
}
