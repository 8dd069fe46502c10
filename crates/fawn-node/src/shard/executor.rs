//! The owning side of a loop: runs commands on the loop's stores, for its own connections and for other loops.
//!
//! Most commands are done at once ([`Execution::Done`]). One that needs flash, or a store that is busy, becomes a task with
//! a ticket; its answer comes out of [`ShardExecutor::next_completion`] later.
//!
//! **Order per key.** A task that may write what it has yet to read (or that could not even begin) holds its key:
//! every later command on that key, from whatever connection, queues behind it. A plain get that only reads does not,
//! unless it has to come back: while it waits for an index or for a value's file it shares the key with other gets, so
//! that it is never shown what its own connection asked for after it. The map of held keys is looked at only when it is
//! not empty.

/// What a command of a store works with; a macro, so that the owner's stores can be borrowed beside it.
macro_rules! context {
    ($owner:ident, $store:expr, $now:expr) => {
        OperationContext {
            cas: $owner.cas_numbers[$store],
            now: $now,
            max_value_bytes: $owner.max_value_bytes,
            unreserved_bytes: usize::MAX,
            stopped: $owner.stopped[$store],
            appends: &mut $owner.appends[$store],
            counters: &$owner.counters,
            recency: &mut $owner.recency[$store],
            scratch: &mut $owner.scratch,
        }
    };
}

mod backend;
mod flush;
mod keys;
mod listing;
mod reads;
mod reservations;

use flush::Flush;
use keys::KeyHold;
use listing::ScanTask;
use reservations::Reservation;

use crate::observe::counters::Counters;
use crate::request::{Completion, Execution, GetView, KeyAction, KeyRequest, ReplyForm, ReplyTo, Ticket};
use crate::runtime::buffers::Pool;
use crate::runtime::clock::Now;
use crate::shard::backend::Sizes;
use crate::shard::operate::{self, CasNumbers, LargeRecord, OperationContext, PlannedVersion, Step, Wait};
use crate::shard::recency::Recency;
use crate::shard::route::Route;
use crate::shard::stores::{StoreEvent, Stores, Turn};
use fawn_ring::{Key, Secret};
use fawn_store::Gate;
use fawn_store::large::Stub;
use fawn_store::page::PAGE_BYTES;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

/// What a read found for a task that then had to wait because the store was busy. It stays true for as long as the task
/// holds its key, nothing is flushed and no second ends in which an item might expire.
#[derive(Debug)]
struct Found {
    /// The record's bytes; `None` when there is none.
    record: Option<Vec<u8>>,
    gate: Gate,
    unix: u32,
    flushes: u64,
}

impl Found {
    fn bytes(&self) -> usize {
        self.record.as_ref().map_or(0, Vec::len)
    }
}

/// A command that waits.
struct Task<R> {
    client: Option<ReplyTo>,
    store: usize,
    key: Key,
    name: Vec<u8>,
    action: KeyAction<'static>,
    value: Vec<u8>,
    view: GetView,
    reply: ReplyForm,
    /// Later commands on the key queue behind this one (but for gets, when this is one).
    holds_key: bool,
    /// Appends to the store when the key was first looked up; and whether there were none until the key was held, so that
    /// whatever is found when it is looked up again was asked for before.
    looked_up_at: Option<u64>,
    may_look_again: bool,
    /// The value file that was read last. When it is not there twice, it is missing.
    value_file: Option<u64>,
    /// What a parked task waits for.
    parked_on: Wait,
    /// Whether its answer is large and has room.
    reservation: Reservation,
    /// What was read before the task was parked.
    found: Option<Box<Found>>,
    /// The read that is under way.
    reading: Reading<R>,
    /// The version whose value is being written, and its file once it is.
    planned: Option<Box<(PlannedVersion, Option<Stub>)>>,
}

/// What a task reads.
#[derive(Debug)]
enum Reading<R> {
    Nothing,
    Lookup(R),
    Value(LargeRecord),
}

impl<R> Task<R> {
    fn request(&self) -> KeyRequest<'_> {
        let (action, view) = (self.action.join(&self.value), self.view);
        KeyRequest { key: self.key, name: &self.name, action, view, needs_clock: false, reply: self.reply }
    }

    fn bytes(&self) -> usize {
        self.name.len() + self.value.len() + self.found.as_ref().map_or(0, |found| found.bytes())
    }
}

