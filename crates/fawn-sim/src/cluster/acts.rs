//! What happens to a cluster beside what it does by itself: faults, and in scenarios what clients ask. Each act is plain
//! data with a line of text, so that a run can be written down, made smaller and run again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use fawn_kv::ids::NodeId;
use fawn_kv::manager::{Command, Settings, Standing};

use super::events::Event;
use super::lines::{MESSAGES, ORDERS};
use super::node_store::NodeStore;
use super::world::{Party, WRONG_US, World};
use crate::history::KvOperation;
use crate::random::Random;

/// The kinds of faults, as they are counted.
pub const KINDS: [&str; 17] = [
    "crash",
    "power failure",
    "lost disk",
    "change of leader",
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
    /// Another manager leads, or none.
    Lead { manager: Option<usize> },
    /// A manager starts anew, and another one leads.
    RestartManager { manager: usize },
    /// Some do not reach some others for a while.
    Cut { links: Links, for_us: u64 },
    /// A node pauses.
    Pause { node: usize, for_us: u64 },
    /// A node pauses when it reads from flash next.
    PauseAtRead { node: usize, for_us: u64 },
    /// Of a thousand messages so many are lost, doubled, slow, from here on.
    Network { lost: u64, doubled: u64, slow: u64 },
    /// A node's clock of the day jumps.
    Clock { node: usize, ahead_us: u64 },
    /// The operator has a node leave.
    Drain { node: usize },
    /// The operator has a node stay.
    Stay { node: usize },
    /// The operator wants chains of so many members.
    Replicas { count: u32 },
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
    /// A node starts that was not there before.
    Join { node: usize },
    /// A client asks something about a key.
    Ask { client: usize, key: u64, operation: KvOperation },
}

impl Act {
    /// The index of its kind in [`KINDS`], if it is a fault.
    pub fn kind(&self) -> Option<usize> {
        Some(match self {
            Self::Crash { .. } | Self::CrashAt { .. } => 0,
            Self::PowerFailure { .. } => 1,
            Self::LoseDisk { .. } => 2,
            Self::Lead { .. } | Self::Lag { .. } => 3,
            Self::RestartManager { .. } => 4,
            Self::Cut { links, .. } => {
                let both = links.iter().all(|(from, to)| links.contains(&(*to, *from)));
                if both { 5 } else { 6 }
            }
            Self::Pause { .. } | Self::PauseAtRead { .. } => 7,
            Self::Network { .. } => 8,
            Self::Clock { .. } => 9,
            Self::Drain { .. } => 10,
            Self::Stay { .. } => 11,
            Self::Replicas { .. } => 12,
            Self::HoldBack { .. } | Self::HoldBackAt { .. } => 13,
            Self::CrashFront { .. } => 14,
            Self::PauseFront { .. } => 15,
            Self::CutFront { .. } => 16,
            Self::Join { .. } | Self::Ask { .. } => return None,
        })
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash { node, for_us, dice } => write!(f, "crash {node} {for_us} {dice}"),
            Self::CrashAt { node, kind, for_us, dice } => write!(f, "crash-at {node} {kind} {for_us} {dice}"),
            Self::Lag { for_us } => write!(f, "lag {for_us}"),
            Self::PowerFailure { dice } => write!(f, "power-failure {dice}"),
            Self::LoseDisk { node, for_us, dice } => write!(f, "lose-disk {node} {for_us} {dice}"),
            Self::Lead { manager: Some(manager) } => write!(f, "lead {manager}"),
            Self::Lead { manager: None } => write!(f, "lead none"),
            Self::RestartManager { manager } => write!(f, "restart-manager {manager}"),
            Self::Cut { links, for_us } => {
                write!(f, "cut {for_us}")?;
                links.iter().try_for_each(|(from, to)| write!(f, " {from}>{to}"))
            }
            Self::CrashFront { front, for_us } => write!(f, "crash-front {front} {for_us}"),
            Self::PauseFront { front, for_us } => write!(f, "pause-front {front} {for_us}"),
            Self::CutFront { slow, for_us, links } => {
                write!(f, "cut-front {slow} {for_us}")?;
                links.iter().try_for_each(|(from, to)| write!(f, " {from}>{to}"))
            }
            Self::Pause { node, for_us } => write!(f, "pause {node} {for_us}"),
            Self::PauseAtRead { node, for_us } => write!(f, "pause-at-read {node} {for_us}"),
            Self::Network { lost, doubled, slow } => write!(f, "network {lost} {doubled} {slow}"),
            Self::Clock { node, ahead_us } => write!(f, "clock {node} {ahead_us}"),
            Self::Drain { node } => write!(f, "drain {node}"),
            Self::Stay { node } => write!(f, "stay {node}"),
            Self::Replicas { count } => write!(f, "replicas {count}"),
            Self::HoldBack { node, kind, for_us } => write!(f, "hold-back {node} {kind} {for_us}"),
            Self::HoldBackAt { node, said, kind, for_us } => write!(f, "hold-back-at {node} {said} {kind} {for_us}"),
            Self::Join { node } => write!(f, "join {node}"),
            Self::Ask { client, key, operation } => match operation {
                KvOperation::Put { value } => write!(f, "put {client} {key} {value}"),
                KvOperation::CompareAndSwap { expected, value } => write!(f, "cas {client} {key} {expected} {value}"),
                KvOperation::Delete => write!(f, "delete {client} {key}"),
                _ => write!(f, "get {client} {key}"),
            },
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manager(number) => write!(f, "m{number}"),
            Self::Node(number) => write!(f, "n{number}"),
            Self::Front(number) => write!(f, "f{number}"),
            Self::Client(number) => write!(f, "c{number}"),
        }
    }
}

