//! Entries, votes and what snapshots are of, as they are kept and sent: types of our own, so that neither depends on those
//! of the library.

use super::types::{Entry, LogId, Proposal, SnapshotMeta, StoredMembership, Vote};
use openraft::{BasicNode, CommittedLeaderId, EntryPayload, Membership};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptId {
    term: u64,
    index: u64,
}

/// No term and no index comes so far: what says so is damaged, and the next one would be out of numbers.
const MOST: u64 = 1 << 62;

impl KeptId {
    /// Whether a log can have such a place.
    pub fn is_possible(self) -> bool {
        self.term <= MOST && self.index <= MOST
    }

    /// Whether entries can stand after this place in a log that a leader of `term` has: without gaps, terms in order.
    pub fn is_followed_by(before: Option<Self>, entries: &[KeptEntry], term: u64) -> bool {
        let mut last = before;
        entries.iter().all(|entry| {
            let (index, least) = last.map_or((0, 0), |last| (last.index + 1, last.term));
            last = Some(entry.id);
            entry.id.index == index && (least..=term).contains(&entry.id.term) && entry.is_possible()
        })
    }
}

impl From<LogId> for KeptId {
    fn from(id: LogId) -> Self {
        Self { term: id.leader_id.term, index: id.index }
    }
}

impl From<KeptId> for LogId {
    fn from(id: KeptId) -> Self {
        // One leader a term: who it was is not a part of the place.
        Self::new(CommittedLeaderId::new(id.term, 0), id.index)
    }
}

/// Who is in the group: the sets of voters, of which each must agree, and where everybody is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptMembers {
    voters: Vec<BTreeSet<u64>>,
    nodes: BTreeMap<u64, String>,
}

impl KeptMembers {
    /// Whether a group can be so: there are voters, and it is known where they are.
    pub fn is_possible(&self) -> bool {
        let known = |voters: &BTreeSet<u64>| !voters.is_empty() && voters.iter().all(|id| self.nodes.contains_key(id));
        (1..=2).contains(&self.voters.len()) && self.voters.iter().all(known)
    }
}

impl From<&Membership<u64, BasicNode>> for KeptMembers {
    fn from(members: &Membership<u64, BasicNode>) -> Self {
        let nodes = members.nodes().map(|(id, node)| (*id, node.addr.clone())).collect();
        Self { voters: members.get_joint_config().clone(), nodes }
    }
}

impl From<KeptMembers> for Membership<u64, BasicNode> {
    fn from(members: KeptMembers) -> Self {
        let nodes: BTreeMap<u64, BasicNode> =
            members.nodes.into_iter().map(|(id, address)| (id, BasicNode::new(address))).collect();
        Self::new(members.voters, nodes)
    }
}

/// What an entry holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeptPayload {
    /// Nothing: a leader begins.
    Blank,
    /// Decisions.
    Proposal(Proposal),
    /// Who is in the group.
    Members(KeptMembers),
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptEntry {
    id: KeptId,
    payload: KeptPayload,
}

impl KeptEntry {
    fn is_possible(&self) -> bool {
        let members = if let KeptPayload::Members(members) = &self.payload { Some(members) } else { None };
        self.id.is_possible() && members.is_none_or(KeptMembers::is_possible)
    }
}

impl From<Entry> for KeptEntry {
    fn from(entry: Entry) -> Self {
        let payload = match entry.payload {
            EntryPayload::Blank => KeptPayload::Blank,
            EntryPayload::Normal(proposal) => KeptPayload::Proposal(proposal),
            EntryPayload::Membership(members) => KeptPayload::Members((&members).into()),
        };
        Self { id: entry.log_id.into(), payload }
    }
}

impl From<KeptEntry> for Entry {
    fn from(entry: KeptEntry) -> Self {
        let payload = match entry.payload {
            KeptPayload::Blank => EntryPayload::Blank,
            KeptPayload::Proposal(proposal) => EntryPayload::Normal(proposal),
            KeptPayload::Members(members) => EntryPayload::Membership(members.into()),
        };
        Self { log_id: entry.id.into(), payload }
    }
}

/// A vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptVote {
    /// Of this term …
    pub term: u64,
    /// … for this member, if it has chosen.
    pub voted_for: Option<u64>,
    /// A majority has chosen it.
    pub is_leader: bool,
}

impl KeptVote {
    /// Whether anybody can have voted so.
    pub fn is_possible(self) -> bool {
        self.term <= MOST
    }
}

impl From<Vote> for KeptVote {
    fn from(vote: Vote) -> Self {
        Self { term: vote.leader_id.term, voted_for: vote.leader_id.voted_for, is_leader: vote.committed }
    }
}

impl From<KeptVote> for Vote {
    fn from(vote: KeptVote) -> Self {
        let leader_id = openraft::LeaderId { term: vote.term, voted_for: vote.voted_for };
        Self { leader_id, committed: vote.is_leader }
    }
}

/// What a snapshot is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptMeta {
    last: Option<KeptId>,
    members_at: Option<KeptId>,
    members: KeptMembers,
    name: String,
}

impl KeptMeta {
    /// Whether a snapshot can be of that: before the first entry nobody is in the group.
    pub fn is_possible(&self) -> bool {
        let places = [self.last, self.members_at].into_iter().flatten().all(KeptId::is_possible);
        places && (self.members.is_possible() || self.members_at.is_none())
    }
}

impl From<SnapshotMeta> for KeptMeta {
    fn from(meta: SnapshotMeta) -> Self {
        Self {
            last: meta.last_log_id.map(KeptId::from),
            members_at: meta.last_membership.log_id().map(KeptId::from),
            members: meta.last_membership.membership().into(),
            name: meta.snapshot_id,
        }
    }
}

impl From<KeptMeta> for SnapshotMeta {
    fn from(meta: KeptMeta) -> Self {
        let members_at = meta.members_at.map(LogId::from);
        Self {
            last_log_id: meta.last.map(LogId::from),
            last_membership: StoredMembership::new(members_at, meta.members.into()),
            snapshot_id: meta.name,
        }
    }
}
