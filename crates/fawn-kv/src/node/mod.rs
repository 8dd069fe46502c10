//! A node: its parts in the chains of many ranges, its life, its lease, and whom of its neighbours it hears.

use self::lineage::{divides, inherit};
use self::neighbours::Neighbours;
use crate::chain::{Context, Lease, Pace, Replica, Tally};
use crate::ids::{Address, Asker, Attempt, Chain, ClusterId, Epoch, Incarnation, Member, NodeId, RangeId, RequestId};
use crate::range::entry::Kept;
use crate::scan::Found;
use crate::store::{Part, RangeStore, RecoveredRange, Ticket};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::{Now, Timing};
use crate::wire::{Answer, Continuation, InvalidMessages, Message};
use fawn_ring::{DomainId, Interval, MachineId, Secret};
use std::collections::{BTreeMap, VecDeque};

pub mod inbox;
mod lineage;
mod neighbours;

/// Heartbeats that are remembered until they are answered.
const HEARTBEATS: usize = 16;

/// Who a node is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its name.
    pub id: NodeId,
    /// The machine that it runs on.
    pub machine: MachineId,
    /// What fails together with the machine, if that is known.
    pub domain: Option<DomainId>,
    /// Number of its places on the ring.
    pub virtual_ids: u32,
    /// Where keys lie.
    pub secret: Secret,
}

/// What a node has is not of the cluster that it is to be part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this node keeps data of cluster {kept}, but {}: let it reach its own managers, or give it an empty store",
    .managers.map_or_else(|| "its managers have not begun one".to_owned(), |id| format!("its managers belong to cluster {id}")))]
pub struct OtherCluster {
    /// The cluster that its store is of.
    pub kept: ClusterId,
    /// That of the managers; `None`: it has yet to begin.
    pub managers: Option<ClusterId>,
}

/// What a node's store holds is of no cluster, and the one that it is to be part of has ranges already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this node keeps data of no cluster, and cluster {managers} began without them: `fawn store dump` its \
    directory, give it an empty one, and `fawn load` the data into the cluster"
)]
pub struct OccupiedError {
    /// The cluster of the managers.
    pub managers: ClusterId,
}

/// One node.
#[derive(Debug)]
pub struct Node<S> {
    identity: Identity,
    /// Names this start.
    nonce: u64,
    timing: Timing,
    /// `None` until the manager has said.
    incarnation: Option<Incarnation>,
    /// What the store had when the node started, until its life has a number.
    recovered: BTreeMap<RangeId, RecoveredRange>,
    replicas: BTreeMap<RangeId, Replica>,
    /// Those that something came to which they have not gone on with.
    unsettled: Vec<RangeId>,
    /// What has happened to replicas that are no more.
    gone: Tally,
    store: S,
    lease: Lease,
    other_cluster: Option<OtherCluster>,
    occupied: Option<OccupiedError>,
    /// Number and time of the heartbeats that were sent last.
    heartbeats: VecDeque<(u64, u64)>,
    next_heartbeat: u64,
    tickets: (BTreeMap<Ticket, RangeId>, Ticket),
    pace: Pace,
    neighbours: Neighbours,
    /// No other member answers.
    is_cut_off: bool,
    invalid: InvalidMessages,
}

impl<S: RangeStore> Node<S> {
    /// A node that starts with what its store has. `nonce` was never used before, and nor were the billions after it.
    pub fn new(
        identity: Identity,
        nonce: u64,
        timing: Timing,
        store: S,
        recovered: BTreeMap<RangeId, RecoveredRange>,
    ) -> Self {
        Self {
            identity,
            nonce,
            timing,
            incarnation: None,
            recovered,
            replicas: BTreeMap::new(),
            unsettled: Vec::new(),
            gone: Tally::default(),
            store,
            lease: Lease::default(),
            other_cluster: None,
            occupied: None,
            heartbeats: VecDeque::new(),
            next_heartbeat: 0,
            tickets: (BTreeMap::new(), 0),
            pace: Pace::default(),
            neighbours: Neighbours::default(),
            is_cut_off: false,
            invalid: InvalidMessages::default(),
        }
    }

    /// The node in this life, once the manager has numbered it.
    pub fn member(&self) -> Option<Member> {
        self.incarnation.map(|incarnation| Member { node: self.identity.id, incarnation })
    }

