//! Records and marks down the chain, acknowledgements up.

use super::active_chain::ActiveChain;
use super::context::Context;
use super::log::RangeLog;
use super::resend_timer::ResendTimer;
use super::stretch::batch;
use crate::ids::{Ack, Position, Seq};
use crate::range::entry::{Change, Entry};
use crate::store::RangeStore;
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use std::sync::Arc;

/// What has passed between a member and its neighbours.
#[derive(Debug)]
pub(super) struct FeedState {
    /// Everybody before has synced up to here.
    mark: Seq,
    /// What the predecessor was told last.
    told: (Seq, Seq, bool),
    /// Records up to here were sent to the successor, and it has said that it has them up to there.
    sent: Seq,
    successor_has: Seq,
    /// Records up to here were sent at least once.
    first_sent: Seq,
    /// The mark that was sent last, and how far the successor says it has committed.
    sent_mark: Seq,
    successor_committed: Seq,
    resend: ResendTimer,
}

impl FeedState {
    /// Nothing has passed yet in a chain whose first record is `first`, and which goes on from logs that end at `after`.
    pub(super) fn new(after: Seq, first: Seq, now_us: u64) -> Self {
        let told = (Seq(0), Seq(0), false);
        Self {
            mark: after,
            told,
            sent: first,
            first_sent: first,
            successor_has: first,
            sent_mark: after,
            successor_committed: after,
            resend: ResendTimer::new(now_us),
        }
    }

