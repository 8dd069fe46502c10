//! How far a dump of a cluster is, and the files in which that is kept.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use fawn_client::Bookmark;
use fawn_files::links::{sync_directory, with_suffix};
use fawn_ring::Interval;
use serde::{Deserialize, Serialize};

use super::spool::Runs;
use crate::checksum::{StateError, read_state, write_state};
use crate::records::Format;

/// The version of the state file.
const VERSION: u32 = 4;

/// As of which record a stretch of keys is in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DumpedInterval {
    /// The first key and the last, as hexadecimal digits.
    pub low: String,
    /// See `low`.
    pub high: String,
    /// The range that has them.
    pub range: u32,
    /// The epoch of the record.
    pub epoch: u32,
    /// Its number in the epoch.
    pub seq: u64,
    /// Unix second of the range's time.
    pub time: u32,
    /// Times that the range was read, the later ones for what had changed.
    pub passes: u32,
    /// Records of it in the file.
    pub records: u64,
}

/// How far the dump is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DumpState {
    pub version: u32,
    /// Unix second when it began: all that was acknowledged before is in it.
    pub began: i64,
    /// Of which it is.
    pub cluster: Option<String>,
    pub format: String,
    pub bookmark: Bookmark,
    pub runs: Runs,
    /// Bytes of the file that are records of ranges that are over.
    pub file_bytes: u64,
    /// CRC-32C of all of them: others may have written to the file since.
    pub crc32c: u32,
    pub records: u64,
    pub bytes: u64,
    pub cut: u64,
    pub long_keys: u64,
    pub done: Vec<DumpedInterval>,
}

impl DumpState {
    /// Nothing has come.
    pub fn new(format: Format, cluster: Option<String>) -> Self {
        Self {
            version: VERSION,
            began: fawn_tls::certificate::now(),
            cluster,
            format: format!("{format:?}"),
            bookmark: Bookmark::new(Interval::ALL),
            runs: Runs::default(),
            file_bytes: 0,
            crc32c: 0,
            records: 0,
            bytes: 0,
            cut: 0,
            long_keys: 0,
            done: Vec::new(),
        }
    }

    /// Takes the place of the one before: whenever the machine stops, one of them is there.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        write_state(path, self)
    }
}

/// Where a dump into a file keeps what it needs to go on. Nothing goes on into a stream.
#[derive(Clone, Debug)]
pub struct Paths {
    pub state: PathBuf,
    pub spool: PathBuf,
}

impl Paths {
    pub fn of(file: &Path) -> Self {
        Self { state: with_suffix(file, ".fawn-dump"), spool: with_suffix(file, ".spool") }
    }

    /// Removes them, so that they do not come back when the machine stops.
    pub fn remove(&self) -> anyhow::Result<()> {
        // The state is the first to go: it needs the spool.
        for path in [&self.state, &self.spool] {
            let removed = match std::fs::remove_file(path) {
                Ok(()) => sync_directory(path),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            };
            removed.with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }
}

/// How far an interrupted dump came, if there was one.
pub fn find(path: &Path, fresh: &DumpState) -> anyhow::Result<Option<DumpState>> {
    let anew = "start from the beginning with --restart";
    let state: DumpState = match read_state(path, fresh.version) {
        Ok(Some(state)) => state,
        Ok(None) => return Ok(None),
        Err(StateError::Io(error)) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        Err(StateError::Version(_)) => bail!("{} is not from this version of fawn dump; {anew}", path.display()),
        Err(StateError::Damaged) => bail!("{} is damaged; {anew}", path.display()),
    };
    if state.format != fresh.format {
        bail!("{} belongs to a dump in another format; {anew}", path.display());
    }
    if state.cluster != fresh.cluster {
        bail!("{} belongs to a dump of another cluster; {anew}", path.display());
    }
    Ok(Some(state))
}
