//! Flushes: of all keys, wedge by wedge, each through its owner.
//!
//! Whoever is asked for a flush asks the owner of every wedge, perhaps itself, for that of its wedge. The owner asks the
//! heads of all ranges that have keys of the wedge. When they have answered, what it has cached goes, and what is in flight
//! is not cached any more; then it answers. All are asked under the one name of the request, again and again, whoever owns
//! a wedge by then and whatever the ranges are: each range remembers which keys the flush has reached.

use super::flushes::{AskFlush, Flush, Name, Part, Question};
use super::in_flight::{Tag, Waiter};
use super::machine::Front;
use crate::ids::{Address, Asker, RequestId, WedgeEpoch, WedgeId};
use crate::range::range_map::RangeMap;
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Now;
use crate::wire::{Answer, Message};
use fawn_ring::Interval;
use std::collections::BTreeMap;

impl Front {
    /// Somebody wants everything gone.
    pub(super) fn ask_flush(&mut self, ask: AskFlush, now: Now, out: &mut Vec<(Address, Message)>) {
        let AskFlush { mut id, answered, asker, wedge, due } = ask;
        let waiter = Waiter::Asker(asker, id);
        if wedge.is_some_and(|wedge| !self.own.contains_key(&wedge)) {
            return self.deliver(waiter, Answer::AskAgain, out);
        }
        if answered.is_some()
            && let Some(flush) = self.flushes.by_name.get_mut(&(id, wedge))
        {
            // Another try of what is under way.
            if !flush.waiters.contains(&waiter) && flush.waiters.len() < self.limits.waiters {
                flush.waiters.push(waiter);
            }
            return;
        }
        let wedges = self.routes.wedges().filter(|(id, _)| wedge.is_none_or(|wedge| wedge == *id));
        let part = |wedge| Part { wedge, reached: RangeMap::default(), asked: Vec::new(), epoch: None, sent_us: None };
        let parts: BTreeMap<WedgeId, Part> = wedges.map(|(id, wedge)| (id, part(wedge.keys))).collect();
        let full = self.flushes.len() >= self.limits.flushes;
        if full || !self.life.has_begun() || parts.is_empty() {
            return self.refuse(waiter, out);
        }
        if answered.is_none() {
            id = self.sessions.number(None, now.unix, self.timing.session_idle_s);
        }
        let flush = Flush { answered, due, waiters: vec![waiter], began_us: now.us, parts, begun: false };
        self.flushes.by_name.insert((id, wedge), flush);
        self.go_on((id, wedge), now.us, out);
    }

    /// Time has passed. Whether anything is not answered.
    pub(super) fn tick_flushes(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) -> bool {
        for name in self.flushes.by_name.keys().copied().collect::<Vec<_>>() {
            let flush = &self.flushes.by_name[&name];
            if now_us >= flush.began_us + self.limits.deadline_us {
                let answer = self.counts.given_up(flush.last_word());
                self.end_flush(name, &answer, out);
            } else {
                self.go_on(name, now_us, out);
            }
        }
        self.flushes.len() > 0
    }

    /// Asks for what was not asked for, or not answered for long.
    fn go_on(&mut self, name: Name, now_us: u64, out: &mut Vec<(Address, Message)>) {
        let retry_us = self.limits.retry_us;
        let late = |part: &Part| part.sent_us.is_none_or(|sent| now_us >= sent + retry_us);
        let Some(flush) = self.flushes.by_name.get(&name) else { return };
        let wedges: Vec<WedgeId> = flush.parts.iter().filter(|(_, part)| late(part)).map(|(wedge, _)| *wedge).collect();
        for wedge in wedges {
            match self.own.get(&wedge).map(|own| (own.epoch, own.is_served())) {
                Some((_, false)) => {}
                Some((epoch, true)) => self.ask_chains(name, wedge, epoch, now_us, out),
                None if name.1.is_some() => return self.end_moved(name, out),
                None => self.ask_owner(name, wedge, now_us, out),
            }
        }
    }

    /// Ends a flush of a wedge that another front-end owns by now.
    fn end_moved(&mut self, name: Name, out: &mut Vec<(Address, Message)>) {
        let is_refused = self.flushes.by_name[&name].last_word() != Answer::TimedOut;
        self.end_flush(name, &if is_refused { Answer::AskAgain } else { Answer::TimedOut }, out);
    }

    /// Asks the heads of all ranges that have keys of a wedge of its own which are not known to be flushed.
    fn ask_chains(
        &mut self,
        name: Name,
        wedge: WedgeId,
        epoch: WedgeEpoch,
        now_us: u64,
        out: &mut Vec<(Address, Message)>,
    ) {
        let flush = &self.flushes.by_name[&name];
        let (part, id, due) = (&flush.parts[&wedge], name.0, flush.due);
        let answered = self.answered_up_to(id, flush.answered);
        let parts = self.routes.parts(&part.wedge).filter(|(.., keys)| !part.reached.lacks(keys).is_empty());
        let asks: Vec<_> = parts.map(|(range, chain, keys)| (range, chain.clone(), keys)).collect();
        if let Some(part) = self.flushes.part(name, wedge) {
            part.begin(epoch, now_us);
        }
        for (range, chain, keys) in asks {
            let asker = self.flush_asker(name, wedge, keys, chain.writers().len());
            Message::Flush { range, id, answered, asker, wedge: epoch, keys, due }.to_writers(&chain, out);
        }
    }

