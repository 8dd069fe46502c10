//! An endpoint: what one event loop of a cluster's process runs beside its clients. It has a node, a front-end, or both, and the
//! links to others; its address is its seat.
//!
//! Within a turn messages go from one to the other until nobody has anything to say; then what was written goes to the
//! store's threads, and what is for others leaves, one send a connection.

mod backend;
mod stats;

use super::counting::ItemCounter;
use super::dial::prepare;
use super::leader_contact::{ContactChange, LeaderContact};
use super::link::{LinkState, PeerLink};
use super::links::{ClusterLinks, LinkInput};
use super::listening::Listening;
use super::listings::Listings;
use super::local_peers::{LocalPeers, Mail, Mailbox};
use super::message_queue::{Envelope, MessageQueue};
use super::names::Names;
use super::node_host::{NodeHost, weight};
use super::ranges::Ranges;
use super::ready::{Readiness, ReadinessInputs};
use super::relays::{Detours, is_relayed};
use super::requests::{LOCAL, Requests};
use super::troubles::Troubles;
use crate::observe::warnings::RateLimitedLog;
use crate::runtime::buffers::Pool;
use crate::runtime::clock::Now;
use crate::shard::backend::WATCHED;
use crate::shard::stores::Gates;
use fawn_kv::frontend::{Front, Lack};
use fawn_kv::ids::{ClusterId, SeatId};
use fawn_kv::link::{Control, Lane, Party};
use fawn_kv::manager::roster::Roster;
use fawn_kv::node::Node;
use fawn_kv::timing;
use fawn_kv::wire::{Answer, Message};
use fawn_store::Gate;
use fawn_tls::Reloading;
use rustix::fd::OwnedFd;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// `epoll_data` of what is no connection.
const MAILBOX: u64 = WATCHED;
const STORE: u64 = WATCHED | 1;
const READS: u64 = WATCHED | 2;
const LISTENER: u64 = WATCHED | 3;

/// Messages that a node takes in one turn: after so many its answers leave.
const MESSAGES_A_TURN: usize = 1024;

/// Between two looks at what is due, while something is under way.
const BUSY_TICK_MS: u64 = 10;

/// The same while nothing is under way.
const IDLE_TICK_MS: u64 = 50;

/// What an endpoint is made of.
pub struct EndpointParts {
    /// Its seat.
    pub seat: SeatId,
    /// The cluster.
    pub cluster: ClusterId,
    /// Who is in it.
    pub roster: Roster,
    /// Where managers are.
    pub managers: Vec<String>,
    /// Where hosts are.
    pub names: Arc<Names>,
    /// How connections are protected.
    pub secure: Option<Arc<Reloading<fawn_tls::Links>>>,
    /// Its node.
    pub node: Option<Node<Ranges>>,
    /// Its front-end.
    pub front: Option<Front>,
    /// Where others call; of the first endpoint of a process.
    pub listener: Option<OwnedFd>,
    /// It lists the keys of the cluster to the process's clients, of whom each asks all endpoints: one does.
    pub lists: bool,
    /// Its mailbox.
    pub mailbox: Arc<Mailbox>,
    /// The mailboxes of the process's other endpoints.
    pub local_peers: LocalPeers,
    /// Of the member's stores those that have yet to stop cleanly with all that they acknowledged.
    pub open_stores: Arc<AtomicUsize>,
}

/// An endpoint.
pub struct Endpoint {
    id: SeatId,
    node: Option<NodeHost>,
    front: Option<Front>,
    links: ClusterLinks,
    /// Ways around links that are broken.
    detours: Detours,
    requests: Requests,
    ready: Readiness,
    pool: Pool,
    mailbox: Arc<Mailbox>,
    listener: Option<Listening>,
    /// It lists the keys of the cluster, and logs for its process.
    lists: bool,
    listings: Listings,
    /// What was said in this turn.
    messages: MessageQueue,
    ticked_ms: u64,
    reported_ms: u64,
    contact: LeaderContact,
    /// What was wrong when it was looked at last.
    troubles: Troubles,
    counter: ItemCounter,
    gates: NoGates,
    open_stores: Arc<AtomicUsize>,
}

/// No reply of an endpoint waits for a store of its loop.
#[derive(Debug)]
pub struct NoGates;

impl Gates for NoGates {
    fn durable(&self, _: usize) -> Gate {
        Gate::NONE
    }
}

