//! Who carries out what the clients of an event loop ask: the owner of stores on this machine, or a seat of a cluster.

use crate::observe::counters::Counters;
use crate::observe::samples::LoopSample;
use crate::request::{Completion, Execution, KeyRequest, ListingForm, ReplyTo, TaskTicket};
use crate::runtime::buffers::Pool;
use crate::runtime::clock::Now;
use crate::runtime::slab::Token;
use crate::shard::route::Route;
use crate::shard::stores::{Gates, LoopStats, Turn};
use fawn_ring::Key;
use fawn_store::Gate;
use fawn_store::flash::Space;
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::sync::Arc;

/// `epoll_data` of what a backend watches has this bit set.
pub const WATCHED: u64 = 1 << 63;

/// Bounds of a backend, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct SizeLimits {
    /// Largest value.
    pub value: usize,
    /// Bytes of large values that may be read at a time, unless it is one.
    pub large: usize,
}

/// What a loop gives its backend.
#[derive(Debug)]
pub struct LoopEnvironment<'a> {
    /// The loop's number.
    pub number: usize,
    /// Its counters.
    pub counters: Arc<Counters>,
    /// Where keys belong.
    pub route: &'a Route,
    /// Bounds.
    pub sizes: SizeLimits,
    /// The loop's epoll set: what is added to it has [`WATCHED`] in its data.
    pub epoll: Arc<OwnedFd>,
}

/// Carries out what the clients of one loop ask. None of its calls blocks. Stores are counted from 0 within the loop.
pub trait Backend: Sized {
    /// What it is made of.
    type Seed;
    /// See [`lend`](Self::lend).
    type Gates: Gates;

    /// Whether it has to wait for others before it [can serve](Self::is_ready).
    const WAITS: bool = false;

    /// The backend of a loop.
    ///
    /// # Errors
    /// What the system says to what it has to watch.
    fn make(seed: Self::Seed, given: LoopEnvironment<'_>) -> Result<Self, Errno>;

    /// Whether what clients ask from here on is carried out. Once it is, it stays so.
    fn is_ready(&self) -> bool {
        true
    }

    /// Number of stores.
    fn stores(&self) -> usize;

    /// Fetches what the lookups of `keys`, which come next, will touch; changes nothing.
    fn prefetch(&self, store: usize, keys: &[Key]);

    /// Buffers for answers, and how far each store is durable.
    fn lend(&mut self) -> (&mut Pool, &Self::Gates);

    /// Buffers for answers.
    fn pool(&mut self) -> &mut Pool {
        self.lend().0
    }

    /// Answers up to this gate may leave.
    fn durable(&self, store: usize) -> Gate;

    /// Whether a store has stopped: what is not durable by now never will be.
    fn is_stopped(&self, store: usize) -> bool;

    /// Runs a request that came over a connection; its answer is appended to `out` unless it has to wait. A value of more
    /// than `unreserved` bytes waits for a reservation where its client is.
    fn run(
        &mut self,
        store: usize,
        request: &KeyRequest<'_>,
        from: Token,
        now: Now,
        unreserved: usize,
        out: &mut Vec<u8>,
    ) -> Execution;

    /// Says where the reply to a request goes that was just run and has to wait ([`Execution::Later`]).
    fn assign(&mut self, ticket: TaskTicket, client: ReplyTo);

    /// Hands an answer out once all `gates` are durable.
    fn deliver(&mut self, gates: Vec<(usize, Gate)>, done: Completion);

    /// Hands an answer out once `gate` is durable in `store`.
    fn deliver_one(&mut self, store: usize, gate: Gate, done: Completion) {
        self.deliver(vec![(store, gate)], done);
    }

    /// The next answer that may leave.
    fn next_completion(&mut self) -> Option<Completion>;

    /// The next task that needs a reservation, where its reply goes, and how many bytes. Each must be answered
    /// ([`reserve`](Self::reserve)).
    fn next_reservation(&mut self) -> Option<(ReplyTo, TaskTicket, u32)>;

    /// Memory is reserved for the reply of a task, or else its client is gone.
    fn reserve(&mut self, ticket: TaskTicket, granted: bool, now: Now);

    /// Whether [`flush_all`](Self::flush_all) of one loop flushes what all loops have.
    fn flushes_for_all_loops(&self) -> bool {
        false
    }

    /// Flushes all stores of the loop; the client is told once it is done.
    fn flush_all(&mut self, client: ReplyTo, at_unix: u32, quiet: bool, now: Now);

    /// Begins to list the keys of a store from `from` on; the answer is one part of a listing.
    fn list(&mut self, client: ReplyTo, store: usize, from: Key, first: bool, form: ListingForm, now: Now);

    /// Something that it watches is ready.
    fn on_event(&mut self, data: u64, flags: EventFlags, now: Now);

    /// The loop goes on without having asked the kernel: whatever is watched may be ready.
    fn look_again(&mut self) {}

    /// Goes on with what waited.
    fn turn(&mut self, now: Now) -> Turn;

    /// Whether there is something that only a [`turn`](Self::turn) begins.
    fn wants_turn(&self) -> bool;

    /// The end of a turn of the loop: whatever was begun in it is sent off together.
    ///
    /// # Errors
    /// Nothing can be begun any more; the text is for people.
    fn submit(&mut self, now: Now) -> Result<(), String>;

    /// Operations that wait.
    fn waiting(&self) -> usize;

    /// Bytes of operations that wait.
    fn held_bytes(&self) -> usize;

    /// Whether nothing waits and every answer has been handed out.
    fn is_idle(&self) -> bool;

    /// What was begun never comes back.
    fn forget_reads(&mut self);

    /// Space on the device, as far as is known.
    fn space(&self) -> Option<Space>;

    /// Figures for `stats`.
    fn stats(&self, now: Now) -> LoopStats;

    /// Figures for the admin port.
    fn sample(&mut self, now: Now) -> LoopSample;

    /// Stops cleanly: everything acknowledged is on flash when it returns. Blocks.
    ///
    /// # Errors
    /// What the device said; everything acknowledged durable is still on flash.
    fn stop(self) -> Result<(), String>;
}
