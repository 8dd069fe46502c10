//! The log, the vote and the snapshots on disk, in a [journal](crate::journal).
//!
//! An error that passes is waited for: nothing is acknowledged meanwhile, so others lead. A sync that failed ends the process: a
//! member that has promised or acknowledged something, and cannot keep it, must not go on. Everything that is kept has a checksum
//! and a version of its own, too ([`sealed`]).

use super::stored_types::{StoredEntry, StoredLogId, StoredSnapshotMeta, StoredVote};
use super::types::{LogEntry, LogId, SnapshotMeta, StorageError, Types, Vote};
use crate::journal::disk::is_passing;
use crate::journal::file::Writer;
use crate::journal::{Change, JournalImage};
use crate::replicated_state::Decision;
use crate::sealed;
use crate::stall::Stall;
use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{EntryPayload, LogState, OptionalSend, RaftLogReader, StorageIOError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::{Debug, Display};
use std::fs::File;
use std::io;
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Facts that are kept, by name.
const VOTE: &str = "vote";
const COMMITTED: &str = "committed";
const PURGED: &str = "purged";
const SNAPSHOT: &str = "snapshot";
const MEMBER: &str = "member";

/// Why what a manager has kept cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file, or what is left of it.
    #[error(
        "{0}; empty this directory, then restore a backup (fawn manager restore), or let this manager join the others of its group again"
    )]
    Damage(Damage),
    /// What is in it.
    #[error("{what}: {error}")]
    Sealed {
        /// Which part.
        what: String,
        /// What is wrong.
        error: sealed::SealedError,
    },
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// This one's.
    #[error("the file is damaged: {0}")]
    Journal(#[from] crate::journal::format::Damage),
    /// That of an older release.
    #[error("the file is damaged: {0}")]
    Redb(#[from] crate::journal::redb::RedbError),
    /// It has been there.
    #[error("the file is missing")]
    Missing,
}

/// When a write is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// Once it outlives a power cut.
    Synced,
    /// At once: it outlives a power cut as soon as the next one does that is synced.
    Lazy,
}

/// Ends the process: what it has to keep cannot be kept.
pub fn give_up(error: &dyn Display) -> ! {
    tracing::error!("cannot write the manager's log, so the process ends: {error}");
    std::process::abort();
}

fn or_give_up<T>(result: Result<T, KeepError>) -> T {
    result.unwrap_or_else(|error| give_up(&error))
}

/// A snapshot as it is kept.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct StoredSnapshot {
    /// What it is of.
    pub meta: StoredSnapshotMeta,
    /// [`crate::replicated_state::ReplicatedState::encode`], sealed.
    pub data: Vec<u8>,
}

/// What a member is called in its group, and where it was when it began.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoredMember {
    /// Its number: drawn when its directory was made.
    pub id: u64,
    /// Where others reach it.
    pub address: String,
}

/// What is written with, and what is kept. Clones are the same.
#[derive(Clone, Debug)]
pub struct LogStore {
    writer: Arc<Mutex<Writer>>,
    image: Arc<Mutex<JournalImage>>,
    stall: Arc<Stall>,
    /// Who has them has the directory.
    _locks: Arc<[File; 2]>,
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LogStore {
    /// Goes on with what was read, and looks at all of it. `locks`: are held for as long.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn open(writer: Writer, image: JournalImage, locks: [File; 2]) -> Result<Self, KeepError> {
        let store = Self {
            writer: Arc::new(Mutex::new(writer)),
            image: Arc::new(Mutex::new(image)),
            stall: Arc::default(),
            _locks: Arc::new(locks),
        };
        store.fact::<StoredVote>(VOTE)?;
        store.fact::<StoredLogId>(COMMITTED)?;
        store.fact::<StoredLogId>(PURGED)?;
        store.fact::<StoredSnapshot>(SNAPSHOT)?;
        store.entries(..)?;
        Ok(store)
    }

