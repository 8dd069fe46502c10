//! The executor of stores on this machine as the backend of its loop.

use super::ShardExecutor;
use crate::observe::samples::LoopSample;
use crate::request::{Completion, Execution, KeyRequest, ListingForm, ReplyTo, TaskTicket};
use crate::runtime::buffers::Pool;
use crate::runtime::clock::Now;
use crate::runtime::slab::Token;
use crate::shard::backend::{Backend, LoopEnvironment, WATCHED};
use crate::shard::stores::{LoopStats, Reads, Stores, Turn};
use fawn_ring::Key;
use fawn_store::Gate;
use fawn_store::flash::Space;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

const STORES: u64 = WATCHED;

const READS: u64 = WATCHED | 1;

impl<S: Stores> Backend for ShardExecutor<S> {
    type Seed = (S, S::Reads);
    type Gates = S;

    fn make((stores, reads): Self::Seed, given: LoopEnvironment<'_>) -> Result<Self, Errno> {
        let edge = EventFlags::IN | EventFlags::ET;
        for descriptor in stores.descriptors() {
            epoll::add(&*given.epoll, descriptor, EventData::new_u64(STORES), edge)?;
        }
        for descriptor in reads.descriptors() {
            epoll::add(&*given.epoll, descriptor, EventData::new_u64(READS), edge)?;
        }
        Ok(Self::new(stores, reads, given.counters, (given.number, given.route), given.sizes))
    }

    fn stores(&self) -> usize {
        self.stores.count()
    }

    #[inline]
    fn prefetch(&self, store: usize, keys: &[Key]) {
        self.stores.prefetch(store, keys);
    }

    #[inline]
    fn lend(&mut self) -> (&mut Pool, &S) {
        (&mut self.pool, &self.stores)
    }

    #[inline]
    fn durable(&self, store: usize) -> Gate {
        self.stores.durable(store)
    }

    fn is_stopped(&self, store: usize) -> bool {
        self.gated.is_stopped(store)
    }

    #[inline]
    fn run(
        &mut self,
        store: usize,
        request: &KeyRequest<'_>,
        _: Token,
        now: Now,
        unreserved: usize,
        out: &mut Vec<u8>,
    ) -> Execution {
        ShardExecutor::run(self, store, request, now, unreserved, out)
    }

    fn assign(&mut self, ticket: TaskTicket, client: ReplyTo) {
        ShardExecutor::assign(self, ticket, client);
    }

    fn deliver(&mut self, gates: Vec<(usize, Gate)>, done: Completion) {
        ShardExecutor::deliver(self, gates, done);
    }

    fn deliver_one(&mut self, store: usize, gate: Gate, done: Completion) {
        ShardExecutor::deliver_one(self, store, gate, done);
    }

    fn next_completion(&mut self) -> Option<Completion> {
        self.gated.next_ready()
    }

    fn next_reservation(&mut self) -> Option<(ReplyTo, TaskTicket, u32)> {
        ShardExecutor::next_reservation(self)
    }

    fn reserve(&mut self, ticket: TaskTicket, granted: bool, now: Now) {
        ShardExecutor::reserve(self, ticket, granted, now);
    }

    fn flush_all(&mut self, client: ReplyTo, at_unix: u32, quiet: bool, now: Now) {
        ShardExecutor::flush_all(self, client, at_unix, quiet, now);
    }

    fn list(&mut self, client: ReplyTo, store: usize, from: Key, first: bool, form: ListingForm, now: Now) {
        ShardExecutor::list(self, client, store, from, first, form, now);
    }

    fn on_event(&mut self, data: u64, _: EventFlags, _: Now) {
        self.reads.ready |= data == READS;
    }

    fn look_again(&mut self) {
        self.reads.ready = true;
    }

    fn turn(&mut self, now: Now) -> Turn {
        let reads = if std::mem::take(&mut self.reads.ready) { self.complete_reads(now) } else { Ok(()) };
        Turn {
            failed: reads.err().map(|why| format!("reads no longer complete: {why}")),
            ..ShardExecutor::turn(self, now)
        }
    }

    fn wants_turn(&self) -> bool {
        self.stores.wants_turn()
    }

    fn submit(&mut self, now: Now) -> Result<(), String> {
        ShardExecutor::submit(self, now).map_err(|why| format!("cannot start reads any more: {why}"))
    }

    #[inline]
    fn waiting(&self) -> usize {
        self.tasks.len()
    }

    #[inline]
    fn held_bytes(&self) -> usize {
        ShardExecutor::held_bytes(self)
    }

    fn is_idle(&self) -> bool {
        ShardExecutor::is_idle(self)
    }

    fn forget_reads(&mut self) {
        ShardExecutor::forget_reads(self);
    }

    fn space(&self) -> Option<Space> {
        self.stores.space()
    }

    fn stats(&self, now: Now) -> LoopStats {
        self.stores.stats(now)
    }

    fn sample(&mut self, _: Now) -> LoopSample {
        LoopSample { stores: self.stores.samples(), seat: None }
    }

    fn stop(self) -> Result<(), String> {
        self.stores.stop()
    }
}
