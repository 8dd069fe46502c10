//! Recovery's side of a store: what the commit log holds goes back to where it was.

use fawn_ring::Key;

use crate::Store;
use crate::api::{Batch, Gate};
use crate::format::record::Record;
use crate::log::{Entry, LogPosition, LogWriter};
use crate::merge::value_file;
use crate::work::Room;

/// A store whose log is being replayed.
pub(crate) struct Replay<'a>(&'a mut Store);

impl Store {
    /// The store as recovery uses it.
    pub(crate) fn replay(&mut self) -> Replay<'_> {
        Replay(self)
    }
}

impl Replay<'_> {
    /// Freezes the open segment; once it is sealed, recovery begins at `start`.
    pub(crate) fn freeze_at(&mut self, start: LogPosition) {
        self.0.writes.freeze_at(start, &mut self.0.work);
    }

    /// Seals what is open, be it nothing: recovery then begins behind everything that is logged. Nothing waits for a sync.
    pub(crate) fn seal_everything(&mut self) {
        self.freeze_at(self.0.writes.log.writer().position());
    }

    /// Makes the open segment, just frozen, large enough for `record`: it was taken when segments were larger.
    pub(crate) fn make_fit(&mut self, record: &Record<'_>) {
        self.0.writes.buffers.make_fit(record);
    }

    /// Whether the open segment, for which `record` is not too large, has memory for it. Where the system has none for a
    /// whole segment, it becomes one for this record alone.
    pub(crate) fn has_memory_for(&mut self, record: &Record<'_>) -> bool {
        self.0.writes.buffers.has_memory_for(record)
    }

    /// Takes a record back; it fits.
    pub(crate) fn append(&mut self, key: &Key, record: &Record<'_>) {
        let writes = &mut self.0.writes;
        writes.buffers.append(key, Gate::NONE, record);
        writes.ranges.number_from(record.seq);
        if let Some(file) = value_file(record) {
            writes.buffers.note_value_file(file);
            self.0.reads.keep_value_file(file);
        }
    }

    /// Takes back an entry that is not a record.
    pub(crate) fn apply(&mut self, instance: u64, entry: &Entry<'_>) {
        self.0.writes.ranges.replay(instance, entry);
    }

    /// What is handed back to the owner next is of the batch that begins there.
    pub(crate) fn note_position(&mut self, at: LogPosition) {
        self.0.writes.log.note_replayed(at);
    }

    /// Goes on numbering above `floor`; returns the last number given out.
    pub(crate) fn continue_numbering(&mut self, instance: u64, floor: u64) -> u64 {
        self.0.writes.ranges.continue_numbering(instance, floor)
    }

    /// The log is replayed: appends go to `log` from here. Asks for every slice's index, in key order; lookups bring
    /// theirs forward.
    pub(crate) fn finish(&mut self, log: LogWriter, room: Room) {
        let writes = &mut self.0.writes;
        writes.log.begin(log);
        writes.ranges.find_next_flush();
        self.0.upkeep.note_room(room, &writes.buffers);
        self.0.upkeep.load_all(&mut self.0.work);
    }

    /// The mark that the log gets when it has been idle, at once: the store has just been opened.
    pub(crate) fn take_first_mark(&mut self) -> Option<Batch> {
        let writes = &mut self.0.writes;
        if writes.stopped.is_some() { None } else { writes.log.take_first_mark() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Write;
    use crate::format::segment::tests::Memory;
    use crate::options::Options;
    use fawn_ring::Secret;

    #[test]
    fn what_comes_from_the_log_keeps_its_number_and_later_numbers_are_above_it() {
        let sizes = Options::new(Secret([7; 32]), 8 << 20);
        let options = Options { slices: 1, log_pages: 64, segment_bytes: 1 << 16, ..sizes };
        let mut store = Store::open(options, &Memory::default(), 1).unwrap().0;
        let key = store.options().secret.position(b"key");
        let (_, record) = store.writes.next_version(&key, Write::value(b"key", b"value"));
        let record = Record { seq: record.seq + 100, ..record };
        store.replay().append(&key, &record);
        assert_eq!((store.ranges().highest_seq(), store.stats().writes.appends), (record.seq, 0));
        assert_eq!(store.replay().continue_numbering(1, record.seq + 7), record.seq + 7);
        let age = store.buffers().open_age();
        store.replay().seal_everything();
        assert_eq!(store.buffers().open_age(), age + 1);
    }
}
