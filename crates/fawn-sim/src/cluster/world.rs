//! The events of a simulated cluster, in their order.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt;

use fawn_kv::chain::Timing;
use fawn_kv::entry::Kept;
use fawn_kv::ids::{Address, NodeId, RangeId};
use fawn_kv::manager::{Command, Effects};
use fawn_kv::message::Message;
use fawn_kv::node::Node;
use fawn_kv::store::{Gate, Recovered, Ticket};

use super::client::{Client, Ended};
use super::invariants::{Invariants, checksum};
use super::managers::Managers;
use super::store::MemoryStore;
use crate::history::{Checker, Failure, KvModel};
use crate::random::Random;

/// Between two ticks of anything.
const TICK_US: u64 = 10_000;

/// A run of more events than this goes in circles.
const MOST_EVENTS: u64 = 2_000_000;

/// What a run is made of.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Nodes.
    pub nodes: u32,
    /// Members of each chain.
    pub replicas: usize,
    /// Ranges.
    pub ranges: u32,
    /// Clients.
    pub clients: u32,
    /// Keys.
    pub keys: u64,
    /// Managers.
    pub managers: usize,
    /// Simulated time with faults, in microseconds.
    pub faults_us: u64,
    /// Whether anything goes wrong.
    pub faults: bool,
    /// Whether every event is told on standard error.
    pub trace: bool,
}

impl Plan {
    /// A small cluster of a shape that the seed decides.
    pub fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x706c_616e);
        let replicas = *random.pick(&[1, 2, 3, 3, 3, 5]);
        Self {
            nodes: replicas as u32 + random.below(4) as u32,
            replicas,
            ranges: 1 + random.below(4) as u32,
            clients: 3 + random.below(8) as u32,
            keys: 4 + random.below(30),
            managers: 3,
            faults_us: 8_000_000,
            faults: true,
            trace: false,
        }
    }
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Operations that were answered, and those given up.
    pub operations: u64,
    /// See `operations`.
    pub given_up: u64,
    /// Events.
    pub events: u64,
    /// Messages sent.
    pub messages: u64,
    /// Faults, by kind.
    pub faults: [u64; super::faults::KINDS.len()],
    /// Records that were committed.
    pub records: u64,
    /// Chains that were active.
    pub chains: u64,
    /// Simulated time, in microseconds.
    pub simulated_us: u64,
    /// Of everything that happened, in its order.
    pub trace: u64,
}

impl Summary {
    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.given_up += other.given_up;
        self.events += other.events;
        self.messages += other.messages;
        self.records += other.records;
        self.chains += other.chains;
        self.simulated_us += other.simulated_us;
        self.trace ^= other.trace;
        for (mine, others) in self.faults.iter_mut().zip(other.faults) {
            *mine += others;
        }
    }
}

/// Something that must never happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed.
    pub seed: u64,
    /// When, in simulated microseconds.
    pub at_us: u64,
    /// What.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {} at {} us: {}", self.seed, self.at_us, self.what)
    }
}

impl std::error::Error for Violation {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Party {
    Manager(usize),
    Node(usize),
    Client(usize),
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    Deliver {
        to: Party,
        from: Address,
        bytes: Vec<u8>,
    },
    Tick(usize),
    Synced {
        node: usize,
        run: u32,
        gate: Gate,
    },
    Read {
        node: usize,
        run: u32,
        ticket: Ticket,
        kept: Option<Kept>,
    },
    ManagerTick(usize),
    /// A proposal has come to the log.
    Propose {
        term: u64,
        command: Command,
    },
    /// A manager hears what is in the log.
    Tell(usize),
    Confirmed {
        manager: usize,
        term: u64,
        question: u64,
    },
    /// A manager hears whether it leads.
    Lead {
        manager: usize,
        term: u64,
    },
    ClientTick(usize),
    Fault,
    Restart(usize),
    Heal(u64),
}

struct Timed {
    at_us: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    /// The heap's largest comes first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_us, other.number).cmp(&(self.at_us, self.number))
    }
}

