//! What anybody may say: messages of clients and front-ends, whose contents nobody vouches for.
//!
//! A node that is all of a chain, and a front-end that owns one of two wedges, take each part of an input as a message.
//! Both go on until all is answered or given up. What only members and managers say is passed over: they are trusted.

use std::collections::{BTreeMap, VecDeque};

use fawn_check::random::Random;
use fawn_kv::frontend::{Front, Limits};
use fawn_kv::ids::Wedge;
use fawn_kv::ids::{
    Address, Asker, Attempt, Chain, ClusterId, Epoch, FrontId, FrontMember, Incarnation, Member, NodeId, Position,
    RangeId, RequestId, Seq, WedgeEpoch, WedgeId,
};
use fawn_kv::node::{Identity, Node};
use fawn_kv::operation::Operation;
use fawn_kv::timing::{Now, Timing};
use fawn_kv::wire::Message;
use fawn_ring::{Interval, MachineId, Secret};

use super::generate::generate;
use super::messages::{most_bytes_of_takers, pool, set_versions};
use super::target::{Input, Target};
use crate::cluster::MemoryStore;

const SECRET: Secret = Secret([7; 32]);
const UNIX: u32 = 1_900_000_000;
const RANGE: RangeId = RangeId(1);
const NODE: NodeId = NodeId(1);
const FRONT: FrontId = FrontId(1);
const LIFE: Incarnation = Incarnation(1);
const LEASE_US: u64 = 2_000_000;
const CLIENT: Address = Address::Client(1);

/// Rounds in which a few messages are answered.
const ROUNDS: usize = 200;

/// [`Node::receive`] and [`Front::receive`].
pub(super) struct Hostile;

impl Target for Hostile {
    fn name(&self) -> &'static str {
        "hostile"
    }

    fn valid(&self, random: &mut Random) -> Input {
        (0..random.within(1, 6)).map(|_| message(random).encode()).collect()
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        set_versions(random, input);
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        most_bytes_of_takers(input)
    }

    fn execute(&self, input: &Input) -> bool {
        let (mut bench, mut decoded) = (Bench::new(), false);
        for part in input {
            let Some((to, message)) = Message::decode(part).ok().and_then(addressed) else { continue };
            decoded = true;
            bench.queue.push_back((CLIENT, to, message));
            bench.settle();
        }
        bench.until_given_up();
        decoded
    }
}

/// Where a message goes that anybody may send; what is about a range is about the one that there is.
fn addressed(mut message: Message) -> Option<(Address, Message)> {
    let to = match &mut message {
        Message::Request { range, .. }
        | Message::Flush { range, .. }
        | Message::Get { range, .. }
        | Message::Fence { range, .. } => {
            *range = RANGE;
            Address::Node(NODE)
        }
        Message::Ask { .. } | Message::AskMany { .. } => Address::Front(FRONT),
        _ => return None,
    };
    Some((to, message))
}

