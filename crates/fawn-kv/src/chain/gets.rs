//! Gets: under a lease that is checked after the value was read, or behind a barrier.
//!
//! The reader of a chain answers them: the tail, which shows what is committed, or the last member before those that are
//! archives. That one learns later than the tail what is committed; so it first waits for what is in its log of the key.
//! Where reads are spread, others answer for keys that nobody is writing (CRAQ, Terrace and Freedman 2009).

use super::active_chain::ActiveChain;
use super::barrier::Barrier;
use super::context::Context;
use super::log::RangeLog;
use super::requests::Get;
use super::stretch::NO_KEY;
use crate::ids::{Address, Epoch, Seq};
use crate::range::entry::{Change, Kept, Version};
use crate::store::{Lookup, RangeStore, Ticket};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::{Answer, Message};
use fawn_ring::Key;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What a version is judged by that is read: as of what is committed, and as of the log's end.
type AsOf = [(u32, u64); 2];

/// What makes an answer the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grounds {
    /// A lease: there is no newer chain. The key had no record under way when the get came.
    Lease,
    /// A lease, and what was under way when the get came is committed.
    Committed,
    /// A barrier that began after the get came. It needs no lease.
    Barrier,
}

/// Why a version that is found may not be what is to be shown: another member may judge it by another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// A record under way sets the range's time back.
    Past,
    /// It expires soon, or is flushed.
    Future,
}

/// Gets that a member answers: those that wait for flash, and at the reader those that wait for a commit or a barrier.
#[derive(Debug, Default)]
pub(super) struct Gets {
    /// For flash.
    reads: BTreeMap<Ticket, (Get, Grounds, AsOf)>,
    /// For the commit of what was in the log when they came, in its order.
    uncommitted: VecDeque<(Seq, Get)>,
    /// For a barrier that begins after them.
    unbarred: Vec<Get>,
    /// For the barrier that is under way.
    barred: Vec<Get>,
    barrier: Barrier,
}

impl Gets {
    fn waiting(&self) -> usize {
        self.reads.len() + self.uncommitted.len() + self.unbarred.len() + self.barred.len()
    }

    /// A client asks for a key.
    pub(super) fn get<S: RangeStore>(
        &mut self,
        get: Get,
        chain: &ActiveChain,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let crowded = self.waiting() >= context.timing.pending;
        let leased = context.has_lease(chain.since_us());
        if !log.keys().contains(&get.lies) {
            get.answer(Answer::NotMine, context);
        } else if is_fenced(&get, log) {
            get.answer(Answer::Fenced, context);
        } else if chain.is_silent() {
            // It does not know what the owner has answered.
            get.answer(Answer::NotMine, context);
        } else if crowded {
            get.answer(Answer::Busy, context);
        } else if chain.is_reader() {
            self.get_at_reader(get, leased || planted(Bug::NoLeaseCheck), chain, log, context);
        } else if chain.is_spared() {
            // Whoever asks is of an older release, or has an old map.
            took(Path::ArchiveSpared);
            pass_on(get, chain, log, context);
        } else if !chain.is_among_readers() {
            get.answer(Answer::NotMine, context);
        } else if log.is_clean(&get.lies) && (leased || planted(Bug::SpreadWithoutLease)) {
            // Whatever is committed anywhere is in this log: without a record of the key that may not be, the newest
            // version here is the newest there is.
            took(Path::SpreadClean);
            self.look(get, Grounds::Lease, chain, log, context);
        } else {
            took(Path::SpreadDirty);
            pass_on(get, chain, log, context);
        }
    }

    fn get_at_reader<S: RangeStore>(
        &mut self,
        get: Get,
        leased: bool,
        chain: &ActiveChain,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        if planted(Bug::BarrierBefore) && self.barrier.is_under_way() && !leased {
            self.barred.push(get);
        } else if !leased {
            self.unbarred.push(get);
        } else if chain.is_tail() || log.is_clean(&get.lies) || planted(Bug::ReaderDoesNotWait) {
            self.look(get, Grounds::Lease, chain, log, context);
        } else {
            self.await_commit(get, log);
        }
    }

