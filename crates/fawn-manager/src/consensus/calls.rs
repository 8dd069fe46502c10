//! What managers say to each other: the calls of consensus and their answers, sealed like what is kept.

use super::kept::{KeptEntry, KeptId, KeptMeta, KeptVote};
use super::types::{Group, LogId, Types, Vote};
use crate::sealed::{self, SealedError};
use openraft::error::{InstallSnapshotError, RaftError};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, VoteRequest, VoteResponse};
use serde::{Deserialize, Serialize};

/// What each kind of call is numbered (`Control::Consensus::kind`).
pub const APPEND: u8 = 1;
/// See [`APPEND`].
pub const VOTE: u8 = 2;
/// See [`APPEND`].
pub const SNAPSHOT: u8 = 3;

/// Entries from the leader, or none: it leads still.
#[derive(Debug, Serialize, Deserialize)]
pub struct Append {
    vote: KeptVote,
    previous: Option<KeptId>,
    entries: Vec<KeptEntry>,
    committed: Option<KeptId>,
}

impl From<AppendEntriesRequest<Types>> for Append {
    fn from(asked: AppendEntriesRequest<Types>) -> Self {
        Self {
            vote: asked.vote.into(),
            previous: asked.prev_log_id.map(KeptId::from),
            entries: asked.entries.into_iter().map(KeptEntry::from).collect(),
            committed: asked.leader_commit.map(KeptId::from),
        }
    }
}

impl From<Append> for AppendEntriesRequest<Types> {
    fn from(asked: Append) -> Self {
        Self {
            vote: asked.vote.into(),
            prev_log_id: asked.previous.map(LogId::from),
            entries: asked.entries.into_iter().map(KeptEntry::into).collect(),
            leader_commit: asked.committed.map(LogId::from),
        }
    }
}

/// The answer.
#[derive(Debug, Serialize, Deserialize)]
pub enum Appended {
    /// All are kept.
    All,
    /// They are, up to here.
    UpTo(Option<KeptId>),
    /// What came before them is not here.
    Conflict,
    /// Another leads, or wants to.
    Higher(KeptVote),
    /// This member cannot go on.
    Failed(String),
}

impl From<AppendEntriesResponse<u64>> for Appended {
    fn from(answer: AppendEntriesResponse<u64>) -> Self {
        match answer {
            AppendEntriesResponse::Success => Self::All,
            AppendEntriesResponse::PartialSuccess(id) => Self::UpTo(id.map(KeptId::from)),
            AppendEntriesResponse::Conflict => Self::Conflict,
            AppendEntriesResponse::HigherVote(vote) => Self::Higher(vote.into()),
        }
    }
}

impl Appended {
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
pub struct Elect {
    vote: KeptVote,
    last: Option<KeptId>,
}

impl From<VoteRequest<u64>> for Elect {
    fn from(asked: VoteRequest<u64>) -> Self {
        Self { vote: asked.vote.into(), last: asked.last_log_id.map(KeptId::from) }
    }
}

/// The answer.
#[derive(Debug, Serialize, Deserialize)]
pub enum Elected {
    /// Whom it votes for, whether that is new, and its log's end.
    Vote(KeptVote, bool, Option<KeptId>),
    /// This member cannot go on.
    Failed(String),
}

impl Elected {
    /// As the library has it.
    ///
    /// # Errors
    /// As [`Appended::result`].
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
pub struct Part {
    vote: KeptVote,
    meta: KeptMeta,
    offset: u64,
    data: Vec<u8>,
    is_last: bool,
}

impl From<InstallSnapshotRequest<Types>> for Part {
    fn from(asked: InstallSnapshotRequest<Types>) -> Self {
        let InstallSnapshotRequest { vote, meta, offset, data, done } = asked;
        Self { vote: vote.into(), meta: meta.into(), offset, data, is_last: done }
    }
}

/// The answer.
#[derive(Debug, Serialize, Deserialize)]
pub enum Taken {
    /// It has been taken, or the vote is a higher one.
    Vote(KeptVote),
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

/// Answers a call.
///
/// # Errors
/// Bytes that are none: of another release, or damaged.
pub async fn answer(group: &Group, kind: u8, bytes: &[u8]) -> Result<Vec<u8>, SealedError> {
    Ok(match kind {
        APPEND => {
            let asked: Append = sealed::open(bytes)?;
            let answer = group.append_entries(asked.into()).await;
            sealed::seal(&answer.map_or_else(|error| Appended::Failed(error.to_string()), Appended::from))
        }
        VOTE => {
            let asked: Elect = sealed::open(bytes)?;
            let asked = VoteRequest { vote: asked.vote.into(), last_log_id: asked.last.map(LogId::from) };
            let answer = match group.vote(asked).await {
                Ok(said) => Elected::Vote(said.vote.into(), said.vote_granted, said.last_log_id.map(KeptId::from)),
                Err(error) => Elected::Failed(error.to_string()),
            };
            sealed::seal(&answer)
        }
        SNAPSHOT => {
            let Part { vote, meta, offset, data, is_last } = sealed::open(bytes)?;
            let asked =
                InstallSnapshotRequest { vote: Vote::from(vote), meta: meta.into(), offset, data, done: is_last };
            let answer = match group.install_snapshot(asked).await {
                Ok(said) => Taken::Vote(said.vote.into()),
                Err(RaftError::APIError(InstallSnapshotError::SnapshotMismatch(error))) => Taken::Mismatch {
                    expected: (error.expect.id, error.expect.offset),
                    came: (error.got.id, error.got.offset),
                },
                Err(error) => Taken::Failed(error.to_string()),
            };
            sealed::seal(&answer)
        }
        _ => return Err(SealedError::Malformed(format!("no call has the number {kind}"))),
    })
}
