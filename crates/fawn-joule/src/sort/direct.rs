//! A file that is read and written around the page cache, or through it where its file system refuses.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::error::SortError;
use super::pages::{PAGE_BYTES, Pages, is_aligned};

/// A file for transfers of whole pages. Threads share it.
#[derive(Debug)]
pub struct DirectFile {
    file: File,
    path: PathBuf,
    is_direct: AtomicBool,
}

impl DirectFile {
    /// From now on transfers of this file go around the page cache, if its file system lets them.
    pub fn new(file: File, path: &Path) -> Self {
        let is_direct = set_direct(&file, true).is_ok();
        Self { file, path: path.to_owned(), is_direct: AtomicBool::new(is_direct) }
    }

    /// Opens a file to read it.
    ///
    /// # Errors
    /// It cannot be opened, or is no regular file.
    pub fn open(path: &Path) -> Result<Self, SortError> {
        let failed = |error| SortError::io("read", path, error);
        // Before it is opened: a pipe would wait for somebody who writes.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            let why = std::io::Error::other("it is no regular file; copy the records into one");
            return Err(failed(why));
        }
        Ok(Self::new(File::open(path).map_err(failed)?, path))
    }

    /// Its bytes.
    ///
    /// # Errors
    /// The system does not say.
    pub fn size(&self) -> Result<u64, SortError> {
        Ok(self.file.metadata().map_err(|error| self.failed("read", error))?.len())
    }

    /// When it was written to last; `None`: the file system does not say.
    pub fn written(&self) -> Option<std::time::SystemTime> {
        self.file.metadata().and_then(|found| found.modified()).ok()
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether transfers go around the page cache.
    pub fn is_direct(&self) -> bool {
        self.is_direct.load(Ordering::Relaxed)
    }

    /// Reads until `pages`, which begin and end with a page, are full or the file ends. `offset` is that of a page.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_pages(&self, pages: &mut [u8], offset: u64) -> Result<usize, SortError> {
        let (mut done, mut is_given_up) = (0, false);
        while done < pages.len() {
            match self.file.read_at(&mut pages[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if self.gives_up_direct(&error, &mut is_given_up) => {}
                Err(error) => return Err(self.failed("read", error)),
            }
            // A piece of a page is the end of the file, or a transfer through the page cache.
            if !done.is_multiple_of(PAGE_BYTES) && self.is_direct() {
                break;
            }
        }
        Ok(done)
    }

    /// Fills `target` with the bytes from `offset` on, wherever both begin; `bounce` takes what cannot come directly.
    ///
    /// # Errors
    /// What the system says, or the file ends before.
    pub fn read_exactly(&self, mut target: &mut [u8], mut offset: u64, bounce: &mut Pages) -> Result<(), SortError> {
        if is_aligned(target) && offset.is_multiple_of(PAGE_BYTES as u64) {
            let whole = target.len() / PAGE_BYTES * PAGE_BYTES;
            if self.read_pages(&mut target[..whole], offset)? < whole {
                return Err(self.shrunk());
            }
            (target, offset) = (&mut target[whole..], offset + whole as u64);
        }
        while !target.is_empty() {
            let before = (offset % PAGE_BYTES as u64) as usize;
            let wanted = (before + target.len()).next_multiple_of(PAGE_BYTES).min(bounce.size());
            let read = self.read_pages(&mut bounce.bytes_mut()[..wanted], offset - before as u64)?;
            let taken = read.saturating_sub(before).min(target.len());
            if taken == 0 {
                return Err(self.shrunk());
            }
            target[..taken].copy_from_slice(&bounce.bytes()[before..before + taken]);
            (target, offset) = (&mut target[taken..], offset + taken as u64);
        }
        Ok(())
    }

    /// Writes whole pages at the offset of a page.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_pages(&self, mut pages: &[u8], mut offset: u64) -> Result<(), SortError> {
        let mut is_given_up = false;
        while !pages.is_empty() {
            match self.file.write_at(pages, offset) {
                Ok(0) => return Err(self.failed("write", std::io::ErrorKind::WriteZero.into())),
                Ok(written) => (pages, offset) = (&pages[written..], offset + written as u64),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if self.gives_up_direct(&error, &mut is_given_up) => {}
                Err(error) => return Err(self.failed("write", error)),
            }
        }
        Ok(())
    }

    /// The error of a file that ends too early.
    pub fn shrunk(&self) -> SortError {
        SortError::Shrunk { path: self.path.clone() }
    }

    fn failed(&self, doing: &'static str, error: std::io::Error) -> SortError {
        SortError::io(doing, &self.path, error)
    }

    /// Whether the system refused because of how the transfer was made; the next try goes through the page cache. It is tried once:
    /// another thread may have given up between this thread's transfer and its refusal.
    fn gives_up_direct(&self, error: &std::io::Error, is_given_up: &mut bool) -> bool {
        let is_refused = error.raw_os_error() == Some(Errno::INVAL.raw_os_error());
        if !is_refused || std::mem::replace(is_given_up, true) {
            return false;
        }
        self.is_direct.store(false, Ordering::Relaxed);
        set_direct(&self.file, false).is_ok()
    }
}

