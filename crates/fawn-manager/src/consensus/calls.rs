//! What managers say to each other: the calls of consensus and their answers, sealed like what is kept.

use super::stored_types::{StoredEntry, StoredLogId, StoredSnapshotMeta, StoredVote};
use super::types::{Group, LogId, Types, Vote};
use crate::sealed::{self, SealedError};
use openraft::error::{InstallSnapshotError, RaftError};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, VoteRequest, VoteResponse};
use serde::{Deserialize, Serialize};

/// The number of a call with entries (`Control::Consensus::kind`).
pub const APPEND: u8 = 1;
/// The number of a call that asks for a vote.
pub const VOTE: u8 = 2;
/// The number of a call with a part of a snapshot.
pub const SNAPSHOT: u8 = 3;

/// Entries from the leader, or none: it leads still.
#[derive(Debug, Serialize, Deserialize)]
pub struct AppendCall {
    vote: StoredVote,
    previous: Option<StoredLogId>,
    entries: Vec<StoredEntry>,
    committed: Option<StoredLogId>,
}

impl From<AppendEntriesRequest<Types>> for AppendCall {
    fn from(asked: AppendEntriesRequest<Types>) -> Self {
        Self {
            vote: asked.vote.into(),
            previous: asked.prev_log_id.map(StoredLogId::from),
            entries: asked.entries.into_iter().map(StoredEntry::from).collect(),
            committed: asked.leader_commit.map(StoredLogId::from),
        }
    }
}

impl From<AppendCall> for AppendEntriesRequest<Types> {
    fn from(asked: AppendCall) -> Self {
        Self {
            vote: asked.vote.into(),
            prev_log_id: asked.previous.map(LogId::from),
            entries: asked.entries.into_iter().map(StoredEntry::into).collect(),
            leader_commit: asked.committed.map(LogId::from),
        }
    }
}

/// The answer to entries.
#[derive(Debug, Serialize, Deserialize)]
pub enum AppendReply {
    /// All are kept.
    All,
    /// They are, up to here.
    UpTo(Option<StoredLogId>),
    /// What came before them is not here.
    Conflict,
    /// Another leads, or wants to.
    Higher(StoredVote),
    /// This member cannot go on.
    Failed(String),
}

impl From<AppendEntriesResponse<u64>> for AppendReply {
    fn from(answer: AppendEntriesResponse<u64>) -> Self {
        match answer {
            AppendEntriesResponse::Success => Self::All,
            AppendEntriesResponse::PartialSuccess(id) => Self::UpTo(id.map(StoredLogId::from)),
            AppendEntriesResponse::Conflict => Self::Conflict,
            AppendEntriesResponse::HigherVote(vote) => Self::Higher(vote.into()),
        }
    }
}

impl AppendReply {
    /// Whether it can answer entries up to a place: what was not sent is not kept.
    pub fn is_possible(&self, sent: Option<LogId>) -> bool {
        match self {
            Self::UpTo(id) => id.map(LogId::from) <= sent,
            Self::Higher(vote) => vote.is_possible(),
            Self::All | Self::Conflict | Self::Failed(_) => true,
        }
    }

    /// As the library has it.
    ///
    /// # Errors
    /// Why the other cannot go on.
    pub fn result(self) -> Result<AppendEntriesResponse<u64>, String> {
        Ok(match self {
            Self::All => AppendEntriesResponse::Success,
            Self::UpTo(id) => AppendEntriesResponse::PartialSuccess(id.map(LogId::from)),
            Self::Conflict => AppendEntriesResponse::Conflict,
            Self::Higher(vote) => AppendEntriesResponse::HigherVote(vote.into()),
            Self::Failed(why) => return Err(why),
        })
    }
}

/// Asks for a vote.
#[derive(Debug, Serialize, Deserialize)]
pub struct VoteCall {
    vote: StoredVote,
    last: Option<StoredLogId>,
}

impl From<VoteRequest<u64>> for VoteCall {
    fn from(asked: VoteRequest<u64>) -> Self {
        Self { vote: asked.vote.into(), last: asked.last_log_id.map(StoredLogId::from) }
    }
}

