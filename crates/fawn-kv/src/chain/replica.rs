//! A node's part in the chain of a range: its log, and the phase that it is in.

use super::context::{Context, Lease};
use super::copying::{CopyPart, Copying, Learning, PartRequest, Reading};
use super::gets::Gets;
use super::levelling::{Levelling, PreparedAttempt};
use super::log::RangeLog;
use super::requests::Queue;
use super::scanning::{Question, Scanning};
use super::stats::Tally;
use crate::ids::{Address, Attempt, Chain, Epoch, Member, Position, RangeId, Seq};
use crate::range::entry::Entry;
use crate::range::meta::Meta;
use crate::store::{Place, RangeStore, RecoveredRange, Ticket};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Timing;
use crate::wire::{Message, Report};
use fawn_ring::{Interval, Secret};
use std::collections::BTreeMap;

/// A member of an active chain.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) chain: Chain,
    /// When it became active.
    pub(super) since_us: u64,
    /// Place in the chain; 0 is the head.
    pub(super) place: usize,
    /// Everybody before has synced up to here.
    pub(super) mark: Seq,
    /// Records up to here were sent to the successor, and it has said that it has them up to there.
    pub(super) sent: Seq,
    pub(super) successor_has: Seq,
    /// The successor, or a member after it, has no room for more values.
    pub(super) full_below: bool,
    /// The mark that was sent last.
    pub(super) sent_mark: Seq,
    pub(super) sent_at_us: u64,
    /// What the predecessor was told last.
    pub(super) told: (Seq, Seq, bool),
    pub(super) queue: Queue,
    pub(super) gets: Gets,
}

impl Active {
    /// Whether it numbers records. Every member of a weak chain does: each is a chain of its own.
    pub(super) fn is_head(&self) -> bool {
        self.place == 0 || self.chain.is_weak()
    }

    /// Whether nobody comes after it.
    pub(super) fn is_tail(&self) -> bool {
        self.place + 1 == self.chain.members.len() || self.chain.is_weak()
    }

    /// Where it is.
    pub(super) fn place(&self) -> Place {
        if self.is_head() {
            Place::Head
        } else if self.is_tail() {
            Place::Tail
        } else {
            Place::Between
        }
    }

    /// Whether it says nothing to whoever asks, since the owner does.
    pub(super) fn is_silent(&self) -> bool {
        self.place > 0 && self.chain.is_weak() && !planted(Bug::WeakAnyoneAnswers)
    }
}

/// What a node is to a range.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // one a range, and nearly always the large one
pub(super) enum Phase {
    /// Nothing; it may have data.
    Idle,
    /// It copies the range, or follows it.
    Learning(Learning),
    /// A member of the chain.
    Active(Active),
    /// It takes and answers nothing until the attempt, or a later one, is over.
    Sealed(Attempt),
    /// Its log is being made like the source's.
    Levelling(Levelling),
}

/// One node's part in the chain of one range.
#[derive(Debug)]
pub struct Replica {
    pub(super) phase: Phase,
    /// The highest attempt that it has sealed for: lower ones are refused.
    pub(super) promised: Attempt,
    /// The newest chain that it has heard to be active, with it or without it.
    pub(super) heard: Epoch,
    /// Everything that was committed up to `meta.committed` is here.
    pub(super) complete: bool,
    /// The attempt as of which the log was made level last.
    pub(super) held: Option<Attempt>,
    /// Some of what is here could not be read: others are to take its place.
    pub(super) damaged: bool,
    /// What was written for an attempt before it seals.
    pub(super) prepared: Option<PreparedAttempt>,
    /// A copy of what is in the range, or of what it lacks, that has not come to its end.
    pub(super) copying: Option<Copying>,
    /// In a weak range: the member whose log this one was last made to follow, and the attempt that was over then. With
    /// any other member's log it has nothing in common.
    pub(super) follows: Option<(Member, Attempt)>,
    /// Those that copy from here, by the scan that they wait for.
    pub(super) copies: BTreeMap<Ticket, Reading>,
    /// Those who are no members and read from here, by the scan that they wait for.
    pub(super) scans: BTreeMap<Ticket, Scanning>,
    pub(super) log: RangeLog,
    /// Since when it takes and answers nothing, as its chain changes.
    pub(super) paused_us: Option<u64>,
    pub(super) tally: Tally,
    /// Why the last message was refused, if it cannot be true.
    pub(super) invalid: Option<&'static str>,
}

