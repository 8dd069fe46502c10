//! Gets: under a lease that is checked after the value was read, or at the tail behind a barrier.
//!
//! Where reads are spread, any member answers for keys that nobody is writing (CRAQ, Terrace and Freedman 2009).

use super::context::Context;
use super::gets::{AsOf, Barrier, Get};
use super::replica::{Phase, Replica};
use super::stretch::NO_KEY;
use crate::ids::{Address, Asker, Epoch, Seq, WedgeEpoch};
use crate::range::entry::{Change, Kept, Version};
use crate::store::{Lookup, RangeStore, Ticket};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::{Answer, Message};
use fawn_ring::Key;
use std::sync::Arc;

/// After so many times as long as it takes to ask again, a barrier that has a number is asked for anew.
const PATIENCE: u64 = 20;

pub(super) fn answer<S: RangeStore>(get: Get, answer: Answer, context: &mut Context<'_, S>) {
    answer_until(get, answer, 0, context);
}

/// An answer that no cache shows from a Unix second on; 0: none.
fn answer_until<S: RangeStore>(get: Get, answer: Answer, until: u32, context: &mut Context<'_, S>) {
    let Get { id, asker: Asker { address, tag }, continuation, .. } = get;
    context.out.push((address, Message::Reply { id, tag, continuation, until, answer }));
}

impl Replica {
    pub(super) fn get<S: RangeStore>(&mut self, get: Get, context: &mut Context<'_, S>) {
        let Phase::Active(active) = &self.phase else { return answer(get, Answer::NotMine, context) };
        let crowded = active.gets.waiting() >= context.timing.pending;
        let leased = context.has_lease(active.since_us);
        if !self.log.keys().contains(&get.lies) {
            answer(get, Answer::NotMine, context);
        } else if self.fences_off(&get.lies, get.wedge) {
            answer(get, Answer::Fenced, context);
        } else if active.is_silent() {
            // It does not know what the owner has answered.
            answer(get, Answer::NotMine, context);
        } else if crowded {
            answer(get, Answer::Busy, context);
        } else if active.is_tail() {
            self.get_at_tail(get, leased || planted(Bug::NoLeaseCheck), context);
        } else if !active.chain.rules.spread_reads {
            answer(get, Answer::NotMine, context);
        } else if self.log.is_clean(&get.lies) && (leased || planted(Bug::SpreadWithoutLease)) {
            // Whatever is committed anywhere is in this log: without a record of the key that may not be, the newest
            // version here is the newest there is.
            took(Path::SpreadClean);
            self.look(get, false, context);
        } else {
            took(Path::SpreadDirty);
            self.pass_on(get, context);
        }
    }

    fn get_at_tail<S: RangeStore>(&mut self, get: Get, leased: bool, context: &mut Context<'_, S>) {
        let Phase::Active(active) = &mut self.phase else { unreachable!("the tail is active") };
        if planted(Bug::BarrierBefore) && active.gets.barrier.is_some() && !leased {
            active.gets.barred.push(get);
        } else if leased {
            self.look(get, false, context);
        } else {
            active.gets.unbarred.push(get);
        }
    }

    fn fences_off(&self, place: &Key, wedge: WedgeEpoch) -> bool {
        self.log.is_fenced(place, wedge) && !planted(Bug::FenceIgnoresGets)
    }

    /// The tail decides what this member cannot.
    fn pass_on<S: RangeStore>(&mut self, get: Get, context: &mut Context<'_, S>) {
        let Phase::Active(active) = &self.phase else { unreachable!("a member is active") };
        let (range, tail) = (self.log.range(), active.chain.tail());
        let Get { id, asker, wedge, key, continuation, .. } = get;
        context.send(tail, Message::Get { range, id, asker, wedge, key, place: None, continuation });
    }

    fn look<S: RangeStore>(&mut self, get: Get, barred: bool, context: &mut Context<'_, S>) {
        let ticket = context.tickets.1;
        match context.store.lookup(self.log.range(), &get.key, ticket) {
            Lookup::Known(kept) => self.found(get, kept, barred, context),
            Lookup::Later => {
                context.tickets.0.insert(ticket, self.log.range());
                context.tickets.1 += 1;
                let as_of = self.as_of(&get.lies);
                let Phase::Active(active) = &mut self.phase else { unreachable!("only a member looks") };
                active.gets.reads.insert(ticket, (get, barred, as_of));
            }
        }
    }

    fn as_of(&self, lies: &Key) -> AsOf {
        [self.log.meta().alive.as_of(lies), self.log.suffix().ahead().as_of(lies)]
    }

    /// A lookup that waited for flash is done.
    pub fn read<S: RangeStore>(&mut self, ticket: Ticket, kept: Option<Kept>, context: &mut Context<'_, S>) {
        self.read_for_head(ticket, kept.as_ref(), context);
        let Phase::Active(active) = &mut self.phase else { return };
        let Some((get, barred, as_of)) = active.gets.reads.remove(&ticket) else { return };
        let unchecked = planted(Bug::LeaseCheckedBefore) || planted(Bug::NoLeaseCheck);
        let spread = planted(Bug::SpreadWithoutLease) && !active.is_tail();
        if barred || context.has_lease(active.since_us) || unchecked || spread {
            if kept.is_some() && as_of != self.as_of(&get.lies) {
                // What was newest then may be gone by now, and what is newest now not: it was never seen to be gone.
                return self.look(get, barred, context);
            }
            self.found(get, kept, barred, context);
        } else if active.is_tail() {
            took(Path::LeaseRunOut);
            active.gets.unbarred.push(get);
        } else {
            self.pass_on(get, context);
        }
    }

