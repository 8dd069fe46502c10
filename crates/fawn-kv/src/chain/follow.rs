//! Copies and catching up: a learner pulls what is in a range from a member, then what is committed meanwhile; a member
//! that is made level pulls what the source has and it has not. Whatever is lost on the way is asked for again.

use super::replica::{Context, Phase, Replica};
use crate::entry::{Entry, Kept};
use crate::ids::{Attempt, Member, Position};
use crate::message::{Message, Records};
use crate::planted::{Bug, planted};
use crate::sessions::Sessions;
use crate::store::RangeStore;

/// A part of a copy.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) after: Option<Vec<u8>>,
    pub(super) kept: Vec<Kept>,
    pub(super) more: bool,
    pub(super) at: Position,
    pub(super) sessions: Option<Sessions>,
}

/// A copy under way.
#[derive(Debug)]
pub(super) struct Copying {
    from: Member,
    /// Parts up to this key are here.
    after: Option<Vec<u8>>,
    /// What was committed when the copy began: what is copied is as of then, or newer.
    began: Option<(Position, Sessions)>,
}

/// How a log follows another.
#[derive(Debug)]
pub(super) struct Following {
    pub(super) source: Member,
    copying: Option<Copying>,
    asked_at_us: u64,
}

impl Following {
    pub(super) fn of(source: Member) -> Self {
        Self { source, copying: None, asked_at_us: 0 }
    }
}

/// A learner follows a member.
#[derive(Debug)]
pub(super) struct Learning {
    pub(super) following: Following,
    caught_up: bool,
}

impl Learning {
    pub(super) fn is_caught_up(&self) -> bool {
        self.caught_up
    }
}

impl Replica {
    /// The manager wants it to follow `source`; attempts up to `over` are.
    pub(super) fn learn<S: RangeStore>(&mut self, source: Member, over: Attempt, context: &mut Context<'_, S>) {
        match &self.phase {
            Phase::Learning(learning) if learning.following.source == source => return,
            Phase::Idle | Phase::Learning(_) => {}
            Phase::Sealed(attempt) if *attempt <= over => {}
            Phase::Levelling(levelling) if levelling.attempt <= over => {}
            Phase::Active(active) if active.chain.attempt < over => {}
            Phase::Active(_) | Phase::Sealed(_) | Phase::Levelling(_) => return,
        }
        self.phase = Phase::Learning(Learning { following: Following::of(source), caught_up: false });
        self.ask(context);
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
        let (range, me, committed) = (self.range, self.me, self.committed);
        let attempt = if let Phase::Levelling(levelling) = &self.phase { Some(levelling.attempt) } else { None };
        let mut ends: Vec<Position> = Vec::new();
        for entry in &self.suffix {
            ends.pop_if(|end| end.epoch == entry.position.epoch);
            ends.push(entry.position);
        }
        let complete = self.complete;
        let now_us = context.now_us;
        let Some(following) = self.following() else { return };
        following.asked_at_us = now_us;
        let source = following.source;
        if !complete && following.copying.as_ref().is_none_or(|copying| copying.from != source) {
            following.copying = Some(Copying { from: source, after: None, began: None });
            self.reset(context);
        }
        let message = match self.following().and_then(|following| following.copying.as_ref()) {
            Some(copying) => Message::Copy { range, learner: me, after: copying.after.clone() },
            None => Message::Fetch { range, attempt, learner: me, committed, ends },
        };
        context.send(source, message);
    }

