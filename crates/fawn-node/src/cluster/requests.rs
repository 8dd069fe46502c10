//! Requests of clients on their way through a front-end and back.
//!
//! **Reservations.** A large reply to a get waits until the loop has reserved memory for it ([`crate::net::backpressure`]). A
//! few wait with their value; the value of the others is dropped and asked for again. A write that shows what is there
//! (`gat`) gets it once. A few such writes are sent before anybody knows how large that is, and wait for a reservation with
//! it. All others look first, and are sent once memory is reserved.
//!
//! **Order.** Commands of one connection on one key are carried out in the order in which they came: a write waits for
//! what the connection asked of the key before, a get for its writes, and for gets before it that look again. Between
//! connections there is no order to keep.

#[cfg(test)]
mod tests;

use super::reply;
use crate::observe::counters::Counters;
use crate::request::{
    Completion, CompletionStatus, GetView, KeyAction, KeyRequest, ReplyForm, ReplyTo, TaskTicket, UNRESERVED_BYTES,
};
use crate::runtime::buffers::Pool;
use crate::runtime::clock::Now;
use crate::runtime::slab::Token;
use crate::shard::recency::Recency;
use fawn_kv::frontend::Lack;
use fawn_kv::ids::{Address, Asker, RequestId};
use fawn_kv::operation::Operation;
use fawn_kv::wire::{Answer, Message};
use fawn_ring::{Key, KeyHasher};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::sync::Arc;

/// Whom a front-end answers that is asked by the clients of its own loop.
pub const LOCAL: Address = Address::Client(0);

/// What answers of `$requests` are made with; a macro, so that the requests can be borrowed beside it.
macro_rules! context {
    ($requests:ident, $now:expr) => {
        reply::ReplyContext {
            now: $now.unix,
            counters: &$requests.counters,
            recency: &mut $requests.recency,
            max_value_bytes: $requests.max_value_bytes,
            lack: $requests.lack,
        }
    };
}

/// What a request is to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestPhase {
    /// It waits for others.
    Queued,
    /// It looks.
    Reads,
    /// It changes something, or looks again: those after it wait.
    Writes,
    /// It is about all keys.
    Flushes,
}

/// Values of replies that wait for a reservation are kept up to so many bytes.
const MOST_PARKED_BYTES: usize = 8 << 20;

/// Values that writes show which were sent before anybody knew how large these are: so many bytes at most.
const MOST_UNSEEN_BYTES: usize = 32 << 20;

/// How a request stands with the loop that its client is of.
#[derive(Debug)]
enum Reservation {
    /// Its answer is small, as far as is known.
    None,
    /// It waits for a reservation of so many bytes, maybe with its answer.
    Asked(u32, Option<Answer>),
    /// So many bytes are reserved.
    Granted(u32),
    /// Nobody wants its answer any more.
    Unwanted,
}

/// A request that was not answered yet.
#[derive(Debug)]
struct PendingRequest {
    client: Option<ReplyTo>,
    from: Token,
    key: Key,
    name: Vec<u8>,
    /// What it does with its key, without the value; `None`: it flushes.
    action: Option<KeyAction<'static>>,
    view: GetView,
    /// While it waits for others; to the end, if it [is needed](keeps_payload) once more.
    value: Vec<u8>,
    /// Bytes of the request's value.
    value_bytes: usize,
    /// `None`: a flush.
    reply: Option<ReplyForm>,
    part: RequestPhase,
    quiet: bool,
    reservation: Reservation,
    /// It is a write that was sent before anybody knew how large what it shows is.
    unseen: bool,
}

impl PendingRequest {
    /// The request, whose value is `blank` once it has been sent on.
    fn request<'a>(&'a self, blank: &'a [u8]) -> KeyRequest<'a> {
        let value = if self.value.is_empty() { &blank[..self.value_bytes] } else { &self.value[..] };
        let (Some(action), Some(reply)) = (self.action, self.reply) else { unreachable!("a flush is about no key") };
        let action = action.join(value);
        KeyRequest { key: self.key, name: &self.name, action, view: self.view, needs_clock: false, reply }
    }

