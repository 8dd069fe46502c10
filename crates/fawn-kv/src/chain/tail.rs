//! Gets: under a lease that is checked after the value was read, or at the tail behind a barrier.
//!
//! Where reads are spread, any member answers for keys that nobody is writing (CRAQ, Terrace and Freedman 2009).

use super::replica::{Context, Phase, Replica};
use crate::entry::{Change, Kept, Version};
use crate::ids::{Address, Epoch, RequestId, Seq};
use crate::message::{Answer, Message};
use crate::planted::{Bug, planted};
use crate::store::{Lookup, RangeStore, Ticket};
use std::collections::BTreeMap;

/// A get.
#[derive(Debug)]
struct Get {
    id: RequestId,
    client: u32,
    key: Vec<u8>,
}

/// A barrier that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Barrier {
    /// The head was asked for it.
    Asked,
    /// It is this record.
    At(Seq),
}

/// Gets that wait.
#[derive(Debug, Default)]
pub(super) struct Gets {
    /// For flash; the flag says that a barrier lies behind them, so that they need no lease.
    reads: BTreeMap<Ticket, (Get, bool)>,
    /// For a barrier that begins after them.
    unbarred: Vec<Get>,
    /// For the barrier that is under way.
    barred: Vec<Get>,
    barrier: Option<Barrier>,
    number: u64,
    begun_us: u64,
}

