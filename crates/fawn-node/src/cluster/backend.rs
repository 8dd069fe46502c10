//! A seat as the backend of its event loop: what the loop's clients ask goes to the seat's front-end.

use super::links::Links;
use super::listening::Listening;
use super::listings::Listings;
use super::ready::Readiness;
use super::requests::{Begun, LOCAL, Requests};
use super::seat::{LISTENER, MAILBOX, Never, READS, STORE, Seat, SeatParts, TICK_MS, time};
use super::troubles::Troubles;
use crate::observe::samples::Sample;
use crate::request::{Completion, Execution, KeyRequest, Listed, ListingForm, ReplyTo, Ticket};
use crate::runtime::buffers::Pool;
use crate::runtime::clock::Now;
use crate::runtime::slab::Token;
use crate::shard::backend::{Backend, LoopEnvironment, WATCHED};
use crate::shard::stores::{LoopStats, Turn};
use fawn_kv::link::relay::Relay;
use fawn_kv::node::inbox::Inbox;
use fawn_kv::timing::Timing;
use fawn_kv::wire::{Answer, Message};
use fawn_ring::Key;
use fawn_store::Gate;
use fawn_store::flash::Space;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

impl Backend for Seat {
    type Seed = SeatParts;
    type Gates = Never;

    const WAITS: bool = true;

    fn is_ready(&self) -> bool {
        self.ready.is_over()
    }

    fn make(seed: SeatParts, given: LoopEnvironment<'_>) -> Result<Self, Errno> {
        let SeatParts {
            seat,
            cluster,
            roster,
            managers,
            names,
            secure,
            mut node,
            mut front,
            listener,
            lists,
            mailbox,
            local_peers,
        } = seed;
        let edge = EventFlags::IN | EventFlags::ET;
        epoll::add(&*given.epoll, mailbox.event(), EventData::new_u64(MAILBOX), edge)?;
        if let Some(node) = &node {
            for (descriptor, data) in node.store().descriptors().into_iter().zip([STORE, READS]) {
                epoll::add(&*given.epoll, descriptor, EventData::new_u64(data), edge)?;
            }
        }
        let listening = |socket| Listening::new(socket, Arc::clone(&given.epoll), LISTENER);
        let listener = listener.map(listening).transpose()?;
        let relay = Relay::new(if front.is_some() { seat.front() } else { seat.node() }, &Timing::default());
        let (me, managers) = ((seat, cluster, given.sizes.value), (managers, names));
        let links = Links::new(me, roster, managers, local_peers, secure, given.epoll);
        // Until managers have said which it is.
        let version = links.cluster_version();
        if let Some(front) = &mut front {
            front.speak(version);
        }
        if let Some(node) = &mut node {
            node.speak(version);
        }
        Ok(Self {
            id: seat,
            node,
            inbox: Inbox::default(),
            front,
            links,
            relay,
            broken: BTreeSet::new(),
            requests: Requests::new(given.counters, given.sizes.value),
            ready: Readiness::default(),
            pool: Pool::default(),
            mailbox,
            listener,
            lists,
            listings: Listings::new(seat.front()),
            said: VecDeque::new(),
            out: Vec::new(),
            ticked_ms: 0,
            reported_ms: 0,
            led_ms: 0,
            logged_leaderless_ms: None,
            durable: fawn_kv::store::Gate(0),
            reads_ready: false,
            failed: false,
            troubles: Troubles::default(),
            counted: None,
            counting: None,
            count_ms: 0,
            none: Never,
        })
    }

    fn stores(&self) -> usize {
        1
    }

    fn prefetch(&self, _: usize, _: &[Key]) {}

    fn lend(&mut self) -> (&mut Pool, &Never) {
        (&mut self.pool, &self.none)
    }

    fn durable(&self, _: usize) -> Gate {
        Gate::NONE
    }

    fn is_stopped(&self, _: usize) -> bool {
        false
    }

    fn run(
        &mut self,
        _: usize,
        request: &KeyRequest<'_>,
        from: Token,
        now: Now,
        _: usize,
        out: &mut Vec<u8>,
    ) -> Execution {
        let (ticket, message) = match self.requests.begin(request, from, &mut self.pool) {
            Begun::Waits(ticket) => return Execution::Later(ticket),
            Begun::Ask(ticket, message) => (ticket, message),
        };
        let Some(front) = &mut self.front else { return Execution::Later(ticket) };
        let (at, me) = (time(now), self.id.front());
        front.receive(at, *message, &mut self.out);
        if let [(LOCAL, Message::Reply { answer: Answer::Busy, .. })] = self.out[..] {
            self.requests.lacks(front.lack_at(&request.key));
        }
        if self.requests.only_looks(ticket)
            && let [(LOCAL, Message::Reply { .. })] = self.out[..]
            && let Some((_, Message::Reply { answer, .. })) = self.out.pop()
        {
            match self.requests.answer_now(ticket, &answer, now, &mut self.pool, out) {
                Ok(failed) => return Execution::Done { gate: Gate::NONE, failed },
                Err(message) => front.receive(at, *message, &mut self.out),
            }
        }
        self.said.extend(self.out.drain(..).map(|(to, message)| (to, me, message)));
        Execution::Later(ticket)
    }

