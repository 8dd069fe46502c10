//! The state of a run: a file of notes in a directory of its own. It is replaced as a whole, so that whoever is killed leaves the last state or the
//! one before; and a directory that holds something else is left alone.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fawn_files::links;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The version of all such files.
pub const VERSION: u32 = 1;

/// A file of notes.
#[derive(Clone, Debug)]
pub struct StateFile {
    dir: PathBuf,
    name: &'static str,
}

/// What every version has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl StateFile {
    /// The file `name` of `dir`, which is made when there is nothing.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(dir: &Path, name: &'static str) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(Error::io(dir))?;
        Ok(Self { dir: dir.to_owned(), name })
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
            Ok(bytes) => parse(&bytes).map(Some).map_err(|reason| Error::Journal { path, reason }),
            Err(error) if error.kind() == ErrorKind::NotFound => match self.foreign().map_err(Error::io(&self.dir))? {
                Some(found) => Err(Error::Foreign { path: self.dir.clone(), found }),
                None => Ok(None),
            },
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    /// Notes this, and nothing else any more. It has [`VERSION`] as its `version`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, notes: &impl Serialize) -> Result<(), Error> {
        let path = self.dir.join(self.name);
        let write = || {
            let mut text = serde_json::to_vec_pretty(notes)?;
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
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let Versioned { version } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if version != VERSION {
        return Err(format!("it has version {version}"));
    }
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}
