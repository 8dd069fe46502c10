//! From a connection's bytes to its answers: parses commands and sends each to the store that owns its key, on this
//! loop or another.
//!
//! Answers that are complete go straight into the loop's output ([`Core::out`]); from the first one that has to wait,
//! everything queues in the connection's [`Answers`](crate::answers::Answers).

use crate::ahead::Ahead;
use crate::answers::{Filled, Finish};
use crate::auth;
use crate::backend::Backend;
use crate::clock::Now;
use crate::connection::{Deferred, Flow, Line, Listing, Pause};
use crate::counters::Counters;
use crate::exchange::{Ask, Exchange, Place};
use crate::latency::{Latencies, Stamp, What};
use crate::operate::{self, Keyed};
use crate::owner::{Client, Listed, Ran};
use crate::report;
use crate::route::Route;
use crate::shared::Shared;
use fawn_memcache::{Answer, Command, Detail, Dump, Event, Exptime, Request, Session, Stats, lines};
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
    pub owner: B,
    /// Its links to other loops.
    pub exchange: Exchange,
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
    pub own_asks: Vec<(Place, Ask)>,
    /// Keys of the input at hand.
    pub ahead: Ahead,
    /// Microsecond of the loop's clock at which the event at hand began.
    pub at_us: u64,
    /// Gets and writes of the event at hand that were answered at once.
    pub answered: [u32; 2],
    /// How long requests take.
    pub latencies: Arc<Latencies>,
}

/// An answer that was put in the output, or its part for one key of a line.
#[derive(Clone, Copy, Debug)]
struct Put {
    /// The store that knows when it may leave.
    store: usize,
    /// It may leave once this is durable.
    gate: Gate,
    /// It is an error that stands for a whole line of keys.
    failed: bool,
    /// When it was asked for.
    stamp: Stamp,
}

impl Put {
    /// One that waits for nothing and is not measured.
    const DONE: Self = Self { store: 0, gate: Gate::NONE, failed: false, stamp: Stamp::NONE };
}

/// How long a connection is not listened to after a wrong password that is not its first.
const PENALTY_MS: u64 = 1000;

/// The part of a place that is a listing's.
pub const LISTING: u32 = u32::MAX;

/// Another loop has no room for a request now.
#[derive(Debug, PartialEq, Eq)]
pub struct NoRoom(pub usize);

impl From<NoRoom> for Pause {
    fn from(NoRoom(peer): NoRoom) -> Self {
        Self::Credit(peer)
    }
}

impl<B: Backend> Core<B> {
    /// Works on requests of `input` until one has to wait for something. Returns how many bytes are done with, and
    /// what the connection waits for.
    pub fn process(&mut self, session: &mut Session, flow: &mut Flow, input: &[u8]) -> (usize, Pause) {
        let (used, pause) = self.process_all(session, flow, input);
        // What is in the output leaves before the line is whole, so an unfinished line must not be there.
        if let Some(Line::Direct(start)) = flow.line {
            self.queue_line(flow, start);
        }
        (used, pause)
    }

