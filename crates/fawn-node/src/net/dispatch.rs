//! From a connection's bytes to its answers: parses requests and sends each to the store that owns its key, on this
//! loop or another.
//!
//! Answers that are complete go straight into the loop's output ([`Core::out`]); from the first one that has to wait,
//! everything queues in the connection's [`ReplyQueue`](crate::net::reply_queue::Answers).

use crate::net::auth;
use crate::net::connection::{Deferred, Flow, Line, Listing, Pause, RetriedRequest};
use crate::net::prefetch::Prefetcher;
use crate::net::reply_queue::{FillOutcome, Finish};
use crate::observe::counters::Counters;
use crate::observe::latency::{Latencies, RequestKind, Stamp};
use crate::observe::stats;
use crate::protocol::{ParserEvent, RequestParser, ServerRequest};
use crate::request::{
    CLOCK_NOT_SET, Execution, KeyRequest, Listed, ListingForm, ReplyBody, ReplyForm, ReplySlot, ReplyTo, ReplyWriter,
    RequestError, STOPPED, StatsReport,
};
use crate::runtime::clock::Now;
use crate::runtime::mesh::{Mesh, PeerRequest};
use crate::runtime::shared::Shared;
use crate::shard::backend::Backend;
use crate::shard::route::Route;
use fawn_ring::Key;
use fawn_store::Gate;
use std::sync::Arc;

/// A connection with fewer bytes of answers waiting than this takes them as they come.
const PROMPT_BYTES: usize = 64 << 10;
/// Most answers that one connection may have waiting.
const MOST_WAITING_ANSWERS: usize = 4096;
/// A connection that misses fewer answers than this goes on for as long as there is room at all; others leave it half,
/// and go on only once their large answers come.
const FEW_MISSING: usize = 16;