    /// Whether it waits for the device.
    pub fn stall(&self) -> &Arc<Stall> {
        &self.stall
    }

    fn fact<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, KeepError> {
        let image = locked(&self.image);
        let Some(bytes) = image.facts.get(name) else { return Ok(None) };
        let sealed = |error| KeepError::Sealed { what: name.to_owned(), error };
        sealed::open(bytes).map(Some).map_err(sealed)
    }

    fn entries(&self, range: impl RangeBounds<u64>) -> Result<Vec<LogEntry>, KeepError> {
        let image = locked(&self.image);
        let mut found = Vec::new();
        for (index, bytes) in image.entries.range(range) {
            let sealed = |error| KeepError::Sealed { what: format!("entry {index}"), error };
            found.push(sealed::open::<StoredEntry>(bytes).map_err(sealed)?.into());
        }
        Ok(found)
    }

    /// All entries that are kept.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn all(&self) -> Result<Vec<LogEntry>, KeepError> {
        self.entries(..)
    }

    /// One try.
    fn try_write(&self, writer: &mut Writer, changes: &[Change], durability: Durability) -> io::Result<()> {
        let image = || {
            let mut image = locked(&self.image).clone();
            image.apply(changes);
            image
        };
        writer.append(changes, durability == Durability::Synced, image)?;
        locked(&self.image).apply(changes);
        Ok(())
    }

    /// Writes durably, or says why that cannot be just now.
    fn write_now(&self, changes: &[Change]) -> Result<(), KeepError> {
        Ok(self.try_write(&mut locked(&self.writer), changes, Durability::Synced)?)
    }

    /// Writes on another thread: the runtime's only one goes on meanwhile. Waits for as long as errors pass. Ends the process if it
    /// fails otherwise.
    ///
    /// # Errors
    /// The manager stops, and has waited.
    async fn write(&self, durability: Durability, changes: Vec<Change>) -> Result<(), StorageError> {
        let store = self.clone();
        let write = move || {
            let mut writer = locked(&store.writer);
            store.stall.wait_out(|| match store.try_write(&mut writer, &changes, durability) {
                // It is heard again, and what was not synced may be lost anyway.
                Err(error) if durability == Durability::Lazy && is_passing(&error) => Ok(()),
                done => done,
            })
        };
        match tokio::task::spawn_blocking(write).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if is_passing(&error) => Err(StorageIOError::write(&error).into()),
            Ok(Err(error)) => give_up(&error),
            Err(error) => give_up(&error),
        }
    }

    /// Waits until the device has room for so many bytes, which are written then while it is full.
    pub async fn wait_for_room(&self, bytes: u64) {
        let store = self.clone();
        let wait = move || store.stall.wait_out(|| locked(&store.writer).reserve(bytes));
        // Whoever writes next says what is wrong.
        let _ = tokio::task::spawn_blocking(wait).await;
    }

    /// Who this member is, if it has begun.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn member(&self) -> Result<Option<StoredMember>, KeepError> {
        self.fact(MEMBER)
    }

    /// Keeps who this member is.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn keep_member(&self, member: &StoredMember) -> Result<(), KeepError> {
        self.write_now(&[put_fact(MEMBER, member)])
    }

    /// The snapshot, if there is one.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn snapshot(&self) -> Result<Option<StoredSnapshot>, KeepError> {
        self.fact(SNAPSHOT)
    }

    /// Keeps a snapshot in place of the one before, unless that is of more.
    ///
    /// # Errors
    /// The manager stops, and has waited for the device.
    pub async fn keep_snapshot(&self, snapshot: &StoredSnapshot) -> Result<(), StorageError> {
        let newer = SnapshotMeta::from(snapshot.meta.clone()).last_log_id;
        let kept = or_give_up(self.snapshot()).and_then(|kept| SnapshotMeta::from(kept.meta).last_log_id);
        if kept <= newer { self.write(Durability::Synced, vec![put_fact(SNAPSHOT, snapshot)]).await } else { Ok(()) }
    }

    /// The log's end.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn last(&self) -> Result<Option<LogId>, KeepError> {
        let last = locked(&self.image).entries.keys().next_back().copied();
        match last {
            Some(index) => Ok(self.entries(index..=index)?.pop().map(|entry| entry.log_id)),
            None => Ok(self.fact::<StoredLogId>(PURGED)?.map(LogId::from)),
        }
    }

    /// The vote.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn vote(&self) -> Result<Option<StoredVote>, KeepError> {
        self.fact(VOTE)
    }

    /// Puts entries at the log's end and another vote in place of the one before, as one write.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn rewrite(&self, vote: StoredVote, entries: Vec<LogEntry>) -> Result<(), KeepError> {
        let vote = put_fact(VOTE, &vote);
        self.write_now(&[vec![vote], put_entries(entries)].concat())
    }
}

