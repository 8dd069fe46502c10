//! Recovery's side of the store: records from the log go back to the open segment.

use super::Store;
use crate::api::Gate;
use crate::format::record::Record;
use crate::log::{Entry, LogPosition, LogWriter};
use crate::work::Room;
use fawn_ring::Key;

impl Store {
    /// Makes the open segment, just frozen, large enough for `record`: it was taken when segments were larger.
    pub(crate) fn make_fit(&mut self, record: &Record<'_>) {
        self.buffers.make_fit(record);
    }

    /// Whether the open segment, for which `record` is not too large, has memory for it. Where the system has none for a whole
    /// segment, it becomes one for this record alone.
    pub(crate) fn has_memory_for(&mut self, record: &Record<'_>) -> bool {
        self.buffers.has_memory_for(record)
    }

    /// Bytes of an open segment.
    pub fn segment_bytes(&self) -> usize {
        self.buffers.segment_bytes()
    }

    /// Seals what is open, be it nothing: recovery then begins behind everything that is logged. Nothing waits for a sync.
    pub(crate) fn seal_everything(&mut self) {
        self.freeze_at(self.log.writer().position());
    }

    /// Takes a record back from the log; it fits.
    pub(crate) fn replay(&mut self, key: &Key, record: &Record<'_>) {
        self.buffers.append(key, Gate::NONE, record);
        self.ranges.number_from(record.seq);
        self.note_value_file(record);
    }

    /// What is handed back to the owner next is of the batch that begins there.
    pub(crate) fn note_replayed(&mut self, at: LogPosition) {
        self.log.note_replayed(at);
    }

    /// Takes back an entry that is not a record.
    pub(crate) fn replay_control(&mut self, instance: u64, entry: &Entry<'_>) {
        self.ranges.replay(instance, entry);
    }

    /// Goes on numbering above `floor`; returns the last number given out.
    pub(crate) fn continue_numbering(&mut self, instance: u64, floor: u64) -> u64 {
        self.ranges.continue_numbering(instance, floor)
    }

    /// Recovery is over: appends go to `log` from here. Asks for every slice's index, in key order; lookups bring theirs
    /// forward.
    pub(crate) fn begin_log(&mut self, log: LogWriter, room: Room) {
        self.log.begin(log);
        self.ranges.find_next_flush();
        self.device.note(room, &self.sealed, &self.buffers);
        for slice in self.sealed.slices().iter() {
            self.work.push(self.cleaner.mode().load(slice.interval.low, false, false, &self.sealed));
        }
    }
}
