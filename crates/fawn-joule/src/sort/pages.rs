//! Memory in whole pages, as reads and writes around the page cache need it.

use std::sync::{Mutex, PoisonError};

use memmap2::{Advice, MmapMut};

use super::error::SortError;

/// What transfers around the page cache are multiples of, in memory and in the file.
pub const PAGE_BYTES: usize = 4096;

/// From this size on huge pages pay.
const LEAST_HUGE: usize = 4 << 20;

/// Bytes that begin and end with a page. The system gives the memory when it is first written, and takes it back on drop.
#[derive(Debug)]
pub struct Pages {
    map: MmapMut,
}

impl Pages {
    /// At least this many bytes.
    ///
    /// # Errors
    /// [`SortError::NoMemory`].
    pub fn with_bytes(least: usize) -> Result<Self, SortError> {
        let size = least.max(1).next_multiple_of(PAGE_BYTES);
        let map = MmapMut::map_anon(size).map_err(|source| SortError::NoMemory { size: size as u64, source })?;
        if size >= LEAST_HUGE {
            // A kernel without huge pages is slower, and no more.
            let _ = map.advise(Advice::HugePage);
        }
        Ok(Self { map })
    }

    /// All of them.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// All of them, to be written.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }

    /// How many there are.
    #[inline]
    pub fn size(&self) -> usize {
        self.map.len()
    }
}

/// Buffers of one size that are used again and again: the system clears new memory, which costs as much as to fill it.
#[derive(Debug)]
pub struct PagesPool {
    bytes: usize,
    free: Mutex<Vec<Pages>>,
}

impl PagesPool {
    /// A pool of buffers of so many bytes, which has none yet.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, free: Mutex::default() }
    }

    /// A buffer. Its bytes may be of its last use.
    ///
    /// # Errors
    /// [`SortError::NoMemory`].
    pub fn take(&self) -> Result<Pages, SortError> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.map_or_else(|| Pages::with_bytes(self.bytes), Ok)
    }

    /// Keeps a buffer for its next use.
    pub fn put(&self, pages: Pages) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(pages);
    }
}

/// Whether a slice begins at a page.
pub fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(PAGE_BYTES)
}
