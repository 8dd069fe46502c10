//! One loop: a thread, its connections, its share of the operations.
//!
//! A turn: send what is due by the clock; wait for events; receive from every ready socket once, look at the answers, ask
//! for as much again, and send that together. The clock is read once for each receive.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fawn_machine::process::thread_cpu_us;
use fawn_machine::wait::wait;
use fawn_memcache::client::{CheckedReply, ParseOutcome, RequestKind};
use rustix::event::epoll::{self, CreateFlags, Event, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use crate::choice::Chooser;
use crate::context::PhaseContext;
use crate::error::LoadgenError;
use crate::mix::RequestPurpose;
use crate::pipe::{Pipe, ReceiveOutcome};
use crate::protocol::Codec;
use crate::schedule::Schedule;
use crate::stats::OperationStats;
use crate::verdict::{AnswerVerdict, InFlight, note, time};

/// Events taken from the system at a time.
const EVENTS: usize = 256;
/// Least bytes that are received at a time, and most that are meant to be.
const RECEIVE_BYTES: std::ops::Range<usize> = 64 << 10..1 << 20;
/// How often it is looked whether somebody has fallen silent, at least.
const LOOK: Duration = Duration::from_millis(100);
/// How often a load puts again what was refused, without a pace each time with one request in flight on each connection.
const MOST_ROUNDS: u32 = 8;
/// How long it waits before the first time; before each later one, twice as long.
const FIRST_REST: Duration = Duration::from_millis(10);
/// Bytes of an answer that are told when it is none.
const TOLD_BYTES: usize = 80;

/// Where a loop's operations come from.
pub enum OperationSource<'a> {
    /// Every key once, and again what was refused: a server may have too much under way.
    Load(KeyLoad),
    /// Drawn.
    Mix {
        /// By this.
        chooser: Chooser<'a>,
        /// How many more.
        left: u64,
    },
}

/// The keys of a loop's load.
pub struct KeyLoad {
    /// The next key.
    next: u64,
    /// The one after it is so much later.
    step: u64,
    /// Those that are put again before it.
    again: Vec<u64>,
    /// Whether any set was stored.
    has_stored: bool,
    /// Those refused since the round began.
    refused: Vec<u64>,
    rounds: u32,
}

impl KeyLoad {
    /// The load of loop `number` of `loops`.
    pub fn new(number: usize, loops: usize) -> Self {
        Self {
            next: number as u64,
            step: loops as u64,
            again: Vec::new(),
            has_stored: false,
            refused: Vec::new(),
            rounds: 0,
        }
    }

    /// The next of `keys` keys, if there is one.
    #[inline]
    fn next(&mut self, keys: u64) -> Option<u64> {
        if let Some(index) = self.again.pop() {
            return Some(index);
        }
        let index = (self.next < keys).then_some(self.next)?;
        self.next += self.step;
        Some(index)
    }

    /// A set was answered.
    #[inline]
    fn note(&mut self, index: u64, is_stored: bool) {
        if is_stored {
            self.has_stored = true;
        } else {
            self.refused.push(index);
        }
    }

    /// After which rest what was refused is to be put again, if it is. A server that takes nothing at all will not take it either.
    fn begin_round(&mut self) -> Option<Duration> {
        if self.refused.is_empty() || !self.has_stored || self.rounds == MOST_ROUNDS {
            return None;
        }
        let rest = FIRST_REST * (1 << self.rounds);
        self.rounds += 1;
        self.again = std::mem::take(&mut self.refused);
        Some(rest)
    }
}

impl OperationSource<'_> {
    /// The next operation, or its first half; none: all is done.
    #[inline]
    fn next(&mut self, keys: u64) -> Option<(RequestPurpose, u64)> {
        match self {
            Self::Load(load) => load.next(keys).map(|index| (RequestPurpose::Insert, index)),
            Self::Mix { chooser, left } => {
                *left = left.checked_sub(1)?;
                Some(chooser.operation())
            }
        }
    }
}

/// A connection with what is in flight on it.
struct WorkerConnection {
    pipe: Pipe,
    flights: VecDeque<InFlight>,
    /// Bytes of a value that nobody looks at, yet to come.
    skip: usize,
    /// Since when nothing moved although something is in flight.
    since_ns: u64,
    answers: u64,
    target: usize,
}