/// The answer to one that asks for a vote.
#[derive(Debug, Serialize, Deserialize)]
pub enum VoteReply {
    /// Whom it votes for, whether that is new, and its log's end.
    Vote(StoredVote, bool, Option<StoredLogId>),
    /// This member cannot go on.
    Failed(String),
}

impl VoteReply {
    /// Whether a member can answer so.
    pub fn is_possible(&self) -> bool {
        match self {
            Self::Vote(vote, _, last) => vote.is_possible() && last.is_none_or(StoredLogId::is_possible),
            Self::Failed(_) => true,
        }
    }

    /// As the library has it.
    ///
    /// # Errors
    /// Why the other cannot go on.
    pub fn result(self) -> Result<VoteResponse<u64>, String> {
        match self {
            Self::Vote(vote, vote_granted, last) => {
                Ok(VoteResponse { vote: vote.into(), vote_granted, last_log_id: last.map(LogId::from) })
            }
            Self::Failed(why) => Err(why),
        }
    }
}

/// A part of a snapshot.
#[derive(Debug, Serialize, Deserialize)]
pub struct SnapshotPart {
    vote: StoredVote,
    meta: StoredSnapshotMeta,
    offset: u64,
    data: Vec<u8>,
    is_last: bool,
}

impl From<InstallSnapshotRequest<Types>> for SnapshotPart {
    fn from(asked: InstallSnapshotRequest<Types>) -> Self {
        let InstallSnapshotRequest { vote, meta, offset, data, done } = asked;
        Self { vote: vote.into(), meta: meta.into(), offset, data, is_last: done }
    }
}

/// The answer to a part of a snapshot.
#[derive(Debug, Serialize, Deserialize)]
pub enum SnapshotReply {
    /// It has been taken, or the vote is a higher one.
    Vote(StoredVote),
    /// Another part is waited for: the sender is to begin anew.
    Mismatch {
        /// The snapshot and the place that are waited for.
        expected: (String, u64),
        /// Those that came.
        came: (String, u64),
    },
    /// This member cannot go on.
    Failed(String),
}

/// Bytes of a snapshot, at most: what a group decides is far less.
const MOST_SNAPSHOT: u64 = 1 << 30;

/// The library asserts what its own members keep to. What comes from another process is looked at first.
trait UntrustedCall {
    /// What of it cannot be, if anything.
    fn fault(&self) -> Option<&'static str>;
}

impl UntrustedCall for AppendCall {
    fn fault(&self) -> Option<&'static str> {
        let places = [self.previous, self.committed].into_iter().flatten().all(StoredLogId::is_possible);
        if !self.vote.is_possible() || !places {
            return Some("a term or an index is out of bounds");
        }
        let follow = StoredLogId::is_followed_by(self.previous, &self.entries, self.vote.term);
        (!follow).then_some("its entries are not consecutive")
    }
}

impl UntrustedCall for VoteCall {
    fn fault(&self) -> Option<&'static str> {
        let is_possible = self.vote.is_possible() && self.last.is_none_or(StoredLogId::is_possible);
        (!is_possible).then_some("a term or an index is out of bounds")
    }
}

impl UntrustedCall for SnapshotPart {
    fn fault(&self) -> Option<&'static str> {
        if !self.vote.is_possible() || !self.meta.is_possible() {
            return Some("a term, an index or the group is out of bounds");
        }
        let end = self.offset.checked_add(self.data.len() as u64);
        end.is_none_or(|end| end > MOST_SNAPSHOT).then_some("a snapshot is longer than the limit")
    }
}

/// What was asked, if it can be.
fn checked<T: UntrustedCall + for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, SealedError> {
    let asked: T = sealed::open(bytes)?;
    match asked.fault() {
        Some(fault) => Err(SealedError::Malformed(fault.to_owned())),
        None => Ok(asked),
    }
}

