//! What goes wrong.

use std::collections::{BTreeMap, BTreeSet};

use fawn_kv::ids::NodeId;
use fawn_kv::manager::{Command, Settings, Standing};

use super::node_store::NodeStore;
use super::world::{Event, Party, WRONG_US, World};

/// The kinds of faults, as they are counted.
pub const KINDS: [&str; 17] = [
    "crash",
    "power failure",
    "lost disk",
    "deposed leader",
    "manager restart",
    "partition",
    "one-way partition",
    "pause",
    "bad network",
    "clock jump",
    "drain",
    "drained stays",
    "other replicas",
    "held back",
    "front-end crash",
    "front-end pause",
    "front-end cut off",
];

const WEIGHTS: [u64; 17] = [30, 4, 6, 12, 6, 14, 8, 12, 8, 4, 3, 3, 3, 16, 10, 10, 24];

impl World {
    /// Something goes wrong, and something else will.
    pub(super) fn fault(&mut self) {
        if self.healing {
            return;
        }
        // Without front-ends nothing can happen to them.
        let kinds = if self.fronts.is_empty() { &WEIGHTS[..13] } else { &WEIGHTS[..] };
        let kind = self.random.weighted(kinds);
        self.summary.faults[kind] += 1;
        let node = self.random.below(self.places.len() as u64) as usize;
        match kind {
            0 => self.crash(node, false),
            1 => (0..self.places.len()).for_each(|node| self.crash(node, false)),
            2 => self.crash(node, self.may_lose_disk(node)),
            3 => {
                let next = self.random.below(self.managers.members.len() as u64 + 1) as usize;
                self.elect((next < self.managers.members.len()).then_some(next));
                if self.random.chance(1, 2) {
                    // Somebody does not reach the new leader, and may still reach the old one.
                    let pairs = [(Party::Node(node), Party::Manager(next)), (Party::Manager(next), Party::Node(node))];
                    self.cut_for(pairs.into(), 3_000_000, 6_000_000);
                }
            }
            4 => {
                let manager = self.random.below(self.managers.members.len() as u64) as usize;
                self.managers.restart(manager, self.now_us);
                self.elect(Some((manager + 1) % self.managers.members.len()));
            }
            5 | 6 => self.cut(kind == 6),
            7 => {
                let pause_us = self.random.within(50_000, 4_000_000);
                if self.random.chance(1, 2) {
                    self.places[node].paused_until_us = self.now_us + pause_us;
                } else {
                    self.places[node].pause_at_read_us = pause_us;
                    self.mislead(pause_us);
                }
            }
            9 => {
                let place = &mut self.places[node];
                place.ahead_us = place.ahead_us.map(|_| self.random.below(2 * WRONG_US));
            }
            10 => self.stand(node, Standing::Draining),
            11 => self.stand(node, Standing::Member),
            12 => {
                let most = u64::from(self.plan.nodes).min(5);
                let settings = Settings {
                    replicas: 1 + self.random.below(most) as u32,
                    first_nodes: self.plan.nodes,
                    rules: self.plan.rules,
                };
                self.command(Command::Set(settings));
            }
            13 => self.hold_back(node),
            14..17 => self.front_fault(kind - 14),
            _ => {
                let bad = self.random.chance(2, 3);
                let most = if bad { 100 } else { 0 };
                self.lost = self.random.below(most + 1);
                self.doubled = self.random.below(most + 1);
                self.slow = self.random.below(most + 1);
            }
        }
        if self.managers.leader.is_none() && self.random.chance(2, 3) {
            let next = self.random.below(self.managers.members.len() as u64) as usize;
            self.elect(Some(next));
        }
        let quick = self.random.chance(1, 3);
        let delay = self.random.within(1000, if quick { 50_000 } else { 900_000 });
        self.after(delay, Event::Fault);
    }

    /// The operator has a node leave, or stay. Some stay always.
    fn stand(&mut self, node: usize, standing: Standing) {
        let Some(leader) = self.managers.leader else { return };
        let state = self.managers.members[leader].state();
        let members = state.nodes.values().filter(|node| node.standing == Standing::Member).count();
        let id = NodeId(node as u64);
        let Some(registered) = state.nodes.get(&id) else { return };
        if standing == Standing::Member || members > 1 + state.settings.replicas as usize {
            let incarnation = registered.incarnation;
            self.command(Command::Stand { node: id, incarnation, standing });
        }
    }

    fn command(&mut self, command: Command) {
        let term = self.managers.term;
        self.after(1000, Event::Propose { term, command });
    }