    fn process_all(&mut self, session: &mut Session, flow: &mut Flow, input: &[u8]) -> (usize, Pause) {
        flow.flushing &= !flow.answers.are_filled();
        if let Some(deferred) = flow.deferred.take()
            && let Err(pause) = self.request(flow, &deferred.request())
        {
            flow.deferred = Some(deferred);
            return (0, pause);
        }
        let mut used = 0;
        loop {
            if let Some(pause) = self.pause(flow) {
                return (used, pause);
            }
            self.ahead.pass_to(&input[used..]);
            if self.ahead.is_over() && used < input.len() {
                let upcoming = session.upcoming(&input[used..]);
                self.ahead.look(upcoming, &self.route, self.number, &self.owner);
            }
            let step = session.next(&input[used..]);
            used += step.consumed;
            match step.event {
                Event::Request(request) => {
                    if let Command::Authenticate { user, password } = request.command {
                        if self.authenticate(flow, &request, user, password) {
                            session.authenticated();
                        } else if let Some(pause) = self.punish(flow) {
                            return (used, pause);
                        }
                    } else if let Err(pause) = self.request(flow, &request) {
                        flow.deferred = Some(Box::new(Deferred::of(&request)));
                        return (used, pause);
                    }
                }
                Event::Reply(line) => {
                    let start = self.out.len();
                    self.out.extend_from_slice(line.as_bytes());
                    self.finish(flow, start, Put::DONE);
                }
                Event::Abandon(line) => self.abandon(flow, line),
                Event::NeedMore { total } => return (used, Pause::NeedMore(total)),
                Event::Close => return (used, Pause::Close),
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
        } else if flow.answers.missing() >= FEW_MISSING && (self.is_crowded() || !flow.wants.is_empty()) {
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
        self.owner.waiting() < self.tasks_limit
    }

    /// Whether half of the operations that may be in flight are, here or on their way to another loop.
    fn is_crowded(&self) -> bool {
        self.owner.waiting() >= self.tasks_limit / 2 || self.exchange.is_crowded()
    }

    /// Whether a connection goes on although others hold all the bytes there are: one that takes its answers does, out
    /// of as many bytes again, so that those that do not take theirs harm only themselves.
    #[inline]
    fn is_admitted(&self, flow: &Flow, waiting: usize) -> bool {
        (flow.answers.is_empty() || flow.line.is_some())
            && waiting < PROMPT_BYTES
            && self.output_bytes + self.owner.held_bytes() < 2 * self.bytes_limit + self.shared.options.max_item_bytes
    }

    /// Whether answers and operations hold fewer bytes than they may.
    #[inline]
    pub fn has_room_for_bytes(&self) -> bool {
        self.output_bytes + self.owner.held_bytes() < self.bytes_limit
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

    fn authenticate(&mut self, flow: &mut Flow, request: &Request<'_>, user: &[u8], password: &[u8]) -> bool {
        let admitted = self.shared.users.as_ref().is_none_or(|users| users.admit(user, password));
        self.counters.auth_cmds.add(1);
        if !admitted {
            self.counters.auth_errors.add(1);
            flow.refused_user = Some(auth::user_for_log(user));
        }
        let answer = if admitted { Answer::Authenticated } else { Answer::AuthenticationFailed };
        self.answer(flow, request, &answer);
        admitted
    }

    /// Runs one request, here or where its key lives.
    fn request(&mut self, flow: &mut Flow, request: &Request<'_>) -> Result<(), Pause> {
        match request.command {
            Command::Get
            | Command::GetAndTouch(_)
            | Command::MetaGet(_)
            | Command::Store(_)
            | Command::ValueTooLarge(_)
            | Command::Touch(_)
            | Command::Delete(_)
            | Command::Arithmetic(_)
            | Command::MetaDebug => self.keyed(flow, request)?,
            Command::Noop => self.answer(flow, request, &Answer::Noop),
            Command::Version => self.answer(flow, request, &Answer::Version(fawn_memcache::VERSION)),
            // Tools ask for a limit of memory and take a refusal for a failure. Nothing is evicted here, so none has to be adjusted.
            Command::Verbosity { .. } | Command::MemoryLimit { .. } => self.answer(flow, request, &Answer::Ok),
            Command::FlushAll(exptime) => return self.flush_all(flow, request, exptime),
            Command::Stats(stats) => self.stats(flow, request, &stats)?,
            Command::Dump(form) => {
                flow.listing = Some(Listing { form, store: 0, from: Key::MIN, first: true, asked: false, lost: 0 });
            }
            Command::RefreshCertificates => match self.shared.refresh_certificates() {
                Ok(()) => self.answer(flow, request, &Answer::Ok),
                Err(why) => {
                    tracing::error!("the certificates were not reloaded: {why}");
                    self.answer(
                        flow,
                        request,
                        &Answer::Error("SERVER_ERROR cannot read the certificates, see the log"),
                    );
                }
            },
            Command::Authenticate { .. } => unreachable!("it was answered where it was parsed"),
        }
        Ok(())
    }

    /// Answers at once.
    fn answer(&mut self, flow: &mut Flow, request: &Request<'_>, answer: &Answer<'_>) {
        let start = self.out.len();
        request.responder.write(&mut self.out, request.key, answer);
        self.finish(flow, start, Put::DONE);
    }

    /// The event at hand is over, or a part of the turn: what was answered at once took until now.
    pub fn event_ends(&mut self, now_us: u64) {
        for what in What::ALL {
            let count = std::mem::take(&mut self.answered[what as usize - 1]);
            if count > 0 {
                self.latencies.add(what, u64::from(count), now_us - self.at_us);
            }
        }
        self.at_us = now_us;
    }

    fn keyed(&mut self, flow: &mut Flow, request: &Request<'_>) -> Result<(), NoRoom> {
        let key = self.ahead.position(request.key, &self.route);
        let (home, store) = self.route.of(&key);
        if home != self.number && !self.exchange.may_send(home) {
            return Err(NoRoom(home));
        }
        let last = request.responder.is_last();
        if !last && flow.line.is_none() {
            flow.line = Some(if flow.answers.is_empty() {
                Line::Direct(self.out.len())
            } else {
                Line::Queued(flow.answers.open(Finish::Suffix(b"")))
            });
        }
        let keyed = Keyed { key, name: request.key, command: request.command, responder: request.responder };
        let what = if keyed.only_looks() { What::Get } else { What::Write };
        let stamp = Stamp::new(self.at_us, what);
        if keyed.sets_expiry() && !self.now.time.is_set() {
            let start = self.out.len();
            keyed.write(&mut self.out, &Answer::Error(operate::CLOCK_NOT_SET));
            self.finish(flow, start, Put { failed: true, ..Put::DONE });
        } else if home == self.number {
            let start = self.out.len();
            match self.owner.run(store, &keyed, flow.token, self.now, usize::MAX, &mut self.out) {
                Ran::Done { gate, failed } => self.finish(flow, start, Put { store, gate, failed, stamp }),
                Ran::Later(ticket) => {
                    let place = self.wait(flow, stamp);
                    self.owner.assign(ticket, Client { home: home as u16, place, request_bytes: 0 });
                }
            }
        } else {
            let place = self.wait(flow, stamp);
            let (command, value) = keyed.split();
            let (store, name_bytes) = (store as u16, request.key.len() as u16);
            let ask = Ask::Keyed { key, store, name_bytes, command, responder: request.responder };
            self.exchange.request(home, place, ask, &[request.key, value]);
            self.counters.remote_requests.add(1);
        }
        if last && let Some(Line::Queued(answer)) = flow.line.take() {
            flow.answers.close(answer);
        }
        Ok(())
    }

    /// An answer, or its part for one key of a line, is in the output from `start` on.
    #[inline]
    fn finish(&mut self, flow: &mut Flow, start: usize, Put { store, gate, mut failed, mut stamp }: Put) {
        let mut held = gate > Gate::NONE && gate > self.owner.durable(store);
        if held && self.owner.is_stopped(store) {
            held = false;
            // In a line of keys, silence would be taken for a miss.
            if self.out.len() > start || flow.line.is_some() {
                failed = true;
                self.out.truncate(start);
                self.out.append(&mut operate::stopped_line());
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
            None => flow.answers.push(&self.out[start..], gate, stamp, self.owner.pool()),
            Some(line) => {
                let part = self.out.split_off(start);
                let answer = match line {
                    Line::Direct(line_start) => self.queue_line(flow, line_start),
                    Line::Queued(answer) => answer,
                };
                if failed {
                    let number = flow.answers.wait_for_part(answer);
                    flow.broken |= flow.answers.fill(answer, number, part, true) == Filled::Broken;
                } else {
                    flow.answers.extend(answer, &part, gate, self.owner.pool());
                }
            }
        }
        self.out.truncate(start);
    }

    /// Moves a line of keys from the output into the queue.
    fn queue_line(&mut self, flow: &mut Flow, start: usize) -> u64 {
        let answer = flow.answers.open(Finish::Suffix(b""));
        flow.answers.extend(answer, &self.out[start..], None, self.owner.pool());
        self.out.truncate(start);
        flow.line = Some(Line::Queued(answer));
        answer
    }

    /// Makes room for an answer, or a part of the line's, that comes later.
    fn wait(&mut self, flow: &mut Flow, stamp: Stamp) -> Place {
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
        Place { connection: flow.token, answer, part, stamp }
    }

    /// The line of keys is refused as a whole.
    pub fn abandon(&mut self, flow: &mut Flow, refusal: &str) {
        match flow.line.take() {
            Some(Line::Queued(answer)) => {
                let part = flow.answers.wait_for_part(answer);
                let text = refusal.as_bytes().to_vec();
                flow.broken |= flow.answers.fill(answer, part, text, true) == Filled::Broken;
                flow.answers.close(answer);
            }
            line => {
                if let Some(Line::Direct(start)) = line {
                    self.out.truncate(start);
                }
                let start = self.out.len();
                self.out.extend_from_slice(refusal.as_bytes());
                self.finish(flow, start, Put::DONE);
            }
        }
    }

    /// Whether every other loop has room for a request.
    fn room_everywhere(&self) -> Result<(), NoRoom> {
        match self.peers().find(|peer| !self.exchange.may_send(*peer)) {
            Some(peer) => Err(NoRoom(peer)),
            None => Ok(()),
        }
    }

    fn peers(&self) -> impl Iterator<Item = usize> + use<B> {
        let own = self.number;
        (0..self.exchange.loops()).filter(move |peer| *peer != own)
    }

    fn ask_everyone(&mut self, flow: &mut Flow, answer: u64, ask: Ask) {
        for peer in self.peers() {
            let part = flow.answers.wait_for_part(answer);
            let place = Place { connection: flow.token, answer, part, stamp: Stamp::NONE };
            self.exchange.request(peer, place, ask, &[]);
        }
    }

    /// Flushes all stores, after everything that the connection asked before and before everything that it asks after:
    /// a request that waits (for flash, for a buffer, for its value's file) would else be carried out after the flush, or
    /// shown what is newer than it.
    fn flush_all(&mut self, flow: &mut Flow, request: &Request<'_>, delay: Exptime) -> Result<(), Pause> {
        let at_unix = delay.flush_at(|seconds| self.now.time.expiry_in(seconds));
        if !self.shared.flush_enabled {
            self.answer(flow, request, &Answer::Error(lines::FLUSH_NOT_ALLOWED.trim_end()));
            return Ok(());
        }
        if at_unix > 0 && !self.now.time.is_set() {
            self.answer(flow, request, &Answer::Error(operate::CLOCK_NOT_SET));
            return Ok(());
        }
        if !flow.answers.are_filled() {
            return Err(Pause::Order);
        }
        self.room_everywhere()?;
        self.counters.cmd_flush.add(1);
        let start = self.out.len();
        request.responder.write(&mut self.out, b"", &Answer::Ok);
        let quiet = self.out.len() == start;
        let answer = flow.answers.open(Finish::Suffix(b""));
        let part = flow.answers.wait_for_part(answer);
        self.ask_everyone(flow, answer, Ask::FlushAll { at_unix, quiet });
        flow.answers.extend(answer, &self.out[start..], None, self.owner.pool());
        self.out.truncate(start);
        flow.answers.close(answer);
        let place = Place { connection: flow.token, answer, part, stamp: Stamp::NONE };
        let client = Client { home: self.number as u16, place, request_bytes: 0 };
        self.owner.flush_all(client, at_unix, quiet, self.now);
        flow.flushing = true;
        Ok(())
    }

    fn stats(&mut self, flow: &mut Flow, request: &Request<'_>, stats: &Stats<'_>) -> Result<(), NoRoom> {
        let Some(kind) = report::Kind::of(stats) else {
            match stats {
                Stats::Reset => {
                    self.shared.reset_counters();
                    self.answer(flow, request, &Answer::Reset);
                }
                // Nothing is counted by prefix, because that would cost every get; and nothing lies in slabs: both reports are
                // empty.
                Stats::Detail(Detail::Dump) | Stats::Cachedump { .. } => {
                    let start = self.out.len();
                    self.out.extend_from_slice(lines::END.as_bytes());
                    self.finish(flow, start, Put::DONE);
                }
                Stats::Detail(_) => self.answer(flow, request, &Answer::Ok),
                _ => self.answer(flow, request, &Answer::Error(lines::ERROR.trim_end())),
            }
            return Ok(());
        };
        self.room_everywhere()?;
        if kind == report::Kind::Connections {
            let answer = flow.answers.open(Finish::Suffix(lines::END.as_bytes()));
            let part = flow.answers.wait_for_part(answer);
            let place = Place { connection: flow.token, answer, part, stamp: Stamp::NONE };
            self.own_asks.push((place, Ask::Connections));
            self.ask_everyone(flow, answer, Ask::Connections);
            flow.answers.close(answer);
            return Ok(());
        }
        let answer = flow.answers.open(Finish::Gather(kind as u8));
        let own = report::encode(&self.owner.figures(self.now));
        flow.answers.extend(answer, &own, None, self.owner.pool());
        self.ask_everyone(flow, answer, Ask::Figures);
        if let Filled::Gathered(tag) = flow.answers.close(answer) {
            self.gather(flow, answer, tag);
        }
        Ok(())
    }

    /// Makes the answer to `stats` of what all loops said.
    pub fn gather(&mut self, flow: &mut Flow, answer: u64, tag: u8) {
        let figures = report::merge(&flow.answers.parts(answer));
        let text = report::text(tag, &figures, &self.shared, self.now);
        flow.answers.gathered(answer, text);
    }

    /// Asks for the next part of a listing once the client has taken the one before.
    ///
    /// # Errors
    /// [`NoRoom`]: to be called again.
    pub fn list_on(&mut self, flow: &mut Flow) -> Result<(), NoRoom> {
        let settled = flow.answers.is_empty() && flow.unsent_bytes == 0;
        let Some(listing) = flow.listing.as_mut().filter(|listing| settled && !listing.asked) else { return Ok(()) };
        let (home, store) = self.route.of_store(listing.store);
        if home != self.number && !self.exchange.may_send(home) {
            return Err(NoRoom(home));
        }
        listing.asked = true;
        let Listing { form, from, first, .. } = *listing;
        let (answer, stamp) = (flow.answers.wait_for_one(), Stamp::NONE);
        let place = Place { connection: flow.token, answer, part: LISTING, stamp };
        if home == self.number {
            let client = Client { home: home as u16, place, request_bytes: 0 };
            self.owner.list(client, store, from, first, form, self.now);
        } else {
            self.exchange.request(home, place, Ask::List { store: store as u16, from, first, form }, &[]);
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
        let end = match listing.form {
            _ if listed.failed => "SERVER_ERROR the keys cannot be listed, see the server's log\r\n".to_owned(),
            _ if listing.lost > 0 => {
                format!(
                    "SERVER_ERROR {} keys cannot be read and are not listed, see the server's log\r\n",
                    listing.lost
                )
            }
            Dump::Metadump => lines::END.to_owned(),
            Dump::Mgdump => lines::EN.to_owned(),
        };
        flow.listing = None;
        flow.answers.push(end.as_bytes(), None, Stamp::NONE, self.owner.pool());
    }
}
