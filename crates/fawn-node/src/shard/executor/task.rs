//! Requests that wait, with what they have to know when they go on.

use crate::observe::counters::Counters;
use crate::request::{GetView, KeyAction, KeyRequest, ReplyForm, ReplyTo, TaskTicket, UNRESERVED_BYTES};
use crate::shard::operate::{LargeRecord, PlannedVersion, Wait};
use fawn_ring::Key;
use fawn_store::Gate;
use fawn_store::large::Stub;
use std::sync::Arc;

/// What a read found for a task that then had to wait because the store was busy. It stays true for as long as the task
/// holds its key, nothing is flushed and no second ends in which an item might expire.
#[derive(Debug)]
pub struct FoundRecord {
    /// The record's bytes; `None` when there is none.
    pub record: Option<Vec<u8>>,
    /// What a reply that shows the record waits for.
    pub gate: Gate,
    /// The Unix second of the read.
    pub unix: u32,
    /// Flushes that were carried out before the read.
    pub flushes: u64,
}

impl FoundRecord {
    /// Bytes of the record.
    pub fn bytes(&self) -> usize {
        self.record.as_ref().map_or(0, Vec::len)
    }
}

/// Whether memory is reserved for a task's reply, by the loop of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// The reply is small, as far as is known.
    None,
    /// The task waits for a reservation of so many bytes.
    Asked(u32),
    /// So many bytes are reserved.
    Granted(u32),
}

impl Reservation {
    /// Largest value that may be shown without another reservation, in bytes.
    pub fn unreserved(self) -> usize {
        if matches!(self, Self::Granted(_)) { usize::MAX } else { UNRESERVED_BYTES }
    }

    /// Bytes that are reserved.
    pub fn granted(self) -> u32 {
        if let Self::Granted(bytes) = self { bytes } else { 0 }
    }
}

/// What a task reads.
#[derive(Debug)]
pub enum TaskRead<R> {
    /// Nothing.
    Nothing,
    /// The pages of a lookup.
    Lookup(R),
    /// A value that has a file of its own.
    Value(LargeRecord),
}

/// A request that waits.
#[derive(Debug)]
pub struct RequestTask<R> {
    /// Where the reply goes.
    pub to: Option<ReplyTo>,
    /// The store, counted within the loop.
    pub store: usize,
    /// The key's position.
    pub key: Key,
    /// The key.
    pub name: Vec<u8>,
    action: KeyAction<'static>,
    value: Vec<u8>,
    view: GetView,
    /// Writes the reply.
    pub reply: ReplyForm,
    /// Later requests for the key queue behind this one (except gets, when this is one).
    pub holds_key: bool,
    /// Records that had been appended to the store when the key was first looked up.
    pub looked_up_at: Option<u64>,
    /// None was appended between that lookup and the task's hold of the key. So whatever is found when the key is looked
    /// up again was asked for before.
    pub may_look_again: bool,
    /// The value file that was read last. When it is not there twice, it is missing.
    pub value_file: Option<u64>,
    /// What a parked task waits for.
    pub parked_on: Wait,
    /// Whether memory is reserved for the reply.
    pub reservation: Reservation,
    /// What was read before the task was parked.
    pub found: Option<Box<FoundRecord>>,
    /// The read that is under way.
    pub reading: TaskRead<R>,
    /// The version whose value is being written, and the value's file once it is there.
    pub planned: Option<Box<(PlannedVersion, Option<Stub>)>>,
}

impl<R> RequestTask<R> {
    /// A task for `request`, whose key is copied to `name`.
    pub fn new(store: usize, request: &KeyRequest<'_>, name: Vec<u8>) -> Self {
        let (action, value) = request.action.split();
        Self {
            to: None,
            store,
            key: request.key,
            name,
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
            reading: TaskRead::Nothing,
            planned: None,
        }
    }

    /// The request.
    pub fn request(&self) -> KeyRequest<'_> {
        let (action, view) = (self.action.join(&self.value), self.view);
        KeyRequest { key: self.key, name: &self.name, action, view, needs_clock: false, reply: self.reply }
    }

    /// Bytes that the task holds.
    pub fn bytes(&self) -> usize {
        self.name.len() + self.value.len() + self.found.as_ref().map_or(0, |found| found.bytes())
    }

    /// Whether the task needs a reservation before it reads `bytes` bytes for its reply.
    pub fn needs_reservation(&self, bytes: usize) -> bool {
        bytes > self.reservation.unreserved() && self.request().shows_value()
    }

    /// Whether the task is a get that shares its key with other gets.
    pub fn shares_key(&self) -> bool {
        !self.request().holds_key()
    }
}

