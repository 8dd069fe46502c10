//! What is said over a link that is no message of the protocol.

use crate::ids::{Address, ClusterId, ManagerId, SeatId};
use crate::link::Lane;
use crate::manager::roster::{Enrolment, Roster};
use crate::status::{Answer, Question, SeatDetails, SeatFigures, SeatTotals};
use crate::wire::version::VersionRange;
use fawn_ring::{DomainId, MachineId, Secret};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Party {
    /// A member of the managers' group.
    Manager(ManagerId),
    /// A loop with a node, a front-end, or both.
    Seat(SeatId),
    /// A client: whoever it calls gives it its number.
    Client(u32),
    /// A process that has yet to be given its seats.
    Newcomer,
    /// Whoever looks after the cluster.
    Operator,
}

impl Party {
    /// Whether it may speak as this address.
    pub fn may_speak_as(self, address: Address) -> bool {
        match self {
            Self::Manager(_) => address == Address::Manager,
            Self::Seat(seat) => SeatId::of(address) == Some(seat),
            Self::Client(client) => address == Address::Client(client),
            Self::Newcomer | Self::Operator => false,
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manager(ManagerId(id)) => write!(f, "manager {id}"),
            Self::Seat(SeatId(id)) => write!(f, "seat {id}"),
            Self::Client(id) => write!(f, "client {id}"),
            Self::Newcomer => f.write_str("a newcomer"),
            Self::Operator => f.write_str("an operator"),
        }
    }
}

/// The first that is said, by whoever called. It can be read by every version, and so can its answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// [`MAGIC`].
    pub magic: [u8; 4],
    /// The oldest version of messages that the caller speaks …
    pub lowest: u8,
    /// … and the newest.
    pub highest: u8,
    /// The cluster that it is of; `None`: it does not know yet.
    pub cluster: Option<ClusterId>,
    /// Who calls.
    pub from: Party,
    /// Who is called; `None`: whoever listens there.
    pub to: Option<Party>,
    /// Which of the connections between the two it is to be.
    pub lane: Lane,
}

impl Greeting {
    /// What the caller speaks.
    pub fn spoken(&self) -> VersionRange {
        VersionRange { oldest: self.lowest, newest: self.highest }
    }
}

/// Begins every greeting.
pub const MAGIC: [u8; 4] = *b"FAWN";

/// The answer to a greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeted {
    /// The version that both speak from here on.
    pub version: u8,
    /// The cluster; `None`: it has yet to begin.
    pub cluster: Option<ClusterId>,
    /// Who was called.
    pub from: Party,
    /// Who the caller is from here on: a client learns its number.
    pub you: Party,
}

/// What a newcomer needs to take part.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enrolled {
    /// The cluster.
    pub cluster: ClusterId,
    /// Where keys lie.
    pub secret: Secret,
    /// The first of its seats; the others follow.
    pub first: SeatId,
    /// The machine that it runs on.
    pub machine: MachineId,
    /// What fails together with the machine.
    pub domain: Option<DomainId>,
    /// The roster.
    pub roster: Roster,
}

impl fmt::Debug for Enrolled {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enrolled").field("cluster", &self.cluster).field("first", &self.first).finish_non_exhaustive()
    }
}

/// What is said over a link outside the protocol. A later version adds variants at the end, and says none of them to
/// whoever speaks an older one alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Control {
    /// The first that is said.
    Greeting(Greeting),
    /// The answer.
    Greeted(Greeted),
    /// The other answer: the connection is closed after it.
    Refused {
        /// What is wrong, and what to do about it, in a sentence.
        why: String,
    },
    /// From a manager, at once and with every change: who leads.
    Leads {
        /// The term that this is so in.
        term: u64,
        /// The leader, if it is known.
        leader: Option<ManagerId>,
    },
    /// To a manager: the roster, if it has changed since; and from then on whenever it does.
    AskRoster {
        /// The number of the one that is known; 0: none.
        known: u64,
    },
    /// Who is in the cluster, and where.
    Roster(Roster),
    /// To the leader, from a newcomer.
    Enrol {
        /// Who it is to be.
        who: Enrolment,
        /// The cluster that its directory is of already, if it is of any.
        cluster: Option<ClusterId>,
        /// Where the keys lie of what its directory holds, if it holds anything: it has to be the cluster's.
        secret: Option<Secret>,
    },
    /// To a newcomer.
    Enrolled(Enrolled),
    /// From a manager to another: what their consensus says. The bytes are its own.
    Consensus {
        /// Names it; 0: no answer is expected.
        number: u64,
        /// What it is.
        kind: u8,
        /// What it says.
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// The answer.
    ConsensusAnswer {
        /// As in what was asked.
        number: u64,
        /// The answer.
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// From a seat to the leader, now and then: how it does.
    Figures(SeatFigures),
    /// From an operator.
    Ask {
        /// Comes back with the answer.
        number: u64,
        /// What is asked.
        question: Question,
    },
    /// To an operator.
    Answer {
        /// As it was asked.
        number: u64,
        /// The answer.
        answer: Answer,
    },
    /// Nothing: the other side lives.
    Alive,
    /// To a manager, from a client: where do keys lie? Not answered before the first member has enrolled.
    AskSecret,
    /// To a client.
    Secret(Secret),
    /// From a manager, at once and with every change: the cluster's version. Not to one that speaks version 3 alone.
    Speaks {
        /// Everybody speaks it.
        version: u8,
    },
    /// From a seat to the leader, after its [`Figures`](Self::Figures): what adds up over the cluster. Since version 6.
    Totals {
        /// The seat.
        seat: SeatId,
        /// What it has.
        totals: SeatTotals,
    },
    /// To an operator, before the answer that is a status: what is known of seats besides. Since version 6.
    Details(BTreeMap<SeatId, SeatDetails>),
    /// From a seat to the leader, with its figures: what its machine's clock shows. Since version 6.
    Clock {
        /// Unix milliseconds.
        unix_ms: u64,
    },
    /// The answer: what time it is in the cluster. Since version 6.
    Time {
        /// Unix milliseconds.
        unix_ms: u64,
    },
    /// From a manager to the leader: everything after it is said by a caller that does not reach the leader. Since version 6.
    Proxied(Proxied),
    /// From a seat to the leader, a few times a second: does the link work in both directions? Since version 6.
    Ping {
        /// Comes back with the answer.
        number: u64,
    },
    /// The answer, at once. Since version 6.
    Pong {
        /// As in what was asked.
        number: u64,
    },
}

/// A caller that another manager connects with the leader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proxied {
    /// How it has greeted the other manager.
    pub greeting: Greeting,
    /// The names of the roles that its certificate has shown to the other manager; `None`: none was asked for.
    pub roles: Option<Vec<String>>,
    /// The IP address that it has called the other manager from.
    pub host: Option<String>,
}
