//! The network: every message goes over it as bytes. It knows who takes what is addressed to the managers, and the ways
//! around links that are broken.

mod emulation;
pub mod party;
pub mod sessions;
pub mod traffic;

use std::collections::BTreeMap;

use fawn_kv::ids::Address;
use fawn_kv::link::relay::Relay;
use fawn_kv::timing::Timing;
use fawn_kv::wire::Answer;
use fawn_kv::wire::Message;

use crate::cluster::event::{Event, Kernel};
use crate::cluster::network::emulation::LinkEmulation;
use crate::cluster::network::party::{LinkSet, Party};
use crate::cluster::network::sessions::{is_front_session, is_routed_session};
use crate::cluster::network::traffic::MessageCounts;
use crate::cluster::script::plan::Plan;
use crate::cluster::summary::Summary;

/// Links, ways around them, and what was sent.
pub struct SimNetwork {
    plan: Plan,
    links: LinkEmulation,
    /// By node and front-end: ways around links that are broken.
    relays: BTreeMap<Party, Relay>,
    /// The managers that believe that they lead: they take what is addressed to the managers.
    leading: Vec<usize>,
    traffic: MessageCounts,
    messages: u64,
    /// Requests that were refused because of a fence.
    fenced: u64,
}

impl SimNetwork {
    /// The network of a cluster of that plan, over which nothing has been sent.
    pub fn new(plan: Plan) -> Self {
        let (links, relays, traffic) = (LinkEmulation::default(), BTreeMap::new(), MessageCounts::default());
        Self { plan, links, relays, leading: Vec::new(), traffic, messages: 0, fenced: 0 }
    }

    /// What the links do to messages.
    pub fn links(&mut self) -> &mut LinkEmulation {
        &mut self.links
    }

    /// What has been sent.
    pub fn traffic(&self) -> MessageCounts {
        self.traffic
    }

    /// From here on these managers take what is addressed to the managers.
    pub fn set_leading(&mut self, managers: impl Iterator<Item = usize>) {
        self.leading.clear();
        self.leading.extend(managers);
    }

    /// Sends messages, each over its link or around it.
    pub fn send_all(&mut self, kernel: &mut Kernel, from: Party, messages: Vec<(Address, Message)>) {
        for (to, message) in messages {
            self.send(kernel, from, to, &message);
        }
    }

    /// Sends a message, over the link or around it.
    pub fn send(&mut self, kernel: &mut Kernel, from: Party, to: Address, message: &Message) {
        let relay = self.relays.get_mut(&from);
        match relay.and_then(|relay| relay.detour(kernel.now_us(), (to, from.address(&self.plan)), message)) {
            Some((by, relayed)) => self.send_by_link(kernel, from, by, &relayed),
            None => self.send_by_link(kernel, from, to, message),
        }
    }

    fn send_by_link(&mut self, kernel: &mut Kernel, from: Party, to: Address, message: &Message) {
        let bytes = message.encode();
        self.fenced += u64::from(matches!(message, Message::Reply { answer: Answer::Fenced, .. }));
        let once = goes_over_a_connection(message);
        let receivers = match to {
            Address::Manager => self.leading.len(),
            Address::Node(_) | Address::Front(_) | Address::Client(_) => 1,
        };
        for at in 0..receivers {
            let to = match to {
                Address::Manager => Party::Manager(self.leading[at]),
                Address::Node(node) => Party::Node(node.number() as usize),
                Address::Front(front) => Party::Front(front.0 as usize),
                Address::Client(client) => Party::Client(client as usize),
            };
            self.messages += 1;
            self.traffic.count(from, to, message, bytes.len());
            for _ in 0..self.links.copies(kernel, (from, to), once) {
                let delay = self.links.delay(kernel, (from, to), message);
                kernel.after(delay, Event::Deliver { to, from: from.address(&self.plan), bytes: bytes.clone() });
            }
        }
    }

    /// Cuts links for a while.
    pub fn cut(&mut self, kernel: &mut Kernel, links: &LinkSet, for_us: u64) {
        let number = self.links.cut(links);
        kernel.after(for_us, Event::Heal(number));
    }

    /// A node or front-end starts, in a cluster of so many nodes and front-ends.
    pub fn start_relay(&mut self, party: Party, timing: &Timing, (nodes, fronts): (usize, usize)) {
        let mut relay = Relay::new(party.address(&self.plan), timing);
        relay.switch(true);
        let others = (0..fronts).map(Party::Front).chain((0..nodes).map(Party::Node));
        let others = others.filter(|other| other.seat() != party.seat());
        relay.set_helpers(others.map(|other| other.address(&self.plan)).collect());
        self.relays.insert(party, relay);
    }

    /// Time has passed for a party that runs. Says whether no other seat answers it; `None` if it has no relay.
    pub fn tick_relay(&mut self, kernel: &mut Kernel, party: Party) -> Option<bool> {
        let relay = self.relays.get_mut(&party)?;
        let mut out = Vec::new();
        relay.tick(kernel.now_us(), &mut out);
        let is_cut_off = relay.is_cut_off(kernel.now_us());
        for (to, _, message) in out {
            self.send_by_link(kernel, party, to, &message);
        }
        Some(is_cut_off)
    }

    /// A message arrives at a party that runs: what is for itself, as whoever said it sent it.
    pub fn arrive(
        &mut self,
        kernel: &mut Kernel,
        to: Party,
        from: Address,
        message: Message,
    ) -> Option<(Address, Message)> {
        let Some(relay) = self.relays.get_mut(&to) else { return Some((from, message)) };
        let mut out = Vec::new();
        let taken = relay.receive(kernel.now_us(), (to.address(&self.plan), from, message), &mut out);
        for (to_whom, _, message) in out {
            self.send_by_link(kernel, to, to_whom, &message);
        }
        taken.map(|(_, from, message)| (from, message))
    }

    /// Whether a client does not reach a front-end, or that one reaches nobody.
    pub fn is_severed(&self, now_us: u64, client: usize, front: usize) -> bool {
        let is_cut_off = |relay: &Relay| relay.is_cut_off(now_us);
        self.links.is_touched(Party::Client(client)) || self.relays.get(&Party::Front(front)).is_some_and(is_cut_off)
    }

    /// What it adds to what a run came to.
    pub fn summarize(&self, summary: &mut Summary) {
        (summary.messages, summary.fenced) = (self.messages, self.fenced);
    }
}

/// Whether a message goes over a connection, which loses, but does not double: clients without a session ask so, and so do
/// front-ends for them.
fn goes_over_a_connection(message: &Message) -> bool {
    match message {
        Message::Ask { answered: None, .. } | Message::AskFlush { answered: None, .. } | Message::Relayed { .. } => {
            true
        }
        Message::Ask { id, .. }
        | Message::Request { id, .. }
        | Message::AskFlush { id, .. }
        | Message::Flush { id, .. } => is_front_session(id.session) || is_routed_session(id.session),
        _ => false,
    }
}

/// Whether such a message will still be delivered.
pub fn is_under_way(kernel: &Kernel, is_such: impl Fn(&Message) -> bool) -> bool {
    let mut messages = kernel.pending().filter_map(|event| match event {
        Event::Deliver { bytes, .. } => match Message::decode(bytes).ok() {
            Some(Message::Relayed { message, .. }) => Message::decode(&message).ok(),
            message => message,
        },
        _ => None,
    });
    messages.any(|message| is_such(&message))
}