/// An answer that waits for a sync.
#[derive(Debug)]
struct Gated {
    gate: Gate,
    /// Keeps answers of one gate in order.
    number: u64,
    /// Gates of other stores that it waits for after this one.
    rest: Vec<(usize, Gate)>,
    done: Completion,
}

impl PartialEq for Gated {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Gated {}

impl PartialOrd for Gated {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Gated {
    /// The heap's largest is the one to leave first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.gate, other.number).cmp(&(self.gate, self.number))
    }
}

/// One loop's stores and the operations that wait on them.
pub struct ShardExecutor<S: Stores> {
    /// The stores.
    pub stores: S,
    /// Buffers for answers that wait, and for the keys of tasks.
    pub pool: Pool,
    /// `None` only while its completions are worked off.
    reads: Option<S::Reads>,
    /// Reads to be pushed.
    to_read: Vec<Ticket>,
    recency: Vec<Recency>,
    /// By store.
    cas_numbers: Vec<CasNumbers>,
    /// By store: nothing more will become durable.
    stopped: Vec<bool>,
    tasks: Vec<Option<Task<S::Read>>>,
    free: Vec<Ticket>,
    /// Bytes of the keys and values of tasks.
    task_bytes: usize,
    /// Keys that are held, each with the tasks queued behind its holder.
    held: HashMap<Key, KeyHold>,
    /// Tasks to be tried again after an event, in their order; each holds its key.
    parked: Vec<Ticket>,
    /// Flushes to be tried again after an event.
    flushes: Vec<Flush>,
    /// Flushes that were carried out.
    flushed: u64,
    /// By store: records appended.
    appends: Vec<u64>,
    /// Reads may have come back.
    reads_ready: bool,
    /// Reads never come back any more; why.
    reads_failed: Option<String>,
    /// Bytes of large values being read and written, and how many may be read at a time.
    large_bytes: usize,
    large_limit: usize,
    /// Tasks that wait until their large value may be read.
    large_queue: VecDeque<Ticket>,
    /// Tasks whose clients' loops have yet to be asked for room.
    to_reserve: VecDeque<Ticket>,
    /// Scans under way.
    scans: HashMap<Ticket, ScanTask>,
    next_scan: Ticket,
    /// By store.
    gated: Vec<BinaryHeap<Gated>>,
    gated_count: u64,
    done: VecDeque<Completion>,
    counters: Arc<Counters>,
    secret: Secret,
    max_value_bytes: usize,
    scratch: Vec<u8>,
}

impl<S: Stores> ShardExecutor<S> {
    /// The owner of `stores`.
    pub fn new(
        stores: S,
        reads: S::Reads,
        counters: Arc<Counters>,
        (number, route): (usize, &Route),
        sizes: Sizes,
    ) -> Self {
        let count = stores.count();
        let cas_number = |store| CasNumbers { stores: route.stores() as u64, store: store as u64 };
        Self {
            stores,
            pool: Pool::default(),
            cas_numbers: route.stores_of(number).map(cas_number).collect(),
            stopped: vec![false; count],
            reads: Some(reads),
            to_read: Vec::new(),
            recency: (0..count).map(|_| Recency::default()).collect(),
            tasks: Vec::new(),
            free: Vec::new(),
            task_bytes: 0,
            held: HashMap::new(),
            parked: Vec::new(),
            flushes: Vec::new(),
            flushed: 0,
            appends: vec![0; count],
            reads_ready: false,
            reads_failed: None,
            large_bytes: 0,
            large_limit: sizes.large,
            large_queue: VecDeque::new(),
            to_reserve: VecDeque::new(),
            scans: HashMap::new(),
            next_scan: 0,
            gated: (0..count).map(|_| BinaryHeap::new()).collect(),
            gated_count: 0,
            done: VecDeque::new(),
            counters,
            secret: route.secret(),
            max_value_bytes: sizes.value,
            scratch: Vec::new(),
        }
    }

    /// Bytes of operations that wait, and of large values on their way to or from flash.
    #[inline]
    pub fn held_bytes(&self) -> usize {
        self.task_bytes + self.large_bytes
    }

    /// Whether `store` has stopped: what is not durable by now never will be.
    pub fn is_stopped(&self, store: usize) -> bool {
        self.stopped[store]
    }

    /// Operations that wait for flash or a helper.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.tasks.len() - self.free.len()
    }