/// A node's place.
pub(super) struct Place {
    pub(super) node: Option<Node<MemoryStore>>,
    /// What a node that is down has.
    pub(super) left: Option<(MemoryStore, BTreeMap<RangeId, Recovered>)>,
    /// Counts the node's lives.
    pub(super) run: u32,
    /// What the clock says at time 0, and by how many parts per million it is faster than the slowest there may be.
    offset_us: u64,
    fast_ppm: u64,
    pub(super) paused_until_us: u64,
    syncing: bool,
}

pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) random: Random,
    pub(super) now_us: u64,
    events: BinaryHeap<Timed>,
    next_event: u64,
    pub(super) places: Vec<Place>,
    pub(super) managers: Managers,
    clients: Vec<Client>,
    checkers: Vec<Checker<KvModel>>,
    /// By client: the operation that the checker knows.
    open: Vec<Option<u64>>,
    next_operation: u64,
    invariants: Invariants,
    pub(super) summary: Summary,
    /// Of a thousand messages.
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) slow: u64,
    /// Who does not reach whom, by the partition's number.
    pub(super) cuts: BTreeMap<u64, BTreeSet<(Party, Party)>>,
    pub(super) next_cut: u64,
    pub(super) healing: bool,
    timing: Timing,
}

/// Runs one seed.
///
/// # Errors
/// The first [`Violation`].
pub fn run(seed: u64, plan: &Plan) -> Result<Summary, Violation> {
    let mut world = World::new(seed, *plan);
    match world.run() {
        Ok(()) => Ok(world.summary),
        Err(what) => Err(Violation { seed, at_us: world.now_us, what }),
    }
}

impl World {
    fn new(seed: u64, plan: Plan) -> Self {
        let mut random = Random::new(seed);
        let timing = Timing { history: 64, batch: 16, ..Timing::default() };
        let managers = Managers::new(plan.managers, timing, plan.replicas, plan.ranges);
        let places = (0..plan.nodes)
            .map(|_| Place {
                node: None,
                left: Some((MemoryStore::new(random.fork()), BTreeMap::new())),
                run: 0,
                offset_us: random.below(1_000_000),
                fast_ppm: random.below(9000),
                paused_until_us: 0,
                syncing: false,
            })
            .collect();
        let clients = (0..plan.clients).map(|number| Client::new(number, random.fork())).collect();
        let checkers = (0..plan.keys).map(|_| Checker::new()).collect();
        let mut world = Self {
            plan,
            random,
            now_us: 0,
            events: BinaryHeap::new(),
            next_event: 0,
            places,
            managers,
            clients,
            checkers,
            open: vec![None; plan.clients as usize],
            next_operation: 0,
            invariants: Invariants::default(),
            summary: Summary::default(),
            lost: 0,
            doubled: 0,
            slow: 0,
            cuts: BTreeMap::new(),
            next_cut: 0,
            healing: false,
            timing,
        };
        for number in 0..plan.managers {
            world.after(0, Event::ManagerTick(number));
        }
        for number in 0..plan.nodes as usize {
            let delay = world.random.below(50_000);
            world.after(delay, Event::Restart(number));
        }
        for number in 0..plan.clients as usize {
            world.after(0, Event::ClientTick(number));
        }
        if plan.faults {
            world.after(1_000_000, Event::Fault);
        }
        world.elect(Some(0));
        world
    }

    pub(super) fn after(&mut self, delay_us: u64, event: Event) {
        self.events.push(Timed { at_us: self.now_us + delay_us, number: self.next_event, event });
        self.next_event += 1;
    }

    fn run(&mut self) -> Result<(), String> {
        let (faults_us, limit_us) = (self.plan.faults_us, self.plan.faults_us + 60_000_000);
        while let Some(Timed { at_us, event, .. }) = self.events.pop() {
            self.now_us = at_us;
            self.summary.events += 1;
            let seen = (at_us, self.summary.events);
            let mut hash = self.summary.trace ^ seen.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seen.1;
            if let Event::Deliver { bytes, .. } = &event {
                hash ^= checksum(bytes);
            }
            self.summary.trace = hash.rotate_left(13).wrapping_mul(0x0100_0000_01b3);
            if self.plan.trace {
                self.tell(&event);
            }
            if !self.healing && at_us >= faults_us {
                self.heal_all();
            }
            self.handle(event)?;
            if self.healing && self.summary.events.is_multiple_of(64) && self.is_quiet() {
                return self.finish();
            }
            if self.summary.events > MOST_EVENTS {
                return Err(format!("{MOST_EVENTS} events do not lead to an end: {}", self.why_not_quiet()));
            }
            if at_us > limit_us {
                return Err(format!("it never comes to rest: {}", self.why_not_quiet()));
            }
        }
        unreachable!("ticks never end")
    }