    /// Records and a mark have come from the predecessor.
    pub(super) fn fed<S: RangeStore>(
        &mut self,
        entries: Vec<Arc<Entry>>,
        mark: Seq,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) -> Result<(), &'static str> {
        if mark > Seq::MOST {
            return Err("Feed: its mark is beyond all records");
        }
        self.mark = self.mark.max(mark);
        // Whatever came, the predecessor is told what is here.
        self.told = (Seq(0), Seq(0), false);
        for entry in entries {
            if log.lags(chain.config().rules.unsynced, (0, 0), context) {
                // What is acknowledged unsynced stays less than a revived chain skips.
                break;
            }
            if !context.store.takes(log.range(), chain.place()) {
                took(Path::FeedHasNoRoom);
                // What a store that rests has yet to sync takes the room.
                context.store.end_rest();
                break;
            }
            if planted(Bug::NoSequenceCheck) && entry.position.seq > log.last().seq.next() {
                let position = Position { seq: log.last().seq.next(), ..entry.position };
                log.append(Entry { position, ..(*entry).clone() }, context);
            } else if entry.follows(log.last()) || (planted(Bug::FeedOfAnyEpoch) && entry.position > log.last()) {
                if matches!(entry.change, Change::Begin { .. }) && !planted(Bug::FeedOfAnyEpoch) {
                    return Err("Feed: a record begins an epoch within another");
                }
                log.append_of_other(entry, context)?;
            } else if let Some(pending) = log.suffix().record(entry.position.seq) {
                // A successor's log is a prefix of its predecessor's.
                if *pending != *entry {
                    return Err("Feed: a record differs from the one with its number here");
                }
            } else if entry.position > log.last() {
                took(Path::FeedWithGap);
            }
        }
        Ok(())
    }

    /// The successor says that its log ends at `last`, and is committed up to there; this log is synced that far.
    pub(super) fn had(
        &mut self,
        (last, committed): (Seq, Seq),
        full: bool,
        now_us: u64,
        chain: &ActiveChain,
        log: &RangeLog,
    ) -> Result<(), &'static str> {
        if last > log.last().seq || committed > last {
            return Err("Have: it acknowledges records that its sender was never fed");
        }
        // What is committed is synced by every member.
        let durable = chain.config().rules.ack == Ack::Durable;
        if committed > self.mark(chain, log) && durable && !planted(Bug::CommitWithoutMark) {
            return Err("Have: it commits records that are not synced here");
        }
        let is_same = (last, committed) == (self.successor_has, self.successor_committed);
        // One that has no room has not lost what it does not take.
        if is_same && !full && self.sent > self.successor_has {
            self.resend.repeated();
        }
        if last > self.successor_has {
            self.successor_has = last;
            self.resend.answered(last.0, now_us);
        }
        if committed > self.successor_committed {
            self.successor_committed = committed;
            self.resend.heard(now_us);
        }
        Ok(())
    }

    /// Up to where all members up to this one have synced.
    pub(super) fn mark(&self, chain: &ActiveChain, log: &RangeLog) -> Seq {
        let at_tail = chain.is_tail();
        let unsynced = chain.rests() || (planted(Bug::CommitWithoutOwnSync) && at_tail);
        let synced = if unsynced { log.last().seq } else { log.synced() };
        if chain.is_head() || (planted(Bug::CommitWithoutMark) && at_tail) { synced } else { self.mark.min(synced) }
    }

    /// Sends the successor, if there is one, what it was not sent: records, and how far all are synced.
    pub(super) fn feed<S: RangeStore>(&mut self, chain: &ActiveChain, log: &RangeLog, context: &mut Context<'_, S>) {
        // The successor has whatever is committed, also what was to be sent again.
        self.sent = self.sent.max(log.committed().seq);
        self.successor_has = self.successor_has.max(log.committed().seq);
        let (mark, Some(successor)) = (self.mark(chain, log), chain.successor()) else { return };
        if log.last().seq <= self.sent && mark <= self.sent_mark {
            return;
        }
        let entries = batch(log.suffix().beyond(self.sent), context.timing.batch, context.timing.batch_bytes);
        let (last, alone) = (entries.last().map(|entry| entry.position.seq), !self.awaits_answer());
        let first = last.filter(|last| *last > self.first_sent);
        self.resend.sent(first.map(|last| last.0), alone, context.now_us);
        self.sent = last.unwrap_or(self.sent);
        (self.first_sent, self.sent_mark) = (self.first_sent.max(self.sent), mark);
        let (range, epoch, to) = (log.range(), chain.epoch(), successor.incarnation);
        context.send(successor, Message::Feed { range, epoch, to, entries, mark });
    }

    /// Tells the predecessor, if there is one, what it was not told: that the log ends at `last`, what is committed, and
    /// whether there is room.
    pub(super) fn acknowledge<S: RangeStore>(
        &mut self,
        last: Seq,
        chain: &ActiveChain,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let Some(predecessor) = chain.predecessor() else { return };
        let (committed, full) = (log.committed().seq, chain.has_no_room(context));
        let told = (last, committed, full);
        if self.told != told {
            self.told = told;
            let (range, epoch, to) = (log.range(), chain.epoch(), predecessor.incarnation);
            context.send(predecessor, Message::Have { range, epoch, to, last, committed, full });
        }
    }

    /// Has what the successor has not acknowledged for long sent again.
    pub(super) fn feed_again<S: RangeStore>(&mut self, chain: &ActiveChain, log: &RangeLog, context: &Context<'_, S>) {
        // What the successor has committed may have been more than was synced here: it is told that again.
        let is_open = chain.successor().is_some() && log.committed().seq < log.last().seq;
        if is_open && self.resend.is_late(context.timing.resend_us, context.now_us) {
            took(Path::FedAgain);
            self.sent = self.successor_has;
            self.sent_mark = Seq(0);
            self.resend.sent_again(context.now_us);
        }
    }

    /// Whether the successor was sent what it has not acknowledged: records, or how far all are synced.
    fn awaits_answer(&self) -> bool {
        self.sent > self.successor_has || self.sent_mark > self.successor_committed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::stretch::NO_KEY;
    use crate::chain::wedge_fence::tests::{ME, Plain, SECRET, step_part};
    use crate::ids::{Chain, Epoch, Incarnation, Member, NodeId, RangeId};
    use crate::range::meta::Meta;
    use fawn_ring::Interval;

    const OTHER: Member = Member { node: NodeId(5), incarnation: Incarnation(2) };

    fn entry(seq: u64) -> Entry {
        let position = Position { epoch: Epoch(1), seq: Seq(seq) };
        Entry { position, time: 1, key: Vec::new(), change: Change::Nothing, asked: None }
    }

    /// A chain of two, and the log of the one at that place, which is committed up to record 5.
    fn member(place: usize) -> (ActiveChain, RangeLog, FeedState) {
        let members = if place == 0 { vec![ME, OTHER] } else { vec![OTHER, ME] };
        let chain = Chain { epoch: Epoch(1), members, ..Chain::none(Interval::ALL) };
        let meta = Meta { committed: entry(5).position, ..Meta::default() };
        let log = RangeLog::new((RangeId(0), Interval::ALL, ME), meta, Vec::new(), &SECRET);
        (ActiveChain::new(chain, place, 1), log, FeedState::new(Seq(5), Seq(5), 1))
    }

    #[test]
    fn a_record_is_sent_once_and_again_where_it_is_not_acknowledged() {
        let (chain, mut log, mut feed) = member(0);
        let mut store = Plain::default();
        step_part(&mut store, |context| log.append_next(Epoch(1), NO_KEY, Change::Nothing, None, context));
        let fed = |sent: &[Message]| match sent {
            [Message::Feed { entries, mark, .. }] => Some((entries.len(), *mark)),
            _ => None,
        };
        assert_eq!(fed(&step_part(&mut store, |context| feed.feed(&chain, &log, context)).1), Some((1, Seq(5))));
        step_part(&mut store, |context| log.learn_synced(context));
        assert!(feed.had((Seq(7), Seq(5)), false, 2, &chain, &log).is_err(), "it was never sent 7");
        assert_eq!(feed.had((Seq(5), Seq(5)), false, 2, &chain, &log), Ok(()));
        store.us = store.timing.resend_us + 1;
        let again = |context: &mut Context<'_, Plain>| {
            feed.feed_again(&chain, &log, context);
            feed.feed(&chain, &log, context);
        };
        assert_eq!(fed(&step_part(&mut store, again).1), Some((1, Seq(6))));
    }

    #[test]
    fn what_comes_is_acknowledged_even_if_it_is_known() {
        let (chain, mut log, mut feed) = member(1);
        let mut store = Plain::default();
        let mut come = |log: &mut RangeLog, entries: &[Entry], mark| {
            let entries = entries.iter().cloned().map(Arc::new).collect();
            let step = |context: &mut Context<'_, Plain>| {
                let done = feed.fed(entries, Seq(mark), &chain, log, context);
                feed.acknowledge(log.last().seq, &chain, log, context);
                (done, feed.mark(&chain, log))
            };
            let ((done, mark), sent) = step_part(&mut store, step);
            let had = sent.iter().any(|message| matches!(message, Message::Have { .. }));
            (done.is_ok(), mark, had, log.last().seq.0)
        };
        assert_eq!(come(&mut log, &[entry(6)], 5), (true, Seq(5), true, 6));
        assert_eq!(come(&mut log, &[entry(6)], 6), (true, Seq(5), true, 6), "its own sync is less than the mark");
        assert_eq!(come(&mut log, &[entry(9)], 6), (true, Seq(5), true, 6), "7 and 8 are lacking");
        let other = Entry { time: 2, ..entry(6) };
        assert!(!come(&mut log, &[other], 6).0, "the record with this number is another");
        assert!(!come(&mut log, &[], Seq::MOST.0 + 1).0);
    }

    #[test]
    fn an_archive_that_rests_acknowledges_what_the_others_have_synced_and_alone_what_it_has_synced() {
        let me = Member { node: NodeId(ME.node.0 | NodeId::ARCHIVE), ..ME };
        let resting = |members: Vec<Member>| {
            let place = members.len() - 1;
            let mut chain =
                ActiveChain::new(Chain { epoch: Epoch(1), members, ..Chain::none(Interval::ALL) }, place, 1);
            chain.let_rest(true);
            chain
        };
        let meta = Meta { committed: entry(5).position, ..Meta::default() };
        let mut log = RangeLog::new((RangeId(0), Interval::ALL, me), meta, Vec::new(), &SECRET);
        let mut feed = FeedState::new(Seq(5), Seq(5), 1);
        let chain = resting(vec![OTHER, me]);
        let fed = |context: &mut Context<'_, Plain>| {
            let entries = vec![Arc::new(entry(6)), Arc::new(entry(7))];
            feed.fed(entries, Seq(6), &chain, &mut log, context)
        };
        assert!(step_part(&mut Plain::default(), fed).0.is_ok());
        assert!(chain.rests() && log.synced() == Seq(5));
        assert_eq!(feed.mark(&chain, &log), Seq(6), "the other one has synced that");
        let other = Member { node: NodeId(OTHER.node.0 | NodeId::ARCHIVE), ..OTHER };
        assert!(!resting(vec![other, me]).rests(), "nobody syncs at once");
        assert_eq!(feed.mark(&resting(vec![other, me]), &log), Seq(5));
        let mut first = ActiveChain::new(resting(vec![me, other]).config().clone(), 0, 1);
        first.let_rest(true);
        assert!(!first.rests(), "nor in a chain of archives alone, wherever it stands");
    }
}
