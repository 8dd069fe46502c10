//! A run written down: the seed, the plan, and what happens at which time. What the seed decides beside them is the
//! network, clocks and disks, or nothing at all where the plan has fixed delays.
//!
//! ```text
//! # a comment
//! seed 7
//! plan nodes=3 replicas=3 clients=1 fixed=true
//! show feed have
//! only r2
//! from 1000000
//! at 1000000 put 0 3 77
//! at 1200000 crash 1 500000 9
//! ```
//!
//! `plan` begins with a plain cluster and changes what it names; the acts' words are those of `Act`. `show` names the
//! messages that a run tells, `only` the ranges that they are about, and `from` the time from which on it tells them. What
//! follows [`TOLD`] is not read: there a test keeps what the run tells.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use fawn_kv::ids::{Ack, Consistency, Rules};

use super::acts::Act;
use super::faults;
use super::lines::MESSAGES;
use super::plan::{Plan, Summary, Violation};
use super::world::World;

/// The line after which a script says what its run tells.
pub const TOLD: &str = "---";

/// A run.
#[derive(Clone, Debug)]
pub struct Script {
    /// Decides what the rest leaves open.
    pub seed: u64,
    /// The cluster.
    pub plan: Plan,
    /// What happens, and when, in microseconds.
    pub(super) acts: Vec<(u64, Act)>,
    /// What is told of it.
    pub show: Show,
}

/// What is told of a run: one line a message, when it is delivered.
#[derive(Clone, Debug, Default)]
pub struct Show {
    /// Names of messages.
    pub names: BTreeSet<&'static str>,
    /// Ranges, as `r7`; none: all.
    pub ranges: BTreeSet<String>,
    /// From this time on.
    pub from_us: u64,
}

impl Show {
    /// Whether a line belongs to it. A line that names no range belongs to every one.
    pub(super) fn shows(&self, at_us: u64, name: &str, line: &str) -> bool {
        let is_range =
            |word: &&str| word.len() > 1 && word.starts_with('r') && word[1..].bytes().all(|b| b.is_ascii_digit());
        let mut ranges = line.split(' ').filter(is_range).peekable();
        let any = self.ranges.is_empty() || ranges.peek().is_none();
        at_us >= self.from_us && self.names.contains(name) && (any || ranges.any(|range| self.ranges.contains(range)))
    }
}

impl Script {
    /// What the seed does.
    pub fn of(seed: u64, plan: &Plan) -> Self {
        Self { seed, plan: *plan, acts: faults::of(seed, plan), show: Show::default() }
    }

    /// Number of acts.
    pub fn acts(&self) -> usize {
        self.acts.len()
    }

    /// Runs it.
    ///
    /// # Errors
    /// The first [`Violation`].
    pub fn run(&self) -> Result<Summary, Violation> {
        self.tell().0
    }

    /// Runs it, and tells what [`Script::show`] asks for.
    pub fn tell(&self) -> (Result<Summary, Violation>, String) {
        let mut world = World::new(self);
        let result = world.run().map_err(|what| Violation { seed: self.seed, at_us: world.now_us, what });
        (result.map(|()| world.summary), world.told)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { nodes, late, shared, replicas, virtual_ids, rules, lost_clock, on_flash, clients, .. } = self.plan;
        let Plan { keys, fronts, hasty, managers, faults_us, fixed, .. } = self.plan;
        let Rules { consistency, min_write_replicas, spread_reads, ack } = rules;
        let (weak, in_memory) = (consistency == Consistency::Weak, ack == Ack::Replicated);
        writeln!(f, "seed {}", self.seed)?;
        write!(f, "plan nodes={nodes} late={late} shared={shared} replicas={replicas} virtual={virtual_ids}")?;
        write!(f, " least={min_write_replicas} spread={spread_reads} lost-clock={lost_clock} flash={on_flash}")?;
        write!(f, " fronts={fronts} hasty={hasty} weak={weak} in-memory={in_memory}")?;
        writeln!(f, " clients={clients} keys={keys} managers={managers} until={faults_us} fixed={fixed}")?;
        if !self.show.names.is_empty() {
            let names: Vec<&str> = self.show.names.iter().copied().collect();
            writeln!(f, "show {}", names.join(" "))?;
        }
        for range in &self.show.ranges {
            writeln!(f, "only {range}")?;
        }
        if self.show.from_us > 0 {
            writeln!(f, "from {}", self.show.from_us)?;
        }
        self.acts.iter().try_for_each(|(at_us, act)| writeln!(f, "at {at_us} {act}"))
    }
}