    fn finish(&mut self) -> Result<(), String> {
        for checker in std::mem::take(&mut self.checkers) {
            judge(checker.finish())?;
        }
        (self.summary.records, self.summary.chains) = (self.invariants.records(), self.invariants.chains());
        self.summary.simulated_us = self.now_us;
        Ok(())
    }

    /// Whether every chain is as it should be, and nobody waits for anything.
    fn is_quiet(&self) -> bool {
        self.why_not_quiet().is_empty()
    }

    fn why_not_quiet(&self) -> String {
        if let Some(client) = self.clients.iter().find(|client| client.asking.is_some()) {
            return format!("client {} waits for {:?}", client.number, client.asking);
        }
        let Some(leader) = self.managers.leader else { return "nobody leads".into() };
        let state = self.managers.members[leader].state();
        for (id, range) in &state.ranges {
            if range.pending.is_some() || range.chain.members.len() < self.plan.replicas {
                return format!("{id:?} is {range:?}");
            }
            for member in &range.chain.members {
                let node = self.places[member.node.0 as usize].node.as_ref();
                let replica =
                    node.and_then(|node| node.replica(*id)).filter(|replica| replica.chain() == Some(&range.chain));
                let Some(replica) = replica else {
                    return format!("{member:?} of {id:?} is not active in {:?}", range.chain);
                };
                if replica.last() != replica.committed() {
                    return format!("{member:?} of {id:?} has {:?} and {:?}", replica.last(), replica.committed());
                }
            }
        }
        String::new()
    }

