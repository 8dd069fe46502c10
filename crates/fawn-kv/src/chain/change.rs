//! The one way to change a chain, as a member sees it: seal, equalise, activate.

use super::follow::Following;
use super::replica::{Active, Context, Phase, Replica};
use crate::ids::{Address, Attempt, Chain, Member, Position, Seq};
use crate::message::Message;
use crate::planted::{Bug, planted};
use crate::store::{Gate, RangeStore};

/// A log that is being made like the source's.
#[derive(Debug)]
pub(super) struct Levelling {
    pub(super) attempt: Attempt,
    /// Whose; `None` for the source itself, and for a range that begins.
    pub(super) following: Option<Following>,
    source: Option<Member>,
    /// The end of the source's log.
    last: Position,
    /// The log is as it should be once this is durable.
    gate: Option<Gate>,
    /// The manager was told.
    told_us: Option<u64>,
}

impl Levelling {
    /// Whether the log is as it should be, if not durable yet.
    pub(super) fn is_level(&self) -> bool {
        self.gate.is_some()
    }

    /// Whether this is the member that the others are made level with.
    pub(super) fn is_source(&self) -> bool {
        self.source.is_some() && self.following.is_none()
    }
}

impl Replica {
    /// Whether a planted bug lets a member that has sealed go on.
    pub(super) fn goes_on(&self) -> bool {
        let bug = planted(Bug::AcceptAfterSeal) || planted(Bug::SealedTailReads);
        bug && matches!(self.phase, Phase::Active(_))
    }

    /// The manager is about to change the chain.
    pub(super) fn seal<S: RangeStore>(&mut self, attempt: Attempt, context: &mut Context<'_, S>) {
        let active = self.chain().is_some_and(|chain| chain.attempt >= attempt);
        if (attempt < self.promised && !planted(Bug::NoAttemptCheck)) || active {
            return;
        }
        let levelling = matches!(&self.phase, Phase::Levelling(levelling) if levelling.attempt == attempt);
        self.promised = attempt;
        if !levelling && !self.goes_on() {
            self.phase = Phase::Sealed(attempt);
        }
        let (member, range, last, held) = (self.me, self.range, self.last(), self.held);
        context.out.push((Address::Manager, Message::Sealed { member, range, attempt, last, held }));
    }

    /// The log is to be made like the source's, which ends at `last`.
    pub(super) fn equalise<S: RangeStore>(
        &mut self,
        attempt: Attempt,
        source: Option<Member>,
        last: Position,
        context: &mut Context<'_, S>,
    ) {
        match &self.phase {
            Phase::Sealed(sealed) if *sealed == attempt => {}
            Phase::Sealed(_) if planted(Bug::NoAttemptCheck) => {}
            Phase::Active(_) if self.goes_on() => {}
            _ => return,
        }
        let following = source.filter(|source| *source != self.me).map(Following::of);
        if source.is_none() {
            self.reset(context);
            self.complete = true;
        }
        if source == Some(self.me) && !planted(Bug::SourceChosenAgain) {
            assert_eq!(self.last(), last, "a sealed log does not grow");
        }
        self.phase = Phase::Levelling(Levelling { attempt, following, source, last, gate: None, told_us: None });
        self.ask(context);
    }

    /// Goes on with being made level.
    pub(super) fn level<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let (complete, log_end, range, member) = (self.complete, self.last(), self.range, self.me);
        let Phase::Levelling(levelling) = &mut self.phase else { return };
        let reaches = planted(Bug::NoTruncation) && log_end.seq >= levelling.last.seq;
        if !complete || (log_end != levelling.last && !reaches) {
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
        let synced = self.synced();
        assert!(planted(Bug::EqualiseUnsynced) || synced >= log_end.seq, "what came before a durable write is durable");
    }

    /// A chain is active.
    pub(super) fn activate<S: RangeStore>(&mut self, chain: Chain, context: &mut Context<'_, S>) {
        if (chain.attempt < self.promised && !planted(Bug::NoAttemptCheck)) || chain.epoch <= self.epoch() {
            return;
        }
        let Some(place) = chain.place(self.me) else {
            // What it has is kept until the manager says otherwise.
            if !matches!(self.phase, Phase::Learning(_)) {
                self.phase = Phase::Idle;
            }
            return;
        };
        match &self.phase {
            Phase::Levelling(_) | Phase::Sealed(_) if planted(Bug::ActivateBeforeLevel) => {}
            Phase::Levelling(levelling) if levelling.attempt == chain.attempt => {
                assert!(self.held == Some(chain.attempt), "a member of an active chain was made level for it");
            }
            _ => return,
        }
        let last = self.last().seq;
        assert_eq!(chain.first, last.next(), "a chain goes on where the one before ended");
        let is_tail = place + 1 == chain.members.len();
        self.phase = Phase::Active(Active {
            chain,
            since_us: context.now_us,
            place,
            mark: last,
            sent: last,
            successor_has: last,
            sent_mark: last,
            sent_at_us: context.now_us,
            told: (Seq(0), Seq(0)),
            queue: super::head::Queue::default(),
            gets: super::tail::Gets::default(),
        });
        // Every member has it, synced.
        self.commit(last, is_tail, context);
    }
}
