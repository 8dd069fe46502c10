//! What is in the managers' log.

use crate::replicated_state::Decision;
use openraft::BasicNode;
use serde::{Deserialize, Serialize};
use std::io::Cursor;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The term in which it was proposed: in any other it does nothing.
    pub term: u64,
    /// What is to be decided, in this order.
    pub decisions: Vec<Decision>,
}

/// What came of an entry: for each decision, whether it did anything.
pub type ProposalOutcome = Vec<bool>;

openraft::declare_raft_types!(
    /// The kinds of things that consensus is about.
    pub Types:
        D = Proposal,
        R = ProposalOutcome,
        NodeId = u64,
        Node = BasicNode,
        SnapshotData = Cursor<Vec<u8>>,
);

/// A member of the managers' group.
pub type Group = openraft::Raft<Types>;
/// An entry.
pub type LogEntry = openraft::Entry<Types>;
/// An entry's place in the log.
pub type LogId = openraft::LogId<u64>;
/// A vote.
pub type Vote = openraft::Vote<u64>;
/// Who is in the group.
pub type StoredMembership = openraft::StoredMembership<u64, BasicNode>;
/// What a snapshot is of.
pub type SnapshotMeta = openraft::SnapshotMeta<u64, BasicNode>;
/// An error of the storage.
pub type StorageError = openraft::StorageError<u64>;
