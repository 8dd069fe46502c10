//! The end of a log, which is not committed: its records, the newest of each key, the requests that they answer, and what
//! holds after the last of them.

use super::stretch::{LoggedEntry, Stretch};
use crate::ids::{Epoch, Position, RequestId, Seq};
use crate::range::entry::{Asked, Change, Entry};
use crate::range::meta::Alive;
use crate::range::range_map::RangeMap;
use fawn_ring::{Key, KeyHasher};
use std::collections::{HashMap, vec_deque::Iter};
use std::hash::BuildHasherDefault;

/// Those records, without gaps, and what they make of what is committed.
#[derive(Debug, Default)]
pub(super) struct LogSuffix {
    records: Stretch,
    /// What is there as of the end of the log.
    ahead: Alive,
    /// The newest record of each key, by where it lies.
    newest: HashMap<Key, Seq, BuildHasherDefault<KeyHasher>>,
    /// The requests that are answered, and the last record of each.
    asked: HashMap<RequestId, Seq, BuildHasherDefault<KeyHasher>>,
}

impl LogSuffix {
    /// Nothing follows what is committed.
    pub(super) fn after(committed: &Alive) -> Self {
        Self { ahead: committed.clone(), ..Self::default() }
    }

    /// The end of the log, unless all of it is committed.
    pub(super) fn last(&self) -> Option<Position> {
        self.records.back().map(|entry| entry.position)
    }

    /// What is there as of the end of the log.
    pub(super) fn ahead(&self) -> &Alive {
        &self.ahead
    }

