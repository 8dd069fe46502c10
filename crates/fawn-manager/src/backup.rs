//! A copy of all that managers have decided, which an operator keeps elsewhere, and a manager that begins with it when all of them
//! are lost for good.
//!
//! What was decided after the copy was made is lost, as after [`recover`](mod@crate::recover), and the same is done about it.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `FAWNMBK1` |
//! | … | [`crate::sealed`]: where in the log it was made and when, and a snapshot, as managers keep it |

use crate::consensus::log_store::{KeepError, LogStore, StoredMember, StoredSnapshot};
use crate::consensus::state_machine::{self, SnapshotError};
use crate::consensus::stored_types::StoredSnapshotMeta;
use crate::consensus::types::{LogId, SnapshotMeta, StoredMembership};
use crate::directory;
use crate::options::ManagerError;
use crate::recover::{alone, entries_of};
use crate::replicated_state::ReplicatedState;
use crate::sealed::{self, SealedError};
use fawn_kv::ids::ClusterId;
use fawn_kv::manager::Waits;
use openraft::CommittedLeaderId;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::path::Path;

const MAGIC: &[u8; 8] = b"FAWNMBK1";

/// No backup is longer, in bytes.
const MOST_BYTES: u64 = 256 << 20;

/// When a backup was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupPoint {
    /// The term.
    pub term: u64,
    /// The log's last entry.
    pub index: u64,
    /// The Unix second.
    pub taken_unix: u64,
}

#[derive(Serialize, Deserialize)]
struct BackupBody {
    place: BackupPoint,
    snapshot: Vec<u8>,
}

/// What a backup is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The cluster.
    pub cluster: ClusterId,
    /// When it was made.
    pub place: BackupPoint,
    /// Its members, by name.
    pub members: Vec<String>,
    snapshot: Vec<u8>,
}

/// Why a file is no backup that can be used.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It begins otherwise.
    #[error("it is not a manager's backup: give the file that `fawn manager backup` wrote")]
    NoBackup,
    /// The system does not give it.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It was changed, or is of another release.
    #[error(transparent)]
    Sealed(#[from] SealedError),
    /// What is in it.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The cluster had not begun.
    #[error("its cluster had not begun: use a later backup")]
    Empty,
}

/// The bytes of a backup.
pub fn encode(decided: &ReplicatedState, place: BackupPoint) -> Vec<u8> {
    let kept = BackupBody { place, snapshot: state_machine::encode(decided) };
    [&MAGIC[..], &sealed::seal(&kept)].concat()
}

impl Backup {
    /// Reads a backup from a file or a pipe, and nothing else that may be endless.
    ///
    /// # Errors
    /// [`BackupError`].
    pub fn read(mut input: impl Read) -> Result<Self, BackupError> {
        let mut bytes = Vec::new();
        input.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
        if bytes == MAGIC {
            input.take(MOST_BYTES).read_to_end(&mut bytes)?;
        }
        Self::decode(&bytes)
    }

    /// Reads a backup.
    ///
    /// # Errors
    /// [`BackupError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, BackupError> {
        let sealed = bytes.strip_prefix(&MAGIC[..]).ok_or(BackupError::NoBackup)?;
        let BackupBody { place, snapshot } = sealed::open(sealed)?;
        let facts = state_machine::decode(&snapshot)?.facts;
        let cluster = facts.genesis.ok_or(BackupError::Empty)?.cluster;
        Ok(Self { cluster, place, members: facts.roster.members.into_keys().collect(), snapshot })
    }

    /// Makes the directory of a manager that goes on alone from here; its number.
    ///
    /// # Errors
    /// There is a manager's log already, or none can be made.
    pub fn restore(&self, dir: &Path, waits: Waits) -> Result<u64, ManagerError> {
        directory::refuse_data(dir)?;
        let store = directory::open(dir)?;
        let kept = |error: KeepError| ManagerError::kept(dir, error);
        if store.member().map_err(kept)?.is_some() || store.last().map_err(kept)?.is_some() {
            return Err(ManagerError::NotEmpty(dir.to_owned()));
        }
        let member = directory::new_member("")?;
        self.write(&store, &member, waits).map_err(kept)?;
        Ok(member.id)
    }

    fn write(&self, store: &LogStore, member: &StoredMember, waits: Waits) -> Result<(), KeepError> {
        let last = LogId::new(CommittedLeaderId::new(self.place.term, 0), self.place.index);
        let meta = SnapshotMeta {
            last_log_id: Some(last),
            last_membership: StoredMembership::new(Some(last), alone(member)),
            snapshot_id: format!("{}-{}", self.place.term, self.place.index),
        };
        let snapshot = StoredSnapshot { meta: StoredSnapshotMeta::from(meta), data: self.snapshot.clone() };
        let (vote, entries) = entries_of(member, (self.place.term, last), waits);
        store.begin_from(member, &snapshot, last, vote, entries)
    }
}