    /// Whether nothing waits and every answer has been handed out.
    pub fn is_idle(&self) -> bool {
        self.waiting() == 0
            && self.flushes.is_empty()
            && self.scans.is_empty()
            && self.done.is_empty()
            && self.gated.iter().all(BinaryHeap::is_empty)
    }

    /// Runs a command on `store`; its answer is appended to `out` unless it has to wait. A value of more than `unreserved`
    /// bytes waits for room where its client is.
    #[inline]
    pub fn run(
        &mut self,
        store: usize,
        request: &KeyRequest<'_>,
        now: Now,
        unreserved: usize,
        out: &mut Vec<u8>,
    ) -> Execution {
        if !self.held.is_empty() && self.must_queue(request) {
            let ticket = self.task(store, request);
            self.held.get_mut(&request.key).expect("the key was just found").queue.push_back(ticket);
            return Execution::Later(ticket);
        }
        match self.begin(store, request, now, unreserved, out) {
            Step::Done { gate, failed } => Execution::Done { gate, failed },
            step => {
                let ticket = self.task(store, request);
                self.wait(ticket, step);
                Execution::Later(ticket)
            }
        }
    }

    /// Names the client of a command that was just told to come [`Execution::Later`].
    pub fn assign(&mut self, ticket: Ticket, client: ReplyTo) {
        let task = self.tasks[ticket as usize].as_mut().expect("a task waits until it is assigned");
        assert!(task.client.replace(client).is_none(), "a task has one client");
    }

    fn begin(
        &mut self,
        store: usize,
        request: &KeyRequest<'_>,
        now: Now,
        unreserved: usize,
        out: &mut Vec<u8>,
    ) -> Step<S::Read> {
        let mut context = OperationContext { unreserved_bytes: unreserved, ..context!(self, store, now) };
        operate::begin(&mut self.stores, store, request, &mut context, out)
    }

    fn task(&mut self, store: usize, request: &KeyRequest<'_>) -> Ticket {
        let (action, value) = request.action.split();
        let task = Task {
            client: None,
            store,
            key: request.key,
            name: self.pool.copy(request.name),
            action,
            value: if value.is_empty() { Vec::new() } else { value.to_vec() },
            view: request.view,
            reply: request.reply,
            holds_key: false,
            looked_up_at: None,
            may_look_again: false,
            value_file: None,
            parked_on: Wait::Busy,
            reservation: Reservation::None,
            found: None,
            reading: Reading::Nothing,
            planned: None,
        };
        self.task_bytes += task.bytes();
        self.counters.waiting.add(1);
        if let Some(ticket) = self.free.pop() {
            self.tasks[ticket as usize] = Some(task);
            return ticket;
        }
        self.tasks.push(Some(task));
        (self.tasks.len() - 1) as Ticket
    }

    /// Puts a task where its step says.
    fn wait(&mut self, ticket: Ticket, step: Step<S::Read>) {
        let task = self.tasks[ticket as usize].as_mut().expect("a waiting task is there");
        let appends = self.appends[task.store];
        let looked_up_at = *task.looked_up_at.get_or_insert(appends);
        let shares = !task.request().holds_key();
        if (!shares || !matches!(step, Step::Read(_))) && !task.holds_key {
            task.holds_key = keys::hold(&mut self.held, task.key, shares);
            // Only a get whose record names a file comes this late, and it will not look again.
            assert!(task.holds_key || matches!(step, Step::ReadValue(_)), "a key has one holder");
            task.may_look_again = task.holds_key && looked_up_at == appends;
        }
        match step {
            Step::Read(read) => {
                let bytes = S::extent(&read).count as usize * PAGE_BYTES;
                task.reading = Reading::Lookup(read);
                self.counters.flash_reads.add(1);
                if task.needs_reservation(bytes) {
                    self.ask(ticket, bytes);
                } else {
                    self.to_read.push(ticket);
                }
            }
            Step::ReadValue(held) => {
                let bytes = held.stub.bytes as usize;
                task.reading = Reading::Value(held);
                self.counters.flash_reads.add(1);
                if task.needs_reservation(bytes) {
                    self.ask(ticket, bytes);
                } else {
                    self.large_queue.push_back(ticket);
                    self.start_large_reads();
                }
            }
            Step::Ask(bytes) => self.ask(ticket, bytes),
            Step::WriteValue(planned, value) => {
                task.planned = Some(Box::new((planned, None)));
                // The plan has it now.
                self.task_bytes -= std::mem::take(&mut task.value).len();
                self.large_bytes += value.len();
                self.stores.write_value(task.store, ticket, value);
            }
            Step::Park(why) => {
                task.parked_on = why;
                self.counters.parked.add(1);
                self.parked.push(ticket);
            }
            Step::Done { .. } => unreachable!("a task that is done does not wait"),
        }
    }

