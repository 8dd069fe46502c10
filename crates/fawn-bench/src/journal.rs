//! `bench.json`: what the data beside it are, what was measured on them, and how far a measurement has come that was
//! interrupted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fawn_report::BenchReport;
use fawn_workload::WritePhase;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::run_state::{StateFile, VERSION};

const NAME: &str = "bench.json";
const DATA: &str = "data";

/// The data of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// Entries, once all are loaded.
    pub entries: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// `--memory` with which it was loaded.
    pub memory: u64,
    /// What was written.
    pub phases: Vec<WritePhase>,
    /// Writes of this and all finished experiments: what was measured before belongs to other data.
    pub age: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct JournalFile {
    version: u32,
    data: Option<Data>,
    results: BTreeMap<String, BenchReport>,
    unfinished: BTreeMap<String, Value>,
}

/// The notes of one directory.
#[derive(Debug)]
pub struct Journal {
    place: StateFile,
    kept: JournalFile,
}

impl JournalFile {
    fn nothing() -> Self {
        Self { version: VERSION, data: None, results: BTreeMap::new(), unfinished: BTreeMap::new() }
    }
}

impl Journal {
    /// Reads the notes of `dir`, which is made when there is nothing.
    ///
    /// # Errors
    /// [`Error::Foreign`] when there is something else, [`Error::Journal`], [`Error::Io`].
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let place = StateFile::open(dir, NAME)?;
        let kept = place.read()?.unwrap_or_else(JournalFile::nothing);
        Ok(Self { place, kept })
    }

    /// Where the store is.
    pub fn data_path(&self) -> PathBuf {
        self.place.dir().join(DATA)
    }

    /// What the store holds, if there is one.
    pub fn data(&self) -> Option<&Data> {
        self.kept.data.as_ref()
    }

    /// The store holds this now.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn set_data(&mut self, data: Data) -> Result<(), Error> {
        self.kept.data = Some(data);
        self.save()
    }

    /// Deletes the data and all that was measured on them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn delete(&mut self) -> Result<(), Error> {
        let data = self.data_path();
        match fs::remove_dir_all(&data) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Io { path: data, source }),
        }
        self.kept = JournalFile::nothing();
        self.save()
    }

    /// The result of what `name` names.
    pub fn result(&self, name: &str) -> Option<&BenchReport> {
        self.kept.results.get(name)
    }

    /// What loading the data came to.
    pub fn load(&self) -> Option<&BenchReport> {
        self.kept.results.values().find(|report| report.experiment == "load")
    }

    /// Keeps a result; it is unfinished no more.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(&mut self, name: &str, report: &BenchReport) -> Result<(), Error> {
        self.kept.unfinished.remove(name);
        self.kept.results.insert(name.to_owned(), report.clone());
        self.save()
    }

    /// How far `name` has come; `None`: it has not begun, or what is kept of it is of another version.
    pub fn unfinished<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let value = self.kept.unfinished.get(name)?;
        serde_json::from_value(value.clone()).ok()
    }

    /// Keeps how far `name` has come.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn note(&mut self, name: &str, how_far: &impl Serialize) -> Result<(), Error> {
        let value = serde_json::to_value(how_far).expect("notes are plain data");
        self.kept.unfinished.insert(name.to_owned(), value);
        self.save()
    }

    /// Forgets what `name` came to, or how far.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn forget(&mut self, name: &str) -> Result<(), Error> {
        self.kept.unfinished.remove(name);
        self.kept.results.remove(name);
        self.save()
    }

    fn save(&self) -> Result<(), Error> {
        self.place.write(&self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Data {
        Data { entries: 7, value_bytes: 8, memory: 9, phases: Vec::new(), age: 0 }
    }

    #[test]
    fn what_is_noted_is_there_again_until_it_is_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path()).unwrap();
        journal.set_data(data()).unwrap();
        journal.note("get", &3).unwrap();
        let mut again = Journal::open(dir.path()).unwrap();
        assert_eq!((again.data(), again.unfinished::<u32>("get")), (Some(&data()), Some(3)));
        assert_eq!(again.unfinished::<String>("get"), None, "of another shape");
        again.finish("get", &BenchReport::new("get")).unwrap();
        let mut third = Journal::open(dir.path()).unwrap();
        assert!(third.result("get").is_some() && third.unfinished::<u32>("get").is_none());
        third.delete().unwrap();
        assert!(third.data().is_none() && third.result("get").is_none());
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("mine"), "x").unwrap();
        let error = Journal::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("\"mine\"") && error.contains("choose an empty"), "{error}");
        fs::write(dir.path().join(NAME), "{\"version\": 99}").unwrap();
        assert!(Journal::open(dir.path()).is_err());
    }
}
