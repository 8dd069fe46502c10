//! [`DescriptorCache`]: the files of a store that are kept open, because opening costs more than a read does.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fawn_store::flash::FileId;

use crate::os::open_file::OpenFile;

/// Open files by their identity, and removed files until they are closed. Shared between threads.
#[derive(Debug, Default)]
pub struct DescriptorCache {
    open: RwLock<HashMap<FileId, Arc<OpenFile>>>,
    /// Number of removals so far: who keeps descriptors by other means looks for removed files when it changes.
    removals: AtomicU64,
    /// Removed files that are still open. The last close of one frees its extents, tens of milliseconds for a large
    /// one, so it is left to [`close_removed`](Self::close_removed).
    removed: Mutex<Vec<Arc<OpenFile>>>,
}

impl DescriptorCache {
    /// The open file, if it is kept open.
    #[inline]
    pub fn get(&self, file: FileId) -> Option<Arc<OpenFile>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(&file).map(Arc::clone)
    }

    /// Whether the file is kept open.
    pub fn contains(&self, file: FileId) -> bool {
        self.open.read().unwrap_or_else(PoisonError::into_inner).contains_key(&file)
    }

    /// Number of removals so far.
    #[inline]
    pub fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    /// Keeps `open`, opened when there had been `removals` removals, for the next user. Of two threads that opened one
    /// file at once, the first one's stays. What may have been removed meanwhile is not kept: nobody would close it.
    pub fn keep(&self, file: FileId, open: OpenFile, removals: u64) -> Arc<OpenFile> {
        let mut table = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if removals != self.removals() {
            return table.get(&file).map_or_else(|| Arc::new(open), Arc::clone);
        }
        Arc::clone(table.entry(file).or_insert_with(|| Arc::new(open)))
    }

    /// Notes that the file was removed. Its descriptor is closed by [`close_removed`](Self::close_removed).
    pub fn remove(&self, file: FileId) {
        let mut table = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let open = table.remove(&file);
        // Kept before anybody is told to let go of it.
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).extend(open);
        self.removals.fetch_add(1, Ordering::Release);
    }

    /// Closes the removed files that nobody reads any more, which frees their space; whether any are left.
    pub fn close_removed(&self) -> bool {
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        let unused: Vec<_> = removed.extract_if(.., |open| Arc::strong_count(open) == 1).collect();
        let left = !removed.is_empty();
        // Not while others wait for the list.
        drop(removed);
        drop(unused);
        left
    }

    /// Closes up to half of the descriptors that nobody is using. Those of the log and the manifest stay: without them
    /// nothing could be written before there is another descriptor.
    pub fn close_idle(&self) {
        let mut table = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let mut left = table.len().div_ceil(2);
        table.retain(|file, open| {
            let is_needed = matches!(file, FileId::CommitLog | FileId::Manifest(_));
            let close = left > 0 && !is_needed && Arc::strong_count(open) == 1;
            left -= usize::from(close);
            !close
        });
    }

    /// Closes a file whose descriptor would stay open.
    #[cfg(test)]
    pub fn close(&self, file: FileId) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&file);
    }

    /// Number of descriptors that are kept open.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.open.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> OpenFile {
        OpenFile::new(std::fs::File::open("/dev/null").unwrap().into())
    }

    #[test]
    fn of_two_that_open_a_file_at_once_the_first_ones_is_kept() {
        let cache = DescriptorCache::default();
        let first = cache.keep(FileId::Segment(1), file(), 0);
        let second = cache.keep(FileId::Segment(1), file(), 0);
        assert!(Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&first, &cache.get(FileId::Segment(1)).unwrap()));
    }

    #[test]
    fn what_may_have_been_removed_while_it_was_opened_is_not_kept() {
        let cache = DescriptorCache::default();
        let before = cache.removals();
        cache.remove(FileId::Segment(1));
        cache.keep(FileId::Segment(1), file(), before);
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn a_removed_file_is_closed_once_nobody_reads_it() {
        let cache = DescriptorCache::default();
        let in_use = cache.keep(FileId::Segment(1), file(), 0);
        cache.remove(FileId::Segment(1));
        assert!(!cache.contains(FileId::Segment(1)));
        assert!(cache.close_removed(), "somebody reads it");
        drop(in_use);
        assert!(!cache.close_removed());
    }

    #[test]
    fn the_logs_and_the_manifests_descriptors_stay_although_they_are_idle() {
        let cache = DescriptorCache::default();
        let kept = [FileId::CommitLog, FileId::Manifest(1)];
        for id in kept.into_iter().chain((0..6).map(FileId::Segment)) {
            cache.keep(id, file(), 0);
        }
        for _ in 0..8 {
            cache.close_idle();
        }
        assert_eq!(cache.len(), 2);
        assert!(kept.into_iter().all(|id| cache.contains(id)));
    }
}