    /// The tail may have committed, and answered, whatever is in this log by now.
    fn await_commit(&mut self, get: Get, log: &RangeLog) {
        took(Path::CommitAwaited);
        self.uncommitted.push_back((log.last().seq, get));
    }

    fn look<S: RangeStore>(
        &mut self,
        get: Get,
        grounds: Grounds,
        chain: &ActiveChain,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        match context.store.lookup(log.range(), &get.key, context.tickets.1) {
            Lookup::Known(kept) => self.found(get, kept, grounds, chain, log, context),
            Lookup::Later => {
                let as_of = as_of(&get.lies, log);
                self.reads.insert(context.wait(log.range()), (get, grounds, as_of));
            }
        }
    }

    /// A lookup that waited for flash is done.
    pub(super) fn read<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        kept: Option<Kept>,
        chain: &ActiveChain,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let Some((get, grounds, read_as_of)) = self.reads.remove(&ticket) else { return };
        let unchecked = planted(Bug::LeaseCheckedBefore) || planted(Bug::NoLeaseCheck);
        let spread = planted(Bug::SpreadWithoutLease) && !chain.is_reader();
        if grounds == Grounds::Barrier || context.has_lease(chain.since_us()) || unchecked || spread {
            if kept.is_some() && read_as_of != as_of(&get.lies, log) {
                // What was newest then may be gone by now, and what is newest now not: it was never seen to be gone.
                return self.look(get, grounds, chain, log, context);
            }
            self.found(get, kept, grounds, chain, log, context);
        } else if chain.is_reader() {
            took(Path::LeaseRunOut);
            self.unbarred.push(get);
        } else {
            pass_on(get, chain, log, context);
        }
    }

    /// A lookup that waited for flash cannot be answered.
    pub(super) fn give_up_read<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        refusal: &Answer,
        context: &mut Context<'_, S>,
    ) {
        if let Some((get, ..)) = self.reads.remove(&ticket) {
            get.answer(refusal.clone(), context);
        }
    }

    /// Answers with what was found, unless it depends on a time that the range has not reached.
    fn found<S: RangeStore>(
        &mut self,
        get: Get,
        kept: Option<Kept>,
        grounds: Grounds,
        chain: &ActiveChain,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        if is_fenced(&get, log) {
            return get.answer(Answer::Fenced, context);
        }
        let kept = kept.map(|kept| {
            let (alive, seq) = (&log.meta().alive, kept.position.seq);
            let shown = |version: &Version, time: u32| alive.shows_at(&get.lies, version, seq, time);
            let time = if planted(Bug::ExpiryByClock) { context.unix } else { alive.time };
            let now = kept.version.as_ref().is_some_and(|version| shown(version, time));
            // It is gone here, and there again where the record is committed that sets the time back: at the tail first.
            let is_set_back = log.time() < alive.time && !chain.is_tail() && grounds == Grounds::Lease;
            if is_set_back && !now && kept.version.as_ref().is_some_and(|version| shown(version, log.time())) {
                return (kept, Some(Doubt::Past));
            }
            // Another member may have committed what is only in the log here, and have shown that it is gone.
            let later = time.max(context.unix).max(log.time());
            let soon = now && !kept.version.as_ref().is_some_and(|version| shown(version, later));
            (
                Kept { version: kept.version.filter(|_| now), ..kept },
                (soon && grounds != Grounds::Barrier).then_some(Doubt::Future),
            )
        });
        let bug = planted(Bug::NoLeaseCheck) || planted(Bug::SpreadWithoutLease);
        match kept {
            Some((_, Some(_))) if !chain.is_reader() => pass_on(get, chain, log, context),
            Some((_, Some(Doubt::Past))) => self.await_commit(get, log),
            // By this member's clock, or its log, it is gone, by what is committed it is not: the head's clock decides.
            Some((_, Some(Doubt::Future))) => self.unbarred.push(get),
            kept => {
                assert!(
                    grounds == Grounds::Barrier || context.has_lease(chain.since_us()) || bug,
                    "whoever answers a get has a lease or a barrier"
                );
                let until = log.meta().alive.flush_due(|| get.lies);
                get.answer_until(Answer::Found(kept.map(|(kept, _)| Arc::new(kept))), until, context);
            }
        }
    }

    /// At the reader: answers gets that waited for a commit, and those behind a barrier that is committed, and begins one for
    /// those that wait for it.
    pub(super) fn answer_waiting<S: RangeStore>(
        &mut self,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let (committed, log_end) = (log.committed().seq, log.last().seq);
        while let Some((_, get)) = self.uncommitted.pop_front_if(|(seq, _)| *seq <= committed) {
            if context.has_lease(chain.since_us()) {
                self.look(get, Grounds::Committed, chain, log, context);
            } else {
                self.unbarred.push(get);
            }
        }
        if self.barrier.take_committed(committed) {
            for get in std::mem::take(&mut self.barred) {
                took(Path::BarrierRead);
                self.look(get, Grounds::Barrier, chain, log, context);
            }
        }
        let lost = self.barrier.is_lost(context.now_us, context.timing.resend_us);
        if lost || (!self.barrier.is_under_way() && !self.unbarred.is_empty()) {
            self.barred.append(&mut self.unbarred);
            let number = self.barrier.begin(log_end, context.now_us);
            let (head, epoch) = (chain.config().head(), chain.epoch());
            if chain.is_head() {
                self.barrier.set(log.append_next(epoch, NO_KEY, Change::Nothing, None, context));
            } else {
                context.send(head, Message::Barrier { range: log.range(), epoch, number });
            }
        }
    }

    /// The head says which record the barrier is.
    pub(super) fn barrier_at(
        &mut self,
        from: Address,
        (epoch, number): (Epoch, u64),
        seq: Seq,
        chain: &ActiveChain,
    ) -> Result<(), &'static str> {
        let is_from_head = from == Address::Node(chain.config().head().node);
        if chain.epoch() != epoch || !self.barrier.is_newest(number) || !is_from_head {
            return Ok(());
        }
        if !self.barrier.may_be(seq) {
            return Err("BarrierAt: the barrier is a record from before it was asked for");
        }
        self.barrier.set(seq);
        Ok(())
    }
}

