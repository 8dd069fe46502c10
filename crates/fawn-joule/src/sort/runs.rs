//! Sorted runs on flash, merged.

use std::cmp::Ordering;
use std::sync::mpsc::Sender;

use super::error::SortError;
use super::loser_tree::{HeadOrder, LoserTree, empty_head, head};
use super::pages::{PAGE_BYTES, Pages};
use super::record::RecordShape;
use super::run_reader::{ReadJob, RunReader};
use super::splitter::{Splitter, choose, first_behind};
use super::spool::{RunSpool, SortedRun};

/// All runs of a spool, in the order of the input.
#[derive(Debug)]
pub struct SortedRuns<'s> {
    shape: RecordShape,
    spool: &'s RunSpool,
    runs: Vec<SortedRun>,
    /// Records from one sample to the next.
    every: u64,
}

impl<'s> SortedRuns<'s> {
    /// Runs whose samples are so many records apart.
    pub fn new(shape: RecordShape, spool: &'s RunSpool, runs: Vec<SortedRun>, every: u64) -> Self {
        Self { shape, spool, runs, every }
    }

    /// For each end of about equal `parts`, from the first's beginning to the last's end: how many records of each run are before.
    ///
    /// # Errors
    /// The runs cannot be read.
    pub fn cuts(&self, parts: usize) -> Result<Vec<Vec<u64>>, SortError> {
        let mut samples = Vec::new();
        for (list, run) in self.runs.iter().enumerate() {
            let keys = run.samples.chunks_exact(self.shape.key_bytes()).enumerate();
            samples.extend(keys.map(|(at, key)| Splitter { key, list, position: at as u64 * self.every }));
        }
        let mut cuts = vec![vec![0; self.runs.len()]];
        let mut block = Vec::new();
        let mut bounce = Pages::with_bytes(16 * PAGE_BYTES)?;
        for splitter in choose(samples, parts) {
            let places = self.runs.iter().enumerate();
            let cut = places.map(|(list, run)| self.place(&splitter, list, run, &mut block, &mut bounce));
            cuts.push(cut.collect::<Result<_, _>>()?);
        }
        cuts.push(self.runs.iter().map(|run| run.records).collect());
        Ok(cuts)
    }

    /// The number of a run's first record that is not before a splitter.
    fn place(
        &self,
        splitter: &Splitter<'_>,
        list: usize,
        run: &SortedRun,
        block: &mut Vec<u8>,
        bounce: &mut Pages,
    ) -> Result<u64, SortError> {
        if list == splitter.list {
            return Ok(splitter.position);
        }
        let key_bytes = self.shape.key_bytes();
        let (mut low, mut high) = (0, run.samples.len() / key_bytes);
        while low < high {
            let middle = low.midpoint(high);
            if splitter.is_after(&run.samples[middle * key_bytes..][..key_bytes], list) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == 0 {
            return Ok(0);
        }
        // It is behind the last sample that is before the splitter.
        let first = (low as u64 - 1) * self.every;
        let records = self.every.min(run.records - first);
        let record_bytes = self.shape.record_bytes();
        block.resize(records as usize * record_bytes, 0);
        self.spool.file().read_exactly(block, run.offset + first * record_bytes as u64, bounce)?;
        Ok(first + first_behind(splitter, list, &self.shape, block))
    }

    /// Gives the records between two cuts to `put`, in order. They are read by blocks of `block` bytes.
    ///
    /// # Errors
    /// Those of `put`, or the runs cannot be read.
    pub fn merge(
        &self,
        (from, to): (&[u64], &[u64]),
        block: usize,
        jobs: &Sender<ReadJob>,
        put: impl FnMut(&[u8]) -> Result<(), SortError>,
    ) -> Result<(), SortError> {
        let record_bytes = self.shape.record_bytes();
        let mut readers = Vec::with_capacity(self.runs.len());
        let offset = |list: usize| self.runs[list].offset + from[list] * record_bytes as u64;
        for (list, (from, to)) in from.iter().zip(to).enumerate() {
            let stretch = (offset(list), to - from);
            readers.push(RunReader::begin(self.spool, stretch, record_bytes, block, jobs.clone())?);
        }
        for (list, reader) in readers.iter_mut().enumerate() {
            reader.start(offset(list))?;
        }
        let heads = RunHeads { shape: self.shape, readers };
        if self.shape.is_long() { heads.merge::<true>(put) } else { heads.merge::<false>(put) }
    }
}

/// What is left of each run.
struct RunHeads<'s> {
    shape: RecordShape,
    readers: Vec<RunReader<'s>>,
}

impl RunHeads<'_> {
    fn merge<const LONG: bool>(mut self, mut put: impl FnMut(&[u8]) -> Result<(), SortError>) -> Result<(), SortError> {
        let heads: Vec<u128> = (0..self.readers.len()).map(|list| self.head(list)).collect();
        let mut tree = LoserTree::new(&heads, &RunHeadKeys::<LONG>(&self));
        while let Some(list) = tree.least() {
            let reader = &mut self.readers[list];
            put(reader.record().expect("the least head is of a run with records"))?;
            reader.take()?;
            tree.replace(self.head(list), &RunHeadKeys::<LONG>(&self));
        }
        Ok(())
    }

    #[inline]
    fn head(&self, list: usize) -> u128 {
        self.readers[list].record().map_or_else(|| empty_head(list), |record| head(self.shape.prefix(record), list))
    }

    fn key(&self, list: usize) -> Option<&[u8]> {
        self.readers[list].record().map(|record| self.shape.key(record))
    }
}

/// The order of heads, by their whole keys where prefixes do not suffice.
struct RunHeadKeys<'h, 's, const LONG: bool>(&'h RunHeads<'s>);

impl<const LONG: bool> HeadOrder for RunHeadKeys<'_, '_, LONG> {
    const IS_LONG: bool = LONG;

    fn compare_keys(&self, first: usize, second: usize) -> Ordering {
        self.0.key(first).cmp(&self.0.key(second))
    }
}