    /// Whether it has to go to the head of its chain.
    fn is_write(&self) -> bool {
        self.action.is_some_and(|action| action.is_write())
    }

    fn bytes(&self) -> usize {
        self.name.len() + self.value.len()
    }

    /// Its place among what its connection has asked, once it is assigned.
    fn place(&self) -> Option<(u64, u32)> {
        self.client.map(|client| (client.slot.answer, client.slot.part))
    }

    /// Where those are found that its connection has asked of its key before it.
    fn before(&self) -> Range<(u64, Key, (u64, u32))> {
        let from = self.from.to_u64();
        (from, self.key, (0, 0))..(from, self.key, self.place().unwrap_or_default())
    }
}

/// What one connection has asked of one key and not heard of yet.
#[derive(Debug, Default)]
struct KeyHold {
    reads: u32,
    writes: u32,
    queue: VecDeque<TaskTicket>,
}

/// The commands under way of one loop's clients.
#[derive(Debug)]
pub struct Requests {
    /// How often each place was used, and what is there.
    slots: Vec<(u32, Option<PendingRequest>)>,
    free: Vec<TaskTicket>,
    held: HashMap<(u64, Key), KeyHold, BuildHasherDefault<KeyHasher>>,
    /// Gets that look again, by connection and key, and their places in the connection.
    again: BTreeSet<(u64, Key, (u64, u32))>,
    bytes: usize,
    done: VecDeque<Completion>,
    /// Requests that need a reservation.
    to_reserve: VecDeque<TaskTicket>,
    /// Bytes of values that wait for a reservation.
    parked_bytes: usize,
    /// Writes that were sent before anybody knew how large what they show is.
    unseen: usize,
    counters: Arc<Counters>,
    recency: Recency,
    max_value_bytes: usize,
    /// What the front-end lacked when it refused a request last.
    lack: Option<Lack>,
    /// Zeros: the values of commands whose bytes are with the front-end.
    blank: Vec<u8>,
}

/// What became of a request at once.
#[derive(Debug)]
pub enum RequestStart {
    /// The front-end is to be asked this.
    Ask(TaskTicket, Box<Message>),
    /// It waits for others.
    Waits(TaskTicket),
}

