//! What operators ask of a cluster and are answered, and the figures that it is made of.

use crate::ids::{
    Ack, Attempt, Chain, ClusterId, Epoch, FrontMember, Incarnation, ManagerId, Position, RangeId, SeatId, Seq,
    WedgeEpoch, WedgeId,
};
use crate::manager::roster::Roster;
use crate::manager::{Settings, Standing};
use crate::wire::version::{BACKUPS, OLDEST};
use fawn_ring::Interval;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub mod unserved;

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
    /// Live keys of the ranges that it has a part in, about.
    pub items: u64,
    /// Why it takes no part, refuses puts, or goes by another time than its machine's clock: sentences for its operator.
    pub trouble: Option<String>,
}

/// What a seat reports beside its figures, since version 6: what adds up over a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatTotals {
    /// Operations of clients on one key each that its event loop has answered since it started.
    pub operations: u64,
    /// Live keys of the ranges of which its node answers gets, about: each key of the cluster is in one seat's number.
    pub tail_items: u64,
    /// Bytes of the records of `tail_items`, about.
    pub tail_bytes: u64,
    /// Names the file system that its data is on: seats of one file system share what is free there. 0: it keeps no data.
    pub device: u64,
}

/// What is known of a seat beside its status, since version 6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatDetails {
    /// It was stopped in good order, and said so; it has not started since.
    pub is_stopped: bool,
    /// What it reported last.
    pub totals: Option<SeatTotals>,
    /// Operations of clients a second, between its last two reports.
    pub operations_per_s: Option<u64>,
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
    /// What is known of seats besides, told beside the answer likewise; none from managers that speak no version 6.
    #[serde(skip)]
    pub details: BTreeMap<SeatId, SeatDetails>,
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
