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
//! `plan` begins with a plain cluster and changes what it names; the actions' words are those of `FaultAction`. `show` names the
//! messages that a run tells, `only` the ranges that they are about, and `from` the time from which on it tells them. What
//! follows [`TOLD`] is not read: there a test keeps what the run tells. `docs/scripts.md` has all of it; `reader` reads it.

pub mod expectations;
pub mod lexer;
pub mod plan;
mod reader;
pub mod settings;
pub mod shrink;

use std::fmt;

use fawn_kv::ids::{Ack, Consistency, Rules};

use crate::cluster::faults::action::FaultAction;
use crate::cluster::faults::draw;
use crate::cluster::script::plan::Plan;
use crate::cluster::trace::show::Show;

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
    pub(in crate::cluster) actions: Vec<(u64, FaultAction)>,
    /// What is told of it.
    pub show: Show,
}

impl Script {
    /// What the seed does.
    pub fn of(seed: u64, plan: &Plan) -> Self {
        let mut actions = draw::of(seed, plan);
        for (_, action) in actions.iter_mut().filter(|(at_us, _)| *at_us >= plan.faults_us) {
            *action = FaultAction::Nothing;
        }
        Self { seed, plan: *plan, actions, show: Show::default() }
    }

    /// Number of actions.
    pub fn actions(&self) -> usize {
        self.actions.len()
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { nodes, late, shared, replicas, virtual_ids, rules, lost_clock, on_flash, clients, .. } = self.plan;
        let Plan { adopts, archives, rests, domains, keys, fronts, hasty, managers, faults_us, fixed, .. } = self.plan;
        let Rules { consistency, min_write_replicas, spread_reads, ack, unsynced: _ } = rules;
        let (weak, in_memory) = (consistency == Consistency::Weak, ack == Ack::Replicated);
        writeln!(f, "seed {}", self.seed)?;
        write!(f, "plan nodes={nodes} late={late} shared={shared} replicas={replicas} virtual={virtual_ids}")?;
        write!(
            f,
            " adopts={adopts} archives={archives} rests={rests} domains={domains} least={min_write_replicas} spread={spread_reads} lost-clock={lost_clock} flash={on_flash}"
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
        self.actions.iter().try_for_each(|(at_us, action)| writeln!(f, "at {at_us} {action}"))
    }
}