impl Replica {
    /// The part of `me` in `range`, with what its store has of it.
    pub fn new(range: RangeId, me: Member, recovered: RecoveredRange, secret: &Secret) -> Self {
        let RecoveredRange { keys, held, meta, entries } = recovered;
        let forgets = planted(Bug::RestartForgets);
        let (held, meta, entries) = if forgets { (None, Meta::default(), Vec::new()) } else { (held, meta, entries) };
        Self {
            log: RangeLog::new((range, keys, me), meta, entries, secret),
            phase: Phase::Idle,
            promised: Attempt(0),
            heard: Epoch(0),
            complete: held.is_some(),
            held,
            damaged: false,
            prepared: None,
            copying: None,
            follows: None,
            copies: BTreeMap::new(),
            scans: BTreeMap::new(),
            paused_us: None,
            tally: Tally::default(),
            invalid: None,
        }
    }

    /// A part in a range of which nothing is here.
    pub(crate) fn empty<S: RangeStore>(
        range: RangeId,
        keys: Interval,
        me: Member,
        (store, secret): (&mut S, &Secret),
    ) -> Self {
        store.create(range, keys);
        let recovered = RecoveredRange { keys, held: None, meta: Meta::default(), entries: Vec::new() };
        Self::new(range, me, recovered, secret)
    }

    /// The life that it was part of is over.
    pub fn stand_down(&mut self) {
        (self.phase, self.promised, self.follows, self.prepared) = (Phase::Idle, Attempt(0), None, None);
        self.paused_us = None;
        self.copies.clear();
        self.scans.clear();
    }

    /// It is part of another life.
    pub fn stand_up(&mut self, me: Member) {
        self.log.set_member(me);
    }

    /// The keys of the range.
    pub fn keys(&self) -> Interval {
        *self.log.keys()
    }

    /// The end of the log.
    pub fn last(&self) -> Position {
        self.log.last()
    }

    /// Up to here everything is committed, as far as this replica knows.
    pub fn committed(&self) -> Position {
        self.log.committed()
    }

    /// What is committed, beside the keys.
    pub fn meta(&self) -> &Meta {
        self.log.meta()
    }

    /// Up to here the log is durable.
    pub fn synced(&self) -> Seq {
        self.log.synced()
    }

    /// The attempt as of which the log was made level last.
    pub fn held(&self) -> Option<Attempt> {
        self.held
    }

    /// Whether everything that is committed is here, as far as this replica knows what is.
    pub fn is_complete(&self) -> bool {
        self.complete && self.copying.is_none()
    }

    /// The chain that it is an active member of.
    pub fn chain(&self) -> Option<&Chain> {
        if let Phase::Active(active) = &self.phase { Some(&active.chain) } else { None }
    }

    /// The chain, if this member answers reads in it by itself under the lease.
    pub fn reads_under(&self, lease: &Lease, now_us: u64) -> Option<&Chain> {
        let Phase::Active(active) = &self.phase else { return None };
        let reads = (active.is_tail() && !active.is_silent()) || active.chain.spreads_reads();
        (reads && lease.covers(active.since_us, now_us)).then_some(&active.chain)
    }

