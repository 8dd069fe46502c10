//! What the entries of the log lead to, and its snapshots. Whoever acts on what is decided hears of each entry that is
//! committed, in order, before whoever has proposed it is told.

use super::log_store::{KeepError, LogStore, StoredSnapshot, give_up};
use super::stored_types::StoredSnapshotMeta;
use super::types::{LogEntry, LogId, ProposalOutcome, SnapshotMeta, StorageError, StoredMembership, Types};
use crate::journal::file;
use crate::replicated_state::{Decision, ReplicatedState};
use crate::sealed;
use fawn_kv::wire::version::OLDEST;
use openraft::storage::{RaftStateMachine, Snapshot};
use openraft::{EntryPayload, OptionalSend, RaftSnapshotBuilder, StorageIOError};
use std::io::Cursor;
use tokio::sync::mpsc::UnboundedSender;

/// What has been decided.
#[derive(Debug)]
pub enum StateChange {
    /// These, in this order.
    Decisions(Vec<Decision>),
    /// Everything up to here, at once.
    Snapshot(Box<ReplicatedState>),
}

/// What the entries lead to.
#[derive(Debug)]
pub struct StateMachine {
    store: LogStore,
    decided: ReplicatedState,
    last: Option<LogId>,
    members: StoredMembership,
    news: UnboundedSender<StateChange>,
}

/// What is wrong with a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Its bytes.
    #[error(transparent)]
    Sealed(#[from] sealed::SealedError),
    /// What they are.
    #[error(transparent)]
    Kept(#[from] fawn_kv::manager::KeptError),
}

/// The bytes of a snapshot.
pub fn encode(decided: &ReplicatedState) -> Vec<u8> {
    let is_plain = decided.facts.version == OLDEST;
    sealed::seal_as(if is_plain { sealed::OLDEST } else { sealed::VERSIONED }, &decided.encode())
}

/// What a snapshot is of.
///
/// # Errors
/// [`SnapshotError`]: it was changed, or another release has made it.
pub fn decode(bytes: &[u8]) -> Result<ReplicatedState, SnapshotError> {
    Ok(ReplicatedState::decode(&sealed::open::<Vec<u8>>(bytes)?)?)
}

impl StateMachine {
    /// Goes on from the snapshot that is kept, and tells what is in it.
    ///
    /// # Errors
    /// What is kept cannot be used.
    pub fn open(store: LogStore, news: UnboundedSender<StateChange>) -> Result<Self, OpenError> {
        let mut machine =
            Self { store, decided: ReplicatedState::default(), last: None, members: StoredMembership::default(), news };
        if let Some(kept) = machine.store.snapshot()? {
            machine.install(kept.meta.into(), decode(&kept.data)?);
        }
        Ok(machine)
    }

    fn install(&mut self, meta: SnapshotMeta, decided: ReplicatedState) {
        (self.last, self.members) = (meta.last_log_id, meta.last_membership);
        self.decided = decided;
        self.tell(StateChange::Snapshot(Box::new(self.decided.clone())));
    }

    fn tell(&self, news: StateChange) {
        // Whoever has listened has stopped, and so will this.
        let _ = self.news.send(news);
    }

    fn carry_out(&mut self, entry: LogEntry) -> ProposalOutcome {
        self.last = Some(entry.log_id);
        match entry.payload {
            EntryPayload::Blank => ProposalOutcome::new(),
            EntryPayload::Membership(members) => {
                self.members = StoredMembership::new(Some(entry.log_id), members);
                ProposalOutcome::new()
            }
            EntryPayload::Normal(proposal) if proposal.term != entry.log_id.leader_id.term => {
                vec![false; proposal.decisions.len()]
            }
            EntryPayload::Normal(proposal) => {
                let did = proposal.decisions.iter().map(|decision| match self.decided.apply(decision) {
                    Ok(did) => did,
                    // Others would go on from another state than this one.
                    Err(error) => give_up(&error),
                });
                let did = did.collect();
                self.tell(StateChange::Decisions(proposal.decisions));
                did
            }
        }
    }
}

/// Why a manager cannot go on from what it has kept.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// The snapshot in it.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl From<file::OpenError> for OpenError {
    fn from(error: file::OpenError) -> Self {
        Self::Keep(match error {
            file::OpenError::Io(error) => KeepError::Io(error),
            file::OpenError::Damage(damage) => KeepError::Damage(damage.into()),
        })
    }
}

/// Makes a snapshot of what was decided when it began.
#[derive(Debug)]
pub struct SnapshotBuilder {
    store: LogStore,
    meta: SnapshotMeta,
    decided: ReplicatedState,
}

impl RaftSnapshotBuilder<Types> for SnapshotBuilder {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, StorageError> {
        let data = encode(&self.decided);
        let kept = StoredSnapshot { meta: StoredSnapshotMeta::from(self.meta.clone()), data };
        self.store.keep_snapshot(&kept).await?;
        Ok(Snapshot { meta: self.meta.clone(), snapshot: Box::new(Cursor::new(kept.data)) })
    }
}

impl RaftStateMachine<Types> for StateMachine {
    type SnapshotBuilder = SnapshotBuilder;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), StorageError> {
        Ok((self.last, self.members.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<ProposalOutcome>, StorageError>
    where
        I: IntoIterator<Item = LogEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        Ok(entries.into_iter().map(|entry| self.carry_out(entry)).collect())
    }

    async fn get_snapshot_builder(&mut self) -> SnapshotBuilder {
        let name = self.last.map_or_else(|| "0-0".to_owned(), |last| format!("{}-{}", last.leader_id.term, last.index));
        let meta = SnapshotMeta { last_log_id: self.last, last_membership: self.members.clone(), snapshot_id: name };
        SnapshotBuilder { store: self.store.clone(), meta, decided: self.decided.clone() }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, StorageError> {
        Ok(Box::new(Cursor::new(Vec::new())))
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError> {
        let data = snapshot.into_inner();
        let decided = decode(&data).map_err(|error| {
            tracing::error!("the leader's snapshot cannot be used: {error}");
            StorageIOError::read_snapshot(Some(meta.signature()), &error)
        })?;
        self.store.keep_snapshot(&StoredSnapshot { meta: StoredSnapshotMeta::from(meta.clone()), data }).await?;
        self.install(meta.clone(), decided);
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, StorageError> {
        let kept = self.store.snapshot().unwrap_or_else(|error| give_up(&error));
        let kept = kept.map(|kept| Snapshot { meta: kept.meta.into(), snapshot: Box::new(Cursor::new(kept.data)) });
        Ok(kept)
    }
}
