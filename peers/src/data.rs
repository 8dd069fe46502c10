//! What a directory holds: `peer.json` beside the engine's own files.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use fawn_report::BenchReport;
use fawn_workload::WritePhase;
use serde::{Deserialize, Serialize};

const NAME: &str = "peer.json";

/// The notes of a directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// The engine's name.
    pub engine: String,
    /// Entries.
    pub entries: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// What was written, once all was.
    pub phases: Vec<WritePhase>,
    /// How often it was written to.
    pub age: u64,
    /// The load, once it is finished, and `--memory` and `--ack` with which it was made.
    pub load: Option<(BenchReport, u64, String)>,
    /// Nobody was killed while writing.
    pub is_clean: bool,
}

/// A directory for one engine.
#[derive(Debug)]
pub struct EngineDirectory {
    dir: PathBuf,
    /// What it holds.
    pub notes: Notes,
}

impl EngineDirectory {
    /// Opens it, or makes it. What was not loaded to its end, or was being written to when the process was killed, is
    /// deleted, to be loaded again; and all of it if `again`.
    ///
    /// # Errors
    /// The directory holds something else, or cannot be read or written.
    pub fn open(dir: &Path, empty: Notes, again: bool) -> anyhow::Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let path = dir.join(NAME);
        let held: Option<Notes> = match fs::read(&path) {
            Ok(bytes) => Some(
                serde_json::from_slice(&bytes)
                    .with_context(|| format!("{} is damaged or another version's: remove it", path.display()))?,
            ),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        if held.is_none() && fs::read_dir(dir)?.next().is_some() {
            bail!("{} is not empty and holds no peer's data: choose an empty or a new directory", dir.display());
        }
        if let Some(held) = &held
            && !again
            && (&held.engine, held.entries, held.value_bytes) != (&empty.engine, empty.entries, empty.value_bytes)
        {
            bail!(
                "{} holds {} entries of {} bytes in {}, not {} of {} in {}: remove it, or have it loaded anew by `load` \
                 with --again",
                dir.display(),
                held.entries,
                held.value_bytes,
                held.engine,
                empty.entries,
                empty.value_bytes,
                empty.engine
            );
        }
        let is_fit = |held: &Notes| !again && held.is_clean && held.load.is_some();
        if let Some(notes) = held.filter(is_fit) {
            return Ok(Self { dir: dir.to_owned(), notes });
        }
        let place = Self { dir: dir.to_owned(), notes: empty };
        // First, so that a directory with data has notes.
        place.save()?;
        let data = place.data();
        match fs::remove_dir_all(&data) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", data.display()));
            }
            _ => fs::create_dir(&data).with_context(|| format!("cannot make {}", data.display()))?,
        }
        Ok(place)
    }

    /// Where the engine's files are.
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Whether all entries are there.
    pub fn is_loaded(&self) -> bool {
        self.notes.load.is_some()
    }

    /// From now on it is written to, until [`wrote`](Self::wrote).
    ///
    /// # Errors
    /// The notes cannot be written.
    pub fn writes(&mut self) -> anyhow::Result<()> {
        self.notes.is_clean = false;
        self.notes.age += 1;
        self.save()
    }

    /// All that was written is durable.
    ///
    /// # Errors
    /// The notes cannot be written.
    pub fn wrote(&mut self, phases: Vec<WritePhase>) -> anyhow::Result<()> {
        self.notes.phases = phases;
        self.notes.is_clean = true;
        self.save()
    }

    fn save(&self) -> anyhow::Result<()> {
        let new = self.dir.join("peer.json.new");
        let write = || {
            let mut file = fs::File::create(&new)?;
            serde_json::to_writer_pretty(&mut file, &self.notes)?;
            file.write_all(b"\n")?;
            file.sync_data()?;
            fs::rename(&new, self.dir.join(NAME))
        };
        write().with_context(|| format!("cannot write {}", new.display()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;

    fn empty(entries: u64) -> Notes {
        let engine = "redb".to_owned();
        Notes { engine, entries, value_bytes: 8, phases: Vec::new(), age: 0, load: None, is_clean: false }
    }

    #[test]
    fn data_stay_once_they_are_loaded_and_go_when_a_writer_was_killed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut place = EngineDirectory::open(dir, empty(3), false).unwrap();
        place.writes().unwrap();
        fs::write(place.data().join("file"), "half").unwrap();
        let mut place = EngineDirectory::open(dir, empty(3), false).unwrap();
        assert!(!place.data().join("file").exists(), "a load was interrupted");
        place.writes().unwrap();
        fs::write(place.data().join("file"), "all").unwrap();
        place.notes.load = Some((BenchReport::new("load"), 1, "memory".to_owned()));
        place.wrote(Vec::new()).unwrap();
        let mut place = EngineDirectory::open(dir, empty(3), false).unwrap();
        assert!(place.is_loaded() && place.data().join("file").exists());
        let other = EngineDirectory::open(dir, empty(4), false).unwrap_err().to_string();
        assert!(other.contains("holds 3 entries of 8 bytes in redb, not 4 of 8"), "{other}");
        place.writes().unwrap();
        let place = EngineDirectory::open(dir, empty(3), false).unwrap();
        assert!(!place.is_loaded() && !place.data().join("file").exists());
    }

    #[test]
    fn a_directory_with_something_else_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("letter"), "dear").unwrap();
        let refused = EngineDirectory::open(dir.path(), empty(3), true).unwrap_err().to_string();
        assert!(refused.contains("is not empty"), "{refused}");
    }
}
