//! The machine: what it is asked, and where it sends it.

use super::cache::Cache;
use super::continuation::wrapped;
use super::flushes::{AskFlush, Flushes};
use super::in_flight::{Flight, Flights, LastTry, Many, Tag, Tries, Waiter, Work};
use super::registration::Life;
use super::routes::Routes;
use super::session::Sessions;
use super::wedge::Own;
use crate::ids::{Address, Asker, Chain, Epoch, FrontId, Incarnation, NodeId, RequestId, WedgeId};
use crate::operation::is_past;
use crate::range::entry::Kept;
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::{Now, Timing};
use crate::wire::version::{CONTINUATIONS, OLDEST};
use crate::wire::{Answer, Continuation, InvalidMessages, Message};
use fawn_ring::{Interval, Key, Secret};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How much a front-end takes on, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests in flight.
    pub flights: usize,
    /// Bytes of what is in flight, and of parts of answers that wait for the rest, each.
    pub bytes: usize,
    /// Who may wait for one answer.
    pub waiters: usize,
    /// Keys of one multi-get …
    pub keys: usize,
    /// … and bytes of what they are answered: whoever is refused asks for fewer.
    pub many_bytes: usize,
    /// Flushes under way, of all wedges or of one.
    pub flushes: usize,
    /// The cache may have this many times `N log2 N` entries …
    pub cache_factor: u32,
    /// … and no more bytes than this.
    pub cache_bytes: u64,
    /// What is not answered is tried again after this, in microseconds …
    pub retry_us: u64,
    /// … and given up after this.
    pub deadline_us: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            flights: 16_384,
            bytes: 256 << 20,
            waiters: 4096,
            keys: 1024,
            many_bytes: 16 << 20,
            flushes: 256,
            cache_factor: 4,
            cache_bytes: 64 << 20,
            retry_us: 100_000,
            deadline_us: 5_000_000,
        }
    }
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Gets that the cache answered.
    pub hits: u64,
    /// Gets that were sent to a chain.
    pub misses: u64,
    /// Gets that joined one in flight.
    pub joined: u64,
    /// Requests that were sent on to another front-end.
    pub forwards: u64,
    /// Wedges that were taken over from another owner.
    pub takeovers: u64,
    /// Gets that nothing was remembered of.
    pub stateless: u64,
    /// Multi-gets.
    pub many: u64,
    /// Flushes that were asked for here, and carried out.
    pub flushes: u64,
    /// Requests that were not taken on, or refused at every try.
    pub busy: u64,
    /// Requests that were given up.
    pub timed_out: u64,
}

impl Counts {
    /// Counts a request whose deadline has come, by what it is answered.
    pub(super) fn given_up(&mut self, answer: Answer) -> Answer {
        if answer == Answer::TimedOut {
            self.timed_out += 1;
        } else {
            took(Path::RefusedAtDeadline);
            self.busy += 1;
        }
        answer
    }

    /// Adds what has happened to another front-end.
    pub fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.joined += other.joined;
        self.forwards += other.forwards;
        self.takeovers += other.takeovers;
        self.stateless += other.stateless;
        self.many += other.many;
        self.flushes += other.flushes;
        self.busy += other.busy;
        self.timed_out += other.timed_out;
    }
}

/// A request as it comes.
pub(super) struct Ask {
    pub(super) id: RequestId,
    pub(super) answered: Option<u64>,
    pub(super) forwarded: bool,
    pub(super) key: Vec<u8>,
    /// Where the key lies, if that is known.
    pub(super) place: Option<Key>,
    pub(super) operation: Option<Vec<u8>>,
}

/// Whether a get waits with another.
enum JoinOutcome {
    No,
    Yes,
    /// Too many do.
    Full,
}

/// One front-end.
#[derive(Debug)]
pub struct Front {
    pub(super) id: FrontId,
    pub(super) timing: Timing,
    pub(super) limits: Limits,
    secret: Secret,
    pub(super) life: Life,
    next_tag: u64,
    pub(super) sessions: Sessions,
    pub(super) routes: Routes,
    pub(super) own: BTreeMap<WedgeId, Own>,
    pub(super) cache: Cache,
    pub(super) flights: Flights,
    pub(super) flushes: Flushes,
    pub(super) manys: BTreeMap<u64, Many>,
    /// Of parts of answers.
    pub(super) held_bytes: usize,
    pub(super) counts: Counts,
    /// The version that everybody in the cluster speaks.
    pub(super) version: u8,
    /// Messages that cannot be true, and were dropped.
    pub(super) invalid: InvalidMessages,
}

