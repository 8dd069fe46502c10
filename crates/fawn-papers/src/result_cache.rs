//! `paper.json` in a directory: what was measured, by experiment and scale, to be told again. It ends with a checksum; one of an
//! older release has none, and gets it when it is opened.

use std::collections::BTreeMap;
use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fawn_bench::run_state::{SEALED_VERSION, StateFile};
use fawn_files::lock;
use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::finding::Finding;
use crate::run::Scale;

const NAME: &str = "paper.json";
/// Of the directory, where experiments have their data.
const DATA: &str = "data";

/// What one experiment has found, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredFinding {
    /// When it ended, by UTC.
    pub date: String,
    /// How long it took.
    pub seconds: f64,
    /// The version of the program that measured.
    pub version: String,
    /// The commit that it was built from, as far as it knows.
    pub commit: String,
    /// What was found.
    pub finding: Finding,
}

#[derive(Debug, Serialize, Deserialize)]
struct CacheFile {
    version: u32,
    /// By `NAME SCALE`.
    kept: BTreeMap<String, StoredFinding>,
}

/// How long whoever was interrupted may take to stop its servers.
const STOPS: Duration = Duration::from_secs(5);

/// Locks a directory, for this process and all whom it starts: servers that it leaves behind when it is killed hold on to it.
fn take(dir: &Path) -> Result<fs::File, Error> {
    let file = fs::File::open(dir).map_err(Error::io(dir))?;
    fcntl_setfd(&file, FdFlags::empty()).map_err(|errno| Error::io(dir)(errno.into()))?;
    match lock::take(&file, STOPS) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(fawn_bench::Error::Unfit(format!(
            "another process that measures, or a server that a killed one left behind, uses {0}: `fuser {0}` names it; stop it, \
             or give another --dir",
            dir.display()
        ))
        .into()),
        Err(TryLockError::Error(error)) => Err(Error::io(dir)(error)),
    }
}

/// The findings of one directory.
#[derive(Debug)]
pub struct ResultCache {
    place: StateFile,
    file: CacheFile,
    /// As [`lock`] gives it.
    _lock: fs::File,
}

impl ResultCache {
    /// Reads what is kept in `dir`, which is made when there is nothing.
    ///
    /// # Errors
    /// There is something else, another process has it, or the file cannot be read or understood.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let place = StateFile::open(dir, NAME)?.sealed();
        let lock = take(dir)?;
        let kept = place.read()?.map(|CacheFile { kept, .. }| kept).unwrap_or_default();
        let file = CacheFile { version: SEALED_VERSION, kept };
        let keeper = Self { place, file, _lock: lock };
        // So that the directory is known for ours, whatever an interruption leaves in it.
        keeper.save()?;
        Ok(keeper)
    }

    /// Where the experiment that is under way has its data.
    pub fn data(&self) -> PathBuf {
        self.place.dir().join(DATA)
    }

    /// What an experiment has found.
    pub fn get(&self, name: &str, scale: Scale) -> Option<&StoredFinding> {
        self.file.kept.get(&key(name, scale))
    }

    /// Keeps what an experiment has found.
    ///
    /// # Errors
    /// [`Error`].
    pub fn keep(&mut self, name: &str, scale: Scale, kept: StoredFinding) -> Result<(), Error> {
        self.file.kept.insert(key(name, scale), kept);
        self.save()
    }

    fn save(&self) -> Result<(), Error> {
        Ok(self.place.write(&self.file)?)
    }
}

fn key(name: &str, scale: Scale) -> String {
    format!("{name} {scale}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_kept_is_there_again_at_its_scale_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mut finding = Finding::of(&[("x", "", None)]);
        finding.row(serde_json::json!({ "x": 1.0 / 3.0 }));
        let kept = StoredFinding { date: "d".into(), seconds: 0.1, version: "v".into(), commit: "c".into(), finding };
        ResultCache::open(dir.path()).unwrap().keep("a", Scale::Small, kept.clone()).unwrap();
        let again = ResultCache::open(dir.path()).unwrap();
        let other = ResultCache::open(dir.path()).unwrap_err().to_string();
        assert!(other.contains("another process that measures"), "{other}");
        assert_eq!((again.get("a", Scale::Small), again.get("a", Scale::Full)), (Some(&kept), None));
    }

    #[test]
    fn a_changed_digit_is_refused_by_the_files_name_and_a_file_without_checksum_gets_one() {
        let dir = tempfile::tempdir().unwrap();
        let mut finding = Finding::of(&[("x", "", None)]);
        finding.row(serde_json::json!({ "x": 4712 }));
        let kept = StoredFinding { date: "d".into(), seconds: 0.1, version: "v".into(), commit: "c".into(), finding };
        ResultCache::open(dir.path()).unwrap().keep("a", Scale::Small, kept.clone()).unwrap();
        let path = dir.path().join(NAME);
        let sound = fs::read(&path).unwrap();
        let of_programs: serde_json::Value = serde_json::from_slice(&sound).unwrap();
        assert_eq!((&of_programs["version"], of_programs["crc32c"].as_str().unwrap().len()), (&2.into(), 8));
        fs::write(&path, String::from_utf8(sound.clone()).unwrap().replace("4712", "4713")).unwrap();
        let refused = ResultCache::open(dir.path()).unwrap_err().to_string();
        assert!(refused.starts_with(path.to_str().unwrap()) && refused.contains("it is damaged"), "{refused}");
        assert!(refused.contains("remove it and the data beside it"), "{refused}");

        let mut old = of_programs.as_object().unwrap().clone();
        old.remove("crc32c");
        old.insert("version".into(), 1.into());
        fs::write(&path, serde_json::to_vec_pretty(&old).unwrap()).unwrap();
        assert_eq!(ResultCache::open(dir.path()).unwrap().get("a", Scale::Small), Some(&kept));
        assert_eq!(fs::read(&path).unwrap(), sound, "it has its checksum now");
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("mine"), "x").unwrap();
        let error = ResultCache::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("\"mine\"") && !dir.path().join(NAME).exists(), "{error}");
        fs::write(dir.path().join(NAME), "{\"version\": 99, \"kept\": {}}").unwrap();
        assert!(ResultCache::open(dir.path()).unwrap_err().to_string().contains("version 99"));
    }
}