impl FromStr for Party {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| digits.parse().map_err(|_| format!("{text} names nobody: write n1, m1 or c1"));
        match text.split_at_checked(1) {
            Some(("m", digits)) => number(digits).map(Self::Manager),
            Some(("n", digits)) => number(digits).map(Self::Node),
            Some(("f", digits)) => number(digits).map(Self::Front),
            Some(("c", digits)) => number(digits).map(Self::Client),
            _ => Err(format!("{text} names nobody: write n1, m1 or c1")),
        }
    }
}

impl FromStr for Act {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some((name, rest)) = words.split_first() else { return Err("an act has a name".into()) };
        let word = |at: usize| rest.get(at).copied().ok_or_else(|| format!("`{text}` lacks its word {}", at + 2));
        let number = |at: usize| -> Result<u64, String> {
            word(at)?.parse().map_err(|_| format!("word {} of `{text}` is no number", at + 2))
        };
        let index = |at: usize| number(at).map(|number| number as usize);
        let kind = |at: usize| -> Result<&'static str, String> {
            let name = word(at)?;
            let kind = MESSAGES.iter().chain([&ORDERS]).find(|kind| **kind == name);
            kind.copied().ok_or_else(|| format!("no message is called {name}"))
        };
        let links = |from: usize| -> Result<Links, String> {
            let link = |link: &&str| -> Result<(Party, Party), String> {
                let (from, to) = link.split_once('>').ok_or_else(|| format!("{link} is no link: write n1>m0"))?;
                Ok((from.parse()?, to.parse()?))
            };
            rest.iter().skip(from).map(link).collect()
        };
        let ask = |operation| Ok(Self::Ask { client: index(0)?, key: number(1)?, operation });
        match *name {
            "crash" => Ok(Self::Crash { node: index(0)?, for_us: number(1)?, dice: number(2)? }),
            "crash-at" => Ok(Self::CrashAt { node: index(0)?, kind: kind(1)?, for_us: number(2)?, dice: number(3)? }),
            "lag" => Ok(Self::Lag { for_us: number(0)? }),
            "power-failure" => Ok(Self::PowerFailure { dice: number(0)? }),
            "lose-disk" => Ok(Self::LoseDisk { node: index(0)?, for_us: number(1)?, dice: number(2)? }),
            "lead" if word(0)? == "none" => Ok(Self::Lead { manager: None }),
            "lead" => Ok(Self::Lead { manager: Some(index(0)?) }),
            "restart-manager" => Ok(Self::RestartManager { manager: index(0)? }),
            "cut" => Ok(Self::Cut { links: links(1)?, for_us: number(0)? }),
            "crash-front" => Ok(Self::CrashFront { front: index(0)?, for_us: number(1)? }),
            "pause-front" => Ok(Self::PauseFront { front: index(0)?, for_us: number(1)? }),
            "cut-front" => Ok(Self::CutFront { slow: number(0)?, for_us: number(1)?, links: links(2)? }),
            "pause" => Ok(Self::Pause { node: index(0)?, for_us: number(1)? }),
            "pause-at-read" => Ok(Self::PauseAtRead { node: index(0)?, for_us: number(1)? }),
            "network" => Ok(Self::Network { lost: number(0)?, doubled: number(1)?, slow: number(2)? }),
            "clock" => Ok(Self::Clock { node: index(0)?, ahead_us: number(1)? }),
            "drain" => Ok(Self::Drain { node: index(0)? }),
            "stay" => Ok(Self::Stay { node: index(0)? }),
            "replicas" => Ok(Self::Replicas { count: number(0)? as u32 }),
            "hold-back" => Ok(Self::HoldBack { node: index(0)?, kind: kind(1)?, for_us: number(2)? }),
            "hold-back-at" => {
                Ok(Self::HoldBackAt { node: index(0)?, said: kind(1)?, kind: kind(2)?, for_us: number(3)? })
            }
            "join" => Ok(Self::Join { node: index(0)? }),
            "put" => ask(KvOperation::Put { value: number(2)? }),
            "cas" => ask(KvOperation::CompareAndSwap { expected: number(2)?, value: number(3)? }),
            "delete" => ask(KvOperation::Delete),
            "get" => ask(KvOperation::Get),
            other => Err(format!("no act is called {other}")),
        }
    }
}

