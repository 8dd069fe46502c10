//! Links that are broken for good while both ends reach the managers, and the ways around them.
//!
//! Where nothing else goes wrong, every request has its answer within [`ANSWER_US`], whoever was asked; only for [`SETTLE_US`]
//! after the break it may take longer.

use fawn_check::random::Random;
use fawn_kv::ids::Address;
use fawn_kv::link::relay::Relay;
use fawn_kv::wire::Message;

use super::acts::{Act, Links};
use super::client::Ended;
use super::plan::Plan;
use super::script::Script;
use super::world::{Party, World};

/// Within this it is found out that a link is broken, and chains are changed that went over it.
const SETTLE_US: u64 = 5_000_000;

/// From then on a request is answered within this: a chain may try once more whether its members hear each other.
const ANSWER_US: u64 = 4_000_000;

/// What was given up later than this was not answered in time.
const GIVEN_UP_US: u64 = 2_000_000;

/// A cluster for it: each seat has a node and a front-end, and any two can go by way of a third.
pub(super) fn shape(plan: Plan) -> Plan {
    let nodes = plan.nodes.clamp(3.max(plan.replicas), 6.max(plan.replicas));
    let (late, shared, lost_clock, faults_us) = (0, false, false, 14_000_000);
    let mut rules = plan.rules;
    // A chain whose members do not hear each other goes on with fewer.
    rules.min_write_replicas = 1;
    Plan { nodes, fronts: nodes, late, shared, lost_clock, faults_us, rules, ..plan }
}

/// One pair is severed, and nothing else happens.
pub(super) fn acts(random: &mut Random, plan: &Plan, at_us: u64) -> Option<Vec<(u64, Act)>> {
    (plan.fronts > 1 && plan.nodes > 2).then(|| vec![(at_us, draw(random, plan))])
}

/// Two seats, or two parties, are severed, one way or both; or a seat from all others.
pub(super) fn draw(random: &mut Random, plan: &Plan) -> Act {
    let (nodes, fronts) = ((plan.nodes + plan.late) as usize, plan.fronts as usize);
    let pick = |random: &mut Random, kind: fn(usize) -> Party, count: usize| {
        (count > 0).then(|| kind(random.below(count as u64) as usize))
    };
    let node = |random: &mut Random| pick(random, Party::Node, nodes);
    let front = |random: &mut Random| pick(random, Party::Front, fronts);
    let (one, other) = match random.below(8) {
        0 => (node(random), node(random)),
        1 => (front(random), front(random)),
        2 => (front(random), node(random)),
        3 => (front(random), pick(random, Party::Client, plan.clients as usize)),
        // What a node alone has is out of reach with it.
        4 if plan.replicas > 1 => {
            let one = random.below(nodes as u64) as usize;
            let others = (0..nodes.max(fronts)).filter(|other| *other != one);
            let links = others.flat_map(|other| seats((one, other), plan)).collect();
            return Act::Sever { links: directed(links, random) };
        }
        _ => {
            let (one, other) = (random.below(nodes as u64) as usize, random.below(nodes as u64) as usize);
            return Act::Sever { links: directed(seats((one, other), plan), random) };
        }
    };
    let pair = one.zip(other).filter(|(one, other)| one != other);
    Act::Sever { links: directed(pair.into_iter().collect(), random) }
}

/// All pairs of parties of two seats.
fn seats((one, other): (usize, usize), plan: &Plan) -> Vec<(Party, Party)> {
    let of = |seat: usize| {
        let front = (seat < plan.fronts as usize).then_some(Party::Front(seat));
        std::iter::once(Party::Node(seat)).chain(front)
    };
    let pairs = of(one).flat_map(|party| of(other).map(move |peer| (party, peer)));
    pairs.filter(|(party, peer)| one != other && party != peer).collect()
}

/// The pairs, one way or both.
fn directed(pairs: Vec<(Party, Party)>, random: &mut Random) -> Links {
    let ways = random.below(3);
    let links = pairs
        .into_iter()
        .flat_map(|(one, other)| [(ways != 1).then_some((one, other)), (ways != 2).then_some((other, one))]);
    links.flatten().collect()
}

impl Script {
    /// Whether nothing goes wrong but that links are severed.
    pub(super) fn severs_alone(&self) -> bool {
        let severs = |act: &Act| matches!(act, Act::Sever { .. } | Act::Ask { .. } | Act::Nothing);
        self.has(|act| matches!(act, Act::Sever { .. })) && !self.has(|act| !severs(act))
    }
}

