//! A node's part in the chain of a range: what it is to the chain, and what it has of the range.

use super::active_chain::ActiveChain;
use super::chain_role::ChainRole;
use super::context::Context;
use super::copy_service::give_records;
use super::copying::{CopyPart, PartRequest};
use super::lease::Lease;
use super::phase::Phase;
use super::range_clock;
use super::range_data::RangeData;
use super::requests::{Flush, Get, Request};
use super::scan::{LATER_US, Question};
use super::stats::Tally;
use crate::ids::{Address, Attempt, Chain, Epoch, Health, Member, Position, RangeId, Seq};
use crate::range::entry::{Entry, Kept};
use crate::range::meta::Meta;
use crate::scan::Found;
use crate::status::RangeFigures;
use crate::store::{Part, RangeStore, RecoveredRange, Ticket};
use crate::testing::coverage::{Path, took};
use crate::wire::{Answer, Message, Report};
use fawn_ring::{Interval, Secret};

/// One node's part in the chain of one range.
#[derive(Debug)]
pub struct Replica {
    role: ChainRole,
    data: RangeData,
    /// Why the last message was refused, if it cannot be true.
    invalid: Option<&'static str>,
}

impl Replica {
    /// The part of `me` in `range`, with what its store has of it.
    pub fn new(range: RangeId, me: Member, recovered: RecoveredRange, secret: &Secret) -> Self {
        Self::inherited(me, Attempt(0), range, (recovered, None), secret)
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

    /// What a range begins with that comes of one that was split, or two that were merged; they stand still since `paused_us`.
    pub(crate) fn inherited(
        me: Member,
        attempt: Attempt,
        range: RangeId,
        (recovered, paused_us): (RecoveredRange, Option<u64>),
        secret: &Secret,
    ) -> Self {
        let (role, data) = (ChainRole::new(attempt, paused_us), RangeData::new(range, me, recovered, secret));
        Self { role, data, invalid: None }
    }

    /// What is here may lack what the node acknowledged in the life in which it was written.
    pub(crate) fn set_behind(&mut self) {
        self.data.level.set_behind();
    }

    /// Whether it may, and was not made level since.
    pub(crate) fn is_behind(&self) -> bool {
        self.data.level.is_behind()
    }

    /// The life that it was part of is over.
    pub fn stand_down(&mut self) {
        self.role.end_life();
        self.data.end_life();
    }

    /// It is part of another life.
    pub fn stand_up(&mut self, me: Member) {
        self.data.log.set_member(me);
    }

    /// The keys of the range.
    pub fn keys(&self) -> Interval {
        *self.data.log.keys()
    }

    /// The end of the log.
    pub fn last(&self) -> Position {
        self.data.log.last()
    }

    /// Up to here everything is committed, as far as this replica knows.
    pub fn committed(&self) -> Position {
        self.data.log.committed()
    }

    /// What is committed, beside the keys.
    pub fn meta(&self) -> &Meta {
        self.data.log.meta()
    }

    /// Up to here the log is durable.
    pub fn synced(&self) -> Seq {
        self.data.log.synced()
    }

    /// The attempt as of which the log was made level last.
    pub fn held(&self) -> Option<Attempt> {
        self.data.level.held()
    }

    /// Whether everything that is committed is here, as far as this replica knows what is.
    pub fn is_complete(&self) -> bool {
        self.data.copy.is_complete()
    }

    /// The chain that it is an active member of.
    pub fn chain(&self) -> Option<&Chain> {
        self.role.phase().active_chain().map(ActiveChain::config)
    }

    /// Whether the member decides what gets of the range show: one of each chain does.
    pub fn is_reader(&self) -> bool {
        self.role.phase().active_chain().is_some_and(|chain| chain.is_reader() && !chain.is_silent())
    }

    /// The chain, if this member answers reads in it by itself under the lease.
    pub fn reads_under(&self, lease: &Lease, now_us: u64) -> Option<&Chain> {
        let chain = self.role.phase().active_chain()?;
        (chain.is_among_readers() && !chain.is_silent() && lease.covers(chain.since_us(), now_us))
            .then_some(chain.config())
    }

    /// Records that are in memory: the newest committed ones, then what follows.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.data.log.entries().map(|logged| &**logged)
    }

    /// By how many seconds the range's time is ahead of the member's clock, if by so much that what is set would expire too
    /// soon; of a head that knows what time it is.
    pub fn ahead_s(&self, unix: u32) -> u32 {
        let is_head = self.role.phase().active_chain().is_some_and(ActiveChain::is_head);
        if is_head { range_clock::ahead_s(self.last_time(), unix) } else { 0 }
    }

    /// The range's time as of its last record, committed or not.
    pub fn last_time(&self) -> u32 {
        self.data.log.time()
    }

