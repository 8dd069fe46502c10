//! One event loop: a thread, its connections, its stores.
//!
//! A turn: wait for events; receive from every ready socket once, run what came, send the answers; take what other
//! loops ask and answer; work off reads that came back; let the stores write what was appended; go on with
//! connections that waited; start the turn's reads together; send off what other loops are asked and told. Nothing in
//! a turn blocks.

use crate::answers::Filled;
use crate::clock::Clock;
use crate::connection::{Connection, Pause};
use crate::counters::Counters;
use crate::desk::Desk;
use crate::dispatch::{Core, LISTING};
use crate::exchange::{Ask, Exchange, Head, Place};
use crate::listen::Listener;
use crate::operate::{self, Keyed};
use crate::owner::{Client, Done, Owner, Ran, Sizes};
use crate::report;
use crate::route::Route;
use crate::shared::{Accepted, Shared};
use crate::slab::{Slab, Token};
use crate::stores::{Reads, Stores, Turn};
use crate::sweep::Sweep;
use crate::tls::Secure;
use fawn_memcache::{Limits as SessionLimits, Session, report as lines};
use fawn_store::Gate;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Events taken from the kernel in one turn.
const EVENTS: usize = 256;
/// Connections that waited for room, gone on with in one turn and queue.
const RESUMED_A_TURN: usize = 64;
/// Handshakes to the socket, before bytes: a connection is accepted at most so often in one turn.
const ACCEPTS_A_TURN: usize = 64;

/// `epoll_data` of what is not a connection; connections' are 2^32 and above.
const WAKE: u64 = 0;
const STORES: u64 = 1;
const READS: u64 = 2;
const LISTENERS: u64 = 16;

/// One event loop.
pub struct EventLoop<S: Stores> {
    desk: Desk<S>,
    connections: Slab<Connection>,
    /// The first loop accepts for all; taken away when the node stops.
    listeners: Vec<Listener>,
    /// Accepting stopped for want of descriptors until this millisecond.
    deaf_until_ms: Option<u64>,
    next_home: usize,
    clock: Clock,
    /// Connections to be serviced in this turn.
    dirty: Vec<Token>,
    /// How far each store was durable when gated connections were last looked at.
    durable: Vec<Gate>,
    /// What the stores said in their last turn.
    turn: Turn,
    reads_ready: bool,
    sweep: Sweep,
    /// When the node began to stop, in milliseconds.
    stopping_since: Option<u64>,
    drained: bool,
}

/// What a loop is made of.
pub struct Parts<S: Stores> {
    /// Its number.
    pub number: usize,
    /// Its stores.
    pub stores: S,
    /// Their reads.
    pub reads: S::Reads,
    /// Its links.
    pub exchange: Exchange,
    /// The route.
    pub route: Route,
    /// What all loops share.
    pub shared: Arc<Shared>,
    /// What it accepts from; empty but for the first loop.
    pub listeners: Vec<Listener>,
}

