//! Whether records are in order, and whether they are the same as before.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use fawn_report::Watch;

use super::checksum::Checksum;
use super::error::{SortError, first_cause};
use super::input::InputRecords;
use super::monitor::ByteMonitor;
use super::pages::{PAGE_BYTES, Pages};
use super::record::RecordShape;

/// Bytes that a thread reads at a time.
const PART_BYTES: usize = 4 << 20;

/// What records are, in the order in which they lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderSummary {
    /// How many.
    pub records: u64,
    /// The sum of their checksums.
    pub checksum: Checksum,
    /// Records whose key is that of the record before.
    pub duplicate_keys: u64,
    /// Records whose key is less than that of the record before.
    pub unordered: u64,
    /// The number of the first of these, from 0.
    pub first_unordered: Option<u64>,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
}

impl OrderSummary {
    /// Of records that follow each other.
    pub fn of(shape: &RecordShape, records: &[u8]) -> Self {
        let mut summary = Self::default();
        let mut last: Option<&[u8]> = None;
        for record in records.chunks_exact(shape.record_bytes()) {
            if let Some(last) = last {
                summary.compare(shape.key(last), shape.key(record));
            }
            summary.checksum.add(record);
            summary.records += 1;
            last = Some(record);
        }
        if let Some(last) = last {
            summary.first_key = shape.key(records).to_vec();
            summary.last_key = shape.key(last).to_vec();
        }
        summary
    }

    /// Adds what follows.
    pub fn append(&mut self, more: Self) {
        if self.records == 0 {
            *self = more;
            return;
        }
        if more.records == 0 {
            return;
        }
        let last_key = std::mem::replace(&mut self.last_key, more.last_key);
        self.compare(&last_key, &more.first_key);
        self.first_unordered = self.first_unordered.or(more.first_unordered.map(|first| self.records + first));
        self.checksum += more.checksum;
        self.duplicate_keys += more.duplicate_keys;
        self.unordered += more.unordered;
        self.records += more.records;
    }

    /// Counts the next record, by the key before and its own.
    fn compare(&mut self, before: &[u8], key: &[u8]) {
        self.duplicate_keys += u64::from(before == key);
        if before > key {
            self.unordered += 1;
            self.first_unordered.get_or_insert(self.records);
        }
    }
}

/// Reads all records with so many threads.
///
/// # Errors
/// A file cannot be read, or somebody wrote to it meanwhile.
pub fn validate(input: &InputRecords, threads: usize, watch: &(dyn Watch + Sync)) -> Result<OrderSummary, SortError> {
    let (next, parts) = (AtomicU64::new(0), OrderedParts::default());
    let monitor = ByteMonitor::new(watch, input.bytes());
    let read = || read_parts(input, &next, &parts, &monitor);
    let results = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(read)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect::<Vec<_>>()
    });
    first_cause(results)?;
    input.check_unchanged()?;
    Ok(parts.0.into_inner().unwrap_or_else(PoisonError::into_inner).whole)
}

fn read_parts(
    input: &InputRecords,
    next: &AtomicU64,
    parts: &OrderedParts,
    monitor: &ByteMonitor<'_>,
) -> Result<(), SortError> {
    let record_bytes = input.shape().record_bytes();
    let records = input.records_of(PART_BYTES);
    let (mut pages, mut bounce) =
        (Pages::with_bytes(records * record_bytes)?, Pages::with_bytes(PART_BYTES + PAGE_BYTES)?);
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let first = number * records as u64;
        if first >= input.records() {
            return Ok(());
        }
        let bytes = (input.records() - first).min(records as u64) as usize * record_bytes;
        let target = &mut pages.bytes_mut()[..bytes];
        input.read(target, first * record_bytes as u64, &mut bounce)?;
        parts.add(number, OrderSummary::of(input.shape(), target));
        monitor.add(bytes as u64, "records");
    }
}

/// Summaries of parts that are added in the order of their numbers, whichever is ready first.
#[derive(Default)]
struct OrderedParts(Mutex<JoinedParts>);

#[derive(Default)]
struct JoinedParts {
    whole: OrderSummary,
    /// The number of the next part.
    next: u64,
    early: BTreeMap<u64, OrderSummary>,
}

impl OrderedParts {
    fn add(&self, number: u64, summary: OrderSummary) {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parts.early.insert(number, summary);
        let mut next = parts.next;
        while let Some(summary) = parts.early.remove(&next) {
            parts.whole.append(summary);
            next += 1;
        }
        parts.next = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: RecordShape = RecordShape::BENCHMARK;

    fn records(keys: &[u8]) -> Vec<u8> {
        let mut records = Vec::new();
        for (number, key) in keys.iter().enumerate() {
            let mut record = [number as u8; 100];
            record[..10].fill(*key);
            records.extend(record);
        }
        records
    }

    #[test]
    fn parts_come_to_the_same_as_the_whole_wherever_it_is_cut() {
        let keys = [3, 3, 1, 5, 5, 5, 4, 9, 9, 2];
        let all = records(&keys);
        let whole = OrderSummary::of(&SHAPE, &all);
        assert_eq!((whole.records, whole.duplicate_keys, whole.unordered), (10, 4, 3));
        assert_eq!(whole.first_unordered, Some(2));
        for first in 0..=keys.len() {
            for second in first..=keys.len() {
                let mut sum = OrderSummary::default();
                for (from, to) in [(0, first), (first, second), (second, keys.len())] {
                    sum.append(OrderSummary::of(&SHAPE, &all[from * 100..to * 100]));
                }
                assert_eq!(sum, whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn every_fault_is_found() {
        let good = records(&[1, 2, 3, 4, 5, 6]);
        let summary = OrderSummary::of(&SHAPE, &good);
        assert_eq!(summary.first_unordered, None);
        let (mut swapped, mut altered) = (good.clone(), good.clone());
        swapped[200..300].copy_from_slice(&good[300..400]);
        swapped[300..400].copy_from_slice(&good[200..300]);
        let swapped = OrderSummary::of(&SHAPE, &swapped);
        assert_eq!((swapped.first_unordered, swapped.checksum), (Some(3), summary.checksum));
        altered[250] ^= 1;
        let altered = OrderSummary::of(&SHAPE, &altered);
        assert!(altered.checksum != summary.checksum && altered.first_unordered.is_none());
        let lost = OrderSummary::of(&SHAPE, &good[100..]);
        assert!(lost.checksum != summary.checksum && lost.first_unordered.is_none());
        let doubled = OrderSummary::of(&SHAPE, &[&good[..100], &good[..]].concat());
        assert!(doubled.checksum != summary.checksum && doubled.duplicate_keys == 1);
        let reversed: Vec<u8> = good.chunks(100).rev().flatten().copied().collect();
        assert_eq!(OrderSummary::of(&SHAPE, &reversed).unordered, 5);
    }
}