    /// A task has made a step: it waits again, or is done and lets go of its key.
    fn stepped(&mut self, ticket: Ticket, task: Task<S::Read>, step: Step<S::Read>, out: Vec<u8>, now: Now) {
        let Step::Done { gate, failed } = step else {
            self.tasks[ticket as usize] = Some(task);
            self.pool.give(out);
            return self.wait(ticket, step);
        };
        self.free.push(ticket);
        self.counters.waiting.sub(1);
        self.task_bytes -= task.bytes();
        let client = task.client.expect("a task is assigned before the turn ends");
        let granted = task.reservation.granted();
        self.deliver_one(task.store, gate, Completion { granted, ..Completion::to(&task.reply, client, out, failed) });
        self.pool.give(task.name);
        if task.holds_key {
            self.let_go(&task.key, now);
        }
    }

    /// Hands an answer out once `gate` is durable in `store`.
    pub fn deliver_one(&mut self, store: usize, gate: Gate, done: Completion) {
        if gate > self.stores.durable(store) {
            self.deliver(vec![(store, gate)], done);
        } else {
            self.done.push_back(done);
        }
    }

    /// Hands an answer out once all `gates` are durable.
    pub fn deliver(&mut self, mut gates: Vec<(usize, Gate)>, done: Completion) {
        while let Some((store, gate)) = gates.pop() {
            if gate > self.stores.durable(store) && self.stopped[store] {
                return self.done.push_back(done.failed_by_stop());
            }
            if gate > self.stores.durable(store) {
                self.gated_count += 1;
                return self.gated[store].push(Gated { gate, number: self.gated_count, rest: gates, done });
            }
        }
        self.done.push_back(done);
    }

    /// The next answer that may leave.
    pub fn next_completion(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }

    /// Lets the stores work, then tries again what was parked and hands out what became durable.
    pub fn turn(&mut self, now: Now) -> Turn {
        let mut turn = self.stores.turn(now);
        for news in std::mem::take(&mut turn.news) {
            match news {
                StoreEvent::Written { ticket, result } => self.written(ticket, result, now),
                StoreEvent::Scanned { ticket, scanned } => self.scanned(ticket, &scanned),
            }
        }
        for (store, why) in &turn.stopped {
            self.fail_gated(*store, why);
        }
        for store in 0..self.gated.len() {
            let durable = self.stores.durable(store);
            while self.gated[store].peek().is_some_and(|gated| gated.gate <= durable) {
                let gated = self.gated[store].pop().expect("the top was just seen");
                self.deliver(gated.rest, gated.done);
            }
        }
        if turn.retry || !turn.stopped.is_empty() {
            self.retry(now);
        }
        turn
    }

    /// Tries again what was parked. A store that is busy for one is busy for all that wait for it: they keep their order,
    /// and none is tried in vain.
    fn retry(&mut self, now: Now) {
        for flush in std::mem::take(&mut self.flushes) {
            self.flush_on(flush, now);
        }
        let mut busy = vec![false; self.stores.count()];
        for ticket in std::mem::take(&mut self.parked) {
            let slot = &mut self.tasks[ticket as usize];
            let (store, waits_for) =
                slot.as_ref().map(|task| (task.store, task.parked_on)).expect("a parked task is there");
            if waits_for == Wait::Busy && busy[store] {
                self.parked.push(ticket);
                continue;
            }
            let task = slot.take().expect("it was just seen");
            let parked = self.parked.len();
            self.try_again(ticket, task, now);
            busy[store] |= self.parked[parked..].contains(&ticket) && self.is_busy(ticket);
        }
    }

    fn is_busy(&self, ticket: Ticket) -> bool {
        self.tasks[ticket as usize].as_ref().is_some_and(|task| task.parked_on == Wait::Busy)
    }

    fn fail_gated(&mut self, store: usize, why: &str) {
        tracing::error!("a store has stopped: {why}");
        self.stopped[store] = true;
        for gated in std::mem::take(&mut self.gated[store]) {
            self.done.push_back(gated.done.failed_by_stop());
        }
    }
}
