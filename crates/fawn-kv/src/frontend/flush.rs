//! Flushes: of all keys, wedge by wedge, each through its owner.
//!
//! Whoever is asked for a flush asks the owner of every wedge, perhaps itself, for that of its wedge. The owner asks the
//! heads of all ranges that have keys of the wedge. When they have answered, what it has cached goes, and what is in flight
//! is not cached any more; then it answers. All are asked under the one name of the request, again and again, whoever owns
//! a wedge by then and whatever the ranges are: each range remembers which keys the flush has reached.

use super::coherence::CoherentCache;
use super::counts::Counts;
use super::flushes::{AskFlush, Flush, FlushReaction, Name, Part, Question};
use super::in_flight::{Flights, Tag, reply};
use super::limits::Limits;
use super::routes::Routes;
use super::session::Sessions;
use super::tags::TagCounter;
use super::wedge::OwnWedges;
use crate::ids::{Address, Asker, FrontId, RequestId, WedgeEpoch, WedgeId};
use crate::range::range_map::RangeMap;
use crate::testing::coverage::{Path, took};
use crate::wire::{Answer, Message};
use fawn_ring::Interval;
use std::collections::BTreeMap;

/// What a flush needs of its front-end.
pub(super) struct FlushContext<'a> {
    pub(super) front: FrontId,
    pub(super) limits: &'a Limits,
    pub(super) own: &'a OwnWedges,
    pub(super) routes: &'a Routes,
    pub(super) sessions: &'a mut Sessions,
    pub(super) session_idle_s: u32,
    pub(super) tags: &'a mut TagCounter,
    pub(super) cache: &'a mut CoherentCache,
    pub(super) flights: &'a mut Flights,
    pub(super) counts: &'a mut Counts,
    pub(super) now_us: u64,
    pub(super) out: &'a mut Vec<(Address, Message)>,
}

/// All flushes that are under way.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    by_name: BTreeMap<Name, Flush>,
    /// What each answer is about: keys of a wedge.
    tags: BTreeMap<u64, (Name, WedgeId, Interval)>,
}

impl Flushes {
    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Wedges that all of them have yet to flush.
    fn wedges(&self) -> usize {
        self.by_name.values().map(|flush| flush.parts.len()).sum()
    }

    fn part(&mut self, name: Name, wedge: WedgeId) -> Option<&mut Part> {
        self.by_name.get_mut(&name)?.parts.get_mut(&wedge)
    }

    fn remove(&mut self, name: Name) -> Option<Flush> {
        let flush = self.by_name.remove(&name)?;
        for Question { tag, .. } in flush.parts.values().flat_map(|part| &part.asked) {
            self.tags.remove(tag);
        }
        Some(flush)
    }

    /// Somebody wants everything gone.
    pub(super) fn ask(&mut self, ask: AskFlush, has_begun: bool, unix: u32, context: &mut FlushContext<'_>) {
        let AskFlush { mut id, answered, asker, wedge, due } = ask;
        let waiter = (asker, id);
        if wedge.is_some_and(|wedge| context.own.get(wedge).is_none()) {
            return reply(waiter, Answer::AskAgain, context.out);
        }
        if answered.is_some()
            && let Some(flush) = self.by_name.get_mut(&(id, wedge))
        {
            // Another try of what is under way.
            if !flush.waiters.contains(&waiter) && flush.waiters.len() < context.limits.waiters {
                flush.waiters.push(waiter);
            }
            return;
        }
        let wedges = context.routes.wedges().filter(|(id, _)| wedge.is_none_or(|wedge| wedge == *id));
        let part = |wedge| Part { wedge, reached: RangeMap::default(), asked: Vec::new(), epoch: None, sent_us: None };
        let parts: BTreeMap<WedgeId, Part> = wedges.map(|(id, wedge)| (id, part(wedge.keys))).collect();
        let full = self.wedges() >= context.limits.flushed_wedges;
        if full || !has_begun || parts.is_empty() {
            context.counts.busy += 1;
            return reply(waiter, Answer::Busy, context.out);
        }
        if answered.is_none() {
            id = context.sessions.number(None, unix, context.session_idle_s);
        }
        let flush = Flush { answered, due, waiters: vec![waiter], began_us: context.now_us, parts, begun: false };
        self.by_name.insert((id, wedge), flush);
        self.go_on((id, wedge), context);
    }

