//! How an interrupted load goes on: a small file beside the input says how far the server has acknowledged it.
//!
//! The file is replaced as a whole, so that a killed load leaves the last state or the one before. It names the server
//! and holds a checksum of all of the input's bytes before the place, so that a state is never used for something else, nor a
//! correction before the place passed over.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ack_tracker::InputPosition;
use crate::checksum::{self, StateError, read_state, write_state};

/// The version of the file.
const VERSION: u32 = 2;

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
    #[error("{path} is not from this version of fawn load ({reason}); load from the beginning with --restart")]
    Unknown {
        /// The state file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The state is of another load.
    #[error(
        "{path} belongs to a load {other}; load from the beginning with --restart, or name another state with \
        --resume"
    )]
    Other {
        /// The state file.
        path: PathBuf,
        /// Where that one went.
        other: String,
    },
    /// The input changed.
    #[error(
        "the file has changed before {unit} {line}, where the interrupted load would continue; load all of it again \
        with --restart"
    )]
    Changed {
        /// What is counted: lines or keys.
        unit: &'static str,
        /// The number of that one where it is to go on.
        line: u64,
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
struct ResumeFile {
    version: u32,
    to: String,
    format: String,
    #[serde(flatten)]
    place: InputPosition,
}

/// The state file of one load.
#[derive(Debug)]
pub struct Resume {
    path: PathBuf,
    to: String,
    format: String,
    unit: &'static str,
    input: File,
    saved: Option<InputPosition>,
}

impl Resume {
    /// The state file at `path` for loading `input`, which must be a regular file, into the server `to`. `format` says how it is
    /// read, `unit` what is counted of it.
    pub fn new(path: PathBuf, input: File, to: String, (format, unit): (String, &'static str)) -> Self {
        Self { path, to, format, unit, input, saved: None }
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
    pub fn find(&mut self) -> Result<InputPosition, ResumeError> {
        let path = || self.path.clone();
        let unknown = |reason: String| ResumeError::Unknown { path: path(), reason };
        let state: ResumeFile = match read_state(&self.path, VERSION) {
            Ok(Some(state)) => state,
            Ok(None) => return Ok(InputPosition::default()),
            Err(StateError::Io(source)) => return Err(ResumeError::Unreadable { path: path(), source }),
            Err(other) => return Err(unknown(other.to_string())),
        };
        if state.to != self.to {
            return Err(ResumeError::Other { path: path(), other: format!("into {}", state.to) });
        }
        if state.format != self.format {
            return Err(ResumeError::Other { path: path(), other: format!("of {}", state.format.to_lowercase()) });
        }
        match checksum::before(&self.input, state.place.offset) {
            Ok(crc32c) if crc32c == state.place.crc32c => Ok(state.place),
            _ => Err(ResumeError::Changed { unit: self.unit, line: state.place.line + 1 }),
        }
    }

    /// Records that everything before `place` is done; there is no state file of nothing.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn save(&mut self, place: InputPosition) -> Result<(), ResumeError> {
        if self.saved == Some(place) {
            return Ok(());
        }
        if place == InputPosition::default() {
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

    fn write(&self, place: InputPosition) -> io::Result<()> {
        let (to, format) = (self.to.clone(), self.format.clone());
        write_state(&self.path, &ResumeFile { version: VERSION, to, format, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Format;

    /// Of a file of the letter x.
    fn place(offset: u64, line: u64) -> InputPosition {
        let crc32c = crc32c::crc32c(&vec![b'x'; offset as usize]);
        InputPosition { offset, line, records: line - 1, crc32c }
    }

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
            Resume::new(
                Resume::beside(&input),
                File::open(input).unwrap(),
                to.to_owned(),
                (format!("{format:?}"), "line"),
            )
        }
    }

    #[test]
    fn a_load_goes_on_where_it_was_and_starts_anew_when_it_was_complete() {
        let fixture = Fixture::new();
        let mut resume = fixture.resume("a", Format::Tsv);
        assert_eq!(resume.find().unwrap(), InputPosition::default());
        resume.save(place(6000, 60)).unwrap();
        assert_eq!(fixture.resume("a", Format::Tsv).find().unwrap(), place(6000, 60));
        // From the beginning again, and nothing of it was loaded.
        fixture.resume("a", Format::Tsv).save(InputPosition::default()).unwrap();
        assert!(!Resume::beside(&fixture.dir.path().join("in")).exists());
        resume.save(place(6100, 61)).unwrap();
        resume.remove().unwrap();
        assert_eq!(fixture.resume("a", Format::Tsv).find().unwrap(), InputPosition::default());
        assert_eq!(std::fs::read_dir(fixture.dir.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn a_state_of_another_load_is_refused() {
        let fixture = Fixture::new();
        fixture.resume("a", Format::Tsv).save(place(6000, 60)).unwrap();
        assert!(matches!(fixture.resume("b", Format::Tsv).find(), Err(ResumeError::Other { .. })));
        let told = fixture.resume("a", Format::Jsonl).find().unwrap_err().to_string();
        assert!(told.contains(" belongs to a load of tsv;"), "{told}");
    }

    #[test]
    fn a_file_that_changed_before_the_place_is_refused_and_one_that_grew_is_not() {
        let fixture = Fixture::new();
        fixture.resume("a", Format::Tsv).save(place(6000, 60)).unwrap();
        let input = fixture.dir.path().join("in");
        let mut bytes = std::fs::read(&input).unwrap();
        bytes.extend_from_slice(b"more");
        std::fs::write(&input, &bytes).unwrap();
        assert_eq!(fixture.resume("a", Format::Tsv).find().unwrap(), place(6000, 60));
        // The first byte, and the last one before the place.
        for at in [0, 5999] {
            bytes[at] = b'y';
            std::fs::write(&input, &bytes).unwrap();
            assert!(matches!(fixture.resume("a", Format::Tsv).find(), Err(ResumeError::Changed { line: 61, .. })));
            bytes[at] = b'x';
        }
        std::fs::write(&input, b"short").unwrap();
        assert!(matches!(fixture.resume("a", Format::Tsv).find(), Err(ResumeError::Changed { line: 61, .. })));
    }

    #[test]
    fn a_state_behind_a_symbolic_link_is_replaced_where_it_is() {
        let fixture = Fixture::new();
        let state = Resume::beside(&fixture.dir.path().join("in"));
        std::os::unix::fs::symlink("elsewhere", &state).unwrap();
        fixture.resume("a", Format::Tsv).save(place(6000, 60)).unwrap();
        assert!(state.is_symlink() && fixture.dir.path().join("elsewhere").exists());
        assert_eq!(fixture.resume("a", Format::Tsv).find().unwrap(), place(6000, 60));
    }

    #[test]
    fn a_damaged_state_is_reported_not_trusted() {
        let fixture = Fixture::new();
        let state = fixture.dir.path().join("in.fawn-resume");
        std::fs::write(&state, b"{\"version\":2").unwrap();
        assert!(matches!(fixture.resume("a", Format::Tsv).find(), Err(ResumeError::Unknown { .. })));
        fixture.resume("a", Format::Tsv).save(place(6000, 60)).unwrap();
        let text = std::fs::read_to_string(&state).unwrap();
        std::fs::write(&state, text.replace("6000", "6100")).unwrap();
        assert!(matches!(fixture.resume("a", Format::Tsv).find(), Err(ResumeError::Unknown { .. })));
    }
}
