//! The log of a range as the protocol sees it: what is committed, what is not, how far it is synced.

use super::context::{Context, Lease};
use super::copying::{CopyPart, Copying, Learning, PartRequest, Reading};
use super::gets::Gets;
use super::levelling::{Levelling, PreparedAttempt};
use super::log_suffix::{LoggedEntry, Stretch};
use super::requests::Queue;
use super::scanning::{Question, Scanning};
use super::stats::Tally;
use super::unsynced::SyncQueue;
use crate::ids::{Address, Attempt, Chain, Epoch, Member, Position, RangeId, RequestId, Seq};
use crate::range::entry::{Asked, Change, Entry};
use crate::range::fences::Fences;
use crate::range::meta::{Alive, Meta};
use crate::range::sessions::Sessions;
use crate::store::{Place, RangeStore, RecoveredRange, Ticket};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Timing;
use crate::wire::{Answer, Message, Report};
use fawn_ring::{Interval, Key, KeyHasher, Secret};
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// Whoever follows a range asks for more of it within this.
const FOLLOWED_US: u64 = 10_000_000;

/// What part of the history is kept of a range that nobody follows.
const UNFOLLOWED_SHARE: usize = 16;

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
    pub(super) range: RangeId,
    pub(super) keys: Interval,
    pub(super) me: Member,
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
    /// The newest committed records, without gaps.
    pub(super) history: Stretch,
    /// What is committed.
    pub(super) meta: Meta,
    /// What follows, without gaps.
    pub(super) suffix: Stretch,
    /// What is there as of the end of the log.
    pub(super) ahead: Alive,
    /// The newest record of each key in the suffix, by where it lies.
    pub(super) newest: HashMap<Key, Seq, BuildHasherDefault<KeyHasher>>,
    /// The requests that the suffix answers, and the last record of each.
    pub(super) asked: HashMap<RequestId, Seq, BuildHasherDefault<KeyHasher>>,
    /// Records that are not durable yet.
    unsynced: SyncQueue,
    synced: Seq,
    /// When somebody who follows the range asked for some of it last.
    pub(super) followed_us: Option<u64>,
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
        let (held, mut meta) = if forgets { (None, Meta::default()) } else { (held, meta) };
        if planted(Bug::FenceNotRemembered) {
            meta.alive.fences = Fences::default();
        }
        let mut replica = Self {
            range,
            keys,
            me,
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
            history: Stretch::default(),
            ahead: meta.alive.clone(),
            meta,
            suffix: Stretch::default(),
            newest: HashMap::default(),
            asked: HashMap::default(),
            unsynced: SyncQueue::default(),
            synced: Seq(0),
            followed_us: None,
            paused_us: None,
            tally: Tally::default(),
            invalid: None,
        };
        for entry in entries.into_iter().filter(|_| !forgets) {
            replica.note(LoggedEntry::new(Arc::new(entry), secret));
        }
        replica.synced = replica.last().seq;
        replica
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
        self.me = me;
    }

    /// The keys of the range.
    pub fn keys(&self) -> Interval {
        self.keys
    }

    /// The end of the log.
    pub fn last(&self) -> Position {
        self.suffix.back().map_or(self.meta.committed, |entry| entry.position)
    }

    /// Up to here everything is committed, as far as this replica knows.
    pub fn committed(&self) -> Position {
        self.meta.committed
    }

    /// What is committed, beside the keys.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Up to here the log is durable.
    pub fn synced(&self) -> Seq {
        self.synced
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
        self.logged().map(|logged| &**logged)
    }

    pub(super) fn logged(&self) -> impl DoubleEndedIterator<Item = &LoggedEntry> {
        self.history.iter().chain(&self.suffix)
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
        let (range, last, held, epoch, health) = (self.range, self.last(), self.held, self.epoch(), self.health(full));
        Report { range, last, held, caught_up, epoch, health }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.chain().map_or(Epoch(0), |chain| chain.epoch)
    }

    /// Appends a record to the log.
    pub(super) fn append<S: RangeStore>(&mut self, entry: impl Into<Arc<Entry>>, context: &mut Context<'_, S>) {
        self.append_logged(LoggedEntry::new(entry.into(), context.secret), context);
    }

    pub(super) fn append_logged<S: RangeStore>(&mut self, entry: LoggedEntry, context: &mut Context<'_, S>) {
        let gate = context.store.append(self.range, &entry.entry);
        self.unsynced.push(gate, entry.position.seq, entry.bytes());
        self.note(entry);
    }

    fn note(&mut self, entry: LoggedEntry) {
        let loose = planted(Bug::NoSequenceCheck) || planted(Bug::NoTruncation) || planted(Bug::FeedOfAnyEpoch);
        assert!(entry.follows(self.last()) || loose, "a log has no gaps: {entry:?} after {:?}", self.last());
        if !entry.key.is_empty() {
            self.newest.insert(entry.lies, entry.position.seq);
        }
        self.ahead.apply(&entry);
        if let Some(Asked { id, .. }) = &entry.asked {
            let before = self.asked.insert(*id, entry.position.seq);
            // Of one flush there is a record for each stretch of keys that it came by.
            let may_double = matches!(entry.change, Change::Flush { .. }) || crate::range::sessions::may_double();
            assert!(before.is_none() || may_double, "a request about a key is in the log once");
        }
        self.suffix.push_back(entry);
    }

    /// The record with this number, if it is not committed.
    pub(super) fn pending(&self, seq: Seq) -> Option<&Entry> {
        let at = self.suffix.binary_search_by_key(&seq, |entry| entry.position.seq).ok()?;
        self.suffix.get(at).map(|logged| &**logged)
    }

    /// Whether the head takes no request before some are committed, or durable.
    pub(super) fn is_crowded<S: RangeStore>(&self, context: &Context<'_, S>) -> bool {
        let (waiting, waiting_bytes) = match &self.phase {
            Phase::Active(active) => active.queue.waiting(),
            _ => (0, 0),
        };
        let Timing { pending, pending_bytes, .. } = context.timing;
        self.suffix.len() + waiting >= pending
            || self.suffix.bytes() + waiting_bytes >= pending_bytes
            || self.lags((waiting, waiting_bytes), context)
    }

    /// Whether more is not durable, with so many records and bytes to come, than may be lost.
    pub(super) fn lags<S: RangeStore>(&self, waiting: (usize, usize), context: &Context<'_, S>) -> bool {
        let (records, bytes) = self.unsynced.size();
        self.chain().is_some_and(|chain| {
            records + waiting.0 >= chain.rules.unsynced as usize || bytes + waiting.1 >= context.timing.pending_bytes
        })
    }

    /// Learns how far the log is durable.
    pub(super) fn learn_synced<S: RangeStore>(&mut self, context: &Context<'_, S>) {
        let durable = context.store.durable();
        if let Some(seq) = self.unsynced.take(durable) {
            self.synced = self.synced.max(seq);
        }
    }

    /// Cuts off what follows `to`, none of which is committed.
    pub(super) fn truncate<S: RangeStore>(&mut self, to: Position, context: &mut Context<'_, S>) {
        assert!(to >= self.meta.committed, "what is committed is never cut off");
        if to == self.last() {
            return;
        }
        took(Path::Truncated);
        context.store.truncate(self.range, to);
        while let Some(entry) = self.suffix.pop_back_if(|entry| entry.position > to) {
            if let Some(asked) = &entry.asked {
                self.asked.remove(&asked.id);
            }
        }
        self.unsynced.cut(to.seq);
        self.synced = self.synced.min(to.seq);
        self.newest.clear();
        self.ahead = self.meta.alive.clone();
        for entry in &self.suffix {
            self.ahead.apply(entry);
            if let Some(asked) = &entry.asked {
                self.asked.insert(asked.id, entry.position.seq);
            }
            if !entry.key.is_empty() {
                self.newest.insert(entry.lies, entry.position.seq);
            }
        }
    }

    /// Commits up to `to`; `answers`: and tells the clients.
    pub(super) fn commit<S: RangeStore>(&mut self, to: Seq, answers: bool, context: &mut Context<'_, S>) {
        let (history, history_bytes) = self.most_history(context);
        let to = if context.store.is_logged() {
            to
        } else {
            took(Path::CommitsLess);
            self.learn_synced(context);
            to.min(self.synced)
        };
        while let Some(entry) = self.suffix.pop_front_if(|entry| entry.position.seq <= to) {
            let position = entry.position;
            self.meta.commit(&entry);
            context.store.commit(self.range, &entry.entry, &entry.lies);
            if self.newest.get(&entry.lies) == Some(&position.seq) {
                self.newest.remove(&entry.lies);
            }
            if let Change::Fence { keys, epoch, front } = &entry.change
                && answers
            {
                let (range, keys, epoch) = (self.range, *keys, *epoch);
                context.out.push((*front, Message::FenceHolds { range, keys, epoch }));
            }
            if let Some(&Asked { id, asker, outcome, .. }) = entry.asked.as_ref() {
                if self.asked.get(&id) == Some(&position.seq) {
                    self.asked.remove(&id);
                }
                if answers {
                    let until = self.meta.alive.flush_due(|| entry.lies);
                    let answer = Answer::Done { outcome, position, again: false, shown: entry.shown() };
                    context.reply_until(asker, id, answer, until);
                }
            }
            self.history.push_back(entry);
            while self.history.len() > history || self.history.bytes() > history_bytes {
                self.history.pop_front_if(|_| true);
            }
        }
    }

    /// Committed records that are kept in memory, and bytes of them.
    fn most_history<S: RangeStore>(&self, context: &Context<'_, S>) -> (usize, usize) {
        let Timing { history, history_bytes, .. } = context.timing;
        let is_followed = self.followed_us.is_some_and(|at| context.now_us < at + FOLLOWED_US);
        let share = if is_followed { 1 } else { UNFOLLOWED_SHARE };
        (history / share, history_bytes / share)
    }

    /// Everything goes; from here on the range is not all there.
    pub(super) fn reset<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        context.store.reset(self.range);
        (self.complete, self.held, self.damaged, self.prepared) = (false, None, false, None);
        (self.meta, self.ahead, self.synced) = (Meta::default(), Alive::default(), Seq(0));
        self.history.clear();
        self.suffix.clear();
        self.newest.clear();
        self.asked.clear();
        self.unsynced = SyncQueue::default();
        self.copies.clear();
        self.scans.clear();
    }

    /// Everything that `meta` says was committed is here.
    pub(super) fn copied<S: RangeStore>(&mut self, meta: Meta, forgotten: Seq, context: &mut Context<'_, S>) {
        let sessions = if planted(Bug::CopyLosesSessions) { Sessions::default() } else { meta.sessions };
        self.meta = Meta { sessions, ..meta };
        if planted(Bug::FenceNotRemembered) {
            self.meta.alive.fences = Fences::default();
        }
        self.ahead = self.meta.alive.clone();
        self.complete = true;
        // What is older does not lead up to it.
        self.history.clear();
        let gate = context.store.install_end(self.range, &self.meta, forgotten);
        self.unsynced.push(gate, self.meta.committed.seq, 0);
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
                if to == self.me.incarnation =>
            {
                let meta = meta.map(|meta| *meta);
                self.take_copy(from, CopyPart { asked, since, kept, next, at, forgotten, meta }, context);
            }
            Message::Fetch { attempt, learner, committed, ends, .. } => {
                self.give_records(attempt, learner, committed, &ends, context);
            }
            Message::Fetched { attempt, to, from, records, .. } if to == self.me.incarnation => {
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
        self.learn_synced(context);
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
