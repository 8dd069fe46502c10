//! The open segment, and full segments on their way to flash.
//!
//! To *freeze* is to set the full open segment aside; to *seal* is to write a frozen one. A frozen segment answers lookups
//! until its seal is installed.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use fawn_ring::Key;

use super::open_segment::{Entry, OpenSegment};
use crate::api::Gate;
use crate::format::manifest::EmptiedInterval;
use crate::format::record::Record;
use crate::log::LogPosition;
use crate::options::MAX_FROZEN;
use crate::ranges::EmptiedIntervals;
use crate::store::BufferStats;
use crate::work::{MaintenanceWork, RangeMark};

/// The gate of a seal that waits for writes that are not in the log.
pub(crate) const UNLOGGED: u64 = u64::MAX;

/// Where in the buffers the newest version of a key is.
#[derive(Clone, Copy)]
pub(crate) enum BufferPlace {
    /// In the open segment, by handle.
    Open(u32),
    /// In a frozen segment: which one counted from the oldest, and the handle there.
    Frozen(usize, u32),
}

/// A full segment on its way to flash.
struct Frozen {
    segment: Arc<OpenSegment>,
    age: u64,
    /// Its seal, until the log is durable up to `gate`.
    seal: Option<MaintenanceWork>,
    /// Its seal tells the manifest which intervals were emptied.
    empties: bool,
    /// Gate of the log's batch without which its seal must not become durable.
    gate: u64,
    /// Commit-log page from which recovery reads once it is durable.
    log_start: u64,
    /// Value files that its records name, superseded ones included.
    values: BTreeSet<u64>,
}

/// All records of a store that are not sealed yet: [`Store::buffers`](crate::Store::buffers).
pub struct WriteBuffers {
    segment_bytes: usize,
    open: OpenSegment,
    /// Age that the open segment will have.
    next_age: u64,
    /// Full segments that wait for their seal, oldest first.
    frozen: VecDeque<Frozen>,
    /// Value files that records of the open segment name, superseded ones included.
    open_values: BTreeSet<u64>,
    /// Emptied open segments, kept for their memory: to return it and ask for it again costs the event loop milliseconds.
    spare: Vec<OpenSegment>,
}

impl WriteBuffers {
    /// Empty buffers of segments of so many bytes, of which the first gets this age.
    pub(crate) fn new(segment_bytes: usize, next_age: u64) -> Self {
        Self {
            segment_bytes,
            open: OpenSegment::new(segment_bytes),
            next_age,
            frozen: VecDeque::new(),
            open_values: BTreeSet::new(),
            spare: Vec::new(),
        }
    }

    /// Bytes of an open segment.
    pub fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    #[inline]
    pub(crate) fn open(&self) -> &OpenSegment {
        &self.open
    }

    #[inline]
    pub(crate) fn open_mut(&mut self) -> &mut OpenSegment {
        &mut self.open
    }

    /// Age of the open segment: another one after each freeze.
    pub fn open_age(&self) -> u64 {
        self.next_age
    }

    /// Number of frozen segments.
    pub(crate) fn frozen_count(&self) -> usize {
        self.frozen.len()
    }

    /// Frozen segments with their ages, oldest first.
    pub(crate) fn frozen(&self) -> impl DoubleEndedIterator<Item = (&OpenSegment, u64)> + ExactSizeIterator {
        self.frozen.iter().map(|frozen| (&*frozen.segment, frozen.age))
    }