impl LogStore {
    /// Begins with what another has decided up to `last`, as one write.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn begin_from(
        &self,
        member: &StoredMember,
        snapshot: &StoredSnapshot,
        last: LogId,
        vote: StoredVote,
        entries: Vec<LogEntry>,
    ) -> Result<(), KeepError> {
        let facts = vec![
            put_fact(MEMBER, member),
            put_fact(SNAPSHOT, snapshot),
            put_fact(PURGED, &StoredLogId::from(last)),
            put_fact(VOTE, &vote),
        ];
        self.write_now(&[facts, put_entries(entries)].concat())
    }
}

fn put_fact<T: Serialize>(name: &str, value: &T) -> Change {
    Change::Fact { name: name.to_owned(), bytes: sealed::seal(value) }
}

fn put_entries(entries: impl IntoIterator<Item = LogEntry>) -> Vec<Change> {
    let put = |entry: LogEntry| Change::Entry { index: entry.log_id.index, bytes: seal_entry(entry) };
    entries.into_iter().map(put).collect()
}

impl RaftLogReader<Types> for LogStore {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<LogEntry>, StorageError> {
        Ok(or_give_up(self.entries(range)))
    }
}

impl RaftLogStorage<Types> for LogStore {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError> {
        let last_purged_log_id = or_give_up(self.fact::<StoredLogId>(PURGED)).map(LogId::from);
        Ok(LogState { last_purged_log_id, last_log_id: or_give_up(self.last()) })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        self.write(Durability::Synced, vec![put_fact(VOTE, &StoredVote::from(*vote))]).await
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        Ok(or_give_up(self.vote()).map(Vote::from))
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        let Some(committed) = committed else { return Ok(()) };
        // It only says from where on a start need not ask the others; what it forgets it hears again.
        self.write(Durability::Lazy, vec![put_fact(COMMITTED, &StoredLogId::from(committed))]).await
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        Ok(or_give_up(self.fact::<StoredLogId>(COMMITTED)).map(LogId::from))
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<Types>) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = LogEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        self.write(Durability::Synced, put_entries(entries)).await?;
        callback.log_io_completed(Ok(()));
        Ok(())
    }

    async fn truncate(&mut self, id: LogId) -> Result<(), StorageError> {
        self.write(Durability::Synced, vec![Change::CutFrom(id.index)]).await
    }

    async fn purge(&mut self, id: LogId) -> Result<(), StorageError> {
        let purged = put_fact(PURGED, &StoredLogId::from(id));
        self.write(Durability::Synced, vec![Change::CutTo(id.index), purged]).await
    }
}

/// An older release has to say that it does not know a decision, not that the entry is damaged.
fn seal_entry(entry: LogEntry) -> Vec<u8> {
    let is_versioned = match &entry.payload {
        EntryPayload::Normal(proposal) => proposal.decisions.iter().any(|one| matches!(one, Decision::Version(_))),
        EntryPayload::Blank | EntryPayload::Membership(_) => false,
    };
    sealed::seal_as(if is_versioned { sealed::VERSIONED } else { sealed::OLDEST }, &StoredEntry::from(entry))
}
