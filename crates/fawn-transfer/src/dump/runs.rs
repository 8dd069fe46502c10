//! Sorted runs in a file: which of them count, which are to become one, and several read as one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use fawn_kv::range::entry::Kept;
use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};

/// So many runs of about one size become one.
const MERGED: usize = 16;

/// Runs up to this size are of the first level; those of each level are [`MERGED`] times as large as of the one before.
const LEVEL_BYTES: u64 = 8 << 20;

/// Bytes that are read ahead of all runs together, and of each at least and at most.
const READ_BYTES: usize = 4 << 20;
const LEAST_READ: usize = 4 << 10;
const MOST_READ: usize = 64 << 10;

/// The longest record that is believed.
const MOST_BYTES: u32 = 160 << 20;

/// Bytes before a record: its length, and its CRC-32C.
const RECORD_HEAD: usize = 8;

/// What stands before a record in a run: its length and its CRC-32C, both of four bytes, the lowest first.
pub fn head_of(record: &[u8]) -> io::Result<[u8; RECORD_HEAD]> {
    let length = u32::try_from(record.len()).map_err(io::Error::other)?;
    let number = u64::from(crc32c::crc32c(record)) << 32 | u64::from(length);
    Ok(number.to_le_bytes())
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is damaged")
}

/// Where the runs lie, and which of them count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// Each from a byte up to another.
    runs: Vec<(u64, u64)>,
    /// Of these keys only runs from a number on count: they began anew.
    anew: Vec<(Interval, usize)>,
}

impl Runs {
    /// After the last byte of all of them.
    pub fn end(&self) -> u64 {
        self.runs.iter().map(|(_, end)| *end).max().unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// There is another one.
    pub fn push(&mut self, run: (u64, u64)) {
        self.runs.push(run);
    }

    /// What has come of these keys so far does not count.
    pub fn begin_anew(&mut self, keys: Interval) {
        self.anew.push((keys, self.runs.len()));
    }

    /// The last ones, if they are to become one: there are several of their size, and none that is larger after them. So there
    /// are few, whatever their sizes, and each record is written again no more often than there are levels.
    pub fn to_merge(&self) -> Option<Range<usize>> {
        let levels: Vec<u32> = self.runs.iter().map(level).collect();
        (0..=levels.iter().copied().max()?).find_map(|level| {
            let first = levels.iter().rposition(|other| *other > level).map_or(0, |larger| larger + 1);
            let count = levels[first..].iter().filter(|other| **other == level).count();
            (count >= MERGED).then_some(first..levels.len())
        })
    }

    /// The last ones have become one, without what does not count; where they lay.
    pub fn merged(&mut self, which: &Range<usize>, into: (u64, u64)) -> Vec<(u64, u64)> {
        let before = self.runs.split_off(which.start);
        self.runs.push(into);
        for (_, first) in &mut self.anew {
            // What is in the new run counts.
            *first = (*first).min(which.start);
        }
        before
    }

    /// What there is of some keys in some of the runs, as far as it counts.
    pub fn read(&self, file: &Arc<File>, which: Range<usize>, keys: Interval) -> io::Result<Merge> {
        let capacity = (READ_BYTES / which.len().max(1)).clamp(LEAST_READ, MOST_READ);
        let mut runs = Vec::new();
        for number in which {
            let anew = self.anew.iter().filter(|(_, first)| number < *first);
            let void: Vec<Interval> = anew.map(|(keys, _)| *keys).collect();
            if !void.iter().any(|void| void.contains(&keys.low) && void.contains(&keys.high)) {
                let (at, upto) = self.runs[number];
                let section = Section { file: Arc::clone(file), at, upto };
                runs.push(RunReader { file: BufReader::with_capacity(capacity, section), keys, void, next: None });
            }
        }
        Merge::of(runs)
    }

    /// What there is of some keys.
    pub fn read_all(&self, file: &Arc<File>, keys: Interval) -> io::Result<Merge> {
        self.read(file, 0..self.runs.len(), keys)
    }
}

/// How large a run is.
fn level((from, upto): &(u64, u64)) -> u32 {
    let mut level = 0;
    let mut bytes = LEVEL_BYTES;
    while bytes < upto - from {
        (level, bytes) = (level + 1, bytes * MERGED as u64);
    }
    level
}

/// Several runs as one: each key once, in the order of positions.
pub struct Merge {
    runs: Vec<RunReader>,
    heads: BinaryHeap<Reverse<(SortKey, usize)>>,
}

/// Where a key lies, and the key.
type SortKey = (Key, Vec<u8>);

impl Merge {
    fn of(runs: Vec<RunReader>) -> io::Result<Self> {
        let mut merge = Self { runs, heads: BinaryHeap::new() };
        for number in 0..merge.runs.len() {
            merge.runs[number].read_on()?;
            merge.offer(number);
        }
        Ok(merge)
    }

