//! What comes back, and what it says of the newest version of its key.

use super::continuation::unwrapped;
use super::in_flight::{Age, Tag, Tries, Work, age};
use super::machine::Front;
use crate::ids::{Address, Asker, Position, RequestId};
use crate::operation::{Append, Decision, Mode, NewValue, Operation, Outcome, Store, evaluate};
use crate::range::entry::{Kept, Version};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Now;
use crate::wire::{Answer, Continuation, Message};
use fawn_ring::Key;
use std::sync::Arc;

/// Names that a request is given beside its first: ranges that have forgotten its session may be several.
const MOST_NAMES: u8 = 3;

impl Front {
    /// A chain, or another front-end, has answered.
    pub(super) fn answered(
        &mut self,
        (id, Tag { flight: tag, number }): (RequestId, Tag),
        answer: Answer,
        until: u32,
        now: Now,
        out: &mut Vec<(Address, Message)>,
    ) {
        let now_us = now.us;
        let Some(flight) = self.flights.get_mut(tag).filter(|flight| flight.id == id) else {
            // To a try that was given up, or answered otherwise; or of a flush.
            return match answer {
                Answer::Found(Some(kept)) if planted(Bug::LateReplyFills) => self.fill_late(kept),
                answer => self.flush_answered(id, Tag { flight: tag, number }, &answer, now_us, out),
            };
        };
        if matches!(&answer, Answer::Found(Some(kept)) if kept.key != flight.key) {
            // It is tried again when the time has come.
            self.invalid.note(None, "Reply: its key is not the requested one");
            return;
        }
        flight.tries.answered(number, &answer, self.version);
        let flight = &*flight;
        match answer {
            Answer::Found(kept) if flight.is_get() => {
                self.found(tag, kept.as_ref(), until, now_us);
                self.end(tag, &Answer::Found(kept), out);
            }
            Answer::Done { outcome, position, again, .. } if !flight.is_get() => {
                self.done(tag, (outcome, position, again), until, now);
                self.end(tag, &answer, out);
            }
            Answer::Unknown { time } if !flight.is_get() => self.forgotten(tag, time, now, out),
            Answer::Malformed | Answer::TooLarge | Answer::Conditional if !flight.is_get() => {
                self.end(tag, &answer, out);
            }
            // What is known at once is told at once: to try again until the deadline would only keep the client waiting.
            Answer::Ahead { .. } | Answer::Full if !flight.is_get() && flight.tries.is_refused() => {
                self.end(tag, &answer, out);
            }
            _ if !flight.tries.is_last(number) => self.ask_view(now_us, out),
            Answer::Fenced => {
                let (epoch, place) = (flight.epoch(), flight.place);
                if epoch.is_some() && epoch == self.own_at(&place).map(|own| own.epoch) {
                    let wedge = self.routes.wedge_at(&place).map(|(wedge, _)| wedge);
                    self.lose(wedge.expect("a wedge that is owned is known"));
                }
                self.refused(tag, now_us, out);
            }
            _ => self.refused(tag, now_us, out),
        }
    }

    /// A range whose time is `time` does not remember the session of a request. Where no try of it may have been carried out,
    /// it goes on under another name; else nobody knows.
    fn forgotten(&mut self, tag: u64, time: u32, now: Now, out: &mut Vec<(Address, Message)>) {
        let flight = self.flights.get(tag).expect("what is answered is in flight");
        let (id, place) = (flight.id, flight.place);
        let (is_refused, renamed) = (flight.tries.is_refused(), flight.renamed);
        let is_own = matches!(flight.work, Work::Write { answered: None, .. });
        self.sessions.forgotten(id.session, time);
        if !is_own {
            // Whoever has named it may give it another name only if nothing was done under this one.
            let answer = if is_refused { Answer::Unknown { time } } else { Answer::TimedOut };
            return self.end_unknown(tag, &answer, out);
        }
        if !is_refused || renamed >= MOST_NAMES {
            return self.end_unknown(tag, &Answer::Unknown { time }, out);
        }
        self.sessions.ended(id);
        let range = self.routes.range_at(&place).map(|(range, _)| range);
        let id = self.sessions.number(range, now.unix, self.timing.session_idle_s);
        let flight = self.flights.get_mut(tag).expect("it was just seen");
        (flight.id, flight.tries, flight.renamed) = (id, Tries::default(), renamed + 1);
        self.send(tag, now.us, out);
    }

    /// Ends a request of which nobody knows what became, or will become, of it.
    pub(super) fn end_unknown(&mut self, tag: u64, answer: &Answer, out: &mut Vec<(Address, Message)>) {
        let flight = self.flights.get(tag).expect("what ends is in flight");
        if !flight.is_get() {
            let place = flight.place;
            self.spoil(&place);
        }
        self.end(tag, answer, out);
    }

    /// A tail has shown a key.
    fn found(&mut self, tag: u64, kept: Option<&Arc<Kept>>, until: u32, now_us: u64) {
        let flight = self.flights.get(tag).expect("what is answered is in flight");
        let (place, key) = (flight.place, flight.key.clone());
        let known =
            kept.cloned().unwrap_or_else(|| Arc::new(Kept { key, position: Position::default(), version: None }));
        let newest = self.see(&place, self.cache.age(&place, &known.key), age(&known));
        self.fill(tag, place, (known, until), newest, now_us);
    }

