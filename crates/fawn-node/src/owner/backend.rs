//! The owner of stores on this machine as the backend of its loop.

use super::{Client, Done, Owner, Ran};
use crate::answers::Pool;
use crate::backend::{Backend, Given, WATCHED};
use crate::clock::Now;
use crate::operate::Keyed;
use crate::samples::Sample;
use crate::slab::Token;
use crate::stores::{Figures, Reads, Stores, Ticket, Turn};
use fawn_memcache::Dump;
use fawn_ring::Key;
use fawn_store::Gate;
use fawn_store::flash::Space;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

const STORES: u64 = WATCHED;

const READS: u64 = WATCHED | 1;

impl<S: Stores> Backend for Owner<S> {
    type Seed = (S, S::Reads);
    type Gates = S;

    fn make((stores, reads): Self::Seed, given: Given<'_>) -> Result<Self, Errno> {
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
    fn warm(&self, store: usize, keys: &[Key]) {
        self.stores.warm(store, keys);
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
        Owner::is_stopped(self, store)
    }

    #[inline]
    fn run(&mut self, store: usize, keyed: &Keyed<'_>, _: Token, now: Now, unasked: usize, out: &mut Vec<u8>) -> Ran {
        Owner::run(self, store, keyed, now, unasked, out)
    }

    fn assign(&mut self, ticket: Ticket, client: Client) {
        Owner::assign(self, ticket, client);
    }

    fn deliver(&mut self, gates: Vec<(usize, Gate)>, done: Done) {
        Owner::deliver(self, gates, done);
    }

    fn deliver_one(&mut self, store: usize, gate: Gate, done: Done) {
        Owner::deliver_one(self, store, gate, done);
    }

    fn next_done(&mut self) -> Option<Done> {
        Owner::next_done(self)
    }

    fn next_ask(&mut self) -> Option<(Client, Ticket, u32)> {
        Owner::next_ask(self)
    }

    fn room(&mut self, ticket: Ticket, granted: bool, now: Now) {
        Owner::room(self, ticket, granted, now);
    }

    fn flush_all(&mut self, client: Client, at_unix: u32, quiet: bool, now: Now) {
        Owner::flush_all(self, client, at_unix, quiet, now);
    }

    fn list(&mut self, client: Client, store: usize, from: Key, first: bool, form: Dump, now: Now) {
        Owner::list(self, client, store, from, first, form, now);
    }

    fn on_event(&mut self, data: u64, _: EventFlags, _: Now) {
        self.reads_ready |= data == READS;
    }

    fn look_again(&mut self) {
        self.reads_ready = true;
    }

    fn turn(&mut self, now: Now) -> Turn {
        let reads = if std::mem::take(&mut self.reads_ready) { self.complete_reads(now) } else { Ok(()) };
        Turn { failed: reads.err().map(|why| format!("reads no longer complete: {why}")), ..Owner::turn(self, now) }
    }

    fn wants_turn(&self) -> bool {
        self.stores.wants_turn()
    }

    fn submit(&mut self, now: Now) -> Result<(), String> {
        Owner::submit(self, now).map_err(|why| format!("cannot start reads any more: {why}"))
    }

    #[inline]
    fn waiting(&self) -> usize {
        Owner::waiting(self)
    }

    #[inline]
    fn held_bytes(&self) -> usize {
        Owner::held_bytes(self)
    }

    fn is_idle(&self) -> bool {
        Owner::is_idle(self)
    }

    fn forget_reads(&mut self) {
        Owner::forget_reads(self);
    }

    fn space(&self) -> Option<Space> {
        self.stores.space()
    }

    fn figures(&self, now: Now) -> Figures {
        self.stores.figures(now)
    }

    fn sample(&mut self, _: Now) -> Sample {
        Sample { stores: self.stores.samples(), seat: None }
    }

    fn stop(self) -> Result<(), String> {
        self.stores.stop()
    }
}
