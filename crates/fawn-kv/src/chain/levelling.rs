//! How far a member is in a change of its chain: what it has prepared, and whether its log is level with the source's.

use super::context::Context;
use super::following::Following;
use super::log::RangeLog;
use crate::ids::{Address, Attempt, Member, Position};
use crate::store::{Gate, RangeStore};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;

/// A log that is being made like the source's.
#[derive(Debug)]
pub(super) struct Levelling {
    attempt: Attempt,
    /// Whose; `None` for the source itself, and for a range that begins.
    following: Option<Following>,
    source: Option<Member>,
    /// The end of the source's log, once that is known.
    last: Option<Position>,
    /// The log is as it should be once this is durable.
    gate: Option<Gate>,
    /// The manager was told.
    told_us: Option<u64>,
}

impl Levelling {
    /// A log of `me` that is being made like another's whose end may be yet to be known.
    pub(super) fn new(attempt: Attempt, source: Option<Member>, last: Option<Position>, me: Member) -> Self {
        let following = source.filter(|source| *source != me).map(Following::of);
        Self { attempt, following, source, last, gate: None, told_us: None }
    }

    pub(super) fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// Whether this is the member that the others are made level with.
    pub(super) fn is_source(&self) -> bool {
        self.source.is_some() && self.following.is_none()
    }

    /// How it follows the source; none if the log is as it should be, if not durable yet.
    pub(super) fn following(&self) -> Option<&Following> {
        self.following.as_ref().filter(|_| self.gate.is_none())
    }

    pub(super) fn following_mut(&mut self) -> Option<&mut Following> {
        self.following.as_mut().filter(|_| self.gate.is_none())
    }

    /// The source's log ends there.
    pub(super) fn learn_last(&mut self, last: Position) {
        self.last.get_or_insert(last);
    }

    /// The manager has not heard that the log is level.
    pub(super) fn tell_again(&mut self) {
        self.told_us = None;
    }

    /// Makes the log level for good, if it is like the source's, and tells the manager once that is durable: whether it is.
    pub(super) fn finish<S: RangeStore>(&mut self, log: &RangeLog, context: &mut Context<'_, S>) -> bool {
        let (log_end, range, member, attempt) = (log.last(), log.range(), log.member(), self.attempt);
        let Some(last) = self.last else { return false };
        let reaches = planted(Bug::NoTruncation) && log_end.seq >= last.seq;
        if log_end != last && !reaches {
            return false;
        }
        let gate = *self.gate.get_or_insert_with(|| context.store.hold(range, attempt));
        if context.store.durable() < gate && !planted(Bug::EqualiseUnsynced) {
            return false;
        }
        let late = |told: u64| context.now_us >= told + context.timing.resend_us;
        if self.told_us.is_none_or(late) {
            self.told_us = Some(context.now_us);
            context.out.push((Address::Manager, Message::Level { member, range, attempt }));
        }
        true
    }
}

/// What a member has written for an attempt while it serves, so that it need not once it has sealed: that its log is level as
/// of then. It says so before it is. But whatever was acknowledged in the present chain is in the log, and stays there; that is
/// what the next chain has to begin with, whichever attempt it comes of, and this one begins it only if it is level then.
#[derive(Clone, Copy, Debug)]
struct PreparedAttempt {
    attempt: Attempt,
    /// That is durable with this.
    gate: Gate,
    /// The manager was told that it is …
    told: bool,
    /// … and, after the seal, that all of the log is.
    told_synced: bool,
}

/// As of which attempt a log is level with those of the other members.
#[derive(Debug, Default)]
pub(super) struct LevelState {
    /// The attempt as of which the log was made level last.
    held: Option<Attempt>,
    /// The log may lack what the node acknowledged in an earlier life.
    is_behind: bool,
    /// What was written for an attempt before the member seals.
    prepared: Option<PreparedAttempt>,
}

impl LevelState {
    /// A log that was made level as of an attempt.
    pub(super) fn as_of(held: Option<Attempt>) -> Self {
        Self { held, is_behind: false, prepared: None }
    }

    /// Whether the log may lack what the node acknowledged in an earlier life.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// The log is of a life that acknowledged what was not durable.
    pub(super) fn set_behind(&mut self) {
        self.is_behind = !planted(Bug::RestForgotten);
    }

    /// Whether a member that rests waits for what it has written for a change of its chain.
    pub(super) fn awaits_sync(&self) -> bool {
        self.prepared.is_some_and(|prepared| !prepared.told)
    }

    /// The attempt as of which the log was made level last.
    pub(super) fn held(&self) -> Option<Attempt> {
        self.held
    }

    /// The log is level as of an attempt.
    pub(super) fn hold(&mut self, attempt: Attempt) {
        self.is_behind = false;
        self.held = Some(attempt);
    }

    /// The log is level as of no attempt, and nothing starts from it.
    pub(super) fn give_up<S: RangeStore>(&mut self, log: &RangeLog, context: &mut Context<'_, S>) {
        if self.held.is_some() {
            self.held = Some(Attempt(0));
            context.store.hold(log.range(), Attempt(0));
        }
    }

    /// The life of which it was prepared is over.
    pub(super) fn forget_prepared(&mut self) {
        self.prepared = None;
    }

    /// Writes that the log is level as of an attempt that is to come.
    pub(super) fn prepare<S: RangeStore>(&mut self, attempt: Attempt, log: &RangeLog, context: &mut Context<'_, S>) {
        let gate = match self.prepared {
            Some(prepared) if prepared.attempt > attempt => return,
            Some(prepared) if prepared.attempt == attempt => prepared.gate,
            _ => context.store.hold(log.range(), attempt),
        };
        self.prepared = Some(PreparedAttempt { attempt, gate, told: false, told_synced: false });
    }

