//! What a run is made of.

use fawn_kv::ids::{Ack, Consistency, NodeId, Rules};

/// Those of a plain cluster. Little may be unsynced, so that what is bounded meets its bounds.
pub const RULES: Rules = Rules {
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
    /// The last so many nodes are archives.
    pub archives: u32,
    /// Archives acknowledge before they sync.
    pub rests: bool,
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
    /// The name in the cluster of the node of a number, which says of which class it is.
    pub fn node_id(&self, number: usize) -> NodeId {
        let serving = (self.nodes + self.late).saturating_sub(self.archives) as usize;
        NodeId(number as u64 | if number < serving { 0 } else { NodeId::ARCHIVE })
    }

    /// For how long a lease lasts, in microseconds.
    pub fn lease_us(&self) -> u64 {
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
            archives: 0,
            rests: false,
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
