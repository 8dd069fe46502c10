//! The one way to change a chain, as a member sees it: seal, equalise, activate.

use super::context::Context;
use super::copying::Following;
use super::levelling::{Levelling, PreparedAttempt};
use super::replica::{Active, Phase, Replica};
use crate::ids::{Address, Attempt, Chain, Member, Position, RangeId, Seq};
use crate::range::entry::{Change, Entry};
use crate::store::{RangeStore, RecoveredRange};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use fawn_ring::Secret;

impl Replica {
    /// Whether a planted bug lets a member that has sealed go on.
    pub(super) fn goes_on(&self) -> bool {
        let bug = planted(Bug::AcceptAfterSeal) || planted(Bug::SealedTailReads);
        bug && matches!(self.phase, Phase::Active(_))
    }

    /// The chain is about to change, and this member is to stay.
    pub(super) fn prepare<S: RangeStore>(&mut self, attempt: Attempt, context: &mut Context<'_, S>) {
        let Phase::Active(active) = &self.phase else { return };
        if attempt < self.promised || attempt <= active.chain.attempt || active.chain.is_weak() {
            return;
        }
        let gate = match self.prepared {
            Some(prepared) if prepared.attempt > attempt => return,
            Some(prepared) if prepared.attempt == attempt => prepared.gate,
            _ => context.store.hold(self.log.range(), attempt),
        };
        self.prepared = Some(PreparedAttempt { attempt, gate, told: false, told_synced: false });
    }