    /// Records that are in memory: the newest committed ones, then what follows.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.log.entries().map(|logged| &**logged)
    }

    /// Whether what is here may go: attempts up to `over` are, and the range's chain is of this epoch, and without this
    /// node.
    pub(crate) fn may_go(&self, epoch: Epoch, over: Attempt) -> bool {
        let part = match &self.phase {
            Phase::Idle | Phase::Learning(_) => true,
            Phase::Active(active) => active.chain.epoch < epoch,
            Phase::Sealed(attempt) => *attempt <= over,
            Phase::Levelling(levelling) => levelling.attempt <= over,
        };
        part || epoch == Epoch(u32::MAX)
    }

    /// What the manager is told; `full`: the node has no room for more values.
    pub fn report(&self, full: bool) -> Report {
        let learns = matches!(&self.phase, Phase::Learning(learning) if learning.is_caught_up());
        let caught_up = learns && self.is_complete() && !self.damaged;
        let (range, last, held, epoch, health) =
            (self.log.range(), self.log.last(), self.held, self.epoch(), self.health(full));
        Report { range, last, held, caught_up, epoch, health }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.chain().map_or(Epoch(0), |chain| chain.epoch)
    }

    /// Whether the head takes no request before some are committed, or durable.
    pub(super) fn is_crowded<S: RangeStore>(&self, context: &Context<'_, S>) -> bool {
        let (waiting, waiting_bytes) = match &self.phase {
            Phase::Active(active) => active.queue.waiting(),
            _ => (0, 0),
        };
        let Timing { pending, pending_bytes, .. } = context.timing;
        let (records, bytes) = self.log.suffix().size();
        records + waiting >= pending
            || bytes + waiting_bytes >= pending_bytes
            || self.lags((waiting, waiting_bytes), context)
    }

    /// Whether more is not durable, with so many records and bytes to come, than may be lost.
    pub(super) fn lags<S: RangeStore>(&self, waiting: (usize, usize), context: &Context<'_, S>) -> bool {
        self.chain().is_some_and(|chain| self.log.lags(chain.rules.unsynced, waiting, context))
    }

    /// Everything goes; from here on the range is not all there.
    pub(super) fn reset<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        self.log.reset(context);
        (self.complete, self.held, self.damaged, self.prepared) = (false, None, false, None);
        self.copies.clear();
        self.scans.clear();
    }

    /// Everything that `meta` says was committed is here.
    pub(super) fn copied<S: RangeStore>(&mut self, meta: Meta, forgotten: Seq, context: &mut Context<'_, S>) {
        self.log.install(meta, forgotten, context);
        self.complete = true;
    }

    /// A message cannot be true: nothing comes of the rest of it.
    pub(super) fn refuse(&mut self, reason: &'static str) {
        self.invalid.get_or_insert(reason);
    }

    /// Why a message was refused since this was last called, if one was.
    pub(crate) fn take_invalid(&mut self) -> Option<&'static str> {
        self.invalid.take()
    }

    /// A message from `from`, and no other with it.
    #[cfg(test)]
    pub(super) fn receive<S: RangeStore>(&mut self, from: Address, message: Message, context: &mut Context<'_, S>) {
        self.take(from, message, context);
        self.progress(context);
    }

    /// A message from `from`; [`progress`](Self::progress) goes on with what came of it.
    pub fn take<S: RangeStore>(&mut self, from: Address, message: Message, context: &mut Context<'_, S>) {
        match message {
            Message::Request { id, answered, asker, wedge, epoch, key, place, operation, .. } => {
                let lies = place.unwrap_or_else(|| context.secret.position(&key));
                let request = super::requests::Request {
                    id,
                    answered,
                    asker,
                    wedge,
                    epoch,
                    key,
                    lies,
                    operation,
                    is_done: false,
                };
                self.request(request, context);
            }
            Message::Flush { id, answered, asker, wedge, keys, due, .. } => {
                self.flush(super::requests::Flush { id, answered, asker, wedge, keys, due }, context);
            }
            Message::Get { id, asker, wedge, key, place, continuation, .. } => {
                let lies = place.unwrap_or_else(|| context.secret.position(&key));
                self.get(super::gets::Get { id, asker, wedge, key, lies, continuation }, context);
            }
            Message::Fence { front, keys, epoch, .. } => self.fence(front, keys, epoch, context),
            Message::Feed { epoch, to, entries, mark, .. } => self.fed(from, epoch, to, entries, mark, context),
            Message::Have { epoch, to, last, committed, full, .. } => {
                self.had(from, (epoch, to), (last, committed), full, context);
            }
            Message::Barrier { epoch, number, .. } => self.barrier(from, epoch, number, context),
            Message::BarrierAt { epoch, number, seq, .. } => self.barrier_told(from, epoch, number, seq),
            Message::Copy { learner, from, since, least, .. } => {
                self.give_copy(PartRequest { learner, from, since, least }, context);
            }
            Message::CopyPart { to, from, asked, since, kept, next, at, forgotten, meta, .. }
                if to == self.log.member().incarnation =>
            {
                let meta = meta.map(|meta| *meta);
                self.take_copy(from, CopyPart { asked, since, kept, next, at, forgotten, meta }, context);
            }
            Message::Fetch { attempt, learner, committed, ends, .. } => {
                self.give_records(attempt, learner, committed, &ends, context);
            }
            Message::Fetched { attempt, to, from, records, .. } if to == self.log.member().incarnation => {
                self.take_records(attempt, from, records, context);
            }
            Message::Scan { id, asker, keys, least, sought, .. } => {
                self.scan(Question { id, asker, keys, least }, sought, context);
            }
            Message::Learn { source, over, consistency, .. } => self.learn(source, over, consistency, context),
            Message::Prepare { attempt, .. } => self.prepare(attempt, context),
            Message::Seal { attempt, source, .. } => self.seal(attempt, source, context),
            Message::Equalise { attempt, source, last, .. } => self.equalise(attempt, source, last, context),
            _ => {}
        }
    }

    /// Time has passed, or writes have become durable.
    pub fn tick<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        self.ask_again(context);
        self.feed_again(context);
        self.heal_time(context);
        self.expire_sessions(context);
        self.progress(context);
    }

    /// Goes on with whatever can go on.
    pub fn progress<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        self.log.learn_synced(context);
        match &self.phase {
            Phase::Active(_) => {
                self.flow(context);
                self.say_prepared(context);
            }
            Phase::Levelling(levelling) => {
                self.say_synced(levelling.attempt, context);
                self.level(context);
            }
            Phase::Sealed(attempt) => self.say_synced(*attempt, context),
            Phase::Idle | Phase::Learning(_) => {}
        }
    }
}
