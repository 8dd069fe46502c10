//! What peers say with one field changed, in a cluster that works: managers, nodes and front-ends each in the epoch, attempt
//! and life in force, where a message that is made up would be passed over as one of another time.
//!
//! An input is the seed of a cluster, and edits ([`FieldEdit`]). The cluster forms, takes writes and reads, is dumped, gets
//! another node and loses one; each edit changes a field of one message on its way. Whatever that leads to, nobody panics, and
//! messages come to an end.

use std::collections::{BTreeMap, VecDeque};

use fawn_check::random::Random;
use fawn_kv::client::{Client, Limits as ClientLimits, Want};
use fawn_kv::frontend::{Front, Limits};
use fawn_kv::ids::{Ack, Address, Asker, ClusterId, Consistency, FrontId, NodeId, Rules};
use fawn_kv::manager::{Effects, Leases, Manager, Settings};
use fawn_kv::node::{Identity, Node};
use fawn_kv::operation::{Delete, Mode, Operation, Store};
use fawn_kv::scan::{Bookmark, Limits as ScanLimits, Scanner};
use fawn_kv::timing::{Now, Timing};
use fawn_kv::wire::Message;
use fawn_kv::wire::version::NEWEST;
use fawn_ring::{Interval, MachineId, Secret};

use super::edit::{FieldEdit, kind};
use super::target::{Input, Target};
use crate::cluster::MemoryStore;

const SECRET: Secret = Secret([7; 32]);
const UNIX: u32 = 1_900_000_000;
const FRONT: FrontId = FrontId(1);
const CLIENT: Address = Address::Client(1);
const DUMPER: Address = Address::Client(2);

/// Nodes: the last comes later, the first goes then.
const NODES: u64 = 4;

/// Steps of time, and microseconds of each.
const STEPS: u64 = 90;
const STEP_US: u64 = 10_000;

/// The last node comes at this step, the first goes at that one.
const COMES: u64 = 25;
const GOES: u64 = 50;

/// Messages of a whole run, at most: without edits there are a tenth of it.
const MOST_MESSAGES: usize = 100_000;

/// [`Node::receive`], [`Front::receive`], [`Manager::receive`], [`Client::receive`] and [`Scanner::receive`].
pub(super) struct Peers;

impl Target for Peers {
    fn name(&self) -> &'static str {
        "peers"
    }

    fn cost(&self) -> u64 {
        1000
    }

    fn valid(&self, random: &mut Random) -> Input {
        let edit = |random: &mut Random| FieldEdit {
            kind: random.below(KINDS) as u8,
            occurrence: match random.below(3) {
                0 => random.below(3),
                1 => random.below(20),
                _ => random.below(300),
            } as u16,
            field: random.below(40) as u16,
            how: random.below(8) as u8,
            amount: random.word() as u8,
            beside: random.below(3) as u8,
        };
        let mut input = vec![vec![random.below(16) as u8]];
        input.extend((0..random.within(4, 12)).map(|_| edit(random).bytes().to_vec()));
        input
    }

    fn most_bytes(&self, _: &Input) -> u64 {
        64 << 20
    }

    fn execute(&self, input: &Input) -> bool {
        let Some((seed, edits)) = input.split_first() else { return false };
        let Some(seed) = seed.first() else { return false };
        let edits: Vec<FieldEdit> = edits.iter().filter_map(|part| FieldEdit::of(part)).collect();
        let mut bench = Bench::new(u64::from(*seed), edits);
        bench.run();
        bench.edited > 0
    }
}

/// Kinds of messages.
const KINDS: u64 = 48;

/// Everybody, and what is on its way between them.
pub(super) struct Bench {
    manager: Manager,
    nodes: BTreeMap<NodeId, Node<MemoryStore>>,
    front: Front,
    client: Client,
    scanner: Scanner,
    now_us: u64,
    random: Random,
    /// From, to.
    queue: VecDeque<(Address, Address, Message)>,
    edits: Vec<FieldEdit>,
    /// Messages of each kind so far.
    seen: BTreeMap<u8, u16>,
    messages: usize,
    /// Messages that were changed.
    pub(super) edited: usize,
    /// What the client was told of its requests.
    pub(super) answered: usize,
}