impl Requests {
    /// No requests.
    pub fn new(counters: Arc<Counters>, max_value_bytes: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            held: HashMap::default(),
            again: BTreeSet::new(),
            bytes: 0,
            done: VecDeque::new(),
            to_reserve: VecDeque::new(),
            parked_bytes: 0,
            unseen: 0,
            counters,
            recency: Recency::default(),
            max_value_bytes,
            lack: None,
            blank: vec![0; max_value_bytes],
        }
    }

    /// Operations that the loop has answered since it started, or its counters were reset.
    pub fn answered_operations(&self) -> u64 {
        self.counters.operations()
    }

    /// Number of those under way.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Bytes of those under way.
    pub fn bytes(&self) -> usize {
        self.bytes + self.parked_bytes
    }

    /// The next that is answered.
    pub fn next_completion(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }

    /// Whether there is none, answered or not.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.done.is_empty()
    }

    /// An answer that needs no request.
    pub fn deliver(&mut self, done: Completion) {
        self.done.push_back(done);
    }

    /// A command has come over the connection `from`.
    pub fn begin(&mut self, request: &KeyRequest<'_>, from: Token, pool: &mut Pool) -> RequestStart {
        let (action, value) = request.action.split();
        let writes = action.is_write();
        let hold = self.held.entry((from.to_u64(), request.key)).or_default();
        let waits = !hold.queue.is_empty() || hold.writes > 0 || (writes && hold.reads > 0);
        let part = match (waits, writes) {
            (true, _) => RequestPhase::Queued,
            (false, true) => RequestPhase::Writes,
            (false, false) => RequestPhase::Reads,
        };
        let (name, value_bytes) = (pool.copy(request.name), value.len());
        let value = if waits || keeps_payload(request) { value.to_vec() } else { Vec::new() };
        let pending = PendingRequest {
            client: None,
            from,
            key: request.key,
            name,
            action: Some(action),
            view: request.view,
            value,
            value_bytes,
            reply: Some(request.reply),
            part,
            quiet: false,
            reservation: Reservation::None,
            unseen: false,
        };
        let ticket = self.insert(pending);
        let hold = self.held.get_mut(&(from.to_u64(), request.key)).expect("it was just made");
        match part {
            RequestPhase::Queued => {
                hold.queue.push_back(ticket);
                return RequestStart::Waits(ticket);
            }
            RequestPhase::Writes => hold.writes += 1,
            _ => hold.reads += 1,
        }
        let looks = self.looks_first(ticket);
        let message =
            if looks { self.message(ticket, (request.name, request.key), None) } else { self.ask(ticket, request) };
        RequestStart::Ask(ticket, Box::new(message))
    }

    fn insert(&mut self, request: PendingRequest) -> TaskTicket {
        self.bytes += request.bytes();
        self.counters.waiting.add(1);
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            (self.slots.len() - 1) as TaskTicket
        });
        self.slots[ticket as usize].1 = Some(request);
        ticket
    }

    /// Whether a request that begins is a write which has to know how large a value it shows before it is sent.
    fn looks_first(&mut self, ticket: TaskTicket) -> bool {
        let request = self.slots[ticket as usize].1.as_mut().expect("what begins is under way");
        if request.part != RequestPhase::Writes || !request.request(&self.blank).shows_value() {
            return false;
        }
        request.unseen = (self.unseen + 1) * self.max_value_bytes <= MOST_UNSEEN_BYTES;
        self.unseen += usize::from(request.unseen);
        !request.unseen
    }

    /// What the front-end is asked for a request.
    fn ask(&self, ticket: TaskTicket, request: &KeyRequest<'_>) -> Message {
        let write = request.action.operation().filter(|operation| !operation.is_read());
        self.message(ticket, (request.name, request.key), write)
    }

    fn message(&self, ticket: TaskTicket, (name, place): (&[u8], Key), operation: Option<&Operation<'_>>) -> Message {
        let tag = self.tag(ticket);
        Message::Ask {
            id: RequestId { session: 0, number: tag },
            answered: None,
            asker: Asker { address: LOCAL, tag },
            forwarded: false,
            key: name.to_vec(),
            place: Some(place),
            operation: operation.map(Operation::encode),
            continuation: None,
        }
    }

    fn tag(&self, ticket: TaskTicket) -> u64 {
        u64::from(self.slots[ticket as usize].0) << 32 | u64::from(ticket)
    }

    /// Where the key of a request lies, if it is under way.
    pub fn place_of(&self, tag: u64) -> Option<Key> {
        let (ticket, used) = (tag as TaskTicket, (tag >> 32) as u32);
        let (_, request) = self.slots.get(ticket as usize).filter(|(count, _)| *count == used)?;
        request.as_ref().map(|request| request.key)
    }

    /// What the front-end lacks, which is about to refuse a request.
    pub fn lacks(&mut self, lack: Option<Lack>) {
        self.lack = lack;
    }

    /// Names the client of a command.
    pub fn assign(&mut self, ticket: TaskTicket, client: ReplyTo) {
        let request = self.slots[ticket as usize].1.as_mut().expect("a request waits until it is assigned");
        request.client = Some(client);
    }

    /// All is to be gone: what the front-end is asked.
    pub fn flush(&mut self, client: ReplyTo, due: u32, quiet: bool) -> Message {
        let request = PendingRequest {
            client: Some(client),
            from: client.slot.connection,
            key: Key::MIN,
            name: Vec::new(),
            action: None,
            view: GetView::default(),
            value: Vec::new(),
            value_bytes: 0,
            reply: None,
            part: RequestPhase::Flushes,
            quiet,
            reservation: Reservation::None,
            unseen: false,
        };
        let ticket = self.insert(request);
        let tag = self.tag(ticket);
        let (id, asker) = (RequestId { session: 0, number: tag }, Asker { address: LOCAL, tag });
        Message::AskFlush { id, answered: None, asker, wedge: None, due }
    }

    /// Whether a command only looks.
    pub fn only_looks(&self, ticket: TaskTicket) -> bool {
        self.slots[ticket as usize].1.as_ref().is_some_and(|request| request.part == RequestPhase::Reads)
    }

    /// The front-end has answered a command that was just begun: the answer is written to `out`, and the command is over;
    /// whether it is an error.
    ///
    /// # Errors
    /// What the front-end is to be asked next: the command goes on.
    pub fn answer_now(
        &mut self,
        ticket: TaskTicket,
        answer: &Answer,
        now: Now,
        pool: &mut Pool,
        out: &mut Vec<u8>,
    ) -> Result<bool, Box<Message>> {
        let request = self.slots[ticket as usize].1.as_ref().expect("it was just begun");
        let start = out.len();
        let told = reply::answer(&request.request(&self.blank), answer, &mut context!(self, now), out);
        match told {
            reply::ReplyStep::Answered { failed } => {
                self.end(ticket, pool);
                Ok(failed)
            }
            reply::ReplyStep::Write(operation) => {
                out.truncate(start);
                Err(Box::new(self.rewrite(ticket, &operation)))
            }
        }
    }

    /// The front-end has answered; what it is to be asked next, if anything.
    pub fn answered(&mut self, tag: u64, answer: Answer, now: Now, pool: &mut Pool) -> Vec<Message> {
        let (ticket, used) = (tag as TaskTicket, (tag >> 32) as u32);
        let Some((_, Some(request))) = self.slots.get_mut(ticket as usize).filter(|(count, _)| *count == used) else {
            return Vec::new();
        };
        if request.part == RequestPhase::Flushes {
            self.flushed(ticket, &answer, pool);
            return Vec::new();
        }
        let is_found = matches!(answer, Answer::Found(_));
        let is_read =
            is_found && request.part == RequestPhase::Reads && matches!(request.reservation, Reservation::None);
        if is_read && self.again.range(request.before()).next().is_some() {
            self.wait(ticket);
            return Vec::new();
        }
        let shown = if request.request(&self.blank).shows_value() { value_bytes(&answer) } else { 0 };
        let looked = is_found && request.is_write();
        if shown > UNRESERVED_BYTES && matches!(request.reservation, Reservation::None) {
            // What a write was told nobody tells again.
            let keeps = !is_found || (!looked && self.parked_bytes + shown <= MOST_PARKED_BYTES);
            self.parked_bytes += if keeps { shown } else { 0 };
            request.reservation = Reservation::Asked(shown as u32, keeps.then_some(answer));
            self.to_reserve.push_back(ticket);
            if !keeps {
                self.hold(ticket);
            }
            return Vec::new();
        }
        let request = self.slots[ticket as usize].1.as_ref().expect("it was just seen");
        if looked {
            return vec![self.ask(ticket, &request.request(&self.blank))];
        }
        if matches!(request.reservation, Reservation::Unwanted) {
            return self.forget(ticket, pool);
        }
        let (client, mut bytes) = (request.client.expect("a request is assigned before the turn ends"), pool.take());
        match reply::answer(&request.request(&self.blank), &answer, &mut context!(self, now), &mut bytes) {
            reply::ReplyStep::Answered { failed } => {
                let reply = request.reply.expect("it is no flush");
                let granted = if let Reservation::Granted(bytes) = request.reservation { bytes } else { 0 };
                self.done.push_back(Completion { granted, ..Completion::to(&reply, client, bytes, failed) });
                self.end(ticket, pool).into_iter().map(|next| self.go(next)).collect()
            }
            reply::ReplyStep::Write(operation) => {
                pool.give(bytes);
                vec![self.rewrite(ticket, &operation)]
            }
        }
    }

    /// A get is to look again: what it will see, gets after it must not have seen less of.
    fn hold(&mut self, ticket: TaskTicket) {
        let request = self.slots[ticket as usize].1.as_mut().expect("what looks again is under way");
        if request.part == RequestPhase::Reads {
            request.part = RequestPhase::Writes;
            let (from, key) = (request.from.to_u64(), request.key);
            self.again.extend(request.place().map(|place| (from, key, place)));
            let hold = self.held.get_mut(&(from, key)).expect("who reads has its part in a key");
            (hold.reads, hold.writes) = (hold.reads - 1, hold.writes + 1);
        }
    }

    /// A get is answered while one before it is to look again: it has to look after that.
    fn wait(&mut self, ticket: TaskTicket) {
        let request = self.slots[ticket as usize].1.as_mut().expect("what waits is under way");
        request.part = RequestPhase::Queued;
        let (place, at) = (request.place(), (request.from.to_u64(), request.key));
        let hold = self.held.get_mut(&at).expect("who reads has its part in a key");
        hold.reads -= 1;
        let place_of = |ticket: &TaskTicket| self.slots[*ticket as usize].1.as_ref().and_then(PendingRequest::place);
        hold.queue.insert(hold.queue.partition_point(|other| place_of(other) < place), ticket);
    }

    /// A flush is answered.
    fn flushed(&mut self, ticket: TaskTicket, answer: &Answer, pool: &mut Pool) {
        let request = self.slots[ticket as usize].1.as_ref().expect("what is answered is under way");
        let (client, silent) = (request.client.expect("a request is assigned before the turn ends"), request.quiet);
        let status = match answer {
            Answer::Flushed => CompletionStatus::Done,
            answer => {
                let error = reply::failure(answer, self.lack, &self.counters);
                if silent { CompletionStatus::Failed } else { CompletionStatus::FlushFailed(error) }
            }
        };
        self.done.push_back(Completion { status, silent, ..Completion::of(client, Vec::new()) });
        self.end(ticket, pool);
    }

    /// Nobody wants the answer to a request; what the front-end is to be asked next.
    fn forget(&mut self, ticket: TaskTicket, pool: &mut Pool) -> Vec<Message> {
        let request = self.slots[ticket as usize].1.as_ref().expect("what is forgotten is under way");
        let client = request.client.expect("a request is assigned before the turn ends");
        self.done.push_back(Completion { status: CompletionStatus::Failed, ..Completion::of(client, Vec::new()) });
        self.end(ticket, pool).into_iter().map(|next| self.go(next)).collect()
    }

    /// The next request that needs a reservation, where its reply goes, and how many bytes.
    pub fn next_reservation(&mut self) -> Option<(ReplyTo, TaskTicket, u32)> {
        let ticket = self.to_reserve.pop_front()?;
        let request = self.slots[ticket as usize].1.as_ref().expect("what asks is under way");
        let Reservation::Asked(bytes, _) = request.reservation else { unreachable!("it was just asked for") };
        Some((request.client.expect("a request is assigned before the turn ends"), ticket, bytes))
    }

    /// Memory is reserved for the reply of a request, or else its client is gone. Returns what the front-end is to be asked
    /// next.
    pub fn reserve(&mut self, ticket: TaskTicket, granted: bool, now: Now, pool: &mut Pool) -> Vec<Message> {
        let tag = self.tag(ticket);
        let request = self.slots[ticket as usize].1.as_mut().expect("a request that asked is under way");
        let Reservation::Asked(bytes, answer) = std::mem::replace(&mut request.reservation, Reservation::Unwanted)
        else {
            unreachable!("a request is told once")
        };
        self.parked_bytes -= if answer.is_some() { bytes as usize } else { 0 };
        if granted {
            request.reservation = Reservation::Granted(bytes);
            if let Some(answer) = answer {
                return self.answered(tag, answer, now, pool);
            }
        } else if answer.is_some() || !request.is_write() {
            return self.forget(ticket, pool);
        }
        // What changes something is done, though nobody may hear of it.
        let request = self.slots[ticket as usize].1.as_ref().expect("it was just seen");
        vec![self.ask(ticket, &request.request(&self.blank))]
    }

    /// What only looked is to change something.
    fn rewrite(&mut self, ticket: TaskTicket, operation: &Operation<'static>) -> Message {
        let request = self.slots[ticket as usize].1.as_ref().expect("it is under way");
        self.message(ticket, (&request.name, request.key), Some(operation))
    }

    /// A request is over; which of those that waited for it may begin.
    fn end(&mut self, ticket: TaskTicket, pool: &mut Pool) -> Vec<TaskTicket> {
        let slot = &mut self.slots[ticket as usize];
        let request = slot.1.take().expect("what ends is under way");
        slot.0 = slot.0.wrapping_add(1);
        self.free.push(ticket);
        self.bytes -= request.bytes();
        self.counters.waiting.sub(1);
        self.unseen -= usize::from(request.unseen);
        let (at, part, place) = ((request.from.to_u64(), request.key), request.part, request.place());
        pool.give(request.name);
        let Some(hold) = self.held.get_mut(&at).filter(|_| part != RequestPhase::Flushes) else { return Vec::new() };
        match part {
            RequestPhase::Writes => hold.writes -= 1,
            _ => hold.reads -= 1,
        }
        if let Some(place) = place.filter(|_| !self.again.is_empty()) {
            self.again.remove(&(at.0, at.1, place));
        }
        let mut next = Vec::new();
        while let Some(first) = hold.queue.front().copied() {
            let waiting = self.slots[first as usize].1.as_mut().expect("what waits is under way");
            // What it is does not change while it waits.
            let writes = waiting.is_write();
            if hold.writes > 0 || (writes && hold.reads > 0) {
                break;
            }
            hold.queue.pop_front();
            waiting.part = if writes { RequestPhase::Writes } else { RequestPhase::Reads };
            if writes {
                hold.writes += 1;
            } else {
                hold.reads += 1;
            }
            next.push(first);
        }
        if hold.reads == 0 && hold.writes == 0 && hold.queue.is_empty() {
            self.held.remove(&at);
        }
        next
    }

    /// One that waited begins.
    fn go(&mut self, ticket: TaskTicket) -> Message {
        let looks = self.looks_first(ticket);
        let request = self.slots[ticket as usize].1.as_ref().expect("what waited is under way");
        let message = if looks {
            self.message(ticket, (&request.name, request.key), None)
        } else {
            self.ask(ticket, &request.request(&self.blank))
        };
        let request = self.slots[ticket as usize].1.as_mut().expect("it was just seen");
        if !keeps_payload(&request.request(&self.blank)) {
            self.bytes -= request.value.len();
            request.value = Vec::new();
        }
        message
    }
}

/// Whether a request needs the bytes that it carries after it was sent: a view is evaluated with what a get finds, and a write that
/// shows a value may be sent once more, after a look at how large that is.
fn keeps_payload(request: &KeyRequest<'_>) -> bool {
    !request.action.is_write() || request.shows_value()
}

/// Bytes of the value that an answer may show.
fn value_bytes(answer: &Answer) -> usize {
    match answer {
        Answer::Found(Some(kept)) => kept.version.as_ref().map_or(0, |version| version.value.len()),
        Answer::Done { shown: Some(shown), .. } => shown.value.len(),
        _ => 0,
    }
}