    /// Time has passed. Whether anything is not answered.
    pub(super) fn tick(&mut self, context: &mut FlushContext<'_>) -> bool {
        for name in self.by_name.keys().copied().collect::<Vec<_>>() {
            let flush = &self.by_name[&name];
            if context.now_us >= flush.began_us + context.limits.deadline_us {
                let answer = context.counts.given_up(flush.last_word());
                self.end(name, &answer, context);
            } else {
                self.go_on(name, context);
            }
        }
        self.len() > 0
    }

    /// Asks for what was not asked for, or not answered for long.
    fn go_on(&mut self, name: Name, context: &mut FlushContext<'_>) {
        let (retry_us, now_us) = (context.limits.retry_us, context.now_us);
        let late = |part: &Part| part.sent_us.is_none_or(|sent| now_us >= sent + retry_us);
        let Some(flush) = self.by_name.get(&name) else { return };
        let wedges: Vec<WedgeId> = flush.parts.iter().filter(|(_, part)| late(part)).map(|(wedge, _)| *wedge).collect();
        for wedge in wedges {
            match context.own.get(wedge).map(|own| (own.epoch, own.is_served())) {
                Some((_, false)) => {}
                Some((epoch, true)) => self.ask_chains(name, wedge, epoch, context),
                None if name.1.is_some() => return self.end_moved(name, context),
                None => self.ask_owner(name, wedge, context),
            }
        }
    }

    /// Ends a flush of a wedge that another front-end owns by now.
    fn end_moved(&mut self, name: Name, context: &mut FlushContext<'_>) {
        let is_refused = self.by_name[&name].last_word() != Answer::TimedOut;
        self.end(name, &if is_refused { Answer::AskAgain } else { Answer::TimedOut }, context);
    }

    /// Asks the heads of all ranges that have keys of a wedge of its own which are not known to be flushed.
    fn ask_chains(&mut self, name: Name, wedge: WedgeId, epoch: WedgeEpoch, context: &mut FlushContext<'_>) {
        let flush = &self.by_name[&name];
        let (part, id, due) = (&flush.parts[&wedge], name.0, flush.due);
        let answered = context.sessions.answered_up_to(id, flush.answered);
        let routes = context.routes;
        let parts = routes.parts(&part.wedge).filter(|(.., keys)| !part.reached.lacks(keys).is_empty());
        let asks: Vec<_> = parts.collect();
        if let Some(part) = self.part(name, wedge) {
            part.begin(epoch, context.now_us);
        }
        for (range, chain, keys) in asks {
            let asker = self.asker(name, wedge, keys, chain.writers().len(), context);
            Message::Flush { range, id, answered, asker, wedge: epoch, keys, due }.to_writers(chain, context.out);
        }
    }

    /// Asks another front-end for the flush of a wedge that it owns.
    fn ask_owner(&mut self, name: Name, wedge: WedgeId, context: &mut FlushContext<'_>) {
        let Some(known) = context.routes.wedge(wedge) else { return };
        let (epoch, keys) = (known.epoch, known.keys);
        let Some(owner) = known.owner.filter(|owner| owner.front != context.front) else { return };
        let flush = &self.by_name[&name];
        let (answered, due) = (Some(context.sessions.answered_up_to(name.0, flush.answered)), flush.due);
        if let Some(part) = self.part(name, wedge) {
            part.begin(epoch, context.now_us);
        }
        context.counts.forwards += 1;
        let asker = self.asker(name, wedge, keys, 1, context);
        let ask = Message::AskFlush { id: name.0, answered, asker, wedge: Some(wedge), due };
        context.out.push((Address::Front(owner.front), ask));
    }

