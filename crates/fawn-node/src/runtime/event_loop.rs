//! One event loop: a thread, its connections, its stores.
//!
//! A turn: wait for events; receive from every ready socket once, run what came, send the answers, each for a group of
//! sockets; take what other loops ask and answer; work off reads that came back; let the stores write what was appended; go on with
//! connections that waited; start the turn's reads together; send off what other loops are asked and told. Nothing in
//! a turn blocks.

mod accept;
mod mail;
mod stop;

use crate::net::connection::Pause;
use crate::net::connection_table::ConnectionTable;
use crate::net::dispatch::{Dispatcher, DispatcherParts};
use crate::net::group::SocketGroup;
use crate::net::listen::{Listener, ReservedAddress};
use crate::net::reaper::{CloseReason, Reaper, reason_to_close};
use crate::net::worker::{ConnectionWorker, WaitQueue};
use crate::observe::counters::Counters;
use crate::runtime::acceptor::Acceptor;
use crate::runtime::clock::{Clock, Now};
use crate::runtime::mesh::Mesh;
use crate::runtime::reports::LoopReports;
use crate::runtime::shared::SharedState;
use crate::runtime::slab::Token;
use crate::runtime::stop::StopProgress;
use crate::shard::backend::{Backend, LoopEnvironment, SizeLimits, WATCHED};
use crate::shard::route::Route;
use crate::shard::stores::Turn;
use fawn_store::Gate;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Events taken from the kernel in one turn.
const EVENTS: usize = 256;

/// Sockets are worked on for so long in one turn; the rest of the events are for the next ones, so that reads are
/// started, batches handed over and other loops answered in between.
const TURN_BUDGET: Duration = Duration::from_millis(1);

/// Connections that waited and go on, in one turn and for each queue.
const RESUMED_A_TURN: usize = 64;

/// Connections accepted in one turn and listener.
const ACCEPTS_A_TURN: usize = 64;

/// `epoll_data` of what is not a connection, connections' being [`SOCKETS`] and above.
const WAKE: u64 = 0;

const LISTENERS: u64 = 16;

const SOCKETS: u64 = 1 << 32;

/// One event loop.
pub struct EventLoop<B: Backend> {
    number: usize,
    worker: ConnectionWorker<B>,
    shared: Arc<SharedState>,
    counters: Arc<Counters>,
    /// The time of this turn.
    now: Now,
    connections: ConnectionTable,
    group: SocketGroup,
    acceptor: Acceptor,
    clock: Clock,
    /// How far each store was durable when gated connections were last looked at.
    durable: Vec<Gate>,
    /// What the stores said in their last turn.
    turn: Turn,
    reaper: Reaper,
    reports: LoopReports,
    stop: StopProgress,
}

/// What a loop is made of.
pub struct LoopParts<B: Backend> {
    /// Its number.
    pub number: usize,
    /// Its backend.
    pub seed: B::Seed,
    /// Its links.
    pub mesh: Mesh,
    /// The route.
    pub route: Route,
    /// What all loops share.
    pub shared: Arc<SharedState>,
    /// What it accepts from; empty but for the first loop.
    pub listeners: Vec<Listener>,
    /// Where it is to listen once all loops are ready; the same.
    pub reserved: Vec<ReservedAddress>,
}