impl FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut script = Self { seed: 0, plan: Plan::plain(), acts: Vec::new(), show: Show::default() };
        for (number, line) in text.lines().take_while(|line| *line != TOLD).enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            script.read_line(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        }
        script.acts.sort_by_key(|(at_us, _)| *at_us);
        script.check()?;
        Ok(script)
    }
}

impl Script {
    fn read_line(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no number"));
        match word {
            "" => {}
            "seed" => self.seed = number(rest)?,
            "plan" => rest.split_whitespace().try_for_each(|setting| set(&mut self.plan, setting))?,
            "show" => {
                for name in rest.split_whitespace() {
                    let known = MESSAGES.iter().find(|known| **known == name);
                    self.show.names.insert(known.ok_or_else(|| format!("no message is called {name}"))?);
                }
            }
            "only" => self.show.ranges.extend(rest.split_whitespace().map(ToOwned::to_owned)),
            "from" => self.show.from_us = number(rest)?,
            "at" => {
                let (at, act) = rest.split_once(' ').ok_or("an act has a time and a name")?;
                self.acts.push((number(at)?, act.parse()?));
            }
            other => return Err(format!("no line begins with `{other}`")),
        }
        Ok(())
    }

    /// Whether all that the acts name is there.
    fn check(&self) -> Result<(), String> {
        let Plan { nodes, late, managers, clients, keys, fronts, .. } = self.plan;
        let places = (nodes + late) as usize;
        for (_, act) in &self.acts {
            let fits = match act {
                Act::Crash { node, .. }
                | Act::CrashAt { node, .. }
                | Act::LoseDisk { node, .. }
                | Act::Pause { node, .. }
                | Act::PauseAtRead { node, .. }
                | Act::Clock { node, .. }
                | Act::Drain { node }
                | Act::Stay { node }
                | Act::HoldBack { node, .. }
                | Act::HoldBackAt { node, .. }
                | Act::Join { node } => *node < places,
                Act::Lead { manager } => manager.is_none_or(|manager| manager < managers),
                Act::RestartManager { manager } => *manager < managers,
                Act::Ask { client, key, .. } => *client < clients as usize && *key < keys,
                Act::CrashFront { front, .. } | Act::PauseFront { front, .. } => *front < fronts as usize,
                Act::PowerFailure { .. }
                | Act::CutFront { .. }
                | Act::Lag { .. }
                | Act::Cut { .. }
                | Act::Network { .. }
                | Act::Replicas { .. } => true,
            };
            if !fits {
                return Err(format!("`{act}` names what the plan does not have"));
            }
        }
        Ok(())
    }
}

/// Changes one setting of a plan, written `name=value`.
fn set(plan: &mut Plan, setting: &str) -> Result<(), String> {
    let (name, value) = setting.split_once('=').ok_or_else(|| format!("`{setting}` is not NAME=VALUE"))?;
    let wrong = || format!("`{setting}` has a value that cannot be");
    let number = || value.parse::<u32>().map_err(|_| wrong());
    let choice = || value.parse::<bool>().map_err(|_| wrong());
    match name {
        "nodes" => plan.nodes = number()?.max(1),
        "late" => plan.late = number()?,
        "shared" => plan.shared = choice()?,
        "replicas" => plan.replicas = number()?.max(1),
        "virtual" => plan.virtual_ids = number()?.max(1),
        "least" => plan.rules.min_write_replicas = value.parse().map_err(|_| wrong())?,
        "spread" => plan.rules.spread_reads = choice()?,
        "lost-clock" => plan.lost_clock = choice()?,
        "flash" => plan.on_flash = choice()?,
        "clients" => plan.clients = number()?,
        "keys" => plan.keys = u64::from(number()?.max(1)),
        "fronts" => plan.fronts = number()?,
        "hasty" => plan.hasty = choice()?,
        "weak" => plan.rules.consistency = if choice()? { Consistency::Weak } else { Consistency::Chain },
        "in-memory" => plan.rules.ack = if choice()? { Ack::Replicated } else { Ack::Durable },
        "managers" => plan.managers = number()?.max(1) as usize,
        "until" => plan.faults_us = value.parse().map_err(|_| wrong())?,
        "fixed" => plan.fixed = choice()?,
        _ => return Err(format!("a plan has no {name}")),
    }
    Ok(())
}