impl Front {
    /// A front-end that starts. `nonce` was never used before, nor were the 255 after it, and their lower halves are the
    /// lower halves of nobody else's sessions.
    pub fn new(id: FrontId, nonce: u64, timing: Timing, limits: Limits, secret: Secret) -> Self {
        Self {
            id,
            timing,
            limits,
            secret,
            life: Life::new(nonce),
            next_tag: 0,
            sessions: Sessions::new(nonce as u32),
            routes: Routes::default(),
            own: BTreeMap::new(),
            cache: Cache::new(limits.cache_bytes),
            flights: Flights::default(),
            flushes: Flushes::default(),
            manys: BTreeMap::new(),
            held_bytes: 0,
            counts: Counts::default(),
            version: OLDEST,
            invalid: InvalidMessages::default(),
        }
    }

    /// The version that everybody in the cluster speaks. Before it is told, that is the oldest.
    pub fn speak(&mut self, version: u8) {
        self.version = version;
    }

    /// Messages that cannot be true, and were dropped.
    pub fn invalid_mut(&mut self) -> &mut InvalidMessages {
        &mut self.invalid
    }

    /// See [`invalid_mut`](Self::invalid_mut).
    pub fn invalid(&self) -> &InvalidMessages {
        &self.invalid
    }

    /// What has happened so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Requests in flight, and flushes under way.
    pub fn in_flight(&self) -> usize {
        self.flights.len() + self.flushes.len()
    }

    /// The wedges that it serves under a valid lease.
    pub fn served(&self, now_us: u64) -> impl Iterator<Item = WedgeId> {
        let served = self.own.iter().filter(move |(_, own)| own.is_served() && own.has_lease(now_us));
        served.map(|(wedge, _)| *wedge)
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        let now_us = now.us;
        self.live(now_us, out);
        let mut unanswered = self.tick_flushes(now_us, out);
        let Limits { retry_us, deadline_us, .. } = self.limits;
        let is_over = |flight: &Flight| now_us >= flight.began_us + deadline_us;
        for tag in self.flights.due(now_us, retry_us, deadline_us) {
            let flight = self.flights.get(tag).expect("nothing has ended since");
            if is_over(flight) {
                self.give_up(tag, out);
            } else {
                unanswered = true;
                self.send(tag, now_us, out);
            }
        }
        if unanswered {
            self.ask_view(now_us, out);
        }
    }

    /// A message has come.
    pub fn receive(&mut self, now: Now, message: Message, out: &mut Vec<(Address, Message)>) {
        match message {
            Message::Ask { id, answered, asker, forwarded, key, place, operation, continuation } => {
                let ask = Ask { id, answered, forwarded, key, place, operation };
                match continuation {
                    Some(blob) if ask.operation.is_none() => self.get_stateless(ask, asker, blob, now, out),
                    _ => self.ask(ask, Waiter::Asker(asker, id), now, out),
                }
            }
            Message::AskMany { id, asker, keys } => self.ask_many(id, asker, keys, now, out),
            Message::AskFlush { id, answered, asker, wedge, due } => {
                self.ask_flush(AskFlush { id, answered, asker, wedge, due }, now, out);
            }
            Message::Reply { id, tag, continuation: None, until, answer } => {
                self.answered((id, Tag::of(tag)), answer, until, now, out);
            }
            Message::Reply { id, continuation: Some(continuation), answer, .. } => {
                self.pass_on(id, continuation, answer, now.us, out);
            }
            message => self.hear(now.us, message, out),
        }
    }

    pub(super) fn next_tag(&mut self) -> u64 {
        self.next_tag += 1;
        self.next_tag
    }

    /// Tags of this life are others than those of the lives before, as late answers to which may come. Of lives there may be
    /// millions: a group of managers that lost decisions skips a million of them.
    pub(super) fn begin_tags(&mut self, life: Incarnation) {
        const LIVES: u64 = 1 << 22;
        self.next_tag = self.next_tag.max(u64::from(life.0) % LIVES * (Tag::FLIGHTS / LIVES));
    }

    pub(super) fn position(&self, key: &[u8]) -> Key {
        self.secret.position(key)
    }

    pub(super) fn own_at(&self, place: &Key) -> Option<&Own> {
        let (wedge, _) = self.routes.wedge_at(place)?;
        self.own.get(&wedge)
    }

