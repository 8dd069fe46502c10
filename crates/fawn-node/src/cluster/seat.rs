//! A seat: what one event loop of a cluster's process runs beside its clients: a node, a front-end, or both, and the
//! connections to others.
//!
//! Within a turn messages go from one to the other until nobody has anything to say; then what was written goes to the
//! store's threads, and what is for others leaves, one send a connection.

use super::counting::{Counted, Counting};
use super::dial::prepare;
use super::link::{Link, State};
use super::links::{LinkInput, Links};
use super::listening::Listening;
use super::listings::Listings;
use super::local_peers::{LocalPeers, Mail, Mailbox};
use super::names::Names;
use super::ranges::Ranges;
use super::ready::{Around, Readiness};
use super::requests::{LOCAL, Requests};
use super::troubles::Troubles;
use crate::observe::metrics::LEADERLESS_MS;
use crate::observe::warnings::{REPEAT_MS, RateLimitedLog};
use crate::runtime::buffers::Pool;
use crate::runtime::clock::Now;
use crate::shard::backend::WATCHED;
use crate::shard::operate::log_short;
use crate::shard::stores::{Gates, Turn};
use fawn_kv::frontend::{Front, Lack};
use fawn_kv::ids::{Address, ClusterId, SeatId};
use fawn_kv::link::relay::Relay;
use fawn_kv::link::{Control, Lane, Party};
use fawn_kv::manager::roster::Roster;
use fawn_kv::node::Node;
use fawn_kv::node::inbox::Inbox;
use fawn_kv::scan::Found;
use fawn_kv::store::Answer as Read;
use fawn_kv::timing;
use fawn_kv::wire::{Answer, Message};
use fawn_store::Gate;
use fawn_tls::Reloading;
use rustix::fd::OwnedFd;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// `epoll_data` of what is no connection.
pub(super) const MAILBOX: u64 = WATCHED;
pub(super) const STORE: u64 = WATCHED | 1;
pub(super) const READS: u64 = WATCHED | 2;
pub(super) const LISTENER: u64 = WATCHED | 3;

/// Messages that a node takes in one turn: after so many its answers leave.
const MESSAGES_A_TURN: usize = 1024;

/// Between two looks at what is due, while something is under way and while nothing is.
pub(super) const TICK_MS: (u64, u64) = (10, 50);

/// What a message takes beside keys and values, about, in bytes.
const MESSAGE_BYTES: usize = 256;

/// What a seat is made of.
pub struct SeatParts {
    /// Its number.
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
    /// Where others call; of the first seat of a process.
    pub listener: Option<OwnedFd>,
    /// It lists the keys of the cluster to the process's clients, of whom each asks all seats: one does.
    pub lists: bool,
    /// Its mailbox.
    pub mailbox: Arc<Mailbox>,
    /// The mailboxes of the process's other seats.
    pub local_peers: LocalPeers,
}

/// A seat.
pub struct Seat {
    pub(super) id: SeatId,
    pub(super) node: Option<Node<Ranges>>,
    pub(super) inbox: Inbox,
    pub(super) front: Option<Front>,
    pub(super) links: Links,
    /// Ways around links that are broken.
    pub(super) relay: Relay,
    /// Whose link is told in the log to be broken.
    pub(super) broken: BTreeSet<SeatId>,
    pub(super) requests: Requests,
    pub(super) ready: Readiness,
    pub(super) pool: Pool,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) listener: Option<Listening>,
    pub(super) lists: bool,
    pub(super) listings: Listings,
    /// What was said and is not delivered, with who said it.
    pub(super) said: VecDeque<(Address, Address, Message)>,
    pub(super) out: Vec<(Address, Message)>,
    pub(super) ticked_ms: u64,
    pub(super) reported_ms: u64,
    /// When it was last connected to a manager that leads.
    pub(super) led_ms: u64,
    /// When the log has last said that there is none.
    pub(super) logged_leaderless_ms: Option<u64>,
    pub(super) durable: fawn_kv::store::Gate,
    pub(super) reads_ready: bool,
    pub(super) failed: bool,
    /// What was wrong when it was looked at last.
    pub(super) troubles: Troubles,
    /// What its node has, as it was counted last.
    pub(super) counted: Option<Counted>,
    /// The count that is under way.
    pub(super) counting: Option<Counting>,
    /// When the next begins.
    pub(super) count_ms: u64,
    pub(super) none: Never,
}

/// Nothing that a seat answers waits for a store of its loop.
#[derive(Debug)]
pub struct Never;

impl Gates for Never {
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
    match fawn_flash::clock::tell(unix_ms) {
        Some(ahead_s) if ahead_s.abs() > 5 => tracing::warn!(
            "the system clock is {} s {} the cluster's time, which applies from now on: set the clock",
            ahead_s.unsigned_abs(),
            if ahead_s > 0 { "behind" } else { "ahead of" }
        ),
        _ => {}
    }
}