/// Everything of a loop that the requests of its connections touch.
pub struct Core<B: Backend> {
    /// The loop's number.
    pub number: usize,
    /// Who carries out what they ask.
    pub backend: B,
    /// Its links to other loops.
    pub mesh: Mesh,
    /// Which loop and store owns a key.
    pub route: Route,
    /// What all loops share.
    pub shared: Arc<Shared>,
    /// The loop's counters.
    pub counters: Arc<Counters>,
    /// Answers of the connection at hand that may leave at once.
    pub out: Vec<u8>,
    /// The time of this turn.
    pub now: Now,
    /// Bytes of answers that all connections together have waiting.
    pub output_bytes: usize,
    /// Bytes that their sockets have not taken.
    pub unsent_bytes: usize,
    /// Bytes of large answers that were granted room and have yet to come.
    pub granted_bytes: usize,
    /// Bytes of input that all connections together hold.
    pub input_bytes: usize,
    /// This loop's share of the limit on answers and operations: as much again is for clients that take theirs.
    pub bytes_limit: usize,
    /// This loop's share of the limit on input.
    pub input_limit: usize,
    /// Bytes up to which the answer to a line of keys is held until it is whole.
    pub whole_answer_bytes: usize,
    /// This loop's share of the limit on operations in flight.
    pub tasks_limit: usize,
    /// What this loop asked of itself, to be answered at the end of the turn.
    pub own_asks: Vec<(ReplySlot, &'static dyn ReplyWriter)>,
    /// Keys of the input at hand.
    pub prefetcher: Prefetcher,
    /// Microsecond of the loop's clock at which the event at hand began.
    pub at_us: u64,
    /// Gets and writes of the event at hand that were answered at once.
    pub answered: [u32; 2],
    /// How long requests take.
    pub latencies: Arc<Latencies>,
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

/// The part of a place that is a listing's.
pub const LISTING: u32 = u32::MAX;

/// Another loop has no room for a request now.
#[derive(Debug, PartialEq, Eq)]
pub struct NoCredit(pub usize);

impl From<NoCredit> for Pause {
    fn from(NoCredit(peer): NoCredit) -> Self {
        Self::Credit(peer)
    }
}

impl<B: Backend> Core<B> {
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
            && self.output_bytes + self.backend.held_bytes() < 2 * self.bytes_limit + self.shared.options.max_item_bytes
    }

    /// Whether answers and operations hold fewer bytes than they may.
    #[inline]
    pub fn has_room_for_bytes(&self) -> bool {
        self.output_bytes + self.backend.held_bytes() < self.bytes_limit
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

    /// Carries out a request for the server.
    fn server_request(&mut self, flow: &mut Flow, request: ServerRequest, reply: &ReplyForm) -> Result<(), Pause> {
        match request {
            ServerRequest::FlushAll { at_unix } => return self.flush_all(flow, reply, at_unix),
            ServerRequest::Stats(report) => self.stats(flow, report)?,
            ServerRequest::ResetCounters => {
                self.shared.reset_counters();
                self.answer(flow, reply, &ReplyBody::Reset);
            }
            ServerRequest::List(detail) => {
                let form = ListingForm { writer: flow.writer, detail };
                flow.listing = Some(Listing { form, store: 0, from: Key::MIN, first: true, asked: false, lost: 0 });
            }
            ServerRequest::RefreshCertificates => match self.shared.refresh_certificates() {
                Ok(()) => self.answer(flow, reply, &ReplyBody::Ok),
                Err(why) => {
                    tracing::error!("the certificates stay as they were: {why}");
                    let error = RequestError::Server("cannot read the certificates, see the log");
                    self.answer(flow, reply, &ReplyBody::Error(error));
                }
            },
        }
        Ok(())
    }

    /// Answers at once.
    fn answer(&mut self, flow: &mut Flow, reply: &ReplyForm, body: &ReplyBody<'_>) {
        let start = self.out.len();
        reply.write(&mut self.out, b"", body);
        self.finish(flow, start, ImmediateReply::DONE);
    }

    /// The event at hand is over, or a part of the turn: what was answered at once took until now.
    pub fn event_ends(&mut self, now_us: u64) {
        for what in RequestKind::ALL {
            let count = std::mem::take(&mut self.answered[what as usize - 1]);
            if count > 0 {
                self.latencies.add(what, u64::from(count), now_us - self.at_us);
            }
        }
        self.at_us = now_us;
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
        let stamp = Stamp::new(self.at_us, what);
        if request.needs_clock && !self.now.time.is_set() {
            let start = self.out.len();
            request.write_error(&mut self.out, CLOCK_NOT_SET);
            self.finish(flow, start, ImmediateReply { failed: true, ..ImmediateReply::DONE });
        } else if home == self.number {
            let start = self.out.len();
            match self.backend.run(store, request, flow.token, self.now, usize::MAX, &mut self.out) {
                Execution::Done { gate, failed } => {
                    self.finish(flow, start, ImmediateReply { store, gate, failed, stamp })
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
            self.answered[what as usize - 1] += 1;
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

    /// Makes room for an answer, or a part of the line's, that comes later.
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

    /// Whether every other loop has room for a request.
    fn room_everywhere(&self) -> Result<(), NoCredit> {
        match self.peers().find(|peer| !self.mesh.may_send(*peer)) {
            Some(peer) => Err(NoCredit(peer)),
            None => Ok(()),
        }
    }

    fn peers(&self) -> impl Iterator<Item = usize> + use<B> {
        let own = self.number;
        (0..self.mesh.loops()).filter(move |peer| *peer != own)
    }

    fn ask_everyone(&mut self, flow: &mut Flow, answer: u64, ask: PeerRequest) {
        for peer in self.peers() {
            let part = flow.answers.wait_for_part(answer);
            let slot = ReplySlot { connection: flow.token, answer, part, stamp: Stamp::NONE };
            self.mesh.request(peer, slot, ask, &[]);
        }
    }

    /// Flushes all stores, after everything that the connection asked before and before everything that it asks after:
    /// a request that waits (for flash, for a buffer, for its value's file) would else be carried out after the flush, or
    /// shown what is newer than it.
    fn flush_all(&mut self, flow: &mut Flow, reply: &ReplyForm, at_unix: u32) -> Result<(), Pause> {
        if !self.shared.flush_enabled {
            self.answer(flow, reply, &ReplyBody::Error(RequestError::Client("flush_all not allowed")));
            return Ok(());
        }
        if at_unix > 0 && !self.now.time.is_set() {
            self.answer(flow, reply, &ReplyBody::Error(CLOCK_NOT_SET));
            return Ok(());
        }
        if !flow.answers.are_filled() {
            return Err(Pause::Order);
        }
        self.room_everywhere()?;
        self.counters.cmd_flush.add(1);
        let start = self.out.len();
        reply.write(&mut self.out, b"", &ReplyBody::Ok);
        let quiet = self.out.len() == start;
        let answer = flow.answers.open(Finish::Suffix(b""));
        let part = flow.answers.wait_for_part(answer);
        self.ask_everyone(flow, answer, PeerRequest::FlushAll { at_unix, quiet });
        flow.answers.extend(answer, &self.out[start..], None, self.backend.pool());
        self.out.truncate(start);
        flow.answers.close(answer);
        let slot = ReplySlot { connection: flow.token, answer, part, stamp: Stamp::NONE };
        let to = ReplyTo { home: self.number as u16, slot, request_bytes: 0 };
        self.backend.flush_all(to, at_unix, quiet, self.now);
        flow.flushing = true;
        Ok(())
    }

    fn stats(&mut self, flow: &mut Flow, report: StatsReport) -> Result<(), NoCredit> {
        self.room_everywhere()?;
        if report == StatsReport::Connections {
            let ask = PeerRequest::Connections { writer: flow.writer };
            let answer = flow.answers.open(Finish::Suffix(flow.writer.stats_end()));
            let part = flow.answers.wait_for_part(answer);
            let slot = ReplySlot { connection: flow.token, answer, part, stamp: Stamp::NONE };
            self.own_asks.push((slot, flow.writer));
            self.ask_everyone(flow, answer, ask);
            flow.answers.close(answer);
            return Ok(());
        }
        let answer = flow.answers.open(Finish::Gather(report as u8));
        let own = stats::encode(&self.backend.stats(self.now));
        flow.answers.extend(answer, &own, None, self.backend.pool());
        self.ask_everyone(flow, answer, PeerRequest::Stats);
        if let FillOutcome::Gathered(tag) = flow.answers.close(answer) {
            self.gather(flow, answer, tag);
        }
        Ok(())
    }

    /// Makes the answer to `stats` of what all loops said.
    pub fn gather(&mut self, flow: &mut Flow, answer: u64, tag: u8) {
        let figures = stats::merge(&flow.answers.parts(answer));
        let text = stats::text(tag, &figures, &self.shared, self.now, flow.writer);
        flow.answers.gathered(answer, text);
    }

    /// Asks for the next part of a listing once the client has taken the one before.
    ///
    /// # Errors
    /// [`NoCredit`]: to be called again.
    pub fn list_on(&mut self, flow: &mut Flow) -> Result<(), NoCredit> {
        let settled = flow.answers.is_empty() && flow.unsent_bytes == 0;
        let Some(listing) = flow.listing.as_mut().filter(|listing| settled && !listing.asked) else { return Ok(()) };
        let (home, store) = self.route.of_store(listing.store);
        if home != self.number && !self.mesh.may_send(home) {
            return Err(NoCredit(home));
        }
        listing.asked = true;
        let Listing { form, from, first, .. } = *listing;
        let (answer, stamp) = (flow.answers.wait_for_one(), Stamp::NONE);
        let slot = ReplySlot { connection: flow.token, answer, part: LISTING, stamp };
        if home == self.number {
            let to = ReplyTo { home: home as u16, slot, request_bytes: 0 };
            self.backend.list(to, store, from, first, form, self.now);
        } else {
            self.mesh.request(home, slot, PeerRequest::List { store: store as u16, from, first, form }, &[]);
        }
        Ok(())
    }

    /// Part of a listing has come.
    pub fn listed(&mut self, flow: &mut Flow, answer: u64, bytes: &[u8]) {
        let (listed, lines) = Listed::decode(bytes);
        flow.answers.fill(answer, 0, lines.to_vec(), false);
        let Some(listing) = &mut flow.listing else { return };
        listing.asked = false;
        listing.lost += listed.lost;
        if let Some(next) = listed.next {
            (listing.from, listing.first) = (next, false);
        } else {
            (listing.from, listing.first) = (Key::MIN, true);
            listing.store += 1;
        }
        if !listed.failed && listing.store < self.route.stores() {
            return;
        }
        let (Listing { form, lost, .. }, writer, mut end) = (*listing, flow.writer, Vec::new());
        if listed.failed {
            let error = RequestError::Server("the keys cannot be listed, see the server's log");
            writer.write_error(&mut end, &error);
        } else if lost > 0 {
            let text = format!("{lost} keys cannot be read and are not listed, see the server's log");
            writer.write_error(&mut end, &RequestError::Server(&text));
        } else {
            end.extend_from_slice(writer.listing_end(form.detail));
        }
        flow.listing = None;
        flow.answers.push(&end, None, Stamp::NONE, self.backend.pool());
    }
}