/// The tasks of one loop.
#[derive(Debug)]
pub struct Tasks<R> {
    slots: Vec<Option<RequestTask<R>>>,
    free: Vec<TaskTicket>,
    /// Bytes of the keys, values and records of tasks.
    bytes: usize,
    counters: Arc<Counters>,
}

impl<R> Tasks<R> {
    /// No tasks; `counters` count them.
    pub fn new(counters: Arc<Counters>) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), bytes: 0, counters }
    }

    /// Number of tasks.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Bytes that the tasks hold.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a task.
    pub fn insert(&mut self, task: RequestTask<R>) -> TaskTicket {
        self.bytes += task.bytes();
        self.counters.waiting.add(1);
        if let Some(ticket) = self.free.pop() {
            self.slots[ticket as usize] = Some(task);
            return ticket;
        }
        self.slots.push(Some(task));
        (self.slots.len() - 1) as TaskTicket
    }

    /// The task of a ticket.
    pub fn get(&self, ticket: TaskTicket) -> &RequestTask<R> {
        self.slots[ticket as usize].as_ref().expect("a ticket names a task that waits")
    }

    /// The task of a ticket.
    pub fn get_mut(&mut self, ticket: TaskTicket) -> &mut RequestTask<R> {
        self.slots[ticket as usize].as_mut().expect("a ticket names a task that waits")
    }

    /// Takes a task out, which goes on. It is [put back](Self::put) or [ends](Self::end).
    pub fn take(&mut self, ticket: TaskTicket) -> RequestTask<R> {
        self.slots[ticket as usize].take().expect("a ticket names a task that waits")
    }

    /// A task waits again.
    pub fn put(&mut self, ticket: TaskTicket, task: RequestTask<R>) {
        self.slots[ticket as usize] = Some(task);
    }

    /// A task that was taken out is done.
    pub fn end(&mut self, ticket: TaskTicket, task: &RequestTask<R>) {
        self.free.push(ticket);
        self.counters.waiting.sub(1);
        self.bytes -= task.bytes();
    }

    /// A task keeps what it has read.
    pub fn keep(&mut self, task: &mut RequestTask<R>, found: FoundRecord) {
        self.bytes += found.bytes();
        task.found = Some(Box::new(found));
    }

    /// What a task had read is dropped.
    pub fn drop_found(&mut self, found: &FoundRecord) {
        self.bytes -= found.bytes();
    }

    /// A task's value is elsewhere now.
    pub fn drop_value(&mut self, ticket: TaskTicket) {
        let value = std::mem::take(&mut self.get_mut(ticket).value);
        self.bytes -= value.len();
    }

    /// Tickets of the tasks that `is_so` is true of.
    pub fn tickets(&self, is_so: impl Fn(&RequestTask<R>) -> bool) -> Vec<TaskTicket> {
        let all = self.slots.iter().enumerate();
        all.filter(|(_, task)| task.as_ref().is_some_and(&is_so)).map(|(ticket, _)| ticket as TaskTicket).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::memcached::MEMCACHED;
    use fawn_kv::operation::{Operation, Store};

    #[test]
    fn tasks_hold_their_bytes_until_they_end() {
        let mut tasks: Tasks<()> = Tasks::new(Arc::default());
        let set = KeyAction::Operation(Operation::Store(Store::set(b"value")));
        let request = KeyRequest::new(b"key", set, ReplyForm::new(&MEMCACHED, [0; 48], true));
        let ticket = tasks.insert(RequestTask::new(0, &request, b"key".to_vec()));
        assert_eq!((tasks.len(), tasks.bytes(), tasks.get(ticket).request().value_bytes()), (1, 8, 5));
        let mut task = tasks.take(ticket);
        tasks.keep(&mut task, FoundRecord { record: Some(vec![0; 10]), gate: Gate::NONE, unix: 1, flushes: 0 });
        tasks.put(ticket, task);
        assert_eq!(tasks.bytes(), 18);
        tasks.drop_value(ticket);
        let mut task = tasks.take(ticket);
        let found = task.found.take().unwrap();
        tasks.drop_found(&found);
        tasks.end(ticket, &task);
        assert_eq!((tasks.len(), tasks.bytes()), (0, 0));
        assert_eq!(tasks.insert(RequestTask::new(0, &request, Vec::new())), ticket, "tickets are used again");
    }
}