fn set_direct(file: impl AsFd, is_direct: bool) -> rustix::io::Result<()> {
    let mut flags = fcntl_getfl(&file)?;
    flags.set(OFlags::DIRECT, is_direct);
    fcntl_setfl(&file, flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_wherever_they_begin_and_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bytes");
        let bytes: Vec<u8> = (0..20_000u32).map(|at| (at * 7 / 3) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = DirectFile::open(&path).unwrap();
        let (mut bounce, mut pages) =
            (Pages::with_bytes(PAGE_BYTES).unwrap(), Pages::with_bytes(bytes.len() + 1).unwrap());
        for (from, size, at) in [(0, 20_000, 0), (1, 100, 0), (4096, 4096, 0), (4000, 9000, 3), (19_999, 1, 7)] {
            let target = &mut pages.bytes_mut()[at..at + size];
            file.read_exactly(target, from as u64, &mut bounce).unwrap();
            assert_eq!(*target, bytes[from..from + size], "{from} {size}");
        }
        let behind = file.read_exactly(&mut pages.bytes_mut()[..100], 19_950, &mut bounce);
        assert!(matches!(behind, Err(SortError::Shrunk { .. })), "{behind:?}");
    }

    /// A file of two pages in a directory of a file system that takes whole pages alone around the page cache; `None`, with a message,
    /// where there is no such.
    fn picky(dir: &Path) -> Option<DirectFile> {
        let path = dir.join("pages");
        std::fs::write(&path, [7; 2 * PAGE_BYTES]).unwrap();
        let file = DirectFile::new(File::options().read(true).write(true).open(&path).unwrap(), &path);
        let mut pages = Pages::with_bytes(PAGE_BYTES).unwrap();
        let refused = file.file.read_at(pages.bytes_mut(), 1).is_err_and(|error| error.raw_os_error() == Some(22));
        if !file.is_direct() || !refused {
            eprintln!("skipped: the file system of {} takes any transfer", dir.display());
            return None;
        }
        Some(file)
    }

    #[test]
    fn a_transfer_that_is_refused_goes_through_the_page_cache() {
        let dir = tempfile::tempdir().unwrap();
        let mut pages = Pages::with_bytes(PAGE_BYTES).unwrap();
        let Some(file) = picky(dir.path()) else { return };
        assert_eq!(file.read_pages(pages.bytes_mut(), 1).unwrap(), PAGE_BYTES);
        assert!(!file.is_direct() && pages.bytes().iter().all(|byte| *byte == 7));
        let file = picky(dir.path()).unwrap();
        pages.bytes_mut().fill(9);
        file.write_pages(pages.bytes(), 1).unwrap();
        assert!(!file.is_direct());
        let bytes = std::fs::read(file.path()).unwrap();
        assert!(bytes[1..=PAGE_BYTES].iter().all(|byte| *byte == 9) && bytes[0] == 7 && bytes[PAGE_BYTES + 1] == 7);
    }

    #[test]
    fn a_transfer_is_tried_again_where_another_thread_gave_up_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let mut pages = Pages::with_bytes(PAGE_BYTES).unwrap();
        let Some(file) = picky(dir.path()) else { return };
        // That thread has not told the system yet.
        file.is_direct.store(false, Ordering::Relaxed);
        assert_eq!(file.read_pages(pages.bytes_mut(), 1).unwrap(), PAGE_BYTES);
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = DirectFile::open(&pipe).unwrap_err().to_string();
        assert!(error.ends_with("it is no regular file; copy the records into one"), "{error}");
    }

    #[test]
    fn what_is_refused_for_another_reason_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bytes");
        std::fs::write(&path, "x").unwrap();
        let file = DirectFile::open(&path).unwrap();
        // No file reaches there: refused in either way.
        let mut pages = Pages::with_bytes(PAGE_BYTES).unwrap();
        let error = file.read_pages(pages.bytes_mut(), 1 << 63).unwrap_err();
        assert!(matches!(error, SortError::Io { doing: "read", .. }), "{error}");
    }
}
