//! Entries, votes and what snapshots are of, as they are kept and sent: types of our own, so that neither depends on those
//! of the library.

use super::types::{LogEntry, LogId, Proposal, SnapshotMeta, StoredMembership, Vote};
use openraft::{BasicNode, CommittedLeaderId, EntryPayload, Membership};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredLogId {
    term: u64,
    index: u64,
}

/// No term and no index comes so far: what says so is damaged, and the next one would be out of numbers.
const MOST: u64 = 1 << 62;

impl StoredLogId {
    /// Whether a log can have such a place.
    pub fn is_possible(self) -> bool {
        self.term <= MOST && self.index <= MOST
    }

    /// Whether entries can stand after this place in a log that a leader of `term` has: without gaps, terms in order.
    pub fn is_followed_by(before: Option<Self>, entries: &[StoredEntry], term: u64) -> bool {
        let mut last = before;
        entries.iter().all(|entry| {
            let (index, least) = last.map_or((0, 0), |last| (last.index + 1, last.term));
            last = Some(entry.id);
            entry.id.index == index && (least..=term).contains(&entry.id.term) && entry.is_possible()
        })
    }
}

impl From<LogId> for StoredLogId {
    fn from(id: LogId) -> Self {
        Self { term: id.leader_id.term, index: id.index }
    }
}

impl From<StoredLogId> for LogId {
    fn from(id: StoredLogId) -> Self {
        // One leader a term: who it was is not a part of the place.
        Self::new(CommittedLeaderId::new(id.term, 0), id.index)
    }
}

/// Who is in the group: the sets of voters, of which each must agree, and where everybody is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMembers {
    voters: Vec<BTreeSet<u64>>,
    nodes: BTreeMap<u64, String>,
}

impl StoredMembers {
    /// Whether a group can be so: there are voters, and it is known where they are.
    pub fn is_possible(&self) -> bool {
        let known = |voters: &BTreeSet<u64>| !voters.is_empty() && voters.iter().all(|id| self.nodes.contains_key(id));
        (1..=2).contains(&self.voters.len()) && self.voters.iter().all(known)
    }
}

impl From<&Membership<u64, BasicNode>> for StoredMembers {
    fn from(members: &Membership<u64, BasicNode>) -> Self {
        let nodes = members.nodes().map(|(id, node)| (*id, node.addr.clone())).collect();
        Self { voters: members.get_joint_config().clone(), nodes }
    }
}

impl From<StoredMembers> for Membership<u64, BasicNode> {
    fn from(members: StoredMembers) -> Self {
        let nodes: BTreeMap<u64, BasicNode> =
            members.nodes.into_iter().map(|(id, address)| (id, BasicNode::new(address))).collect();
        Self::new(members.voters, nodes)
    }
}

/// What an entry holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredPayload {
    /// Nothing: a leader begins.
    Blank,
    /// Decisions.
    Proposal(Proposal),
    /// Who is in the group.
    Members(StoredMembers),
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredEntry {
    id: StoredLogId,
    payload: StoredPayload,
}

impl StoredEntry {
    fn is_possible(&self) -> bool {
        let members = if let StoredPayload::Members(members) = &self.payload { Some(members) } else { None };
        self.id.is_possible() && members.is_none_or(StoredMembers::is_possible)
    }
}

impl From<LogEntry> for StoredEntry {
    fn from(entry: LogEntry) -> Self {
        let payload = match entry.payload {
            EntryPayload::Blank => StoredPayload::Blank,
            EntryPayload::Normal(proposal) => StoredPayload::Proposal(proposal),
            EntryPayload::Membership(members) => StoredPayload::Members((&members).into()),
        };
        Self { id: entry.log_id.into(), payload }
    }
}

impl From<StoredEntry> for LogEntry {
    fn from(entry: StoredEntry) -> Self {
        let payload = match entry.payload {
            StoredPayload::Blank => EntryPayload::Blank,
            StoredPayload::Proposal(proposal) => EntryPayload::Normal(proposal),
            StoredPayload::Members(members) => EntryPayload::Membership(members.into()),
        };
        Self { log_id: entry.id.into(), payload }
    }
}

/// A vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredVote {
    /// Of this term …
    pub term: u64,
    /// … for this member, if it has chosen.
    pub voted_for: Option<u64>,
    /// A majority has chosen it.
    pub is_leader: bool,
}

impl StoredVote {
    /// Whether anybody can have voted so.
    pub fn is_possible(self) -> bool {
        self.term <= MOST
    }
}

impl From<Vote> for StoredVote {
    fn from(vote: Vote) -> Self {
        Self { term: vote.leader_id.term, voted_for: vote.leader_id.voted_for, is_leader: vote.committed }
    }
}

impl From<StoredVote> for Vote {
    fn from(vote: StoredVote) -> Self {
        let leader_id = openraft::LeaderId { term: vote.term, voted_for: vote.voted_for };
        Self { leader_id, committed: vote.is_leader }
    }
}

/// What a snapshot is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSnapshotMeta {
    last: Option<StoredLogId>,
    members_at: Option<StoredLogId>,
    members: StoredMembers,
    name: String,
}

impl StoredSnapshotMeta {
    /// Whether a snapshot can be of that: before the first entry nobody is in the group.
    pub fn is_possible(&self) -> bool {
        let places = [self.last, self.members_at].into_iter().flatten().all(StoredLogId::is_possible);
        places && (self.members.is_possible() || self.members_at.is_none())
    }
}

impl From<SnapshotMeta> for StoredSnapshotMeta {
    fn from(meta: SnapshotMeta) -> Self {
        Self {
            last: meta.last_log_id.map(StoredLogId::from),
            members_at: meta.last_membership.log_id().map(StoredLogId::from),
            members: meta.last_membership.membership().into(),
            name: meta.snapshot_id,
        }
    }
}

impl From<StoredSnapshotMeta> for SnapshotMeta {
    fn from(meta: StoredSnapshotMeta) -> Self {
        let members_at = meta.members_at.map(LogId::from);
        Self {
            last_log_id: meta.last.map(LogId::from),
            last_membership: StoredMembership::new(members_at, meta.members.into()),
            snapshot_id: meta.name,
        }
    }
}
