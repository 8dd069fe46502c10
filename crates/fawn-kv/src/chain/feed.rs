//! Records and marks down the chain, acknowledgements up.

use super::context::Context;
use super::replica::{Active, Phase, Replica};
use super::stretch::batch;
use crate::ids::{Ack, Address, Epoch, Incarnation, Member, Position, Seq};
use crate::range::entry::{Change, Entry};
use crate::store::RangeStore;
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use std::sync::Arc;

impl Active {
    pub(super) fn predecessor(&self) -> Option<Member> {
        self.chain.members.get(self.place.checked_sub(1)?).copied().filter(|_| !self.chain.is_weak())
    }

    pub(super) fn successor(&self) -> Option<Member> {
        self.chain.members.get(self.place + 1).copied().filter(|_| !self.chain.is_weak())
    }
}

impl Replica {
    /// The member's part, if the message is of its epoch and life, and from that neighbour.
    fn neighbour(
        &mut self,
        from: Address,
        (epoch, to): (Epoch, Incarnation),
        which: impl Fn(&Active) -> Option<Member>,
    ) -> Option<&mut Active> {
        let me = self.log.member().incarnation;
        let sealed = planted(Bug::SealedTailReads) && self.chain().is_some_and(|chain| chain.attempt < self.promised);
        if sealed {
            return None;
        }
        let Phase::Active(active) = &mut self.phase else { return None };
        let neighbour = which(active)?;
        let is_it = (active.chain.epoch == epoch || planted(Bug::FeedOfAnyEpoch))
            && (to == me || planted(Bug::AnyLife) || planted(Bug::RestartKeepsIncarnation))
            && from == Address::Node(neighbour.node);
        is_it.then_some(active)
    }

    /// Records and a mark have come from the predecessor.
    pub(super) fn fed<S: RangeStore>(
        &mut self,
        from: Address,
        epoch: Epoch,
        to: Incarnation,
        entries: Vec<Arc<Entry>>,
        mark: Seq,
        context: &mut Context<'_, S>,
    ) {
        let Some(active) = self.neighbour(from, (epoch, to), Active::predecessor) else { return };
        if mark > Seq::MOST {
            return self.refuse("Feed: its mark is beyond all records");
        }
        active.mark = active.mark.max(mark);
        // Whatever came, the predecessor is told what is here.
        active.told = (Seq(0), Seq(0), false);
        let place = active.place();
        for entry in entries {
            if self.lags((0, 0), context) {
                // What is acknowledged unsynced stays less than a revived chain skips.
                break;
            }
            if !context.store.takes(self.log.range(), place) {
                took(Path::FeedHasNoRoom);
                break;
            }
            if planted(Bug::NoSequenceCheck) && entry.position.seq > self.log.last().seq.next() {
                let position = Position { seq: self.log.last().seq.next(), ..entry.position };
                self.log.append(Entry { position, ..(*entry).clone() }, context);
            } else if entry.follows(self.log.last())
                || (planted(Bug::FeedOfAnyEpoch) && entry.position > self.log.last())
            {
                if matches!(entry.change, Change::Begin { .. }) && !planted(Bug::FeedOfAnyEpoch) {
                    return self.refuse("Feed: a record begins an epoch within another");
                }
                if let Err(reason) = self.log.append_of_other(entry, context) {
                    return self.refuse(reason);
                }
            } else if let Some(pending) = self.log.suffix().record(entry.position.seq) {
                // A successor's log is a prefix of its predecessor's.
                if *pending != *entry {
                    return self.refuse("Feed: a record differs from the one with its number here");
                }
            } else if entry.position > self.log.last() {
                took(Path::FeedWithGap);
            }
        }
    }

    /// An acknowledgement has come from the successor.
    pub(super) fn had<S: RangeStore>(
        &mut self,
        from: Address,
        addressed: (Epoch, Incarnation),
        (last, committed): (Seq, Seq),
        full: bool,
        context: &mut Context<'_, S>,
    ) {
        let (now_us, mine) = (context.now_us, self.log.last().seq);
        self.log.learn_synced(context);
        let synced = self.log.synced();
        let Some(active) = self.neighbour(from, addressed, Active::successor) else { return };
        if last > mine || committed > last {
            return self.refuse("Have: it acknowledges records that its sender was never fed");
        }
        // What is committed is synced by every member.
        let durable = active.chain.rules.ack == Ack::Durable;
        if committed > synced && durable && !planted(Bug::CommitWithoutMark) {
            return self.refuse("Have: it commits records that are not synced here");
        }
        active.full_below = full;
        if last > active.successor_has {
            (active.successor_has, active.sent_at_us) = (last, now_us);
        }
        self.log.commit(committed, false, context);
    }

    /// Sends what there is to send, and commits what can be committed.
    pub(super) fn flow<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let (synced, last, committed) = (self.log.synced(), self.log.last().seq, self.log.committed().seq);
        let Phase::Active(active) = &mut self.phase else { return };
        // The successor has whatever is committed, also what was to be sent again.
        active.sent = active.sent.max(committed);
        let synced = if planted(Bug::CommitWithoutOwnSync) && active.is_tail() { last } else { synced };
        let mark = if active.is_head() || (planted(Bug::CommitWithoutMark) && active.is_tail()) {
            synced
        } else {
            active.mark.min(synced)
        };
        if let Some(successor) = active.successor() {
            if last > active.sent || mark > active.sent_mark {
                self.feed(successor, mark, context);
            }
        } else {
            // A record of this epoch has come through all the others, so that they have it, and have begun the epoch.
            let in_memory = active.chain.rules.ack == Ack::Replicated && last > active.chain.first;
            let answers = !active.is_silent();
            self.log.commit(if in_memory { last } else { mark }, answers, context);
            self.answer_gets(context);
        }
        let Phase::Active(active) = &mut self.phase else { return };
        let Some(predecessor) = active.predecessor() else { return };
        let (committed, full) = (self.log.committed().seq, active.has_no_room(context));
        let told = (last, committed, full);
        if active.told != told {
            active.told = told;
            let (range, epoch, to) = (self.log.range(), active.chain.epoch, predecessor.incarnation);
            context.send(predecessor, Message::Have { range, epoch, to, last, committed, full });
        }
    }

    fn feed<S: RangeStore>(&mut self, successor: Member, mark: Seq, context: &mut Context<'_, S>) {
        let Phase::Active(active) = &mut self.phase else { return };
        let sent = active.sent;
        let entries = batch(self.log.suffix().beyond(sent), context.timing.batch, context.timing.batch_bytes);
        active.sent = entries.last().map_or(sent, |entry| entry.position.seq);
        (active.sent_mark, active.sent_at_us) = (mark, context.now_us);
        let (range, epoch, to) = (self.log.range(), active.chain.epoch, successor.incarnation);
        context.send(successor, Message::Feed { range, epoch, to, entries, mark });
    }

    /// Sends again what the successor has not acknowledged for long.
    pub(super) fn feed_again<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let (last, committed) = (self.log.last().seq, self.log.committed().seq);
        let Phase::Active(active) = &mut self.phase else { return };
        let late = context.now_us >= active.sent_at_us + context.timing.resend_us;
        if active.successor().is_some() && committed < last && late {
            took(Path::FedAgain);
            active.sent = active.successor_has;
            active.sent_mark = Seq(0);
            active.sent_at_us = context.now_us;
        }
    }
}
