//! Copies and catching up: a learner pulls what is in a range from a member, then what is committed meanwhile; a member
//! that is made level pulls what the source has and it has not. Whatever is lost on the way is asked for again.
//!
//! A copy can go on from any member: it keeps what has come, and what was committed when it began. Whoever has some of the
//! range copies only what was written since, unless the range has forgotten deletions since.
//!
//! In a weak range each member has a log of its own, and positions of one say nothing about another. There a copy goes on
//! only from the very member that it began with; from any other, everything is copied.

use super::context::Context;
use super::copying::CopyPart;
use super::following::Learning;
use super::local_copy::PartOutcome;
use super::phase::Phase;
use super::range_data::RangeData;
use crate::ids::{Attempt, Consistency, Member};
use crate::store::RangeStore;
use crate::testing::coverage::{Path, took};
use crate::wire::{Given, Message};

impl Phase {
    /// The manager wants it to follow `source`; attempts up to `over` are.
    pub(super) fn learn<S: RangeStore>(
        &mut self,
        source: Member,
        over: Attempt,
        consistency: Consistency,
        data: &mut RangeData,
        context: &mut Context<'_, S>,
    ) {
        let is_weak = consistency == Consistency::Weak;
        let goes_on = !is_weak || data.copy.follows(source, over);
        let learns = matches!(self, Self::Learning(learning) if learning.following().source() == source);
        if (learns && goes_on && !data.copy.is_damaged()) || !self.may_learn(over) {
            return;
        }
        if data.copy.is_damaged() {
            data.copy_all(context);
        }
        if is_weak {
            data.follow_only(source, over, over, context);
        } else if data.copy.has_begun() {
            took(Path::CopyGoesOn);
        }
        *self = Self::Learning(Learning::from(source));
        self.ask(data, context);
    }

    /// Asks the source for what comes next.
    pub(super) fn ask<S: RangeStore>(&mut self, data: &mut RangeData, context: &mut Context<'_, S>) {
        if let Self::Learning(learning) = self {
            data.log.commit(learning.committed(), false, context);
        }
        let (attempt, committed) = (self.levelling(), data.log.committed());
        let Some(following) = self.following_mut() else { return };
        let source = following.source();
        let has_room = !context.store.is_full() && context.store.ready();
        let may_copy = data.copy.is_complete() || context.pace.is_due(context.now_us);
        if attempt.is_none() && !(has_room && may_copy) {
            // It asks as soon as there is room: the copy goes at the pace of the disk, and no faster than it may.
            took(if has_room { Path::LearnerPaced } else { Path::LearnerWaits });
            following.put_off();
            return;
        }
        following.ask(context.now_us);
        if data.copy.is_stuck() {
            data.copy_all(context);
        }
        let message = data.copy.next_question(&data.log).unwrap_or_else(|| {
            let (range, learner, ends) = (data.log.range(), data.log.member(), data.log.suffix().ends());
            Message::Fetch { range, attempt, learner, committed, ends }
        });
        context.send(source, message);
    }

    /// Asks again for what has not come for long, and for what may be new.
    pub(super) fn ask_again<S: RangeStore>(&mut self, data: &mut RangeData, context: &mut Context<'_, S>) {
        let (now_us, resend_us) = (context.now_us, context.timing.resend_us);
        if self.following().is_some_and(|following| following.is_due(now_us, resend_us)) {
            self.ask(data, context);
        }
    }

    /// The source has answered.
    fn heard(&mut self, now_us: u64) {
        if let Some(following) = self.following_mut() {
            following.answered(now_us);
        }
    }

    /// Whether this log follows that member's.
    fn follows(&self, source: Member) -> bool {
        self.following().is_some_and(|following| following.source() == source)
    }

    /// A part of a copy has come.
    pub(super) fn take_part<S: RangeStore>(
        &mut self,
        from: Member,
        part: CopyPart,
        data: &mut RangeData,
        context: &mut Context<'_, S>,
    ) -> Result<(), &'static str> {
        if !self.follows(from) {
            return Ok(());
        }
        match data.copy.take_part(part, &mut data.log, context)? {
            PartOutcome::Ignored => return Ok(()),
            PartOutcome::Restart => {
                took(Path::CopyRestarted);
                data.copy_all(context);
            }
            PartOutcome::Installed => {}
        }
        self.heard(context.now_us);
        self.ask(data, context);
        Ok(())
    }

    /// Records have come.
    pub(super) fn take_records<S: RangeStore>(
        &mut self,
        attempt: Option<Attempt>,
        from: Member,
        records: Given,
        data: &mut RangeData,
        context: &mut Context<'_, S>,
    ) -> Result<(), &'static str> {
        let for_this = match self {
            Self::Learning(_) => attempt.is_none(),
            Self::Levelling(levelling) => attempt == Some(levelling.attempt()),
            Self::Idle | Self::Active(_) | Self::Sealed(_) => false,
        };
        if !for_this || !data.copy.is_complete() || !self.follows(from) {
            return Ok(());
        }
        self.heard(context.now_us);
        let records = match records {
            Given::Records(records) => records,
            Given::TooOld => {
                // What is cut off may have been acknowledged: from here on the log is level as of no attempt, whatever
                // becomes of the copy, and nothing starts from it.
                data.level.give_up(&data.log, context);
                data.log.truncate(data.log.committed(), context);
                took(Path::CopiedSince);
                data.copy.copy_since(data.log.committed());
                self.ask(data, context);
                return Ok(());
            }
            Given::Another => {
                data.copy_all(context);
                self.ask(data, context);
                return Ok(());
            }
        };
        let (common, last) = (records.common, records.last);
        if common > data.log.last() || common < data.log.committed() {
            // An answer to an older question.
            return Ok(());
        }
        if let Self::Levelling(levelling) = self {
            levelling.learn_last(last);
        }
        let before = data.log.append_records(records, context)?;
        let caught_up = data.log.last() == last;
        if let Self::Learning(learning) = self {
            learning.note(last.seq, caught_up);
            data.log.commit(last.seq, false, context);
        }
        // A source that has nothing to add, as it knows of less itself, is asked again when the time has come.
        if !caught_up && data.log.last() > before {
            self.ask(data, context);
        }
        Ok(())
    }
}