    /// Takes a request on, answers it from the cache, or refuses it.
    pub(super) fn ask(&mut self, ask: Ask, waiter: Waiter, now: Now, out: &mut Vec<(Address, Message)>) {
        let place = ask.place.unwrap_or_else(|| self.secret.position(&ask.key));
        if ask.forwarded && self.own_at(&place).is_none() {
            return self.deliver(waiter, Answer::AskAgain, out);
        }
        if ask.operation.is_none() {
            if let Some(kept) = self.hit(&place, &ask.key, now) {
                return self.deliver(waiter, Answer::Found(Some(kept)), out);
            }
            match self.join(&place, waiter, ask.forwarded, now.us) {
                JoinOutcome::No => {}
                JoinOutcome::Yes => return,
                JoinOutcome::Full => return self.refuse(waiter, out),
            }
        } else if ask.answered.is_some()
            && let Some(flight) = self.flights.write(ask.id)
        {
            // Another try of what is under way.
            if !flight.waiters.contains(&waiter) && flight.waiters.len() < self.limits.waiters {
                flight.waiters.push(waiter);
            }
            return;
        }
        let full = self.flights.len() >= self.limits.flights || self.flights.bytes() >= self.limits.bytes;
        if full || !self.life.has_begun() {
            return self.refuse(waiter, out);
        }
        let Ask { mut id, answered, forwarded, key, operation, .. } = ask;
        let work = match operation {
            None => Work::Get,
            Some(operation) => {
                if answered.is_none() {
                    let range = self.routes.range_at(&place).map(|(range, _)| range);
                    id = self.sessions.number(range, now.unix, self.timing.session_idle_s);
                }
                Work::Write { operation, answered }
            }
        };
        let (tag, cached) = (self.next_tag(), self.cache.age(&place, &key));
        let mut flight = Flight::new(id, place, key, work, waiter, now.us);
        flight.forwarded = forwarded;
        self.flights.insert(tag, flight, cached);
        self.send(tag, now.us, out);
        if self.flights.get(tag).is_some_and(|flight| flight.sent.is_none()) {
            self.flights.look_soon();
        }
    }

    pub(super) fn refuse(&mut self, waiter: Waiter, out: &mut Vec<(Address, Message)>) {
        self.counts.busy += 1;
        self.deliver(waiter, Answer::Busy, out);
    }

    /// What the cache has of a key, if it may be shown.
    fn hit(&mut self, place: &Key, key: &[u8], now: Now) -> Option<Arc<Kept>> {
        let (wedge, _) = self.routes.wedge_at(place)?;
        let own = self.own.get(&wedge)?;
        let epoch = own.epoch;
        let kept = if planted(Bug::CacheKeptAcrossEpochs) {
            self.cache.get_of_any_epoch(place, key)
        } else {
            self.cache.get(place, key, epoch)
        };
        let (kept, until) = kept?;
        let (kept, until) = (Arc::clone(kept), if planted(Bug::CacheOutlivesFlush) { 0 } else { until });
        let expiry = kept.version.as_ref().map_or(0, |version| version.expiry);
        if is_past(expiry, now.unix) || is_past(until, now.unix) {
            // The chain judges, by its own time, whether it has expired, or is flushed.
            self.cache.remove(place);
            return None;
        }
        if !own.has_lease(now.us) && !planted(Bug::HitWithoutLeaseCheck) {
            return None;
        }
        self.counts.hits += 1;
        Some(kept)
    }

    /// Waits with a get that is under way, if its answer will do.
    fn join(&mut self, place: &Key, waiter: Waiter, forwarded: bool, now_us: u64) -> JoinOutcome {
        let Some(own) = self.own_at(place).filter(|own| own.has_lease(now_us)) else { return JoinOutcome::No };
        let epoch = own.epoch;
        let Some(flight) = self.flights.joinable(place, epoch, forwarded, planted(Bug::JoinOfOldMiss)) else {
            return JoinOutcome::No;
        };
        if flight.waiters.len() >= self.limits.waiters {
            return JoinOutcome::Full;
        }
        flight.waiters.push(waiter);
        self.counts.joined += 1;
        JoinOutcome::Yes
    }

