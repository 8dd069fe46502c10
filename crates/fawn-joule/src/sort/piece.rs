//! Records in memory, sorted by entries of 16 bytes that hold the beginning of a key and the record's place.

use std::sync::{Mutex, PoisonError};
use std::thread;

use super::error::{SortError, first_cause};
use super::input::InputRecords;
use super::loser_tree::PLACE_BITS;
use super::pages::Pages;
use super::record::RecordShape;

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = size_of::<u128>();

/// Part of the input in memory.
#[derive(Debug)]
pub struct InputPiece {
    shape: RecordShape,
    pages: Pages,
    /// How many records there are.
    records: usize,
    /// For each record, in the order of the keys: the prefix of its key, and in the low 32 bits its place among the records. So
    /// records of equal keys stay in the order of the input.
    entries: Vec<u128>,
}

impl InputPiece {
    /// One that has room for so many records, and none yet.
    ///
    /// # Errors
    /// [`SortError::NoMemory`].
    pub fn with_room(shape: RecordShape, records: usize) -> Result<Self, SortError> {
        assert!(records as u128 <= PLACE_BITS, "a place has 32 bits");
        let pages = Pages::with_bytes(records * shape.record_bytes())?;
        Ok(Self { shape, pages, records: 0, entries: Vec::new() })
    }

    /// Reads records of the input, in transfers of `transfer` bytes, as many at a time as there are buffers.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn fill(
        &mut self,
        input: &InputRecords,
        first: u64,
        records: usize,
        transfer: usize,
        bounces: &mut [Pages],
    ) -> Result<(), SortError> {
        self.records = records;
        let record_bytes = self.shape.record_bytes();
        let target = &mut self.pages.bytes_mut()[..records * record_bytes];
        let transfers = Mutex::new(target.chunks_mut(transfer).enumerate());
        let transfers = &transfers;
        let read = |bounce: &mut Pages| {
            loop {
                let next = transfers.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, target)) = next else { return Ok(()) };
                input.read(target, first * record_bytes as u64 + (number * transfer) as u64, bounce)?;
            }
        };
        let results = thread::scope(|scope| {
            let threads: Vec<_> = bounces.iter_mut().map(|bounce| scope.spawn(move || read(bounce))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect::<Vec<_>>()
        });
        first_cause(results)
    }

    /// Sorts the records.
    pub fn sort(&mut self) {
        let Self { shape, pages, records, entries } = self;
        let record_bytes = shape.record_bytes();
        entries.clear();
        entries.reserve_exact(*records);
        let all = &pages.bytes()[..*records * record_bytes];
        entries.extend(
            all.chunks_exact(record_bytes).enumerate().map(|(place, record)| shape.prefix(record) | place as u128),
        );
        entries.sort_unstable();
        if shape.is_long() {
            let record = |entry: &u128| &all[place_of(*entry) * record_bytes..][..record_bytes];
            for equal in entries.chunk_by_mut(|first, second| (first ^ second) & !PLACE_BITS == 0) {
                if equal.len() > 1 {
                    equal.sort_unstable_by(|first, second| {
                        shape.compare(record(first), record(second)).then(first.cmp(second))
                    });
                }
            }
        }
    }

    /// How many records there are.
    #[inline]
    pub fn records(&self) -> usize {
        self.records
    }

    /// The entries, in the order of the keys after [`InputPiece::sort`].
    #[inline]
    pub fn entries(&self) -> &[u128] {
        &self.entries
    }

    /// The record of an entry.
    #[inline]
    pub fn record(&self, entry: u128) -> &[u8] {
        &self.pages.bytes()[place_of(entry) * self.shape.record_bytes()..][..self.shape.record_bytes()]
    }
}

#[inline]
fn place_of(entry: u128) -> usize {
    (entry & PLACE_BITS) as usize
}