    pub(super) fn say_prepared<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let Some(prepared) = self.prepared.as_mut().filter(|prepared| !prepared.told) else { return };
        if context.store.durable() >= prepared.gate {
            prepared.told = true;
            let (member, range, attempt) = (self.log.member(), self.log.range(), prepared.attempt);
            context.out.push((Address::Manager, Message::Prepared { member, range, attempt }));
        }
    }

    /// Says that all of the sealed log is synced, once it is.
    pub(super) fn say_synced<S: RangeStore>(&mut self, attempt: Attempt, context: &mut Context<'_, S>) {
        if self.prepared.is_some_and(|prepared| !prepared.told_synced) && self.is_synced_for(attempt, context) {
            self.say_sealed(attempt, context);
        }
    }

    /// Whether it was prepared for the attempt, and all of its log is synced.
    fn is_synced_for<S: RangeStore>(&self, attempt: Attempt, context: &Context<'_, S>) -> bool {
        let prepared = self.prepared.filter(|prepared| prepared.attempt == attempt);
        prepared.is_some_and(|prepared| {
            let synced = self.log.synced() >= self.log.last().seq && context.store.durable() >= prepared.gate;
            synced || planted(Bug::EqualiseUnsynced)
        })
    }

    fn say_sealed<S: RangeStore>(&mut self, attempt: Attempt, context: &mut Context<'_, S>) {
        let synced = self.is_complete() && self.is_synced_for(attempt, context);
        if let Some(prepared) = self.prepared.as_mut().filter(|_| synced) {
            prepared.told_synced = true;
            self.held = Some(attempt);
        }
        let (member, range, last, held) = (self.log.member(), self.log.range(), self.log.last(), self.held);
        context.out.push((Address::Manager, Message::Sealed { member, range, attempt, last, held, synced }));
    }

    /// The manager is about to change the chain.
    pub(super) fn seal<S: RangeStore>(
        &mut self,
        attempt: Attempt,
        source: Option<Member>,
        context: &mut Context<'_, S>,
    ) {
        let active = self.chain().is_some_and(|chain| chain.attempt >= attempt);
        if (attempt < self.promised && !planted(Bug::NoAttemptCheck)) || active {
            took(Path::SealSuperseded);
            return;
        }
        if matches!(&self.phase, Phase::Levelling(levelling) if levelling.attempt < attempt) {
            took(Path::SealedWhileLevelling);
        }
        let levelling = matches!(&self.phase, Phase::Levelling(levelling) if levelling.attempt == attempt);
        self.promised = attempt;
        let source = source.filter(|source| *source != self.log.member() && self.follows.is_none());
        if matches!(self.phase, Phase::Active(_)) {
            self.paused_us.get_or_insert(context.now_us);
        }
        if !levelling && !self.goes_on() {
            self.phase = source.map_or(Phase::Sealed(attempt), |source| {
                took(Path::LevelsAtOnce);
                Phase::Levelling(Levelling::with(source, attempt))
            });
        }
        self.log.learn_synced(context);
        self.say_sealed(attempt, context);
        if !levelling && source.is_some() {
            self.ask(context);
        }
    }

    /// The log is to be made like the source's, which ends at `last`.
    pub(super) fn equalise<S: RangeStore>(
        &mut self,
        attempt: Attempt,
        source: Option<Member>,
        last: Position,
        context: &mut Context<'_, S>,
    ) {
        if let Phase::Levelling(levelling) = &mut self.phase
            && levelling.attempt == attempt
            && source.is_some()
        {
            // It has begun by itself.
            levelling.last.get_or_insert(last);
            levelling.told_us = None;
            return self.ask(context);
        }
        match &self.phase {
            Phase::Sealed(sealed) if *sealed == attempt => {}
            Phase::Sealed(_) if planted(Bug::NoAttemptCheck) => {}
            Phase::Active(_) if self.goes_on() => {}
            _ => return,
        }
        if source == Some(self.log.member()) && self.log.last() != last && !planted(Bug::SourceChosenAgain) {
            // A late order, to a range that was over and that a late seal has brought back, empty.
            return;
        }
        if source.is_none() && self.log.last() != Position::default() {
            // What the order takes for new holds something: managers that know nothing of it, of another cluster say.
            return;
        }
        let other = source.filter(|source| *source != self.log.member());
        if let Some(source) = other.filter(|_| self.follows.is_some()) {
            // In a weak range whoever is made level with another has learnt the range in this life.
            self.follow_only(source, attempt.before(), attempt, context);
        }
        let following = other.map(Following::of);
        if source.is_none() {
            self.reset(context);
            (self.complete, self.copying) = (true, None);
        }
        let last = Some(last);
        self.phase = Phase::Levelling(Levelling { attempt, following, source, last, gate: None, told_us: None });
        self.ask(context);
    }

    /// Goes on with being made level.
    pub(super) fn level<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let (complete, log_end, range, member) =
            (self.is_complete(), self.log.last(), self.log.range(), self.log.member());
        let Phase::Levelling(levelling) = &mut self.phase else { return };
        let Some(last) = levelling.last else { return };
        let reaches = planted(Bug::NoTruncation) && log_end.seq >= last.seq;
        if !complete || (log_end != last && !reaches) {
            return;
        }
        let attempt = levelling.attempt;
        let gate = *levelling.gate.get_or_insert_with(|| context.store.hold(range, attempt));
        if context.store.durable() < gate && !planted(Bug::EqualiseUnsynced) {
            return;
        }
        let late = |told: u64| context.now_us >= told + context.timing.resend_us;
        if levelling.told_us.is_none_or(late) {
            levelling.told_us = Some(context.now_us);
            context.out.push((Address::Manager, Message::Level { member, range, attempt }));
        }
        self.held = Some(attempt);
        let synced = self.log.synced();
        assert!(planted(Bug::EqualiseUnsynced) || synced >= log_end.seq, "what came before a durable write is durable");
    }

    /// A chain is active.
    pub(crate) fn activated<S: RangeStore>(&mut self, chain: Chain, context: &mut Context<'_, S>) {
        self.activate(chain, context);
        self.progress(context);
    }

    fn activate<S: RangeStore>(&mut self, chain: Chain, context: &mut Context<'_, S>) {
        if (chain.attempt < self.promised && !planted(Bug::NoAttemptCheck)) || chain.epoch <= self.heard {
            return;
        }
        let Some(place) = chain.place(self.log.member()) else {
            // What it has is kept until the manager says otherwise.
            self.heard = chain.epoch;
            if matches!(self.phase, Phase::Active(_)) {
                took(Path::LeftOut);
            }
            self.paused_us = None;
            if !matches!(self.phase, Phase::Learning(_)) {
                self.phase = Phase::Idle;
            }
            return;
        };
        // Whoever has been made level for the chain, in this life, was told what it is made of.
        let early = planted(Bug::ActivateBeforeLevel) && !matches!(self.phase, Phase::Learning(_));
        if self.held != Some(chain.attempt) && !early {
            return;
        }
        if matches!(self.phase, Phase::Learning(_)) {
            // Late news: the chain has been left since, and what is here follows a newer one.
            return;
        }
        let (after, position) = (self.log.last(), Position { epoch: chain.epoch, seq: chain.first });
        // A chain goes on where the one before ended.
        let goes_on = after == chain.after || (chain.is_weak() && after.seq < chain.first);
        if !(goes_on && after.seq < chain.first || early) || position <= after || !position.is_possible() {
            return self.refuse("Activate: the chain does not continue where this member's log ends");
        }
        self.heard = chain.epoch;
        let answers = chain.answerer() == self.log.member();
        self.tally.activations += 1;
        // Some of those that were to be made level for the chain may ask late.
        self.log.note_follower(context.now_us);
        if let Some(since) = self.paused_us.take() {
            self.tally.pauses.record(context.now_us.saturating_sub(since));
        }
        self.phase = Phase::Active(Active {
            since_us: context.now_us,
            place,
            mark: after.seq,
            sent: chain.first,
            full_below: false,
            successor_has: chain.first,
            sent_mark: after.seq,
            sent_at_us: context.now_us,
            told: (Seq(0), Seq(0), false),
            queue: super::requests::Queue::default(),
            gets: super::gets::Gets::default(),
            chain,
        });
        // Every member has it, synced; or, in a weak chain, this one has.
        self.log.commit(after.seq, answers, context);
        let (time, change) = (self.log.time(), Change::Begin { after });
        let begin = Entry { position, time, key: Vec::new(), change, asked: None };
        self.log.append(begin, context);
        self.forget_overfull(context);
    }

    /// The range is over. If its log is level, all of it is committed, and this says so; if not, what is not known to be
    /// committed goes.
    pub(crate) fn close<S: RangeStore>(
        &mut self,
        attempt: Attempt,
        answers: bool,
        context: &mut Context<'_, S>,
    ) -> bool {
        let level = self.held == Some(attempt) && self.is_complete();
        if level {
            self.log.commit(self.log.last().seq, answers, context);
        } else {
            self.log.truncate(self.log.committed(), context);
        }
        level
    }

    /// What a range begins with that comes of one that was split, or two that were merged; they stand still since `paused_us`.
    pub(crate) fn inherited(
        me: Member,
        attempt: Attempt,
        range: RangeId,
        (recovered, paused_us): (RecoveredRange, Option<u64>),
        secret: &Secret,
    ) -> Self {
        let mut replica = Self::new(range, me, recovered, secret);
        (replica.promised, replica.paused_us) = (attempt, paused_us);
        replica
    }

    /// Since when it takes and answers nothing, as its chain changes.
    pub(crate) fn paused_us(&self) -> Option<u64> {
        self.paused_us
    }
}
