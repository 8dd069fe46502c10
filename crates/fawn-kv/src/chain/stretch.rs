//! A stretch of a log in memory, which knows how many bytes it holds.

use crate::range::entry::Entry;
use fawn_ring::{Key, Secret};
use std::collections::VecDeque;
use std::collections::vec_deque::Iter;
use std::ops::Deref;
use std::sync::Arc;

/// The key of a record that is about none, and where it is said to lie.
pub(super) const NO_KEY: (Vec<u8>, Key) = (Vec::new(), Key::MIN);

/// A record, and where its key lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoggedEntry {
    pub(super) entry: Arc<Entry>,
    pub(super) lies: Key,
    /// Of the record, so that it need not be looked at when it goes.
    bytes: usize,
}

impl LoggedEntry {
    pub(super) fn new(entry: Arc<Entry>, secret: &Secret) -> Self {
        let lies = if entry.key.is_empty() { NO_KEY.1 } else { secret.position(&entry.key) };
        Self::at(entry, lies)
    }

    /// A record whose key is known to lie there.
    pub(super) fn at(entry: Arc<Entry>, lies: Key) -> Self {
        let bytes = entry.bytes();
        Self { entry, lies, bytes }
    }
}

impl Deref for LoggedEntry {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

/// Records without gaps, oldest first.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    entries: VecDeque<LoggedEntry>,
    bytes: usize,
}

impl Stretch {
    /// Bytes of all records, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push_back(&mut self, entry: LoggedEntry) {
        self.bytes += entry.bytes;
        self.entries.push_back(entry);
    }

    pub(super) fn pop_front_if(&mut self, goes: impl FnOnce(&Entry) -> bool) -> Option<LoggedEntry> {
        let entry = self.entries.pop_front_if(|entry| goes(entry))?;
        self.bytes -= entry.bytes;
        Some(entry)
    }

    pub(super) fn pop_back_if(&mut self, goes: impl FnOnce(&Entry) -> bool) -> Option<LoggedEntry> {
        let entry = self.entries.pop_back_if(|entry| goes(entry))?;
        self.bytes -= entry.bytes;
        Some(entry)
    }

    /// Lets the oldest go until no more than so many records and bytes are left.
    pub(super) fn trim(&mut self, records: usize, bytes: usize) {
        while self.entries.len() > records || self.bytes > bytes {
            self.pop_front_if(|_| true);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Deref for Stretch {
    type Target = VecDeque<LoggedEntry>;

    fn deref(&self) -> &VecDeque<LoggedEntry> {
        &self.entries
    }
}

impl<'a> IntoIterator for &'a Stretch {
    type Item = &'a LoggedEntry;
    type IntoIter = Iter<'a, LoggedEntry>;

    fn into_iter(self) -> Iter<'a, LoggedEntry> {
        self.entries.iter()
    }
}

/// The first of some records: so many at most, and no more bytes than that, but for the first.
pub(super) fn batch<'a>(
    records: impl Iterator<Item = &'a LoggedEntry>,
    most: usize,
    most_bytes: usize,
) -> Vec<Arc<Entry>> {
    let mut bytes = 0;
    let fits = |entry: &&LoggedEntry| {
        let is_first = bytes == 0;
        bytes += entry.bytes;
        is_first || bytes <= most_bytes
    };
    records.take(most).take_while(fits).map(|logged| Arc::clone(&logged.entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Epoch, Position, Seq};
    use crate::range::entry::Change;

    fn entry(seq: u64, key_bytes: usize) -> LoggedEntry {
        let position = Position { epoch: Epoch(1), seq: Seq(seq) };
        let entry = Entry { position, time: 1, key: vec![b'k'; key_bytes], change: Change::Delete, asked: None };
        LoggedEntry::new(Arc::new(entry), &Secret([1; 32]))
    }

    #[test]
    fn bytes_are_those_of_the_records_that_are_there() {
        let mut stretch = Stretch::default();
        for seq in 1..=9 {
            stretch.push_back(entry(seq, 100 * seq as usize));
        }
        stretch.pop_front_if(|entry| entry.position.seq == Seq(1)).unwrap();
        stretch.pop_back_if(|entry| entry.position.seq == Seq(9)).unwrap();
        assert!(stretch.pop_back_if(|_| false).is_none());
        assert_eq!(stretch.bytes(), stretch.iter().map(|entry| entry.bytes()).sum());
        stretch.trim(3, usize::MAX);
        assert_eq!(stretch.iter().map(|entry| entry.position.seq.0).collect::<Vec<_>>(), [6, 7, 8]);
        stretch.trim(3, stretch.bytes() - 1);
        assert_eq!((stretch.len(), stretch.bytes()), (2, stretch.iter().map(|entry| entry.bytes()).sum()));
        stretch.clear();
        assert_eq!((stretch.bytes(), stretch.len()), (0, 0));
    }

    #[test]
    fn a_batch_ends_with_its_bytes_but_takes_one_record_however_large() {
        let records: Vec<LoggedEntry> = (1..=5).map(|seq| entry(seq, 1000)).collect();
        let two = 2 * records[0].bytes();
        assert_eq!(batch(records.iter(), 9, two).len(), 2);
        assert_eq!(batch(records.iter(), 9, two - 1).len(), 1);
        assert_eq!(batch(records.iter(), 9, 1).len(), 1, "what is larger than a batch goes alone");
        assert_eq!(batch(records.iter(), 3, usize::MAX).len(), 3);
        assert!(batch([].iter(), 3, 1).is_empty());
    }
}
