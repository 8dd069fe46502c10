//! What stands before a place in a file, in four bytes: whoever goes on at that place sees whether all of it is still the
//! same. And small files that say where that place is, under a checksum of their own.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use fawn_files::links;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Bytes read at a time.
const READ_SIZE: u64 = 1 << 20;

/// CRC-32C of the bytes of a file before `offset`.
///
/// # Errors
/// The file cannot be read, or is shorter.
pub fn before(file: &File, offset: u64) -> io::Result<u32> {
    let mut bytes = vec![0; READ_SIZE.min(offset) as usize];
    let (mut at, mut crc32c) = (0, 0);
    while at < offset {
        let part = &mut bytes[..READ_SIZE.min(offset - at) as usize];
        file.read_exact_at(part, at)?;
        crc32c = crc32c::crc32c_append(crc32c, part);
        at += part.len() as u64;
    }
    Ok(crc32c)
}

/// Why a state file cannot be gone by.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The system does not give it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another version wrote it.
    #[error("version {0}")]
    Version(u32),
    /// It is not as it was written.
    #[error("it is damaged")]
    Damaged,
}

/// What every version has.
#[derive(Deserialize)]
struct StateHeader {
    version: u32,
}

/// Puts a state, which has a `version`, in the place of the one before: a line of JSON, and one with its CRC-32C. Only its owner
/// may read it.
///
/// # Errors
/// It cannot be written.
pub fn write_state(path: &Path, state: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(state)?;
    let crc32c = crc32c::crc32c(&text);
    text.extend_from_slice(format!("\ncrc32c {crc32c:08x}\n").as_bytes());
    links::replace(path, &text, 0o600)
}

/// Reads a state; none if there is no file.
///
/// # Errors
/// [`StateError`].
pub fn read_state<T: DeserializeOwned>(path: &Path, version: u32) -> Result<Option<T>, StateError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let end = memchr::memchr(b'\n', &text).unwrap_or(text.len());
    let (state, sum) = text.split_at(end);
    let is_sound = sum == format!("\ncrc32c {:08x}\n", crc32c::crc32c(state)).as_bytes();
    match serde_json::from_slice(state) {
        Ok(StateHeader { version: other }) if other != version => Err(StateError::Version(other)),
        Ok(_) if is_sound => serde_json::from_slice(state).map(Some).map_err(|_| StateError::Damaged),
        _ => Err(StateError::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct DumpState {
        version: u32,
        offset: u64,
    }

    #[test]
    fn every_byte_before_the_place_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut bytes: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
        let sum = |bytes: &[u8], offset| {
            std::fs::write(&path, bytes).unwrap();
            before(&File::open(&path).unwrap(), offset)
        };
        let whole = sum(&bytes, 3_000_000).unwrap();
        assert_eq!(whole, crc32c::crc32c(&bytes));
        assert_eq!(sum(&bytes, 0).unwrap(), 0);
        assert!(sum(&bytes, 3_000_001).is_err(), "it is shorter");
        for at in [0, 1_500_000, 2_999_999] {
            bytes[at] ^= 1;
            assert_ne!(sum(&bytes, 3_000_000).unwrap(), whole);
            bytes[at] ^= 1;
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_in_a_state_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        assert!(read_state::<DumpState>(&path, 2).unwrap().is_none());
        let state = DumpState { version: 2, offset: 12345 };
        write_state(&path, &state).unwrap();
        assert_eq!(read_state(&path, 2).unwrap(), Some(state));
        let text = std::fs::read(&path).unwrap();
        for bit in 0..text.len() * 8 {
            let mut damaged = text.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &damaged).unwrap();
            assert!(read_state::<DumpState>(&path, 2).is_err(), "bit {bit}");
        }
        for end in 0..text.len() {
            std::fs::write(&path, &text[..end]).unwrap();
            assert!(read_state::<DumpState>(&path, 2).is_err(), "cut at {end}");
        }
        std::fs::write(&path, "{\"version\":1,\"offset\":5}\n").unwrap();
        assert!(matches!(read_state::<DumpState>(&path, 2), Err(StateError::Version(1))));
    }
}