/// Microseconds of a clock that is never set and counts while the machine is suspended, and the Unix second.
pub fn time(now: Now) -> timing::Now {
    let time = clock_gettime(ClockId::Boottime);
    let us = time.tv_sec.cast_unsigned() * 1_000_000 + time.tv_nsec.cast_unsigned() / 1000;
    // Ranges go by the steady time: what is stamped by a clock that jumps back for a moment would have to be set back.
    timing::Now { us, unix: now.time.steady().max(timing::Now::UNKNOWN), latest: now.time.latest() }
}

/// The managers say what time it is in the cluster.
fn set_time(unix_ms: u64) {
    match fawn_flash::clock::follow_cluster(unix_ms) {
        Some(ahead_s) if ahead_s.abs() > 5 => tracing::warn!(
            "the system clock is {} s {} the cluster's time, which applies from now on: set the clock",
            ahead_s.unsigned_abs(),
            if ahead_s > 0 { "behind" } else { "ahead of" }
        ),
        _ => {}
    }
}

impl Endpoint {
    /// Its node.
    fn node(&self) -> Option<&Node<Ranges>> {
        self.node.as_ref().map(NodeHost::node)
    }

    /// Delivers what was said, here or elsewhere, until nobody has anything to say; no more than one turn's worth. The node
    /// goes on with all that it has taken at once.
    fn run_on(&mut self, now: Now) {
        let at = time(now);
        let mut left = MESSAGES_A_TURN;
        loop {
            self.deliver_messages(now, at);
            let Some(node) = &mut self.node else { return };
            if !node.step(at, &mut left, &mut self.messages) {
                return;
            }
        }
    }

    fn deliver_messages(&mut self, now: Now, at: timing::Now) {
        while let Some(envelope) = self.messages.pop() {
            self.deliver_one_message(envelope, None, (now, at));
        }
    }

    /// Delivers a message; `bytes` are those that it had on the wire.
    fn deliver_one_message(
        &mut self,
        (to, from, message): Envelope,
        bytes: Option<usize>,
        (now, at): (Now, timing::Now),
    ) {
        let (node, front) = (self.id.node(), self.id.front());
        if is_relayed(&message) && (to == node || to == front) {
            if let Some(envelope) = self.detours.receive((to, from, message), at, &mut self.messages) {
                self.deliver_one_message(envelope, bytes, (now, at));
            }
        } else if to == node
            && let Some(node) = &mut self.node
        {
            node.receive(from, message, bytes);
        } else if to == front
            && let Some(front_end) = &mut self.front
        {
            if let Some(message) = self.listings.receive(message, at, self.messages.draft()) {
                front_end.receive(at, message, self.messages.draft());
            }
            self.messages.send_draft(front);
        } else if to == LOCAL {
            if let Message::Reply { tag, answer, .. } = message {
                self.take_reply(tag, answer, now);
            }
        } else if bytes.is_none() {
            self.detours.send(&mut self.links, (to, from, message), (now, at));
        }
    }

    /// The front-end has answered what was asked here.
    fn take_reply(&mut self, tag: u64, answer: Answer, now: Now) {
        if !self.ready.is_over() && self.ready.answered(tag, &answer, now.ms) {
            return;
        }
        if answer == Answer::Busy {
            self.requests.lacks(self.lack_of(tag));
        }
        let front = self.id.front();
        for next in self.requests.answered(tag, answer, now, &mut self.pool) {
            self.messages.push(front, LOCAL, next);
        }
    }

    /// Takes what has come over links and from other endpoints of this process.
    fn take_in(&mut self, now: Now) {
        let at = time(now);
        for mail in self.mailbox.take() {
            match mail {
                Mail::Message(message) => {
                    let bytes = weight(&message.2);
                    self.deliver_one_message(*message, Some(bytes), (now, at));
                }
                Mail::Link(handed) => self.links.take_handed(*handed, now.ms),
            }
            // Answers go to their connection at once, which takes so many and no more.
            self.deliver_messages(now, at);
        }
        while let Some(input) = self.links.next_input() {
            match input {
                LinkInput::Message(to, from, message, bytes) => {
                    self.deliver_one_message((to, from, message), Some(bytes), (now, at));
                }
                LinkInput::Control(Party::Manager(_), Control::Time { unix_ms }) => set_time(unix_ms),
                LinkInput::Control(party, control) => {
                    tracing::debug!("{party} sent a message that this release does not know: {control:?}");
                }
            }
            self.deliver_messages(now, at);
        }
    }

    /// Milliseconds between two looks at what is due.
    fn tick_interval_ms(&self) -> u64 {
        if self.is_busy() { BUSY_TICK_MS } else { IDLE_TICK_MS }
    }