fn is_fenced(get: &Get, log: &RangeLog) -> bool {
    log.is_fenced(&get.lies, get.wedge) && !planted(Bug::FenceIgnoresGets)
}

fn as_of(lies: &Key, log: &RangeLog) -> AsOf {
    [log.meta().alive.as_of(lies), log.suffix().ahead().as_of(lies)]
}

/// The reader decides what this member cannot.
fn pass_on<S: RangeStore>(get: Get, chain: &ActiveChain, log: &RangeLog, context: &mut Context<'_, S>) {
    let (range, reader) = (log.range(), chain.config().reader());
    let Get { id, asker, wedge, key, continuation, .. } = get;
    context.send(reader, Message::Get { range, id, asker, wedge, key, place: None, continuation });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::wedge_fence::tests::{FRONT, ME, Plain, SECRET, step_part};
    use crate::ids::{Asker, Chain, Incarnation, Member, NodeId, Position, RangeId, RequestId, WedgeEpoch};
    use crate::range::meta::Meta;
    use fawn_ring::Interval;

    const HEAD: Member = Member { node: NodeId(4), incarnation: Incarnation(1) };

    fn get() -> Get {
        let (id, asker) = (RequestId { session: 1, number: 1 }, Asker { address: FRONT, tag: 8 });
        let (key, lies) = (b"k".to_vec(), SECRET.position(b"k"));
        Get { id, asker, wedge: WedgeEpoch(0), key, lies, continuation: None }
    }

    #[test]
    fn a_tail_without_a_lease_answers_behind_a_barrier_that_the_head_has_numbered() {
        let config = Chain { epoch: Epoch(1), members: vec![HEAD, ME], ..Chain::none(Interval::ALL) };
        let chain = ActiveChain::new(config, 1, 1);
        let meta = Meta { committed: Position { epoch: Epoch(1), seq: Seq(5) }, ..Meta::default() };
        let mut log = RangeLog::new((RangeId(0), Interval::ALL, ME), meta, Vec::new(), &SECRET);
        let mut store = Plain { leaseless: true, ..Plain::default() };
        let mut gets = Gets::default();
        let ((), sent) = step_part(&mut store, |context| {
            gets.get(get(), &chain, &log, context);
            gets.answer_waiting(&chain, &mut log, context);
        });
        assert!(matches!(sent[..], [Message::Barrier { number: 1, .. }]), "{sent:?}");
        let head = Address::Node(HEAD.node);
        assert_eq!(gets.barrier_at(FRONT, (Epoch(1), 1), Seq(6), &chain), Ok(()), "it is not the head");
        assert!(gets.barrier_at(head, (Epoch(1), 1), Seq(5), &chain).is_err(), "it was there before");
        assert_eq!(gets.barrier_at(head, (Epoch(1), 1), Seq(6), &chain), Ok(()));
        let mut answer =
            |log: &mut RangeLog| step_part(&mut store, |context| gets.answer_waiting(&chain, log, context)).1;
        assert!(answer(&mut log).is_empty());
        step_part(&mut Plain::default(), |context| {
            log.append_next(Epoch(1), NO_KEY, Change::Nothing, None, context);
            log.commit(Seq(6), false, context);
        });
        let sent = answer(&mut log);
        assert!(matches!(sent[..], [Message::Reply { answer: Answer::Found(None), .. }]), "{sent:?}");
    }

    #[test]
    fn a_reader_before_an_archive_waits_for_what_the_archive_may_have_committed() {
        let archive = Member { node: NodeId(9 | NodeId::ARCHIVE), incarnation: Incarnation(1) };
        let config = Chain { epoch: Epoch(1), members: vec![ME, archive], ..Chain::none(Interval::ALL) };
        let chain = ActiveChain::new(config, 0, 1);
        let meta = Meta { committed: Position { epoch: Epoch(1), seq: Seq(5) }, ..Meta::default() };
        let mut log = RangeLog::new((RangeId(0), Interval::ALL, ME), meta, Vec::new(), &SECRET);
        let (mut store, mut gets) = (Plain::default(), Gets::default());
        let mut answers = |gets: &mut Gets, log: &mut RangeLog| {
            let ((), sent) = step_part(&mut store, |context| gets.answer_waiting(&chain, log, context));
            sent.iter().filter(|message| matches!(message, Message::Reply { answer: Answer::Found(_), .. })).count()
        };
        let mut plain = Plain::default();
        let mut ask = |gets: &mut Gets, log: &mut RangeLog| {
            step_part(&mut plain, |context| gets.get(get(), &chain, log, context)).1.len()
        };
        assert_eq!(ask(&mut gets, &mut log), 1, "nobody writes to the key");
        step_part(&mut Plain::default(), |context| {
            log.append_next(Epoch(1), (b"k".to_vec(), SECRET.position(b"k")), Change::Delete, None, context);
        });
        assert_eq!(ask(&mut gets, &mut log), 0, "the archive may have acknowledged the deletion");
        step_part(&mut Plain::default(), |context| {
            log.append_next(Epoch(1), (b"k".to_vec(), SECRET.position(b"k")), Change::Delete, None, context);
        });
        assert_eq!(answers(&mut gets, &mut log), 0);
        step_part(&mut Plain::default(), |context| log.commit(Seq(6), false, context));
        assert_eq!(answers(&mut gets, &mut log), 1, "what came after the get is not waited for");
    }

    #[test]
    fn an_archive_that_is_asked_passes_the_get_on_to_the_reader() {
        let me = Member { node: NodeId(ME.node.0 | NodeId::ARCHIVE), ..ME };
        let config = Chain { epoch: Epoch(1), members: vec![HEAD, me], ..Chain::none(Interval::ALL) };
        let chain = ActiveChain::new(config, 1, 1);
        let log = RangeLog::new((RangeId(0), Interval::ALL, me), Meta::default(), Vec::new(), &SECRET);
        let sent = step_part(&mut Plain::default(), |context| Gets::default().get(get(), &chain, &log, context)).1;
        assert!(matches!(sent[..], [Message::Get { .. }]), "{sent:?}");
    }
}
