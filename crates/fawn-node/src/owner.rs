//! The owning side of a loop: runs commands on the loop's stores, for its own connections and for other loops.
//!
//! Most commands are done at once ([`Ran::Done`]). One that needs flash, or a store that is busy, becomes a task with
//! a ticket; its answer comes out of [`Owner::next_done`] later.
//!
//! **Order per key.** A task that may write what it has yet to read (or that could not even begin) holds its key:
//! every later command on that key, from whatever connection, queues behind it. A plain get that only reads does not.
//! The map of held keys is looked at only when it is not empty.

/// What a command of a store works with; a macro, so that the owner's stores can be borrowed beside it.
macro_rules! bench {
    ($owner:ident, $store:expr, $now:expr) => {
        Bench {
            cas: $owner.cas_numbers[$store],
            now: $now,
            max_value_bytes: $owner.max_value_bytes,
            counters: &$owner.counters,
            recency: &mut $owner.recency[$store],
            scratch: &mut $owner.scratch,
        }
    };
}

mod listing;
mod reads;

pub use listing::Listed;

use listing::ScanTask;

use crate::answers::Pool;
use crate::clock::Now;
use crate::counters::Counters;
use crate::exchange::Place;
use crate::operate::{self, Bench, CasNumbers, Held, Keyed, Planned, Step};
use crate::recency::Recency;
use crate::route::Route;
use crate::stores::{News, Stores, Ticket, Turn};
use fawn_memcache::{Command, Responder};
use fawn_ring::{Key, Secret};
use fawn_store::large::Stub;
use fawn_store::{Gate, Refusal};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

/// Who is to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its loop.
    pub home: u16,
    /// Where the answer belongs there.
    pub place: Place,
    /// Bytes that the request took on its way; returned with the answer.
    pub request_bytes: u32,
}

/// How far a command came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// Its answer was appended to the output.
    Done {
        /// The answer may leave once this is durable.
        gate: Gate,
        /// It is an error that stands for a whole line of keys.
        failed: bool,
    },
    /// It waits; name its client with [`Owner::assign`].
    Later(Ticket),
}

/// The answer to a task.
#[derive(Debug)]
pub struct Done {
    /// Who is to be told.
    pub client: Client,
    /// The answer.
    pub bytes: Vec<u8>,
    /// It is an error that stands for a whole line of keys.
    pub failed: bool,
}

impl Done {
    /// The answer that will never be durable, as an error; silence stays silence.
    fn failed_by_stop(self) -> Self {
        let silent = self.bytes.is_empty();
        let bytes = if silent { Vec::new() } else { operate::stopped_line() };
        Self { bytes, failed: !silent, ..self }
    }
}

/// A command that waits.
struct Task<R> {
    client: Option<Client>,
    store: usize,
    key: Key,
    name: Vec<u8>,
    command: Command<'static>,
    value: Vec<u8>,
    responder: Responder,
    /// Later commands on the key queue behind this one.
    holds_key: bool,
    /// The read that is under way.
    reading: Reading<R>,
    /// The version whose value is being written, and its file once it is.
    planned: Option<Box<(Planned, Option<Stub>)>>,
}

/// What a task reads.
#[derive(Debug)]
enum Reading<R> {
    Nothing,
    Lookup(R),
    Value(Held),
}

impl<R> Task<R> {
    fn keyed(&self) -> Keyed<'_> {
        let command = Keyed::join(self.command, &self.value);
        Keyed { key: self.key, name: &self.name, command, responder: self.responder }
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
    done: Done,
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
pub struct Owner<S: Stores> {
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
    /// Keys that are held, each with the tasks queued behind its holder.
    held: HashMap<Key, VecDeque<Ticket>>,
    /// Tasks to be tried again after an event, in their order; each holds its key.
    parked: Vec<Ticket>,
    /// Bytes of large values being read and written, and how many may be read at a time.
    large_bytes: usize,
    large_limit: usize,
    /// Tasks that wait until their large value may be read.
    large_queue: VecDeque<Ticket>,
    /// Scans under way.
    scans: HashMap<Ticket, ScanTask>,
    next_scan: Ticket,
    /// By store.
    gated: Vec<BinaryHeap<Gated>>,
    gated_count: u64,
    done: VecDeque<Done>,
    counters: Arc<Counters>,
    secret: Secret,
    max_value_bytes: usize,
    scratch: Vec<u8>,
}

/// Bounds of an owner.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Largest value.
    pub value_bytes: usize,
    /// Bytes of large values that may be read at a time, unless it is one.
    pub large_bytes: usize,
}