    /// The node's parts.
    pub fn replicas(&self) -> impl Iterator<Item = (RangeId, &Replica)> {
        self.replicas.iter().map(|(range, replica)| (*range, replica))
    }

    /// Whether any of its logs may lack what it acknowledged, as it rested before.
    pub fn is_behind(&self) -> bool {
        (self.timing.rested && !self.recovered.is_empty()) || self.replicas.values().any(Replica::is_behind)
    }

    /// The node's part in one range.
    pub fn replica(&self, range: RangeId) -> Option<&Replica> {
        self.replicas.get(&range)
    }

    /// What has happened to its parts so far.
    pub fn tally(&self) -> Tally {
        let mut tally = self.gone;
        self.replicas.values().for_each(|replica| tally.add(replica.tally()));
        tally
    }

    /// The node's right to answer reads.
    pub fn lease(&self) -> Lease {
        self.lease
    }

    /// Why the node takes no part in the cluster of the managers that it hears, if it does not: it has something of another.
    /// Until they grant it a life or a lease, this is for its operator to see to.
    pub fn other_cluster(&self) -> Option<OtherCluster> {
        self.other_cluster
    }

    /// Why what the node has becomes no part of the cluster, if it does not. It stays as it is.
    pub fn occupied(&self) -> Option<OccupiedError> {
        self.occupied
    }

    /// Messages that cannot be true, and were dropped.
    pub fn invalid_mut(&mut self) -> &mut InvalidMessages {
        &mut self.invalid
    }

