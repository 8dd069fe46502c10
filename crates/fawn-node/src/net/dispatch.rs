//! From a connection's bytes to its replies: parses requests and sends each to the store that owns its key, on this loop
//! or another.
//!
//! Where keys belong is the [router](KeyRouter)'s part, when the next request may be worked on the [admission
//! control](AdmissionControl)'s, and when a reply leaves the [output](ReplyOutput)'s.

pub mod delivery;
mod moves;
mod server_requests;

use crate::net::admission::{AdmissionControl, BackendLoad};
use crate::net::auth;
use crate::net::connection::{DeferredRequest, Flow, KeyLine, Pause, RetriedRequest};
use crate::net::output::{ImmediateReply, ReplyOutput};
use crate::net::router::{KeyPlace, KeyRouter};
use crate::observe::counters::Counters;
use crate::observe::latency::{RequestKind, RequestTimer};
use crate::protocol::{ParserEvent, RequestParser};
use crate::request::{CLOCK_NOT_SET, Execution, KeyRequest, ReplyBody, ReplyForm, ReplySlot, ReplyTo, ReplyWriter};
use crate::runtime::clock::Now;
use crate::runtime::mesh::{Mesh, MessageBatch, PeerRequest};
use crate::runtime::shared::SharedState;
use crate::shard::backend::Backend;
use crate::shard::route::Route;
use std::sync::Arc;