impl<S: Stores> Owner<S> {
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
            held: HashMap::new(),
            parked: Vec::new(),
            large_bytes: 0,
            large_limit: sizes.large_bytes,
            large_queue: VecDeque::new(),
            scans: HashMap::new(),
            next_scan: 0,
            gated: (0..count).map(|_| BinaryHeap::new()).collect(),
            gated_count: 0,
            done: VecDeque::new(),
            counters,
            secret: route.secret(),
            max_value_bytes: sizes.value_bytes,
            scratch: Vec::new(),
        }
    }

    /// Bytes of large values on their way to or from flash.
    #[inline]
    pub fn large_bytes(&self) -> usize {
        self.large_bytes
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
            && self.scans.is_empty()
            && self.done.is_empty()
            && self.gated.iter().all(BinaryHeap::is_empty)
    }

    /// Runs a command on `store`; its answer is appended to `out` unless it has to wait.
    #[inline]
    pub fn run(&mut self, store: usize, keyed: &Keyed<'_>, now: Now, out: &mut Vec<u8>) -> Ran {
        if !self.held.is_empty() && self.held.contains_key(&keyed.key) {
            let ticket = self.task(store, keyed);
            self.held.get_mut(&keyed.key).expect("the key was just found").push_back(ticket);
            return Ran::Later(ticket);
        }
        match self.begin(store, keyed, now, out) {
            Step::Done { gate, failed } => Ran::Done { gate, failed },
            step => {
                let ticket = self.task(store, keyed);
                self.wait(ticket, step);
                Ran::Later(ticket)
            }
        }
    }

    /// Names the client of a command that was just told to come [`Ran::Later`].
    pub fn assign(&mut self, ticket: Ticket, client: Client) {
        let task = self.tasks[ticket as usize].as_mut().expect("a task waits until it is assigned");
        assert!(task.client.replace(client).is_none(), "a task has one client");
    }

    fn begin(&mut self, store: usize, keyed: &Keyed<'_>, now: Now, out: &mut Vec<u8>) -> Step<S::Read> {
        let mut bench = bench!(self, store, now);
        operate::begin(&mut self.stores, store, keyed, &mut bench, out)
    }

    fn task(&mut self, store: usize, keyed: &Keyed<'_>) -> Ticket {
        let (command, value) = keyed.split();
        let task = Task {
            client: None,
            store,
            key: keyed.key,
            name: self.pool.copy(keyed.name),
            command,
            value: if value.is_empty() { Vec::new() } else { value.to_vec() },
            responder: keyed.responder,
            holds_key: false,
            reading: Reading::Nothing,
            planned: None,
        };
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
        let parks = matches!(step, Step::Park | Step::WriteValue(..));
        if (parks || task.keyed().holds_key()) && !task.holds_key {
            task.holds_key = true;
            let earlier = self.held.insert(task.key, VecDeque::new());
            assert!(earlier.is_none(), "a key has one holder");
        }
        match step {
            Step::Read(read) => {
                task.reading = Reading::Lookup(read);
                self.counters.flash_reads.add(1);
                self.to_read.push(ticket);
            }
            Step::ReadValue(held) => {
                task.reading = Reading::Value(held);
                self.counters.flash_reads.add(1);
                self.large_queue.push_back(ticket);
                self.start_large_reads();
            }
            Step::WriteValue(planned, value) => {
                task.planned = Some(Box::new((planned, None)));
                // The plan has it now.
                task.value = Vec::new();
                self.large_bytes += value.len();
                self.stores.write_value(task.store, ticket, value);
            }
            Step::Park => {
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
        let client = task.client.expect("a task is assigned before the turn ends");
        self.deliver_one(task.store, gate, Done { client, bytes: out, failed });
        self.pool.give(task.name);
        if task.holds_key {
            self.let_go(&task.key, now);
        }
    }

    /// Runs what queued behind the holder of `key`, until one of them holds it.
    fn let_go(&mut self, key: &Key, now: Now) {
        let mut queue = self.held.remove(key).expect("a held key has a queue");
        while let Some(ticket) = queue.pop_front() {
            let task = self.tasks[ticket as usize].take().expect("a queued task is there");
            let mut out = self.pool.take();
            let step = self.begin(task.store, &task.keyed(), now, &mut out);
            self.stepped(ticket, task, step, out, now);
            if let Some(held) = self.held.get_mut(key) {
                *held = queue;
                return;
            }
        }
    }

    /// Hands an answer out once `gate` is durable in `store`.
    pub fn deliver_one(&mut self, store: usize, gate: Gate, done: Done) {
        if gate > self.stores.durable(store) {
            self.deliver(vec![(store, gate)], done);
        } else {
            self.done.push_back(done);
        }
    }

    /// Hands an answer out once all `gates` are durable.
    pub fn deliver(&mut self, mut gates: Vec<(usize, Gate)>, done: Done) {
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
    pub fn next_done(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    /// Lets the stores work, then tries again what was parked and hands out what became durable.
    pub fn turn(&mut self, now: Now) -> Turn {
        let mut turn = self.stores.turn(now);
        for news in std::mem::take(&mut turn.news) {
            match news {
                News::Written { ticket, result } => self.written(ticket, result, now),
                News::Scanned { ticket, scanned } => self.scanned(ticket, &scanned),
            }
        }
        if let Some((store, why)) = &turn.stopped {
            self.fail_gated(*store, why);
        }
        for store in 0..self.gated.len() {
            let durable = self.stores.durable(store);
            while self.gated[store].peek().is_some_and(|gated| gated.gate <= durable) {
                let gated = self.gated[store].pop().expect("the top was just seen");
                self.deliver(gated.rest, gated.done);
            }
        }
        if turn.retry || turn.stopped.is_some() {
            for ticket in std::mem::take(&mut self.parked) {
                let task = self.tasks[ticket as usize].take().expect("a parked task is there");
                self.try_again(ticket, task, now);
            }
        }
        turn
    }

    fn fail_gated(&mut self, store: usize, why: &str) {
        tracing::error!("a store has stopped: {why}");
        self.stopped[store] = true;
        for gated in std::mem::take(&mut self.gated[store]) {
            self.done.push_back(gated.done.failed_by_stop());
        }
    }

    /// Flushes all stores at `at_unix` (0: now); returns the gates that the answer waits for.
    ///
    /// # Errors
    /// The first store's refusal; stores before it are flushed.
    pub fn flush_all(&mut self, at_unix: u32, now: Now) -> Result<Vec<(usize, Gate)>, Refusal> {
        (0..self.stores.count()).map(|store| Ok((store, self.stores.flush_all(store, at_unix, now)?))).collect()
    }
}
