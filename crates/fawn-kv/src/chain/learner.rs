//! Copies and catching up: a learner pulls what is in a range from a member, then what is committed meanwhile; a member
//! that is made level pulls what the source has and it has not. Whatever is lost on the way is asked for again.
//!
//! A copy can go on from any member: it keeps what has come, and what was committed when it began. Whoever has some of the
//! range copies only what was written since, unless the range has forgotten deletions since.
//!
//! In a weak range each member has a log of its own, and positions of one say nothing about another. There a copy goes on
//! only from the very member that it began with; from any other, everything is copied.

use super::context::Context;
use super::copying::{AsOf, CopyPart, Copying, Following, Learning, PartRequest};
use super::replica::{Phase, Replica};
use crate::ids::{Attempt, Consistency, Member, Position, Seq};
use crate::range::entry::Kept;
use crate::range::meta::Meta;
use crate::store::{Part, Place, RangeStore, Scan, Ticket};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::{Given, Message, Records};

/// Epochs of which a log has records that are not committed, at most.
const MOST_ENDS: usize = 1024;

impl Replica {
    /// The manager wants it to follow `source`; attempts up to `over` are.
    pub(super) fn learn<S: RangeStore>(
        &mut self,
        source: Member,
        over: Attempt,
        consistency: Consistency,
        context: &mut Context<'_, S>,
    ) {
        let is_weak = consistency == Consistency::Weak;
        let goes_on = !is_weak || self.follows == Some((source, over));
        match &self.phase {
            Phase::Learning(learning) if learning.following.source == source && goes_on && !self.damaged => return,
            Phase::Idle | Phase::Learning(_) => {}
            Phase::Sealed(attempt) if *attempt <= over => {}
            Phase::Levelling(levelling) if levelling.attempt <= over => {}
            Phase::Active(active) if active.chain.attempt < over => {}
            Phase::Active(_) | Phase::Sealed(_) | Phase::Levelling(_) => return,
        }
        if self.damaged {
            self.copy_all(context);
        }
        if is_weak {
            self.follow_only(source, over, over, context);
        } else if self.copying.as_ref().is_some_and(|copying| copying.from.is_some()) {
            took(Path::CopyGoesOn);
        }
        self.phase =
            Phase::Learning(Learning { following: Following::of(source), caught_up: false, committed: Seq(0) });
        self.ask(context);
    }

    /// In a weak range: what is here is of use only if it is of `source`'s log, which is the same still if no attempt came
    /// to its end since attempt `known`. If not, everything is copied.
    pub(super) fn follow_only<S: RangeStore>(
        &mut self,
        source: Member,
        known: Attempt,
        now: Attempt,
        context: &mut Context<'_, S>,
    ) {
        if self.follows != Some((source, known)) && !planted(Bug::WeakCopyNotWhole) {
            self.copy_all(context);
        }
        self.follows = Some((source, now));
    }

    fn following(&mut self) -> Option<&mut Following> {
        match &mut self.phase {
            Phase::Learning(learning) => Some(&mut learning.following),
            Phase::Levelling(levelling) if !levelling.is_level() => levelling.following.as_mut(),
            Phase::Idle | Phase::Active(_) | Phase::Sealed(_) | Phase::Levelling(_) => None,
        }
    }