impl<B: Backend> EventLoop<B> {
    /// A loop of `parts`.
    ///
    /// # Errors
    /// What the system says to a new epoll set.
    pub fn new(parts: LoopParts<B>) -> Result<Self, Errno> {
        let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC)?);
        let edge = EventFlags::IN | EventFlags::ET;
        epoll::add(&*epoll, parts.mesh.wake(), EventData::new_u64(WAKE), edge)?;
        let acceptor = Acceptor::new(parts.listeners, parts.reserved, LISTENERS, B::WAITS);
        acceptor.watch(&epoll)?;
        let (shared, mut clock) = (parts.shared, Clock::start());
        let counters: Arc<Counters> = Arc::clone(&shared.counters[parts.number]);
        let loops = parts.mesh.loops();
        let bytes_limit = (shared.limits.buffered_bytes / 4 / loops).max(1);
        let sizes = SizeLimits { value: shared.options.max_item_bytes, large: bytes_limit / 4 };
        let given = LoopEnvironment {
            number: parts.number,
            counters: Arc::clone(&counters),
            route: &parts.route,
            sizes,
            epoll: Arc::clone(&epoll),
        };
        let backend = B::make(parts.seed, given)?;
        let count = backend.stores();
        let now = clock.now();
        let dispatcher = Dispatcher::new(DispatcherParts {
            number: parts.number,
            backend,
            mesh: parts.mesh,
            route: parts.route,
            shared: Arc::clone(&shared),
            bytes_limit,
            now,
        });
        let stop = StopProgress::new(shared.limits.stop_timeout.as_millis() as u64);
        Ok(Self {
            number: parts.number,
            worker: ConnectionWorker::new(dispatcher, epoll),
            shared,
            counters,
            now,
            connections: ConnectionTable::default(),
            group: SocketGroup::default(),
            acceptor,
            clock,
            durable: vec![Gate::NONE; count],
            turn: Turn { more: true, ..Turn::default() },
            reaper: Reaper::default(),
            reports: LoopReports::new(parts.number),
            stop,
        })
    }

    /// Runs until the node stops, then stops the stores.
    pub fn run(mut self) {
        let mut events = Vec::with_capacity(EVENTS);
        let mut done = 0;
        while !self.is_over() {
            if done == events.len() {
                done = 0;
                if let Err(error) = self.wait(&mut events) {
                    self.shared.fail(format!("epoll_wait failed: {error}"));
                    break;
                }
            } else {
                self.worker.backend_mut().look_again();
            }
            done += self.turn(&events[done..]);
        }
        let shared = Arc::clone(&self.shared);
        drop(self.connections);
        if self.stop.gave_up() {
            self.worker.backend_mut().forget_reads();
        }
        if let Err(why) = self.worker.into_backend().stop() {
            shared.fail(why);
        }
    }

    fn is_over(&self) -> bool {
        let finished = self.worker.backend().is_idle() && !self.worker.mesh().has_mail();
        self.stop.is_drained() && self.shared.is_drained() && (finished || self.stop.gave_up())
    }

    fn wait(&mut self, events: &mut Vec<Event>) -> Result<(), Errno> {
        events.clear();
        let timeout_ms = self.timeout_ms();
        let sleeps = timeout_ms != Some(0);
        let mut timeout = timeout_ms.map(timespec);
        if sleeps {
            self.worker.mesh().wake().prepare_to_sleep();
            let stop = self.shared.is_stopping() && !self.stop.has_begun();
            let over = self.stop.is_drained() && self.shared.is_drained();
            let asked = self.reports.is_asked(&self.shared);
            if self.worker.mesh().has_mail() || self.shared.has_accepted(self.number) || stop || over || asked {
                timeout = Some(timespec(0));
            }
        }
        let result = epoll::wait(self.worker.epoll(), rustix::buffer::spare_capacity(events), timeout.as_ref());
        if sleeps {
            self.worker.mesh().wake().awake();
        }
        match result {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            // They pass.
            Err(Errno::NOMEM | Errno::AGAIN) => {
                std::thread::sleep(Duration::from_millis(1));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// How long the loop may sleep; `None` for as long as nothing happens.
    fn timeout_ms(&self) -> Option<u64> {
        let now = self.now.ms;
        if self.turn.more
            || self.worker.backend().wants_turn()
            || self.connections.is_dirty()
            || self.worker.may_resume()
            || self.worker.dispatcher().has_own_reports()
        {
            return Some(0);
        }
        let stores = self.turn.due_ms.map(|due| due.saturating_sub(now));
        let reaper = (self.connections.len() > 0).then(|| self.reaper.due_in(now));
        let accept = self.acceptor.due_in(now);
        let stop = self.stop.has_begun().then_some(50);
        [stores, reaper, accept, stop].into_iter().flatten().min()
    }

    /// One turn; returns how many of `events` were worked on.
    fn turn(&mut self, events: &[Event]) -> usize {
        let began = Instant::now();
        self.now = self.clock.now();
        let began_us = self.clock.us(began);
        self.worker.begin_turn(self.now, began_us, self.shared.limits.handshakes_a_turn);
        let mut done = 0;
        while done < events.len() {
            done += self.on_events(&events[done..]);
            let spent = began.elapsed();
            self.worker.dispatcher_mut().output_mut().end_event(began_us + spent.as_micros() as u64);
            if spent >= TURN_BUDGET {
                break;
            }
        }
        self.take_accepted();
        self.take_mail();
        self.stores_turn();
        self.answer_own_asks();
        self.hand_out();
        self.service_dirty();
        self.resume();
        self.reap();
        self.stop_step();
        let (is_first, backend) = (self.number == 0, self.worker.backend());
        self.acceptor.start_step(is_first, || backend.is_ready(), &self.shared, self.worker.epoll());
        // What was begun or reserved since.
        self.hand_out();
        if let Err(why) = self.worker.backend_mut().submit(self.now) {
            self.shared.fail(why);
        }
        let woken = self.worker.mesh_mut().send();
        self.reports.step(self.worker.backend_mut(), &self.shared, self.now);
        let counters = &self.counters;
        counters.wake_ups.add(woken as u64);
        counters.turns.add(1);
        let took_us = began.elapsed().as_micros() as u64;
        self.worker.dispatcher_mut().output_mut().end_event(began_us + took_us);
        let counters = &self.counters;
        counters.longest_turn_us.max(took_us);
        if took_us > 1000 {
            counters.turns_over_1ms.add(1);
            counters.turns_over_10ms.add(u64::from(took_us > 10_000));
        }
        done
    }

    /// Works on the first of `events`, on as many more as make a group. Returns on how many.
    fn on_events(&mut self, events: &[Event]) -> usize {
        let mut done = 0;
        for event in events {
            let data = event.data.u64();
            if !(SOCKETS..WATCHED).contains(&data) || !self.gather(Token::from_u64(data), event.flags) {
                if done > 0 {
                    break;
                }
                self.on_event(event);
                return 1;
            }
            done += 1;
            if self.group.is_full() {
                break;
            }
        }
        self.work_group();
        done
    }

    /// Receives from a connection that is ready by `flags`, into the group, which is not full; `false`, and nothing, when
    /// it is one to be worked on alone.
    fn gather(&mut self, token: Token, flags: EventFlags) -> bool {
        let now_ms = self.now.ms;
        self.connections.get_mut(token).is_some_and(|conn| self.group.receive(conn, flags, now_ms))
    }

    /// Works on what the group has received and sends the replies.
    fn work_group(&mut self) {
        let mut group = std::mem::take(&mut self.group);
        group.work(&mut self.connections, &mut self.worker);
        for member in group.members() {
            let Some(conn) = self.connections.get_mut(member.token) else { continue };
            group.send(member, conn, &mut self.worker);
            self.finish_event(member.token, member.flags);
        }
        group.clear();
        self.group = group;
    }

    fn on_event(&mut self, event: &Event) {
        let (data, flags) = (event.data.u64(), event.flags);
        match data {
            WAKE => {}
            WATCHED.. => self.worker.backend_mut().on_event(data, flags, self.now),
            LISTENERS..SOCKETS => self.accept(data),
            _ => self.on_socket(Token::from_u64(data), flags),
        }
    }

    fn on_socket(&mut self, token: Token, flags: EventFlags) {
        let Some(conn) = self.connections.get_mut(token) else { return };
        if flags.contains(EventFlags::IN) && conn.interest.contains(EventFlags::IN) {
            self.worker.receive(conn);
        }
        if flags.contains(EventFlags::OUT) {
            self.worker.service(conn);
        }
        self.finish_event(token, flags);
    }

    /// What a connection's event by `flags` asks for is done.
    fn finish_event(&mut self, token: Token, flags: EventFlags) {
        let Some(conn) = self.connections.get_mut(token) else { return };
        let gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        // Nobody hears the answers any more, but what came before the end is done.
        if gone && !conn.wanted().contains(EventFlags::IN) {
            conn.flow.broken = true;
        }
        self.settle(token);
    }

    /// Brings the books up to date and closes the connection if it is over.
    fn settle(&mut self, token: Token) {
        let Some(conn) = self.connections.get_mut(token) else { return };
        if self.worker.settle(conn) {
            self.close(token);
        }
    }

    fn close(&mut self, token: Token) {
        if let Some(mut conn) = self.connections.remove(token) {
            self.worker.forget(&mut conn);
            self.counters.curr_connections.sub(1);
            self.shared.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Lets the stores work, and works off reads that came back.
    fn stores_turn(&mut self) {
        self.turn = self.worker.backend_mut().turn(self.now);
        if let Some(why) = self.turn.failed.take() {
            self.shared.fail(why);
        }
        if let Some(why) = self.turn.ousted.take() {
            self.shared.oust(why);
        }
        for (store, why) in std::mem::take(&mut self.turn.stopped) {
            self.fail_gates(store, &why);
        }
        let durable = |store| self.worker.backend().durable(store);
        if (0..self.durable.len()).any(|store| durable(store) != self.durable[store]) {
            for (store, held) in self.durable.iter_mut().enumerate() {
                *held = durable(store);
            }
            self.mark_gated();
        }
    }

    /// Replies that waited for a sync may leave.
    fn mark_gated(&mut self) {
        for token in self.worker.take_gated() {
            if let Some(conn) = self.connections.mark(token) {
                conn.gated = false;
            }
        }
    }

    fn service_dirty(&mut self) {
        let mut dirty = self.connections.take_dirty();
        for token in dirty.drain(..) {
            if let Some(conn) = self.connections.get_mut(token) {
                conn.dirty = false;
                self.worker.service(conn);
                self.settle(token);
            }
        }
        self.connections.reuse(dirty);
    }

    /// Goes on with connections that need not wait any more.
    fn resume(&mut self) {
        for queue in [WaitQueue::Tasks, WaitQueue::Memory, WaitQueue::Input] {
            self.resume_some(queue);
        }
        for peer in 0..self.worker.mesh().loops() {
            self.resume_some(WaitQueue::Credit(peer));
        }
        for _ in 0..self.worker.begin_round() {
            let Some(token) = self.worker.next_in_round() else { break };
            if let Some(conn) = self.connections.get_mut(token) {
                conn.waits_for_reservation = false;
                self.worker.grant_again(conn);
            }
        }
        let paused = self.worker.queued() as u64;
        let counters = &self.counters;
        counters.paused.add(paused.wrapping_sub(counters.paused.get()));
        let buffered =
            (self.worker.dispatcher().admission().memory().buffered() + self.worker.backend().held_bytes()) as u64;
        counters.buffered_bytes.add(buffered.wrapping_sub(counters.buffered_bytes.get()));
    }

    fn resume_some(&mut self, queue: WaitQueue) {
        for _ in 0..RESUMED_A_TURN {
            let Some(token) = self.worker.next_resumed(queue) else { return };
            if let Some(conn) = self.connections.get_mut(token) {
                conn.queued = false;
                self.worker.service(conn);
                self.settle(token);
            }
        }
    }

    /// Looks for connections that make no progress, a few in a turn.
    fn reap(&mut self) {
        let now = self.now.ms;
        for at in self.reaper.next(now, self.connections.slots()) {
            let Some(token) = self.connections.at(at) else { continue };
            let Some(conn) = self.connections.get_mut(token) else { continue };
            self.worker.grant_next(conn);
            let is_punished = matches!(conn.pause, Pause::Penalty(until) if until <= now);
            let reason = reason_to_close(conn, &self.shared.limits, now);
            if is_punished {
                self.connections.mark(token);
            }
            if let Some(reason) = reason {
                match reason {
                    CloseReason::Idle => self.counters.idle_kicks.add(1),
                    CloseReason::Stalled => self.counters.stall_kicks.add(1),
                }
                self.close(token);
            }
        }
    }
}

fn timespec(ms: u64) -> Timespec {
    Timespec { tv_sec: (ms / 1000).cast_signed(), tv_nsec: (ms % 1000 * 1_000_000).cast_signed() as _ }
}
