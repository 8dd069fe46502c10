//! From a connection's bytes to its replies: parses requests and sends each to the store that owns its key, on this loop
//! or another.
//!
//! Replies that are complete go straight into the loop's output ([`Dispatcher::out_mut`]). From the first one that has to
//! wait, everything queues in the connection's [`ReplyQueue`](crate::net::reply_queue::ReplyQueue).
//! `docs/connection.md` has all that a connection can wait for.

pub mod delivery;
mod server_requests;

use crate::net::auth;
use crate::net::connection::{Deferred, Flow, Line, Pause, RetriedRequest};
use crate::net::memory::{MemoryAccount, MemoryLimits};
use crate::net::prefetch::{PREFETCHED_KEYS, Prefetcher};
use crate::net::reply_queue::{FillOutcome, Finish};
use crate::observe::counters::Counters;
use crate::observe::latency::{RequestKind, RequestTimer, Stamp};
use crate::protocol::{ParserEvent, RequestParser};
use crate::request::{
    CLOCK_NOT_SET, Execution, KeyRequest, ReplyBody, ReplyForm, ReplySlot, ReplyTo, ReplyWriter, STOPPED,
};
use crate::runtime::clock::Now;
use crate::runtime::mesh::{Mesh, MessageBatch, PeerRequest};
use crate::runtime::shared::Shared;
use crate::shard::backend::Backend;
use crate::shard::route::Route;
use crate::shard::stores::Gates as _;
use fawn_store::Gate;
use std::sync::Arc;

/// A connection with fewer bytes of answers waiting than this takes them as they come.
const PROMPT_BYTES: usize = 64 << 10;
/// The reply to one line of keys is held for at most this part of what all replies of a loop may hold, so that no client
/// alone can make all others wait.
const WHOLE_ANSWER_SHARE: usize = 8;
/// Most answers that one connection may have waiting.
const MOST_WAITING_ANSWERS: usize = 4096;
/// A connection that misses fewer replies than this goes on for as long as there is memory at all. Others leave half of
/// the memory free, and go on only once their large replies come.
const FEW_MISSING: usize = 16;

/// Sends the requests of a loop's connections to the stores that own their keys, and brings the replies back.
pub struct Dispatcher<B: Backend> {
    /// The loop's number.
    number: usize,
    /// Carries out what clients ask.
    backend: B,
    /// Links to other loops.
    mesh: Mesh,
    /// Which loop and store owns a key.
    route: Route,
    /// What all loops share.
    shared: Arc<Shared>,
    /// The loop's counters.
    counters: Arc<Counters>,
    /// Replies of the connection at hand that may leave at once.
    out: Vec<u8>,
    /// The time of this turn.
    now: Now,
    /// Memory of all connections.
    memory: MemoryAccount,
    /// Bytes up to which the reply to a line of keys is held until it is whole.
    whole_answer_bytes: usize,
    /// This loop's share of the limit on operations in flight.
    tasks_limit: usize,
    /// Reports on this loop's connections, to be made at the end of the turn.
    own_reports: Vec<(ReplySlot, &'static dyn ReplyWriter)>,
    /// Keys of the input at hand.
    prefetcher: Prefetcher,
    /// How long requests take.
    timer: RequestTimer,
}

/// What a dispatcher is made of.
pub struct DispatcherParts<B> {
    /// The loop's number.
    pub number: usize,
    /// Carries out what clients ask.
    pub backend: B,
    /// Links to other loops.
    pub mesh: Mesh,
    /// Which loop and store owns a key.
    pub route: Route,
    /// What all loops share.
    pub shared: Arc<Shared>,
    /// The loop's share of the limit on replies and operations, in bytes.
    pub bytes_limit: usize,
    /// The time.
    pub now: Now,
}

/// An answer that was put in the output, or its part for one key of a line.
#[derive(Clone, Copy, Debug)]
struct ImmediateReply {
    /// The store that knows when it may leave.
    store: usize,
    /// It may leave once this is durable.
    gate: Gate,
    /// It is an error that stands for a whole line of keys.
    failed: bool,
    /// When it was asked for.
    stamp: Stamp,
}

impl ImmediateReply {
    /// One that waits for nothing and is not measured.
    const DONE: Self = Self { store: 0, gate: Gate::NONE, failed: false, stamp: Stamp::NONE };
}

/// How long a connection is not listened to after a wrong password that is not its first.
const PENALTY_MS: u64 = 1000;

/// The part number of a slot that belongs to a listing.
const LISTING: u32 = u32::MAX;

/// Another loop has no credit for a request now.
#[derive(Debug, PartialEq, Eq)]
pub struct NoCredit(pub usize);

impl From<NoCredit> for Pause {
    fn from(NoCredit(peer): NoCredit) -> Self {
        Self::Credit(peer)
    }
}

impl<B: Backend> Dispatcher<B> {
    /// A dispatcher of `parts`.
    pub fn new(parts: DispatcherParts<B>) -> Self {
        let DispatcherParts { number, backend, mesh, route, shared, bytes_limit, now } = parts;
        let (loops, limits) = (mesh.loops(), &shared.limits);
        let item = shared.options.max_item_bytes;
        Self {
            number,
            backend,
            route,
            counters: Arc::clone(&shared.counters[number]),
            out: Vec::new(),
            now,
            memory: MemoryAccount::new(MemoryLimits { output: bytes_limit, input: 2 * bytes_limit, item }),
            whole_answer_bytes: limits.whole_answer_bytes.min(bytes_limit / WHOLE_ANSWER_SHARE),
            tasks_limit: (limits.requests_in_flight / loops).max(1),
            own_reports: Vec::new(),
            prefetcher: Prefetcher::default(),
            timer: RequestTimer::new(Arc::clone(&shared.latencies[number])),
            mesh,
            shared,
        }
    }