impl Seat {
    /// Delivers what was said, here or elsewhere, until nobody has anything to say; no more than one turn's worth. The node
    /// goes on with all that it has taken at once.
    pub(super) fn run_on(&mut self, now: Now) {
        let (at, me) = (time(now), self.id.node());
        let mut left = MESSAGES_A_TURN;
        loop {
            self.deliver_said(now, at);
            let Some(node) = &mut self.node else { return };
            let next = if left > 0 { self.inbox.pop() } else { None };
            let settles = next.is_none();
            match next {
                Some((from, message)) => {
                    left -= 1;
                    node.take(at, from, message, &mut self.out);
                }
                None => node.settle(at, &mut self.out),
            }
            if settles && self.out.is_empty() {
                return;
            }
            self.said.extend(self.out.drain(..).map(|(to, message)| (to, me, message)));
        }
    }

    pub(super) fn deliver_said(&mut self, now: Now, at: timing::Now) {
        while let Some((to, from, message)) = self.said.pop_front() {
            self.deliver_one_message(to, from, message, None, (now, at));
        }
    }

    /// Delivers a message; `bytes` are those that it had on the wire.
    pub(super) fn deliver_one_message(
        &mut self,
        to: Address,
        from: Address,
        message: Message,
        bytes: Option<usize>,
        (now, at): (Now, timing::Now),
    ) {
        if Relay::takes(&message) && (to == self.id.node() || to == self.id.front()) {
            self.relayed((to, from, message), bytes, (now, at));
        } else if to == self.id.node() && self.node.is_some() {
            let bytes = bytes.unwrap_or_else(|| weight(&message));
            self.inbox.push(from, message, bytes);
        } else if to == self.id.front()
            && let Some(front) = &mut self.front
        {
            if let Some(message) = self.listings.receive(message, at, &mut self.out) {
                front.receive(at, message, &mut self.out);
            }
            let me = self.id.front();
            self.said.extend(self.out.drain(..).map(|(to, message)| (to, me, message)));
        } else if to == LOCAL {
            if let Message::Reply { tag, answer, .. } = message {
                if !self.ready.is_over() && self.ready.answered(tag, &answer, now.ms) {
                    return;
                }
                if answer == Answer::Busy {
                    self.requests.lacks(self.lack_of(tag));
                }
                for next in self.requests.answered(tag, answer, now, &mut self.pool) {
                    self.said.push_back((self.id.front(), LOCAL, next));
                }
            }
        } else if bytes.is_none() {
            self.send(to, from, message, (now, at));
        }
    }

    /// Takes what has come over connections and from other seats of this process.
    pub(super) fn take_in(&mut self, now: Now) {
        let at = time(now);
        for mail in self.mailbox.take() {
            match mail {
                Mail::Message(message) => {
                    let (to, from, message) = *message;
                    let bytes = weight(&message);
                    self.deliver_one_message(to, from, message, Some(bytes), (now, at));
                }
                Mail::Link(handed) => self.links.take_handed(*handed, now.ms),
            }
            // Answers go to their connection at once, which takes so many and no more.
            self.deliver_said(now, at);
        }
        while let Some(came) = self.links.take_came() {
            match came {
                LinkInput::Message(to, from, message, bytes) => {
                    self.deliver_one_message(to, from, message, Some(bytes), (now, at));
                }
                LinkInput::Control(Party::Manager(_), Control::Time { unix_ms }) => set_time(unix_ms),
                LinkInput::Control(party, control) => {
                    tracing::debug!("{party} sent a message that this release does not know: {control:?}");
                }
            }
            self.deliver_said(now, at);
        }
    }

    /// Lets node and front-end look at the time, when it is due or when something has become durable.
    pub(super) fn tick(&mut self, now: Now) {
        let at = time(now);
        let every = if self.is_busy() { TICK_MS.0 } else { TICK_MS.1 };
        let due = now.ms >= self.ticked_ms + every;
        if let Some(node) = &mut self.node {
            use fawn_kv::store::RangeStore as _;
            let durable = node.store().durable();
            if due || durable > self.durable {
                self.durable = durable;
                node.tick(at, &mut self.out);
                let me = self.id.node();
                self.said.extend(self.out.drain(..).map(|(to, message)| (to, me, message)));
            }
        }
        if due {
            self.ticked_ms = now.ms;
            if let Some(front) = &mut self.front {
                front.tick(at, &mut self.out);
                self.listings.tick(at, &mut self.out);
                let me = self.id.front();
                self.said.extend(self.out.drain(..).map(|(to, message)| (to, me, message)));
            }
            self.links.tick(now.ms);
            self.tick_relay(at);
            self.look_for_leader(now.ms);
            self.start_step(now);
            self.report(now, at);
        }
    }

    /// Logs, now and then, that a message was refused which cannot be true.
    pub(super) fn log_invalid(&mut self) {
        static LOG: RateLimitedLog = RateLimitedLog::new();
        let node = self.node.as_mut().and_then(|node| node.invalid_mut().take());
        let front = self.front.as_mut().and_then(|front| front.invalid_mut().take());
        for invalid in node.into_iter().chain(front) {
            if let Some(more) = LOG.happened(std::time::Instant::now()) {
                tracing::warn!("{invalid}{more}");
            }
        }
    }

