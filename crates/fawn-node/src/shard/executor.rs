//! The owning side of a loop: runs requests on the loop's stores, for its own connections and for other loops.
//!
//! Most requests are done at once ([`Execution::Done`]). A request that needs flash, or a store that is busy, becomes a
//! task with a ticket; its reply comes out of [`Backend::next_completion`](super::backend::Backend::next_completion) later.
//!
//! **Order per key.** A task that may write what it has yet to read (or that could not even begin) holds its key:
//! every later request for that key, from whatever connection, queues behind it. A plain get that only reads does not,
//! unless it has to come back: while it waits for an index or for a value's file it shares the key with other gets, so
//! that it is never shown what its own connection asked for after it. The map of held keys is looked at only when it is
//! not empty.

/// What a request of a store works with; a macro, so that the executor's stores can be borrowed beside it.
macro_rules! context {
    ($executor:ident, $store:expr, $now:expr) => {{
        let own = &mut $executor.own[$store];
        OperationContext {
            cas: own.cas,
            now: $now,
            max_value_bytes: $executor.max_value_bytes,
            unreserved_bytes: usize::MAX,
            stopped: $executor.gated.is_stopped($store),
            appends: &mut own.appends,
            counters: &$executor.counters,
            recency: &mut own.recency,
            scratch: &mut $executor.scratch,
        }
    }};
}

mod backend;
mod flush;
mod gated;
mod held_keys;
mod keys;
mod large_value_memory;
mod listing;
mod pending;
mod reads;
mod reservations;
mod task;

use crate::observe::counters::Counters;
use crate::request::{Completion, Execution, KeyRequest, ReplyTo, TaskTicket};
use crate::runtime::buffers::Pool;
use crate::runtime::clock::Now;
use crate::shard::backend::SizeLimits;
use crate::shard::operate::{self, CasNumbers, OperationContext, OperationStep, Wait};
use crate::shard::recency::Recency;
use crate::shard::route::Route;
use crate::shard::stores::{StoreEvent, Stores, Turn};
use fawn_ring::Secret;
use fawn_store::Gate;
use fawn_store::page::PAGE_BYTES;
use gated::GatedReplies;
use held_keys::HeldKeys;
use large_value_memory::LargeValues;
use pending::{Flushes, Scans};
use std::collections::VecDeque;
use std::sync::Arc;
use task::{RequestTask, TaskRead, Tasks};

/// What an executor keeps beside each store.
#[derive(Debug)]
struct StoreState {
    cas: CasNumbers,
    recency: Recency,
    /// Records appended.
    appends: u64,
}

/// The reads of one loop.
struct ReadQueue<R> {
    /// `None` only while its completions are worked off.
    reads: Option<R>,
    /// Tasks whose reads are to be started.
    queued: Vec<TaskTicket>,
    /// Reads may have come back.
    ready: bool,
    /// Reads never come back any more; why.
    failed: Option<String>,
}

/// One loop's stores and the operations that wait on them.
pub struct ShardExecutor<S: Stores> {
    stores: S,
    /// Buffers for replies that wait, and for the keys of tasks.
    pool: Pool,
    /// By store.
    own: Vec<StoreState>,
    tasks: Tasks<S::Read>,
    held: HeldKeys,
    /// Tasks to be tried again after an event, in their order; each holds its key.
    parked: Vec<TaskTicket>,
    reads: ReadQueue<S::Reads>,
    large: LargeValues,
    /// Tasks whose clients' loops have yet to be asked for a reservation.
    to_reserve: VecDeque<TaskTicket>,
    flushes: Flushes,
    scans: Scans,
    gated: GatedReplies,
    counters: Arc<Counters>,
    secret: Secret,
    max_value_bytes: usize,
    scratch: Vec<u8>,
}