    /// Whether what is here may go: attempts up to `over` are, and the range's chain is of this epoch, and without this
    /// node.
    pub(crate) fn may_go(&self, epoch: Epoch, over: Attempt) -> bool {
        self.role.phase().may_end(epoch, over) || epoch == Epoch(u32::MAX)
    }

    /// What the manager is told; `full`: the node has no room for more values.
    pub fn report(&self, full: bool) -> Report {
        let RangeData { log, copy, level, .. } = &self.data;
        let caught_up = self.role.phase().is_caught_up() && copy.is_complete() && !copy.is_damaged();
        let epoch = self.chain().map_or(Epoch(0), |chain| chain.epoch);
        let (range, last, held) = (log.range(), log.last(), level.held());
        let health = match copy.health(full) {
            Health::Sound | Health::Full if level.is_behind() => Health::Behind,
            health => health,
        };
        Report { range, last, held, caught_up, epoch, health }
    }

    /// How it does, for an operator.
    pub fn figures(&self) -> RangeFigures {
        let log = &self.data.log;
        RangeFigures {
            range: log.range(),
            keys: *log.keys(),
            epoch: self.chain().map_or(Epoch(0), |chain| chain.epoch),
            role: self.role.phase().role(),
            last: log.last(),
            committed: log.committed(),
            synced: log.synced(),
            copy: self.data.copy.figures(log.keys()),
        }
    }

    /// What has happened to it.
    pub fn tally(&self) -> Tally {
        let (activations, pauses) = self.role.activations();
        Tally { activations, copied_bytes: self.data.copy.copied_bytes(), pauses }
    }

    /// Since when it takes and answers nothing, as its chain changes.
    pub(crate) fn paused_us(&self) -> Option<u64> {
        self.role.paused_us()
    }

    /// Whether some of what is here could not be read.
    pub(crate) fn is_damaged(&self) -> bool {
        self.data.copy.is_damaged()
    }

    /// Some of what is here cannot be read.
    pub(crate) fn damage(&mut self) {
        self.data.copy.damage();
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

    #[cfg(test)]
    pub(super) fn log_mut(&mut self) -> &mut super::log::RangeLog {
        &mut self.data.log
    }

    /// A message from `from`; [`progress`](Self::progress) goes on with what came of it.
    pub fn take<S: RangeStore>(&mut self, from: Address, message: Message, context: &mut Context<'_, S>) {
        if let Err(reason) = self.dispatch(from, message, context) {
            // Nothing comes of the rest of the message.
            self.invalid.get_or_insert(reason);
        }
    }

    /// Gives a message to the part that it is for.
    fn dispatch<S: RangeStore>(
        &mut self,
        from: Address,
        message: Message,
        context: &mut Context<'_, S>,
    ) -> Result<(), &'static str> {
        let (role, data) = (&mut self.role, &mut self.data);
        let life = data.log.member().incarnation;
        match message {
            Message::Request { id, answered, asker, wedge, epoch, key, place, operation, .. } => {
                let lies = place.unwrap_or_else(|| context.secret.position(&key));
                let request = Request { id, answered, asker, wedge, epoch, key, lies, operation, is_done: false };
                role.phase_mut().request(request, &mut data.log, context);
            }
            Message::Flush { id, answered, asker, wedge, keys, due, .. } => {
                role.phase_mut().flush(Flush { id, answered, asker, wedge, keys, due }, &mut data.log, context);
            }
            Message::Get { id, asker, wedge, key, place, continuation, .. } => {
                let lies = place.unwrap_or_else(|| context.secret.position(&key));
                role.phase_mut().get(Get { id, asker, wedge, key, lies, continuation }, &data.log, context);
            }
            Message::Fence { front, keys, epoch, .. } => {
                let Some(active) = role.phase_mut().active_mut() else { return Ok(()) };
                return active.fence(front, (keys, epoch), &mut data.log, context);
            }
            Message::Feed { epoch, to, entries, mark, .. } => {
                let Some(active) = role.neighbour_mut() else { return Ok(()) };
                return active.fed(from, (epoch, to), (entries, mark), &mut data.log, context);
            }
            Message::Have { epoch, to, last, committed, full, .. } => {
                data.log.learn_synced(context);
                let Some(active) = role.neighbour_mut() else { return Ok(()) };
                return active.had(from, (epoch, to), (last, committed), full, &mut data.log, context);
            }
            Message::Barrier { epoch, number, .. } => {
                let Some(active) = role.phase_mut().active_mut() else { return Ok(()) };
                active.barrier(from, (epoch, number), &mut data.log, context);
            }
            Message::BarrierAt { epoch, number, seq, .. } => {
                let Some(active) = role.phase_mut().active_mut() else { return Ok(()) };
                return active.barrier_at(from, (epoch, number), seq);
            }
            Message::Copy { learner, from, since, least, .. } if data.copy.is_complete() => {
                data.copies.give_part(PartRequest { learner, from, since, least }, &mut data.log, context);
            }
            Message::CopyPart { to, from, asked, since, kept, next, at, forgotten, meta, .. } if to == life => {
                let meta = meta.map(|meta| *meta);
                let part = CopyPart { asked, since, kept, next, at, forgotten, meta };
                return role.phase_mut().take_part(from, part, data, context);
            }
            Message::Fetch { attempt, learner, committed, ends, .. } if data.copy.is_complete() => {
                let Some(last) = role.records_end(attempt, &data.log) else { return Ok(()) };
                return give_records(attempt, learner, (committed, &ends), last, &mut data.log, context);
            }
            Message::Fetched { attempt, to, from, records, .. } if to == life => {
                return role.phase_mut().take_records(attempt, from, records, data, context);
            }
            Message::Scan { id, asker, keys, least, sought, .. } => {
                let (question, RangeData { log, copy, scans, .. }) = (Question { id, asker, keys, least }, data);
                scans.scan(question, sought, (role.phase(), copy), log, context);
            }
            Message::Learn { source, over, consistency, .. } => {
                role.phase_mut().learn(source, over, consistency, data, context);
            }
            Message::Prepare { attempt, .. } => role.prepare(attempt, data, context),
            Message::Seal { attempt, source, .. } => role.seal(attempt, source, data, context),
            Message::Equalise { attempt, source, last, .. } => role.equalise(attempt, source, last, data, context),
            _ => {}
        }
        Ok(())
    }