    pub(super) fn iter(&self) -> Iter<'_, LoggedEntry> {
        self.records.iter()
    }

    /// The records from the first with a number above `seq` on.
    pub(super) fn beyond(&self, seq: Seq) -> impl Iterator<Item = &LoggedEntry> {
        self.records.iter().skip(self.records.partition_point(|entry| entry.position.seq <= seq))
    }

    /// How many records there are, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.records.len(), self.records.bytes())
    }

    /// The record with this number.
    pub(super) fn record(&self, seq: Seq) -> Option<&Entry> {
        let at = self.records.binary_search_by_key(&seq, |entry| entry.position.seq).ok()?;
        self.records.get(at).map(|logged| &**logged)
    }

    /// Whether there is a record of the key that lies there.
    pub(super) fn has_key(&self, lies: &Key) -> bool {
        self.newest.contains_key(lies)
    }

    /// The newest record of the key that lies there.
    pub(super) fn newest(&self, lies: &Key) -> Option<&Entry> {
        self.record(*self.newest.get(lies)?)
    }

    /// Whether a record answers the request.
    pub(super) fn answers(&self, id: RequestId) -> bool {
        self.asked.contains_key(&id)
    }

    /// The last record that answers the request.
    pub(super) fn answer(&self, id: RequestId) -> Option<&Entry> {
        self.record(*self.asked.get(&id)?)
    }

    /// A record follows.
    pub(super) fn push(&mut self, entry: LoggedEntry) {
        self.ahead.apply(&entry);
        if let Some(may_double) = self.index(&entry) {
            assert!(may_double, "a request about a key is in the log once");
        }
        self.records.push_back(entry);
    }

    /// Notes the record's key and request; if the request is noted already, whether that may be.
    fn index(&mut self, entry: &LoggedEntry) -> Option<bool> {
        if !entry.key.is_empty() {
            self.newest.insert(entry.lies, entry.position.seq);
        }
        let Asked { id, .. } = entry.asked.as_ref()?;
        self.asked.insert(*id, entry.position.seq)?;
        // Of one flush there is a record for each stretch of keys that it came by.
        Some(matches!(entry.change, Change::Flush { .. }) || crate::range::sessions::may_double())
    }

    /// Takes the first record out, if its number is `to` at most: it is committed.
    pub(super) fn pop_committed(&mut self, to: Seq) -> Option<LoggedEntry> {
        let entry = self.records.pop_front_if(|entry| entry.position.seq <= to)?;
        let seq = entry.position.seq;
        if self.newest.get(&entry.lies) == Some(&seq) {
            self.newest.remove(&entry.lies);
        }
        if let Some(Asked { id, .. }) = &entry.asked
            && self.asked.get(id) == Some(&seq)
        {
            self.asked.remove(id);
        }
        Some(entry)
    }

    /// Cuts off what follows `to`; `committed` is what is there as of what is committed.
    pub(super) fn cut(&mut self, to: Position, committed: &Alive) {
        while self.records.pop_back_if(|entry| entry.position > to).is_some() {}
        self.newest.clear();
        self.asked.clear();
        self.ahead = committed.clone();
        let records = std::mem::take(&mut self.records);
        for entry in &records {
            self.ahead.apply(entry);
            self.index(entry);
        }
        self.records = records;
    }

    /// What is committed was taken from another, and nothing follows it.
    pub(super) fn begin_after(&mut self, committed: &Alive) {
        self.ahead = committed.clone();
    }

    /// Where each epoch ends that there are records of, oldest first.
    pub(super) fn ends(&self) -> Vec<Position> {
        let mut ends: Vec<Position> = Vec::new();
        for entry in &self.records {
            ends.pop_if(|end| end.epoch == entry.position.epoch);
            ends.push(entry.position);
        }
        ends
    }

    /// The epochs that begin, and where the log ended that each goes on from; oldest first.
    pub(super) fn begins(&self) -> impl Iterator<Item = (Epoch, Position)> + Clone {
        self.records.iter().filter_map(|entry| match entry.change {
            Change::Begin { after } => Some((entry.position.epoch, after)),
            _ => None,
        })
    }

    /// Takes in the keys that records of a flush are about.
    pub(super) fn flushed_by(&self, flush: RequestId, reached: &mut RangeMap<bool>) {
        let is_of = |entry: &&LoggedEntry| entry.asked.as_ref().is_some_and(|asked| asked.id == flush);
        for entry in self.records.iter().filter(is_of) {
            if let Change::Flush { keys, .. } = &entry.change {
                for keys in keys {
                    reached.add(keys);
                }
            }
        }
    }

    /// Whether a record forgets the session, which was `used` last as far as is committed.
    pub(super) fn forgets(&self, session: u64, mut used: Option<u32>) -> bool {
        self.records.iter().any(|entry| {
            if entry.asked.as_ref().is_some_and(|asked| asked.id.session == session) {
                used = used.max(Some(entry.time));
            }
            matches!(entry.change, Change::Expire { idle_since, .. } if used.is_some_and(|used| used <= idle_since))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Address, Asker, FrontId};
    use crate::operation::Outcome;
    use crate::range::entry::Version;
    use fawn_ring::{Interval, Secret};
    use std::sync::Arc;

    const SECRET: Secret = Secret([1; 32]);

    fn at(epoch: u32, seq: u64) -> Position {
        Position { epoch: Epoch(epoch), seq: Seq(seq) }
    }

    fn id(number: u64) -> RequestId {
        RequestId { session: 7, number }
    }

    fn record(position: Position, key: &[u8], change: Change, number: Option<u64>) -> LoggedEntry {
        let asker = Asker { address: Address::Front(FrontId(3)), tag: 0 };
        let asked =
            number.map(|number| Asked { id: id(number), answered: 0, asker, outcome: Outcome::Deleted, shown: None });
        let entry = Entry { position, time: position.seq.0 as u32, key: key.to_vec(), change, asked };
        LoggedEntry::new(Arc::new(entry), &SECRET)
    }

    fn value() -> Change {
        Change::Value(Version { value: Vec::new(), flags: 0, expiry: 0, stale: false, won: false, client_cas: None })
    }

    /// Two records of one key, and a flush.
    fn suffix() -> LogSuffix {
        let mut suffix = LogSuffix::after(&Alive::default());
        suffix.push(record(at(1, 1), b"a", value(), Some(1)));
        suffix.push(record(at(1, 2), b"a", Change::Delete, Some(2)));
        let flush = Change::Flush { due: 0, keys: vec![Interval::ALL] };
        suffix.push(record(at(2, 5), b"", flush, Some(3)));
        suffix
    }

    #[test]
    fn of_a_key_and_of_a_request_the_last_record_counts_until_it_is_committed() {
        let mut suffix = suffix();
        let lies = SECRET.position(b"a");
        assert_eq!(suffix.newest(&lies).map(|entry| entry.position), Some(at(1, 2)));
        assert_eq!(suffix.pop_committed(Seq(2)).map(|entry| entry.position), Some(at(1, 1)));
        assert!(suffix.has_key(&lies), "the newer record is not committed");
        assert_eq!([1, 2, 3].map(|number| suffix.answers(id(number))), [false, true, true]);
        assert_eq!(suffix.pop_committed(Seq(2)).map(|entry| entry.position), Some(at(1, 2)));
        assert!(!suffix.has_key(&lies) && suffix.newest(&lies).is_none());
        assert!(suffix.pop_committed(Seq(4)).is_none());
        assert_eq!((suffix.last(), suffix.size().0), (Some(at(2, 5)), 1));
    }

    #[test]
    fn what_is_cut_off_leaves_no_trace() {
        let mut suffix = suffix();
        assert_eq!((suffix.ahead().time, suffix.ends()), (5, vec![at(1, 2), at(2, 5)]));
        assert_eq!(suffix.beyond(Seq(2)).map(|entry| entry.position).collect::<Vec<_>>(), [at(2, 5)]);
        suffix.cut(at(1, 1), &Alive::default());
        assert_eq!((suffix.ahead().time, suffix.ends()), (1, vec![at(1, 1)]));
        assert!(suffix.ahead().is_flushed_as(&Alive::default()));
        assert_eq!([1, 2, 3].map(|number| suffix.answers(id(number))), [true, false, false]);
        assert_eq!(suffix.newest(&SECRET.position(b"a")).map(|entry| entry.position), Some(at(1, 1)));
    }

    #[test]
    fn a_session_is_forgotten_by_a_record_unless_it_is_used_before_it() {
        let mut suffix = suffix();
        suffix.push(record(at(2, 6), b"", Change::Expire { idle_since: 4, horizon: 4 }, None));
        assert!(!suffix.forgets(7, Some(1)), "a record of it is stamped with 5");
        assert!(suffix.forgets(8, Some(4)) && !suffix.forgets(8, Some(5)) && !suffix.forgets(8, None));
    }

    #[test]
    fn a_flush_has_reached_the_keys_of_its_records() {
        let mut reached = RangeMap::default();
        suffix().flushed_by(id(2), &mut reached);
        assert_eq!(reached.lacks(&Interval::ALL), [Interval::ALL]);
        suffix().flushed_by(id(3), &mut reached);
        assert_eq!(reached.lacks(&Interval::ALL), []);
    }
}
