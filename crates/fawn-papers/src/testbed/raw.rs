//! What a file system and its device give without a store: files that are written and read past the page cache, or through it
//! where the file system refuses that. What is written is synced once, at the end: until then a device may keep it in its own
//! buffers.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use fawn_machine::fresh_seed;
use fawn_store::page::{PAGE_BYTES, Page};
use fawn_workload::{Draw, write_value};
use rustix::fs::OFlags;

use crate::error::Error;

/// Pages of a large transfer: 1 MiB.
const LARGE: usize = 256;

/// A file of its own.
#[derive(Debug)]
pub struct Raw {
    file: File,
    path: std::path::PathBuf,
    /// Whether the page cache plays no part.
    pub is_direct: bool,
}

/// A buffer of so many pages, aligned as `O_DIRECT` asks, that does not compress.
fn pages(count: usize) -> Vec<Page> {
    let mut pages = vec![Page::zeroed(); count];
    for (number, page) in pages.iter_mut().enumerate() {
        write_value(number as u64, 1, &mut page.0);
    }
    pages
}

impl Raw {
    /// Makes the file.
    ///
    /// # Errors
    /// [`Error`].
    pub fn create(path: &Path) -> Result<Self, Error> {
        let open = |flags: OFlags| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .custom_flags(flags.bits().cast_signed())
                .open(path)
        };
        let (file, is_direct) = match open(OFlags::DIRECT) {
            Ok(file) => (file, true),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) => {
                (open(OFlags::empty()).map_err(Error::io(path))?, false)
            }
            Err(error) => return Err(Error::io(path)(error)),
        };
        Ok(Self { file, path: path.to_owned(), is_direct })
    }

    /// Writes `bytes` one after another, 1 MiB at a time, and syncs; bytes a second.
    ///
    /// # Errors
    /// [`Error`].
    pub fn write_in_order(&self, bytes: u64) -> Result<f64, Error> {
        let buffer = pages(LARGE);
        let step = (LARGE * PAGE_BYTES) as u64;
        let began = Instant::now();
        let mut at = 0;
        while at < bytes {
            self.write(&buffer, at)?;
            at += step;
        }
        self.sync()?;
        Ok(at as f64 / began.elapsed().as_secs_f64())
    }

    /// Reads them in the same way; bytes a second.
    ///
    /// # Errors
    /// [`Error`].
    pub fn read_in_order(&self, bytes: u64) -> Result<f64, Error> {
        let mut buffer = pages(LARGE);
        let step = (LARGE * PAGE_BYTES) as u64;
        let began = Instant::now();
        let mut at = 0;
        while at < bytes {
            let target = zerocopy::IntoBytes::as_mut_bytes(buffer.as_mut_slice());
            self.file.read_exact_at(target, at).map_err(Error::io(&self.path))?;
            at += step;
        }
        Ok(at as f64 / began.elapsed().as_secs_f64())
    }

    /// Overwrites pages anywhere in the first `bytes`, one at a time, and syncs once, at the end; writes a second, the sync's time
    /// included.
    ///
    /// # Errors
    /// [`Error`].
    pub fn overwrite_at_random(&self, bytes: u64, time: Duration) -> Result<f64, Error> {
        let buffer = pages(1);
        let mut draw = Draw::uniform((bytes / PAGE_BYTES as u64).max(1), fresh_seed());
        let began = Instant::now();
        let mut writes = 0u64;
        while began.elapsed() < time {
            self.write(&buffer, draw.draw() * PAGE_BYTES as u64)?;
            writes += 1;
        }
        self.sync()?;
        Ok(writes as f64 / began.elapsed().as_secs_f64())
    }

    /// Reads pages anywhere in the first `bytes`, one at a time; reads a second.
    ///
    /// # Errors
    /// [`Error`].
    pub fn read_at_random(&self, bytes: u64, time: Duration) -> Result<f64, Error> {
        let mut buffer = pages(1);
        let mut draw = Draw::uniform((bytes / PAGE_BYTES as u64).max(1), fresh_seed());
        let began = Instant::now();
        let mut reads = 0u64;
        while began.elapsed() < time {
            let target = zerocopy::IntoBytes::as_mut_bytes(buffer.as_mut_slice());
            self.file.read_exact_at(target, draw.draw() * PAGE_BYTES as u64).map_err(Error::io(&self.path))?;
            reads += 1;
        }
        Ok(reads as f64 / began.elapsed().as_secs_f64())
    }

    fn write(&self, buffer: &[Page], at: u64) -> Result<(), Error> {
        let bytes = zerocopy::IntoBytes::as_bytes(buffer);
        self.file.write_all_at(bytes, at).map_err(Error::io(&self.path))
    }

    fn sync(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(Error::io(&self.path))
    }
}

/// Appends `bytes` in all to as many files as `paths` has, a piece of `piece` pages to each in turn, and syncs all of them; bytes a
/// second.
///
/// # Errors
/// [`Error`].
pub fn append_in_turn(files: &[Raw], bytes: u64, piece: usize) -> Result<f64, Error> {
    let buffer = pages(piece);
    let step = (piece * PAGE_BYTES) as u64;
    let began = Instant::now();
    let (mut written, mut at) = (0, 0);
    while written < bytes {
        for file in files {
            file.write(&buffer, at)?;
            written += step;
        }
        at += step;
    }
    for file in files {
        file.sync()?;
    }
    Ok(written as f64 / began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_as_far_as_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let raw = Raw::create(&path("a")).unwrap();
        assert!(raw.write_in_order(3 << 20).unwrap() > 0.0);
        assert_eq!(std::fs::metadata(path("a")).unwrap().len(), 3 << 20);
        let time = Duration::from_millis(20);
        assert!(raw.read_in_order(3 << 20).unwrap() > 0.0);
        assert!(raw.read_at_random(3 << 20, time).unwrap() > 0.0);
        assert!(raw.overwrite_at_random(3 << 20, time).unwrap() > 0.0);
        assert_eq!(std::fs::metadata(path("a")).unwrap().len(), 3 << 20, "nothing is written beyond");
        let files = [Raw::create(&path("b")).unwrap(), Raw::create(&path("c")).unwrap()];
        append_in_turn(&files, 1 << 20, 16).unwrap();
        for name in ["b", "c"] {
            assert_eq!(std::fs::metadata(path(name)).unwrap().len(), 512 << 10);
        }
    }
}