impl<S: Stores> ShardExecutor<S> {
    /// The executor of `stores`.
    pub fn new(
        stores: S,
        reads: S::Reads,
        counters: Arc<Counters>,
        (number, route): (usize, &Route),
        sizes: SizeLimits,
    ) -> Self {
        let cas = |store| CasNumbers { stores: route.stores() as u64, store: store as u64 };
        let own = |store| StoreState { cas: cas(store), recency: Recency::default(), appends: 0 };
        Self {
            gated: GatedReplies::new(stores.count()),
            stores,
            pool: Pool::default(),
            own: route.stores_of(number).map(own).collect(),
            tasks: Tasks::new(Arc::clone(&counters)),
            held: HeldKeys::default(),
            parked: Vec::new(),
            reads: ReadQueue { reads: Some(reads), queued: Vec::new(), ready: false, failed: None },
            large: LargeValues::new(sizes.large),
            to_reserve: VecDeque::new(),
            flushes: Flushes::default(),
            scans: Scans::default(),
            counters,
            secret: route.secret(),
            max_value_bytes: sizes.value,
            scratch: Vec::new(),
        }
    }

    /// Bytes of operations that wait, and of large values on their way to or from flash.
    #[inline]
    pub fn held_bytes(&self) -> usize {
        self.tasks.bytes() + self.large.bytes()
    }

    /// Whether nothing waits and every reply has been handed out.
    pub fn is_idle(&self) -> bool {
        self.tasks.len() == 0 && self.flushes.waiting.is_empty() && self.scans.is_empty() && self.gated.is_empty()
    }

    /// Runs a request on `store`; its reply is appended to `out` unless it has to wait. A value of more than `unreserved`
    /// bytes waits for a reservation where its client is.
    #[inline]
    pub fn run(
        &mut self,
        store: usize,
        request: &KeyRequest<'_>,
        now: Now,
        unreserved: usize,
        out: &mut Vec<u8>,
    ) -> Execution {
        if !self.held.is_empty() && self.held.must_queue(&request.key, !request.holds_key()) {
            let ticket = self.insert(store, request);
            self.held.queue(&request.key, ticket);
            return Execution::Later(ticket);
        }
        match self.begin(store, request, now, unreserved, out) {
            OperationStep::Done { gate, failed } => Execution::Done { gate, failed },
            step => {
                let ticket = self.insert(store, request);
                self.wait(ticket, step);
                Execution::Later(ticket)
            }
        }
    }

    /// Says where the reply to a request goes that was just run and has to wait ([`Execution::Later`]).
    pub fn assign(&mut self, ticket: TaskTicket, to: ReplyTo) {
        assert!(self.tasks.get_mut(ticket).to.replace(to).is_none(), "a task has one client");
    }

    fn begin(
        &mut self,
        store: usize,
        request: &KeyRequest<'_>,
        now: Now,
        unreserved: usize,
        out: &mut Vec<u8>,
    ) -> OperationStep<S::Read> {
        let mut context = OperationContext { unreserved_bytes: unreserved, ..context!(self, store, now) };
        operate::begin(&mut self.stores, store, request, &mut context, out)
    }

    fn insert(&mut self, store: usize, request: &KeyRequest<'_>) -> TaskTicket {
        let name = self.pool.copy(request.name);
        self.tasks.insert(RequestTask::new(store, request, name))
    }