    /// Who is answered when these keys are flushed, by so many.
    fn asker(
        &mut self,
        name: Name,
        wedge: WedgeId,
        keys: Interval,
        writers: usize,
        context: &mut FlushContext<'_>,
    ) -> Asker {
        const UNDER_WAY: &str = "a flush that is asked for is under way";
        if self.part(name, wedge).expect(UNDER_WAY).question(|asked| asked.keys == keys).is_none() {
            let tag = context.tags.next();
            self.tags.insert(tag, (name, wedge, keys));
            self.part(name, wedge).expect(UNDER_WAY).ask(keys, tag);
        }
        let part = self.part(name, wedge).expect(UNDER_WAY);
        let question = part.question(|asked| asked.keys == keys).expect("what is asked for is noted");
        let (flight, number) = (question.tag, question.tries.begin(writers));
        Asker { address: Address::Front(context.front), tag: Tag { flight, number }.into() }
    }

    /// A head, or the owner of another wedge, has answered; everybody speaks so new a version.
    pub(super) fn answered(
        &mut self,
        id: RequestId,
        Tag { flight: tag, number }: Tag,
        (answer, version): (&Answer, u8),
        context: &mut FlushContext<'_>,
    ) -> FlushReaction {
        let asked = self.tags.get(&tag).copied().filter(|(name, ..)| name.0 == id);
        let Some((name, wedge, keys)) = asked else { return FlushReaction::None };
        let Some(flush) = self.by_name.get_mut(&name) else { return FlushReaction::None };
        let Some(part) = flush.parts.get_mut(&wedge) else { return FlushReaction::None };
        if let Some(question) = part.question(|asked| asked.tag == tag) {
            question.tries.answered(number, answer, version);
        }
        match answer {
            Answer::Done { .. } | Answer::Flushed => {
                flush.begun = true;
                part.reached.add(&keys);
                if part.reached.lacks(&part.wedge).is_empty() {
                    self.end_part(name, wedge, context);
                }
            }
            Answer::Unknown { time } => {
                context.sessions.forgotten(id.session, *time);
                self.end(name, answer, context);
            }
            Answer::Fenced => {
                let epoch = part.epoch;
                let is_lost = epoch.is_some() && epoch == context.own.get(wedge).map(|own| own.epoch);
                return if is_lost { FlushReaction::Lose(wedge) } else { FlushReaction::AskView };
            }
            // It is tried again, when more is known.
            _ => return FlushReaction::AskView,
        }
        FlushReaction::None
    }

    /// A wedge is flushed. What was asked of a chain before may come late.
    fn end_part(&mut self, name: Name, wedge: WedgeId, context: &mut FlushContext<'_>) {
        let flush = self.by_name.get_mut(&name).expect("a flush whose part ends is under way");
        let part = flush.parts.remove(&wedge).expect("a part that ends was there");
        let is_last = flush.parts.is_empty();
        for Question { tag, .. } in &part.asked {
            self.tags.remove(tag);
        }
        context.cache.flushed(&part.wedge, context.flights);
        if is_last {
            self.end(name, &Answer::Flushed, context);
        }
    }

    /// Ends a flush with an answer for all who wait for it.
    fn end(&mut self, name: Name, answer: &Answer, context: &mut FlushContext<'_>) {
        let Some(flush) = self.remove(name) else { return };
        if flush.answered.is_none() {
            context.sessions.ended(name.0);
        }
        if name.1.is_none() && *answer == Answer::Flushed {
            took(Path::FlushedByWedges);
            context.counts.flushes += 1;
        }
        // Nobody knows what became of those that were not answered.
        for part in flush.parts.values().filter(|part| part.sent_us.is_some()) {
            context.cache.flushed(&part.wedge, context.flights);
        }
        for waiter in flush.waiters {
            reply(waiter, answer.clone(), context.out);
        }
    }
}

#[cfg(test)]
mod tests;
