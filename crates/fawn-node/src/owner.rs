//! The owning side of a loop: runs commands on the loop's stores, for its own connections and for other loops.
//!
//! Most commands are done at once ([`Ran::Done`]). One that needs flash, or a store that is busy, becomes a task with
//! a ticket; its answer comes out of [`Owner::next_done`] later.
//!
//! **Order per key.** A task that may write what it has yet to read (or that could not even begin) holds its key:
//! every later command on that key, from whatever connection, queues behind it. A plain get that only reads does not.
//! The map of held keys is looked at only when it is not empty.

use crate::clock::Now;
use crate::counters::Counters;
use crate::exchange::Place;
use crate::operate::{self, Bench, Keyed, Step};
use crate::recency::Recency;
use crate::stores::{Finished, Reads, Stores, Ticket, Turn};
use fawn_memcache::{Command, Responder};
use fawn_ring::Key;
use fawn_store::page::Page;
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
    /// The lookup whose read is under way.
    reading: Option<R>,
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
    /// `None` only while its completions are worked off.
    reads: Option<S::Reads>,
    /// Reads to be pushed.
    to_read: Vec<Ticket>,
    recency: Vec<Recency>,
    tasks: Vec<Option<Task<S::Read>>>,
    free: Vec<Ticket>,
    /// Keys that are held, each with the tasks queued behind its holder.
    held: HashMap<Key, VecDeque<Ticket>>,
    /// Tasks to be tried again after an event, in their order; each holds its key.
    parked: Vec<Ticket>,
    /// By store.
    gated: Vec<BinaryHeap<Gated>>,
    gated_count: u64,
    done: VecDeque<Done>,
    counters: Arc<Counters>,
    max_value_bytes: usize,
    scratch: Vec<u8>,
}

impl<S: Stores> Owner<S> {
    /// The owner of `stores`.
    pub fn new(stores: S, reads: S::Reads, counters: Arc<Counters>, max_value_bytes: usize) -> Self {
        let count = stores.count();
        Self {
            stores,
            reads: Some(reads),
            to_read: Vec::new(),
            recency: (0..count).map(|_| Recency::default()).collect(),
            tasks: Vec::new(),
            free: Vec::new(),
            held: HashMap::new(),
            parked: Vec::new(),
            gated: (0..count).map(|_| BinaryHeap::new()).collect(),
            gated_count: 0,
            done: VecDeque::new(),
            counters,
            max_value_bytes,
            scratch: Vec::new(),
        }
    }