    /// Asks another front-end for the flush of a wedge that it owns.
    fn ask_owner(&mut self, name: Name, wedge: WedgeId, now_us: u64, out: &mut Vec<(Address, Message)>) {
        let Some(known) = self.routes.wedge(wedge) else { return };
        let (epoch, keys) = (known.epoch, known.keys);
        let Some(owner) = known.owner.filter(|owner| owner.front != self.id) else { return };
        let flush = &self.flushes.by_name[&name];
        let (answered, due) = (Some(self.answered_up_to(name.0, flush.answered)), flush.due);
        if let Some(part) = self.flushes.part(name, wedge) {
            part.begin(epoch, now_us);
        }
        self.counts.forwards += 1;
        let asker = self.flush_asker(name, wedge, keys, 1);
        let ask = Message::AskFlush { id: name.0, answered, asker, wedge: Some(wedge), due };
        out.push((Address::Front(owner.front), ask));
    }

    /// Who is answered when these keys are flushed, by so many.
    fn flush_asker(&mut self, name: Name, wedge: WedgeId, keys: Interval, writers: usize) -> Asker {
        const UNDER_WAY: &str = "a flush that is asked for is under way";
        if self.flushes.part(name, wedge).expect(UNDER_WAY).question(|asked| asked.keys == keys).is_none() {
            let tag = self.next_tag();
            self.flushes.tags.insert(tag, (name, wedge, keys));
            self.flushes.part(name, wedge).expect(UNDER_WAY).ask(keys, tag);
        }
        let part = self.flushes.part(name, wedge).expect(UNDER_WAY);
        let question = part.question(|asked| asked.keys == keys).expect("what is asked for is noted");
        let (flight, number) = (question.tag, question.tries.begin(writers));
        Asker { address: Address::Front(self.id), tag: Tag { flight, number }.into() }
    }

    /// A head, or the owner of another wedge, has answered.
    pub(super) fn flush_answered(
        &mut self,
        id: RequestId,
        Tag { flight: tag, number }: Tag,
        answer: &Answer,
        now_us: u64,
        out: &mut Vec<(Address, Message)>,
    ) {
        let Some((name, wedge, keys)) = self.flushes.tags.get(&tag).copied().filter(|(name, ..)| name.0 == id) else {
            return;
        };
        let Some(flush) = self.flushes.by_name.get_mut(&name) else { return };
        let Some(part) = flush.parts.get_mut(&wedge) else { return };
        if let Some(question) = part.question(|asked| asked.tag == tag) {
            question.tries.answered(number, answer, self.version);
        }
        match answer {
            Answer::Done { .. } | Answer::Flushed => {
                flush.begun = true;
                part.reached.add(&keys);
                if part.reached.lacks(&part.wedge).is_empty() {
                    self.end_part(name, wedge, out);
                }
            }
            Answer::Unknown { time } => {
                self.sessions.forgotten(id.session, *time);
                self.end_flush(name, answer, out);
            }
            Answer::Fenced => {
                let epoch = part.epoch;
                if epoch.is_some() && epoch == self.own.get(&wedge).map(|own| own.epoch) {
                    self.lose(wedge);
                }
                self.ask_view(now_us, out);
            }
            // It is tried again, when more is known.
            _ => self.ask_view(now_us, out),
        }
    }

    /// A wedge is flushed. What was asked of a chain before may come late.
    fn end_part(&mut self, name: Name, wedge: WedgeId, out: &mut Vec<(Address, Message)>) {
        let flush = self.flushes.by_name.get_mut(&name).expect("a flush whose part ends is under way");
        let part = flush.parts.remove(&wedge).expect("a part that ends was there");
        let is_last = flush.parts.is_empty();
        for Question { tag, .. } in &part.asked {
            self.flushes.tags.remove(tag);
        }
        self.forget(&part.wedge);
        if is_last {
            self.end_flush(name, &Answer::Flushed, out);
        }
    }

    /// Ends a flush with an answer for all who wait for it.
    fn end_flush(&mut self, name: Name, answer: &Answer, out: &mut Vec<(Address, Message)>) {
        let Some(flush) = self.flushes.remove(name) else { return };
        if flush.answered.is_none() {
            self.sessions.ended(name.0);
        }
        if name.1.is_none() && *answer == Answer::Flushed {
            took(Path::FlushedByWedges);
            self.counts.flushes += 1;
        }
        // Nobody knows what became of those that were not answered.
        for part in flush.parts.values().filter(|part| part.sent_us.is_some()) {
            self.forget(&part.wedge);
        }
        for waiter in flush.waiters {
            self.deliver(waiter, answer.clone(), out);
        }
    }

    /// What was seen of a wedge's keys says nothing of what is there now.
    fn forget(&mut self, keys: &Interval) {
        if !planted(Bug::FlushLeavesCache) {
            self.cache.empty(keys);
        }
        if !planted(Bug::FlushForgetsFlights) {
            self.flights.spoil_all(keys);
        }
    }
}

#[cfg(test)]
mod tests;