/// Sends the requests of a loop's connections to the stores that own their keys, and brings the replies back.
pub struct Dispatcher<B: Backend> {
    /// The loop's number.
    number: usize,
    /// Carries out what clients ask.
    backend: B,
    /// Links to other loops.
    mesh: Mesh,
    /// Which loop and store owns a key.
    router: KeyRouter,
    /// What all loops share.
    shared: Arc<SharedState>,
    /// The loop's counters.
    counters: Arc<Counters>,
    /// Replies of the connection at hand.
    output: ReplyOutput,
    /// The time of this turn.
    now: Now,
    /// When a connection goes on.
    admission: AdmissionControl,
    /// Reports on this loop's connections, to be made at the end of the turn.
    own_reports: Vec<(ReplySlot, &'static dyn ReplyWriter)>,
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
    pub shared: Arc<SharedState>,
    /// The loop's share of the limit on replies and operations, in bytes.
    pub bytes_limit: usize,
    /// The time.
    pub now: Now,
}

/// The part number of a slot that belongs to a listing.
const LISTING: u32 = u32::MAX;

/// The part number of a slot that belongs to a step of a move.
const MOVE: u32 = u32::MAX - 1;

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
        let item_bytes = shared.options.max_item_bytes;
        Self {
            number,
            backend,
            router: KeyRouter::new(number, route),
            counters: Arc::clone(&shared.counters[number]),
            output: ReplyOutput::new(RequestTimer::new(Arc::clone(&shared.latencies[number]))),
            now,
            admission: AdmissionControl::new(&shared.limits, mesh.loops(), bytes_limit, item_bytes),
            own_reports: Vec::new(),
            mesh,
            shared,
        }
    }

    /// A turn of the loop begins.
    pub fn begin_turn(&mut self, now: Now, now_us: u64) {
        self.now = now;
        self.output.begin_turn(now_us);
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

    /// Bounds, and memory of all connections.
    #[inline]
    pub fn admission(&self) -> &AdmissionControl {
        &self.admission
    }

    /// Bounds, and memory of all connections.
    #[inline]
    pub fn admission_mut(&mut self) -> &mut AdmissionControl {
        &mut self.admission
    }

    /// Replies of the connection at hand.
    #[inline]
    pub fn output_mut(&mut self) -> &mut ReplyOutput {
        &mut self.output
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
        self.router.forget();
    }

    /// Prefetches the keys that `upcoming` visits, as far as this loop owns them.
    pub fn prefetch<'a>(&mut self, upcoming: impl FnOnce(&mut dyn FnMut(&'a [u8]) -> bool)) {
        self.router.prefetch(upcoming, &self.backend);
    }

    /// Prefetches the keys of a batch of requests from number `first` on.
    pub fn prefetch_batch(&mut self, batch: &MessageBatch, first: usize) {
        self.router.prefetch_batch(batch, first, &self.backend);
    }

    /// Moves replies that may leave from the connection's queue to the output.
    pub fn release(&mut self, flow: &mut Flow) {
        self.output.release(&mut self.backend, flow, self.admission.stream_above());
    }

    /// Works on requests of `input` until one has to wait for something. Returns how many bytes are done with, and
    /// what the connection waits for.
    pub fn process(&mut self, parser: &mut dyn RequestParser, flow: &mut Flow, input: &[u8]) -> (usize, Pause) {
        let (used, pause) = self.process_all(parser, flow, input);
        self.output.queue_unfinished_line(&mut self.backend, flow);
        (used, pause)
    }

    fn process_all(&mut self, parser: &mut dyn RequestParser, flow: &mut Flow, input: &[u8]) -> (usize, Pause) {
        flow.flushing &= !flow.answers.are_filled();
        if let Some(deferred) = flow.deferred.take() {
            let result = match deferred.request() {
                RetriedRequest::Key(mut request) => self.key_request(flow, &mut request).map_err(Pause::from),
                RetriedRequest::Server(request, reply) => self.server_request(flow, &request, &reply),
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
            self.router.prefetch_input(parser, &input[used..], &self.backend);
            let start = self.output.len();
            let mut step = parser.next(&input[used..], &self.now.time, self.output.bytes_mut());
            used += step.consumed;
            // By reference, because a request is large.
            match &mut step.event {
                ParserEvent::Key(request) => {
                    if let Err(pause) = self.key_request(flow, request) {
                        flow.deferred = Some(Box::new(DeferredRequest::of_key(request)));
                        return (used, pause.into());
                    }
                }
                ParserEvent::Server(request, reply) => {
                    if let Err(pause) = self.server_request(flow, request, reply) {
                        flow.deferred = Some(Box::new(DeferredRequest::of_server(request.clone(), *reply)));
                        return (used, pause);
                    }
                }
                ParserEvent::Authenticate { user, password, reply } => {
                    if self.authenticate(flow, reply, user, password) {
                        parser.authenticated();
                    } else if let Some(pause) = flow.note_wrong_password(self.now.ms) {
                        return (used, pause);
                    }
                }
                ParserEvent::Replied => {
                    self.output.finish(&mut self.backend, flow, start, ImmediateReply::DONE);
                }
                ParserEvent::Abandon(refusal) => self.abandon_line(flow, refusal),
                ParserEvent::NeedMore { total } => return (used, Pause::NeedMore(*total)),
                ParserEvent::Close => return (used, Pause::Close),
            }
        }
    }

    /// What keeps the connection from working on its next request, if anything.
    #[inline]
    pub fn pause(&self, flow: &Flow) -> Option<Pause> {
        self.admission.pause(flow, self.output.len(), self.now.ms, self.load(), || self.mesh.is_crowded())
    }

    /// What the backend has under way.
    #[inline]
    pub fn load(&self) -> BackendLoad {
        BackendLoad { tasks: self.backend.waiting(), bytes: self.backend.held_bytes() }
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
        let start = self.output.len();
        reply.write(self.output.bytes_mut(), b"", body);
        self.output.finish(&mut self.backend, flow, start, ImmediateReply::DONE);
    }

    /// The line of keys is refused as a whole.
    pub fn abandon_line(&mut self, flow: &mut Flow, refusal: &[u8]) {
        self.output.abandon_line(&mut self.backend, flow, refusal);
    }

    /// Runs one request, here or where its key lives.
    fn key_request(&mut self, flow: &mut Flow, request: &mut KeyRequest<'_>) -> Result<(), NoCredit> {
        let KeyPlace { key, home, store } = self.router.locate(request.name);
        request.key = key;
        if home != self.number && !self.mesh.may_send(home) {
            return Err(NoCredit(home));
        }
        let last = request.reply.is_last();
        if !last && flow.line.is_none() {
            self.output.begin_line(flow, request.reply.join());
        }
        let what = if request.action.is_write() { RequestKind::Write } else { RequestKind::Get };
        let stamp = self.output.stamp(what);
        let start = self.output.len();
        if request.needs_clock && !self.now.time.is_set() {
            request.write_error(self.output.bytes_mut(), CLOCK_NOT_SET);
            let reply = ImmediateReply { failed: true, ..ImmediateReply::DONE };
            self.output.finish(&mut self.backend, flow, start, reply);
        } else if home == self.number {
            let out = self.output.bytes_mut();
            match self.backend.run(store, request, flow.token, self.now, usize::MAX, out) {
                Execution::Done { gate, failed } => {
                    let reply = ImmediateReply { store, gate, failed, stamp };
                    self.output.finish(&mut self.backend, flow, start, reply);
                }
                Execution::Later(ticket) => {
                    let slot = self.output.wait(&mut self.backend, flow, stamp);
                    self.backend.assign(ticket, ReplyTo { home: home as u16, slot, request_bytes: 0 });
                }
            }
        } else {
            let slot = self.output.wait(&mut self.backend, flow, stamp);
            let (action, value) = request.action.split();
            let KeyRequest { key, name, view, reply, .. } = *request;
            let ask = PeerRequest::Key { key, store: store as u16, name_bytes: name.len() as u16, action, view, reply };
            self.mesh.request(home, slot, ask, &[name, value]);
            self.counters.remote_requests.add(1);
        }
        if last && let Some(KeyLine::Queued(answer)) = flow.line.take() {
            flow.answers.close(answer);
        }
        Ok(())
    }
}
