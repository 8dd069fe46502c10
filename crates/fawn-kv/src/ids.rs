//! The names and numbers that the protocol is about.

use crate::planted::{Bug, planted};
use fawn_ring::Interval;
pub use fawn_ring::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($kind:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub $kind);

        impl $name {
            /// The one after this.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.checked_add(1).expect("numbers of the protocol do not run out"))
            }
        }
    };
}

number! {
    /// One life of a node: the manager gives each start of it another.
    Incarnation(u32)
}
number! {
    /// A front-end, by the name that it keeps for life.
    FrontId(u32)
}
number! {
    /// A wedge: one of the stretches that the key space is cut into once and for all, each owned by one front-end.
    WedgeId(u32)
}
number! {
    /// Counts a wedge's owners. What a front-end asks of a chain says as of which it asks; 0 is for whoever asks a chain
    /// in whose keys no front-end has ever owned a wedge.
    WedgeEpoch(u64)
}
number! {
    /// A range of the key space, or rather the instance of it that has its own log.
    RangeId(u32)
}
number! {
    /// A configuration of a range. Epochs only grow; 0 is before the first. The parts of a split have the next one, a merged
    /// range the one after the higher of both: so of two chains that ever had a key, the one in the higher epoch is newer.
    Epoch(u32)
}
number! {
    /// A try to change a range's chain. Attempts of one range only grow.
    Attempt(u32)
}
number! {
    /// A record's number in its range. It never restarts; 0 is before the first.
    Seq(u64)
}

/// How a node's copy of a range is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Health {
    /// Nothing is wrong with it.
    #[default]
    Sound,
    /// The node has no room for more values.
    Full,
    /// Part of it could not be read from flash.
    Damaged,
}

impl Seq {
    /// No log ever comes so far, and what says so is wrong: there is room above it for whatever is added to a number.
    pub const MOST: Self = Self(1 << 62);
}

impl Attempt {
    /// The one before this.
    #[must_use]
    pub fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

/// A cluster: drawn at random by the managers that begin it, and kept by all who have something of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterId(pub [u8; 16]);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A node in one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    /// The node.
    pub node: NodeId,
    /// Its life.
    pub incarnation: Incarnation,
}

/// A front-end in one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FrontMember {
    /// The front-end.
    pub front: FrontId,
    /// Its life.
    pub incarnation: Incarnation,
}

/// A place in a range's log: the record's epoch and number. Positions of one range are ordered as the log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// The epoch whose head numbered the record.
    pub epoch: Epoch,
    /// The record's number.
    pub seq: Seq,
}

impl Position {
    /// Whether a log can have come so far.
    pub fn is_possible(self) -> bool {
        self.seq <= Seq::MOST
    }
}

/// A request, the same for all its tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId {
    /// Who asks: no two clients ever have the same session.
    pub session: u64,
    /// The request's number in its session, from 1.
    pub number: u64,
}

/// Who can be sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Address {
    /// Whoever leads the managers.
    Manager,
    /// A node.
    Node(NodeId),
    /// A front-end.
    Front(FrontId),
    /// A client.
    Client(u32),
}

/// Who is to be answered, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Asker {
    /// Where the answer goes.
    pub address: Address,
    /// Comes back with the answer. A front-end gives each thing that it asks another one, in all its lives, so that it
    /// knows the answers to what it no longer waits for.
    pub tag: u64,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ack {
    /// When every member has synced it.
    #[default]
    Durable,
    /// When every member has it in memory; it is synced soon after.
    Replicated,
}

/// What the members of a chain are to each other. A cluster keeps for life what it began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consistency {
    /// Each has the log of the one before it: what was acknowledged, all have (FAWN SOSP'09 §3.4.2).
    #[default]
    Chain,
    /// Nothing: each is a chain of its own. Who writes asks them all; the first is the owner, who alone answers
    /// (FAWN-DHT §3.3).
    Weak,
}

/// What the cluster's operator has set, as of when a chain became active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// What the members of a chain are to each other.
    pub consistency: Consistency,
    /// When a write is acknowledged.
    pub ack: Ack,
    /// A chain of fewer members takes no writes.
    pub min_write_replicas: u8,
    /// Members other than the tail answer gets of keys that nobody is writing.
    pub spread_reads: bool,
    /// Records that are not durable yet, at most, but for some that no client asked for: what a member can lose that was
    /// acknowledged in memory. The numbers of twice so many are skipped when a chain revives.
    pub unsynced: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            consistency: Consistency::Chain,
            ack: Ack::Durable,
            min_write_replicas: 1,
            spread_reads: false,
            unsynced: 65_536,
        }
    }
}

/// Who is in a range's chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// The keys of the range.
    pub keys: Interval,
    /// The configuration's number.
    pub epoch: Epoch,
    /// The attempt that brought it about.
    pub attempt: Attempt,
    /// Head first, tail last; never empty in an active chain.
    pub members: Vec<Member>,
    /// The end of the log that the chain goes on from.
    pub after: Position,
    /// Number of the chain's first record, which says that it begins; above any that was ever promised.
    pub first: Seq,
    /// The operator's settings.
    pub rules: Rules,
}

impl Chain {
    /// Whether it has enough members to take writes.
    pub fn takes_writes(&self) -> bool {
        self.members.len() >= usize::from(self.rules.min_write_replicas)
    }

    /// The chain before the first: no members.
    pub fn none(keys: Interval) -> Self {
        Self {
            keys,
            epoch: Epoch(0),
            attempt: Attempt(0),
            members: Vec::new(),
            after: Position::default(),
            first: Seq(1),
            rules: Rules::default(),
        }
    }

    /// The member's place in the chain.
    pub fn place(&self, member: Member) -> Option<usize> {
        self.members.iter().position(|other| *other == member)
    }

    /// Whether the node is in the chain, in whatever life.
    pub fn has_node(&self, node: NodeId) -> bool {
        self.members.iter().any(|member| member.node == node)
    }

    /// Whether each member is a chain of its own.
    pub fn is_weak(&self) -> bool {
        self.rules.consistency == Consistency::Weak
    }

    /// The nodes before and after a node; in a weak chain there are none.
    pub fn neighbours(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let pairs = self.members.windows(2).map(|pair| (pair[0].node, pair[1].node)).filter(|_| !self.is_weak());
        pairs.filter_map(move |(before, after)| match node {
            _ if node == before => Some(after),
            _ if node == after => Some(before),
            _ => None,
        })
    }

    /// The first member; there is one.
    pub fn head(&self) -> Member {
        *self.members.first().expect("an active chain has members")
    }

    /// The last member; there is one.
    pub fn tail(&self) -> Member {
        *self.members.last().expect("an active chain has members")
    }

    /// Who is sent what changes something: the head; all members of a weak chain.
    pub fn writers(&self) -> &[Member] {
        let count = if self.is_weak() && !planted(Bug::WeakPutsToOwnerOnly) { self.members.len() } else { 1 };
        self.members.get(..count).expect("an active chain has members")
    }

    /// Who answers: the tail; in a weak chain the owner, its first member.
    pub fn answerer(&self) -> Member {
        if self.is_weak() { self.head() } else { self.tail() }
    }

    /// Whether members other than the answerer may be asked to show a key.
    pub fn spreads_reads(&self) -> bool {
        self.rules.spread_reads && !self.is_weak()
    }
}