    fn assign(&mut self, ticket: Ticket, client: ReplyTo) {
        self.requests.assign(ticket, client);
    }

    fn deliver(&mut self, _: Vec<(usize, Gate)>, done: Completion) {
        self.requests.deliver(done);
    }

    fn next_completion(&mut self) -> Option<Completion> {
        self.requests.next_completion()
    }

    fn next_reservation(&mut self) -> Option<(ReplyTo, Ticket, u32)> {
        self.requests.next_reservation()
    }

    fn reserve(&mut self, ticket: Ticket, granted: bool, now: Now) {
        let me = self.id.front();
        let next = self.requests.reserve(ticket, granted, now, &mut self.pool);
        self.said.extend(next.into_iter().map(|message| (me, LOCAL, message)));
    }

    fn flush_all(&mut self, client: ReplyTo, at_unix: u32, quiet: bool, _: Now) {
        let message = self.requests.flush(client, at_unix, quiet);
        self.said.push_back((self.id.front(), LOCAL, message));
    }

    fn list(&mut self, client: ReplyTo, _: usize, from: Key, _: bool, form: ListingForm, now: Now) {
        if !self.lists {
            let bytes = Listed { next: None, failed: false, lost: 0 }.encode();
            return self.requests.deliver(Completion::of(client, bytes));
        }
        self.listings.begin(client, from, form, time(now), &mut self.out);
        let me = self.id.front();
        self.said.extend(self.out.drain(..).map(|(to, message)| (to, me, message)));
    }

    fn on_event(&mut self, data: u64, flags: EventFlags, now: Now) {
        match data {
            MAILBOX | STORE => {}
            READS => self.reads_ready = true,
            LISTENER => self.accept(now),
            _ => self.links.on_event(Token::from_u64(data & !WATCHED), flags, now.ms),
        }
    }

    fn look_again(&mut self) {
        self.reads_ready = true;
    }

    fn turn(&mut self, now: Now) -> Turn {
        let mut turn = Turn::default();
        self.settle(now);
        self.poll_store(now, &mut turn);
        self.take_reads(now);
        self.tick(now);
        self.settle(now);
        self.log_invalid();
        if let Some(why) = self.links.take_ousted() {
            turn.ousted = Some(why);
        }
        let paused = !self.inbox.takes_clients();
        self.links.pause(paused);
        turn.more |= !self.inbox.is_empty() | self.count_on(now);
        let every = if self.is_busy() { TICK_MS.0 } else { TICK_MS.1 };
        let tick = self.ticked_ms + every;
        let listens = self.listener.as_mut().and_then(|listener| listener.listen_again(now.ms));
        turn.due_ms = [turn.due_ms, listens, Some(tick)].into_iter().flatten().min();
        turn
    }

    fn wants_turn(&self) -> bool {
        !self.said.is_empty() || !self.inbox.is_empty() || self.links.has_work() || self.mailbox.has_mail()
    }

    fn submit(&mut self, now: Now) -> Result<(), String> {
        self.settle(now);
        if let Some(node) = &mut self.node {
            // What was written since the last turn goes with this batch.
            let store = node.store_mut();
            if store.has_work(now.ms) {
                store.poll(now.unix, now.ms);
            }
            store.submit().map_err(|error| format!("cannot start reads any more: {error}"))?;
        }
        self.links.flush();
        Ok(())
    }

    fn waiting(&self) -> usize {
        self.requests.len()
    }

    fn held_bytes(&self) -> usize {
        self.requests.bytes()
    }

    fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    fn forget_reads(&mut self) {}

    fn space(&self) -> Option<Space> {
        self.node.as_ref()?.store().flash().store().space()
    }

    fn stats(&self, now: Now) -> LoopStats {
        super::stats::of(self, now)
    }

    fn sample(&mut self, now: Now) -> Sample {
        self.take_sample(now)
    }

    fn stop(mut self) -> Result<(), String> {
        // Nobody is answered any more. Whoever is told so need not wait until it has noticed.
        let (me, mut out) = (self.id, Vec::new());
        if let Some(node) = &mut self.node {
            node.farewell(&mut out);
        }
        let of_node = out.len();
        if let Some(front) = self.front.take() {
            front.farewell(&mut out);
        }
        for (at, (to, message)) in out.into_iter().enumerate() {
            self.links.send(to, if at < of_node { me.node() } else { me.front() }, message, self.ticked_ms);
        }
        self.links.flush();
        match self.node {
            Some(node) => node.into_store().close().map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }
}