impl<S: Stores> EventLoop<S> {
    /// A loop of `parts`.
    ///
    /// # Errors
    /// What the system says to a new epoll set.
    pub fn new(parts: Parts<S>) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let edge = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, parts.exchange.wake(), EventData::new_u64(WAKE), edge)?;
        for descriptor in parts.stores.descriptors() {
            epoll::add(&epoll, descriptor, EventData::new_u64(STORES), edge)?;
        }
        for descriptor in parts.reads.descriptors() {
            epoll::add(&epoll, descriptor, EventData::new_u64(READS), edge)?;
        }
        for (at, listener) in parts.listeners.iter().enumerate() {
            epoll::add(&epoll, &listener.socket, EventData::new_u64(LISTENERS + at as u64), EventFlags::IN)?;
        }
        let (shared, clock) = (parts.shared, Clock::start());
        let counters: Arc<Counters> = Arc::clone(&shared.counters[parts.number]);
        let loops = parts.exchange.loops();
        let count = parts.stores.count();
        let bytes_limit = (shared.limits.buffered_bytes / 2 / loops).max(1);
        let sizes = Sizes { value_bytes: shared.options.max_item_bytes, large_bytes: bytes_limit };
        let core = Core {
            number: parts.number,
            owner: Owner::new(parts.stores, parts.reads, Arc::clone(&counters), (parts.number, &parts.route), sizes),
            exchange: parts.exchange,
            route: parts.route,
            counters,
            pool: crate::answers::Pool::default(),
            out: Vec::new(),
            now: clock.now(),
            output_bytes: 0,
            input_bytes: 0,
            bytes_limit,
            tasks_limit: (shared.limits.requests_in_flight / loops).max(1),
            own_asks: Vec::new(),
            shared,
        };
        Ok(Self {
            desk: Desk::new(core, epoll),
            connections: Slab::default(),
            listeners: parts.listeners,
            deaf_until_ms: None,
            next_home: 0,
            clock,
            dirty: Vec::new(),
            durable: vec![Gate::NONE; count],
            turn: Turn { more: true, ..Turn::default() },
            reads_ready: false,
            sweep: Sweep::default(),
            stopping_since: None,
            drained: false,
        })
    }

    /// Runs until the node stops, then stops the stores.
    pub fn run(mut self) {
        let mut events = Vec::with_capacity(EVENTS);
        while !self.is_over() {
            if let Err(error) = self.wait(&mut events) {
                self.desk.core.shared.fail(format!("epoll_wait failed: {error}"));
                break;
            }
            self.turn(&events);
        }
        let shared = Arc::clone(&self.desk.core.shared);
        drop(self.connections);
        if let Err(why) = self.desk.core.owner.stores.stop() {
            shared.fail(why);
        }
    }

    fn is_over(&self) -> bool {
        let core = &self.desk.core;
        self.drained && core.shared.is_drained() && core.owner.is_idle() && !core.exchange.has_mail()
    }

    fn wait(&mut self, events: &mut Vec<Event>) -> Result<(), Errno> {
        events.clear();
        let timeout_ms = self.timeout_ms();
        let core = &self.desk.core;
        let sleeps = timeout_ms != Some(0);
        let mut timeout = timeout_ms.map(timespec);
        if sleeps {
            core.exchange.wake().prepare_to_sleep();
            let stop = core.shared.is_stopping() && self.stopping_since.is_none();
            let over = self.drained && core.shared.is_drained();
            if core.exchange.has_mail() || core.shared.has_accepted(core.number) || stop || over {
                timeout = Some(timespec(0));
            }
        }
        let result = epoll::wait(&self.desk.epoll, rustix::buffer::spare_capacity(events), timeout.as_ref());
        if sleeps {
            core.exchange.wake().awake();
        }
        match result {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// How long the loop may sleep; `None` for as long as nothing happens.
    fn timeout_ms(&self) -> Option<u64> {
        let now = self.desk.core.now.ms;
        if self.turn.more
            || self.desk.core.owner.stores.wants_turn()
            || !self.dirty.is_empty()
            || !self.desk.core.own_asks.is_empty()
        {
            return Some(0);
        }
        let stores = self.turn.due_ms.map(|due| due.saturating_sub(now));
        let sweep = (self.connections.len() > 0).then(|| self.sweep.due_in(now));
        let accept = self.deaf_until_ms.map(|until| until.saturating_sub(now));
        let stop = self.stopping_since.map(|_| 50);
        [stores, sweep, accept, stop].into_iter().flatten().min()
    }

    fn turn(&mut self, events: &[Event]) {
        let began = Instant::now();
        self.desk.core.now = self.clock.now();
        self.desk.handshakes_left = self.desk.core.shared.limits.handshakes_a_turn;
        for event in events {
            self.on_event(event);
        }
        self.take_accepted();
        self.take_mail();
        self.stores_turn();
        self.answer_own_asks();
        self.hand_out();
        self.service_dirty();
        self.resume();
        if let Err(why) = self.desk.core.owner.submit() {
            self.desk.core.shared.fail(format!("reads can no longer be started: {why}"));
        }
        let woken = self.desk.core.exchange.send();
        self.sweep();
        self.stop_step();
        let counters = &self.desk.core.counters;
        counters.wake_ups.add(woken as u64);
        counters.turns.add(1);
        counters.longest_turn_us.max(began.elapsed().as_micros() as u64);
    }

    fn on_event(&mut self, event: &Event) {
        let (data, flags) = (event.data.u64(), event.flags);
        match data {
            WAKE | STORES => {}
            READS => self.reads_ready = true,
            LISTENERS..0x1_0000_0000 => self.accept((data - LISTENERS) as usize),
            _ => self.on_socket(Token::from_u64(data), flags),
        }
    }

    fn on_socket(&mut self, token: Token, flags: EventFlags) {
        let Some(conn) = self.connections.get_mut(token) else { return };
        let gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        if flags.contains(EventFlags::IN) && conn.interest.contains(EventFlags::IN) {
            self.desk.receive(conn);
        }
        if flags.contains(EventFlags::OUT) {
            self.desk.service(conn);
        }
        // Nobody hears the answers any more, but what came before the end is done.
        if gone && !conn.wanted().contains(EventFlags::IN) {
            conn.flow.broken = true;
        }
        self.settle(token);
    }

    /// Brings the books up to date and closes the connection if it is over.
    fn settle(&mut self, token: Token) {
        let Some(conn) = self.connections.get_mut(token) else { return };
        if self.desk.settle(conn) {
            self.close(token);
        }
    }

    fn close(&mut self, token: Token) {
        if let Some(mut conn) = self.connections.remove(token) {
            self.desk.forget(&mut conn);
            self.desk.core.counters.curr_connections.sub(1);
            self.desk.core.shared.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn accept(&mut self, at: usize) {
        for _ in 0..ACCEPTS_A_TURN {
            let Some(listener) = self.listeners.get(at) else { return };
            let flags = rustix::net::SocketFlags::NONBLOCK | rustix::net::SocketFlags::CLOEXEC;
            match rustix::net::accept_with(&listener.socket, flags) {
                Ok(socket) => {
                    let family = listener.family;
                    self.place(Accepted { socket, family });
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                Err(error) => {
                    tracing::warn!("cannot accept connections for 100 ms: {error}");
                    return self.stop_accepting(self.desk.core.now.ms + 100);
                }
            }
        }
    }

    fn stop_accepting(&mut self, until_ms: u64) {
        self.deaf_until_ms = Some(until_ms);
        for listener in &self.listeners {
            let _ = epoll::delete(&self.desk.epoll, &listener.socket);
        }
    }

    fn accept_again(&mut self) {
        if self.deaf_until_ms.is_some_and(|until| until <= self.desk.core.now.ms) {
            self.deaf_until_ms = None;
            for (at, listener) in self.listeners.iter().enumerate() {
                let data = EventData::new_u64(LISTENERS + at as u64);
                let _ = epoll::add(&self.desk.epoll, &listener.socket, data, EventFlags::IN);
            }
        }
    }

    /// Gives a new connection to the loop whose turn it is.
    fn place(&mut self, accepted: Accepted) {
        let shared = Arc::clone(&self.desk.core.shared);
        let counters = &self.desk.core.counters;
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= shared.limits.connections {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            counters.rejected_connections.add(1);
            let line = fawn_memcache::lines::TOO_MANY_CONNECTIONS.as_bytes();
            if shared.tls_for(accepted.family).is_none() {
                let _ = rustix::net::send(&accepted.socket, line, rustix::net::SendFlags::NOSIGNAL);
            }
            return;
        }
        counters.total_connections.add(1);
        let home = self.next_home;
        self.next_home = (home + 1) % self.desk.core.exchange.loops();
        if home == self.desk.core.number {
            self.adopt(accepted);
        } else {
            shared.hand_over(home, accepted);
        }
    }

    fn take_accepted(&mut self) {
        self.accept_again();
        let core = &self.desk.core;
        if core.exchange.loops() > 1 && core.shared.has_accepted(core.number) {
            for accepted in core.shared.take_accepted(core.number) {
                self.adopt(accepted);
            }
        }
    }

    fn adopt(&mut self, accepted: Accepted) {
        let core = &self.desk.core;
        let shared = &core.shared;
        let tls = match shared.tls_for(accepted.family).map(|config| Secure::new(&config)).transpose() {
            Ok(tls) => tls.map(Box::new),
            Err(error) => {
                tracing::error!("a TLS connection cannot be made: {error}");
                shared.connections.fetch_sub(1, Ordering::Relaxed);
                return;
            }
        };
        let limits = SessionLimits { item_bytes: shared.options.max_item_bytes };
        let session = if shared.users.is_some() { Session::with_authentication(limits) } else { Session::new(limits) };
        if accepted.family == crate::listen::Family::Tcp {
            let _ = rustix::net::sockopt::set_tcp_nodelay(&accepted.socket, true);
            let _ = rustix::net::sockopt::set_socket_keepalive(&accepted.socket, true);
        }
        let mut conn = Connection::new(accepted.socket, accepted.family, tls, session, core.now.ms);
        conn.interest = EventFlags::IN;
        let token = self.connections.insert(conn);
        self.desk.core.counters.curr_connections.add(1);
        let conn = self.connections.get_mut(token).expect("the connection was just added");
        conn.flow.token = token;
        let data = EventData::new_u64(token.to_u64());
        if let Err(error) = epoll::add(&self.desk.epoll, &conn.socket, data, EventFlags::IN) {
            tracing::error!("a connection cannot be watched: {error}");
            self.close(token);
        }
    }

    /// Takes what other loops ask and answer.
    fn take_mail(&mut self) {
        for peer in 0..self.desk.core.exchange.loops() {
            if peer == self.desk.core.number {
                continue;
            }
            while let Some(parcel) = self.desk.core.exchange.next_requests(peer) {
                for (place, head, bytes) in parcel.messages() {
                    let Head::Request(ask) = head else { unreachable!("the requests' ring holds requests") };
                    self.serve(peer, place, &ask, bytes);
                }
                self.desk.core.exchange.recycle(parcel);
            }
            while let Some(parcel) = self.desk.core.exchange.next_answers(peer) {
                for (place, head, bytes) in parcel.messages() {
                    let Head::Answer { failed, .. } = head else { unreachable!("the answers' ring holds answers") };
                    let bytes = self.desk.core.pool.copy(bytes);
                    self.fill(place, bytes, failed);
                }
                self.desk.core.exchange.recycle(parcel);
            }
        }
    }

    /// Does what loop `peer` asks.
    fn serve(&mut self, peer: usize, place: Place, ask: &Ask, bytes: &[u8]) {
        let core = &mut self.desk.core;
        let client = Client { home: peer as u16, place, request_bytes: bytes.len() as u32 };
        match *ask {
            Ask::Keyed { key, store, name_bytes, command, responder } => {
                let (name, value) = bytes.split_at(usize::from(name_bytes));
                let keyed = Keyed { key, name, command: Keyed::join(command, value), responder };
                let mut out = core.pool.take();
                match core.owner.run(usize::from(store), &keyed, core.now, &mut out) {
                    Ran::Done { gate, failed } => {
                        core.owner.deliver(vec![(usize::from(store), gate)], Done { client, bytes: out, failed });
                    }
                    Ran::Later(ticket) => {
                        core.pool.give(out);
                        core.owner.assign(ticket, client);
                    }
                }
            }
            Ask::FlushAll { at_unix } => {
                let (gates, bytes) = match core.owner.flush_all(at_unix, core.now) {
                    Ok(gates) => (gates, Vec::new()),
                    Err(refusal) => {
                        tracing::error!("flush_all was refused: {refusal}");
                        (Vec::new(), operate::STOPPED.as_bytes().iter().chain(b"\r\n").copied().collect())
                    }
                };
                let failed = !bytes.is_empty();
                core.owner.deliver(gates, Done { client, bytes, failed });
            }
            Ask::Figures => {
                let bytes = report::encode(&core.owner.stores.figures(core.now));
                core.owner.deliver(Vec::new(), Done { client, bytes, failed: false });
            }
            Ask::List { store, from, first, form } => {
                core.owner.list(client, usize::from(store), from, first, form, core.now);
            }
            Ask::Connections => {
                let bytes = self.describe_connections();
                self.desk.core.owner.deliver(Vec::new(), Done { client, bytes, failed: false });
            }
        }
    }

    fn answer_own_asks(&mut self) {
        for (place, _) in std::mem::take(&mut self.desk.core.own_asks) {
            let bytes = self.describe_connections();
            self.fill(place, bytes, false);
        }
    }

    fn describe_connections(&self) -> Vec<u8> {
        let (mut out, number, now) = (Vec::new(), self.desk.core.number, self.desk.core.now.ms);
        for conn in self.connections.iter() {
            let name = |what: &str| format!("{number}.{}:{what}", conn.flow.token.to_u64() as u32);
            let peer = conn.peer_name();
            lines::stat(&mut out, &name("addr"), &peer);
            let state = if matches!(conn.pause, Pause::NeedMore(_)) { "conn_read" } else { "conn_waiting" };
            lines::stat(&mut out, &name("state"), state);
            lines::stat_number(&mut out, &name("secs_since_last_cmd"), (now - conn.received_ms.min(now)) / 1000);
        }
        out
    }

    /// Lets the stores work, and works off reads that came back.
    fn stores_turn(&mut self) {
        let core = &mut self.desk.core;
        if std::mem::take(&mut self.reads_ready)
            && let Err(why) = core.owner.complete_reads(core.now)
        {
            core.shared.fail(format!("reads no longer come back: {why}"));
        }
        self.turn = core.owner.turn(core.now);
        if let Some((store, why)) = self.turn.stopped.clone() {
            self.fail_gates(store, &why);
        }
        let core = &self.desk.core;
        let durable = |store| core.owner.stores.durable(store);
        if (0..self.durable.len()).any(|store| durable(store) != self.durable[store]) {
            for (store, held) in self.durable.iter_mut().enumerate() {
                *held = durable(store);
            }
            for token in std::mem::take(&mut self.desk.gated) {
                if let Some(conn) = self.connections.get_mut(token) {
                    conn.gated = false;
                    mark(&mut self.dirty, conn);
                }
            }
        }
    }

    /// A store has stopped: what waits for it is answered with an error, and the node stops.
    fn fail_gates(&mut self, store: usize, why: &str) {
        let durable = self.desk.core.owner.stores.durable(store);
        let error = [operate::STOPPED.as_bytes(), b"\r\n"].concat();
        for token in std::mem::take(&mut self.desk.gated) {
            if let Some(conn) = self.connections.get_mut(token) {
                conn.gated = false;
                mark(&mut self.dirty, conn);
            }
        }
        for at in 0..self.connections.slots() {
            if let Some(conn) = self.connections.at(at).and_then(|token| self.connections.get_mut(token)) {
                conn.flow.answers.fail_gates(store as u16, durable, &error);
            }
        }
        self.desk.core.shared.fail(why.to_owned());
    }

    /// Brings answers of the owner's tasks to their connections, here or on other loops.
    fn hand_out(&mut self) {
        while let Some(done) = self.desk.core.owner.next_done() {
            let (home, place) = (usize::from(done.client.home), done.client.place);
            if home == self.desk.core.number {
                self.fill(place, done.bytes, done.failed);
            } else {
                let core = &mut self.desk.core;
                core.exchange.answer(home, place, done.failed, done.client.request_bytes, &done.bytes);
                core.pool.give(done.bytes);
            }
        }
    }

    /// Puts an answer that has come in its place.
    fn fill(&mut self, place: Place, bytes: Vec<u8>, failed: bool) {
        let Some(conn) = self.connections.get_mut(place.connection) else { return };
        if place.part == LISTING {
            self.desk.core.listed(&mut conn.flow, place.answer, &bytes);
        } else {
            match conn.flow.answers.fill(place.answer, place.part, bytes, failed) {
                Filled::Taken => {}
                Filled::Gathered(tag) => self.desk.core.gather(&mut conn.flow, place.answer, tag),
                Filled::Broken => conn.flow.broken = true,
            }
        }
        mark(&mut self.dirty, conn);
    }

    fn service_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for token in dirty.drain(..) {
            if let Some(conn) = self.connections.get_mut(token) {
                conn.dirty = false;
                self.desk.service(conn);
                self.settle(token);
            }
        }
        if self.dirty.is_empty() {
            self.dirty = dirty;
        }
    }

    /// Goes on with connections that waited for room, as far as there is some.
    fn resume(&mut self) {
        for _ in 0..RESUMED_A_TURN.min(self.desk.queues.tasks.len()) {
            if self.desk.core.owner.waiting() >= self.desk.core.tasks_limit {
                break;
            }
            let token = self.desk.queues.tasks.pop_front();
            self.resume_one(token);
        }
        for _ in 0..RESUMED_A_TURN.min(self.desk.queues.memory.len()) {
            let token = self.desk.queues.memory.pop_front();
            self.resume_one(token);
        }
        for peer in 0..self.desk.queues.credit.len() {
            for _ in 0..RESUMED_A_TURN.min(self.desk.queues.credit[peer].len()) {
                if !self.desk.core.exchange.may_send(peer) {
                    break;
                }
                let token = self.desk.queues.credit[peer].pop_front();
                self.resume_one(token);
            }
        }
        let queues = &self.desk.queues;
        let paused = queues.tasks.len()
            + queues.memory.len()
            + queues.credit.iter().map(std::collections::VecDeque::len).sum::<usize>();
        let counters = &self.desk.core.counters;
        counters.paused.add((paused as u64).wrapping_sub(counters.paused.get()));
        let buffered = (self.desk.core.input_bytes + self.desk.core.output_bytes) as u64;
        counters.buffered_bytes.add(buffered.wrapping_sub(counters.buffered_bytes.get()));
    }

    fn resume_one(&mut self, token: Option<Token>) {
        if let Some(token) = token
            && let Some(conn) = self.connections.get_mut(token)
        {
            conn.queued = false;
            self.desk.service(conn);
            self.settle(token);
        }
    }

    /// Looks for connections that make no progress, a few in a turn.
    fn sweep(&mut self) {
        let now = self.desk.core.now.ms;
        for at in self.sweep.next(now, self.connections.slots()) {
            let Some(token) = self.connections.at(at) else { continue };
            let Some(conn) = self.connections.get_mut(token) else { continue };
            let core = &self.desk.core;
            if let Some(verdict) = crate::sweep::judge(conn, &core.shared.limits, now) {
                match verdict {
                    crate::sweep::Verdict::Idle => core.counters.idle_kicks.add(1),
                    crate::sweep::Verdict::Stalled => core.counters.stall_kicks.add(1),
                }
                self.close(token);
            }
        }
    }

    /// A step of stopping: no new connections, what has been received is finished, then connections close.
    fn stop_step(&mut self) {
        if !self.desk.core.shared.is_stopping() || self.drained {
            return;
        }
        let now = self.desk.core.now.ms;
        let since = match self.stopping_since {
            Some(since) => since,
            None => {
                self.begin_stop();
                *self.stopping_since.insert(now)
            }
        };
        let late = now - since >= self.desk.core.shared.limits.stop_timeout.as_millis() as u64;
        for at in 0..self.connections.slots() {
            let Some(token) = self.connections.at(at) else { continue };
            if late {
                self.close(token);
            } else {
                self.settle(token);
            }
        }
        if self.connections.len() == 0 && !self.desk.core.shared.has_accepted(self.desk.core.number) {
            self.drained = true;
            self.desk.core.shared.note_drained();
        }
    }

    fn begin_stop(&mut self) {
        self.stop_accepting(u64::MAX);
        self.listeners.clear();
        self.take_accepted();
        for at in 0..self.connections.slots() {
            let Some(token) = self.connections.at(at) else { continue };
            let Some(conn) = self.connections.get_mut(token) else { continue };
            if conn.interest.contains(EventFlags::IN) {
                // What the kernel has received was sent before the node began to stop.
                self.desk.receive(conn);
            }
            self.desk.hang_up(conn);
            self.settle(token);
        }
    }
}

fn mark(dirty: &mut Vec<Token>, conn: &mut Connection) {
    if !conn.dirty {
        conn.dirty = true;
        dirty.push(conn.flow.token);
    }
}

fn timespec(ms: u64) -> Timespec {
    Timespec { tv_sec: (ms / 1000) as i64, tv_nsec: (ms % 1000 * 1_000_000) as _ }
}