    /// Puts a task where its step says.
    fn wait(&mut self, ticket: TaskTicket, step: OperationStep<S::Read>) {
        let task = self.tasks.get_mut(ticket);
        let appends = self.own[task.store].appends;
        let looked_up_at = *task.looked_up_at.get_or_insert(appends);
        let shares = task.shares_key();
        if (!shares || !matches!(step, OperationStep::Read(_))) && !task.holds_key {
            task.holds_key = self.held.hold(task.key, shares);
            // Only a get whose record names a file comes this late, and it will not look again.
            assert!(task.holds_key || matches!(step, OperationStep::ReadValue(_)), "a key has one holder");
            task.may_look_again = task.holds_key && looked_up_at == appends;
        }
        match step {
            OperationStep::Read(read) => {
                let bytes = S::extent(&read).count as usize * PAGE_BYTES;
                task.reading = TaskRead::Lookup(read);
                self.counters.flash_reads.add(1);
                if task.needs_reservation(bytes) {
                    self.ask(ticket, bytes);
                } else {
                    self.reads.queued.push(ticket);
                }
            }
            OperationStep::ReadValue(record) => {
                let bytes = record.stub.bytes as usize;
                task.reading = TaskRead::Value(record);
                self.counters.flash_reads.add(1);
                if task.needs_reservation(bytes) {
                    self.ask(ticket, bytes);
                } else {
                    self.large.queue(ticket);
                    self.start_large_reads();
                }
            }
            OperationStep::Ask(bytes) => self.ask(ticket, bytes),
            OperationStep::WriteValue(planned, value) => {
                task.planned = Some(Box::new((planned, None)));
                let store = task.store;
                // The plan has it now.
                self.tasks.drop_value(ticket);
                self.large.begin_write(value.len());
                self.stores.write_value(store, ticket, value);
            }
            OperationStep::Park(why) => {
                task.parked_on = why;
                self.counters.parked.add(1);
                self.parked.push(ticket);
            }
            OperationStep::Done { .. } => unreachable!("a task that is done does not wait"),
        }
    }

    /// A task has made a step: it waits again, or is done and lets go of its key.
    fn stepped(
        &mut self,
        ticket: TaskTicket,
        task: RequestTask<S::Read>,
        step: OperationStep<S::Read>,
        out: Vec<u8>,
        now: Now,
    ) {
        let OperationStep::Done { gate, failed } = step else {
            self.tasks.put(ticket, task);
            self.pool.give(out);
            return self.wait(ticket, step);
        };
        self.tasks.end(ticket, &task);
        let to = task.to.expect("a task is assigned before the turn ends");
        let granted = task.reservation.granted();
        self.deliver_one(task.store, gate, Completion { granted, ..Completion::to(&task.reply, to, out, failed) });
        self.pool.give(task.name);
        if task.holds_key {
            self.let_go(&task.key, now);
        }
    }

    /// Hands a reply out once `gate` is durable in `store`.
    pub fn deliver_one(&mut self, store: usize, gate: Gate, done: Completion) {
        if gate > self.stores.durable(store) {
            self.deliver(vec![(store, gate)], done);
        } else {
            self.gated.push(done);
        }
    }

    /// Hands a reply out once all `gates` are durable.
    pub fn deliver(&mut self, gates: Vec<(usize, Gate)>, done: Completion) {
        self.gated.push_behind(gates, done, &self.stores);
    }

    /// Lets the stores work, then tries again what was parked and hands out what became durable.
    pub fn turn(&mut self, now: Now) -> Turn {
        let mut turn = self.stores.turn(now);
        for event in std::mem::take(&mut turn.news) {
            match event {
                StoreEvent::Written { ticket, result } => self.written(ticket, result, now),
                StoreEvent::Scanned { ticket, scanned } => self.scanned(ticket, &scanned),
            }
        }
        for (store, why) in &turn.stopped {
            tracing::error!("a store has stopped: {why}");
            self.gated.fail(*store);
        }
        self.gated.release(&self.stores);
        if turn.retry || !turn.stopped.is_empty() {
            self.retry(now);
        }
        turn
    }

    /// Tries again what was parked. A store that is busy for one is busy for all that wait for it: they keep their order,
    /// and none is tried in vain.
    fn retry(&mut self, now: Now) {
        for flush in std::mem::take(&mut self.flushes.waiting) {
            self.flush_on(flush, now);
        }
        let mut busy = vec![false; self.stores.count()];
        for ticket in std::mem::take(&mut self.parked) {
            let task = self.tasks.get(ticket);
            let store = task.store;
            if task.parked_on == Wait::Busy && busy[store] {
                self.parked.push(ticket);
                continue;
            }
            let task = self.tasks.take(ticket);
            let parked = self.parked.len();
            self.try_again(ticket, task, now);
            busy[store] |= self.parked[parked..].contains(&ticket) && self.tasks.get(ticket).parked_on == Wait::Busy;
        }
    }
}