    /// Sends a request to whoever can answer it, if that is known.
    pub(super) fn send(&mut self, tag: u64, now_us: u64, out: &mut Vec<(Address, Message)>) {
        let flight = self.flights.get(tag).expect("what is sent is in flight");
        let Some((_, wedge)) = self.routes.wedge_at(&flight.place) else { return };
        if self.routes.is_weak() && flight.is_conditional() {
            return self.end(tag, &Answer::Conditional, out);
        }
        let first = flight.sent.is_none();
        let asked = |wedge, chain| LastTry { at_us: now_us, wedge, chain, refused: false };
        let sent = match self.own_at(&flight.place).map(|own| (own.epoch, own.is_served())) {
            Some((_, false)) => None,
            Some((epoch, true)) => {
                let is_get = flight.is_get();
                let chain = self.ask_chain(tag, out);
                self.counts.misses += u64::from(chain.is_some() && first && is_get);
                chain.map(|chain| asked(epoch, Some(chain)))
            }
            None if flight.forwarded => {
                let answer = if flight.tries.is_refused() { Answer::AskAgain } else { Answer::TimedOut };
                return self.end_unknown(tag, &answer, out);
            }
            None => {
                let (owner, epoch) = (wedge.owner.filter(|owner| owner.front != self.id), wedge.epoch);
                if let Some(owner) = owner {
                    let ask = self.forward(tag);
                    out.push((Address::Front(owner.front), ask));
                    self.counts.forwards += u64::from(first);
                }
                owner.map(|_| asked(epoch, None))
            }
        };
        if let Some(sent) = sent {
            self.flights.sent(tag, sent);
        }
    }

    /// The last try of a request was refused. If more is known than when it was sent, it is tried again; if not, that is
    /// asked for.
    pub(super) fn refused(&mut self, tag: u64, now_us: u64, out: &mut Vec<(Address, Message)>) {
        let flight = self.flights.get_mut(tag).expect("what is refused is in flight");
        if let Some(sent) = &mut flight.sent {
            sent.refused = true;
        }
        if self.has_news(tag) {
            self.send(tag, now_us, out);
        } else {
            self.ask_view(now_us, out);
        }
    }

    /// More is known of these keys, of wedges or chains: what waited for that is sent.
    pub(super) fn send_waiting(&mut self, keys: &Interval, now_us: u64, out: &mut Vec<(Address, Message)>) {
        for tag in self.flights.waiting(keys) {
            if self.has_news(tag) {
                self.send(tag, now_us, out);
            }
        }
    }

    /// Whether more is known of where a request goes than when it was sent.
    fn has_news(&self, tag: u64) -> bool {
        let Some(flight) = self.flights.get(tag) else { return false };
        let own = self.own_at(&flight.place);
        if flight.forwarded && own.is_none() {
            // Whoever sent it on is told. What becomes of a try that was not refused may yet be heard.
            return flight.tries.is_refused();
        }
        let Some(sent) = flight.sent else { return true };
        let wedge = own.map(|own| own.epoch).or_else(|| Some(self.routes.wedge_at(&flight.place)?.1.epoch));
        let chain = || self.routes.range_at(&flight.place).map(|(_, chain)| chain.epoch);
        wedge > Some(sent.wedge) || (sent.chain.is_some() && chain() > sent.chain)
    }

    /// Sends a request to its chain, to each member that is to have it. Returns the chain's epoch, if it is known whom to
    /// ask.
    fn ask_chain(&mut self, tag: u64, out: &mut Vec<(Address, Message)>) -> Option<Epoch> {
        let place = self.flights.get(tag).expect("what is sent is in flight").place;
        let wedge = self.own_at(&place)?.epoch;
        let (range, chain) = self.routes.range_at(&place)?;
        let flight = self.flights.get_mut(tag).expect("what is sent is in flight");
        let number = flight.tries.begin(chain.writers().len());
        let (id, key, place) = (flight.id, flight.key.clone(), Some(place));
        let asker = Asker { address: Address::Front(self.id), tag: Tag { flight: tag, number }.into() };
        match &flight.work {
            Work::Get => {
                let to = if flight.sent.is_none() { reader(chain, tag) } else { chain.answerer().node };
                out.push((Address::Node(to), Message::Get { range, id, asker, wedge, key, place, continuation: None }));
            }
            Work::Write { operation, answered } => {
                let answered = answered.unwrap_or_else(|| self.sessions.answered(id.session));
                let operation = operation.clone();
                let epoch = chain.epoch;
                let request = Message::Request { range, id, answered, asker, wedge, epoch, key, place, operation };
                request.to_writers(chain, out);
            }
        }
        Some(chain.epoch)
    }