    /// Operations that wait for flash or a helper.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.tasks.len() - self.free.len()
    }

    /// Whether nothing waits and every answer has been handed out.
    pub fn is_idle(&self) -> bool {
        self.waiting() == 0 && self.done.is_empty() && self.gated.iter().all(BinaryHeap::is_empty)
    }

    /// Whether a command on this key would queue.
    #[cfg(test)]
    pub fn is_held(&self, key: &Key) -> bool {
        self.held.contains_key(key)
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
        let mut bench = Bench {
            now,
            max_value_bytes: self.max_value_bytes,
            counters: &self.counters,
            recency: &mut self.recency[store],
            scratch: &mut self.scratch,
        };
        operate::begin(&mut self.stores, store, keyed, &mut bench, out)
    }

    fn task(&mut self, store: usize, keyed: &Keyed<'_>) -> Ticket {
        let (command, value) = keyed.split();
        let task = Task {
            client: None,
            store,
            key: keyed.key,
            name: keyed.name.to_vec(),
            command,
            value: value.to_vec(),
            responder: keyed.responder,
            holds_key: false,
            reading: None,
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
        let parks = matches!(step, Step::Park);
        if (parks || task.keyed().holds_key()) && !task.holds_key {
            task.holds_key = true;
            let earlier = self.held.insert(task.key, VecDeque::new());
            assert!(earlier.is_none(), "a key has one holder");
        }
        match step {
            Step::Read(read) => {
                task.reading = Some(read);
                self.counters.flash_reads.add(1);
                self.to_read.push(ticket);
            }
            Step::Park => {
                self.counters.parked.add(1);
                self.parked.push(ticket);
            }
            Step::Done { .. } => unreachable!("a task that is done does not wait"),
        }
    }

    /// The reads, for their descriptors.
    pub fn reads(&self) -> &S::Reads {
        self.reads.as_ref().expect("reads are away only while they complete")
    }

    /// Starts the reads that were asked for in this turn, together.
    ///
    /// # Errors
    /// No read will come back any more; the text is for people.
    pub fn submit(&mut self) -> Result<(), String> {
        if self.to_read.is_empty() {
            return Ok(());
        }
        let reads = self.reads.as_mut().expect("reads are away only while they complete");
        for ticket in self.to_read.drain(..) {
            let task = self.tasks[ticket as usize].as_ref().expect("a task waits for its read");
            let read = task.reading.as_ref().expect("a task knows its read");
            reads.push(task.store, ticket, S::extent(read));
        }
        reads.submit()
    }

    /// Works off the reads that have come back.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn complete_reads(&mut self, now: Now) -> Result<(), String> {
        let mut reads = self.reads.take().expect("completions are worked off by one caller");
        let result = reads.complete(&mut |ticket, pages| self.complete(ticket, pages, now));
        self.reads = Some(reads);
        result
    }

    fn complete(&mut self, ticket: Ticket, pages: Result<&mut [Page], String>, now: Now) {
        let mut task = self.tasks[ticket as usize].take().expect("a read comes back once");
        let read = task.reading.take().expect("a task knows its read");
        let (keyed, mut out) = (task.keyed(), Vec::new());
        let mut bench = Bench {
            now,
            max_value_bytes: self.max_value_bytes,
            counters: &self.counters,
            recency: &mut self.recency[task.store],
            scratch: &mut self.scratch,
        };
        let (stores, store) = (&mut self.stores, task.store);
        let finished = match pages {
            Ok(pages) => stores.finish(store, read, pages, &task.key, &task.name, now),
            Err(why) => {
                stores.abandon(store, read);
                Finished::Failed(why)
            }
        };
        let step = match finished {
            Finished::Found(record) => operate::resume(stores, store, &keyed, Some(&record), &mut bench, &mut out),
            Finished::Absent => operate::resume(stores, store, &keyed, None, &mut bench, &mut out),
            Finished::Read(read) => Step::Read(read),
            Finished::Again => operate::begin(stores, store, &keyed, &mut bench, &mut out),
            Finished::Failed(why) => operate::unreadable(&keyed, &why, &self.counters, &mut out),
        };
        self.stepped(ticket, task, step, out, now);
    }

    /// A task has made a step: it waits again, or is done and lets go of its key.
    fn stepped(&mut self, ticket: Ticket, task: Task<S::Read>, step: Step<S::Read>, out: Vec<u8>, now: Now) {
        let Step::Done { gate, failed } = step else {
            self.tasks[ticket as usize] = Some(task);
            return self.wait(ticket, step);
        };
        self.free.push(ticket);
        self.counters.waiting.sub(1);
        let client = task.client.expect("a task is assigned before the turn ends");
        self.deliver(vec![(task.store, gate)], Done { client, bytes: out, failed });
        if task.holds_key {
            self.let_go(&task.key, now);
        }
    }

    /// Runs what queued behind the holder of `key`, until one of them holds it.
    fn let_go(&mut self, key: &Key, now: Now) {
        let mut queue = self.held.remove(key).expect("a held key has a queue");
        while let Some(ticket) = queue.pop_front() {
            let task = self.tasks[ticket as usize].take().expect("a queued task is there");
            let mut out = Vec::new();
            let step = self.begin(task.store, &task.keyed(), now, &mut out);
            self.stepped(ticket, task, step, out, now);
            if let Some(held) = self.held.get_mut(key) {
                *held = queue;
                return;
            }
        }
    }

    /// Hands an answer out once all `gates` are durable.
    pub fn deliver(&mut self, mut gates: Vec<(usize, Gate)>, done: Done) {
        while let Some((store, gate)) = gates.pop() {
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
        let turn = self.stores.turn(now);
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
                let mut out = Vec::new();
                let step = self.begin(task.store, &task.keyed(), now, &mut out);
                self.stepped(ticket, task, step, out, now);
            }
        }
        turn
    }

    fn fail_gated(&mut self, store: usize, why: &str) {
        tracing::error!("a store has stopped: {why}");
        for gated in std::mem::take(&mut self.gated[store]) {
            let silent = gated.done.bytes.is_empty();
            let bytes = if silent { Vec::new() } else { [operate::STOPPED.as_bytes(), b"\r\n"].concat() };
            self.done.push_back(Done { bytes, failed: !silent, ..gated.done });
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