    /// Answers with what was found, unless it depends on a time that the range has not reached.
    fn found<S: RangeStore>(&mut self, get: Get, kept: Option<Kept>, barred: bool, context: &mut Context<'_, S>) {
        if self.fences_off(&get.lies, get.wedge) {
            return answer(get, Answer::Fenced, context);
        }
        let Phase::Active(active) = &mut self.phase else { unreachable!("only a member looks") };
        let kept = kept.map(|kept| {
            let (alive, seq) = (&self.log.meta().alive, kept.position.seq);
            let shown = |version: &Version, time: u32| alive.shows_at(&get.lies, version, seq, time);
            let time = if planted(Bug::ExpiryByClock) { context.unix } else { alive.time };
            let now = kept.version.as_ref().is_some_and(|version| shown(version, time));
            // It is gone here, and there again where the record is committed that sets the time back: at the tail first.
            let is_set_back = self.log.time() < alive.time && !active.is_tail();
            if is_set_back && !now && kept.version.as_ref().is_some_and(|version| shown(version, self.log.time())) {
                return (kept, true);
            }
            // Another member may have committed what is only in the log here, and have shown that it is gone.
            let later = time.max(context.unix).max(self.log.time());
            let soon = now && !kept.version.as_ref().is_some_and(|version| shown(version, later));
            (Kept { version: kept.version.filter(|_| now), ..kept }, soon && !barred)
        });
        let bug = planted(Bug::NoLeaseCheck) || planted(Bug::SpreadWithoutLease);
        // By this member's clock, or its log, it is gone, by what is committed it is not: the head's clock decides.
        match kept {
            Some((_, true)) if active.is_tail() => active.gets.unbarred.push(get),
            Some((_, true)) => self.pass_on(get, context),
            kept => {
                assert!(
                    barred || context.has_lease(active.since_us) || bug,
                    "whoever answers a get has a lease or a barrier"
                );
                let until = self.log.meta().alive.flush_due(|| get.lies);
                answer_until(get, Answer::Found(kept.map(|(kept, _)| Arc::new(kept))), until, context);
            }
        }
    }

    /// Answers gets behind a barrier that is committed, and begins one for those that wait for it.
    pub(super) fn answer_gets<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let (committed, range, log_end) = (self.log.committed().seq, self.log.range(), self.log.last().seq);
        let Phase::Active(active) = &mut self.phase else { return };
        if matches!(active.gets.barrier, Some(Barrier::At(seq)) if seq <= committed) {
            active.gets.barrier = None;
            for get in std::mem::take(&mut active.gets.barred) {
                took(Path::BarrierRead);
                self.look(get, true, context);
            }
        }
        let Phase::Active(active) = &mut self.phase else { return };
        let waited_us = context.now_us.saturating_sub(active.gets.begun_us);
        let lost = match active.gets.barrier {
            None => false,
            Some(Barrier::Asked) => waited_us >= context.timing.resend_us,
            Some(Barrier::At(_)) => waited_us >= PATIENCE * context.timing.resend_us,
        };
        if lost || (active.gets.barrier.is_none() && !active.gets.unbarred.is_empty()) {
            let mut gets = std::mem::take(&mut active.gets.unbarred);
            active.gets.barred.append(&mut gets);
            active.gets.number += 1;
            (active.gets.barrier, active.gets.begun_us) = (Some(Barrier::Asked), context.now_us);
            active.gets.after = log_end;
            let (head, epoch, number) = (active.chain.head(), active.chain.epoch, active.gets.number);
            if active.is_head() {
                let seq = self.log.append_next(self.epoch(), NO_KEY, Change::Nothing, None, context);
                self.barrier_at(epoch, number, seq);
            } else {
                context.send(head, Message::Barrier { range, epoch, number });
            }
        }
    }

    /// The tail wants a barrier.
    pub(super) fn barrier<S: RangeStore>(
        &mut self,
        from: Address,
        epoch: Epoch,
        number: u64,
        context: &mut Context<'_, S>,
    ) {
        let Phase::Active(active) = &self.phase else { return };
        let tail = active.chain.tail();
        // A tail whose barrier does not come asks again.
        if active.is_head()
            && active.chain.epoch == epoch
            && from == Address::Node(tail.node)
            && !self.is_crowded(context)
        {
            let seq = self.log.append_next(self.epoch(), NO_KEY, Change::Nothing, None, context);
            context.send(tail, Message::BarrierAt { range: self.log.range(), epoch, number, seq });
        }
    }

    /// The head says which record the barrier is.
    pub(super) fn barrier_told(&mut self, from: Address, epoch: Epoch, number: u64, seq: Seq) {
        let Phase::Active(active) = &self.phase else { return };
        if active.chain.epoch != epoch
            || active.gets.number != number
            || from != Address::Node(active.chain.head().node)
        {
            return;
        }
        // Whatever was here then, the head has before it.
        if seq <= active.gets.after || seq > Seq::MOST {
            return self.refuse("BarrierAt: the barrier is a record from before it was asked for");
        }
        self.barrier_at(epoch, number, seq);
    }

    /// The barrier's record has a number.
    fn barrier_at(&mut self, epoch: Epoch, number: u64, seq: Seq) {
        let Phase::Active(active) = &mut self.phase else { return };
        if active.chain.epoch == epoch && active.gets.number == number && active.gets.barrier == Some(Barrier::Asked) {
            active.gets.barrier = Some(Barrier::At(seq));
        }
    }
}
