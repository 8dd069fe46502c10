//! `paper.json` in a directory: what was measured, by experiment and scale, to be told again. It is replaced as a whole, so that
//! whoever is killed leaves the last state or the one before.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::run::Scale;
use crate::error::Error;

/// The version of the file.
const VERSION: u32 = 1;
const NAME: &str = "paper.json";
const NEW: &str = "paper.json.new";
/// Of the directory, where experiments have their data.
const DATA: &str = "data";

/// What one experiment has found, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
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
struct File {
    version: u32,
    /// By `NAME SCALE`.
    kept: BTreeMap<String, Kept>,
}

/// The findings of one directory.
#[derive(Debug)]
pub struct Keeper {
    dir: PathBuf,
    file: File,
}

impl Keeper {
    /// Reads what is kept in `dir`, which is made when there is nothing.
    ///
    /// # Errors
    /// [`Error::Foreign`] when there is something else, [`Error::Journal`], [`Error::Io`].
    pub fn open(dir: &Path) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(Error::io(dir))?;
        let path = dir.join(NAME);
        let file = match fs::read(&path) {
            Ok(bytes) => parse(&bytes).map_err(|reason| Error::Journal { path, reason })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if let Some(found) = foreign(dir).map_err(Error::io(dir))? {
                    return Err(Error::Foreign { path: dir.to_owned(), found });
                }
                File { version: VERSION, kept: BTreeMap::new() }
            }
            Err(source) => return Err(Error::Io { path, source }),
        };
        let keeper = Self { dir: dir.to_owned(), file };
        // So that the directory is known for ours, whatever an interruption leaves in it.
        keeper.save()?;
        Ok(keeper)
    }

    /// Where the experiment that is under way has its data.
    pub fn data(&self) -> PathBuf {
        self.dir.join(DATA)
    }

    /// What an experiment has found.
    pub fn get(&self, name: &str, scale: Scale) -> Option<&Kept> {
        self.file.kept.get(&key(name, scale))
    }

    /// Keeps what an experiment has found.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn keep(&mut self, name: &str, scale: Scale, kept: Kept) -> Result<(), Error> {
        self.file.kept.insert(key(name, scale), kept);
        self.save()
    }

    fn save(&self) -> Result<(), Error> {
        let new = self.dir.join(NEW);
        let write = || {
            let mut file = fs::File::create(&new)?;
            serde_json::to_writer_pretty(&mut file, &self.file)?;
            file.write_all(b"\n")?;
            file.sync_data()?;
            fs::rename(&new, self.dir.join(NAME))
        };
        write().map_err(Error::io(&new))
    }
}

fn key(name: &str, scale: Scale) -> String {
    format!("{name} {scale}")
}

fn parse(bytes: &[u8]) -> Result<File, String> {
    let file: File = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if file.version == VERSION { Ok(file) } else { Err(format!("it has version {}", file.version)) }
}

/// Something in the directory that is not ours.
fn foreign(dir: &Path) -> std::io::Result<Option<String>> {
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        if name != NEW {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_there_again_at_its_scale_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mut finding = Finding::of(&[("x", "", None)]);
        finding.row(serde_json::json!({ "x": 1.0 / 3.0 }));
        let kept = Kept { date: "d".into(), seconds: 0.1, version: "v".into(), commit: "c".into(), finding };
        Keeper::open(dir.path()).unwrap().keep("a", Scale::Small, kept.clone()).unwrap();
        let again = Keeper::open(dir.path()).unwrap();
        assert_eq!((again.get("a", Scale::Small), again.get("a", Scale::Full)), (Some(&kept), None));
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("mine"), "x").unwrap();
        let error = Keeper::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("\"mine\"") && !dir.path().join(NAME).exists(), "{error}");
        fs::write(dir.path().join(NAME), "{\"version\": 99, \"kept\": {}}").unwrap();
        assert!(Keeper::open(dir.path()).unwrap_err().to_string().contains("version 99"));
    }
}
