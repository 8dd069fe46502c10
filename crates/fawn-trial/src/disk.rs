//! A disk that can be full: a small file system in memory, and ballast that fills it.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use crate::net::run;

/// Bytes of it, in MiB.
const SIZE_MIB: u64 = 512;

/// The ballast's name, beside the data.
const BALLAST: &str = "ballast";

/// Mounts a small file system at a directory. False: it may not.
pub fn mount(dir: &Path) -> bool {
    let size = format!("size={SIZE_MIB}m");
    dir.to_str().is_some_and(|dir| run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", dir]).is_ok())
}

/// Takes it away, with all that is on it.
pub fn unmount(dir: &Path) {
    // What cannot be unmounted goes with the namespace.
    let _ = dir.to_str().map(|dir| run("umount", &["-l", dir]));
}

/// Fills what is left of it.
///
/// # Errors
/// Anything but that it is full.
pub fn fill(dir: &Path) -> io::Result<()> {
    let mut ballast = File::create(dir.join(BALLAST))?;
    let mut block = vec![0; 1 << 20];
    loop {
        match ballast.write_all(&block) {
            Ok(()) => {}
            Err(error) if error.kind() != ErrorKind::StorageFull => return Err(error),
            Err(_) if block.len() == 1 => return Ok(()),
            Err(_) => block.truncate(block.len() / 8 + 1),
        }
    }
}

/// Gives the room back.
///
/// # Errors
/// The ballast cannot be removed.
pub fn free(dir: &Path) -> io::Result<()> {
    std::fs::remove_file(dir.join(BALLAST))
}
