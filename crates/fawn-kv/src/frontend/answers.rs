//! What comes back, and what it says of the newest version of its key.

use super::continuation::unwrapped;
use super::flushes::FlushReaction;
use super::in_flight::{Tag, Tries, Work, age};
use super::machine::Front;
use crate::ids::{Address, Asker, RequestId};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Now;
use crate::wire::{Answer, Continuation, Message};

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
                Answer::Found(Some(kept)) if planted(Bug::LateReplyFills) => {
                    let place = self.position(&kept.key);
                    if let Some(own) = self.own.at(&place, &self.routes) {
                        self.cache.fill_late(place, kept, own.epoch);
                    }
                }
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
                self.flights.answered(tag, now_us);
                self.cache.found(tag, (kept.as_ref(), until), (&self.own, &self.routes), &mut self.flights, now_us);
                self.end(tag, &Answer::Found(kept), out);
            }
            Answer::Done { outcome, position, again, .. } if !flight.is_get() => {
                self.flights.answered(tag, now_us);
                let done = (outcome, position, again);
                self.cache.done(tag, done, until, (&self.own, &self.routes), &mut self.flights, now);
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
                if epoch.is_some() && epoch == self.own.at(&place, &self.routes).map(|own| own.epoch) {
                    let wedge = self.routes.wedge_at(&place).map(|(wedge, _)| wedge);
                    self.lose(wedge.expect("a wedge that is owned is known"));
                }
                self.refused(tag, now_us, out);
            }
            _ => self.refused(tag, now_us, out),
        }
    }

    /// A head, or the owner of another wedge, has answered what was asked for a flush.
    fn flush_answered(
        &mut self,
        id: RequestId,
        tag: Tag,
        answer: &Answer,
        now_us: u64,
        out: &mut Vec<(Address, Message)>,
    ) {
        let version = self.version;
        let (flushes, mut context) = self.flushes(now_us, out);
        match flushes.answered(id, tag, (answer, version), &mut context) {
            FlushReaction::None => {}
            FlushReaction::AskView => self.ask_view(now_us, out),
            FlushReaction::Lose(wedge) => {
                self.lose(wedge);
                self.ask_view(now_us, out);
            }
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
            self.cache.spoil(&place, &mut self.flights);
        }
        self.end(tag, answer, out);
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
                self.cache.see(&place, self.cache.age(&place, &kept.key), age(kept), &mut self.flights);
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
