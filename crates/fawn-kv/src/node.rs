//! A node: its parts in the chains of many ranges, its life and its lease.

use crate::chain::{Context, Lease, Replica, Timing};
use crate::entry::Kept;
use crate::ids::{Address, Incarnation, Member, NodeId, RangeId};
use crate::message::{Answer, Message};
use crate::planted::{Bug, planted};
use crate::store::{RangeStore, Recovered, Ticket};
use std::collections::{BTreeMap, VecDeque};

/// Heartbeats that are remembered until they are answered.
const HEARTBEATS: usize = 16;

/// One node.
#[derive(Debug)]
pub struct Node<S> {
    id: NodeId,
    /// Names this start.
    nonce: u64,
    timing: Timing,
    /// `None` until the manager has said.
    incarnation: Option<Incarnation>,
    /// What the store had when the node started, until its life has a number.
    recovered: BTreeMap<RangeId, Recovered>,
    replicas: BTreeMap<RangeId, Replica>,
    store: S,
    lease: Lease,
    /// Number and time of the heartbeats that were sent last.
    heartbeats: VecDeque<(u64, u64)>,
    next_heartbeat: u64,
    tickets: (BTreeMap<Ticket, RangeId>, Ticket),
}

impl<S: RangeStore> Node<S> {
    /// A node that starts with what its store has. `nonce` was never used before, and nor were the billions after it.
    pub fn new(id: NodeId, nonce: u64, timing: Timing, store: S, recovered: BTreeMap<RangeId, Recovered>) -> Self {
        Self {
            id,
            nonce,
            timing,
            incarnation: None,
            recovered,
            replicas: BTreeMap::new(),
            store,
            lease: Lease::default(),
            heartbeats: VecDeque::new(),
            next_heartbeat: 0,
            tickets: (BTreeMap::new(), 0),
        }
    }

    /// The node in this life, once the manager has numbered it.
    pub fn member(&self) -> Option<Member> {
        self.incarnation.map(|incarnation| Member { node: self.id, incarnation })
    }

    /// The node's parts.
    pub fn replicas(&self) -> impl Iterator<Item = (RangeId, &Replica)> {
        self.replicas.iter().map(|(range, replica)| (*range, replica))
    }

    /// The node's part in one range.
    pub fn replica(&self, range: RangeId) -> Option<&Replica> {
        self.replicas.get(&range)
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
    pub fn tick(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        self.beat(now_us, out);
        for range in self.replicas.keys().copied().collect::<Vec<_>>() {
            if self.incarnation.is_some() {
                self.with(range, now_us, out, Replica::tick);
            }
        }
    }

    /// A lookup that waited for flash is done.
    pub fn read(&mut self, now_us: u64, ticket: Ticket, kept: Option<Kept>, out: &mut Vec<(Address, Message)>) {
        if let Some(range) = self.tickets.0.remove(&ticket) {
            self.with(range, now_us, out, |replica, context| replica.read(ticket, kept, context));
        }
    }

    /// A message has come.
    pub fn receive(&mut self, now_us: u64, from: Address, message: Message, out: &mut Vec<(Address, Message)>) {
        match message {
            Message::Welcome { nonce, incarnation } => self.welcome(nonce, incarnation),
            Message::Superseded { incarnation } if self.incarnation == Some(incarnation) => self.begin_anew(),
            Message::Lease { incarnation, nonce } => self.granted(incarnation, nonce, now_us),
            message => {
                let Some((range, life)) = message.about() else { return };
                let Some(me) = self.member() else { return };
                if life.is_some_and(|life| life != me.incarnation) && !planted(Bug::AnyLife) {
                    return;
                }
                // The manager alone makes a node part of a range.
                if life.is_none() && !self.replicas.contains_key(&range) {
                    if let Message::Request { client, id, .. } | Message::Get { client, id, .. } = message {
                        out.push((Address::Client(client), Message::Reply { id, answer: Answer::NotMine }));
                    }
                    return;
                }
                self.replicas.entry(range).or_insert_with(|| Replica::new(range, me, Recovered::default()));
                let active = |node: &Self| node.replicas[&range].chain().map(|chain| chain.epoch);
                let before = active(self);
                self.with(range, now_us, out, |replica, context| replica.receive(from, message, context));
                if active(self).is_some_and(|epoch| Some(epoch) != before) {
                    // The lease does not cover what the node was not active in.
                    self.heartbeat(now_us, out);
                }
            }
        }
    }

    fn with(
        &mut self,
        range: RangeId,
        now_us: u64,
        out: &mut Vec<(Address, Message)>,
        step: impl FnOnce(&mut Replica, &mut Context<'_, S>),
    ) {
        let (lease, timing) = (self.lease, self.timing);
        let (store, tickets) = (&mut self.store, &mut self.tickets);
        let mut context = Context { now_us, lease, timing, store, out, tickets };
        step(self.replicas.get_mut(&range).expect("the node has a part in the range"), &mut context);
    }

    fn welcome(&mut self, nonce: u64, incarnation: Incarnation) {
        if nonce != self.nonce || self.incarnation.is_some() {
            return;
        }
        self.incarnation = Some(incarnation);
        let me = Member { node: self.id, incarnation };
        for replica in self.replicas.values_mut() {
            replica.stand_up(me);
        }
        let replicas = std::mem::take(&mut self.recovered).into_iter();
        self.replicas.extend(replicas.map(|(range, recovered)| (range, Replica::new(range, me, recovered))));
    }

    /// The manager has given the node's name to another start: a hello of an earlier one came late. What this life was part
    /// of goes on without it; what it has stays.
    fn begin_anew(&mut self) {
        self.incarnation = None;
        self.nonce += 1;
        self.lease = Lease::default();
        self.heartbeats.clear();
        self.tickets.0.clear();
        for replica in self.replicas.values_mut() {
            replica.stand_down();
        }
    }

    fn granted(&mut self, incarnation: Incarnation, nonce: u64, now_us: u64) {
        if self.incarnation != Some(incarnation) {
            return;
        }
        let Some((_, asked_us)) = self.heartbeats.iter().find(|(sent, _)| *sent == nonce).copied() else { return };
        let Timing { lease_us, drift_permille, .. } = self.timing;
        let from_us = if planted(Bug::LeaseFromReceipt) { now_us } else { asked_us };
        if asked_us >= self.lease.asked_us {
            self.lease = Lease { asked_us, until_us: from_us + lease_us - lease_us * drift_permille / 1000 };
        }
    }

    /// Says hello until the node's life has a number, and that it lives from then on.
    fn beat(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        let due = self.heartbeats.back().is_none_or(|(_, sent)| now_us >= sent + self.timing.heartbeat_us);
        if due {
            self.heartbeat(now_us, out);
        }
    }

    fn heartbeat(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        let nonce = self.next_heartbeat;
        self.next_heartbeat += 1;
        self.heartbeats.push_back((nonce, now_us));
        if self.heartbeats.len() > HEARTBEATS {
            self.heartbeats.pop_front();
        }
        let message = match self.member() {
            None => Message::Hello { node: self.id, nonce: self.nonce },
            Some(member) => {
                let reports = self.replicas.values().map(Replica::report).collect();
                Message::Heartbeat { member, nonce, reports }
            }
        };
        out.push((Address::Manager, message));
    }
}
