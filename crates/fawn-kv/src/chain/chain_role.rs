//! What a node is to the chain of a range, and the one way to change a chain as a member sees it: seal, equalise, activate.

use super::active::Active;
use super::active_chain::ActiveChain;
use super::context::Context;
use super::levelling::Levelling;
use super::log::RangeLog;
use super::phase::Phase;
use super::range_data::RangeData;
use super::stats::Pauses;
use crate::ids::{Attempt, Chain, Epoch, Member, Position};
use crate::range::entry::{Change, Entry};
use crate::store::RangeStore;
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};

/// The phase, and what changes of the chain have led to it.
#[derive(Debug)]
pub(super) struct ChainRole {
    phase: Phase,
    /// The highest attempt that the node has sealed for: lower ones are refused.
    promised: Attempt,
    /// The newest chain that it has heard to be active, with it or without it.
    heard: Epoch,
    /// Since when it takes and answers nothing, as its chain changes.
    paused_us: Option<u64>,
    /// Chains that have become active with it, and for how long it stood still before.
    activations: u64,
    pauses: Pauses,
}

impl ChainRole {
    /// Of a range that comes of others by an attempt, and stands still since then; of any other by none, and does not.
    pub(super) fn new(promised: Attempt, paused_us: Option<u64>) -> Self {
        let (phase, heard, pauses) = (Phase::Idle, Epoch(0), Pauses::default());
        Self { phase, promised, heard, paused_us, activations: 0, pauses }
    }

    /// The life that it was part of is over.
    pub(super) fn end_life(&mut self) {
        (self.phase, self.promised, self.paused_us) = (Phase::Idle, Attempt(0), None);
    }

    pub(super) fn phase(&self) -> &Phase {
        &self.phase
    }

    pub(super) fn phase_mut(&mut self) -> &mut Phase {
        &mut self.phase
    }

    /// Since when it takes and answers nothing, as its chain changes.
    pub(super) fn paused_us(&self) -> Option<u64> {
        self.paused_us
    }

    /// Chains that have become active with it, and for how long it stood still before.
    pub(super) fn activations(&self) -> (u64, Pauses) {
        (self.activations, self.pauses)
    }

    /// Whether a planted bug lets a member that has sealed go on.
    fn goes_on(&self) -> bool {
        let bug = planted(Bug::AcceptAfterSeal) || planted(Bug::SealedTailReads);
        bug && matches!(self.phase, Phase::Active(_))
    }

    /// The member of a chain, as its neighbours may reach it.
    pub(super) fn neighbour_mut(&mut self) -> Option<&mut Active> {
        let promised = self.promised;
        let active = self.phase.active_mut()?;
        // A planted bug lets a member go on that has sealed for an attempt since, but not hear its neighbours.
        let is_sealed = planted(Bug::SealedTailReads) && active.chain().config().attempt < promised;
        (!is_sealed).then_some(active)
    }

    /// Up to where records of the log may be given to whoever asks for an attempt, or to a learner; none if not at all.
    pub(super) fn records_end(&self, attempt: Option<Attempt>, log: &RangeLog) -> Option<Position> {
        let Some(attempt) = attempt else { return Some(log.committed()) };
        let (is_source, last) = match &self.phase {
            Phase::Sealed(sealed) => (*sealed == attempt, log.last()),
            Phase::Levelling(levelling) => (levelling.attempt() == attempt && levelling.is_source(), log.last()),
            Phase::Active(_) if self.goes_on() => (self.promised == attempt, log.last()),
            Phase::Active(active) => {
                // Whoever is made level for a chain that is active already gets what the chain goes on from.
                let config = active.chain().config();
                (config.attempt == attempt && !config.is_weak(), config.after)
            }
            Phase::Idle | Phase::Learning(_) => (false, log.last()),
        };
        is_source.then_some(last)
    }

    /// Goes on with whatever can go on.
    pub(super) fn progress<S: RangeStore>(&mut self, data: &mut RangeData, context: &mut Context<'_, S>) {
        let RangeData { log, copy, level, scans, .. } = data;
        log.learn_synced(context);
        match &mut self.phase {
            Phase::Active(active) => {
                active.flow(log, context);
                level.say_prepared(log, context);
            }
            Phase::Levelling(levelling) => {
                let attempt = levelling.attempt();
                level.say_synced(attempt, copy.is_complete(), log, context);
                if copy.is_complete() && levelling.finish(log, context) {
                    level.hold(attempt);
                    let is_synced = log.synced() >= log.last().seq;
                    assert!(planted(Bug::EqualiseUnsynced) || is_synced, "what came before a durable write is durable");
                }
            }
            Phase::Sealed(attempt) => level.say_synced(*attempt, copy.is_complete(), log, context),
            Phase::Idle | Phase::Learning(_) => {}
        }
        scans.resume((&self.phase, copy), log, context);
        if context.timing.rests && !self.may_rest(data, context) {
            context.store.end_rest();
        }
    }

