//! The small files of a data directory: text under a checksum.
//!
//! The last line is `checksum` and the CRC-32C of all that is before it, as eight hexadecimal digits. Formats 1 and 2 had no
//! such line; it stays in every later one, so that damage is told from a newer format.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::error::{DirectoryError, io_error};

/// Begins the line of the checksum.
const SUM: &str = "checksum ";
/// Ends the name of a file that has yet to take another's place.
pub(super) const NEW: &str = ".new";

/// The text with its checksum; it ends with a line feed.
pub fn seal(text: &str) -> String {
    format!("{text}{SUM}{:08x}\n", crc32c::crc32c(text.as_bytes()))
}

/// The text without its checksum, and whether it had one; `None` when the checksum does not match.
pub fn unseal(text: &str) -> Option<(&str, bool)> {
    let Some(at) = text.find(SUM) else { return Some((text, false)) };
    let (before, sum) = text.split_at(at);
    (seal(before).get(at..) == Some(sum)).then_some((before, true))
}

/// Puts a file into `path`, in the place of any of its name, under a checksum: once this is done, it is whole and durable;
/// before, the one that was there is.
pub(super) fn replace(path: &Path, name: &str, text: &str) -> io::Result<()> {
    let new = path.join(format!("{name}{NEW}"));
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(seal(text).as_bytes())?;
        file.sync_all()
    };
    if let Err(error) = write() {
        // It may have taken the last page of a full device.
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    sync_directory(path)?;
    fs::rename(&new, path.join(name))?;
    sync_directory(path)
}

pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The text of a file without its checksum, and whether it had one; `None` when there is no file.
pub(super) fn read(path: &Path) -> Result<Option<(String, bool)>, DirectoryError> {
    let damaged = |what: &str| DirectoryError::Damaged { path: path.to_owned(), what: what.to_owned() };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) if source.kind() == io::ErrorKind::InvalidData => return Err(damaged("not text")),
        Err(source) => return Err(io_error(path, source)),
    };
    let (text, is_sealed) = unseal(&text).ok_or_else(|| damaged("its checksum does not match"))?;
    Ok(Some((text.to_owned(), is_sealed)))
}