fn timing() -> Timing {
    Timing {
        resend_us: 20_000,
        heartbeat_us: 20_000,
        dead_us: 100_000,
        attempt_us: 200_000,
        history: 16,
        silent_us: 80_000,
        gone_us: 150_000,
        ..Timing::default()
    }
}

fn node(id: NodeId) -> Node<MemoryStore> {
    let identity = Identity { id, machine: MachineId(id.0), domain: None, virtual_ids: 1, secret: SECRET };
    Node::new(identity, 100 * id.0, timing(), MemoryStore::empty(id.0), BTreeMap::new())
}

impl Bench {
    pub(super) fn new(seed: u64, edits: Vec<FieldEdit>) -> Self {
        let is_weak = seed % 4 == 3;
        let rules = Rules {
            consistency: if is_weak { Consistency::Weak } else { Consistency::Chain },
            ack: if seed % 2 == 1 { Ack::Replicated } else { Ack::Durable },
            spread_reads: seed % 8 >= 4,
            ..Rules::default()
        };
        let leases = Leases { lease_us: 60_000, ..Leases::default() };
        let settings = Settings { replicas: 3, first_nodes: 3, rules, leases };
        let manager = Manager::new(timing(), settings, ClusterId([1; 16])).expect("a cluster can go by these");
        let mut manager = manager.with_wedges(2);
        manager.lead(0, true);
        let limits = Limits { deadline_us: 300_000, retry_us: 30_000, ..Limits::default() };
        let asker = Asker { address: DUMPER, tag: 7 };
        let mut client = Client::new(CLIENT, 77, ClientLimits::default(), SECRET);
        client.set_fronts([FRONT]);
        Self {
            manager,
            nodes: (1..NODES).map(|id| (NodeId(id), node(NodeId(id)))).collect(),
            front: Front::new(FRONT, 9 << 8, timing(), limits, SECRET),
            client,
            scanner: Scanner::new(
                asker,
                ScanLimits { retry_us: 50_000, ..ScanLimits::default() },
                Bookmark::new(Interval::ALL),
            ),
            now_us: 1_000_000,
            random: Random::new(seed),
            queue: VecDeque::new(),
            edits,
            seen: BTreeMap::new(),
            messages: 0,
            edited: 0,
            answered: 0,
        }
    }

    fn now(&self) -> Now {
        Now::at(self.now_us, UNIX + (self.now_us / 1_000_000) as u32)
    }

    pub(super) fn run(&mut self) {
        for step in 0..STEPS {
            if step == COMES {
                self.nodes.insert(NodeId(NODES), node(NodeId(NODES)));
            }
            if step == GOES {
                self.nodes.remove(&NodeId(1));
            }
            if step > 8 {
                self.ask(step);
            }
            self.tick(step);
            self.deliver_all();
        }
    }

    /// Messages that somebody has refused as invalid.
    #[cfg(test)]
    pub(super) fn refused(&self) -> u64 {
        let nodes: u64 = self.nodes.values().map(|node| node.invalid().count()).sum();
        nodes + self.front.invalid().count() + self.manager.invalid().count()
    }

