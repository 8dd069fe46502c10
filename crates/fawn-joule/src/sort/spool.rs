//! Where sorted runs are between the two passes: a file without a name, which goes with the process.

use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};

use super::direct::DirectFile;
use super::error::SortError;
use super::pages::PAGE_BYTES;
use super::record::RecordShape;

/// Samples of a run at most, and the bytes of their keys.
const MOST_SAMPLES: usize = 4096;
const MOST_SAMPLE_BYTES: usize = 256 << 10;
/// Space that is given back at a time.
pub const GIVEN_BACK_BYTES: u64 = 1 << 20;

/// A file of sorted runs.
#[derive(Debug)]
pub struct RunSpool {
    file: DirectFile,
    /// Whether what is read can be given back to the file system.
    gives_back: bool,
}

impl RunSpool {
    /// Makes one of `size` bytes.
    ///
    /// # Errors
    /// The directory takes no file.
    pub fn create(directory: &Path, size: u64) -> Result<Self, SortError> {
        let failed = |error: std::io::Error| SortError::io("spool records in", directory, error);
        let file = tempfile::tempfile_in(directory).map_err(failed)?;
        file.set_len(size).map_err(failed)?;
        let name: PathBuf = directory.join("(the spool)");
        let mut spool = Self { file: DirectFile::new(file, &name), gives_back: false };
        spool.gives_back = spool.punch(0, PAGE_BYTES as u64).is_ok();
        Ok(spool)
    }

    /// The file.
    pub fn file(&self) -> &DirectFile {
        &self.file
    }

    /// Whether space is given back as soon as what was there is read.
    pub fn gives_back(&self) -> bool {
        self.gives_back
    }

    /// Gives whole pages back to the file system if they are worth it, and returns the first that is kept.
    pub fn give_back(&self, from: u64, to: u64) -> u64 {
        // A file system that cannot has the space for the whole spool.
        let is_worth_it = self.gives_back && to >= from + GIVEN_BACK_BYTES;
        if is_worth_it && self.punch(from, to - from).is_ok() { to } else { from }
    }

    fn punch(&self, from: u64, bytes: u64) -> rustix::io::Result<()> {
        fallocate(self.file.file(), FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, from, bytes)
    }
}

/// A sorted run in the spool.
#[derive(Clone, Debug)]
pub struct SortedRun {
    /// Where it begins, with a page.
    pub offset: u64,
    /// Its records.
    pub records: u64,
    /// Keys of some of its records, each as far from the next as [`samples_every`] says, from the first on.
    pub samples: Vec<u8>,
}

impl SortedRun {
    /// Where its last page ends.
    pub fn end(&self, shape: &RecordShape) -> u64 {
        (self.offset + self.records * shape.record_bytes() as u64).next_multiple_of(PAGE_BYTES as u64)
    }
}

/// Records from one sample of a run to the next, if runs have this many.
pub fn samples_every(shape: &RecordShape, run_records: u64) -> u64 {
    let samples = (MOST_SAMPLE_BYTES / shape.key_bytes()).clamp(16, MOST_SAMPLES) as u64;
    run_records.div_ceil(samples).max(1)
}

/// Takes the samples of a part of a run.
#[derive(Debug)]
pub struct RunSampler {
    shape: RecordShape,
    every: u64,
    /// Records until the next sample.
    until: u64,
    /// The keys.
    pub keys: Vec<u8>,
}

impl RunSampler {
    /// Begins with the run's record of this number.
    pub fn starting_at(shape: RecordShape, every: u64, number: u64) -> Self {
        Self { shape, every, until: number.next_multiple_of(every) - number, keys: Vec::new() }
    }

    /// Sees the next record.
    #[inline]
    pub fn see(&mut self, record: &[u8]) {
        if self.until == 0 {
            self.keys.extend_from_slice(self.shape.key(record));
            self.until = self.every;
        }
        self.until -= 1;
    }
}