    /// The request for another front-end.
    fn forward(&mut self, tag: u64) -> Message {
        let flight = self.flights.get_mut(tag).expect("what is sent is in flight");
        let number = flight.tries.begin(1);
        let flight = self.flights.get(tag).expect("what is sent is in flight");
        let asker = Asker { address: Address::Front(self.id), tag: Tag { flight: tag, number }.into() };
        let (answered, operation) = match &flight.work {
            Work::Get => (None, None),
            Work::Write { operation, answered } => {
                (Some(self.answered_up_to(flight.id, *answered)), Some(operation.clone()))
            }
        };
        let (id, key, place) = (flight.id, flight.key.clone(), Some(flight.place));
        Message::Ask { id, answered, asker, forwarded: true, key, place, operation, continuation: None }
    }

    /// As far as a request's session is answered; `None`: it is one of the front-end's own.
    pub(super) fn answered_up_to(&self, id: RequestId, answered: Option<u64>) -> u64 {
        answered.unwrap_or_else(|| self.sessions.answered(id.session))
    }

    /// The deadline of a request has come. If each try was refused, it is; if not, nobody knows.
    fn give_up(&mut self, tag: u64, out: &mut Vec<(Address, Message)>) {
        let tries = &self.flights.get(tag).expect("what is given up is in flight").tries;
        let answer = self.counts.given_up(Tries::last_word(std::iter::once(tries)));
        self.end_unknown(tag, &answer, out);
    }

    /// Ends a request with an answer for all who wait for it.
    pub(super) fn end(&mut self, tag: u64, answer: &Answer, out: &mut Vec<(Address, Message)>) {
        let Some(flight) = self.flights.remove(tag) else { return };
        if let Work::Write { answered: None, .. } = flight.work {
            self.sessions.ended(flight.id);
        }
        for waiter in flight.waiters {
            self.deliver(waiter, answer.clone(), out);
        }
    }

    pub(super) fn deliver(&mut self, waiter: Waiter, answer: Answer, out: &mut Vec<(Address, Message)>) {
        match waiter {
            Waiter::Asker(Asker { address, tag }, id) => {
                out.push((address, Message::Reply { id, tag, continuation: None, until: 0, answer }));
            }
            Waiter::Part(many, at) => self.part(many, at, answer, out),
        }
    }

    /// A get that nothing is remembered of: all that is needed to answer it travels with it.
    fn get_stateless(&mut self, ask: Ask, asker: Asker, blob: Vec<u8>, now: Now, out: &mut Vec<(Address, Message)>) {
        let id = ask.id;
        let place = self.secret.position(&ask.key);
        if self.version < CONTINUATIONS && !ask.forwarded && self.own_at(&place).is_none() {
            // The owner may not read what the client gives along. The client has it, too: the answer comes without.
            return self.ask(Ask { place: Some(place), ..ask }, Waiter::Asker(asker, id), now, out);
        }
        let Ask { key, forwarded, .. } = ask;
        self.counts.stateless += 1;
        if let Some(kept) = self.hit(&place, &key, now) {
            let continuation = Some(Continuation { asker, blob });
            let answer = Answer::Found(Some(kept));
            return out.push((asker.address, Message::Reply { id, tag: asker.tag, continuation, until: 0, answer }));
        }
        let owner = self.routes.wedge_at(&place).and_then(|(_, wedge)| wedge.owner);
        let to_other = owner.filter(|owner| owner.front != self.id && !forwarded);
        match (self.own_at(&place), self.routes.range_at(&place), to_other) {
            (Some(own), Some((range, chain)), _) if own.is_served() => {
                let continuation = Some(Continuation { asker, blob });
                let mine = Asker { address: Address::Front(self.id), tag: 0 };
                let place = Some(place);
                let get = Message::Get { range, id, asker: mine, wedge: own.epoch, key, place, continuation };
                out.push((Address::Node(chain.answerer().node), get));
            }
            (None, _, Some(owner)) => {
                self.counts.forwards += 1;
                let continuation = Some(wrapped(&Continuation { asker, blob }));
                let (operation, asker) = (None, Asker { address: Address::Front(self.id), tag: 0 });
                let ask = Message::Ask {
                    id,
                    answered: None,
                    asker,
                    forwarded: true,
                    key,
                    place: Some(place),
                    operation,
                    continuation,
                };
                out.push((Address::Front(owner.front), ask));
            }
            _ => {
                let continuation = Some(Continuation { asker, blob });
                out.push((
                    asker.address,
                    Message::Reply { id, tag: asker.tag, continuation, until: 0, answer: Answer::AskAgain },
                ));
            }
        }
    }
}

/// Whom to ask for a key: the one that answers, or any member where reads are spread.
fn reader(chain: &Chain, tag: u64) -> NodeId {
    if chain.spreads_reads() { chain.members[tag as usize % chain.members.len()].node } else { chain.answerer().node }
}