    /// The client wants a few things.
    fn ask(&mut self, step: u64) {
        let now = self.now();
        for _ in 0..3 {
            let key = vec![b'a' + self.random.below(12) as u8];
            let expiry = if step.is_multiple_of(7) { UNIX + 5 } else { 0 };
            let store = Store { expiry, flags: 1, ..Store::set(b"some value") };
            let write = |operation: Operation<'_>| {
                Want::Write(postcard::to_allocvec(&operation).expect("an operation can be encoded"))
            };
            let want = match self.random.below(8) {
                0..3 => Want::Get,
                3 => write(Operation::Delete(Delete::default())),
                4 => write(Operation::Store(Store { mode: Mode::Add, ..store })),
                5 if step.is_multiple_of(20) => Want::Flush { due: 0 },
                _ => write(Operation::Store(store)),
            };
            let mut out = Vec::new();
            self.client.ask(now, key, want, now.us + 300_000, &mut out);
            self.say(CLIENT, out);
        }
    }

    fn say(&mut self, from: Address, out: Vec<(Address, Message)>) {
        self.queue.extend(out.into_iter().map(|(to, message)| (from, to, message)));
    }

    fn tick(&mut self, step: u64) {
        self.now_us += STEP_US;
        let (now, mut out) = (self.now(), Vec::new());
        for id in self.nodes.keys().copied().collect::<Vec<_>>() {
            let Some(node) = self.nodes.get_mut(&id) else { continue };
            let (waiting, scans) =
                (std::mem::take(&mut node.store_mut().waiting), std::mem::take(&mut node.store_mut().scans));
            let written = node.store().written();
            if step.is_multiple_of(2) {
                node.store_mut().synced(written);
            }
            for (ticket, kept) in waiting {
                node.read(now, ticket, kept, &mut out);
            }
            for (ticket, part) in scans {
                node.scanned(now, ticket, part, &mut out);
            }
            node.settle(now, &mut out);
            node.tick(now, &mut out);
            let said = std::mem::take(&mut out);
            self.say(Address::Node(id), said);
        }
        self.front.tick(now, &mut out);
        let said = std::mem::take(&mut out);
        self.say(Address::Front(FRONT), said);
        self.client.tick(now, &mut out);
        while self.client.next_ended().is_some() {
            self.answered += 1;
        }
        let said = std::mem::take(&mut out);
        self.say(CLIENT, said);
        while self.scanner.next_event().is_some() {}
        if step > 15 {
            self.scanner.tick(now, &mut out);
        }
        self.say(DUMPER, out);
        let mut effects = Effects::default();
        self.manager.tick(now.us, &mut effects);
        self.decide(effects);
    }

    /// What the manager wants is agreed on, and it leads still.
    fn decide(&mut self, mut effects: Effects) {
        while !effects.propose.is_empty() || !effects.confirm.is_empty() || !effects.send.is_empty() {
            let Effects { send, propose, confirm } = std::mem::take(&mut effects);
            self.say(Address::Manager, send);
            for command in &propose {
                self.manager.committed(self.now_us, command, &mut effects);
            }
            for question in confirm {
                self.manager.confirmed(self.now_us, question, &mut effects);
            }
        }
    }

    fn deliver_all(&mut self) {
        while let Some((from, to, message)) = self.queue.pop_front() {
            self.messages += 1;
            assert!(self.messages < MOST_MESSAGES, "messages lead to more of them without end");
            for message in self.edit(message) {
                // Links take nothing else.
                if message.may_come_from(from) {
                    self.deliver(from, to, message);
                }
            }
        }
    }

    /// A message as it arrives.
    fn edit(&mut self, message: Message) -> Vec<Message> {
        let kind = kind(&message);
        let number = self.seen.entry(kind).or_default();
        let occurrence = *number;
        *number = number.saturating_add(1);
        let edit = self.edits.iter().find(|edit| edit.kind == kind && edit.occurrence == occurrence);
        let Some((edit, changed)) = edit.and_then(|edit| Some((*edit, edit.apply(&message)?))) else {
            return vec![message];
        };
        self.edited += 1;
        match edit.beside {
            0 => vec![changed],
            1 => vec![message, changed],
            _ => vec![changed, message],
        }
    }

    fn deliver(&mut self, from: Address, to: Address, message: Message) {
        let (now, mut out) = (self.now(), Vec::new());
        match to {
            Address::Manager => {
                let mut effects = Effects::default();
                self.manager.receive(now.us, message, &mut effects);
                return self.decide(effects);
            }
            Address::Node(id) => {
                let Some(node) = self.nodes.get_mut(&id) else { return };
                node.receive(now, from, message, &mut out);
            }
            Address::Front(FRONT) => self.front.receive(now, message, &mut out),
            CLIENT => self.client.receive(now, (message, NEWEST), &mut out),
            DUMPER => self.scanner.receive(now, message),
            Address::Front(_) | Address::Client(_) => {}
        }
        self.say(to, out);
    }
}
