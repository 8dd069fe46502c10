//! The way back from a majority of managers that is lost for good: one of those that are left goes on alone, with what it
//! has kept.
//!
//! Nobody knows what the others had decided without it, so a cluster may lose what it has acknowledged; [`State::recovered`]
//! says how, and what is done about it. Whoever is lost must stay so: two groups of one cluster would contradict each other.
//!
//! [`State::recovered`]: fawn_kv::manager::State::recovered

use crate::consensus::log_store::{KeepError, LogStore, StoredMember};
use crate::consensus::stored_types::StoredVote;
use crate::consensus::types::{LogEntry, LogId, Proposal, SnapshotMeta};
use crate::directory;
use crate::options::ManagerError;
use crate::replicated_state::Decision;
use fawn_kv::manager::Waits;
use openraft::{BasicNode, CommittedLeaderId, EntryPayload, Membership};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Decisions that may be lost, at most, and terms that the others may have had since.
const LOST: u32 = 1_000_000;

/// What has come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoverySummary {
    /// The member that goes on.
    pub id: u64,
    /// Where it is reached.
    pub address: String,
    /// Those that were in the group with it.
    pub others: BTreeMap<u64, String>,
    /// Entries of the log that it has; more of them may have been decided.
    pub entries: u64,
}

/// Makes a member that does not run the only one of its group, as if it had been elected by all.
///
/// # Errors
/// The directory is in use, or has no manager's log, or one that cannot be read.
pub fn recover(dir: &Path, waits: Waits) -> Result<RecoverySummary, ManagerError> {
    directory::refuse_data(dir)?;
    if !directory::has_manager(dir) {
        return Err(ManagerError::Empty(dir.to_owned()));
    }
    let store = directory::open(dir)?;
    rewrite(&store, waits)
        .map_err(|error| ManagerError::kept(dir, error))?
        .ok_or_else(|| ManagerError::Empty(dir.to_owned()))
}

fn rewrite(store: &LogStore, waits: Waits) -> Result<Option<RecoverySummary>, KeepError> {
    let Some((StoredMember { id, address }, last)) = store.member()?.zip(store.last()?) else { return Ok(None) };
    let voted = store.vote()?.map_or(0, |vote| vote.term);
    let member = StoredMember { id, address: address.clone() };
    let (vote, entries) = entries_of(&member, (voted, last), waits);
    let mut others = members(store)?;
    others.remove(&id);
    store.rewrite(vote, entries)?;
    Ok(Some(RecoverySummary { id, address, others, entries: last.index + 1 }))
}

/// A group of one.
pub(crate) fn alone(member: &StoredMember) -> Membership<u64, BasicNode> {
    let nodes = BTreeMap::from([(member.id, BasicNode::new(member.address.clone()))]);
    Membership::new(vec![BTreeSet::from([member.id])], nodes)
}

/// The vote of a member that goes on alone, as if it had been elected by all, and what its log goes on with after its last entry.
/// `voted` is the term that it has voted in.
pub(crate) fn entries_of(
    member: &StoredMember,
    (voted, last): (u64, LogId),
    waits: Waits,
) -> (StoredVote, Vec<LogEntry>) {
    // Beyond any that the others may have reached: whoever hears both groups follows this one.
    let term = voted.max(last.leader_id.term) + u64::from(LOST);
    let place = |after: u64| LogId::new(CommittedLeaderId::new(term, 0), last.index + after);
    let decisions = vec![Decision::Recovered { lost: LOST, waits }];
    let entries = vec![
        LogEntry { log_id: place(1), payload: EntryPayload::Membership(alone(member)) },
        LogEntry { log_id: place(2), payload: EntryPayload::Normal(Proposal { term, decisions }) },
    ];
    (StoredVote { term, voted_for: Some(member.id), is_leader: false }, entries)
}

/// The members of the group and where they are reached, as far as this member has heard.
///
/// # Errors
/// What is kept cannot be read.
pub fn members(store: &LogStore) -> Result<BTreeMap<u64, String>, KeepError> {
    let mut members = BTreeMap::new();
    let snapshot = store.snapshot()?.map(|kept| SnapshotMeta::from(kept.meta));
    let of_snapshot = snapshot.map(|meta| meta.last_membership.membership().clone());
    let of_entries = store.all()?.into_iter().rev().find_map(|entry| match entry.payload {
        EntryPayload::Membership(members) => Some(members),
        _ => None,
    });
    if let Some(membership) = of_entries.or(of_snapshot) {
        members.extend(membership.nodes().map(|(id, node)| (*id, node.addr.clone())));
    }
    Ok(members)
}
