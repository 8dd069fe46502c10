//! A member of an active chain: what it does as head, between its neighbours, and as tail.

use super::active_chain::ActiveChain;
use super::context::Context;
use super::feed::FeedState;
use super::gets::Gets;
use super::head::Head;
use super::log::RangeLog;
use super::requests::{Flush, Get, Request};
use super::wedge_fence;
use crate::ids::{Ack, Address, Chain, Epoch, Incarnation, Seq, WedgeEpoch};
use crate::range::entry::{Entry, Kept};
use crate::store::{RangeStore, Ticket};
use crate::wire::Answer;
use fawn_ring::Interval;
use std::sync::Arc;

/// The chain, and the duties of the member in it.
#[derive(Debug)]
pub(super) struct Active {
    chain: ActiveChain,
    feed: FeedState,
    head: Head,
    gets: Gets,
}

impl Active {
    /// A member of a chain that is active as of now, at that place, whose log ends at `after`.
    pub(super) fn new(config: Chain, place: usize, after: Seq, now_us: u64) -> Self {
        let feed = FeedState::new(after, config.first, now_us);
        let chain = ActiveChain::new(config, place, now_us);
        Self { chain, feed, head: Head::default(), gets: Gets::default() }
    }

    /// As [`ActiveChain::let_rest`].
    pub(super) fn let_rest(&mut self, rests: bool) {
        self.chain.let_rest(rests);
    }

    pub(super) fn chain(&self) -> &ActiveChain {
        &self.chain
    }

    /// The first record of the chain is in the log.
    pub(super) fn begin<S: RangeStore>(&mut self, log: &mut RangeLog, context: &mut Context<'_, S>) {
        self.head.begin(&self.chain, log, context);
    }

    /// A client asks for an operation.
    pub(super) fn request<S: RangeStore>(
        &mut self,
        request: Request,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        self.head.request(request, &self.chain, log, context);
    }

    /// A client asks for a flush.
    pub(super) fn flush<S: RangeStore>(&mut self, flush: Flush, log: &mut RangeLog, context: &mut Context<'_, S>) {
        self.head.flush(flush, &self.chain, log, context);
    }

    /// A client asks for a key.
    pub(super) fn get<S: RangeStore>(&mut self, get: Get, log: &RangeLog, context: &mut Context<'_, S>) {
        self.gets.get(get, &self.chain, log, context);
    }

    /// A front-end takes over a wedge.
    pub(super) fn fence<S: RangeStore>(
        &mut self,
        front: Address,
        wedge: (Interval, WedgeEpoch),
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) -> Result<(), &'static str> {
        wedge_fence::take_over(front, wedge, &self.chain, log, context)
    }

    /// Records and a mark have come, if they are from the predecessor.
    pub(super) fn fed<S: RangeStore>(
        &mut self,
        from: Address,
        addressed: (Epoch, Incarnation),
        (entries, mark): (Vec<Arc<Entry>>, Seq),
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) -> Result<(), &'static str> {
        if !self.chain.hears(from, addressed, self.chain.predecessor(), log.member()) {
            return Ok(());
        }
        self.feed.fed(entries, mark, &self.chain, log, context)
    }

    /// An acknowledgement has come, if it is from the successor: of its log up to the first number, of what it has committed up
    /// to the second. `full`: it, or a member after it, has no room for more values.
    pub(super) fn had<S: RangeStore>(
        &mut self,
        from: Address,
        addressed: (Epoch, Incarnation),
        acknowledged: (Seq, Seq),
        full: bool,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) -> Result<(), &'static str> {
        if !self.chain.hears(from, addressed, self.chain.successor(), log.member()) {
            return Ok(());
        }
        self.feed.had(acknowledged, full, context.now_us, &self.chain, log)?;
        self.chain.note_full_below(full);
        log.commit(acknowledged.1, false, context);
        Ok(())
    }

    /// The reader wants a barrier.
    pub(super) fn barrier<S: RangeStore>(
        &mut self,
        from: Address,
        barrier: (Epoch, u64),
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        self.head.barrier(from, barrier, &self.chain, log, context);
    }

    /// The head says which record a barrier is.
    pub(super) fn barrier_at(&mut self, from: Address, barrier: (Epoch, u64), seq: Seq) -> Result<(), &'static str> {
        self.gets.barrier_at(from, barrier, seq, &self.chain)
    }

    /// A lookup that waited for flash is done.
    pub(super) fn read<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        kept: Option<Kept>,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        self.head.read(ticket, kept.as_ref(), &self.chain, log, context);
        self.gets.read(ticket, kept, &self.chain, log, context);
    }

    /// A lookup that waited for flash cannot be answered: whoever waits for it is refused.
    pub(super) fn give_up_read<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        refusal: &Answer,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        self.gets.give_up_read(ticket, refusal, context);
        self.head.give_up_read(ticket, refusal, &self.chain, log, context);
    }

    /// Time has passed.
    pub(super) fn tick<S: RangeStore>(&mut self, log: &mut RangeLog, context: &mut Context<'_, S>) {
        self.feed.feed_again(&self.chain, log, context);
        self.head.tick(&self.chain, log, context);
    }

    /// Sends what there is to send, and commits what can be committed.
    pub(super) fn flow<S: RangeStore>(&mut self, log: &mut RangeLog, context: &mut Context<'_, S>) {
        let (chain, last) = (&self.chain, log.last().seq);
        if chain.successor().is_some() {
            self.feed.feed(chain, log, context);
        } else {
            // A record of this epoch has come through all the others, so that they have it, and have begun the epoch.
            let in_memory = chain.config().rules.ack == Ack::Replicated && last > chain.config().first;
            let upto = if in_memory { last } else { self.feed.mark(chain, log) };
            log.commit(upto, !chain.is_silent(), context);
        }
        if chain.is_reader() {
            self.gets.answer_waiting(chain, log, context);
        }
        self.feed.acknowledge(last, chain, log, context);
    }
}