impl World {
    pub(super) fn sever(&mut self, links: &Links) {
        let number = self.next_cut;
        self.next_cut += 1;
        self.cuts.insert(number, links.clone());
        if self.severs_alone {
            self.severed_us.get_or_insert(self.now_us);
        }
    }

    /// A node or front-end starts.
    pub(super) fn begin_relay(&mut self, party: Party) {
        let mut relay = Relay::new(party.address(), &self.timing);
        relay.switch(true);
        let nodes = (0..self.places.len()).map(Party::Node);
        let seat = |party: &Party| match party {
            Party::Node(number) | Party::Front(number) => *number,
            Party::Manager(_) | Party::Client(_) => usize::MAX,
        };
        let others = (0..self.fronts.len()).map(Party::Front).chain(nodes).filter(|other| seat(other) != seat(&party));
        relay.set_helpers(others.map(Party::address).collect());
        self.relays.insert(party, relay);
    }

    fn runs(&self, party: Party) -> bool {
        match party {
            Party::Node(number) => {
                let place = &self.places[number];
                place.node.as_ref().is_some_and(|node| !node.has_failed()) && self.now_us >= place.paused_until_us
            }
            Party::Front(number) => {
                self.fronts[number].front.is_some() && self.now_us >= self.fronts[number].paused_until_us
            }
            Party::Manager(_) | Party::Client(_) => true,
        }
    }

    pub(super) fn tick_relay(&mut self, party: Party) {
        let runs = self.runs(party);
        let Some(relay) = self.relays.get_mut(&party).filter(|_| runs) else { return };
        let mut out = Vec::new();
        relay.tick(self.now_us, &mut out);
        let is_cut_off = relay.is_cut_off(self.now_us);
        for (to, _, message) in out {
            self.send_by_link(party, to, &message);
        }
        match party {
            Party::Front(number) => {
                self.fronts[number].front.iter_mut().for_each(|front| front.note_cut_off(is_cut_off));
            }
            Party::Node(number) => {
                self.places[number].node.iter_mut().for_each(|node| node.note_cut_off(is_cut_off));
            }
            Party::Manager(_) | Party::Client(_) => {}
        }
    }

    /// Whether no other seat answers a front-end.
    fn is_cut_off(&self, front: usize) -> bool {
        self.relays.get(&Party::Front(front)).is_some_and(|relay| relay.is_cut_off(self.now_us))
    }

    /// A message arrives at a party: what is for itself, as whoever said it sent it.
    pub(super) fn arrive(&mut self, to: Party, from: Address, message: Message) -> Option<(Address, Message)> {
        let runs = self.runs(to);
        let Some(relay) = self.relays.get_mut(&to).filter(|_| runs) else { return Some((from, message)) };
        let mut out = Vec::new();
        let taken = relay.receive(self.now_us, (to.address(), from, message), &mut out);
        for (to_whom, _, message) in out {
            self.send_by_link(to, to_whom, &message);
        }
        taken.map(|(_, from, message)| (from, message))
    }

    /// Whether a client does not reach the only front-end that it asks, or that one reaches nobody.
    fn is_severed(&self, number: usize) -> bool {
        let (party, client) = (Party::Client(number), &self.clients[number]);
        let severed = self.cuts.values().flatten().any(|(from, to)| *from == party || *to == party);
        (severed || self.is_cut_off(client.asks_front())) && !client.may_ask_others()
    }

    /// No request waits for too long.
    pub(super) fn look_at_wait(&self, number: usize) -> Result<(), String> {
        let Some(severed_us) = self.severed_us.filter(|_| !self.healing && !self.is_severed(number)) else {
            return Ok(());
        };
        let Some(asking) = &self.clients[number].asking else { return Ok(()) };
        let due_us = asking.began_us.max(severed_us + SETTLE_US) + ANSWER_US;
        if self.now_us < due_us {
            return Ok(());
        }
        Err(format!("client {number} has no answer for {} ms: {asking:?}", (self.now_us - asking.began_us) / 1000))
    }

    /// No request is given up because nobody answers.
    pub(super) fn look_at_given_up(&self, number: usize, ended: &Ended) -> Result<(), String> {
        let Some(severed_us) = self.severed_us.filter(|_| !self.healing && !self.is_severed(number)) else {
            return Ok(());
        };
        let Ended::GivenUp(asking) = ended else { return Ok(()) };
        let waited_us = self.now_us - asking.began_us;
        if asking.began_us < severed_us + SETTLE_US || waited_us < GIVEN_UP_US {
            return Ok(());
        }
        Err(format!("client {number} had no answer for {} ms: {asking:?}", waited_us / 1000))
    }
}
