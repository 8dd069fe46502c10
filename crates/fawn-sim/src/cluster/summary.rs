//! What a run comes to.

use std::fmt;

use fawn_kv::frontend::Counts;

use crate::cluster::checkers::coverage::Coverage;
use crate::cluster::faults::action::KINDS;

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Operations that were answered, and those given up.
    pub operations: u64,
    /// See `operations`.
    pub given_up: u64,
    /// Keys whose history is too hard to judge.
    pub undecided: u64,
    /// Chains whose members all stopped before they had synced what was acknowledged.
    pub losses: u64,
    /// Keys of weak clusters that are judged less strictly, since an owner had another log than the one before.
    pub weakened: u64,
    /// Events.
    pub events: u64,
    /// Messages sent.
    pub messages: u64,
    /// Faults, by kind.
    pub faults: [u64; KINDS.len()],
    /// Seldom paths, and how often they were taken.
    pub coverage: Coverage,
    /// Records that were committed.
    pub records: u64,
    /// Chains that were active.
    pub chains: u64,
    /// What front-ends did.
    pub fronts: Counts,
    /// Requests that were refused because of a fence, and fences that were committed.
    pub fenced: u64,
    /// See `fenced`.
    pub fences: u64,
    /// Flushes with a delay that were judged when they were due.
    pub flushes_came_due: u64,
    /// Dumps that came to their end, and stretches of keys that they were judged in.
    pub dumps: u64,
    /// See `dumps`.
    pub stretches: u64,
    /// Simulated time, in microseconds.
    pub simulated_us: u64,
    /// Of everything that happened, in its order.
    pub trace: u64,
}

impl Summary {
    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.given_up += other.given_up;
        self.undecided += other.undecided;
        self.losses += other.losses;
        self.weakened += other.weakened;
        self.events += other.events;
        self.messages += other.messages;
        self.records += other.records;
        self.chains += other.chains;
        self.fronts.add(&other.fronts);
        self.fenced += other.fenced;
        self.fences += other.fences;
        self.flushes_came_due += other.flushes_came_due;
        self.dumps += other.dumps;
        self.stretches += other.stretches;
        self.simulated_us += other.simulated_us;
        self.trace ^= other.trace;
        self.coverage.add(&other.coverage);
        for (mine, others) in self.faults.iter_mut().zip(other.faults) {
            *mine += others;
        }
    }
}

/// Something that must never happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed.
    pub seed: u64,
    /// When, in simulated microseconds.
    pub at_us: u64,
    /// What.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {} at {} us: {}", self.seed, self.at_us, self.what)
    }
}

impl std::error::Error for Violation {}
