//! Gets at the tail: under a lease that is checked after the value was read, or behind a barrier.

use super::replica::{Context, Phase, Replica};
use crate::entry::{Change, Kept};
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
        let Phase::Active(active) = &mut self.phase else { return context.reply(client, id, Answer::NotMine) };
        if !active.is_tail() {
            return context.reply(client, id, Answer::NotMine);
        }
        let get = Get { id, client, key };
        if planted(Bug::BarrierBefore) && active.gets.barrier.is_some() && !context.has_lease(active.since_us) {
            return active.gets.barred.push(get);
        }
        if context.has_lease(active.since_us) || planted(Bug::NoLeaseCheck) {
            self.look(get, false, context);
        } else {
            active.gets.unbarred.push(get);
        }
    }

    fn look<S: RangeStore>(&mut self, get: Get, barred: bool, context: &mut Context<'_, S>) {
        let ticket = context.tickets.1;
        match context.store.lookup(self.range, &get.key, ticket) {
            Lookup::Known(kept) => context.reply(get.client, get.id, Answer::Found(kept)),
            Lookup::Later => {
                context.tickets.0.insert(ticket, self.range);
                context.tickets.1 += 1;
                let Phase::Active(active) = &mut self.phase else { unreachable!("only a tail looks") };
                active.gets.reads.insert(ticket, (get, barred));
            }
        }
    }

    /// A lookup that waited for flash is done.
    pub fn read<S: RangeStore>(&mut self, ticket: Ticket, kept: Option<Kept>, context: &mut Context<'_, S>) {
        self.read_for_head(ticket, kept.as_ref(), context);
        let Phase::Active(active) = &mut self.phase else { return };
        let Some((get, barred)) = active.gets.reads.remove(&ticket) else { return };
        if barred
            || context.has_lease(active.since_us)
            || planted(Bug::LeaseCheckedBefore)
            || planted(Bug::NoLeaseCheck)
        {
            context.reply(get.client, get.id, Answer::Found(kept));
        } else {
            active.gets.unbarred.push(get);
        }
    }

    /// Answers gets behind a barrier that is committed, and begins one for those that wait for it.
    pub(super) fn answer_gets<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        let (committed, range) = (self.committed.seq, self.range);
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
