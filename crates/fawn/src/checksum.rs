//! What stands before a place in a file, in four bytes: whoever goes on at that place sees whether it is still the same.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes before the place that are checked.
const CHECKED: u64 = 4096;

/// CRC-32C of up to [`CHECKED`] bytes of a file just before `offset`.
///
/// # Errors
/// The file cannot be read, or is shorter.
pub fn before(file: &File, offset: u64) -> io::Result<u32> {
    let start = offset.saturating_sub(CHECKED);
    let mut bytes = vec![0; (offset - start) as usize];
    file.read_exact_at(&mut bytes, start)?;
    Ok(crc32c::crc32c(&bytes))
}
