//! Log, vote and snapshots on flash, in one file of `redb`.
//!
//! Whatever goes wrong with that file ends the process: a member that has promised or acknowledged something, and cannot
//! keep it, must not go on. Everything that is kept has a checksum of its own ([`sealed`]).

use super::kept::{KeptEntry, KeptId, KeptMeta, KeptVote};
use super::types::{Entry, LogId, SnapshotMeta, StorageError, Types, Vote};
use crate::decided::Decision;
use crate::sealed;
use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{EntryPayload, LogState, OptionalSend, RaftLogReader};
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::{Debug, Display};
use std::ops::RangeBounds;
use std::sync::Arc;

const ENTRIES: TableDefinition<u64, &[u8]> = TableDefinition::new("entries");
const FACTS: TableDefinition<&str, &[u8]> = TableDefinition::new("facts");

/// Facts that are kept, by name.
const VOTE: &str = "vote";
const COMMITTED: &str = "committed";
const PURGED: &str = "purged";
const SNAPSHOT: &str = "snapshot";
const MEMBER: &str = "member";

/// Why what a manager has kept cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The file.
    #[error(transparent)]
    File(#[from] redb::Error),
    /// What is in it.
    #[error("{what}: {error}")]
    Sealed {
        /// Which part.
        what: String,
        /// What is wrong.
        error: sealed::SealedError,
    },
}

macro_rules! from_redb {
    ($($kind:ident),*) => {
        $(impl From<redb::$kind> for KeepError {
            fn from(error: redb::$kind) -> Self {
                Self::File(error.into())
            }
        })*
    };
}
from_redb!(DatabaseError, TransactionError, TableError, StorageError, CommitError, SetDurabilityError);

/// Ends the process: what it has to keep cannot be kept.
pub fn give_up(error: &dyn Display) -> ! {
    tracing::error!("the manager's log cannot be kept, and the process ends: {error}");
    std::process::abort();
}

fn or_give_up<T>(result: Result<T, KeepError>) -> T {
    result.unwrap_or_else(|error| give_up(&error))
}

/// A snapshot as it is kept.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct KeptSnapshot {
    /// What it is of.
    pub meta: KeptMeta,
    /// [`crate::decided::Decided::encode`], sealed.
    pub data: Vec<u8>,
}

/// What a member is called in its group, and where it was when it began.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KeptMember {
    /// Its number: drawn when its directory was made.
    pub id: u64,
    /// Where others reach it.
    pub address: String,
}

/// The file. Clones are the same.
#[derive(Clone, Debug)]
pub struct LogStore {
    file: Arc<Database>,
}

impl LogStore {
    /// Opens the file, which may be new, and looks at all that is in it.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn open(file: Database) -> Result<Self, KeepError> {
        let mut begin = file.begin_write()?;
        begin.set_durability(Durability::Immediate)?;
        begin.open_table(ENTRIES)?;
        begin.open_table(FACTS)?;
        begin.commit()?;
        let store = Self { file: Arc::new(file) };
        store.fact::<KeptVote>(VOTE)?;
        store.fact::<KeptId>(COMMITTED)?;
        store.fact::<KeptId>(PURGED)?;
        store.fact::<KeptSnapshot>(SNAPSHOT)?;
        store.entries(..)?;
        Ok(store)
    }

    fn fact<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, KeepError> {
        let facts = self.file.begin_read()?.open_table(FACTS)?;
        let Some(bytes) = facts.get(name)? else { return Ok(None) };
        let sealed = |error| KeepError::Sealed { what: name.to_owned(), error };
        sealed::open(bytes.value()).map(Some).map_err(sealed)
    }

    fn entries(&self, range: impl RangeBounds<u64>) -> Result<Vec<Entry>, KeepError> {
        let entries = self.file.begin_read()?.open_table(ENTRIES)?;
        let mut found = Vec::new();
        for entry in entries.range(range)? {
            let (index, bytes) = entry?;
            let sealed = |error| KeepError::Sealed { what: format!("entry {}", index.value()), error };
            found.push(sealed::open::<KeptEntry>(bytes.value()).map_err(sealed)?.into());
        }
        Ok(found)
    }

    /// All entries that are kept.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn all(&self) -> Result<Vec<Entry>, KeepError> {
        self.entries(..)
    }

    /// Writes durably, or not before the next that does.
    fn write_now(
        &self,
        durability: Durability,
        write: impl FnOnce(&WriteTransaction) -> Result<(), KeepError>,
    ) -> Result<(), KeepError> {
        let mut begun = self.file.begin_write()?;
        begun.set_durability(durability)?;
        write(&begun)?;
        begun.commit()?;
        Ok(())
    }

    /// The same on another thread: the runtime's only one goes on meanwhile. Ends the process if it fails.
    async fn write(
        &self,
        durability: Durability,
        write: impl FnOnce(&WriteTransaction) -> Result<(), KeepError> + Send + 'static,
    ) {
        let store = self.clone();
        let written = tokio::task::spawn_blocking(move || or_give_up(store.write_now(durability, write)));
        if let Err(error) = written.await {
            give_up(&error);
        }
    }

    /// Who this member is, if it has begun.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn member(&self) -> Result<Option<KeptMember>, KeepError> {
        self.fact(MEMBER)
    }

    /// Keeps who this member is.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn keep_member(&self, member: &KeptMember) -> Result<(), KeepError> {
        self.write_now(Durability::Immediate, put_fact(MEMBER, member))
    }

    /// The snapshot, if there is one.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn snapshot(&self) -> Result<Option<KeptSnapshot>, KeepError> {
        self.fact(SNAPSHOT)
    }

    /// Keeps a snapshot in place of the one before, unless that is of more.
    pub async fn keep_snapshot(&self, snapshot: &KeptSnapshot) {
        let newer = SnapshotMeta::from(snapshot.meta.clone()).last_log_id;
        let kept = or_give_up(self.snapshot()).and_then(|kept| SnapshotMeta::from(kept.meta).last_log_id);
        if kept <= newer {
            self.write(Durability::Immediate, put_fact(SNAPSHOT, snapshot)).await;
        }
    }

    /// The log's end.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn last(&self) -> Result<Option<LogId>, KeepError> {
        let entries = self.file.begin_read()?.open_table(ENTRIES)?;
        let last = entries.last()?.map(|(index, _)| index.value());
        match last {
            Some(index) => Ok(self.entries(index..=index)?.pop().map(|entry| entry.log_id)),
            None => Ok(self.fact::<KeptId>(PURGED)?.map(LogId::from)),
        }
    }

    /// The vote.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn vote(&self) -> Result<Option<KeptVote>, KeepError> {
        self.fact(VOTE)
    }

    /// Puts entries at the log's end and another vote in place of the one before, as one write.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn rewrite(&self, vote: KeptVote, entries: Vec<Entry>) -> Result<(), KeepError> {
        self.write_now(Durability::Immediate, move |begun| {
            put_fact(VOTE, &vote)(begun)?;
            put_entries(entries)(begun)
        })
    }
}

