//! Where sorted runs are between the two passes: a file without a name, which goes with the process.

use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

use super::direct::DirectFile;
use super::error::SortError;
use super::pages::PAGE_BYTES;
use super::record::RecordShape;

/// Samples of a run at most, and the bytes of their keys.
const MOST_SAMPLES: usize = 4096;
const MOST_SAMPLE_BYTES: usize = 256 << 10;
/// Space that is given back at a time, by what the spool holds: reads wait meanwhile.
const GIVEN_BACK_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=64 << 20;
/// What is read and not given back yet is about this share of the spool at most.
const MOST_NOT_GIVEN_BACK: u64 = 16;

/// A file of sorted runs.
#[derive(Debug)]
pub struct RunSpool {
    file: DirectFile,
    /// Bytes that are given back to the file system at a time once they are read; `None`: it keeps them.
    gives_back: Option<u64>,
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
        // It has no name: errors are about its directory.
        Ok(Self { file: DirectFile::new(file, directory), gives_back: None })
    }

    /// The file.
    pub fn file(&self) -> &DirectFile {
        &self.file
    }

    /// From now on gives space back as soon as what was there is read, by so many readers at a time, and returns the space that is
    /// read and not given back at most; `None`: the file system keeps it. Reads take longer.
    pub fn begin_giving_back(&mut self, bytes: u64, readers: u64) -> Option<u64> {
        self.punch(0, PAGE_BYTES as u64).ok()?;
        let at_a_time = bytes / (MOST_NOT_GIVEN_BACK * readers.max(1));
        let at_a_time = at_a_time.clamp(*GIVEN_BACK_BYTES.start(), *GIVEN_BACK_BYTES.end());
        self.gives_back = Some(at_a_time);
        Some((at_a_time * readers).min(bytes))
    }

    /// Gives whole pages back to the file system if they are worth it, and returns the first that is kept.
    pub fn give_back(&self, from: u64, to: u64) -> u64 {
        let is_worth_it = self.gives_back.is_some_and(|at_a_time| to >= from + at_a_time);
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
