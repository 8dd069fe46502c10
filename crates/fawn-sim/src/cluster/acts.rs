//! What happens to a cluster beside what it does by itself: faults, and in scenarios what clients ask. Each act is plain
//! data with a line of text, so that a run can be written down, made smaller and run again.

use std::collections::{BTreeMap, BTreeSet};

use fawn_check::KvOperation;
use fawn_check::random::Random;
use fawn_kv::ids::{Ack, Incarnation, NodeId, Rules};
use fawn_kv::manager::{Command, Settings, Standing};
use fawn_kv::node::Node;

use super::arriving::inbox;
use super::events::Event;
use super::node_store::NodeStore;
use super::place::Place;
use super::world::{Party, WRONG_US, World};

/// The kinds of faults, as they are counted.
pub const KINDS: [&str; 21] = [
    "crash",
    "power failure",
    "lost or other disk",
    "change of leader",
    "manager restart",
    "partition",
    "one-way partition",
    "pause",
    "bad network",
    "clock jump",
    "drain",
    "drained stays",
    "other settings",
    "held back",
    "front-end crash",
    "front-end pause",
    "front-end cut off",
    "full disk",
    "bad read",
    "failed disk",
    "severed",
];

/// Who does not reach whom.
pub type Links = BTreeSet<(Party, Party)>;

