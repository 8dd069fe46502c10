//! What operators ask of a cluster and are answered, and the figures that it is made of.

use crate::ids::{
    Ack, Attempt, Chain, ClusterId, Epoch, FrontMember, Incarnation, Position, RangeId, Seq, WedgeEpoch, WedgeId,
};
use crate::link::{ManagerId, SeatId};
use crate::manager::{Settings, Standing};
use crate::roster::Roster;
use crate::version::{BACKUPS, OLDEST};
use fawn_ring::Interval;
use serde::{Deserialize, Serialize};

/// What a node's part in a range is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Active: first of the chain.
    Head,
    /// Active: neither first nor last.
    Mid,
    /// Active: last of the chain.
    Tail,
    /// Active: the only one.
    Alone,
    /// It copies and follows.
    Learner,
    /// It takes nothing until a new chain is active.
    Sealed,
    /// It has something of the range, and no part in it.
    Idle,
}

/// A copy that comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyFigures {
    /// Of 1000 parts of the range's keys so many have come.
    pub permille: u32,
    /// Bytes that have come.
    pub bytes: u64,
}

/// What a seat says of one of its ranges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeFigures {
    /// The range.
    pub range: RangeId,
    /// Its keys.
    pub keys: Interval,
    /// The chain that it is active in; 0: none.
    pub epoch: Epoch,
    /// Its part.
    pub role: Role,
    /// The end of its log.
    pub last: Position,
    /// Up to here everything is committed, as far as it knows.
    pub committed: Position,
    /// Up to here its log is durable.
    pub synced: Seq,
    /// What it copies.
    pub copy: Option<CopyFigures>,
}

/// A connection to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkFigures {
    /// To whom.
    pub to: SeatId,
    /// It stands.
    pub is_up: bool,
    /// Bytes that wait to be sent.
    pub waiting_bytes: u64,
    /// Messages that were dropped because too much waited, or there was no connection.
    pub dropped: u64,
}

/// How a seat does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatFigures {
    /// Which.
    pub seat: SeatId,
    /// Its node's ranges.
    pub ranges: Vec<RangeFigures>,
    /// Its connections.
    pub links: Vec<LinkFigures>,
    /// It may answer reads for so long, in milliseconds; 0: not at all.
    pub lease_ms: u64,
    /// Wedges that its front-end serves.
    pub wedges: u32,
    /// Bytes of live records, and of all that its store has on the device.
    pub live_bytes: u64,
    /// See `live_bytes`.
    pub used_bytes: u64,
    /// Bytes that are free on the device.
    pub free_bytes: u64,
    /// Keys, as the store counts them.
    pub items: u64,
    /// Why it takes no part, if it does not: a sentence for its operator.
    pub trouble: Option<String>,
}

/// A range, as managers have decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeStatus {
    /// The range.
    pub range: RangeId,
    /// Its chain.
    pub chain: Chain,
    /// Who learns it.
    pub learner: Option<SeatId>,
    /// The attempt that is under way, or came to its end last.
    pub attempt: Attempt,
    /// It is under way.
    pub is_changing: bool,
}

/// A node's or front-end's standing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatStatus {
    /// Which.
    pub seat: SeatId,
    /// Its node's life; `None`: it has none.
    pub incarnation: Option<Incarnation>,
    /// What its node is to the ring.
    pub standing: Option<Standing>,
    /// Milliseconds since it was heard; `None`: not since this manager leads.
    pub heard_ms: Option<u64>,
    /// What it said last.
    pub figures: Option<SeatFigures>,
}

/// A wedge of the key space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WedgeStatus {
    /// Which.
    pub wedge: WedgeId,
    /// How many owners it has had.
    pub epoch: WedgeEpoch,
    /// Its owner.
    pub owner: Option<FrontMember>,
}

/// A member of the managers' group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagerStatus {
    /// Which.
    pub id: ManagerId,
    /// Where it is reached.
    pub address: String,
    /// It votes.
    pub is_voter: bool,
    /// Entries of the log that it lacks, as far as the leader knows; `None`: it is not heard.
    pub lag: Option<u64>,
}

/// Everything that is known of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The cluster.
    pub cluster: Option<ClusterId>,
    /// Who leads the managers.
    pub leader: ManagerId,
    /// The term.
    pub term: u64,
    /// The managers.
    pub managers: Vec<ManagerStatus>,
    /// The operator's settings.
    pub settings: Settings,
    /// Who is in it.
    pub roster: Roster,
    /// The seats.
    pub seats: Vec<SeatStatus>,
    /// The ranges, in the order of their keys.
    pub ranges: Vec<RangeStatus>,
    /// The wedges.
    pub wedges: Vec<WedgeStatus>,
    /// All who live are where they should be.
    pub is_settled: bool,
    /// The cluster's version, for whoever was answered: managers tell it beside the answer, whose bytes are as they ever were.
    #[serde(skip)]
    pub version: Option<u8>,
}

/// Settings that an operator changes; the others stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSettings {
    /// See [`Settings::replicas`].
    pub replicas: Option<u32>,
    /// See [`crate::ids::Rules::ack`].
    pub ack: Option<Ack>,
    /// See [`crate::ids::Rules::min_write_replicas`].
    pub min_write_replicas: Option<u8>,
    /// See [`crate::ids::Rules::spread_reads`].
    pub spread_reads: Option<bool>,
    /// See [`crate::ids::Rules::unsynced`].
    pub unsynced: Option<u32>,
}

/// What an operator asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// How it does.
    Status,
    /// A member is to leave, or (`false`) to stay after all.
    Drain {
        /// Its name.
        name: String,
        /// It is to leave.
        leave: bool,
    },
    /// A member is gone for good. Refused while it has what others lack, unless that is to be lost.
    Remove {
        /// Its name.
        name: String,
        /// Even if it is alive, or not drained.
        force: bool,
    },
    /// Other settings.
    Set(NewSettings),
    /// Which ranges would be changed, and how much would be copied, if these members were not there, or these came.
    Plan {
        /// Members that leave.
        without: Vec<String>,
    },
    /// Another member of the managers' group.
    AddManager {
        /// Where it is reached.
        address: String,
    },
    /// One fewer.
    RemoveManager {
        /// Which.
        id: ManagerId,
    },
    /// All that is decided, to be kept elsewhere. Since version 6.
    Backup,
}

impl Question {
    /// The version that brought it.
    pub fn since(&self) -> u8 {
        match self {
            Self::Backup => BACKUPS,
            _ => OLDEST,
        }
    }
}

/// A range that would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedChange {
    /// The keys.
    pub keys: Interval,
    /// Who has them, head first.
    pub from: Vec<SeatId>,
    /// Who is to have them.
    pub to: Vec<SeatId>,
}

/// What an operator is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// How it does.
    Status(Box<Status>),
    /// It is decided.
    Done,
    /// What would change.
    Plan(Vec<PlannedChange>),
    /// Ask there: this manager does not lead.
    NotLeader {
        /// Where the leader is reached, if that is known.
        leader: Option<String>,
    },
    /// It is not done: why, and what to do, in a sentence.
    Refused(String),
    /// All that is decided; the managers' own encoding.
    Backup(#[serde(with = "serde_bytes")] Vec<u8>),
}