    /// An operation was carried out.
    fn done(&mut self, tag: u64, (outcome, position, again): (Outcome, Position, bool), until: u32, now: Now) {
        let flight = self.flights.get(tag).expect("what is answered is in flight");
        let place = flight.place;
        let Work::Write { operation, .. } = &flight.work else { unreachable!("a get is not carried out") };
        // What is written takes the place of what is cached, or asked for meanwhile. Else nobody is known to want it.
        let known = self.cache.age(&place, &flight.key);
        let cached = known.is_some() || self.flights.is_shared(&place);
        let made = made(operation, outcome, now.unix, cached);
        if matches!(made, Aftermath::Something) {
            // It shows something of the key as of `position`, but not what is there.
            return self.spoil(&place);
        }
        let gone = matches!(made, Aftermath::Nothing);
        let newest = self.see(&place, known, (position, gone));
        if cached && (!again || planted(Bug::RetryFills)) {
            let version = if let Aftermath::Version(version) = made { Some(version) } else { None };
            let key = self.flights.get(tag).expect("what is answered is in flight").key.clone();
            self.fill(tag, place, (Arc::new(Kept { key, position, version }), until), newest, now.us);
        }
    }

    /// A version of a key was seen: what is older goes. Returns the newest that was seen before, while anything of the
    /// key was in flight. `cached` is the one in the cache.
    fn see(&mut self, place: &Key, cached: Option<Age>, age: Age) -> Age {
        let newest = self.flights.seen(place, age);
        if cached.is_some_and(|cached| cached < age) {
            self.cache.remove(place);
        }
        newest
    }

    /// Something of a key was seen, or happened to it, that does not say what is there now.
    fn spoil(&mut self, place: &Key) {
        self.cache.remove(place);
        self.flights.spoil(place);
    }

    /// The answer of a request as the newest version of its key, if it is, to be shown before the Unix second `until`.
    fn fill(&mut self, tag: u64, place: Key, (kept, until): (Arc<Kept>, u32), newest: Age, now_us: u64) {
        let flight = self.flights.get(tag).expect("what is answered is in flight");
        let Some(own) = self.own_at(&place).filter(|own| flight.epoch() == Some(own.epoch) && own.is_served()) else {
            return;
        };
        let is_newest = age(&kept) >= newest && flight.fills;
        if own.has_lease(now_us) && (is_newest || planted(Bug::NoVersionFloor)) {
            let epoch = own.epoch;
            self.cache.fill(place, kept, until, epoch);
        }
    }

    /// As a planted bug does.
    fn fill_late(&mut self, kept: Arc<Kept>) {
        let place = self.position(&kept.key);
        let older = self.cache.age(&place, &kept.key).is_none_or(|cached| cached < age(&kept));
        if let Some(epoch) = self.own_at(&place).map(|own| own.epoch)
            && older
        {
            self.cache.fill(place, kept, 0, epoch);
        }
    }

    /// The answer to a get that nothing was remembered of.
    pub(super) fn pass_on(
        &mut self,
        id: RequestId,
        continuation: Continuation,
        answer: Answer,
        now_us: u64,
        out: &mut Vec<(Address, Message)>,
    ) {
        let answer = if let Answer::Found(kept) = answer {
            if let Some(kept) = &kept {
                let place = self.position(&kept.key);
                self.see(&place, self.cache.age(&place, &kept.key), age(kept));
            }
            Answer::Found(kept)
        } else {
            self.ask_view(now_us, out);
            Answer::AskAgain
        };
        let continuation = match continuation.asker.address {
            // It was asked for a client of this front-end, which alone knows it: what was told of it comes back.
            Address::Front(front) if front == self.id => match unwrapped(&continuation.blob) {
                Some(of_client) => of_client,
                None => return self.invalid.note(None, "Reply: its continuation belongs to no client"),
            },
            Address::Client(_) | Address::Front(_) => continuation,
            Address::Node(_) | Address::Manager => return,
        };
        let Asker { address, tag } = continuation.asker;
        out.push((address, Message::Reply { id, tag, continuation: Some(continuation), until: 0, answer }));
    }
}

/// What is there after an operation.
enum Aftermath {
    /// What its answer does not say.
    Something,
    Version(Version),
    Nothing,
}

/// What an operation has made; without `with_value` its value is left empty.
fn made(operation: &[u8], outcome: Outcome, unix: u32, with_value: bool) -> Aftermath {
    let Ok(operation) = postcard::from_bytes::<Operation<'_>>(operation) else { return Aftermath::Something };
    match (operation, outcome) {
        // Whether it has expired already is for the range's time to say.
        (Operation::Store(store), Outcome::Stored { .. }) if is_plain(&store) && store.expiry == 0 => {
            let set = Operation::Store(Store { mode: Mode::Set, ..store });
            let Decision { append, .. } = evaluate(&set, None, unix, usize::MAX);
            let Append::Value(crate::operation::Version { value, flags, expiry, stale, won, client_cas }) = append
            else {
                return Aftermath::Something;
            };
            let NewValue::Given(value) = value else { return Aftermath::Something };
            let value = if with_value { value.to_vec() } else { Vec::new() };
            Aftermath::Version(Version { value, flags, expiry, stale, won, client_cas })
        }
        (Operation::Delete(delete), Outcome::Deleted) if !delete.invalidate && !delete.drop_value => Aftermath::Nothing,
        _ => Aftermath::Something,
    }
}

/// Whether what is stored is just what was given.
fn is_plain(store: &Store<'_>) -> bool {
    match store.mode {
        Mode::Set | Mode::Add | Mode::Replace => true,
        Mode::Cas => !store.invalidate,
        Mode::Append { .. } | Mode::Prepend { .. } => false,
    }
}