    /// A chain is active.
    pub(crate) fn activated<S: RangeStore>(&mut self, chain: Chain, context: &mut Context<'_, S>) {
        if let Err(reason) = self.role.activate(chain, &mut self.data, context) {
            self.invalid.get_or_insert(reason);
        }
        self.progress(context);
    }

    /// The range is over. If its log is level, all of it is committed, and this says so; if not, what is not known to be
    /// committed goes.
    pub(crate) fn close<S: RangeStore>(
        &mut self,
        attempt: Attempt,
        answers: bool,
        context: &mut Context<'_, S>,
    ) -> bool {
        let is_level = self.held() == Some(attempt) && self.is_complete();
        let log = &mut self.data.log;
        if is_level {
            log.commit(log.last().seq, answers, context);
        } else {
            log.truncate(log.committed(), context);
        }
        is_level
    }

    /// A lookup that waited for flash is done.
    pub fn read<S: RangeStore>(&mut self, ticket: Ticket, kept: Option<Kept>, context: &mut Context<'_, S>) {
        if let Some(active) = self.role.phase_mut().active_mut() {
            active.read(ticket, kept, &mut self.data.log, context);
        }
    }

    /// A part that somebody waits for was read.
    pub fn scanned<S: RangeStore>(&mut self, ticket: Ticket, part: Part, context: &mut Context<'_, S>) {
        let RangeData { log, copy, copies, scans, .. } = &mut self.data;
        if scans.waits_for(ticket) {
            scans.read(ticket, part, copy.is_complete(), log, context);
        } else {
            copies.read(ticket, part, log, context);
        }
    }

    /// A lookup or a scan cannot be answered.
    pub fn unreadable<S: RangeStore>(&mut self, ticket: Ticket, context: &mut Context<'_, S>) {
        took(Path::Unreadable);
        self.damage();
        self.give_up_read(ticket, (&Answer::Unreadable, Found::Unreadable), context);
    }

    /// A lookup or a scan was refused, since the system is short of something. Whoever waits for it tries again.
    pub fn not_read<S: RangeStore>(&mut self, ticket: Ticket, context: &mut Context<'_, S>) {
        self.give_up_read(ticket, (&Answer::Busy, Found::Later { wait_us: LATER_US }), context);
    }

    /// Whoever waits for this lookup or scan is told so; a learner asks again by itself.
    fn give_up_read<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        (refusal, found): (&Answer, Found),
        context: &mut Context<'_, S>,
    ) {
        let RangeData { log, copies, scans, .. } = &mut self.data;
        copies.give_up(ticket);
        scans.give_up(ticket, found, log, context);
        if let Some(active) = self.role.phase_mut().active_mut() {
            active.give_up_read(ticket, refusal, log, context);
        }
    }

    /// Time has passed, or writes have become durable.
    pub fn tick<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        self.role.phase_mut().ask_again(&mut self.data, context);
        if let Phase::Active(active) = self.role.phase_mut() {
            active.tick(&mut self.data.log, context);
        }
        self.progress(context);
    }

    /// Goes on with whatever can go on.
    pub fn progress<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        self.role.progress(&mut self.data, context);
    }
}
