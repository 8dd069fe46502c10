//! What a run is made of, and what it comes to.

use std::fmt;

use fawn_check::random::Random;
use fawn_kv::frontend::Counts;
use fawn_kv::ids::{Ack, Consistency, Rules};

use super::courses::Course;

/// Those of a plain cluster. Little may be unsynced, so that what is bounded meets its bounds.
const RULES: Rules = Rules {
    consistency: Consistency::Chain,
    ack: Ack::Durable,
    min_write_replicas: 1,
    spread_reads: false,
    unsynced: 256,
};

/// What a run is made of.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // independent choices
pub struct Plan {
    /// Nodes from the beginning.
    pub nodes: u32,
    /// Nodes that join later.
    pub late: u32,
    /// Whether two nodes share each machine.
    pub shared: bool,
    /// Members of each chain.
    pub replicas: u32,
    /// Places of each node on the ring.
    pub virtual_ids: u32,
    /// The first so many nodes are started on the stores of one plain directory, which the cluster begins with.
    pub adopts: u32,
    /// Failure domains that the machines are in by turns; with none, each machine is one of its own.
    pub domains: u32,
    /// What chains go by.
    pub rules: Rules,
    /// Whether some node believes that it is 1970.
    pub lost_clock: bool,
    /// Nodes store on flash, as in production; otherwise in memory, which is quicker and forgets deletions sooner.
    pub on_flash: bool,
    /// Clients.
    pub clients: u32,
    /// Keys.
    pub keys: u64,
    /// Front-ends; with none, clients ask the chains.
    pub fronts: u32,
    /// Managers.
    pub managers: usize,
    /// Leases and heartbeats are short, so that owners and members change often.
    pub hasty: bool,
    /// Simulated time with faults, in microseconds.
    pub faults_us: u64,
    /// Whether anything goes wrong.
    pub faults: bool,
    /// All delays are the same, nothing is lost, and clients ask only what the script says.
    pub fixed: bool,
    /// Whether every event is told on standard error.
    pub trace: bool,
}

impl Plan {
    /// A small cluster of a shape that the seed decides.
    pub fn of(seed: u64) -> Self {
        Self::shaped(seed, None, None)
    }

    /// The same with so many members of each chain and places of each node; `None`: as the seed decides.
    pub fn shaped(seed: u64, replicas: Option<u32>, virtual_ids: Option<u32>) -> Self {
        let mut random = Random::new(seed ^ 0x706c_616e);
        let drawn = *random.pick(&[1, 2, 3, 3, 3, 5]);
        let wanted = replicas;
        let replicas = wanted.unwrap_or(drawn);
        let shared = random.chance(1, 8);
        let machines = replicas + random.below(3) as u32;
        let rules = Rules {
            ack: if random.chance(1, 6) { Ack::Replicated } else { Ack::Durable },
            consistency: Consistency::Chain,
            min_write_replicas: if random.chance(1, 4) { 2.min(replicas as u8) } else { 1 },
            spread_reads: random.chance(1, 3),
            ..RULES
        };
        let late = random.below(3) as u32;
        let drawn = *random.pick(&[1, 1, 1, 2, 4]);
        let domains = Random::new(seed ^ 0x646f_6d61_696e).below(4 * u64::from(replicas + 2)) as u32;
        let plan = Self {
            nodes: if shared { machines * 2 } else { machines },
            late,
            shared,
            replicas,
            virtual_ids: virtual_ids.unwrap_or(drawn),
            adopts: 0,
            // None in three of four seeds; else fewer, as many as members, or more.
            domains: if domains < replicas + 2 { domains } else { 0 },
            rules,
            lost_clock: random.chance(1, 8),
            on_flash: seed % 4 == 3,
            clients: 3 + random.below(8) as u32,
            // Few keys are contended; many make copies long.
            keys: if random.chance(1, 8) { 300 } else { 4 + random.below(30) },
            fronts: *random.pick(&[0, 0, 1, 2, 2, 3, 3]),
            managers: 3,
            hasty: random.chance(1, 2),
            faults_us: 8_000_000,
            faults: true,
            fixed: false,
            trace: false,
        };
        let shaped = Course::of(seed).shape(plan);
        Self {
            replicas: wanted.unwrap_or(shaped.replicas),
            virtual_ids: virtual_ids.unwrap_or(shaped.virtual_ids),
            ..shaped
        }
    }

    /// The same, with each member a chain of its own.
    pub fn weak(seed: u64) -> Self {
        let plan = Self::of(seed);
        Self { rules: Rules { consistency: Consistency::Weak, ..plan.rules }, ..plan }
    }

    /// For how long a lease lasts, in microseconds.
    pub(super) fn lease_us(&self) -> u64 {
        if self.hasty { 400_000 } else { 2_000_000 }
    }

    /// A plain cluster of three nodes in which nothing goes wrong.
    pub fn plain() -> Self {
        Self {
            nodes: 3,
            late: 0,
            shared: false,
            replicas: 3,
            virtual_ids: 1,
            adopts: 0,
            domains: 0,
            rules: RULES,
            lost_clock: false,
            on_flash: false,
            clients: 1,
            keys: 8,
            fronts: 0,
            managers: 1,
            hasty: false,
            faults_us: 3_000_000,
            faults: false,
            fixed: false,
            trace: false,
        }
    }
}

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
    pub faults: [u64; super::acts::KINDS.len()],
    /// Seldom paths, and how often they were taken.
    pub coverage: super::coverage::Coverage,
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