    /// A turn of the loop begins.
    pub fn begin_turn(&mut self, now: Now, now_us: u64) {
        self.now = now;
        self.timer.begin(now_us);
    }

    /// The event at hand is over, or a part of the turn.
    pub fn event_ends(&mut self, now_us: u64) {
        self.timer.event_ends(now_us);
    }

    /// The time of this turn.
    #[inline]
    pub fn now(&self) -> Now {
        self.now
    }

    /// The loop's counters.
    #[inline]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Carries out what clients ask.
    #[inline]
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// Carries out what clients ask.
    #[inline]
    pub fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// The backend, when everything else goes.
    pub fn into_backend(self) -> B {
        self.backend
    }

    /// Links to other loops.
    #[inline]
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Links to other loops.
    #[inline]
    pub fn mesh_mut(&mut self) -> &mut Mesh {
        &mut self.mesh
    }

    /// Memory of all connections.
    #[inline]
    pub fn memory(&self) -> &MemoryAccount {
        &self.memory
    }

    /// Memory of all connections.
    #[inline]
    pub fn memory_mut(&mut self) -> &mut MemoryAccount {
        &mut self.memory
    }

    /// Replies of the connection at hand that may leave at once.
    #[inline]
    pub fn out_mut(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Reports on this loop's connections that were asked for.
    pub fn take_own_reports(&mut self) -> Vec<(ReplySlot, &'static dyn ReplyWriter)> {
        std::mem::take(&mut self.own_reports)
    }

    /// Whether such reports were asked for.
    pub fn has_own_reports(&self) -> bool {
        !self.own_reports.is_empty()
    }

    /// Other input follows: what was prefetched for the last one is forgotten.
    #[inline]
    pub fn forget_prefetched(&mut self) {
        self.prefetcher.forget();
    }

    /// Prefetches the keys that `upcoming` visits, as far as this loop owns them.
    pub fn prefetch<'a>(&mut self, upcoming: impl FnOnce(&mut dyn FnMut(&'a [u8]) -> bool)) {
        self.prefetcher.look(upcoming, &self.route, self.number, &self.backend);
    }

    /// Prefetches the keys of a batch of requests from number `first` on.
    pub fn prefetch_batch(&mut self, batch: &MessageBatch, first: usize) {
        self.prefetcher.prefetch(batch.asked(first, PREFETCHED_KEYS), &self.backend);
    }

    /// Moves replies that may leave from the connection's queue to the output.
    pub fn release(&mut self, flow: &mut Flow) {
        let stream_above = if self.memory.is_pressed() { 0 } else { self.whole_answer_bytes - 1 };
        let (pool, gates) = self.backend.lend();
        let durable = |store| gates.durable(usize::from(store));
        let timer = &self.timer;
        let left = |stamp, count| timer.answered(stamp, u64::from(count));
        flow.answers.release(durable, stream_above, (&mut self.out, pool), left);
    }

    /// Works on requests of `input` until one has to wait for something. Returns how many bytes are done with, and
    /// what the connection waits for.
    pub fn process(&mut self, parser: &mut dyn RequestParser, flow: &mut Flow, input: &[u8]) -> (usize, Pause) {
        let (used, pause) = self.process_all(parser, flow, input);
        // What is in the output leaves before the line is whole, so an unfinished line must not be there.
        if let Some(Line::Direct(start)) = flow.line {
            self.queue_line(flow, start);
        }
        (used, pause)
    }

    fn process_all(&mut self, parser: &mut dyn RequestParser, flow: &mut Flow, input: &[u8]) -> (usize, Pause) {
        flow.flushing &= !flow.answers.are_filled();
        if let Some(deferred) = flow.deferred.take() {
            let result = match deferred.request() {
                RetriedRequest::Key(mut request) => self.key_request(flow, &mut request).map_err(Pause::from),
                RetriedRequest::Server(request, reply) => self.server_request(flow, request, &reply),
            };
            if let Err(pause) = result {
                flow.deferred = Some(deferred);
                return (0, pause);
            }
        }
        let mut used = 0;
        loop {
            if let Some(pause) = self.pause(flow) {
                return (used, pause);
            }
            self.prefetcher.pass_to(&input[used..]);
            if self.prefetcher.is_over() && used < input.len() {
                let upcoming = |visit: &mut dyn FnMut(_) -> bool| parser.upcoming(&input[used..], visit);
                self.prefetcher.look(upcoming, &self.route, self.number, &self.backend);
            }
            let start = self.out.len();
            let step = parser.next(&input[used..], &self.now.time, &mut self.out);
            used += step.consumed;
            match step.event {
                ParserEvent::Key(mut request) => {
                    if let Err(pause) = self.key_request(flow, &mut request) {
                        flow.deferred = Some(Box::new(Deferred::of_key(&request)));
                        return (used, pause.into());
                    }
                }
                ParserEvent::Server(request, reply) => {
                    if let Err(pause) = self.server_request(flow, request, &reply) {
                        flow.deferred = Some(Box::new(Deferred::of_server(request, reply)));
                        return (used, pause);
                    }
                }
                ParserEvent::Authenticate { user, password, reply } => {
                    if self.authenticate(flow, &reply, user, password) {
                        parser.authenticated();
                    } else if let Some(pause) = self.punish(flow) {
                        return (used, pause);
                    }
                }
                ParserEvent::Replied => self.finish(flow, start, ImmediateReply::DONE),
                ParserEvent::Abandon(line) => self.abandon(flow, line),
                ParserEvent::NeedMore { total } => return (used, Pause::NeedMore(total)),
                ParserEvent::Close => return (used, Pause::Close),
            }
        }
    }

    /// What keeps the connection from working on its next request, if anything.
    #[inline]
    pub fn pause(&self, flow: &Flow) -> Option<Pause> {
        let waiting = self.out.len() + flow.answers.bytes() + flow.unsent_bytes;
        let limits = &self.shared.limits;
        let most = if flow.line.is_some() { self.whole_answer_bytes } else { limits.output_bytes };
        if flow.penalty_until_ms > self.now.ms {
            Some(Pause::Penalty(flow.penalty_until_ms))
        } else if flow.listing.is_some() {
            Some(Pause::Listing)
        } else if flow.flushing && !flow.answers.are_filled() {
            Some(Pause::Order)
        } else if waiting >= most || flow.answers.len() >= MOST_WAITING_ANSWERS || flow.broken {
            Some(Pause::Output)
        } else if flow.answers.missing() >= FEW_MISSING && (self.is_crowded() || !flow.reservations.is_empty()) {
            // It gets on with its own answers.
            Some(Pause::Output)
        } else if !self.has_room_for_tasks() {
            Some(Pause::Tasks)
        } else if !self.has_room_for_bytes() && !self.is_admitted(flow, waiting) {
            Some(if flow.gets_on() { Pause::Output } else { Pause::Memory })
        } else {
            None
        }
    }

    /// Whether fewer operations are in flight than may be.
    #[inline]
    pub fn has_room_for_tasks(&self) -> bool {
        self.backend.waiting() < self.tasks_limit
    }

    /// Whether half of the operations that may be in flight are, here or on their way to another loop.
    fn is_crowded(&self) -> bool {
        self.backend.waiting() >= self.tasks_limit / 2 || self.mesh.is_crowded()
    }

    /// Whether a connection goes on although others hold all the bytes there are: one that takes its answers does, out
    /// of as many bytes again, so that those that do not take theirs harm only themselves.
    #[inline]
    fn is_admitted(&self, flow: &Flow, waiting: usize) -> bool {
        (flow.answers.is_empty() || flow.line.is_some())
            && waiting < PROMPT_BYTES
            && self.memory.has_room_for_prompt(self.backend.held_bytes())
    }

    /// Whether answers and operations hold fewer bytes than they may.
    #[inline]
    pub fn has_room_for_bytes(&self) -> bool {
        self.memory.has_room(self.backend.held_bytes())
    }

    /// What a connection waits for after a wrong password: nothing after the first one, which may be a mistake.
    fn punish(&self, flow: &mut Flow) -> Option<Pause> {
        flow.wrong_passwords += 1;
        if flow.wrong_passwords < 2 {
            return None;
        }
        flow.penalty_until_ms = self.now.ms + PENALTY_MS;
        Some(Pause::Penalty(flow.penalty_until_ms))
    }

    fn authenticate(&mut self, flow: &mut Flow, reply: &ReplyForm, user: &[u8], password: &[u8]) -> bool {
        let admitted = self.shared.users.as_ref().is_none_or(|users| users.admit(user, password));
        self.counters.auth_cmds.add(1);
        if !admitted {
            self.counters.auth_errors.add(1);
            flow.refused_user = Some(auth::user_for_log(user));
        }
        let body = if admitted { ReplyBody::Authenticated } else { ReplyBody::AuthenticationFailed };
        self.answer(flow, reply, &body);
        admitted
    }

    /// Writes the reply to a request for the server at once.
    fn answer(&mut self, flow: &mut Flow, reply: &ReplyForm, body: &ReplyBody<'_>) {
        let start = self.out.len();
        reply.write(&mut self.out, b"", body);
        self.finish(flow, start, ImmediateReply::DONE);
    }

    /// Runs one request, here or where its key lives.
    fn key_request(&mut self, flow: &mut Flow, request: &mut KeyRequest<'_>) -> Result<(), NoCredit> {
        request.key = self.prefetcher.position(request.name, &self.route);
        let (home, store) = self.route.of(&request.key);
        if home != self.number && !self.mesh.may_send(home) {
            return Err(NoCredit(home));
        }
        let last = request.reply.is_last();
        if !last && flow.line.is_none() {
            flow.line = Some(if flow.answers.is_empty() {
                Line::Direct(self.out.len())
            } else {
                Line::Queued(flow.answers.open(Finish::Suffix(b"")))
            });
        }
        let what = if request.action.is_write() { RequestKind::Write } else { RequestKind::Get };
        let stamp = self.timer.stamp(what);
        if request.needs_clock && !self.now.time.is_set() {
            let start = self.out.len();
            request.write_error(&mut self.out, CLOCK_NOT_SET);
            self.finish(flow, start, ImmediateReply { failed: true, ..ImmediateReply::DONE });
        } else if home == self.number {
            let start = self.out.len();
            match self.backend.run(store, request, flow.token, self.now, usize::MAX, &mut self.out) {
                Execution::Done { gate, failed } => {
                    self.finish(flow, start, ImmediateReply { store, gate, failed, stamp });
                }
                Execution::Later(ticket) => {
                    let slot = self.wait(flow, stamp);
                    self.backend.assign(ticket, ReplyTo { home: home as u16, slot, request_bytes: 0 });
                }
            }
        } else {
            let slot = self.wait(flow, stamp);
            let (action, value) = request.action.split();
            let KeyRequest { key, name, view, reply, .. } = *request;
            let ask = PeerRequest::Key { key, store: store as u16, name_bytes: name.len() as u16, action, view, reply };
            self.mesh.request(home, slot, ask, &[name, value]);
            self.counters.remote_requests.add(1);
        }
        if last && let Some(Line::Queued(answer)) = flow.line.take() {
            flow.answers.close(answer);
        }
        Ok(())
    }

    /// An answer, or its part for one key of a line, is in the output from `start` on.
    #[inline]
    fn finish(
        &mut self,
        flow: &mut Flow,
        start: usize,
        ImmediateReply { store, gate, mut failed, mut stamp }: ImmediateReply,
    ) {
        let mut held = gate > Gate::NONE && gate > self.backend.durable(store);
        if held && self.backend.is_stopped(store) {
            held = false;
            // In a line of keys, silence would be taken for a miss.
            if self.out.len() > start || flow.line.is_some() {
                failed = true;
                self.out.truncate(start);
                flow.writer.write_error(&mut self.out, &STOPPED);
            }
        }
        if let Some(what) = stamp.what().filter(|_| !held || flow.line.is_some()) {
            self.timer.answered_at_once(what);
            stamp = Stamp::NONE;
        }
        let fails_line = failed && flow.line.is_some();
        if !held && !fails_line {
            match flow.line {
                Some(Line::Direct(_)) => return,
                None if flow.answers.is_empty() => return,
                _ => {}
            }
        }
        self.finish_later(flow, start, held.then_some((store as u16, gate)), failed, stamp);
    }

    fn finish_later(&mut self, flow: &mut Flow, start: usize, gate: Option<(u16, Gate)>, failed: bool, stamp: Stamp) {
        match flow.line {
            None => flow.answers.push(&self.out[start..], gate, stamp, self.backend.pool()),
            Some(line) => {
                let part = self.out.split_off(start);
                let answer = match line {
                    Line::Direct(line_start) => self.queue_line(flow, line_start),
                    Line::Queued(answer) => answer,
                };
                if failed {
                    let number = flow.answers.wait_for_part(answer);
                    flow.broken |= flow.answers.fill(answer, number, part, true) == FillOutcome::Broken;
                } else {
                    flow.answers.extend(answer, &part, gate, self.backend.pool());
                }
            }
        }
        self.out.truncate(start);
    }

    /// Moves a line of keys from the output into the queue.
    fn queue_line(&mut self, flow: &mut Flow, start: usize) -> u64 {
        let answer = flow.answers.open(Finish::Suffix(b""));
        flow.answers.extend(answer, &self.out[start..], None, self.backend.pool());
        self.out.truncate(start);
        flow.line = Some(Line::Queued(answer));
        answer
    }

    /// Makes a slot for a reply, or for a part of the line's reply, that comes later.
    fn wait(&mut self, flow: &mut Flow, stamp: Stamp) -> ReplySlot {
        let (answer, part) = match flow.line {
            None => (flow.answers.wait_for_one(), 0),
            Some(line) => {
                let answer = match line {
                    Line::Direct(start) => self.queue_line(flow, start),
                    Line::Queued(answer) => answer,
                };
                (answer, flow.answers.wait_for_part(answer))
            }
        };
        ReplySlot { connection: flow.token, answer, part, stamp }
    }

    /// The line of keys is refused as a whole.
    pub fn abandon(&mut self, flow: &mut Flow, refusal: &[u8]) {
        match flow.line.take() {
            Some(Line::Queued(answer)) => {
                let part = flow.answers.wait_for_part(answer);
                let text = refusal.to_vec();
                flow.broken |= flow.answers.fill(answer, part, text, true) == FillOutcome::Broken;
                flow.answers.close(answer);
            }
            line => {
                if let Some(Line::Direct(start)) = line {
                    self.out.truncate(start);
                }
                let start = self.out.len();
                self.out.extend_from_slice(refusal);
                self.finish(flow, start, ImmediateReply::DONE);
            }
        }
    }
}
