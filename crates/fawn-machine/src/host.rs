//! The machine: its memory, and the space of its file systems.

use std::io;
use std::path::Path;

use crate::number_after;

/// A line of `/proc/meminfo`, in bytes: `MemTotal`, `MemAvailable`. `None` if the system does not say.
pub fn memory_info(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    number_after(&format!("\n{text}"), &format!("\n{name}:"))?.checked_mul(1024)
}

/// Bytes of memory that this process may still take: what the machine has available, as far as limits of containers and of the
/// process let it. `None` if the system does not say.
pub fn available_memory() -> Option<u64> {
    let limit = crate::memory().amount;
    memory_info("MemAvailable").map(|available| if limit == 0 { available } else { available.min(limit) })
}

/// Bytes that this process may still write to the file system of a directory.
///
/// # Errors
/// What the system says of the directory.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(dir)?;
    Ok(found.f_bavail * found.f_frsize)
}

/// The same; `None` where the system does not say, or the file system has no size of its own, as one in memory without a limit.
pub fn known_free_bytes(dir: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(dir).ok()?;
    (found.f_blocks > 0).then_some(found.f_bavail * found.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_a_size_has_no_known_room() {
        let dir = std::env::temp_dir();
        assert_eq!(known_free_bytes(&dir).map(|bytes| bytes > 0), Some(true));
        // It has neither files nor a size.
        assert_eq!(known_free_bytes(Path::new("/proc")), None);
        assert_eq!(known_free_bytes(&dir.join("absent")), None);
    }

    #[test]
    fn available_memory_is_part_of_all_memory() {
        let [total, available] = ["MemTotal", "MemAvailable"].map(|name| memory_info(name).unwrap());
        assert!(available > 0 && available <= total, "{available} of {total}");
        assert_eq!(memory_info("Mem"), None);
    }
}
