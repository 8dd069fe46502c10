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
//! follows [`TOLD`] is not read: there a test keeps what the run tells. `docs/scripts.md` has all of it; `reading` reads it.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::AssertUnwindSafe;

use fawn_kv::ids::{Ack, Consistency, Rules};
use fawn_kv::wire::Message;

use super::acts::Act;
use super::plan::{Plan, Summary, Violation};
use super::world::World;
use super::{faults, lines};
use crate::quiet;

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

/// What is told of a run: one line a message, when it comes, and one an act; nothing where no kinds are named.
#[derive(Clone, Debug, Default)]
pub struct Show {
    /// Kinds of messages.
    pub names: BTreeSet<&'static str>,
    /// Ranges, as `r7`; none: all.
    pub ranges: BTreeSet<String>,
    /// From this time on.
    pub from_us: u64,
}

impl Show {
    /// Whether a line belongs to it. A line that names no range belongs to every one.
    pub(super) fn shows(&self, at_us: u64, message: &Message, line: &str) -> bool {
        let is_range =
            |word: &&str| word.len() > 1 && word.starts_with('r') && word[1..].bytes().all(|b| b.is_ascii_digit());
        let mut ranges = line.split(' ').filter(is_range).peekable();
        let any = self.ranges.is_empty() || ranges.peek().is_none();
        let is_one = self.names.iter().any(|kind| lines::is_kind(kind, message));
        at_us >= self.from_us && is_one && (any || ranges.any(|range| self.ranges.contains(range)))
    }
}

impl Script {
    /// What the seed does.
    pub fn of(seed: u64, plan: &Plan) -> Self {
        let mut acts = faults::of(seed, plan);
        for (_, act) in acts.iter_mut().filter(|(at_us, _)| *at_us >= plan.faults_us) {
            *act = Act::Nothing;
        }
        Self { seed, plan: *plan, acts, show: Show::default() }
    }

    /// Whether it has such an act.
    pub(super) fn has(&self, is_such: impl Fn(&Act) -> bool) -> bool {
        self.acts.iter().any(|(_, act)| is_such(act))
    }

    /// Number of acts.
    pub fn acts(&self) -> usize {
        self.acts.len()
    }

    /// Runs it.
    ///
    /// # Errors
    /// The first [`Violation`].
    ///
    /// # Panics
    /// An assertion of the protocol is broken.
    pub fn run(&self) -> Result<Summary, Violation> {
        let mut world = World::new(self);
        let result = world.run().map_err(|what| Violation { seed: self.seed, at_us: world.now_us, what });
        result.map(|()| world.summary)
    }

    /// Runs it, and tells what [`Script::show`] asks for. A broken assertion is a violation as well: what was told before it
    /// is told.
    pub fn tell(&self) -> (Result<Summary, Violation>, String) {
        let mut world = World::new(self);
        let outcome = quiet::catch(AssertUnwindSafe(|| world.run()));
        let result = outcome.unwrap_or_else(|panic| Err(format!("asserted: {panic}")));
        let result = result.map_err(|what| Violation { seed: self.seed, at_us: world.now_us, what });
        (result.map(|()| world.summary), world.told)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { nodes, late, shared, replicas, virtual_ids, rules, lost_clock, on_flash, clients, .. } = self.plan;
        let Plan { adopts, domains, keys, fronts, hasty, managers, faults_us, fixed, .. } = self.plan;
        let Rules { consistency, min_write_replicas, spread_reads, ack, unsynced: _ } = rules;
        let (weak, in_memory) = (consistency == Consistency::Weak, ack == Ack::Replicated);
        writeln!(f, "seed {}", self.seed)?;
        write!(f, "plan nodes={nodes} late={late} shared={shared} replicas={replicas} virtual={virtual_ids}")?;
        write!(
            f,
            " adopts={adopts} domains={domains} least={min_write_replicas} spread={spread_reads} lost-clock={lost_clock} flash={on_flash}"
        )?;
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
