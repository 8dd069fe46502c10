//! Whether what is to be written fits, before anything is.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fawn_files::links;
use fawn_machine::host::known_free_bytes;

use super::error::SortError;
use super::output::directory_of;

/// Bytes that are about to be written, by file system.
#[derive(Debug, Default)]
pub struct SpaceNeeds {
    /// A directory of each file system, by its device, and the bytes.
    by_device: BTreeMap<u64, (PathBuf, u64)>,
}

impl SpaceNeeds {
    /// A file of this size is about to be written.
    pub fn add_file(&mut self, path: &Path, bytes: u64) {
        let target = links::target(path).unwrap_or_else(|_| path.to_owned());
        self.add(directory_of(&target), bytes);
    }

    /// So much is about to be written in a directory.
    pub fn add(&mut self, directory: &Path, bytes: u64) {
        // A directory that cannot be looked at is an error of whoever opens a file in it.
        if let Ok(found) = std::fs::metadata(directory) {
            self.by_device.entry(found.dev()).or_insert_with(|| (directory.to_owned(), 0)).1 += bytes;
        }
    }

    /// Whether something is about to be written to a directory's file system.
    pub fn has_file_system_of(&self, directory: &Path) -> bool {
        std::fs::metadata(directory).is_ok_and(|found| self.by_device.contains_key(&found.dev()))
    }

    /// Refuses what does not fit.
    ///
    /// # Errors
    /// [`SortError::Space`].
    pub fn check(&self) -> Result<(), SortError> {
        for (dir, needed) in self.by_device.values() {
            // Where the system does not say, the writes will.
            let free = known_free_bytes(dir).unwrap_or(u64::MAX);
            if free < *needed {
                return Err(SortError::Space { dir: dir.clone(), free, needed: *needed });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_file_system_need_space_together() {
        let dir = tempfile::tempdir().unwrap();
        let half = known_free_bytes(dir.path()).unwrap() / 2 + (1 << 30);
        let mut needs = SpaceNeeds::default();
        needs.add_file(&dir.path().join("first"), half);
        needs.check().unwrap();
        needs.add(dir.path(), half);
        assert!(matches!(needs.check(), Err(SortError::Space { needed, .. }) if needed == 2 * half));
    }
}
