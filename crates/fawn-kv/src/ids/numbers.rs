//! Numbers of the protocol, and who is named by them.

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