    /// Goes on until clients may come.
    pub(super) fn start_step(&mut self, now: Now) {
        if self.ready.is_over() {
            return;
        }
        let around = self.around();
        let asked = self.ready.step(self.front.as_ref(), around, now.ms);
        let me = self.id.front();
        self.said.extend(asked.into_iter().map(|message| (me, LOCAL, message)));
    }

    /// What the seat's readiness depends on beside its front-end.
    pub(super) fn around(&self) -> Around {
        let is_member = self.node.as_ref().is_none_or(|node| node.member().is_some());
        Around { has_leader: self.links.has_leader(), is_member }
    }

    /// What the front-end lacks to carry a request out.
    pub(super) fn lack_of(&self, tag: u64) -> Option<Lack> {
        self.front.as_ref()?.lack_at(&self.requests.place_of(tag)?)
    }

    /// Notes whether a manager that leads is connected. One seat of a process logs when that has not been so for long, and where
    /// managers are called; then once a minute.
    pub(super) fn look_for_leader(&mut self, now_ms: u64) {
        let leaderless_ms = now_ms.saturating_sub(self.led_ms);
        if self.links.has_leader() {
            if self.logged_leaderless_ms.take().is_some() {
                tracing::info!("a leading manager is back, after {} s", leaderless_ms / 1000);
            }
            self.led_ms = now_ms;
        } else if self.lists
            && leaderless_ms >= LEADERLESS_MS
            && self.logged_leaderless_ms.is_none_or(|at| now_ms >= at + REPEAT_MS)
        {
            self.logged_leaderless_ms = Some(now_ms);
            tracing::warn!(
                "no leading manager for {} s (called at {}): this process serves its data as before, and changes of the cluster wait; start the managers there, or restart this process with their present addresses (--manager)",
                leaderless_ms / 1000,
                self.links.managers_called().join(", ")
            );
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        let node = self.node.as_ref().is_some_and(|node| {
            node.member().is_none()
                || node.replicas().any(|(_, replica)| replica.chain().is_none() || replica.last() > replica.committed())
        });
        let front = self.front.as_ref().is_some_and(|front| front.in_flight() > 0);
        node || front || !self.listings.is_empty() || !self.requests.is_empty() || !self.inbox.is_empty()
    }

    /// Hands the node what its store has read.
    pub(super) fn take_reads(&mut self, now: Now) {
        let at = time(now);
        let Some(node) = &mut self.node else { return };
        while let Some((ticket, answer)) = node.store_mut().take_answer() {
            match answer {
                Read::Version(kept) => node.read(at, ticket, kept, &mut self.out),
                Read::Part(part) => node.scanned(at, ticket, part, &mut self.out),
                Read::Failed(why) => {
                    tracing::error!("cannot read flash: {why}");
                    node.unreadable(at, ticket, &mut self.out);
                }
                Read::Refused(why) => {
                    log_short(&why);
                    node.not_read(at, ticket, &mut self.out);
                }
            }
        }
        let me = self.id.node();
        self.said.extend(self.out.drain(..).map(|(to, message)| (to, me, message)));
    }

    /// Lets the store's threads have what was written.
    pub(super) fn poll_store(&mut self, now: Now, turn: &mut Turn) {
        let Some(node) = &mut self.node else { return };
        let store = node.store_mut();
        if std::mem::take(&mut self.reads_ready)
            && let Err(error) = store.complete()
        {
            turn.failed = Some(format!("reads no longer complete: {error}"));
        }
        if store.has_work(now.ms) {
            turn.more |= store.poll(now.unix, now.ms).more;
        }
        turn.due_ms = Some(now.ms + store.timeout_ms(now.ms));
        if let Some(why) = store.stopped().filter(|_| !self.failed) {
            self.failed = true;
            turn.failed = Some(format!("the store has stopped: {why}"));
        }
    }

    pub(super) fn accept(&mut self, now: Now) {
        let Some(listener) = &mut self.listener else { return };
        listener.accept(now.ms, |socket, host| {
            prepare(&socket);
            self.links.accepted(Link::new(socket, State::Called, None, Lane::Chain, now.ms).from(host));
        });
    }

    pub(super) fn settle(&mut self, now: Now) {
        self.take_in(now);
        self.run_on(now);
        if !self.listings.is_empty() {
            for done in self.listings.take_done() {
                self.requests.deliver(done);
            }
        }
    }
}

/// About how many bytes a message would have on the wire.
fn weight(message: &Message) -> usize {
    MESSAGE_BYTES
        + match message {
            Message::Request { key, operation, .. } => key.len() + operation.len(),
            Message::Ask { key, operation, .. } => key.len() + operation.as_ref().map_or(0, Vec::len),
            Message::Relayed { message, .. } => message.len(),
            Message::Feed { entries, .. } => entries.iter().map(|entry| entry.bytes()).sum(),
            Message::Scanned { found: Found::Part { kept, .. } | Found::Records { kept, .. }, .. }
            | Message::CopyPart { kept, .. } => kept.iter().map(fawn_kv::range::entry::Kept::bytes).sum(),
            _ => 0,
        }
}