    /// Lets node and front-end look at the time, when it is due or when something has become durable.
    fn tick(&mut self, now: Now) {
        let at = time(now);
        let is_due = now.ms >= self.ticked_ms + self.tick_interval_ms();
        if let Some(node) = &mut self.node {
            node.tick(at, is_due, &mut self.messages);
        }
        if !is_due {
            return;
        }
        self.ticked_ms = now.ms;
        if let Some(front) = &mut self.front {
            front.tick(at, self.messages.draft());
            self.listings.tick(at, self.messages.draft());
            self.messages.send_draft(self.id.front());
        }
        self.links.tick(now.ms);
        self.tick_detours(at);
        self.note_leader(now.ms);
        self.start_step(now);
        self.report(now, at);
    }

    /// Says who is in the cluster to those who have to know, and whether any of them answers.
    fn tick_detours(&mut self, at: timing::Now) {
        if self.links.take_changed() {
            let membership = self.links.membership();
            self.detours.set_members(membership.version(), membership.helpers());
            let version = membership.version();
            self.front.iter_mut().for_each(|front| front.speak(version));
            self.node.iter_mut().for_each(|host| host.node_mut().speak(version));
        }
        let is_cut_off = self.detours.tick(at, &mut self.messages);
        self.front.iter_mut().for_each(|front| front.note_cut_off(is_cut_off));
        self.node.iter_mut().for_each(|host| host.node_mut().note_cut_off(is_cut_off));
        self.detours.log_news(&self.links);
    }

    /// Logs, now and then, that a message was refused which cannot be true.
    fn log_invalid(&mut self) {
        static LOG: RateLimitedLog = RateLimitedLog::new();
        let node = self.node.as_mut().and_then(|host| host.node_mut().invalid_mut().take());
        let front = self.front.as_mut().and_then(|front| front.invalid_mut().take());
        for invalid in node.into_iter().chain(front) {
            if let Some(more) = LOG.happened(std::time::Instant::now()) {
                tracing::warn!("{invalid}{more}");
            }
        }
    }

    /// Goes on until clients may come.
    fn start_step(&mut self, now: Now) {
        if self.ready.is_over() {
            return;
        }
        let inputs = self.readiness_inputs();
        let asked = self.ready.step(self.front.as_ref(), inputs, now.ms);
        let front = self.id.front();
        self.messages.extend(asked.into_iter().map(|message| (front, LOCAL, message)));
    }

    /// What the endpoint's readiness depends on beside its front-end.
    fn readiness_inputs(&self) -> ReadinessInputs {
        let is_member = self.node().is_none_or(|node| node.member().is_some());
        ReadinessInputs { has_leader: self.links.has_leader(), is_member }
    }

    /// What the front-end lacks to carry a request out.
    fn lack_of(&self, tag: u64) -> Option<Lack> {
        self.front.as_ref()?.lack_at(&self.requests.place_of(tag)?)
    }

    /// Notes whether a manager that leads is connected. One endpoint of a process logs when that has not been so for long, and
    /// where managers are called; then once a minute.
    fn note_leader(&mut self, now_ms: u64) {
        match self.contact.note(self.links.has_leader(), self.lists, now_ms) {
            Some(ContactChange::Back(missing_ms)) => {
                tracing::info!("a leading manager is back, after {} s", missing_ms / 1000);
            }
            Some(ContactChange::Missing(missing_ms)) => tracing::warn!(
                "no leading manager for {} s (called at {}): this process serves its data as before, and changes of the cluster wait; start the managers there, or restart this process with their present addresses (--manager)",
                missing_ms / 1000,
                self.links.manager_addresses().join(", ")
            ),
            None => {}
        }
    }

    /// Whether the node has taken every message that has come.
    fn is_settled(&self) -> bool {
        self.node.as_ref().is_none_or(NodeHost::is_settled)
    }

    fn is_busy(&self) -> bool {
        self.node.as_ref().is_some_and(NodeHost::is_busy)
            || self.front.as_ref().is_some_and(|front| front.in_flight() > 0)
            || !self.listings.is_empty()
            || !self.requests.is_empty()
    }

    fn accept(&mut self, now: Now) {
        let Some(listener) = &mut self.listener else { return };
        listener.accept(now.ms, |socket, host| {
            prepare(&socket);
            self.links.accept(PeerLink::new(socket, LinkState::Called, None, Lane::Chain, now.ms).from(host));
        });
    }

    fn settle(&mut self, now: Now) {
        self.take_in(now);
        self.run_on(now);
        if !self.listings.is_empty() {
            for done in self.listings.take_done() {
                self.requests.deliver(done);
            }
        }
    }
}