impl World {
    /// Something happens.
    pub(super) fn act(&mut self, act: &Act) -> Result<(), String> {
        if self.healing {
            return Ok(());
        }
        if let Some(kind) = act.kind() {
            self.summary.faults[kind] += 1;
        }
        match act {
            Act::Crash { node, for_us, dice } => self.crash(*node, false, *for_us, *dice),
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
            Act::Lead { manager } => self.elect(*manager),
            Act::RestartManager { manager } => {
                self.managers.restart(*manager, self.now_us);
                self.elect(Some((manager + 1) % self.managers.members.len()));
            }
            Act::Cut { links, for_us } => self.cut(links, *for_us),
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
            Act::Drain { node } => self.stand(*node, Standing::Draining),
            Act::Stay { node } => self.stand(*node, Standing::Member),
            Act::Replicas { count } => {
                let first_nodes = self.plan.nodes;
                self.command(Command::Set(Settings { replicas: *count, first_nodes, rules: self.plan.rules }));
            }
            Act::HoldBack { node, kind, for_us } => {
                self.held_back = Some((Party::Node(*node), kind, self.now_us + for_us));
            }
            Act::HoldBackAt { node, said, kind, for_us } => {
                self.places[*node].hold_back_at = Some((said, kind, *for_us));
            }
            Act::Join { node } => self.after(0, Event::Restart(*node)),
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
        self.after(1000, Event::Propose { term, command: Box::new(command) });
    }

    pub(super) fn crash(&mut self, number: usize, wiped: bool, for_us: u64, dice: u64) {
        let Some(node) = self.places[number].node.take() else { return };
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
        self.managers.members[leader].state().ranges.iter().all(|(range, state)| {
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
        self.healing = true;
        self.cuts.clear();
        self.held_back = None;
        self.lag_until_us = 0;
        (self.lost, self.doubled, self.slow) = (0, 0, 0);
        for number in 0..self.places.len() {
            (self.places[number].paused_until_us, self.places[number].pause_at_read_us) = (0, 0);
            (self.places[number].crash_at, self.places[number].hold_back_at) = (None, None);
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
