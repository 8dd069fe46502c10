//! The machine: what it is asked, and where it sends it.

use super::coherence::CoherentCache;
use super::continuation::wrapped;
use super::counts::Counts;
use super::flush::{FlushContext, Flushes};
use super::flushes::AskFlush;
use super::in_flight::{Flight, Flights, JoinOutcome, LastTry, Tag, Tries, Waiter, Work, reply};
use super::limits::Limits;
use super::multi_get::MultiGets;
use super::registration::Life;
use super::routes::Routes;
use super::session::Sessions;
use super::tags::TagCounter;
use super::wedge::OwnWedges;
use crate::ids::{Address, Asker, Chain, Epoch, FrontId, NodeId, RequestId, WedgeId};
use crate::operation::is_of_part;
use crate::range::entry::Kept;
use crate::timing::{Now, Timing};
use crate::wire::version::{CONTINUATIONS, OLDEST, PARTS};
use crate::wire::{Answer, Continuation, InvalidMessages, Message};
use fawn_ring::{Interval, Key, Secret};
use std::sync::Arc;

/// A request as it comes.
struct Ask {
    id: RequestId,
    answered: Option<u64>,
    forwarded: bool,
    key: Vec<u8>,
    /// Where the key lies, if that is known.
    place: Option<Key>,
    operation: Option<Vec<u8>>,
}

/// One front-end.
#[derive(Debug)]
pub struct Front {
    pub(super) id: FrontId,
    pub(super) timing: Timing,
    pub(super) limits: Limits,
    secret: Secret,
    pub(super) life: Life,
    pub(super) tags: TagCounter,
    pub(super) sessions: Sessions,
    pub(super) routes: Routes,
    pub(super) own: OwnWedges,
    pub(super) cache: CoherentCache,
    pub(super) flights: Flights,
    flushes: Flushes,
    multi_gets: MultiGets,
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
            life: Life::new(id, nonce),
            tags: TagCounter::default(),
            sessions: Sessions::new(nonce as u32),
            routes: Routes::default(),
            own: OwnWedges::default(),
            cache: CoherentCache::new(limits.cache_bytes),
            flights: Flights::default(),
            flushes: Flushes::default(),
            multi_gets: MultiGets::default(),
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
        self.own.served(now_us)
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        let now_us = now.us;
        self.live(now_us, out);
        let (flushes, mut context) = self.flushes(now_us, out);
        let mut unanswered = flushes.tick(&mut context);
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
                let (ask, has_begun) = (AskFlush { id, answered, asker, wedge, due }, self.life.has_begun());
                let (flushes, mut context) = self.flushes(now.us, out);
                flushes.ask(ask, has_begun, now.unix, &mut context);
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