impl LogStore {
    /// Begins with what another has decided up to `last`, as one write.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn begin_from(
        &self,
        member: &KeptMember,
        snapshot: &KeptSnapshot,
        last: LogId,
        vote: KeptVote,
        entries: Vec<Entry>,
    ) -> Result<(), KeepError> {
        self.write_now(Durability::Immediate, move |begun| {
            put_fact(MEMBER, member)(begun)?;
            put_fact(SNAPSHOT, snapshot)(begun)?;
            put_fact(PURGED, &KeptId::from(last))(begun)?;
            put_fact(VOTE, &vote)(begun)?;
            put_entries(entries)(begun)
        })
    }
}

fn put_fact<T: Serialize>(
    name: &'static str,
    value: &T,
) -> impl FnOnce(&WriteTransaction) -> Result<(), KeepError> + use<T> {
    let bytes = sealed::seal(value);
    move |begun| {
        begun.open_table(FACTS)?.insert(name, bytes.as_slice())?;
        Ok(())
    }
}

fn put_entries(entries: Vec<Entry>) -> impl FnOnce(&WriteTransaction) -> Result<(), KeepError> {
    let sealed: Vec<(u64, Vec<u8>)> =
        entries.into_iter().map(|entry| (entry.log_id.index, seal_entry(entry))).collect();
    move |begun| {
        let mut table = begun.open_table(ENTRIES)?;
        for (index, bytes) in sealed {
            table.insert(index, bytes.as_slice())?;
        }
        Ok(())
    }
}

impl RaftLogReader<Types> for LogStore {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<Entry>, StorageError> {
        Ok(or_give_up(self.entries(range)))
    }
}

impl RaftLogStorage<Types> for LogStore {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError> {
        let last_purged_log_id = or_give_up(self.fact::<KeptId>(PURGED)).map(LogId::from);
        Ok(LogState { last_purged_log_id, last_log_id: or_give_up(self.last()) })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        self.write(Durability::Immediate, put_fact(VOTE, &KeptVote::from(*vote))).await;
        Ok(())
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        Ok(or_give_up(self.vote()).map(Vote::from))
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        if let Some(committed) = committed {
            // It only says from where on a start need not ask the others; what it forgets it hears again.
            self.write(Durability::None, put_fact(COMMITTED, &KeptId::from(committed))).await;
        }
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        Ok(or_give_up(self.fact::<KeptId>(COMMITTED)).map(LogId::from))
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<Types>) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<Entry> = entries.into_iter().collect();
        self.write(Durability::Immediate, put_entries(entries)).await;
        callback.log_io_completed(Ok(()));
        Ok(())
    }

    async fn truncate(&mut self, id: LogId) -> Result<(), StorageError> {
        let cut = move |begun: &WriteTransaction| {
            begun.open_table(ENTRIES)?.retain_in(id.index.., |_, _| false)?;
            Ok(())
        };
        self.write(Durability::Immediate, cut).await;
        Ok(())
    }

    async fn purge(&mut self, id: LogId) -> Result<(), StorageError> {
        let purged = put_fact(PURGED, &KeptId::from(id));
        let cut = move |begun: &WriteTransaction| {
            begun.open_table(ENTRIES)?.retain_in(..=id.index, |_, _| false)?;
            purged(begun)
        };
        self.write(Durability::Immediate, cut).await;
        Ok(())
    }
}

/// An older release has to say that it does not know a decision, not that the entry is damaged.
fn seal_entry(entry: Entry) -> Vec<u8> {
    let is_versioned = match &entry.payload {
        EntryPayload::Normal(proposal) => proposal.decisions.iter().any(|one| matches!(one, Decision::Version(_))),
        EntryPayload::Blank | EntryPayload::Membership(_) => false,
    };
    sealed::seal_as(if is_versioned { sealed::VERSIONED } else { sealed::OLDEST }, &KeptEntry::from(entry))
}