    /// Asks the source for what comes next.
    pub(super) fn ask<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        if let Phase::Learning(learning) = &self.phase {
            let committed = learning.committed;
            self.log.commit(committed, false, context);
        }
        let (range, me, committed) = (self.log.range(), self.log.member(), self.log.committed());
        let attempt = if let Phase::Levelling(levelling) = &self.phase { Some(levelling.attempt) } else { None };
        let (now_us, copies) = (context.now_us, self.copying.is_some() || !self.complete);
        let Some(following) = self.following() else { return };
        following.asked_at_us = now_us;
        let source = following.source;
        let has_room = !context.store.is_full() && context.store.ready();
        let may_copy = !copies || context.pace.is_due(now_us);
        if attempt.is_none() && !(has_room && may_copy) {
            // It asks as soon as there is room: the copy goes at the pace of the disk, and no faster than it may.
            took(if has_room { Path::LearnerPaced } else { Path::LearnerWaits });
            following.asked_at_us = 0;
            return;
        }
        if !self.complete && self.copying.is_none() {
            self.copy_all(context);
        }
        let message = if let Some(Copying { from, since, began, .. }) = &self.copying {
            let least = began.as_ref().map_or_else(Position::default, |meta| meta.committed);
            Message::Copy { range, learner: me, from: *from, since: *since, least }
        } else {
            Message::Fetch { range, attempt, learner: me, committed, ends: self.log.suffix().ends() }
        };
        context.send(source, message);
    }

    /// What is here is of no use: everything is copied.
    fn copy_all<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        took(Path::CopiedWhole);
        self.reset(context);
        self.copying =
            Some(Copying { from: None, bytes: 0, since: Position::default(), began: None, forgotten: Seq(0) });
    }

    /// Asks again for what has not come for long, and for what may be new.
    pub(super) fn ask_again<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let (now_us, resend_us) = (context.now_us, context.timing.resend_us);
        if self.following().is_some_and(|following| now_us >= following.asked_at_us + resend_us) {
            self.ask(context);
        }
    }

    /// A learner asks for a part of everything.
    pub(super) fn give_copy<S: RangeStore>(&mut self, mut wanted: PartRequest, context: &mut Context<'_, S>) {
        if !self.is_complete() || self.log.committed() < wanted.least || wanted.learner == self.log.member() {
            return;
        }
        self.log.note_follower(context.now_us);
        if self.is_too_old(wanted, context) {
            (wanted.from, wanted.since) = (None, Position::default());
        }
        // Who knows of less than the learner has would take it back.
        if self.log.committed() < wanted.since || self.copies.values().any(|(other, _)| *other == wanted) {
            return;
        }
        let as_of = (self.log.committed(), self.meta_for(wanted));
        let ticket = context.tickets.1;
        let least = if wanted.from.is_none() { self.log.committed() } else { wanted.least };
        match context.store.scan(self.log.range(), wanted.from, wanted.since.seq, least, ticket) {
            Scan::Known(part) => self.send_part(wanted, part, as_of, context),
            Scan::Later => {
                context.tickets.0.insert(ticket, self.log.range());
                context.tickets.1 += 1;
                self.copies.retain(|_, (other, _)| other.learner.node != wanted.learner.node);
                self.copies.insert(ticket, (wanted, as_of));
            }
        }
    }

    /// Whether what the learner has is of no use: it lacks deletions that are forgotten, or has what this log does not go on
    /// from.
    fn is_too_old<S: RangeStore>(&self, PartRequest { since, .. }: PartRequest, context: &Context<'_, S>) -> bool {
        let lacks_deletions = since.seq < context.store.forgotten(self.log.range()) && !planted(Bug::OldTooOld);
        since != Position::default() && (lacks_deletions || !self.log.goes_on_from(since))
    }

    /// What goes with a part: as of before it is read.
    fn meta_for(&self, wanted: PartRequest) -> Option<Meta> {
        let needed = wanted.from.is_none() || planted(Bug::CopyNotFollowed);
        needed.then(|| self.log.meta().clone())
    }

    /// A part that somebody waits for was read.
    pub fn scanned<S: RangeStore>(&mut self, ticket: Ticket, part: Part, context: &mut Context<'_, S>) {
        if let Some(scanning) = self.scans.remove(&ticket) {
            return self.show_part(scanning, part, context);
        }
        if let Some((wanted, as_of)) = self.copies.remove(&ticket) {
            self.send_part(wanted, part, as_of, context);
        }
    }

    fn send_part<S: RangeStore>(
        &mut self,
        wanted: PartRequest,
        part: Part,
        (at, meta): AsOf,
        context: &mut Context<'_, S>,
    ) {
        if self.is_too_old(wanted, context) {
            return;
        }
        let forgotten = context.store.forgotten(self.log.range());
        let forgotten = if planted(Bug::CopyLosesForgotten) { Seq(0) } else { forgotten };
        let (range, from, Part { kept, next }) = (self.log.range(), self.log.member(), part);
        let PartRequest { learner, from: asked, since, .. } = wanted;
        let to = learner.incarnation;
        context.send(
            learner,
            Message::CopyPart { range, to, from, asked, since, kept, next, at, forgotten, meta: meta.map(Box::new) },
        );
    }

    /// A part of a copy has come.
    pub(super) fn take_copy<S: RangeStore>(&mut self, from: Member, part: CopyPart, context: &mut Context<'_, S>) {
        let range = self.log.range();
        if self.following().is_none_or(|following| following.source != from) {
            return;
        }
        let Some(copying) = &mut self.copying else { return };
        if part.since != copying.since {
            // The range has forgotten deletions that are lacking here, or does not have all that is here.
            if part.since == Position::default() && part.asked.is_none() {
                took(Path::CopyRestarted);
                self.copy_all(context);
                self.ask(context);
            }
            return;
        }
        // A part of an earlier copy may lack what was committed before this one began.
        let is_old = copying.began.as_ref().is_some_and(|meta| part.at < meta.committed);
        if copying.from != part.asked || is_old {
            took(Path::OtherPart);
            return;
        }
        let is_first = copying.from.is_none();
        if let Err(reason) = part.check(self.log.keys(), is_first, context) {
            return self.refuse(reason);
        }
        let bytes = part.kept.iter().map(Kept::bytes).sum();
        context.pace.took(bytes, context.now_us, context.timing.copy_bytes_per_s);
        if context.store.install(range, &part.kept).is_none() {
            // It asks for it again.
            return took(Path::LearnerWaits);
        }
        if let Some(meta) = part.meta {
            copying.began = Some(meta);
        }
        copying.from = part.next;
        copying.bytes += bytes as u64;
        self.tally.copied_bytes += bytes as u64;
        copying.forgotten = copying.forgotten.max(part.forgotten);
        if part.next.is_none() {
            let Some(meta) = copying.began.take() else { return };
            let forgotten = copying.forgotten;
            self.copying = None;
            self.copied(meta, forgotten, context);
        }
        self.ask(context);
    }

    /// A learner, or a member that is made level, asks for what follows.
    pub(super) fn give_records<S: RangeStore>(
        &mut self,
        attempt: Option<Attempt>,
        learner: Member,
        committed: Position,
        ends: &[Position],
        context: &mut Context<'_, S>,
    ) {
        let source = match (&self.phase, attempt) {
            (Phase::Sealed(sealed), Some(attempt)) => *sealed == attempt,
            (Phase::Levelling(levelling), Some(attempt)) => levelling.attempt == attempt && levelling.is_source(),
            (Phase::Active(_), Some(attempt)) if self.goes_on() => self.promised == attempt,
            (Phase::Active(active), Some(attempt)) => active.chain.attempt == attempt && !active.chain.is_weak(),
            (_, Some(_)) => false,
            (_, None) => true,
        };
        if !source || !self.is_complete() || learner == self.log.member() {
            return;
        }
        if ends.len() > MOST_ENDS {
            return self.refuse("Fetch: a log has too many ends of epochs");
        }
        self.log.note_follower(context.now_us);
        // Whoever is made level for a chain that is active already gets what the chain goes on from.
        let last = match (&self.phase, attempt) {
            (Phase::Active(active), Some(_)) if !self.goes_on() => active.chain.after,
            (_, Some(_)) => self.log.last(),
            (_, None) => self.log.committed(),
        };
        let records = if self.log.goes_on_from(committed) {
            let records = self.log.records_after(committed, ends, last, &context.timing);
            records.map_or(Given::TooOld, Given::Records)
        } else {
            Given::Another
        };
        let (range, from) = (self.log.range(), self.log.member());
        context.send(learner, Message::Fetched { range, attempt, to: learner.incarnation, from, records });
    }

    /// Records have come.
    pub(super) fn take_records<S: RangeStore>(
        &mut self,
        attempt: Option<Attempt>,
        from: Member,
        records: Given,
        context: &mut Context<'_, S>,
    ) {
        let for_this = match &self.phase {
            Phase::Learning(_) => attempt.is_none(),
            Phase::Levelling(levelling) => attempt == Some(levelling.attempt),
            Phase::Idle | Phase::Active(_) | Phase::Sealed(_) => false,
        };
        if !for_this || !self.is_complete() || self.following().is_none_or(|following| following.source != from) {
            return;
        }
        let Records { common, entries, last } = match records {
            Given::Records(records) => records,
            Given::TooOld => {
                // What is cut off may have been acknowledged: from here on the log is level as of no attempt, whatever
                // becomes of the copy, and nothing starts from it.
                if self.held.is_some() {
                    self.held = Some(Attempt(0));
                    context.store.hold(self.log.range(), Attempt(0));
                }
                self.log.truncate(self.log.committed(), context);
                let since = self.log.committed();
                took(Path::CopiedSince);
                self.copying = Some(Copying { from: None, bytes: 0, since, began: None, forgotten: Seq(0) });
                return self.ask(context);
            }
            Given::Another => {
                self.copy_all(context);
                return self.ask(context);
            }
        };
        if common > self.log.last() || common < self.log.committed() {
            // An answer to an older question.
            return;
        }
        if let Phase::Levelling(levelling) = &mut self.phase {
            levelling.last.get_or_insert(last);
        }
        // Part of the answer may have come before. Only where it contradicts what is here, or says that the source's log
        // ends, is anything cut off.
        let known = entries.iter().take_while(|entry| self.log.has(entry.position)).count();
        let agreed = known.checked_sub(1).map_or(common, |at| entries[at].position);
        if agreed >= self.log.committed() && (known < entries.len() || agreed == last) {
            self.log.truncate(agreed, context);
        }
        let before = self.log.last();
        if agreed == before {
            for entry in entries.into_iter().skip(known) {
                if !context.store.takes(self.log.range(), Place::Tail) {
                    took(Path::FollowerHasNoRoom);
                    break;
                }
                let loose = planted(Bug::NoTruncation) || planted(Bug::NoSequenceCheck) || planted(Bug::FeedOfAnyEpoch);
                if !entry.follows(self.log.last()) && !loose {
                    return self.refuse("Fetched: a record does not follow the one before");
                }
                if let Err(reason) = self.log.append_of_other(entry, context) {
                    return self.refuse(reason);
                }
            }
        }
        let caught_up = self.log.last() == last;
        if let Phase::Learning(learning) = &mut self.phase {
            (learning.caught_up, learning.committed) = (caught_up, last.seq);
            self.log.commit(last.seq, false, context);
        }
        // A source that has nothing to add, as it knows of less itself, is asked again when the time has come.
        if !caught_up && self.log.last() > before {
            self.ask(context);
        }
    }
}