    fn offer(&mut self, number: usize) {
        self.heads.extend(self.runs[number].place().map(|place| Reverse((place, number))));
    }

    /// The next key's newest version.
    pub fn next(&mut self) -> io::Result<Option<(Key, Kept)>> {
        let mut newest: Option<(Key, Kept)> = None;
        while let Some(Reverse(((_, key), number))) = self.heads.peek() {
            if newest.as_ref().is_some_and(|(_, known)| known.key != *key) {
                break;
            }
            let number = *number;
            self.heads.pop();
            let taken = self.runs[number].next.take();
            self.runs[number].read_on()?;
            self.offer(number);
            let position = newest.as_ref().map(|(_, known)| known.position);
            if let Some(taken) = taken.filter(|(_, kept)| position.is_none_or(|known| kept.position > known)) {
                newest = Some(taken);
            }
        }
        Ok(newest)
    }
}

/// Part of a file that several read side by side.
struct Section {
    file: Arc<File>,
    at: u64,
    upto: u64,
}

impl Read for Section {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.upto - self.at).map_or(bytes.len(), |left| left.min(bytes.len()));
        let read = self.file.read_at(&mut bytes[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// One run that is read.
struct RunReader {
    file: BufReader<Section>,
    keys: Interval,
    /// Of these keys nothing counts.
    void: Vec<Interval>,
    next: Option<(Key, Kept)>,
}

impl RunReader {
    fn place(&self) -> Option<SortKey> {
        self.next.as_ref().map(|(lies, kept)| (*lies, kept.key.clone()))
    }

    fn read_on(&mut self) -> io::Result<()> {
        loop {
            if self.file.fill_buf()?.is_empty() {
                return Ok(());
            }
            let mut head = [0; RECORD_HEAD];
            self.file.read_exact(&mut head)?;
            let head = u64::from_le_bytes(head);
            let (length, crc32c) = (head as u32, (head >> 32) as u32);
            if length > MOST_BYTES {
                return Err(damaged());
            }
            let mut bytes = vec![0; length as usize];
            self.file.read_exact(&mut bytes)?;
            if crc32c::crc32c(&bytes) != crc32c {
                return Err(damaged());
            }
            let (lies, kept): (Key, Kept) = postcard::from_bytes(&bytes).map_err(|_| damaged())?;
            if lies > self.keys.high {
                return Ok(());
            }
            if lies >= self.keys.low && !self.void.iter().any(|void| void.contains(&lies)) {
                self.next = Some((lies, kept));
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of so many MiB, one after the other, as they become fewer.
    fn sizes(of: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut runs = Runs::default();
        for size in of {
            let end = runs.end();
            runs.push((end, end + (size << 20)));
            while let Some(which) = runs.to_merge() {
                let bytes: u64 = runs.runs[which.clone()].iter().map(|(from, upto)| upto - from).sum();
                let end = runs.end();
                runs.merged(&which, (end, end + bytes));
            }
        }
        runs.runs.iter().map(|(from, upto)| (upto - from) >> 20).collect()
    }

    #[test]
    fn runs_of_one_size_become_one() {
        assert_eq!(sizes([8; 15]), [8; 15]);
        assert_eq!(sizes([8; 16]), [128]);
        assert_eq!(sizes([8; 16 * 16 + 3]), [2048, 8, 8, 8]);
        assert!(sizes(vec![8; 4000]).len() < 48, "whatever comes, there are few");
    }

    #[test]
    fn a_large_run_is_not_written_again_for_small_ones() {
        let passes = [vec![32 << 10], vec![8; 40]].concat();
        assert_eq!(sizes(passes), [vec![32 << 10, 128, 128], vec![8; 8]].concat());
        let passes = [vec![8; 40], vec![1000], vec![8; 15]].concat();
        assert_eq!(sizes(passes), [vec![128, 128], vec![8; 8], vec![1000], vec![8; 15]].concat());
    }
}