    fn handle(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Deliver { to, from, bytes } => self.deliver(to, from, bytes),
            Event::Tick(node) => {
                self.after(TICK_US, Event::Tick(node));
                self.step(node, Node::tick)
            }
            Event::Synced { node, run, gate } => {
                if self.places[node].run != run || self.places[node].node.is_none() {
                    return Ok(());
                }
                self.places[node].syncing = false;
                self.places[node].node.as_mut().expect("it runs").store_mut().synced(gate);
                self.step(node, Node::tick)
            }
            Event::Read { node, run, ticket, kept } => {
                if self.places[node].run != run {
                    return Ok(());
                }
                if self.now_us < self.places[node].paused_until_us {
                    let delay = self.places[node].paused_until_us - self.now_us;
                    self.after(delay, Event::Read { node, run, ticket, kept });
                    return Ok(());
                }
                self.step(node, |node, now_us, out| node.read(now_us, ticket, kept, out))
            }
            Event::ManagerTick(number) => {
                self.after(TICK_US, Event::ManagerTick(number));
                let mut effects = Effects::default();
                self.managers.members[number].tick(self.now_us, &mut effects);
                self.do_effects(number, effects);
                Ok(())
            }
            Event::Propose { term, command } => {
                if self.managers.term == term {
                    self.managers.log.push(command);
                    for number in 0..self.managers.members.len() {
                        let delay = self.random.within(100, 3000);
                        self.after(delay, Event::Tell(number));
                    }
                }
                Ok(())
            }
            Event::Tell(number) => {
                let mut effects = Effects::default();
                while let Some(command) = self.managers.log.get(self.managers.told[number]) {
                    self.managers.members[number].committed(self.now_us, command, &mut effects);
                    self.managers.told[number] += 1;
                }
                self.do_effects(number, effects);
                Ok(())
            }
            Event::Confirmed { manager, term, question } => {
                // It led when it was asked, and still did later: at the time when the majority answered.
                if self.managers.term == term {
                    let mut effects = Effects::default();
                    self.managers.members[manager].confirmed(self.now_us, question, &mut effects);
                    self.do_effects(manager, effects);
                }
                Ok(())
            }
            Event::Lead { manager, term } => {
                let leads = self.managers.leader == Some(manager);
                if self.managers.term != term && leads {
                    // Old news.
                    return Ok(());
                }
                if leads {
                    // A leader knows all that is agreed before it acts.
                    self.handle(Event::Tell(manager))?;
                }
                if leads != self.managers.members[manager].leads() {
                    self.managers.members[manager].lead(self.now_us, leads);
                }
                Ok(())
            }
            Event::ClientTick(number) => self.client_tick(number),
            Event::Fault => {
                self.fault();
                Ok(())
            }
            Event::Restart(node) => {
                self.restart(node);
                Ok(())
            }
            Event::Heal(cut) => {
                self.cuts.remove(&cut);
                Ok(())
            }
        }
    }

    /// Another manager leads, or none. Whoever led learns of it later.
    pub(super) fn elect(&mut self, leader: Option<usize>) {
        self.managers.term += 1;
        self.managers.leader = leader;
        let term = self.managers.term;
        for manager in 0..self.managers.members.len() {
            let slow = self.random.chance(1, 4);
            let delay = self.random.within(1000, if slow { 3_000_000 } else { 50_000 });
            let delay = if leader == Some(manager) { 1000 } else { delay };
            self.after(delay, Event::Lead { manager, term });
        }
    }

    fn do_effects(&mut self, manager: usize, effects: Effects) {
        for (to, message) in effects.send {
            self.send(Party::Manager(manager), to, &message);
        }
        let (term, leads) = (self.managers.term, self.managers.leader == Some(manager));
        for command in effects.propose {
            if leads {
                let delay = self.random.within(200, 5000);
                self.after(delay, Event::Propose { term, command });
            }
        }
        for question in effects.confirm {
            if leads {
                let delay = self.random.within(100, 3000);
                self.after(delay, Event::Confirmed { manager, term, question });
            }
        }
    }

    fn clock_us(&self, node: usize) -> u64 {
        let Place { offset_us, fast_ppm, .. } = self.places[node];
        offset_us + self.now_us - self.now_us * 4500 / 1_000_000 + self.now_us * fast_ppm / 1_000_000
    }

    /// A step of a node, with all that comes of it.
    fn step(
        &mut self,
        number: usize,
        step: impl FnOnce(&mut Node<MemoryStore>, u64, &mut Vec<(Address, Message)>),
    ) -> Result<(), String> {
        let now_us = self.clock_us(number);
        if self.now_us < self.places[number].paused_until_us {
            // What a paused node does not hear, it hears later: its messages are put off where they are delivered.
            return Ok(());
        }
        let Some(node) = &mut self.places[number].node else { return Ok(()) };
        let mut out = Vec::new();
        step(node, now_us, &mut out);
        self.invariants.look(node)?;
        let store = node.store_mut();
        let (reads, gate, durable) = (std::mem::take(&mut store.waiting), store.written(), store_durable(store));
        let run = self.places[number].run;
        for (ticket, kept) in reads {
            let delay = self.random.within(50, 1000);
            self.after(delay, Event::Read { node: number, run, ticket, kept });
        }
        if gate > durable && !std::mem::replace(&mut self.places[number].syncing, true) {
            let delay = self.random.within(100, 2000);
            self.after(delay, Event::Synced { node: number, run, gate });
        }
        for (to, message) in out {
            self.send(Party::Node(number), to, &message);
        }
        Ok(())
    }

    fn send(&mut self, from: Party, to: Address, message: &Message) {
        let bytes = message.encode();
        let sender = match from {
            Party::Manager(_) => Address::Manager,
            Party::Node(node) => Address::Node(NodeId(node as u32)),
            Party::Client(client) => Address::Client(client as u32),
        };
        let receivers = match to {
            Address::Manager => (0..self.managers.members.len())
                .filter(|at| self.managers.members[*at].leads())
                .map(Party::Manager)
                .collect(),
            Address::Node(node) => vec![Party::Node(node.0 as usize)],
            Address::Client(client) => vec![Party::Client(client as usize)],
        };
        for to in receivers {
            self.summary.messages += 1;
            if self.cuts.values().any(|cut| cut.contains(&(from, to))) || self.random.chance(self.lost, 1000) {
                continue;
            }
            let copies = 1 + u64::from(self.random.chance(self.doubled, 1000));
            for _ in 0..copies {
                let late = self.random.chance(self.slow, 1000);
                let delay = self.random.within(50, if late { 300_000 } else { 1500 });
                self.after(delay, Event::Deliver { to, from: sender, bytes: bytes.clone() });
            }
        }
    }

    fn deliver(&mut self, to: Party, from: Address, bytes: Vec<u8>) -> Result<(), String> {
        if let Party::Node(node) = to
            && self.now_us < self.places[node].paused_until_us
        {
            let delay = self.places[node].paused_until_us - self.now_us;
            self.after(delay, Event::Deliver { to, from, bytes });
            return Ok(());
        }
        let message =
            Message::decode(&bytes).map_err(|error| format!("what was encoded cannot be decoded: {error}"))?;
        match to {
            Party::Manager(number) => {
                let mut effects = Effects::default();
                self.managers.members[number].receive(self.now_us, message, &mut effects);
                self.do_effects(number, effects);
                Ok(())
            }
            Party::Node(number) => self.step(number, |node, now_us, out| node.receive(now_us, from, message, out)),
            Party::Client(number) => match self.clients[number].receive(message) {
                Some(ended) => self.ended(number, ended),
                None => Ok(()),
            },
        }
    }

    fn client_tick(&mut self, number: usize) -> Result<(), String> {
        let now_us = self.now_us;
        if self.clients[number].asking.is_none() && !self.healing {
            let asking = self.clients[number].begin(self.plan.keys, now_us);
            let (key, operation) = (asking.key, asking.operation);
            let id = self.next_operation;
            self.next_operation += 1;
            self.open[number] = Some(id);
            judge(self.checkers[key as usize].invoke(now_us, id, operation))?;
        }
        let mut out = Vec::new();
        let ended = self.clients[number].tick(now_us, self.plan.ranges, &mut out);
        for (to, message) in out {
            self.send(Party::Client(number), to, &message);
        }
        let delay = self.random.within(500, 15_000);
        self.after(delay, Event::ClientTick(number));
        match ended {
            Some(ended) => self.ended(number, ended),
            None => Ok(()),
        }
    }

    fn ended(&mut self, number: usize, ended: Ended) -> Result<(), String> {
        let id = self.open[number].take().expect("what ends was begun");
        match ended {
            Ended::Answered(asking, outcome) => {
                self.summary.operations += 1;
                judge(self.checkers[asking.key as usize].complete(self.now_us, id, outcome))
            }
            Ended::GivenUp(asking) => {
                self.summary.given_up += 1;
                judge(self.checkers[asking.key as usize].unknown(id))
            }
        }
    }

    fn restart(&mut self, number: usize) {
        let place = &mut self.places[number];
        let Some((store, recovered)) = place.left.take() else { return };
        place.run += 1;
        place.syncing = false;
        let nonce = u64::from(place.run) << 32 | number as u64;
        place.node = Some(Node::new(NodeId(number as u32), nonce, self.timing, store, recovered));
        if place.run == 1 {
            self.after(0, Event::Tick(number));
        }
    }

    fn tell(&self, event: &Event) {
        match event {
            Event::Deliver { to, from, bytes } => {
                eprintln!("{:>10} {from:?} -> {to:?}: {:?}", self.now_us, Message::decode(bytes));
            }
            Event::Tick(_) | Event::ManagerTick(_) | Event::ClientTick(_) => {}
            event => eprintln!("{:>10} {event:?}", self.now_us),
        }
    }
}

fn store_durable(store: &MemoryStore) -> Gate {
    fawn_kv::store::RangeStore::durable(store)
}

fn judge(verdict: Result<(), Failure>) -> Result<(), String> {
    verdict.map_err(|failure| failure.to_string())
}
