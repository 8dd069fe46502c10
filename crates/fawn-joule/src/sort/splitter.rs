//! Where sorted lists are cut, so that their parts can be merged independently of each other.

use super::record::RecordShape;

/// A record of a sorted list, by which others may be divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Splitter<'k> {
    /// Its key.
    pub key: &'k [u8],
    /// Its list.
    pub list: usize,
    /// Its place in that list.
    pub position: u64,
}

impl Splitter<'_> {
    /// Whether a record of another list comes before this one: of equal keys, that of the first list does.
    pub fn is_after(&self, key: &[u8], list: usize) -> bool {
        (key, list) < (self.key, self.list)
    }
}

/// Divides samples, which are all alike to each other in what they stand for, into as many parts. Between each two is a splitter.
pub fn choose(mut samples: Vec<Splitter<'_>>, parts: usize) -> Vec<Splitter<'_>> {
    if samples.is_empty() {
        return Vec::new();
    }
    samples.sort_unstable();
    (1..parts).map(|part| samples[part * samples.len() / parts]).collect()
}

/// The number of the first record of `records` that is not before a splitter.
pub fn first_behind(splitter: &Splitter<'_>, list: usize, shape: &RecordShape, records: &[u8]) -> u64 {
    let size = shape.record_bytes();
    let (mut low, mut high) = (0, records.len() / size);
    while low < high {
        let middle = low.midpoint(high);
        if splitter.is_after(shape.key(&records[middle * size..]), list) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low as u64
}