impl Replica {
    pub(super) fn get<S: RangeStore>(
        &mut self,
        id: RequestId,
        client: u32,
        key: Vec<u8>,
        context: &mut Context<'_, S>,
    ) {
        let Phase::Active(active) = &self.phase else { return context.reply(client, id, Answer::NotMine) };
        let get = Get { id, client, key };
        let leased = context.has_lease(active.since_us);
        if !self.keys.contains(&context.secret.position(&get.key)) {
            context.reply(client, id, Answer::NotMine);
        } else if active.is_tail() {
            self.get_at_tail(get, leased || planted(Bug::NoLeaseCheck), context);
        } else if !active.chain.rules.spread_reads {
            context.reply(client, id, Answer::NotMine);
        } else if self.is_clean(&get.key) && (leased || planted(Bug::SpreadWithoutLease)) {
            // Whatever is committed anywhere is in this log: without a record of the key that may not be, the newest
            // version here is the newest there is.
            self.look(get, false, context);
        } else {
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

    /// Whether no record of the key, or of all keys, is under way.
    fn is_clean(&self, key: &[u8]) -> bool {
        let flushes = || self.suffix.iter().any(|entry| matches!(entry.change, Change::Flush { .. }));
        (!self.newest.contains_key(key) || planted(Bug::SpreadDirty)) && !flushes()
    }

    /// The tail decides what this member cannot.
    fn pass_on<S: RangeStore>(&mut self, get: Get, context: &mut Context<'_, S>) {
        let Phase::Active(active) = &self.phase else { unreachable!("a member is active") };
        let (range, tail, Get { id, client, key }) = (self.range, active.chain.tail(), get);
        context.send(tail, Message::Get { range, id, client, key });
    }

    fn look<S: RangeStore>(&mut self, get: Get, barred: bool, context: &mut Context<'_, S>) {
        let ticket = context.tickets.1;
        match context.store.lookup(self.range, &get.key, ticket) {
            Lookup::Known(kept) => self.found(get, kept, barred, context),
            Lookup::Later => {
                context.tickets.0.insert(ticket, self.range);
                context.tickets.1 += 1;
                let Phase::Active(active) = &mut self.phase else { unreachable!("only a member looks") };
                active.gets.reads.insert(ticket, (get, barred));
            }
        }
    }

    /// A lookup that waited for flash is done.
    pub fn read<S: RangeStore>(&mut self, ticket: Ticket, kept: Option<Kept>, context: &mut Context<'_, S>) {
        self.read_for_head(ticket, kept.as_ref(), context);
        let Phase::Active(active) = &mut self.phase else { return };
        let Some((get, barred)) = active.gets.reads.remove(&ticket) else { return };
        let unchecked = planted(Bug::LeaseCheckedBefore) || planted(Bug::NoLeaseCheck);
        let spread = planted(Bug::SpreadWithoutLease) && !active.is_tail();
        if barred || context.has_lease(active.since_us) || unchecked || spread {
            self.found(get, kept, barred, context);
        } else if active.is_tail() {
            active.gets.unbarred.push(get);
        } else {
            self.pass_on(get, context);
        }
    }

    /// Answers with what was found, unless it depends on a time that the range has not reached.
    fn found<S: RangeStore>(&mut self, get: Get, kept: Option<Kept>, barred: bool, context: &mut Context<'_, S>) {
        let Phase::Active(active) = &mut self.phase else { unreachable!("only a member looks") };
        let kept = kept.map(|kept| {
            let lies = context.secret.position(&kept.key);
            let (alive, seq) = (&self.meta.alive, kept.position.seq);
            let shown = |version: &Version, time: u32| alive.shows_at(&lies, version, seq, time);
            let time = if planted(Bug::ExpiryByClock) { context.unix } else { alive.time };
            let now = kept.version.as_ref().is_some_and(|version| shown(version, time));
            let soon = now && !kept.version.as_ref().is_some_and(|version| shown(version, time.max(context.unix)));
            (Kept { version: kept.version.filter(|_| now), ..kept }, soon && !barred)
        });
        // By this member's clock it is gone, by the range's it is not: the head's clock decides.
        match kept {
            Some((_, true)) if active.is_tail() => active.gets.unbarred.push(get),
            Some((_, true)) => self.pass_on(get, context),
            kept => context.reply(get.client, get.id, Answer::Found(kept.map(|(kept, _)| kept))),
        }
    }

    /// Answers gets behind a barrier that is committed, and begins one for those that wait for it.
    pub(super) fn answer_gets<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let (committed, range) = (self.meta.committed.seq, self.range);
        let Phase::Active(active) = &mut self.phase else { return };
        if matches!(active.gets.barrier, Some(Barrier::At(seq)) if seq <= committed) {
            active.gets.barrier = None;
            for get in std::mem::take(&mut active.gets.barred) {
                self.look(get, true, context);
            }
        }
        let Phase::Active(active) = &mut self.phase else { return };
        let late = context.now_us >= active.gets.begun_us + context.timing.resend_us;
        let lost = active.gets.barrier == Some(Barrier::Asked) && late;
        if lost || (active.gets.barrier.is_none() && !active.gets.unbarred.is_empty()) {
            let mut gets = std::mem::take(&mut active.gets.unbarred);
            active.gets.barred.append(&mut gets);
            active.gets.number += 1;
            (active.gets.barrier, active.gets.begun_us) = (Some(Barrier::Asked), context.now_us);
            let (head, epoch, number) = (active.chain.head(), active.chain.epoch, active.gets.number);
            if active.is_head() {
                let seq = self.append_next(Vec::new(), Change::Nothing, None, context);
                self.barrier_at(epoch, number, seq, context);
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
        if active.is_head() && active.chain.epoch == epoch && from == Address::Node(tail.node) {
            let seq = self.append_next(Vec::new(), Change::Nothing, None, context);
            context.send(tail, Message::BarrierAt { range: self.range, epoch, number, seq });
        }
    }

    /// The barrier's record has a number.
    pub(super) fn barrier_at<S: RangeStore>(&mut self, epoch: Epoch, number: u64, seq: Seq, _: &mut Context<'_, S>) {
        let Phase::Active(active) = &mut self.phase else { return };
        if active.chain.epoch == epoch && active.gets.number == number && active.gets.barrier == Some(Barrier::Asked) {
            active.gets.barrier = Some(Barrier::At(seq));
        }
    }
}