/// The loop.
pub struct Worker<'a> {
    shared: &'a PhaseContext<'a>,
    codec: Codec,
    connections: Vec<WorkerConnection>,
    epoll: OwnedFd,
    source: OperationSource<'a>,
    /// By the clock; none: as fast as it goes.
    schedule: Option<Schedule>,
    /// The connection after the one that was given work last.
    turn: usize,
    in_flight: usize,
    goes_on: bool,
    /// Modifies whose first half was answered just now: their entries, and when they were due.
    half_done: Vec<(u64, u64)>,
    buffer: Vec<u8>,
    out: Vec<u8>,
    stats: OperationStats,
    cpu_us_at_start: Option<f64>,
    is_measured: bool,
    looked_ns: u64,
}

impl<'a> Worker<'a> {
    /// A loop over these sockets, each with the number of its server.
    ///
    /// # Errors
    /// What the system says to a new epoll set.
    pub fn new(
        shared: &'a PhaseContext<'a>,
        sockets: Vec<(usize, OwnedFd)>,
        source: OperationSource<'a>,
        schedule: Option<Schedule>,
    ) -> Result<Self, LoadgenError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let plan = shared.plan;
        let connect = |(at, (target, socket)): (usize, (usize, OwnedFd))| {
            let pipe = Pipe::new(socket, &epoll, at as u64)?;
            let flights = VecDeque::with_capacity(plan.depth.min(1 << 10));
            Ok(WorkerConnection { pipe, flights, skip: 0, since_ns: 0, answers: 0, target })
        };
        let connections = sockets.into_iter().enumerate().map(connect).collect::<Result<_, Errno>>()?;
        let codec = Codec::new(plan.protocol, plan.value_bytes);
        // What is not complete, at most a hit or a line, and a receive besides.
        let receive = (codec.hit_bytes() * plan.depth).clamp(RECEIVE_BYTES.start, RECEIVE_BYTES.end);
        let buffer = vec![0; codec.hit_bytes() + receive];
        Ok(Self {
            shared,
            codec,
            connections,
            epoll,
            source,
            schedule,
            turn: 0,
            in_flight: 0,
            goes_on: true,
            half_done: Vec::new(),
            buffer,
            out: Vec::new(),
            stats: OperationStats::default(),
            cpu_us_at_start: None,
            is_measured: false,
            looked_ns: 0,
        })
    }

    /// Runs the phase to its end, and waits for the answers that are due then.
    ///
    /// # Errors
    /// What the server or the system does that ends a run.
    pub fn run(mut self) -> Result<OperationStats, LoadgenError> {
        if self.schedule.is_some() {
            // The system may let timers be late by this, nanoseconds; by default it is 50,000.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        let result = self.turns();
        if result.is_err() {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        result.map(|()| self.stats)
    }

    fn turns(&mut self) -> Result<(), LoadgenError> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut told = 0;
        let began = self.now_ns();
        self.note_time(began);
        self.ask_on_each(self.shared.plan.depth)?;
        loop {
            let now = self.now_ns();
            self.note_time(now);
            self.ask_what_is_due(now)?;
            if !self.goes_on && self.in_flight > 0 && now >= self.shared.last_answer_ns {
                self.give_up(now);
            }
            let is_stopped = self.shared.stop.load(Ordering::Relaxed);
            if is_stopped || (!self.goes_on && self.in_flight == 0 && !self.put_again()?) {
                self.note_end();
                return Ok(());
            }
            events.clear();
            let timeout = self.timeout(now);
            match wait(&self.epoll, &mut events, timeout) {
                Ok(()) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            for event in &events {
                let Event { flags, data } = *event;
                self.serve(data.u64() as usize, flags)?;
            }
            let answered = self.stats.answered();
            self.shared.answered.fetch_add(answered - told, Ordering::Relaxed);
            told = answered;
            self.look_for_silence(now)?;
        }
    }

    /// Begins to put again what a load was refused; whether there is anything.
    fn put_again(&mut self) -> Result<bool, LoadgenError> {
        let OperationSource::Load(load) = &mut self.source else { return Ok(false) };
        let Some(rest) = load.begin_round() else { return Ok(false) };
        // What is refused waits for a sync, a seal or a merge.
        std::thread::sleep(rest);
        // What is refused once more is counted once more.
        self.stats.put_again += std::mem::take(&mut self.stats.refused).count;
        self.goes_on = true;
        let now = self.now_ns();
        if let Some(schedule) = &mut self.schedule {
            schedule.go_on_from(now);
        }
        self.ask_on_each(1)?;
        Ok(true)
    }

    /// Without a pace, sends so many requests on each connection.
    fn ask_on_each(&mut self, count: usize) -> Result<(), LoadgenError> {
        if self.schedule.is_none() {
            for at in 0..self.connections.len() {
                let now = self.now_ns();
                self.ask_again(at, count, now)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.shared.began.elapsed().as_nanos() as u64
    }

    /// Notices that measuring begins or ends.
    fn note_time(&mut self, now: u64) {
        let window = &self.shared.window;
        if !self.is_measured && self.cpu_us_at_start.is_none() && now >= window.start {
            self.cpu_us_at_start = Some(thread_cpu_us());
            self.is_measured = true;
        }
        if now >= window.end && self.goes_on {
            self.note_end();
            if !self.has_backlog(now) {
                self.goes_on = false;
                self.note_unsent(now);
            }
        }
    }

    /// Whether requests that were due before the end are still sent.
    fn has_backlog(&self, now: u64) -> bool {
        let is_due = |schedule: &Schedule| schedule.next_ns() < self.shared.window.end;
        self.shared.has_grace() && now < self.shared.last_answer_ns && self.schedule.as_ref().is_some_and(is_due)
    }

    fn note_end(&mut self) {
        if std::mem::take(&mut self.is_measured) {
            self.stats.cpu_us = thread_cpu_us() - self.cpu_us_at_start.unwrap_or_default();
        }
    }

    /// What was due and could not even be sent counts with the time that it has waited.
    fn note_unsent(&mut self, now: u64) {
        let Some(schedule) = &mut self.schedule else { return };
        let window = &self.shared.window;
        let until = if self.shared.has_grace() { now.max(window.end) } else { window.end };
        while schedule.next_ns() < window.end {
            let due = schedule.next_ns();
            schedule.advance();
            let Some((kind, index)) = self.source.next(self.shared.plan.keys) else { return };
            if due >= window.start {
                self.stats.unsent += 1;
                self.stats.asked += 1;
                let flight = InFlight { due_ns: due, asked_ns: due, index, version: 0, kind };
                time(&mut self.stats, &flight, CheckedReply::Miss, until);
                self.stats.shortfall.latencies.add_ns(until - due);
            }
        }
    }

    /// Waits no more for the answers that have not come: they count with the time that was waited for them.
    fn give_up(&mut self, now: u64) {
        self.shared.follow(|idle| idle.note_answered(now, self.in_flight));
        self.in_flight = 0;
        for connection in &self.connections {
            self.stats.servers.add(connection.target, 0, connection.flights.len() as u64);
        }
        for flight in self.connections.iter_mut().flat_map(|connection| connection.flights.drain(..)) {
            if self.shared.window.contains(&flight.due_ns) {
                self.stats.shortfall.unanswered += 1;
                time(&mut self.stats, &flight, CheckedReply::Miss, now);
                self.stats.shortfall.latencies.add_ns(now - flight.due_ns);
            }
        }
    }

    /// Sends what is due by the clock, a request on each connection that has room, in turn.
    fn ask_what_is_due(&mut self, now: u64) -> Result<(), LoadgenError> {
        if self.schedule.is_none() {
            return Ok(());
        }
        let room = self.connections.len() * self.shared.plan.depth;
        while self.goes_on && self.in_flight < room && self.next_due(now).is_some() {
            let at = self.turn;
            self.turn = if at + 1 == self.connections.len() { 0 } else { at + 1 };
            if self.connections[at].flights.len() < self.shared.plan.depth {
                self.ask_again(at, 1, now)?;
            }
        }
        if self.is_measured && self.in_flight >= room && self.next_due(now).is_some() {
            self.stats.full_turns += 1;
        }
        Ok(())
    }

    /// When the next operation is due, if it is.
    #[inline]
    fn next_due(&self, now: u64) -> Option<u64> {
        match &self.schedule {
            None => Some(now),
            Some(schedule) => Some(schedule.next_ns()).filter(|due| *due <= now && *due < self.shared.window.end),
        }
    }

    /// How long to wait for events.
    fn timeout(&self, now: u64) -> Duration {
        let mut wait = LOOK.as_nanos() as u64;
        if self.goes_on {
            let window = &self.shared.window;
            let edge = match now {
                now if now < window.start => window.start,
                now if now < window.end => window.end,
                _ => self.shared.last_answer_ns,
            };
            // Whole milliseconds: nothing hangs on them.
            wait = wait.min(edge.saturating_sub(now)).next_multiple_of(1_000_000);
            let has_room = self.in_flight < self.connections.len() * self.shared.plan.depth;
            if let (Some(schedule), true) = (&self.schedule, has_room) {
                wait = wait.min(schedule.next_ns().saturating_sub(now));
            }
        } else {
            wait = wait.min(self.shared.last_answer_ns.saturating_sub(now)).next_multiple_of(1_000_000);
        }
        Duration::from_nanos(wait)
    }

    /// Sends the second halves of what is half done, and up to `count` requests with them, together.
    #[inline]
    fn ask_again(&mut self, at: usize, count: usize, now: u64) -> Result<(), LoadgenError> {
        self.out.clear();
        let keys = self.shared.plan.keys;
        let was_idle = self.connections[at].flights.is_empty();
        let begun = self.half_done.len();
        let in_flight = self.in_flight;
        while let Some((index, due_ns)) = self.half_done.pop() {
            self.push(at, RequestPurpose::ModifySet, index, (due_ns, now));
        }
        for _ in begun..count {
            let Some(due_ns) = self.next_due(now) else { break };
            let Some((kind, index)) = self.source.next(keys) else {
                self.goes_on = false;
                break;
            };
            let counts = self.shared.window.contains(&due_ns);
            self.stats.asked += u64::from(counts);
            if let Some(schedule) = &mut self.schedule {
                schedule.advance();
                // As latencies are: of those that are due in the time that is measured.
                if counts {
                    self.stats.late.add_ns(now - due_ns);
                }
            }
            self.push(at, kind, index, (due_ns, due_ns));
        }
        if self.out.is_empty() {
            return Ok(());
        }
        self.shared.follow(|idle| idle.note_sent(now, self.in_flight - in_flight));
        let connection = &mut self.connections[at];
        if was_idle {
            connection.since_ns = now;
        }
        connection.pipe.send(&self.epoll, &self.out).map_err(|errno| self.broken(at, errno))
    }

    /// Writes a request down that is to be sent on a connection, with the times from which its operation's latency and its own
    /// count.
    #[inline]
    fn push(&mut self, at: usize, kind: RequestPurpose, index: u64, (due_ns, asked_ns): (u64, u64)) {
        let versions = self.shared.versions;
        let version = match kind {
            RequestPurpose::Get | RequestPurpose::ModifyGet => versions.floor(index),
            RequestPurpose::Set | RequestPurpose::ModifySet => versions.begin_set(index),
            RequestPurpose::Insert => versions.loaded_version(),
        };
        match kind.asked() {
            RequestKind::Get => self.codec.push_get(index, &mut self.out),
            RequestKind::Set => self.codec.push_set(index, version, &mut self.out),
        }
        self.connections[at].flights.push_back(InFlight { due_ns, asked_ns, index, version, kind });
        self.in_flight += 1;
    }

    /// Does what a connection's events ask for.
    #[inline]
    fn serve(&mut self, at: usize, flags: EventFlags) -> Result<(), LoadgenError> {
        let connection = &mut self.connections[at];
        if flags.contains(EventFlags::OUT) && connection.pipe.is_blocked() {
            match connection.pipe.send_more(&self.epoll) {
                Ok(true) => connection.since_ns = self.shared.began.elapsed().as_nanos() as u64,
                Ok(false) => {}
                Err(errno) => return Err(self.broken(at, errno)),
            }
        }
        if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            return Ok(());
        }
        let held = match self.connections[at].pipe.receive(&mut self.buffer) {
            Ok(ReceiveOutcome::Bytes(held)) => held,
            Ok(ReceiveOutcome::Nothing) => return Ok(()),
            Ok(ReceiveOutcome::End) => return Err(self.closed(at)),
            Err(errno) => return Err(self.broken(at, errno)),
        };
        let now = self.now_ns();
        let answered = self.take_answers(at, held, now)?;
        let room = match self.schedule {
            _ if !self.goes_on => 0,
            None => answered,
            Some(_) => self.shared.plan.depth - self.connections[at].flights.len(),
        };
        // What has begun is finished, even when the time is up.
        if room > 0 || !self.half_done.is_empty() {
            self.ask_again(at, room, now)?;
        }
        Ok(())
    }

    /// Looks at the answers in the first `held` bytes of the buffer; how many there were.
    #[inline]
    fn take_answers(&mut self, at: usize, held: usize, now: u64) -> Result<usize, LoadgenError> {
        let connection = &mut self.connections[at];
        connection.since_ns = now;
        let mut input = &self.buffer[..held];
        let counts_now = self.shared.window.contains(&now);
        let mut answered = 0;
        loop {
            if connection.skip > 0 {
                let skipped = connection.skip.min(input.len());
                connection.skip -= skipped;
                input = &input[skipped..];
            }
            if input.is_empty() {
                break;
            }
            let Some(flight) = connection.flights.front().copied() else {
                return Err(self.garbage(at, "request that was never sent", held, input.len()));
            };
            // The server that does nothing shows one key's value for all.
            let shown = self.shared.shown.map_or(flight.index, |(index, _)| index);
            let (answer, length) = match self.codec.parse(flight.kind.asked(), shown, input) {
                ParseOutcome::Reply(answer, length) => (answer, length),
                ParseOutcome::More => {
                    connection.pipe.keep(input);
                    break;
                }
                ParseOutcome::Garbage => return Err(self.garbage(at, flight.kind.asked().name(), held, input.len())),
            };
            connection.flights.pop_front();
            answered += 1;
            let AnswerVerdict { is_answered, fault } = note(self.shared, &mut self.stats, &flight, answer, counts_now);
            if let OperationSource::Load(load) = &mut self.source {
                load.note(flight.index, is_answered);
            }
            // By when it was due, not by when it was answered: what a server holds up past the end is late, too.
            if self.shared.window.contains(&flight.due_ns) {
                if is_answered {
                    time(&mut self.stats, &flight, answer, now);
                }
                if let Some(fault) = fault.filter(|_| !flight.goes_on(answer)) {
                    let latency_ns = is_answered.then(|| now.saturating_sub(flight.due_ns));
                    self.stats.shortfall.add(fault, latency_ns);
                }
            }
            if flight.goes_on(answer) {
                self.half_done.push((flight.index, flight.due_ns));
            }
            connection.skip = length.saturating_sub(input.len());
            input = &input[length.min(input.len())..];
        }
        connection.answers += answered as u64;
        if now >= self.shared.window.start {
            self.stats.servers.add(connection.target, answered as u64, 0);
        }
        self.in_flight -= answered;
        self.shared.follow(|idle| idle.note_answered(now, answered));
        self.stats.ended_ns = now;
        Ok(answered)
    }

    /// Ends the run when a server has not answered for too long.
    fn look_for_silence(&mut self, now: u64) -> Result<(), LoadgenError> {
        if now < self.looked_ns + LOOK.as_nanos() as u64 {
            return Ok(());
        }
        self.looked_ns = now;
        let waited = self.shared.plan.timeout;
        let since = now.saturating_sub(waited.as_nanos() as u64);
        let is_silent = |connection: &WorkerConnection| !connection.flights.is_empty() && connection.since_ns < since;
        match self.connections.iter().position(is_silent) {
            None => Ok(()),
            Some(at) => {
                let connection = &self.connections[at];
                let in_flight = connection.flights.len();
                // Each reply begins with a line.
                let said = connection.pipe.kept();
                if let Some(flight) = connection.flights.front().filter(|_| !said.is_empty() && !said.contains(&b'\n'))
                {
                    return Err(self.no_reply(at, flight.kind.asked().name(), said));
                }
                Err(LoadgenError::Silent { target: self.name(at), waited, in_flight })
            }
        }
    }

    fn name(&self, at: usize) -> String {
        self.shared.plan.targets[self.connections[at].target].to_string()
    }

    #[cold]
    fn broken(&self, at: usize, errno: Errno) -> LoadgenError {
        match errno {
            // It closed the connection when a request was on its way.
            Errno::CONNRESET | Errno::PIPE => self.closed(at),
            errno => LoadgenError::Broken { target: self.name(at), source: errno.into() },
        }
    }

    #[cold]
    fn closed(&self, at: usize) -> LoadgenError {
        let connection = &self.connections[at];
        let (in_flight, answers) = (connection.flights.len(), connection.answers);
        // A server that takes no more connections says so before it closes one.
        let refused = self.stats.refused.first.as_ref();
        let refused = refused.map_or_else(String::new, |first| format!("; it had refused {first}"));
        LoadgenError::Closed { target: self.name(at), in_flight, answers, refused }
    }

    #[cold]
    fn garbage(&self, at: usize, asked: &'static str, held: usize, left: usize) -> LoadgenError {
        self.no_reply(at, asked, &self.buffer[held - left..held])
    }

    fn no_reply(&self, at: usize, asked: &'static str, input: &[u8]) -> LoadgenError {
        let said = String::from_utf8_lossy(&input[..input.len().min(TOLD_BYTES)]).into_owned();
        LoadgenError::Garbage { target: self.name(at), asked, said, protocol: self.shared.plan.protocol.name() }
    }
}