    /// Tells the manager that it is prepared, once that is durable.
    pub(super) fn say_prepared<S: RangeStore>(&mut self, log: &RangeLog, context: &mut Context<'_, S>) {
        let Some(prepared) = self.prepared.as_mut().filter(|prepared| !prepared.told) else { return };
        if context.store.durable() >= prepared.gate {
            prepared.told = true;
            let (member, range, attempt) = (log.member(), log.range(), prepared.attempt);
            context.out.push((Address::Manager, Message::Prepared { member, range, attempt }));
        }
    }

    /// Says that all of the sealed log is synced, once it is.
    pub(super) fn say_synced<S: RangeStore>(
        &mut self,
        attempt: Attempt,
        is_complete: bool,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let is_untold = self.prepared.is_some_and(|prepared| !prepared.told_synced);
        if is_untold && self.is_synced_for(attempt, log, context) {
            self.say_sealed(attempt, is_complete, log, context);
        }
    }

    /// Whether it was prepared for the attempt, and all of its log is synced.
    fn is_synced_for<S: RangeStore>(&self, attempt: Attempt, log: &RangeLog, context: &Context<'_, S>) -> bool {
        let prepared = self.prepared.filter(|prepared| prepared.attempt == attempt);
        prepared.is_some_and(|prepared| {
            let synced = log.synced() >= log.last().seq && context.store.durable() >= prepared.gate;
            synced || planted(Bug::EqualiseUnsynced)
        })
    }

    /// Tells the manager that it has sealed, and how far its log goes.
    pub(super) fn say_sealed<S: RangeStore>(
        &mut self,
        attempt: Attempt,
        is_complete: bool,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let synced = is_complete && self.is_synced_for(attempt, log, context);
        if let Some(prepared) = self.prepared.as_mut().filter(|_| synced) {
            prepared.told_synced = true;
            self.held = Some(attempt);
        }
        let (member, range, last, held) = (log.member(), log.range(), log.last(), self.held);
        context.out.push((Address::Manager, Message::Sealed { member, range, attempt, last, held, synced }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::wedge_fence::tests::{ME, Plain, SECRET, step_part};
    use crate::ids::{Epoch, Incarnation, NodeId, RangeId, Seq};
    use crate::range::meta::Meta;
    use fawn_ring::Interval;

    const SOURCE: Member = Member { node: NodeId(7), incarnation: Incarnation(2) };

    fn at(seq: u64) -> Position {
        Position { epoch: Epoch(1), seq: Seq(seq) }
    }

    fn log(last: u64) -> RangeLog {
        let meta = Meta { committed: at(last), ..Meta::default() };
        RangeLog::new((RangeId(0), Interval::ALL, ME), meta, Vec::new(), &SECRET)
    }

    #[test]
    fn a_log_is_level_where_the_sources_ends_and_the_manager_is_told_again_only_late() {
        let mut levelling = Levelling::new(Attempt(3), Some(SOURCE), None, ME);
        assert_eq!(levelling.following().map(Following::source), Some(SOURCE));
        assert!(!levelling.is_source() && Levelling::new(Attempt(3), Some(ME), None, ME).is_source());
        let mut store = Plain::default();
        let mut finish = |levelling: &mut Levelling, last, us| {
            store.us = us;
            let (is_level, sent) = step_part(&mut store, |context| levelling.finish(&log(last), context));
            (is_level, sent.len())
        };
        assert_eq!(finish(&mut levelling, 5, 1), (false, 0), "nobody knows where the source's log ends");
        levelling.learn_last(at(6));
        levelling.learn_last(at(5));
        assert_eq!(finish(&mut levelling, 5, 1), (false, 0));
        assert_eq!(finish(&mut levelling, 6, 1), (true, 1));
        assert!(levelling.following_mut().is_none(), "it has all of it");
        assert_eq!(finish(&mut levelling, 6, 2), (true, 0));
        levelling.tell_again();
        assert_eq!(finish(&mut levelling, 6, 2), (true, 1));
    }

    #[test]
    fn whoever_was_prepared_is_level_with_its_seal() {
        let (mut level, log, mut store) = (LevelState::as_of(Some(Attempt(1))), log(5), Plain::default());
        let sealed = |level: &mut LevelState, store: &mut Plain, attempt, is_complete| {
            let sent = step_part(store, |context| level.say_sealed(attempt, is_complete, &log, context)).1;
            match sent[..] {
                [Message::Sealed { held, synced, .. }] => (held, synced),
                _ => panic!("{sent:?}"),
            }
        };
        assert_eq!(sealed(&mut level, &mut store, Attempt(2), true), (Some(Attempt(1)), false));
        step_part(&mut store, |context| level.prepare(Attempt(3), &log, context));
        step_part(&mut store, |context| level.prepare(Attempt(2), &log, context));
        let says =
            |level: &mut LevelState, store: &mut Plain| step_part(store, |context| level.say_prepared(&log, context)).1;
        assert!(matches!(says(&mut level, &mut store)[..], [Message::Prepared { attempt: Attempt(3), .. }]));
        assert!(says(&mut level, &mut store).is_empty());
        assert_eq!(sealed(&mut level, &mut store, Attempt(3), false), (Some(Attempt(1)), false));
        assert_eq!(sealed(&mut level, &mut store, Attempt(3), true), (Some(Attempt(3)), true));
        step_part(&mut store, |context| level.give_up(&log, context));
        assert_eq!(level.held(), Some(Attempt(0)));
    }
}
