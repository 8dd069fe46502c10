//! The state of a run: a file of notes in a directory of its own. It is replaced as a whole, so that whoever is killed leaves the
//! last state or the one before; and a directory that holds something else is left alone.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fawn_files::links;
use memchr::memmem;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The version of a file without a checksum.
pub const VERSION: u32 = 1;

/// The version of a file that ends with a checksum.
pub const SEALED_VERSION: u32 = 2;

/// What stands before the checksum of a file, in its last line but one.
const BEFORE_SUM: &str = "  \"crc32c\": \"";

/// A file of notes.
#[derive(Clone, Debug)]
pub struct StateFile {
    dir: PathBuf,
    name: &'static str,
    is_sealed: bool,
}

/// What every version has.
#[derive(Deserialize)]
struct StateHeader {
    version: u32,
}

impl StateFile {
    /// The file `name` of `dir`, which is made when there is nothing.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(dir: &Path, name: &'static str) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(Error::io(dir))?;
        Ok(Self { dir: dir.to_owned(), name, is_sealed: false })
    }

    /// The same file, which ends with a checksum of what is before it. One that an older release wrote has none, and is read all
    /// the same.
    #[must_use]
    pub fn sealed(self) -> Self {
        Self { is_sealed: true, ..self }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What is noted; `None`: nothing yet, and the directory is empty.
    ///
    /// # Errors
    /// [`Error::Foreign`] when there is something else, [`Error::Journal`], [`Error::Io`].
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let path = self.dir.join(self.name);
        match fs::read(&path) {
            Ok(bytes) => self.parse(&bytes).map(Some).map_err(|reason| Error::Journal { path, reason }),
            Err(error) if error.kind() == ErrorKind::NotFound => match self.foreign().map_err(Error::io(&self.dir))? {
                Some(found) => Err(Error::Foreign { path: self.dir.clone(), found }),
                None => Ok(None),
            },
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    /// Notes this, and nothing else any more. Its `version` is [`SEALED_VERSION`] if the file is sealed, and [`VERSION`] otherwise.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, notes: &impl Serialize) -> Result<(), Error> {
        let path = self.dir.join(self.name);
        let write = || {
            let mut text = serde_json::to_vec_pretty(notes)?;
            if self.is_sealed {
                seal(&mut text);
            }
            text.push(b'\n');
            links::replace(&path, &text, 0o644)
        };
        write().map_err(Error::io(&path))
    }

    fn new_name(&self) -> String {
        format!("{}.new", self.name)
    }

    /// Something in the directory that is not ours.
    fn foreign(&self) -> std::io::Result<Option<String>> {
        for entry in fs::read_dir(&self.dir)? {
            let name = entry?.file_name();
            if name != self.new_name().as_str() {
                return Ok(Some(name.to_string_lossy().into_owned()));
            }
        }
        Ok(None)
    }

    fn parse<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, String> {
        let StateHeader { version } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let is_proved = match version {
            VERSION if self.is_sealed => memmem::find(bytes, b"crc32c").is_none(),
            VERSION => true,
            SEALED_VERSION if self.is_sealed => is_sound(bytes),
            _ => return Err(format!("it has version {version}")),
        };
        if !is_proved {
            return Err("it is damaged: its checksum does not match".to_owned());
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

/// Adds the CRC-32C of the bytes before it to an object, as its last entry.
fn seal(text: &mut Vec<u8>) {
    text.truncate(text.len() - "\n}".len());
    text.extend_from_slice(b",\n");
    let end = end(text);
    text.extend_from_slice(end.as_bytes());
}

/// The end of a sealed object that begins with this.
fn end(text: &[u8]) -> String {
    format!("{BEFORE_SUM}{:08x}\"\n}}", crc32c::crc32c(text))
}

/// Whether a sealed object is as it was written.
fn is_sound(bytes: &[u8]) -> bool {
    let sealed = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let at = memmem::rfind(sealed, BEFORE_SUM.as_bytes());
    at.is_some_and(|at| sealed[at..] == *end(&sealed[..at]).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Notes {
        version: u32,
        digits: Vec<u32>,
    }

    #[test]
    fn no_flipped_bit_of_a_sealed_file_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        let place = StateFile::open(dir.path(), "notes").unwrap().sealed();
        let notes = Notes { version: SEALED_VERSION, digits: vec![4711, 17] };
        place.write(&notes).unwrap();
        assert_eq!(place.read::<Notes>().unwrap().unwrap(), notes);
        let sound = fs::read(dir.path().join("notes")).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&sound).unwrap()["crc32c"].is_string());
        // The line feed at the end means nothing.
        for bit in 0..8 * (sound.len() - 1) {
            let mut flipped = sound.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(place.parse::<Notes>(&flipped).is_err(), "bit {bit}");
        }
        // Neither is one that seems to be of an older release.
        let older =
            String::from_utf8(sound).unwrap().replace("\"version\": 2", "\"version\": 1").replace("4711", "4712");
        assert!(place.parse::<Notes>(older.as_bytes()).unwrap_err().contains("damaged"));
        let old = br#"{"version": 1, "digits": [4711, 17]}"#;
        assert_eq!(place.parse::<Notes>(old).unwrap().digits, notes.digits);
    }
}