    /// Whether nothing waits for what this member has yet to sync.
    fn may_rest<S: RangeStore>(&self, data: &RangeData, context: &Context<'_, S>) -> bool {
        self.phase.active_chain().is_some_and(|chain| {
            let (half_records, half_bytes) = (chain.config().rules.unsynced / 2, context.timing.pending_bytes / 2);
            chain.rests()
                && context.store.is_logged()
                && !data.level.awaits_sync()
                && !data.log.lags(half_records, (0, half_bytes), context)
        })
    }

    /// The chain is about to change, and this member is to stay.
    pub(super) fn prepare<S: RangeStore>(
        &mut self,
        attempt: Attempt,
        data: &mut RangeData,
        context: &mut Context<'_, S>,
    ) {
        let Some(chain) = self.phase.active_chain().map(ActiveChain::config) else { return };
        if attempt >= self.promised && attempt > chain.attempt && !chain.is_weak() {
            data.level.prepare(attempt, &data.log, context);
        }
    }

    /// The manager is about to change the chain.
    pub(super) fn seal<S: RangeStore>(
        &mut self,
        attempt: Attempt,
        source: Option<Member>,
        data: &mut RangeData,
        context: &mut Context<'_, S>,
    ) {
        let active = self.phase.active_chain().is_some_and(|chain| chain.config().attempt >= attempt);
        if (attempt < self.promised && !planted(Bug::NoAttemptCheck)) || active {
            took(Path::SealSuperseded);
            return;
        }
        if self.phase.levelling().is_some_and(|levelling| levelling < attempt) {
            took(Path::SealedWhileLevelling);
        }
        let levelling = self.phase.levelling() == Some(attempt);
        self.promised = attempt;
        let me = data.log.member();
        let source = source.filter(|source| *source != me && !data.copy.is_weak());
        if matches!(self.phase, Phase::Active(_)) {
            self.paused_us.get_or_insert(context.now_us);
        }
        if !levelling && !self.goes_on() {
            self.phase = if source.is_some() {
                took(Path::LevelsAtOnce);
                Phase::Levelling(Levelling::new(attempt, source, None, me))
            } else {
                Phase::Sealed(attempt)
            };
        }
        data.log.learn_synced(context);
        data.level.say_sealed(attempt, data.copy.is_complete(), &data.log, context);
        if !levelling && source.is_some() {
            self.phase.ask(data, context);
        }
    }

    /// The log is to be made like the source's, which ends at `last`.
    pub(super) fn equalise<S: RangeStore>(
        &mut self,
        attempt: Attempt,
        source: Option<Member>,
        last: Position,
        data: &mut RangeData,
        context: &mut Context<'_, S>,
    ) {
        if let Phase::Levelling(levelling) = &mut self.phase
            && levelling.attempt() == attempt
            && source.is_some()
        {
            // It has begun by itself.
            levelling.learn_last(last);
            levelling.tell_again();
            return self.phase.ask(data, context);
        }
        match &self.phase {
            Phase::Sealed(sealed) if *sealed == attempt => {}
            Phase::Sealed(_) if planted(Bug::NoAttemptCheck) => {}
            Phase::Active(_) if self.goes_on() => {}
            _ => return,
        }
        let (me, log_end) = (data.log.member(), data.log.last());
        if source == Some(me) && log_end != last && !planted(Bug::SourceChosenAgain) {
            // A late order, to a range that was over and that a late seal has brought back, empty.
            return;
        }
        if source.is_none() && log_end != Position::default() {
            // What the order takes for new holds something: managers that know nothing of it, of another cluster say.
            return;
        }
        if let Some(source) = source.filter(|source| *source != me && data.copy.is_weak()) {
            // In a weak range whoever is made level with another has learnt the range in this life.
            data.follow_only(source, attempt.before(), attempt, context);
        }
        if source.is_none() {
            data.begin_empty(context);
        }
        self.phase = Phase::Levelling(Levelling::new(attempt, source, Some(last), me));
        self.phase.ask(data, context);
    }