    /// See [`invalid_mut`](Self::invalid_mut).
    pub fn invalid(&self) -> &InvalidMessages {
        &self.invalid
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The store.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// The store, of a node that is no more.
    pub fn into_store(self) -> S {
        self.store
    }

    /// Time has passed, or writes have become durable.
    pub fn tick(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        if self.has_failed() {
            return;
        }
        self.neighbours.forgive_pause(&self.timing, now.us);
        self.beat(now, out);
        if self.incarnation.is_none() {
            return;
        }
        let (me, chains) = (self.identity.id, self.replicas.values().filter_map(Replica::chain));
        self.neighbours.ping(chains.flat_map(|chain| chain.neighbours(me)), &self.timing, now.us, out);
        for range in self.replicas.keys().copied().collect::<Vec<_>>() {
            self.with(range, now, out, Replica::tick);
        }
        self.unsettled.clear();
    }

    /// Goes on with what has come since this was called last: records are fed and acknowledged, many at once. To be called
    /// after [`take`](Self::take) and after reads, before anything is sent.
    pub fn settle(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        let mut unsettled = std::mem::take(&mut self.unsettled);
        for range in unsettled.drain(..) {
            self.with(range, now, out, Replica::progress);
        }
        // Its room is used again.
        self.unsettled = unsettled;
    }

    /// A step of a range that [`settle`](Self::settle) is to go on with.
    fn with_more(
        &mut self,
        range: RangeId,
        now: Now,
        out: &mut Vec<(Address, Message)>,
        step: impl FnOnce(&mut Replica, &mut Context<'_, S>),
    ) {
        self.with(range, now, out, step);
        if !self.unsettled.contains(&range) {
            self.unsettled.push(range);
        }
    }

    /// The version that everybody in the cluster speaks. Before it is told, that is the newest.
    pub fn speak(&mut self, version: u8) {
        self.timing.version = version;
    }

    /// Says that this life is over. From here on the node must answer nothing: all that is left to do is to take its
    /// [store](Self::into_store).
    pub fn farewell(&mut self, out: &mut Vec<(Address, Message)>) {
        if let Some((member, cluster)) = self.member().zip(self.store.cluster()) {
            out.push((Address::Manager, Message::Farewell { cluster, member }));
        }
        (self.incarnation, self.lease) = (None, Lease::default());
    }

    /// Whether the store has failed: the node says nothing any more, as if it had crashed. Whoever runs it ends it.
    pub fn has_failed(&self) -> bool {
        self.store.has_failed()
    }

    /// A lookup that waited for flash is done.
    pub fn read(&mut self, now: Now, ticket: Ticket, kept: Option<Kept>, out: &mut Vec<(Address, Message)>) {
        if let Some(range) = self.tickets.0.remove(&ticket) {
            self.with_more(range, now, out, |replica, context| replica.read(ticket, kept, context));
        }
    }

    /// A scan that waited for flash is done.
    pub fn scanned(&mut self, now: Now, ticket: Ticket, part: Part, out: &mut Vec<(Address, Message)>) {
        if let Some(range) = self.tickets.0.remove(&ticket) {
            self.with_more(range, now, out, |replica, context| replica.scanned(ticket, part, context));
        }
    }

    /// Flash cannot be read where a lookup or a scan waits for it, or what is there is damaged.
    pub fn unreadable(&mut self, now: Now, ticket: Ticket, out: &mut Vec<(Address, Message)>) {
        if let Some(range) = self.tickets.0.remove(&ticket) {
            self.with_more(range, now, out, |replica, context| replica.unreadable(ticket, context));
        }
    }

    /// A lookup or a scan that waited for flash was refused, and may succeed later.
    pub fn not_read(&mut self, now: Now, ticket: Ticket, out: &mut Vec<(Address, Message)>) {
        if let Some(range) = self.tickets.0.remove(&ticket) {
            self.with_more(range, now, out, |replica, context| replica.not_read(ticket, context));
        }
    }

    /// A message has come, and no other with it.
    pub fn receive(&mut self, now: Now, from: Address, message: Message, out: &mut Vec<(Address, Message)>) {
        self.take(now, from, message, out);
        self.settle(now, out);
    }

    /// A message has come. Others may be taken before [`settle`](Self::settle).
    pub fn take(&mut self, now: Now, from: Address, message: Message, out: &mut Vec<(Address, Message)>) {
        if self.has_failed() {
            return;
        }
        if let Address::Node(from) = from {
            self.neighbours.note_heard(from, now.us);
        }
        match message {
            Message::Welcome { cluster, nonce, incarnation } => self.welcome(cluster, nonce, incarnation),
            Message::OtherCluster { cluster } => self.refused(cluster),
            Message::Adopt { cluster, nonce, incarnation, range } => self.adopt(cluster, nonce, incarnation, range),
            Message::Occupied { cluster } if self.store.plain().is_some() => {
                self.occupied = Some(OccupiedError { managers: cluster });
            }
            Message::Superseded { incarnation } if self.incarnation == Some(incarnation) => self.begin_anew(),
            Message::Lease { incarnation, nonce, lease_us } if self.incarnation == Some(incarnation) => {
                self.granted(nonce, lease_us, now.us);
            }
            Message::Ping => out.push((from, Message::Pong)),
            Message::Activate { incarnation, attempt, over, chains } if self.is_for(incarnation) => {
                self.activate(now, attempt, &over, chains, out);
            }
            Message::Drop { incarnation, range, epoch, over } if self.is_for(incarnation) => {
                self.drop_range(range, epoch, over);
            }
            message => self.receive_for_range(now, from, message, out),
        }
    }

    fn is_for(&self, incarnation: Incarnation) -> bool {
        self.incarnation.is_some_and(|mine| mine == incarnation || planted(Bug::AnyLife))
    }

    fn receive_for_range(&mut self, now: Now, from: Address, message: Message, out: &mut Vec<(Address, Message)>) {
        let Some((range, life)) = message.about() else { return };
        let Some(me) = self.member() else { return };
        if life.is_some_and(|life| !self.is_for(life)) {
            return;
        }
        if !self.replicas.contains_key(&range) {
            // The manager alone makes a node part of a range.
            let keys: Interval = match message {
                Message::Learn { keys, .. } | Message::Seal { keys, .. } => keys,
                Message::Request { asker, id, .. } | Message::Flush { asker, id, .. } => {
                    return not_mine(id, asker, None, out);
                }
                Message::Get { asker, id, continuation, .. } => return not_mine(id, asker, continuation, out),
                Message::Scan { asker: Asker { address, tag }, id, .. } => {
                    return out.push((address, Message::Scanned { id, tag, from: me, found: Found::NotMine }));
                }
                _ => return,
            };
            // Of two ranges that overlap one is over. If it is the one that is here, its end will be told; if it is this one,
            // the message came late.
            let overlaps = self.replicas.values().any(|other| other.keys().overlaps(&keys));
            if overlaps && !planted(Bug::SealedBlank) {
                return;
            }
            self.replicas.insert(range, Replica::empty(range, keys, me, (&mut self.store, &self.identity.secret)));
        }
        self.with_more(range, now, out, |replica, context| replica.take(from, message, context));
        self.note_invalid(range, from);
    }

    /// Notes that the last message about a range was refused, if it was.
    fn note_invalid(&mut self, range: RangeId, from: Address) {
        if let Some(reason) = self.replicas.get_mut(&range).and_then(Replica::take_invalid) {
            self.invalid.note(from, reason);
        }
    }

    /// An attempt has come to its end.
    fn activate(
        &mut self,
        now: Now,
        attempt: Attempt,
        over: &[RangeId],
        chains: Vec<(RangeId, Chain)>,
        out: &mut Vec<(Address, Message)>,
    ) {
        let Some(me) = self.member() else { return };
        let is_first = chains.iter().all(|(range, _)| !self.replicas.contains_key(range));
        if over.iter().any(|range| self.replicas.contains_key(range)) && is_first {
            if !divides(&self.replicas, over, &chains) {
                return self.invalid.note(Address::Manager, "Activate: ranges do not come of those that are over");
            }
            let before = self.tally();
            let lent = (&mut self.store, &mut self.tickets, &mut self.pace);
            let mut context = context(now, self.lease, self.timing, &self.identity.secret, lent, out);
            inherit(&mut self.replicas, me, attempt, over, &chains, &mut context);
            // What happened to those that are over did happen.
            self.gone.add(before.without(self.tally()));
        } else {
            for range in over {
                self.drop_range(*range, Epoch(u32::MAX), attempt);
            }
        }
        let mut begins = false;
        for (range, chain) in chains {
            if !self.replicas.contains_key(&range) {
                continue;
            }
            let active = |node: &Self| node.replicas[&range].chain().map_or(Epoch(0), |chain| chain.epoch);
            let before = active(self);
            self.with(range, now, out, |replica, context| replica.activated(chain, context));
            self.note_invalid(range, Address::Manager);
            begins |= active(self) > before;
        }
        if begins {
            // The lease does not cover what the node was not active in.
            self.heartbeat(now, out);
        }
    }

    /// The manager says that what is here of a range is not needed.
    fn drop_range(&mut self, range: RangeId, epoch: Epoch, over: Attempt) {
        let Some(replica) = self.replicas.get(&range) else { return };
        if !replica.may_go(epoch, over) {
            return took(Path::KeptAgainstOrder);
        }
        took(Path::Dropped);
        self.gone.add(replica.tally());
        self.replicas.remove(&range);
        self.store.drop_range(range);
    }

    fn with(
        &mut self,
        range: RangeId,
        now: Now,
        out: &mut Vec<(Address, Message)>,
        step: impl FnOnce(&mut Replica, &mut Context<'_, S>),
    ) {
        // Its range may be over.
        let Some(replica) = self.replicas.get_mut(&range).filter(|_| !self.store.has_failed()) else { return };
        let lent = (&mut self.store, &mut self.tickets, &mut self.pace);
        step(replica, &mut context(now, self.lease, self.timing, &self.identity.secret, lent, out));
    }

    /// What the store has is a range from here on, unless that was said before, and the node has this life.
    fn adopt(&mut self, cluster: ClusterId, nonce: u64, incarnation: Incarnation, range: RangeId) {
        if nonce == self.nonce && self.incarnation.is_none() && self.store.plain().is_some() {
            let Some(adopted) = self.store.adopt(cluster, range) else { return took(Path::AdoptedLate) };
            self.occupied = None;
            self.recovered.insert(range, adopted);
            self.welcome(cluster, nonce, incarnation);
        }
    }

    fn welcome(&mut self, cluster: ClusterId, nonce: u64, incarnation: Incarnation) {
        // What is of no cluster yet becomes a range first.
        if nonce != self.nonce || self.incarnation.is_some() || self.store.plain().is_some() {
            return;
        }
        match self.store.cluster() {
            // Nothing is written of any range before it.
            None => drop(self.store.join(cluster)),
            Some(kept) if kept != cluster && !planted(Bug::AnyCluster) => return self.refused(Some(cluster)),
            Some(_) => {}
        }
        self.other_cluster = None;
        self.incarnation = Some(incarnation);
        let me = Member { node: self.identity.id, incarnation };
        for replica in self.replicas.values_mut() {
            replica.stand_up(me);
        }
        let secret = &self.identity.secret;
        let replicas = std::mem::take(&mut self.recovered).into_iter();
        self.replicas.extend(replicas.map(|(range, recovered)| {
            let mut replica = Replica::new(range, me, recovered, secret);
            if self.timing.rested {
                replica.set_behind();
            }
            (range, replica)
        }));
    }

    /// The managers are of another cluster than what is here: it stays as it is.
    fn refused(&mut self, managers: Option<ClusterId>) {
        if let Some(kept) = self.store.cluster().filter(|kept| managers != Some(*kept)) {
            self.other_cluster = Some(OtherCluster { kept, managers });
        }
    }

    /// The manager has given the node's name to another start: a hello of an earlier one came late. What this life was part
    /// of goes on without it; what it has stays.
    fn begin_anew(&mut self) {
        took(Path::Anew);
        self.incarnation = None;
        self.nonce += 1;
        self.lease = Lease::default();
        self.heartbeats.clear();
        self.tickets.0.clear();
        for replica in self.replicas.values_mut() {
            replica.stand_down();
        }
    }

    fn granted(&mut self, nonce: u64, lease_us: u64, now_us: u64) {
        self.other_cluster = None;
        let Some((_, asked_us)) = self.heartbeats.iter().find(|(sent, _)| *sent == nonce).copied() else { return };
        let from_us = if planted(Bug::LeaseFromReceipt) { now_us } else { asked_us };
        if asked_us >= self.lease.asked_us {
            self.lease = Lease { asked_us, until_us: from_us.saturating_add(lease_us) };
        }
    }

    /// Says hello until the node's life has a number, and that it lives from then on.
    fn beat(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        let due = self.heartbeats.back().is_none_or(|(_, sent)| now.us >= sent + self.timing.heartbeat_us);
        if due {
            self.heartbeat(now, out);
        }
    }

    fn heartbeat(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        let nonce = self.next_heartbeat;
        self.next_heartbeat += 1;
        self.heartbeats.push_back((nonce, now.us));
        if self.heartbeats.len() > HEARTBEATS {
            self.heartbeats.pop_front();
        }
        let cluster = self.store.cluster();
        let message = match self.member().zip(cluster) {
            None => {
                let Identity { id: node, machine, domain, virtual_ids, .. } = self.identity;
                let nonce = self.nonce;
                match self.store.plain() {
                    Some(plain) => Message::Offer { node, nonce, machine, domain, virtual_ids, plain },
                    None => Message::Hello { cluster, node, nonce, machine, domain, virtual_ids },
                }
            }
            Some((member, cluster)) => {
                let full = self.store.is_full();
                let reports = self.replicas.values().map(|replica| replica.report(full)).collect();
                let silent = self.neighbours.silent(&self.timing, now.us).collect();
                Message::Heartbeat { cluster, member, nonce, reports, silent }
            }
        };
        out.push((Address::Manager, message));
        if let Some(member) = self.member().filter(|_| self.is_cut_off) {
            out.push((Address::Manager, Message::NodeCutOff { member }));
        }
    }

    /// Whether any other member answers: managers leave a node that none answers out of chains.
    pub fn note_cut_off(&mut self, is_cut_off: bool) {
        self.is_cut_off = is_cut_off;
    }
}

fn context<'a, S>(
    now: Now,
    lease: Lease,
    timing: Timing,
    secret: &'a Secret,
    (store, tickets, pace): (&'a mut S, &'a mut (BTreeMap<Ticket, RangeId>, Ticket), &'a mut Pace),
    out: &'a mut Vec<(Address, Message)>,
) -> Context<'a, S> {
    Context { now_us: now.us, unix: now.unix, latest: now.latest, secret, lease, timing, store, out, tickets, pace }
}

fn not_mine(id: RequestId, asker: Asker, continuation: Option<Continuation>, out: &mut Vec<(Address, Message)>) {
    let reply = Message::Reply { id, tag: asker.tag, continuation, until: 0, answer: Answer::NotMine };
    out.push((asker.address, reply));
}