/// A message that anybody may send: of few keys and sessions, or any at all.
fn message(random: &mut Random) -> Message {
    let pool = pool(random);
    if random.chance(1, 2) {
        loop {
            let message = generate::<Message>(random, &pool);
            if addressed(message.clone()).is_some() {
                return message;
            }
        }
    }
    let key = |random: &mut Random| vec![b'a' + random.below(3) as u8];
    let operation = postcard::to_allocvec(&generate::<Operation<'_>>(random, &pool));
    let operation = operation.expect("an operation can be encoded");
    let session = (u64::from(UNIX) << 32) + random.below(2);
    let id = RequestId { session, number: *random.pick(&[0, 1, 2, u64::MAX]) };
    let answered = *random.pick(&[0, 1, u64::MAX]);
    let asker = Asker { address: *random.pick(&[CLIENT, Address::Front(FRONT)]), tag: random.below(12) };
    let (range, wedge, key) = (RANGE, WedgeEpoch(random.below(3)), key(random));
    match random.below(4) {
        0 => {
            let epoch = Epoch(random.below(3) as u32);
            Message::Request { range, id, answered, asker, wedge, epoch, key, place: None, operation }
        }
        1 => Message::Get { range, id, asker, wedge, key, place: None, continuation: generate(random, &pool) },
        2 => {
            let answered = random.chance(1, 2).then_some(answered);
            let (operation, continuation) = (random.chance(2, 3).then_some(operation), generate(random, &pool));
            Message::Ask {
                id,
                answered,
                asker,
                forwarded: random.chance(1, 4),
                key,
                place: None,
                operation,
                continuation,
            }
        }
        _ => Message::AskMany { id, asker, keys: vec![key; random.below(4) as usize] },
    }
}

/// A node and a front-end, and what is on its way between them.
struct Bench {
    node: Node<MemoryStore>,
    front: Front,
    now: Now,
    /// From, to.
    queue: VecDeque<(Address, Address, Message)>,
}

impl Bench {
    /// The node is active in the one range under a lease, and the front-end serves the lower wedge.
    fn new() -> Self {
        let identity = Identity { id: NODE, machine: MachineId(1), domain: None, virtual_ids: 1, secret: SECRET };
        let (timing, store) = (Timing::default(), MemoryStore::empty(1));
        let limits = Limits { flights: 64, waiters: 8, keys: 32, deadline_us: 500_000, ..Limits::default() };
        let mut bench = Self {
            node: Node::new(identity, 1, timing, store, BTreeMap::new()),
            front: Front::new(FRONT, 1, timing, limits, SECRET),
            now: Now::at(1_000_000, UNIX),
            queue: VecDeque::new(),
        };
        let member = Member { node: NODE, incarnation: LIFE };
        let chain = Chain {
            epoch: Epoch(1),
            attempt: Attempt(1),
            members: vec![member],
            first: Seq(1),
            ..Chain::none(Interval::ALL)
        };
        let (incarnation, range, attempt, last) = (LIFE, RANGE, Attempt(1), Position::default());
        let (over, chains) = (Vec::new(), vec![(RANGE, chain)]);
        for message in [
            Message::Welcome { cluster: ClusterId([1; 16]), nonce: 1, incarnation },
            Message::Seal { incarnation, range, keys: Interval::ALL, attempt, source: None },
            Message::Equalise { incarnation, range, attempt, source: None, last },
            Message::Activate { incarnation, attempt, over, chains: chains.clone() },
        ] {
            bench.tell(Address::Node(NODE), message);
        }
        let wedges = Interval::ALL.divide(2).into_iter().zip([FRONT, FrontId(2)]).map(|(keys, front)| {
            let owner = Some(FrontMember { front, incarnation });
            Wedge { keys, epoch: WedgeEpoch(1), owner, released: false }
        });
        let wedges = wedges.collect();
        bench.tell(Address::Front(FRONT), Message::FrontWelcome { nonce: 1, incarnation });
        bench.tell(Address::Front(FRONT), Message::View { since: 0, number: 1, chains, wedges });
        bench.tick(Timing::default().heartbeat_us);
        let replica = bench.node.replica(RANGE).expect("the node is part of the range");
        assert!(replica.reads_under(&bench.node.lease(), bench.now.us).is_some(), "the node is active under a lease");
        assert_eq!(bench.front.served(bench.now.us).count(), 1, "the front-end serves its wedge");
        bench
    }

    /// The manager says something.
    fn tell(&mut self, to: Address, message: Message) {
        self.queue.push_back((Address::Manager, to, message));
        self.settle();
    }

    /// Everything that was said, and what comes of it; all writes are synced.
    fn settle(&mut self) {
        for _ in 0..ROUNDS {
            while let Some((from, to, message)) = self.queue.pop_front() {
                self.deliver(from, to, message);
            }
            if self.is_settled() {
                return;
            }
            self.tick(0);
        }
        panic!("messages lead to more of them without end");
    }

    fn is_settled(&self) -> bool {
        let store = self.node.store();
        let synced = fawn_kv::store::RangeStore::durable(store) == store.written();
        self.queue.is_empty() && synced && store.waiting.is_empty()
    }

    fn deliver(&mut self, from: Address, to: Address, message: Message) {
        let mut out = Vec::new();
        match to {
            Address::Node(NODE) => self.node.receive(self.now, from, message, &mut out),
            Address::Front(FRONT) => self.front.receive(self.now, message, &mut out),
            Address::Manager => self.manage(&message),
            _ => {}
        }
        self.queue.extend(out.into_iter().map(|(other, message)| (to, other, message)));
    }

    /// The manager grants whatever lease is asked for.
    fn manage(&mut self, message: &Message) {
        let (to, lease) = match message {
            Message::Heartbeat { nonce, .. } => {
                (Address::Node(NODE), Message::Lease { incarnation: LIFE, nonce: *nonce, lease_us: LEASE_US })
            }
            Message::FrontHeartbeat { nonce, .. } => {
                let (nonce, wedges) = (*nonce, vec![(WedgeId(0), WedgeEpoch(1))]);
                (Address::Front(FRONT), Message::FrontLease { incarnation: LIFE, nonce, lease_us: LEASE_US, wedges })
            }
            _ => return,
        };
        self.queue.push_back((Address::Manager, to, lease));
    }

    /// Time passes; writes are synced, and what waits for flash is read.
    fn tick(&mut self, us: u64) {
        self.now.us += us;
        let mut out = Vec::new();
        let written = self.node.store().written();
        self.node.store_mut().synced(written);
        for (ticket, kept) in std::mem::take(&mut self.node.store_mut().waiting) {
            self.node.read(self.now, ticket, kept, &mut out);
            self.node.settle(self.now, &mut out);
        }
        self.node.tick(self.now, &mut out);
        self.queue.extend(out.drain(..).map(|(to, message)| (Address::Node(NODE), to, message)));
        self.front.tick(self.now, &mut out);
        self.queue.extend(out.into_iter().map(|(to, message)| (Address::Front(FRONT), to, message)));
        while let Some((from, to, message)) = self.queue.pop_front() {
            self.deliver(from, to, message);
        }
    }

    /// Until the front-end has given up what is not answered, and the range has forgotten who asked.
    fn until_given_up(&mut self) {
        for _ in 0..7 {
            self.tick(100_000);
        }
        assert_eq!(self.front.in_flight(), 0, "what is asked is answered or given up");
        self.now.unix = self.now.unix.saturating_add(2 * Timing::default().session_idle_s);
        for (us, key) in [(0, b"a"), (1, b"b")] {
            let id = RequestId { session: u64::MAX, number: us + 1 };
            let get = Message::AskMany { id, asker: Asker { address: CLIENT, tag: 0 }, keys: vec![key.to_vec()] };
            self.queue.push_back((CLIENT, Address::Front(FRONT), get));
            self.settle();
        }
        let chain = self.node.replica(RANGE).and_then(|replica| replica.chain());
        assert!(chain.is_some(), "the node is part of the chain still");
    }
}