/// Answers a call.
///
/// # Errors
/// Bytes that are none: of another release, or damaged; or what no member of the group asks.
pub async fn answer(group: &Group, kind: u8, bytes: &[u8]) -> Result<Vec<u8>, SealedError> {
    Ok(match kind {
        APPEND => {
            let asked: AppendCall = checked(bytes)?;
            let answer = group.append_entries(asked.into()).await;
            sealed::seal(&answer.map_or_else(|error| AppendReply::Failed(error.to_string()), AppendReply::from))
        }
        VOTE => {
            let asked: VoteCall = checked(bytes)?;
            let asked = VoteRequest { vote: asked.vote.into(), last_log_id: asked.last.map(LogId::from) };
            let answer = match group.vote(asked).await {
                Ok(said) => {
                    VoteReply::Vote(said.vote.into(), said.vote_granted, said.last_log_id.map(StoredLogId::from))
                }
                Err(error) => VoteReply::Failed(error.to_string()),
            };
            sealed::seal(&answer)
        }
        SNAPSHOT => {
            let SnapshotPart { vote, meta, offset, data, is_last } = checked(bytes)?;
            let asked =
                InstallSnapshotRequest { vote: Vote::from(vote), meta: meta.into(), offset, data, done: is_last };
            let answer = match group.install_snapshot(asked).await {
                Ok(said) => SnapshotReply::Vote(said.vote.into()),
                Err(RaftError::APIError(InstallSnapshotError::SnapshotMismatch(error))) => SnapshotReply::Mismatch {
                    expected: (error.expect.id, error.expect.offset),
                    came: (error.got.id, error.got.offset),
                },
                Err(error) => SnapshotReply::Failed(error.to_string()),
            };
            sealed::seal(&answer)
        }
        _ => return Err(SealedError::Malformed(format!("there is no call with the number {kind}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use openraft::{CommittedLeaderId, EntryPayload};

    fn append(previous: Option<(u64, u64)>, entries: &[(u64, u64)], term: u64) -> AppendCall {
        let id = |(term, index): (u64, u64)| LogId::new(CommittedLeaderId::new(term, 0), index);
        let entry = |at: &(u64, u64)| super::super::types::LogEntry { log_id: id(*at), payload: EntryPayload::Blank };
        let vote = StoredVote { term, voted_for: Some(1), is_leader: true };
        let entries = entries.iter().map(|at| StoredEntry::from(entry(at))).collect();
        AppendCall { vote, previous: previous.map(|at| id(at).into()), entries, committed: None }
    }

    #[test]
    fn entries_that_no_leader_sends_are_refused() {
        let fault = |previous, entries, term| append(previous, entries, term).fault();
        assert_eq!(fault(Some((1, 4)), &[(1, 5), (2, 6)], 2), None);
        assert_eq!(fault(None, &[(0, 0), (1, 1)], 1), None);
        let apart = Some("its entries are not consecutive");
        assert_eq!(fault(Some((1, 4)), &[(1, 6)], 2), apart, "a gap");
        assert_eq!(fault(Some((2, 4)), &[(1, 5)], 2), apart, "an older term");
        assert_eq!(fault(Some((1, 4)), &[(3, 5)], 2), apart, "a term to come");
        assert!(fault(Some((1, u64::MAX)), &[], 2).is_some_and(|fault| fault.contains("out of bounds")));
        assert!(fault(None, &[], u64::MAX).is_some_and(|fault| fault.contains("out of bounds")));
    }

    #[test]
    fn answers_about_what_was_not_sent_are_refused() {
        let id = |index| LogId::new(CommittedLeaderId::new(1, 0), index);
        assert!(AppendReply::UpTo(Some(id(4).into())).is_possible(Some(id(5))));
        assert!(!AppendReply::UpTo(Some(id(6).into())).is_possible(Some(id(5))));
        let higher = |term| AppendReply::Higher(StoredVote { term, voted_for: None, is_leader: false });
        assert!(higher(7).is_possible(None) && !higher(u64::MAX).is_possible(None));
    }

    #[test]
    fn a_part_of_a_snapshot_that_would_need_more_memory_than_any_is_refused() {
        let vote = StoredVote { term: 1, voted_for: None, is_leader: true };
        let part = |offset| SnapshotPart {
            vote,
            meta: super::super::types::SnapshotMeta::default().into(),
            offset,
            data: vec![1],
            is_last: false,
        };
        assert_eq!(part(4096).fault(), None);
        assert!(part(1 << 40).fault().is_some() && part(u64::MAX).fault().is_some());
    }
}
