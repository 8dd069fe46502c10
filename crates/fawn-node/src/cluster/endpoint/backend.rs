//! An endpoint as the backend of its event loop: what the loop's clients ask goes to the seat's front-end.

use super::{Endpoint, EndpointParts, LISTENER, MAILBOX, NoGates, READS, STORE, time};
use crate::cluster::counting::ItemCounter;
use crate::cluster::leader_contact::LeaderContact;
use crate::cluster::links::membership::Membership;
use crate::cluster::links::{ClusterLinks, ClusterLinksParts};
use crate::cluster::listening::Listening;
use crate::cluster::listings::Listings;
use crate::cluster::message_queue::MessageQueue;
use crate::cluster::node_host::NodeHost;
use crate::cluster::ready::Readiness;
use crate::cluster::relays::Detours;
use crate::cluster::requests::{LOCAL, RequestStart, Requests};
use crate::cluster::troubles::Troubles;
use crate::observe::samples::LoopSample;
use crate::request::{Completion, Execution, KeyRequest, ListingForm, ListingPart, ReplyTo, TaskTicket};
use crate::runtime::buffers::Pool;
use crate::runtime::clock::Now;
use crate::runtime::slab::Token;
use crate::shard::backend::{Backend, LoopEnvironment, WATCHED};
use crate::shard::stores::{LoopStats, Turn};
use fawn_kv::wire::{Answer, Message};
use fawn_ring::Key;
use fawn_store::Gate;
use fawn_store::flash::Space;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Backend for Endpoint {
    type Seed = EndpointParts;
    type Gates = NoGates;

    const WAITS: bool = true;

    fn is_ready(&self) -> bool {
        self.ready.is_over()
    }

    fn make(seed: EndpointParts, given: LoopEnvironment<'_>) -> Result<Self, Errno> {
        let EndpointParts {
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
            open_stores,
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
        let detours = Detours::new(if front.is_some() { seat.front() } else { seat.node() });
        let links = ClusterLinks::new(ClusterLinksParts {
            membership: Membership::new(seat, cluster, roster, secure),
            seeds: managers,
            names,
            local_peers,
            epoll: given.epoll,
            most_value_bytes: given.sizes.value,
        });
        // Until managers have said which it is.
        let version = links.membership().version();
        if let Some(front) = &mut front {
            front.speak(version);
        }
        if let Some(node) = &mut node {
            node.speak(version);
        }
        Ok(Self {
            id: seat,
            node: node.map(|node| NodeHost::new(seat.node(), node)),
            front,
            links,
            detours,
            requests: Requests::new(given.counters, given.sizes.value),
            ready: Readiness::default(),
            pool: Pool::default(),
            mailbox,
            listener,
            lists,
            listings: Listings::new(seat.front()),
            messages: MessageQueue::default(),
            ticked_ms: 0,
            reported_ms: 0,
            contact: LeaderContact::default(),
            troubles: Troubles::default(),
            counter: ItemCounter::default(),
            gates: NoGates,
            open_stores,
        })
    }

    fn stores(&self) -> usize {
        1
    }

    fn prefetch(&self, _: usize, _: &[Key]) {}

    fn lend(&mut self) -> (&mut Pool, &NoGates) {
        (&mut self.pool, &self.gates)
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
            RequestStart::Waits(ticket) => return Execution::Later(ticket),
            RequestStart::Ask(ticket, message) => (ticket, message),
        };
        let Some(front) = &mut self.front else { return Execution::Later(ticket) };
        let (at, out_of_front) = (time(now), self.messages.draft());
        front.receive(at, *message, out_of_front);
        if let [(LOCAL, Message::Reply { answer: Answer::Busy, .. })] = out_of_front[..] {
            self.requests.lacks(front.lack_at(&request.key));
        }
        if self.requests.only_looks(ticket)
            && let [(LOCAL, Message::Reply { .. })] = out_of_front[..]
            && let Some((_, Message::Reply { answer, .. })) = out_of_front.pop()
        {
            match self.requests.answer_now(ticket, &answer, now, &mut self.pool, out) {
                Ok(failed) => return Execution::Done { gate: Gate::NONE, failed },
                Err(message) => front.receive(at, *message, out_of_front),
            }
        }
        self.messages.send_draft(self.id.front());
        Execution::Later(ticket)
    }

    fn assign(&mut self, ticket: TaskTicket, client: ReplyTo) {
        self.requests.assign(ticket, client);
    }

    fn deliver(&mut self, _: Vec<(usize, Gate)>, done: Completion) {
        self.requests.deliver(done);
    }

    fn next_completion(&mut self) -> Option<Completion> {
        self.requests.next_completion()
    }

    fn next_reservation(&mut self) -> Option<(ReplyTo, TaskTicket, u32)> {
        self.requests.next_reservation()
    }

    fn reserve(&mut self, ticket: TaskTicket, granted: bool, now: Now) {
        let me = self.id.front();
        let next = self.requests.reserve(ticket, granted, now, &mut self.pool);
        self.messages.extend(next.into_iter().map(|message| (me, LOCAL, message)));
    }

    fn flushes_for_all_loops(&self) -> bool {
        true
    }

    fn flush_all(&mut self, client: ReplyTo, at_unix: u32, quiet: bool, _: Now) {
        let message = self.requests.flush(client, at_unix, quiet);
        self.messages.push(self.id.front(), LOCAL, message);
    }

    fn list(&mut self, client: ReplyTo, _: usize, from: Key, _: bool, form: ListingForm, now: Now) {
        if !self.lists {
            let bytes = ListingPart { next: None, failed: false, lost: 0 }.encode();
            return self.requests.deliver(Completion::of(client, bytes));
        }
        self.listings.begin(client, from, form, time(now), self.messages.draft());
        self.messages.send_draft(self.id.front());
    }

    fn on_event(&mut self, data: u64, flags: EventFlags, now: Now) {
        match data {
            MAILBOX | STORE => {}
            READS => self.look_again(),
            LISTENER => self.accept(now),
            _ => self.links.on_event(Token::from_u64(data & !WATCHED), flags, now.ms),
        }
    }

    fn look_again(&mut self) {
        self.node.iter_mut().for_each(NodeHost::note_reads);
    }

    fn turn(&mut self, now: Now) -> Turn {
        let mut turn = Turn::default();
        self.settle(now);
        if let Some(node) = &mut self.node {
            node.poll_store(now, &mut turn);
            node.take_reads(time(now), &mut self.messages);
        }
        self.tick(now);
        self.settle(now);
        self.log_invalid();
        if let Some(why) = self.links.take_ousted() {
            turn.ousted = Some(why);
        }
        self.links.pause(self.node.as_ref().is_some_and(|node| !node.takes_clients()));
        turn.more |= !self.is_settled() | self.count_on(now);
        let tick = self.ticked_ms + self.tick_interval_ms();
        let listens = self.listener.as_mut().and_then(|listener| listener.listen_again(now.ms));
        turn.due_ms = [turn.due_ms, listens, Some(tick)].into_iter().flatten().min();
        turn
    }

    fn wants_turn(&self) -> bool {
        !self.messages.is_empty() || !self.is_settled() || self.links.has_work() || self.mailbox.has_mail()
    }

    fn submit(&mut self, now: Now) -> Result<(), String> {
        self.settle(now);
        if let Some(node) = &mut self.node {
            node.submit(now)?;
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
        self.node()?.store().flash().store().upkeep().space()
    }

    fn stats(&self, now: Now) -> LoopStats {
        super::stats::of(self, now)
    }

    fn sample(&mut self, now: Now) -> LoopSample {
        self.take_sample(now)
    }

    fn stop(mut self) -> Result<(), String> {
        // Nobody is answered any more. Whoever is told so need not wait until it has noticed.
        let (me, mut out) = (self.id, Vec::new());
        if let Some(host) = &mut self.node {
            host.node_mut().farewell(&mut out);
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
            Some(host) => {
                let node = host.into_node();
                let is_behind = node.is_behind();
                node.into_store().close().map_err(|error| error.to_string())?;
                if !is_behind {
                    self.open_stores.fetch_sub(1, Ordering::Release);
                }
                Ok(())
            }
            None => Ok(()),
        }
    }
}