    /// Asks again for what has not come for long, and for what may be new.
    pub(super) fn ask_again<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let (now_us, resend_us) = (context.now_us, context.timing.resend_us);
        if self.following().is_some_and(|following| now_us >= following.asked_at_us + resend_us) {
            self.ask(context);
        }
    }

    /// A learner asks for a part of everything.
    pub(super) fn give_copy<S: RangeStore>(
        &mut self,
        learner: Member,
        after: Option<Vec<u8>>,
        context: &mut Context<'_, S>,
    ) {
        if !self.complete || learner == self.me {
            return;
        }
        let (kept, more) = context.store.scan(self.range, after.as_deref());
        let sessions = after.is_none().then(|| self.sessions.clone());
        let (range, at, from) = (self.range, self.committed, self.me);
        let part = Message::CopyPart { range, to: learner.incarnation, from, after, kept, more, at, sessions };
        context.send(learner, part);
    }

    /// A part of a copy has come.
    pub(super) fn take_copy<S: RangeStore>(&mut self, from: Member, part: Part, context: &mut Context<'_, S>) {
        let range = self.range;
        let Some(copying) = self.following().and_then(|following| following.copying.as_mut()) else { return };
        if copying.from != from || copying.after != part.after {
            return;
        }
        if let Some(sessions) = part.sessions {
            copying.began = Some((part.at, sessions));
        }
        if planted(Bug::CopyNotFollowed)
            && let Some((at, _)) = &mut copying.began
        {
            *at = part.at;
        }
        copying.after = part.kept.last().map(|kept| kept.key.clone());
        context.store.install(range, &part.kept);
        if !part.more {
            let (at, sessions) = copying.began.take().expect("the first part brings the session table");
            self.following().expect("it was just there").copying = None;
            self.copied(at, sessions, context);
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
            (Phase::Active(active), Some(attempt)) => active.chain.attempt == attempt,
            (_, Some(_)) => false,
            (_, None) => true,
        };
        if !source || !self.complete || learner == self.me {
            return;
        }
        let last = if attempt.is_some() { self.last() } else { self.committed };
        let records = self.records_after(committed, ends, last, context.timing.batch);
        let (range, from) = (self.range, self.me);
        context.send(learner, Message::Fetched { range, attempt, to: learner.incarnation, from, records });
    }

    /// What follows the common part of this log, up to `last`, and one that has committed up to `committed` and whose
    /// further records' epochs end at `ends`. `None`: it lacks what is no longer in memory.
    fn records_after(&self, committed: Position, ends: &[Position], last: Position, most: usize) -> Option<Records> {
        let mut common = committed;
        for end in ends {
            let mine = self.entries().rev().find(|entry| entry.position.epoch == end.epoch);
            let Some(mine) = mine.map(|entry| entry.position) else { continue };
            common = common.max(mine.min(*end));
        }
        let common = common.min(last.max(committed));
        if common >= last {
            return Some(Records { common, entries: Vec::new(), last });
        }
        let first = self.entries().next()?.position.seq;
        if first > common.seq.next() {
            return None;
        }
        let skip = (common.seq.0 + 1 - first.0) as usize;
        let entries = self.entries().skip(skip).take_while(|entry| entry.position <= last).take(most);
        let entries: Vec<Entry> = entries.cloned().collect();
        Some(Records { common, entries, last })
    }

    /// Records have come.
    pub(super) fn take_records<S: RangeStore>(
        &mut self,
        attempt: Option<Attempt>,
        from: Member,
        records: Option<Records>,
        context: &mut Context<'_, S>,
    ) {
        let for_this = match &self.phase {
            Phase::Learning(_) => attempt.is_none(),
            Phase::Levelling(levelling) => attempt == Some(levelling.attempt),
            Phase::Idle | Phase::Active(_) | Phase::Sealed(_) => false,
        };
        let complete = self.complete;
        if !for_this || self.following().is_none_or(|following| following.source != from) {
            return;
        }
        let Some(Records { common, entries, last }) = records else {
            // What is here is too old to be added to.
            if complete {
                self.reset(context);
                self.ask(context);
            }
            return;
        };
        if !complete {
            return;
        }
        if common > self.last() || common < self.committed {
            // An answer to an older question.
            return;
        }
        let follows = entries.first().is_none_or(|entry| entry.position.seq == common.seq.next());
        assert!(follows, "what follows the common part begins after it");
        // Part of the answer may have come before. Only where it contradicts what is here, or says that the source's log
        // ends, is anything cut off.
        let known = entries.iter().take_while(|entry| self.has(entry.position)).count();
        let agreed = known.checked_sub(1).map_or(common, |at| entries[at].position);
        if agreed >= self.committed && (known < entries.len() || agreed == last) {
            self.truncate(agreed, context);
        }
        if agreed == self.last() {
            for entry in entries.into_iter().skip(known) {
                self.append(entry, context);
            }
        }
        let caught_up = self.last() == last;
        if let Phase::Learning(learning) = &mut self.phase {
            learning.caught_up = caught_up;
            self.commit(last.seq, false, context);
        }
        if !caught_up {
            self.ask(context);
        }
    }

    fn has(&self, position: Position) -> bool {
        position <= self.committed || self.pending(position.seq).is_some_and(|entry| entry.position == position)
    }
}
