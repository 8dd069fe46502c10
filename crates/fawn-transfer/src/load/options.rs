//! How records are loaded, and where to.

use std::path::{Path, PathBuf};

use crate::client::{Address, Endpoint};
use crate::records::Format;

/// What a load does with a line that it cannot load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// Report it and stop before it.
    Stop,
    /// Report it and go on with the next.
    Skip,
}

/// Where a load records how far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumeState {
    /// Beside the file that is loaded.
    Beside,
    /// In this file; a load that cannot keep it fails.
    In(PathBuf),
    /// Nowhere.
    Nowhere,
}

/// How records are loaded.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// How they are written; `None`: as the file's name says.
    pub format: Option<Format>,
    /// What to do with a bad line.
    pub on_error: OnError,
    /// Whether keys may have any bytes.
    pub binary_keys: bool,
    /// Where to record how far the load is.
    pub resume: ResumeState,
    /// Whether to load from the beginning even if an earlier load was interrupted.
    pub restart: bool,
    /// Connections to the server, at least 1.
    pub connections: u16,
}

/// The server that is loaded.
pub struct LoadServer<'a> {
    /// Its address.
    pub address: &'a Address,
    /// How to connect to it. Asked once, when the load begins.
    pub endpoint: &'a dyn Fn() -> Endpoint,
}

/// A load is to be resumed whose input is no file.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a file, and only a file can be resumed: leave --resume out")]
pub struct NotResumable(pub(super) String);

impl LoadOptions {
    /// What to say of a format that nobody has named, when a line that is not in it looks like the other one.
    pub(super) fn format_in_doubt(&self, path: &Path, taken: Format, line: &[u8]) -> Option<String> {
        let is_object = line.trim_ascii_start().starts_with(b"{");
        if self.format.is_some() || is_object == (taken == Format::Jsonl) {
            return None;
        }
        let file = path.display();
        Some(match taken {
            Format::Jsonl if path.as_os_str() == "-" => {
                "standard input is read as jsonl: give --format tsv where each line is key TAB value".to_owned()
            }
            Format::Jsonl => format!(
                "{file} is read as jsonl, since its name does not end with .tsv: give --format tsv if each line is key TAB value"
            ),
            Format::Tsv => format!(
                "{file} is read as tsv, since its name ends so: give --format jsonl if each line is a JSON object"
            ),
        })
    }
}