/// One act. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A node crashes, and starts again after a while. `dice` decides what it loses of unsynced writes.
    Crash { node: usize, for_us: u64, dice: u64 },
    /// A node crashes as soon as it says something of this kind.
    CrashAt { node: usize, kind: &'static str, for_us: u64, dice: u64 },
    /// For a while only the manager that leads hears what is agreed.
    Lag { for_us: u64 },
    /// All nodes crash.
    PowerFailure { dice: u64 },
    /// A node crashes and loses its disk, if others have all that is on it.
    LoseDisk { node: usize, for_us: u64, dice: u64 },
    /// A node crashes, and starts for a while with a disk that has something of another cluster, then with its own again.
    OtherDisk { node: usize, for_us: u64, dice: u64 },
    /// Another manager leads, or none.
    Lead { manager: Option<usize> },
    /// A manager starts anew, and another one leads.
    RestartManager { manager: usize },
    /// Some do not reach some others for a while.
    Cut { links: Links, for_us: u64 },
    /// Some do not reach some others until all is mended.
    Sever { links: Links },
    /// A node pauses.
    Pause { node: usize, for_us: u64 },
    /// A node pauses when it reads from flash next.
    PauseAtRead { node: usize, for_us: u64 },
    /// Of a thousand messages so many are lost, doubled, slow, from here on.
    Network { lost: u64, doubled: u64, slow: u64 },
    /// A node's clock of the day jumps.
    Clock { node: usize, ahead_us: u64 },
    /// A node's clock of the day shows another time for a while: so many seconds later, or earlier.
    ClockJump { node: usize, off_s: i64, for_us: u64 },
    /// The operator has a node leave.
    Drain { node: usize },
    /// The operator has a node stay.
    Stay { node: usize },
    /// The operator wants chains of so many members.
    Replicas { count: u32 },
    /// The operator sets other rules: members that a write needs, whether reads are spread, and writes are acknowledged in
    /// memory.
    Rules { least: u8, spread: bool, in_memory: bool },
    /// Messages of one kind, to or from a node, come later than all else.
    HoldBack { node: usize, kind: &'static str, for_us: u64 },
    /// The same, from when the node says something of another kind; an eighth of the time later it is to leave.
    HoldBackAt { node: usize, said: &'static str, kind: &'static str, for_us: u64 },
    /// A front-end crashes, and starts again after a while.
    CrashFront { front: usize, for_us: u64 },
    /// A front-end pauses.
    PauseFront { front: usize, for_us: u64 },
    /// A front-end does not reach some, or is not reached, and of a thousand messages so many are slow from here on.
    CutFront { slow: u64, for_us: u64, links: Links },
    /// A node's disk has no room for a while.
    Full { node: usize, for_us: u64 },
    /// A node's next read from flash fails.
    BadRead { node: usize },
    /// Writes to a node's disk fail from here on, until the operator has mended that, and starts the node anew.
    FailDisk { node: usize, for_us: u64, dice: u64 },
    /// A node starts that was not there before.
    Join { node: usize },
    /// Nothing happens. It stands where a seed draws what would come after all is mended: the run has an event there.
    Nothing,
    /// A client asks something about a key.
    Ask { client: usize, key: u64, operation: KvOperation },
}

impl Act {
    /// The index of its kind in [`KINDS`], if it is a fault.
    pub fn kind(&self) -> Option<usize> {
        Some(match self {
            Self::Crash { .. } | Self::CrashAt { .. } => 0,
            Self::PowerFailure { .. } => 1,
            Self::LoseDisk { .. } | Self::OtherDisk { .. } => 2,
            Self::Lead { .. } | Self::Lag { .. } => 3,
            Self::RestartManager { .. } => 4,
            Self::Cut { links, .. } => {
                let both = links.iter().all(|(from, to)| links.contains(&(*to, *from)));
                if both { 5 } else { 6 }
            }
            Self::Pause { .. } | Self::PauseAtRead { .. } => 7,
            Self::Network { .. } => 8,
            Self::Clock { .. } | Self::ClockJump { .. } => 9,
            Self::Drain { .. } => 10,
            Self::Stay { .. } => 11,
            Self::Replicas { .. } | Self::Rules { .. } => 12,
            Self::HoldBack { .. } | Self::HoldBackAt { .. } => 13,
            Self::CrashFront { .. } => 14,
            Self::PauseFront { .. } => 15,
            Self::CutFront { .. } => 16,
            Self::Full { .. } => 17,
            Self::BadRead { .. } => 18,
            Self::FailDisk { .. } => 19,
            Self::Sever { .. } => 20,
            Self::Join { .. } | Self::Ask { .. } | Self::Nothing => return None,
        })
    }
}

impl World {
    /// Something happens.
    pub(super) fn act(&mut self, act: &Act) -> Result<(), String> {
        if self.healing {
            return Ok(());
        }
        let (effect, remark) = self.effect(act);
        self.tell_act(act, &remark);
        if let Some(kind) = effect {
            self.summary.faults[kind] += 1;
        }
        match act {
            Act::Crash { node, for_us, dice } => {
                // One of eight is asked to stop, and says so. What it has written and not synced is in doubt all the same.
                if dice >> 61 == 7 {
                    self.say_farewell(*node);
                }
                self.crash(*node, false, *for_us, *dice);
            }
            Act::CrashAt { node, kind, for_us, dice } => self.places[*node].crash_at = Some((kind, *for_us, *dice)),
            Act::Lag { for_us } => self.lag_until_us = self.now_us + for_us,
            Act::PowerFailure { dice } => {
                let mut random = Random::new(*dice);
                for node in 0..self.places.len() {
                    let long = random.chance(1, 4);
                    let for_us = random.within(1000, if long { 5_000_000 } else { 500_000 });
                    self.crash(node, false, for_us, random.word());
                }
            }
            Act::LoseDisk { node, for_us, dice } => self.crash(*node, self.may_lose_disk(*node), *for_us, *dice),
            Act::OtherDisk { node, for_us, dice } => self.start_with_other_disk(*node, *for_us, *dice),
            Act::Lead { manager } => self.elect(*manager),
            Act::RestartManager { manager } => {
                self.managers.restart(*manager);
                self.elect(Some((manager + 1) % self.managers.members.len()));
            }
            Act::Cut { links, for_us } => self.cut(links, *for_us),
            Act::Sever { links } => self.sever(links),
            Act::CrashFront { front, for_us } => self.crash_front(*front, *for_us),
            Act::PauseFront { front, for_us } => self.fronts[*front].paused_until_us = self.now_us + for_us,
            Act::CutFront { slow, for_us, links } => {
                // The next owner hears late of what it has done, while this one may not know yet that it is none.
                self.slow = *slow;
                self.cut(links, *for_us);
            }
            Act::Pause { node, for_us } => self.places[*node].paused_until_us = self.now_us + for_us,
            Act::PauseAtRead { node, for_us } => self.places[*node].pause_at_read_us = *for_us,
            Act::Network { lost, doubled, slow } => {
                (self.lost, self.doubled, self.slow) = (*lost, *doubled, *slow);
            }
            Act::Clock { node, ahead_us } => {
                let place = &mut self.places[*node];
                place.ahead_us = place.ahead_us.map(|_| (*ahead_us).min(2 * WRONG_US - 1));
            }
            Act::ClockJump { node, off_s, for_us } if !self.is_behind(*node) => {
                self.jump_clock(*node, *off_s, *for_us)?;
            }
            Act::Drain { node } => self.stand(*node, Standing::Draining),
            Act::Stay { node } => self.stand(*node, Standing::Member),
            Act::Replicas { count } => self.set(*count, self.settings.rules),
            Act::Rules { least, spread, in_memory } => {
                let ack = if *in_memory { Ack::Replicated } else { Ack::Durable };
                self.invariants.may_acknowledge(ack);
                let (min_write_replicas, spread_reads) = (*least, *spread);
                self.set(
                    self.settings.replicas,
                    Rules { ack, min_write_replicas, spread_reads, ..self.settings.rules },
                );
            }
            Act::HoldBack { node, kind, for_us } => {
                self.held_back = Some((Party::Node(*node), kind, self.now_us + for_us));
            }
            Act::HoldBackAt { node, said, kind, for_us } => {
                self.places[*node].hold_back_at = Some((said, kind, *for_us));
            }
            Act::Full { node, for_us } => self.places[*node].full_until_us = self.now_us + for_us,
            Act::BadRead { node } => self.places[*node].bad_read = true,
            Act::FailDisk { node, for_us, dice } => {
                let Place { node: Some(running), run, .. } = &mut self.places[*node] else { return Ok(()) };
                running.store_mut().fail();
                let run = *run;
                self.after(*for_us, Event::Repair { node: *node, run, dice: *dice });
            }
            Act::Join { node } => self.after(0, Event::Restart(*node)),
            Act::Nothing | Act::ClockJump { .. } => {}
            Act::Ask { client, key, operation } => return self.ask(*client, *key, *operation),
        }
        Ok(())
    }

    fn cut(&mut self, links: &Links, for_us: u64) {
        let number = self.next_cut;
        self.next_cut += 1;
        self.cuts.insert(number, links.clone());
        self.after(for_us, Event::Heal(number));
    }

    /// What an act counts as, and what is to be said of it where it does less than its name says.
    fn effect(&self, act: &Act) -> (Option<usize>, String) {
        let is_down = |node: usize| self.places[node].node.is_none();
        let idle = match act {
            Act::Crash { node, .. }
            | Act::LoseDisk { node, .. }
            | Act::OtherDisk { node, .. }
            | Act::FailDisk { node, .. }
                if is_down(*node) =>
            {
                format!("n{node} is down")
            }
            Act::CrashFront { front, .. } if self.fronts[*front].front.is_none() => format!("f{front} is down"),
            Act::Join { node } if !is_down(*node) => format!("n{node} is there"),
            Act::Clock { node, .. } | Act::ClockJump { node, .. } if self.places[*node].ahead_us.is_none() => {
                format!("n{node} has lost its clock")
            }
            Act::ClockJump { node, .. } if self.is_behind(*node) => format!("the clock of n{node} is behind already"),
            Act::Drain { node } => self.may_stand(*node, Standing::Draining).err().unwrap_or_default(),
            Act::Stay { node } => self.may_stand(*node, Standing::Member).err().unwrap_or_default(),
            Act::LoseDisk { node, for_us, dice } if !self.may_lose_disk(*node) => {
                let crash = Act::Crash { node: *node, for_us: *for_us, dice: *dice };
                return (crash.kind(), "its disk stays: others have not all that is on it".into());
            }
            _ => return (act.kind(), String::new()),
        };
        if idle.is_empty() { (act.kind(), idle) } else { (None, format!("nothing happens: {idle}")) }
    }

    /// The life of a node that the operator may have leave, or stay; or why not. Some stay always.
    fn may_stand(&self, node: usize, standing: Standing) -> Result<Incarnation, String> {
        let leader = self.managers.leader.ok_or("no manager leads")?;
        let state = self.managers.members[leader].state();
        let members = state.nodes.values().filter(|node| node.standing == Standing::Member).count();
        let registered = state.nodes.get(&NodeId(node as u64)).ok_or("no manager knows the node")?;
        if standing == Standing::Member || members > 1 + state.settings.replicas as usize {
            Ok(registered.incarnation)
        } else {
            Err(format!("{members} nodes are too few for one to leave"))
        }
    }

    /// The operator has a node leave, or stay.
    fn stand(&mut self, number: usize, standing: Standing) {
        if let Ok(incarnation) = self.may_stand(number, standing) {
            self.command(Command::Stand { node: NodeId(number as u64), incarnation, standing });
        }
    }

    /// The operator sets these; writes need no more members than chains are to have.
    fn set(&mut self, replicas: u32, rules: Rules) {
        let min_write_replicas = rules.min_write_replicas.min(u8::try_from(replicas).unwrap_or(u8::MAX));
        self.settings = Settings { replicas, rules: Rules { min_write_replicas, ..rules }, ..self.settings };
        self.command(Command::Set(self.settings));
    }

    fn command(&mut self, command: Command) {
        let term = self.managers.term;
        self.after(1000, Event::Propose { term, command: Box::new(command) });
    }

    fn say_farewell(&mut self, number: usize) {
        let mut said = Vec::new();
        if let Some(node) = &mut self.places[number].node {
            node.farewell(&mut said);
        }
        for (to, message) in said {
            self.send(Party::Node(number), to, &message);
        }
    }

    pub(super) fn crash(&mut self, number: usize, wiped: bool, for_us: u64, dice: u64) {
        let Some(node) = self.places[number].node.take() else { return };
        self.spares_members = false;
        self.places[number].inbox = inbox();
        let (random, store) = (Random::new(dice), node.into_store());
        self.places[number].left = Some(if wiped {
            (NodeStore::new(random, self.plan.on_flash), BTreeMap::new())
        } else {
            store.crash(random)
        });
        self.after(for_us, Event::Restart(number));
    }

    /// Whether everything that the node has is on all the other members of its chains, of which there are some.
    fn may_lose_disk(&self, number: usize) -> bool {
        let id = NodeId(number as u64);
        let Some(leader) = self.managers.leader else { return false };
        if self.managers.told[leader] < self.managers.log.len() {
            return false;
        }
        let state = self.managers.members[leader].state();
        if number < self.plan.adopts as usize && state.adopted.is_empty() {
            return false;
        }
        state.ranges.iter().all(|(range, state)| {
            let is_to_be = state.pending.iter().any(|pending| pending.target.iter().any(|member| member.node == id));
            if !state.chain.has_node(id) {
                return !is_to_be;
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

    /// From here on nothing goes wrong any more, and what did is mended.
    pub(super) fn heal_all(&mut self) {
        self.tell_what_never_came();
        self.healing = true;
        self.cuts.clear();
        self.held_back = None;
        self.lag_until_us = 0;
        (self.lost, self.doubled, self.slow) = (0, 0, 0);
        for number in 0..self.places.len() {
            (self.places[number].paused_until_us, self.places[number].pause_at_read_us) = (0, 0);
            (self.places[number].crash_at, self.places[number].hold_back_at) = (None, None);
            (self.places[number].bad_read, self.places[number].full_until_us) = (false, 0);
            self.places[number].jump = None;
            if self.places[number].node.as_ref().is_some_and(Node::has_failed) {
                self.crash(number, false, 1000, number as u64);
            } else if self.places[number].node.is_none() || self.places[number].own_disk.is_some() {
                self.after(1000, Event::Restart(number));
            }
        }
        self.heal_fronts();
        if self.managers.leader.is_none() {
            self.elect(Some(0));
        }
    }
}