    /// A chain is active.
    pub(super) fn activate<S: RangeStore>(
        &mut self,
        chain: Chain,
        data: &mut RangeData,
        context: &mut Context<'_, S>,
    ) -> Result<(), &'static str> {
        if (chain.attempt < self.promised && !planted(Bug::NoAttemptCheck)) || chain.epoch <= self.heard {
            return Ok(());
        }
        let me = data.log.member();
        let learns = matches!(self.phase, Phase::Learning(_));
        let Some(place) = chain.place(me) else {
            // What it has is kept until the manager says otherwise.
            self.heard = chain.epoch;
            if matches!(self.phase, Phase::Active(_)) {
                took(Path::LeftOut);
            }
            self.paused_us = None;
            if !learns {
                self.phase = Phase::Idle;
            }
            return Ok(());
        };
        // Whoever has been made level for the chain, in this life, was told what it is made of.
        let early = planted(Bug::ActivateBeforeLevel) && !learns;
        if data.level.held() != Some(chain.attempt) && !early {
            return Ok(());
        }
        if learns {
            // Late news: the chain has been left since, and what is here follows a newer one.
            return Ok(());
        }
        let (after, position) = (data.log.last(), Position { epoch: chain.epoch, seq: chain.first });
        // A chain goes on where the one before ended.
        let goes_on = after == chain.after || (chain.is_weak() && after.seq < chain.first);
        if !(goes_on && after.seq < chain.first || early) || position <= after || !position.is_possible() {
            return Err("Activate: the chain does not continue where this member's log ends");
        }
        self.heard = chain.epoch;
        let answers = chain.answerer() == me;
        self.activations += 1;
        // Some of those that were to be made level for the chain may ask late.
        data.log.note_follower(context.now_us);
        if let Some(since) = self.paused_us.take() {
            self.pauses.record(context.now_us.saturating_sub(since));
        }
        let mut active = Active::new(chain, place, after.seq, context.now_us);
        active.let_rest(context.timing.rests);
        // Every member has it, synced; or, in a weak chain, this one has.
        data.log.commit(after.seq, answers, context);
        let (time, change) = (data.log.time(), Change::Begin { after });
        data.log.append(Entry { position, time, key: Vec::new(), change, asked: None }, context);
        active.begin(&mut data.log, context);
        self.phase = Phase::Active(active);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::wedge_fence::tests::{ME, Plain, SECRET, recovered, step_part};
    use crate::ids::{Incarnation, NodeId, RangeId, Seq};
    use crate::range::meta::Meta;
    use crate::wire::Message;
    use fawn_ring::Interval;

    const SOURCE: Member = Member { node: NodeId(7), incarnation: Incarnation(2) };

    fn at(seq: u64) -> Position {
        Position { epoch: Epoch(1), seq: Seq(seq) }
    }

    fn new() -> (ChainRole, RangeData) {
        let meta = Meta { committed: at(5), ..Meta::default() };
        (ChainRole::new(Attempt(0), None), RangeData::new(RangeId(0), ME, recovered(meta, Vec::new()), &SECRET))
    }

    fn chain(attempt: u32, members: Vec<Member>) -> Chain {
        let (epoch, attempt, after, first) = (Epoch(attempt), Attempt(attempt), at(5), Seq(20));
        Chain { epoch, attempt, members, after, first, ..Chain::none(Interval::ALL) }
    }

    #[test]
    fn a_member_is_sealed_made_level_and_active() {
        let (mut role, mut data) = new();
        let mut store = Plain { us: 100, ..Plain::default() };
        step_part(&mut store, |context| role.seal(Attempt(3), None, &mut data, context));
        assert_eq!(role.records_end(Some(Attempt(3)), &data.log), Some(at(5)));
        assert_eq!((role.records_end(Some(Attempt(2)), &data.log), role.paused_us()), (None, None), "it was no member");
        step_part(&mut store, |context| role.equalise(Attempt(3), Some(ME), at(5), &mut data, context));
        let ((), sent) = step_part(&mut store, |context| role.progress(&mut data, context));
        assert!(matches!(sent[..], [Message::Level { attempt: Attempt(3), .. }]), "{sent:?}");
        let mut activate = |role: &mut ChainRole, data: &mut RangeData, chain| {
            step_part(&mut store, |context| role.activate(chain, data, context)).0
        };
        let other = Chain { after: at(4), ..chain(3, vec![ME]) };
        assert!(activate(&mut role, &mut data, other).is_err(), "its log ends elsewhere");
        assert_eq!(activate(&mut role, &mut data, chain(3, vec![ME, SOURCE])), Ok(()));
        assert!(role.phase().active_chain().is_some_and(ActiveChain::is_head));
        assert_eq!((data.log.last().seq, role.activations().0), (Seq(20), 1));
        assert_eq!(role.records_end(Some(Attempt(3)), &data.log), Some(at(5)), "what the chain goes on from");
        step_part(&mut store, |context| role.seal(Attempt(4), Some(SOURCE), &mut data, context));
        assert_eq!((role.phase().levelling(), role.paused_us()), (Some(Attempt(4)), Some(100)));
    }

    #[test]
    fn a_seal_of_an_attempt_that_is_superseded_is_refused_and_whoever_is_left_out_is_idle() {
        let (mut role, mut data) = new();
        let mut store = Plain::default();
        step_part(&mut store, |context| role.seal(Attempt(3), None, &mut data, context));
        let ((), sent) = step_part(&mut store, |context| role.seal(Attempt(2), None, &mut data, context));
        assert!(sent.is_empty(), "{sent:?}");
        let left = chain(3, vec![SOURCE]);
        assert_eq!(step_part(&mut store, |context| role.activate(left, &mut data, context)).0, Ok(()));
        assert!(matches!(role.phase(), Phase::Idle));
        role.end_life();
        let ((), sent) = step_part(&mut store, |context| role.seal(Attempt(2), None, &mut data, context));
        assert!(matches!(sent[..], [Message::Sealed { synced: false, .. }]), "{sent:?}");
    }
}
