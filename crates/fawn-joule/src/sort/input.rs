//! Files of records, read as if they were one.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::direct::DirectFile;
use super::error::SortError;
use super::pages::{PAGE_BYTES, Pages};
use super::record::RecordShape;

/// The records of several files, one file after the other.
#[derive(Debug)]
pub struct InputRecords {
    shape: RecordShape,
    files: Vec<InputFile>,
    records: u64,
}

#[derive(Debug)]
struct InputFile {
    file: DirectFile,
    /// The number of its first record among all.
    first: u64,
    records: u64,
    /// When it was written to, as the system says.
    written: Option<SystemTime>,
}

impl InputRecords {
    /// Opens the files.
    ///
    /// # Errors
    /// One cannot be read, or has a part of a record.
    pub fn open(paths: &[PathBuf], shape: RecordShape) -> Result<Self, SortError> {
        let (mut files, mut records) = (Vec::with_capacity(paths.len()), 0);
        for path in paths {
            let file = DirectFile::open(path)?;
            let (size, record_bytes) = (file.size()?, shape.record_bytes());
            if !size.is_multiple_of(record_bytes as u64) {
                return Err(SortError::PartialRecord { path: path.clone(), size, record_bytes });
            }
            let of_file = size / record_bytes as u64;
            let written = file.written();
            files.push(InputFile { file, first: records, records: of_file, written });
            records += of_file;
        }
        Ok(Self { shape, files, records })
    }

    /// Fails if somebody has written to a file since it was opened. One that was removed, or replaced by another, is whole.
    ///
    /// # Errors
    /// [`SortError::Changed`].
    pub fn check_unchanged(&self) -> Result<(), SortError> {
        let record_bytes = self.shape.record_bytes() as u64;
        for input in &self.files {
            let size = input.file.size()?;
            if size < input.records * record_bytes {
                return Err(input.file.shrunk());
            }
            if size > input.records * record_bytes || input.file.written() != input.written {
                return Err(SortError::Changed { path: input.file.path().to_owned() });
            }
        }
        Ok(())
    }

    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.records * self.shape.record_bytes() as u64
    }

    /// Their shape.
    pub fn shape(&self) -> &RecordShape {
        &self.shape
    }

    /// The files.
    pub fn files(&self) -> impl Iterator<Item = &DirectFile> {
        self.files.iter().map(|input| &input.file)
    }

    /// The file of a record, and the record's number in it, from 0.
    pub fn place(&self, record: u64) -> (&Path, u64) {
        let input = &self.files[self.file_of(record)];
        (input.file.path(), record - input.first)
    }

    /// Fills `target` with the bytes of all files from `offset` on.
    ///
    /// # Errors
    /// A file cannot be read, or became shorter.
    pub fn read(&self, mut target: &mut [u8], mut offset: u64, bounce: &mut Pages) -> Result<(), SortError> {
        let record_bytes = self.shape.record_bytes() as u64;
        let mut at = self.file_of(offset / record_bytes);
        while !target.is_empty() {
            let input = &self.files[at];
            let from = offset - input.first * record_bytes;
            let taken = (input.records * record_bytes - from).min(target.len() as u64);
            let (now, later) = target.split_at_mut(taken as usize);
            input.file.read_exactly(now, from, bounce)?;
            (target, offset, at) = (later, offset + taken, at + 1);
        }
        Ok(())
    }

    /// The index of the file that has a record. Empty files have none.
    fn file_of(&self, record: u64) -> usize {
        self.files.partition_point(|input| input.first + input.records <= record)
    }

    /// About `bytes` in records, at least one; if that is not too much, as many as fill whole pages.
    pub fn records_of(&self, bytes: usize) -> usize {
        let records = (bytes / self.shape.record_bytes()).max(1);
        let unit = self.shape.records_a_page_unit(PAGE_BYTES);
        if records >= unit { records / unit * unit } else { records }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_if_they_were_one() {
        let dir = tempfile::tempdir().unwrap();
        let all: Vec<u8> = (0..30_000u32).map(|at| (at * 11 / 7) as u8).collect();
        let paths: Vec<PathBuf> = [(0, 9000), (9000, 9000), (9000, 9030), (9030, 30_000)]
            .into_iter()
            .enumerate()
            .map(|(number, (from, to))| {
                let path = dir.path().join(number.to_string());
                std::fs::write(&path, &all[from..to]).unwrap();
                path
            })
            .collect();
        let input = InputRecords::open(&paths, RecordShape::new(30, 0, 10).unwrap()).unwrap();
        assert_eq!((input.records(), input.bytes()), (1000, 30_000));
        assert_eq!(input.place(300), (paths[2].as_path(), 0));
        assert_eq!(input.place(302), (paths[3].as_path(), 1));
        let (mut bounce, mut pages) = (Pages::with_bytes(8192).unwrap(), Pages::with_bytes(30_000).unwrap());
        for (from, size) in [(0, 30_000), (8970, 120), (4096, 20_000), (29_999, 1)] {
            let target = &mut pages.bytes_mut()[..size];
            input.read(target, from as u64, &mut bounce).unwrap();
            assert_eq!(*target, all[from..from + size]);
        }
    }

    #[test]
    fn a_file_that_somebody_writes_to_is_noticed_and_one_that_is_removed_is_whole() {
        use std::io::Write as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("records");
        let open = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            // The system's clock of files has steps of some milliseconds.
            std::thread::sleep(std::time::Duration::from_millis(30));
            InputRecords::open(std::slice::from_ref(&path), RecordShape::BENCHMARK).unwrap()
        };
        let input = open(&[1; 300]);
        input.check_unchanged().unwrap();
        let write = |file: &mut std::fs::File| file.write_all(&[2; 100]).unwrap();
        write(std::fs::File::options().append(true).open(&path).as_mut().unwrap());
        assert!(matches!(input.check_unchanged(), Err(SortError::Changed { .. })), "it grew");
        let input = open(&[1; 300]);
        write(std::fs::File::options().write(true).open(&path).as_mut().unwrap());
        assert!(matches!(input.check_unchanged(), Err(SortError::Changed { .. })), "it was rewritten in place");
        let input = open(&[1; 300]);
        std::fs::File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
        assert!(matches!(input.check_unchanged(), Err(SortError::Shrunk { .. })), "it shrank");
        let input = open(&[1; 300]);
        std::fs::remove_file(&path).unwrap();
        input.check_unchanged().unwrap();
    }

    #[test]
    fn a_part_of_a_record_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cut");
        std::fs::write(&path, [0; 250]).unwrap();
        let error = InputRecords::open(&[path], RecordShape::BENCHMARK).unwrap_err().to_string();
        assert!(error.contains("has 250 bytes, which is no multiple of 100: give the size"), "{error}");
    }
}