    /// The flushes, and what they need of the front-end.
    pub(super) fn flushes<'a>(
        &'a mut self,
        now_us: u64,
        out: &'a mut Vec<(Address, Message)>,
    ) -> (&'a mut Flushes, FlushContext<'a>) {
        let context = FlushContext {
            front: self.id,
            limits: &self.limits,
            own: &self.own,
            routes: &self.routes,
            sessions: &mut self.sessions,
            session_idle_s: self.timing.session_idle_s,
            tags: &mut self.tags,
            cache: &mut self.cache,
            flights: &mut self.flights,
            counts: &mut self.counts,
            now_us,
            out,
        };
        (&mut self.flushes, context)
    }

    /// Somebody wants many keys.
    fn ask_many(
        &mut self,
        id: RequestId,
        asker: Asker,
        keys: Vec<Vec<u8>>,
        now: Now,
        out: &mut Vec<(Address, Message)>,
    ) {
        self.counts.many += 1;
        let number = self.tags.next();
        if !self.multi_gets.begin(number, (asker, id), keys.len(), &self.limits, out) {
            return;
        }
        for (at, key) in keys.into_iter().enumerate() {
            if self.multi_gets.contains(number) {
                let ask = Ask { id, answered: None, forwarded: false, key, place: None, operation: None };
                self.ask(ask, Waiter::Part(number, at), now, out);
            }
        }
    }

    pub(super) fn position(&self, key: &[u8]) -> Key {
        self.secret.position(key)
    }

    /// Takes a request on, answers it from the cache, or refuses it.
    fn ask(&mut self, ask: Ask, waiter: Waiter, now: Now, out: &mut Vec<(Address, Message)>) {
        let place = ask.place.unwrap_or_else(|| self.secret.position(&ask.key));
        if ask.forwarded && self.own.at(&place, &self.routes).is_none() {
            return self.deliver(waiter, Answer::AskAgain, out);
        }
        if self.version < PARTS && ask.operation.as_deref().is_some_and(is_of_part) {
            // A member of an older release could not read it, nor what it comes to.
            return self.deliver(waiter, Answer::NeedsUpgrade, out);
        }
        if ask.operation.is_none() {
            if let Some(kept) = self.hit(&place, &ask.key, now) {
                return self.deliver(waiter, Answer::Found(Some(kept)), out);
            }
            if let Some(own) = self.own.at(&place, &self.routes).filter(|own| own.has_lease(now.us)) {
                match self.flights.join(&place, own.epoch, waiter, ask.forwarded, self.limits.waiters) {
                    JoinOutcome::No => {}
                    JoinOutcome::Yes => {
                        self.counts.joined += 1;
                        return;
                    }
                    JoinOutcome::Full => return self.refuse(waiter, out),
                }
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
        let (tag, cached) = (self.tags.next(), self.cache.age(&place, &key));
        let mut flight = Flight::new(id, place, key, work, waiter, now.us);
        flight.forwarded = forwarded;
        self.flights.insert(tag, flight, cached);
        self.send(tag, now.us, out);
        if self.flights.get(tag).is_some_and(|flight| flight.sent.is_none()) {
            self.flights.look_soon();
        }
    }

    fn refuse(&mut self, waiter: Waiter, out: &mut Vec<(Address, Message)>) {
        self.counts.busy += 1;
        self.deliver(waiter, Answer::Busy, out);
    }

    /// What the cache has of a key, if it may be shown.
    fn hit(&mut self, place: &Key, key: &[u8], now: Now) -> Option<Arc<Kept>> {
        let kept = self.cache.hit(place, key, self.own.at(place, &self.routes)?, now)?;
        self.counts.hits += 1;
        Some(kept)
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
        let sent = match self.own.at(&flight.place, &self.routes).map(|own| (own.epoch, own.is_served())) {
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
        let own = self.own.at(&flight.place, &self.routes);
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
        let wedge = self.own.at(&place, &self.routes)?.epoch;
        let (range, chain) = self.routes.range_at(&place)?;
        let flight = self.flights.get_mut(tag).expect("what is sent is in flight");
        let number = flight.tries.begin(chain.writers().len());
        let (id, key, place) = (flight.id, flight.key.clone(), Some(place));
        let asker = Asker { address: Address::Front(self.id), tag: Tag { flight: tag, number }.into() };
        match &flight.work {
            Work::Get => {
                let to = if flight.sent.is_none() { reader(chain, tag) } else { chain.reader().node };
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
                (Some(self.sessions.answered_up_to(flight.id, *answered)), Some(operation.clone()))
            }
        };
        let (id, key, place) = (flight.id, flight.key.clone(), Some(flight.place));
        Message::Ask { id, answered, asker, forwarded: true, key, place, operation, continuation: None }
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

    fn deliver(&mut self, waiter: Waiter, answer: Answer, out: &mut Vec<(Address, Message)>) {
        match waiter {
            Waiter::Asker(asker, id) => reply((asker, id), answer, out),
            Waiter::Part(many, at) => self.multi_gets.answered(many, at, answer, &self.limits, out),
        }
    }

    /// A get that nothing is remembered of: all that is needed to answer it travels with it.
    fn get_stateless(&mut self, ask: Ask, asker: Asker, blob: Vec<u8>, now: Now, out: &mut Vec<(Address, Message)>) {
        let id = ask.id;
        let place = self.secret.position(&ask.key);
        if self.version < CONTINUATIONS && !ask.forwarded && self.own.at(&place, &self.routes).is_none() {
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
        match (self.own.at(&place, &self.routes), self.routes.range_at(&place), to_other) {
            (Some(own), Some((range, chain)), _) if own.is_served() => {
                let continuation = Some(Continuation { asker, blob });
                let mine = Asker { address: Address::Front(self.id), tag: 0 };
                let place = Some(place);
                let get = Message::Get { range, id, asker: mine, wedge: own.epoch, key, place, continuation };
                out.push((Address::Node(chain.reader().node), get));
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

/// Whom to ask for a key: the one that answers gets, or another one where reads are spread.
fn reader(chain: &Chain, tag: u64) -> NodeId {
    let readers = chain.readers();
    readers[tag as usize % readers.len()].node
}