    fn crash(&mut self, number: usize, wiped: bool) {
        let Some(node) = self.places[number].node.take() else { return };
        let random = self.random.fork();
        let store = node.into_store();
        self.places[number].left = Some(if wiped {
            (NodeStore::new(random, self.plan.on_flash), BTreeMap::new())
        } else {
            store.crash(random)
        });
        let long = self.random.chance(1, 4);
        let delay = self.random.within(1000, if long { 5_000_000 } else { 500_000 });
        self.after(delay, Event::Restart(number));
    }

    /// Whether everything that the node has is on all the other members of its chains, of which there are some.
    fn may_lose_disk(&self, number: usize) -> bool {
        let id = NodeId(number as u64);
        let Some(leader) = self.managers.leader else { return false };
        self.managers.members[leader].state().ranges.iter().all(|(range, state)| {
            if !state.chain.has_node(id) {
                return true;
            }
            let others = state.chain.members.iter().filter(|member| member.node != id);
            state.chain.members.len() > 1
                && state.pending.is_none()
                && others.into_iter().all(|member| {
                    let node = self.places[member.node.0 as usize].node.as_ref();
                    node.and_then(|node| node.replica(*range))
                        .is_some_and(|replica| replica.chain() == Some(&state.chain))
                })
        })
    }

    /// Some do not reach some others for a while.
    fn cut(&mut self, one_way: bool) {
        let mut all: Vec<Party> = (0..self.places.len()).map(Party::Node).collect();
        all.extend((0..self.fronts.len()).map(Party::Front));
        all.extend((0..self.managers.members.len()).map(Party::Manager));
        all.extend((0..self.plan.clients as usize).map(Party::Client));
        let side: Vec<Party> = all.iter().copied().filter(|_| self.random.chance(1, 3)).collect();
        let partial = self.random.chance(1, 3);
        let mut cut = BTreeSet::new();
        for from in &side {
            for to in all.iter().filter(|to| !side.contains(to)) {
                if !partial || self.random.chance(1, 2) {
                    cut.insert((*from, *to));
                    if !one_way {
                        cut.insert((*to, *from));
                    }
                }
            }
        }
        self.cut_for(cut, 50_000, 4_000_000);
    }

    fn cut_for(&mut self, cut: BTreeSet<(Party, Party)>, least_us: u64, most_us: u64) {
        let number = self.next_cut;
        self.next_cut += 1;
        self.cuts.insert(number, cut);
        let delay = self.random.within(least_us, most_us);
        self.after(delay, Event::Heal(number));
    }

    /// Some of those who ask do not hear for a while who is to be asked.
    fn mislead(&mut self, for_us: u64) {
        let clients = (0..self.plan.clients as usize).map(Party::Client);
        let asking: Vec<Party> = clients.chain((0..self.fronts.len()).map(Party::Front)).collect();
        let mut cut = BTreeSet::new();
        for party in asking.into_iter().filter(|_| self.random.chance(1, 2)) {
            cut.extend((0..self.managers.members.len()).map(|manager| (Party::Manager(manager), party)));
        }
        self.cut_for(cut, for_us + 1, for_us + 500_000);
    }

    /// What is said to a node of one kind, or what it says, comes later than all else; perhaps it hears no manager meanwhile.
    fn hold_back(&mut self, node: usize) {
        let hold_us = self.random.within(50_000, 4_000_000);
        if !self.kinds.is_empty() {
            let orders = self.random.chance(1, 4);
            let kind = (!orders).then(|| *self.random.pick(&self.kinds));
            self.held_back = Some((Party::Node(node), kind, self.now_us + hold_us));
        }
        if self.random.chance(1, 4) {
            let managers = (0..self.managers.members.len()).map(Party::Manager);
            self.cut_for(managers.map(|manager| (manager, Party::Node(node))).collect(), hold_us / 2 + 1, hold_us + 1);
        }
    }

    /// From here on nothing goes wrong any more, and what did is mended.
    pub(super) fn heal_all(&mut self) {
        self.healing = true;
        self.cuts.clear();
        self.held_back = None;
        (self.lost, self.doubled, self.slow) = (0, 0, 0);
        for number in 0..self.places.len() {
            (self.places[number].paused_until_us, self.places[number].pause_at_read_us) = (0, 0);
            if self.places[number].node.is_none() {
                self.after(1000, Event::Restart(number));
            }
        }
        self.heal_fronts();
        if self.managers.leader.is_none() {
            self.elect(Some(0));
        }
    }
}
