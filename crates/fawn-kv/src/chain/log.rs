//! The log of a range as the protocol sees it: what is committed, what is not, how far it is synced.

use super::context::Context;
use super::log_suffix::LogSuffix;
use super::stretch::{LoggedEntry, Stretch, batch};
use super::unsynced::SyncQueue;
use crate::ids::{Epoch, Member, Position, RangeId, Seq, WedgeEpoch};
use crate::range::entry::{Asked, Change, Entry, MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::range::fences::Fences;
use crate::range::meta::Meta;
use crate::range::sessions::{RequestStatus, Sessions};
use crate::store::{Place, RangeStore};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Timing;
use crate::wire::{Message, Records};
use fawn_ring::{Interval, Key, Secret};
use std::sync::Arc;

/// Whoever follows a range asks for more of it within this.
const FOLLOWED_US: u64 = 10_000_000;

/// What part of the history is kept of a range that nobody follows.
const UNFOLLOWED_SHARE: usize = 16;

/// A member's log of a range: every record is appended, cut off and committed here, in memory and in the store.
#[derive(Debug)]
pub(super) struct RangeLog {
    range: RangeId,
    keys: Interval,
    /// Whose log it is.
    member: Member,
    /// The newest committed records, without gaps.
    history: Stretch,
    /// What is committed.
    meta: Meta,
    /// What follows, without gaps.
    suffix: LogSuffix,
    /// How far it is durable.
    sync: SyncQueue,
    /// When somebody who follows the range asked for some of it last.
    followed_us: Option<u64>,
}

impl RangeLog {
    /// The log of `member`, with what its store has of it: what is committed, and what follows.
    pub(super) fn new(
        (range, keys, member): (RangeId, Interval, Member),
        mut meta: Meta,
        entries: Vec<Entry>,
        secret: &Secret,
    ) -> Self {
        if planted(Bug::FenceNotRemembered) {
            meta.alive.fences = Fences::default();
        }
        let (suffix, history) = (LogSuffix::after(&meta.alive), Stretch::default());
        let sync = SyncQueue::default();
        let mut log = Self { range, keys, member, history, meta, suffix, sync, followed_us: None };
        for entry in entries {
            log.note(LoggedEntry::new(Arc::new(entry), secret));
        }
        log.sync = SyncQueue::synced_to(log.last().seq);
        log
    }

    pub(super) fn range(&self) -> RangeId {
        self.range
    }

    /// The keys of the range.
    pub(super) fn keys(&self) -> &Interval {
        &self.keys
    }

    /// Whose log it is.
    pub(super) fn member(&self) -> Member {
        self.member
    }

    /// The node has another life, whose log this is from now on.
    pub(super) fn set_member(&mut self, member: Member) {
        self.member = member;
    }

    /// The end of the log.
    pub(super) fn last(&self) -> Position {
        self.suffix.last().unwrap_or(self.meta.committed)
    }

    /// Up to here everything is committed, as far as is known here.
    pub(super) fn committed(&self) -> Position {
        self.meta.committed
    }

    /// What is committed, beside the keys.
    pub(super) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// What is not committed.
    pub(super) fn suffix(&self) -> &LogSuffix {
        &self.suffix
    }

    /// Up to here the log is durable.
    pub(super) fn synced(&self) -> Seq {
        self.sync.synced()
    }

    /// Records that are in memory and committed, the newest, without gaps.
    pub(super) fn history(&self) -> impl Iterator<Item = &LoggedEntry> {
        self.history.iter()
    }

    /// Records that are in memory: the newest committed ones, then what follows.
    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &LoggedEntry> {
        self.history.iter().chain(self.suffix.iter())
    }

    /// The range's time as of the last record, committed or not.
    pub(super) fn time(&self) -> u32 {
        self.suffix.ahead().time
    }

    /// Whether there may be a record with this position, which is not known to be another.
    fn has(&self, position: Position) -> bool {
        let is_pending = |entry: &Entry| entry.position == position;
        position <= self.meta.committed || self.suffix.record(position.seq).is_some_and(is_pending)
    }

    /// Whether a front-end that asks as of this wedge epoch has been fenced off.
    pub(super) fn is_fenced(&self, place: &Key, wedge: WedgeEpoch) -> bool {
        let committed = planted(Bug::FenceFromCommit);
        let fences = if committed { &self.meta.alive.fences } else { &self.suffix.ahead().fences };
        wedge < fences.at(place) && !planted(Bug::NoFence)
    }

    /// Whether no record of the key, or of all keys, is under way.
    pub(super) fn is_clean(&self, lies: &Key) -> bool {
        let flushes = !self.suffix.ahead().is_flushed_as(&self.meta.alive);
        (!self.suffix.has_key(lies) || planted(Bug::SpreadDirty)) && !flushes
    }

    /// What the next record is stamped with: the head's clock, but never less than the range's time.
    pub(super) fn stamp<S: RangeStore>(&self, context: &Context<'_, S>) -> u32 {
        if planted(Bug::TimeGoesBack) { context.unix } else { self.time().max(context.unix) }
    }

    /// Appends a record.
    pub(super) fn append<S: RangeStore>(&mut self, entry: impl Into<Arc<Entry>>, context: &mut Context<'_, S>) {
        self.append_logged(LoggedEntry::new(entry.into(), context.secret), context);
    }

    /// Appends the next record of an epoch, of a key that lies there; returns its number.
    pub(super) fn append_next<S: RangeStore>(
        &mut self,
        epoch: Epoch,
        key: (Vec<u8>, Key),
        change: Change,
        asked: Option<Asked>,
        context: &mut Context<'_, S>,
    ) -> Seq {
        let time = self.stamp(context);
        self.append_at(time, epoch, key, change, asked, context)
    }

    /// The same with a stamp.
    pub(super) fn append_at<S: RangeStore>(
        &mut self,
        time: u32,
        epoch: Epoch,
        (key, lies): (Vec<u8>, Key),
        change: Change,
        asked: Option<Asked>,
        context: &mut Context<'_, S>,
    ) -> Seq {
        let seq = self.last().seq.next();
        let entry = Entry { position: Position { epoch, seq }, time, key, change, asked };
        self.append_logged(LoggedEntry::at(Arc::new(entry), lies), context);
        seq
    }

    /// Appends a record that another member says comes next, if it can be one of this range: an assertion would let a damaged
    /// message end the node.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) fn append_of_other<S: RangeStore>(
        &mut self,
        entry: Arc<Entry>,
        context: &mut Context<'_, S>,
    ) -> Result<(), &'static str> {
        let logged = LoggedEntry::new(entry, context.secret);
        self.check(&logged, context)?;
        self.append_logged(logged, context);
        Ok(())
    }

    /// Whether a record of another member can be one of this range.
    fn check<S: RangeStore>(&self, entry: &LoggedEntry, context: &Context<'_, S>) -> Result<(), &'static str> {
        let is_flush = matches!(entry.change, Change::Flush { .. });
        let has_key = matches!(entry.change, Change::Value(_) | Change::Delete);
        if !entry.position.is_possible() {
            return Err("a record's number is beyond the limit");
        }
        if has_key && !(1..=MAX_KEY_BYTES).contains(&entry.key.len()) {
            return Err("a record's key is empty, or too long");
        }
        if !entry.key.is_empty() && !self.keys.contains(&entry.lies) {
            return Err("a record's key is not in the range");
        }
        // The store's log has to hold it.
        if entry.bytes() > context.store.longest_record().saturating_mul(8) || is_too_long(&entry.change) {
            return Err("a record is longer than this node's log can hold: give all nodes the same --memory");
        }
        let is_known = |asked: &Asked| {
            self.suffix.answers(asked.id) || matches!(self.meta.sessions.known(asked.id), RequestStatus::Done(..))
        };
        if !is_flush && entry.asked.as_ref().is_some_and(is_known) && !crate::range::sessions::may_double() {
            return Err("a record repeats a request that was already applied");
        }
        Ok(())
    }

    fn append_logged<S: RangeStore>(&mut self, entry: LoggedEntry, context: &mut Context<'_, S>) {
        let gate = context.store.append(self.range, &entry.entry);
        self.sync.push(gate, entry.position.seq, entry.bytes());
        self.note(entry);
    }

    fn note(&mut self, entry: LoggedEntry) {
        let loose = planted(Bug::NoSequenceCheck) || planted(Bug::NoTruncation) || planted(Bug::FeedOfAnyEpoch);
        assert!(entry.follows(self.last()) || loose, "a log has no gaps: {entry:?} after {:?}", self.last());
        self.suffix.push(entry);
    }

    /// Whether more is not durable, with so many records and bytes to come, than may be lost: so many records.
    pub(super) fn lags<S: RangeStore>(&self, most: u32, waiting: (usize, usize), context: &Context<'_, S>) -> bool {
        let (records, bytes) = self.sync.size();
        records + waiting.0 >= most as usize || bytes + waiting.1 >= context.timing.pending_bytes
    }

    /// Learns how far the log is durable.
    pub(super) fn learn_synced<S: RangeStore>(&mut self, context: &Context<'_, S>) {
        self.sync.learn(context.store.durable());
    }

    /// Cuts off what follows `to`, none of which is committed.
    pub(super) fn truncate<S: RangeStore>(&mut self, to: Position, context: &mut Context<'_, S>) {
        assert!(to >= self.meta.committed, "what is committed is never cut off");
        if to == self.last() {
            return;
        }
        took(Path::Truncated);
        context.store.truncate(self.range, to);
        self.sync.cut(to.seq);
        self.suffix.cut(to, &self.meta.alive);
    }

    /// Commits up to `to`; `answers`: and tells the clients.
    pub(super) fn commit<S: RangeStore>(&mut self, to: Seq, answers: bool, context: &mut Context<'_, S>) {
        let (history, history_bytes) = self.most_history(context);
        let to = if context.store.is_logged() {
            to
        } else {
            took(Path::CommitsLess);
            self.learn_synced(context);
            to.min(self.synced())
        };
        while let Some(entry) = self.suffix.pop_committed(to) {
            self.meta.commit(&entry);
            context.store.commit(self.range, &entry.entry, &entry.lies);
            if answers {
                self.answer(&entry, context);
            }
            self.history.push_back(entry);
            self.history.trim(history, history_bytes);
        }
    }

    /// Tells whoever has asked for a record that it is committed.
    fn answer<S: RangeStore>(&self, entry: &LoggedEntry, context: &mut Context<'_, S>) {
        if let Change::Fence { keys, epoch, front } = &entry.change {
            let (range, keys, epoch) = (self.range, *keys, *epoch);
            context.out.push((*front, Message::FenceHolds { range, keys, epoch }));
        }
        if let Some(&Asked { id, asker, outcome, .. }) = entry.asked.as_ref() {
            let until = self.meta.alive.flush_due(|| entry.lies);
            let position = entry.position;
            let answer = crate::wire::Answer::Done { outcome, position, again: false, shown: entry.shown() };
            context.reply_until(asker, id, answer, until);
        }
    }

    /// Somebody who follows the range asks for some of it.
    pub(super) fn note_follower(&mut self, now_us: u64) {
        self.followed_us = Some(now_us);
    }

    /// Committed records that are kept in memory, and bytes of them.
    fn most_history<S: RangeStore>(&self, context: &Context<'_, S>) -> (usize, usize) {
        let Timing { history, history_bytes, .. } = context.timing;
        let is_followed = self.followed_us.is_some_and(|at| context.now_us < at + FOLLOWED_US);
        let share = if is_followed { 1 } else { UNFOLLOWED_SHARE };
        (history / share, history_bytes / share)
    }

    /// Takes what a source gives: records that follow the common part of both logs; returns where this log ended before them.
    pub(super) fn append_records<S: RangeStore>(
        &mut self,
        records: Records,
        context: &mut Context<'_, S>,
    ) -> Result<Position, &'static str> {
        let Records { common, entries, last } = records;
        // Part of the answer may have come before. Only where it contradicts what is here, or says that the source's log
        // ends, is anything cut off.
        let known = entries.iter().take_while(|entry| self.has(entry.position)).count();
        let agreed = known.checked_sub(1).map_or(common, |at| entries[at].position);
        if agreed >= self.committed() && (known < entries.len() || agreed == last) {
            self.truncate(agreed, context);
        }
        let before = self.last();
        if agreed != before {
            return Ok(before);
        }
        for entry in entries.into_iter().skip(known) {
            if !context.store.takes(self.range, Place::Tail) {
                took(Path::FollowerHasNoRoom);
                break;
            }
            let loose = planted(Bug::NoTruncation) || planted(Bug::NoSequenceCheck) || planted(Bug::FeedOfAnyEpoch);
            if !entry.follows(self.last()) && !loose {
                return Err("Fetched: a record does not follow the one before");
            }
            self.append_of_other(entry, context)?;
        }
        Ok(before)
    }

    /// Everything goes.
    pub(super) fn reset<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        context.store.reset(self.range);
        (self.meta, self.suffix, self.sync) = (Meta::default(), LogSuffix::default(), SyncQueue::default());
        self.history.clear();
    }

    /// Everything that `meta` says was committed is here, but for deletions up to `forgotten`.
    pub(super) fn install<S: RangeStore>(&mut self, meta: Meta, forgotten: Seq, context: &mut Context<'_, S>) {
        let sessions = if planted(Bug::CopyLosesSessions) { Sessions::default() } else { meta.sessions };
        self.meta = Meta { sessions, ..meta };
        if planted(Bug::FenceNotRemembered) {
            self.meta.alive.fences = Fences::default();
        }
        self.suffix.begin_after(&self.meta.alive);
        // What is older does not lead up to it.
        self.history.clear();
        let gate = context.store.install_end(self.range, &self.meta, forgotten);
        self.sync.push(gate, self.meta.committed.seq, 0);
    }

    /// The newest epochs of the log, and where it ended that each goes on from; oldest first. Those that are not committed
    /// count: the chain is in force, and goes on from there.
    fn begins(&self) -> impl Iterator<Item = (Epoch, Position)> + Clone {
        self.meta.begins.iter().copied().chain(self.suffix.begins())
    }

    /// Whether this log is known to go on from one that was committed up to `other`. It does not where members lost what
    /// they had not synced, and the chain went on from before it.
    pub(super) fn goes_on_from(&self, other: Position) -> bool {
        if other == Position::default() || planted(Bug::LostIsKept) {
            return true;
        }
        match self.begins().find(|(epoch, _)| *epoch > other.epoch) {
            Some((_, after)) => {
                // Of two ranges that were merged the one before may be of an epoch much lower.
                let is_next = self.begins().next().is_some_and(|(epoch, _)| epoch <= other.epoch.next());
                (is_next || after.epoch == other.epoch) && other <= after
            }
            None => true,
        }
    }

    /// What follows the common part of this log, up to `last`, and one that has committed up to `committed` and whose
    /// further records' epochs end at `ends`. `None`: it lacks what is no longer in memory.
    pub(super) fn records_after(
        &self,
        committed: Position,
        ends: &[Position],
        last: Position,
        timing: &Timing,
    ) -> Option<Records> {
        let mut common = committed;
        for end in ends {
            let mine = self.entries().rev().map(|entry| entry.position).find(|at| at.epoch == end.epoch);
            // Where an epoch ended is also known from the beginning of the next.
            let before = || self.begins().map(|(_, after)| after).find(|after| after.epoch == end.epoch);
            let Some(mine) = mine.or_else(before) else { continue };
            common = common.max(mine.min(*end));
        }
        let common = common.min(last.max(committed));
        if common >= last {
            return Some(Records { common, entries: Vec::new(), last });
        }
        let rest = self.entries().skip_while(|entry| entry.position <= common);
        let rest = rest.take_while(|entry| entry.position <= last);
        let entries = batch(rest, timing.batch, timing.batch_bytes);
        entries.first()?.follows(common).then_some(Records { common, entries, last })
    }
}

/// Whether a change makes a value longer than any may be.
fn is_too_long(change: &Change) -> bool {
    matches!(change, Change::Value(version) if version.value.len() > MAX_VALUE_BYTES)
}

#[cfg(test)]
mod tests;
