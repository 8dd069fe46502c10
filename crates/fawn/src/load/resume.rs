//! How an interrupted load goes on: a small file beside the input says how far the server has acknowledged it.
//!
//! The file is replaced as a whole, so that a killed load leaves the last state or the one before. It names the server
//! and holds a checksum of the input's bytes before the place, so that a state is never used for something else.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ledger::Place;
use crate::checksum;
use crate::command::Format;

/// The version of the file.
const VERSION: u32 = 1;

/// Why an interrupted load cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The state cannot be read.
    #[error("cannot read {path} ({source}); remove it, or load from the beginning with --restart")]
    Unreadable {
        /// The state file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The state is not ours.
    #[error("{path} is not a state of this version of fawn load ({reason}); load from the beginning with --restart")]
    Unknown {
        /// The state file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The state is of another load.
    #[error("{path} is of a load {other}; load from the beginning with --restart, or name another state with --resume")]
    Other {
        /// The state file.
        path: PathBuf,
        /// Where that one went.
        other: String,
    },
    /// The input changed.
    #[error(
        "the file has changed before byte {offset}, up to which an interrupted load came; \
         load from the beginning with --restart"
    )]
    Changed {
        /// Where that load had come to.
        offset: u64,
    },
    /// The state cannot be written.
    #[error("cannot write {path} ({source}); name another place with --resume, or give --no-resume")]
    Unwritable {
        /// The state file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What the file says.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    version: u32,
    to: String,
    format: String,
    #[serde(flatten)]
    place: Place,
    /// Of the bytes [before](checksum::before) the place.
    crc32c: u32,
}

/// The state file of one load.
#[derive(Debug)]
pub struct Resume {
    path: PathBuf,
    to: String,
    format: Format,
    input: File,
    saved: Option<Place>,
}

impl Resume {
    /// The state file at `path` for loading `input`, which must be a regular file, into the server `to`.
    pub fn new(path: PathBuf, input: File, to: String, format: Format) -> Self {
        Self { path, to, format, input, saved: None }
    }

    /// The name of the state file beside `input`.
    pub fn beside(input: &Path) -> PathBuf {
        let mut name = input.as_os_str().to_owned();
        name.push(".fawn-resume");
        name.into()
    }

    /// Where an interrupted load of the same file into the same server had come to; the beginning if there was none.
    ///
    /// # Errors
    /// There is a state that does not fit.
    pub fn find(&mut self) -> Result<Place, ResumeError> {
        let path = || self.path.clone();
        let text = match std::fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Place::default()),
            Err(source) => return Err(ResumeError::Unreadable { path: path(), source }),
        };
        let unknown = |reason: String| ResumeError::Unknown { path: path(), reason };
        let state: State = serde_json::from_slice(&text).map_err(|error| unknown(error.to_string()))?;
        if state.version != VERSION {
            return Err(unknown(format!("version {}", state.version)));
        }
        if state.to != self.to {
            return Err(ResumeError::Other { path: path(), other: format!("into {}", state.to) });
        }
        if state.format != format!("{:?}", self.format) {
            return Err(ResumeError::Other { path: path(), other: format!("of {}", state.format.to_lowercase()) });
        }
        let offset = state.place.offset;
        match checksum::before(&self.input, offset) {
            Ok(crc32c) if crc32c == state.crc32c => Ok(state.place),
            _ => Err(ResumeError::Changed { offset }),
        }
    }

    /// Records that everything before `place` is done; there is no state file of nothing.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn save(&mut self, place: Place) -> Result<(), ResumeError> {
        if self.saved == Some(place) {
            return Ok(());
        }
        if place == Place::default() {
            return self.remove();
        }
        self.write(place).map_err(|source| ResumeError::Unwritable { path: self.path.clone(), source })?;
        self.saved = Some(place);
        Ok(())
    }

    /// Removes the state: the load is complete.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self) -> Result<(), ResumeError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(ResumeError::Unwritable { path: self.path.clone(), source: error })
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, place: Place) -> io::Result<()> {
        let (to, format) = (self.to.clone(), format!("{:?}", self.format));
        let state = State { version: VERSION, to, format, place, crc32c: checksum::before(&self.input, place.offset)? };
        let mut name = self.path.as_os_str().to_owned();
        name.push(".new");
        let new = PathBuf::from(name);
        let mut file = File::create(&new)?;
        serde_json::to_writer(&mut file, &state)?;
        file.write_all(b"\n")?;
        file.sync_data()?;
        std::fs::rename(new, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { offset: 6000, line: 60, records: 59 };

    struct Fixture {
        dir: tempfile::TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("in"), vec![b'x'; 10_000]).unwrap();
            Self { dir }
        }

        fn resume(&self, to: &str, format: Format) -> Resume {
            let input = self.dir.path().join("in");
            Resume::new(Resume::beside(&input), File::open(input).unwrap(), to.to_owned(), format)
        }
    }

    #[test]
    fn a_load_goes_on_where_it_was_and_starts_anew_when_it_was_complete() {
        let fixture = Fixture::new();
        let mut resume = fixture.resume("a", Format::Tsv);
        assert_eq!(resume.find().unwrap(), Place::default());
        resume.save(PLACE).unwrap();
        assert_eq!(fixture.resume("a", Format::Tsv).find().unwrap(), PLACE);
        // From the beginning again, and nothing of it was loaded.
        fixture.resume("a", Format::Tsv).save(Place::default()).unwrap();
        assert!(!Resume::beside(&fixture.dir.path().join("in")).exists());
        resume.save(Place { line: 61, ..PLACE }).unwrap();
        resume.remove().unwrap();
        assert_eq!(fixture.resume("a", Format::Tsv).find().unwrap(), Place::default());
        assert_eq!(std::fs::read_dir(fixture.dir.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn a_state_of_another_load_is_refused() {
        let fixture = Fixture::new();
        fixture.resume("a", Format::Tsv).save(PLACE).unwrap();
        assert!(matches!(fixture.resume("b", Format::Tsv).find(), Err(ResumeError::Other { .. })));
        let told = fixture.resume("a", Format::Jsonl).find().unwrap_err().to_string();
        assert!(told.contains(" is of a load of tsv;"), "{told}");
    }

    #[test]
    fn a_file_that_changed_before_the_place_is_refused_and_one_that_grew_is_not() {
        let fixture = Fixture::new();
        fixture.resume("a", Format::Tsv).save(PLACE).unwrap();
        let input = fixture.dir.path().join("in");
        let mut bytes = std::fs::read(&input).unwrap();
        bytes.extend_from_slice(b"more");
        std::fs::write(&input, &bytes).unwrap();
        assert_eq!(fixture.resume("a", Format::Tsv).find().unwrap(), PLACE);
        bytes[5999] = b'y';
        std::fs::write(&input, &bytes).unwrap();
        assert!(matches!(fixture.resume("a", Format::Tsv).find(), Err(ResumeError::Changed { offset: 6000 })));
        std::fs::write(&input, b"short").unwrap();
        assert!(matches!(fixture.resume("a", Format::Tsv).find(), Err(ResumeError::Changed { offset: 6000 })));
    }

    #[test]
    fn a_damaged_state_is_reported_not_trusted() {
        let fixture = Fixture::new();
        std::fs::write(fixture.dir.path().join("in.fawn-resume"), b"{\"version\":1").unwrap();
        assert!(matches!(fixture.resume("a", Format::Tsv).find(), Err(ResumeError::Unknown { .. })));
    }
}