    /// All buffers, oldest first, and the ages of those that are frozen.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&OpenSegment, Option<u64>)> {
        self.frozen().map(|(segment, age)| (segment, Some(age))).chain([(&self.open, None)])
    }

    /// Whether there is nothing to seal.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.frozen.is_empty()
    }

    /// Whether as many frozen segments as are allowed wait for their seal.
    pub(crate) fn is_full(&self) -> bool {
        self.frozen.len() >= MAX_FROZEN
    }

    /// Bytes that may still have to be written for what was taken.
    pub(crate) fn unsealed_bytes(&self) -> u64 {
        self.segment_bytes as u64 * (1 + MAX_FROZEN.max(self.frozen.len()) as u64)
    }

    /// DRAM of all buffers, spare ones included.
    fn allocated(&self) -> u64 {
        let frozen = self.frozen().map(|(segment, _)| segment.allocated()).sum::<usize>();
        let spare = self.spare.iter().map(OpenSegment::allocated).sum::<usize>();
        (self.open.allocated() + frozen + spare) as u64
    }

    /// DRAM of the hash indexes of the open and the frozen segments.
    fn index_bytes(&self) -> u64 {
        let frozen = self.frozen().map(|(segment, _)| segment.index_bytes()).sum::<usize>();
        (self.open.index_bytes() + frozen) as u64
    }

    /// DRAM of the buffers.
    pub(crate) fn stats(&self) -> BufferStats {
        BufferStats { bytes: self.allocated(), index_bytes: self.index_bytes() }
    }

    /// The place of the newest version, if a buffer holds one.
    #[inline]
    pub(crate) fn find(&self, key: &Key, name: &[u8]) -> Option<BufferPlace> {
        if let Some(handle) = self.open.find(key, name) {
            return Some(BufferPlace::Open(handle));
        }
        let find =
            |(number, frozen): (usize, &Frozen)| Some(BufferPlace::Frozen(number, frozen.segment.find(key, name)?));
        self.frozen.iter().enumerate().rev().find_map(find)
    }

    /// The entry at a place, which is as of the last change.
    #[inline]
    pub(crate) fn entry(&self, place: BufferPlace) -> Entry<'_> {
        match place {
            BufferPlace::Open(handle) => self.open.entry(handle),
            BufferPlace::Frozen(number, handle) => self.frozen[number].segment.entry(handle),
        }
    }

    /// Age of the frozen segment of a place; `None` for the open segment.
    #[inline]
    pub(crate) fn age(&self, place: BufferPlace) -> Option<u64> {
        match place {
            BufferPlace::Open(_) => None,
            BufferPlace::Frozen(number, _) => Some(self.frozen[number].age),
        }
    }

    /// Appends a record that fits; returns its bytes and whether it superseded one of the open segment.
    #[inline]
    pub(crate) fn append(&mut self, key: &Key, gate: Gate, record: &Record<'_>) -> (&[u8], bool) {
        self.open.append(key, gate, record)
    }

    /// Whether a record still fits the open segment, so that it is not frozen for it.
    pub fn has_room_for(&self, record: &Record<'_>) -> bool {
        self.open.fits(record.encoded_len())
    }

    /// Whether the key was emptied since what is at this place was appended.
    #[inline]
    pub(crate) fn is_emptied(&self, place: BufferPlace, key: &Key, emptied: &EmptiedIntervals) -> bool {
        self.age(place).is_some_and(|age| emptied.voids(key, age))
    }

    /// Makes the open segment, just frozen, large enough for `record`: it was taken when segments were larger.
    pub(crate) fn make_fit(&mut self, record: &Record<'_>) {
        assert!(self.open.is_empty(), "the open segment was frozen just before");
        if !self.open.fits(record.encoded_len()) {
            self.open = OpenSegment::new(OpenSegment::capacity_for(record.encoded_len()));
        }
    }

    /// Whether the open segment, for which `record` is not too large, has memory for it. Where the system has none for a
    /// whole segment, it becomes one for this record alone.
    pub(crate) fn has_memory_for(&mut self, record: &Record<'_>) -> bool {
        if self.open.is_empty() && !self.open.has_memory() {
            self.open = OpenSegment::new(OpenSegment::capacity_for(record.encoded_len()));
        }
        self.open.has_memory()
    }

    /// A record of the open segment names value file `file`.
    pub(crate) fn note_value_file(&mut self, file: u64) {
        self.open_values.insert(file);
    }

    /// Whether a record that is not sealed yet names value file `file`.
    pub(crate) fn names_value_file(&self, file: u64) -> bool {
        self.open_values.contains(&file) || self.frozen.iter().any(|frozen| frozen.values.contains(&file))
    }

    /// Whether a record that is not sealed yet names any value file.
    pub(crate) fn names_value_files(&self) -> bool {
        !self.open_values.is_empty() || self.frozen.iter().any(|frozen| !frozen.values.is_empty())
    }

    /// Freezes the open segment, be it empty. Recovery begins at `start` once it is sealed. The seal waits until the log is
    /// durable up to `gate`, and tells the manifest the state of the `ranges` and what was `emptied`.
    pub(crate) fn freeze(
        &mut self,
        start: LogPosition,
        gate: u64,
        ranges: Vec<RangeMark>,
        emptied: Vec<EmptiedInterval>,
    ) {
        let empty = self.spare.pop().unwrap_or_else(|| OpenSegment::new(self.segment_bytes));
        let segment = Arc::new(std::mem::replace(&mut self.open, empty));
        let values = std::mem::take(&mut self.open_values);
        let age = self.next_age;
        self.next_age += 1;
        let empties = !emptied.is_empty();
        let segment_to_seal = Arc::clone(&segment);
        let (log_start, reached) = (start, start);
        let seal = Some(MaintenanceWork::Seal { segment: segment_to_seal, age, log_start, reached, ranges, emptied });
        self.frozen.push_back(Frozen { segment, age, seal, empties, gate, log_start: start.page, values });
    }

    /// Takes the seals whose gate is durable, in their order.
    pub(crate) fn take_seals(&mut self, durable: u64, durable_at: LogPosition, mut take: impl FnMut(MaintenanceWork)) {
        for frozen in &mut self.frozen {
            if frozen.gate > durable {
                break;
            }
            if let Some(mut seal) = frozen.seal.take() {
                if let MaintenanceWork::Seal { reached, .. } = &mut seal {
                    *reached = durable_at;
                }
                take(seal);
            }
        }
    }

    /// Gives seals that wait for what was not in the log this gate.
    pub(crate) fn set_gate_of_unlogged(&mut self, gate: u64) {
        for frozen in self.frozen.iter_mut().filter(|frozen| frozen.gate == UNLOGGED) {
            frozen.gate = gate;
        }
    }

    /// Age of the oldest frozen segment whose seal waits for the log; `u64::MAX` if there is none.
    pub(crate) fn oldest_waiting_seal(&self) -> u64 {
        self.frozen.iter().find(|frozen| frozen.seal.is_some()).map_or(u64::MAX, |frozen| frozen.age)
    }

    /// Age of the oldest segment that is not sealed yet; `u64::MAX` if there is none.
    pub(crate) fn oldest_frozen(&self) -> u64 {
        self.frozen.front().map_or(u64::MAX, |frozen| frozen.age)
    }

    /// Whether all segments of a lower age than this are sealed: durable and indexed.
    pub fn is_sealed_below(&self, age: u64) -> bool {
        age <= self.oldest_frozen()
    }

    /// Whether a seal has yet to tell the manifest which intervals were emptied.
    pub(crate) fn have_emptied(&self) -> bool {
        self.frozen.iter().any(|frozen| frozen.empties)
    }

    /// The oldest frozen segment is durable and indexed: drops it. Returns the page at which recovery begins now.
    pub(crate) fn drop_sealed(&mut self) -> u64 {
        let frozen = self.frozen.pop_front().expect("a seal completes a frozen segment");
        if let Ok(mut segment) = Arc::try_unwrap(frozen.segment) {
            segment.clear();
            if segment.capacity() == self.segment_bytes {
                self.spare.push(segment);
            }
        }
        frozen.log_start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record::{Kind, Marks};

    fn record(value: &[u8], seq: u64) -> Record<'_> {
        let (kind, marks) = (Kind::Value, Marks::default());
        Record { kind, marks, epoch: 0, seq, client_flags: 0, expiry: 0, client_cas: None, key: b"key", value }
    }

    fn seals(buffers: &mut WriteBuffers, durable: u64) -> Vec<u64> {
        let mut ages = Vec::new();
        buffers.take_seals(durable, LogPosition::default(), |work| match work {
            MaintenanceWork::Seal { age, .. } => ages.push(age),
            _ => unreachable!("buffers have seals alone"),
        });
        ages
    }

    #[test]
    fn the_newest_buffer_answers_until_its_seal_is_installed() {
        let mut buffers = WriteBuffers::new(1 << 16, 5);
        let found = |buffers: &WriteBuffers| {
            let place = buffers.find(&Key::MIN, b"key")?;
            Some((buffers.entry(place).record().value.to_vec(), buffers.age(place)))
        };
        buffers.append(&Key::MIN, Gate::NONE, &record(b"old", 1));
        buffers.freeze(LogPosition::default(), 0, Vec::new(), Vec::new());
        assert_eq!(found(&buffers), Some((b"old".to_vec(), Some(5))));
        buffers.append(&Key::MIN, Gate::NONE, &record(b"new", 2));
        assert_eq!(found(&buffers), Some((b"new".to_vec(), None)));
        assert_eq!(seals(&mut buffers, 0), [5]);
        buffers.drop_sealed();
        assert_eq!((found(&buffers), buffers.open_age()), (Some((b"new".to_vec(), None)), 6));
        assert!(!buffers.is_empty() && buffers.frozen_count() == 0);
    }

    #[test]
    fn seals_wait_for_their_gates_in_order() {
        let mut buffers = WriteBuffers::new(1 << 16, 1);
        for gate in [3, UNLOGGED, 4] {
            buffers.freeze(LogPosition::default(), gate, Vec::new(), Vec::new());
        }
        assert_eq!((seals(&mut buffers, 2), buffers.oldest_waiting_seal()), (vec![], 1));
        assert_eq!((seals(&mut buffers, 9), buffers.oldest_waiting_seal()), (vec![1], 2));
        buffers.set_gate_of_unlogged(9);
        assert_eq!((seals(&mut buffers, 9), buffers.oldest_waiting_seal()), (vec![2, 3], u64::MAX));
        assert!(buffers.is_full() && buffers.oldest_frozen() == 1);
    }
}
