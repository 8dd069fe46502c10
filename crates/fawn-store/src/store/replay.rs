//! Recovery's side of the store: records from the log go back to the open segment.

use super::Store;
use super::append::ALL_RANGES;
use crate::api::Gate;
use crate::log::{Entry, LogPosition, LogWriter};
use crate::open_segment::OpenSegment;
use crate::record::Record;
use crate::work::Room;
use fawn_ring::Key;

impl Store {
    /// Whether `record` still fits the open segment.
    pub(crate) fn fits(&self, record: &Record<'_>) -> bool {
        self.open.fits(record.encoded_len())
    }

    /// Makes the open segment, just frozen, large enough for `record`: it was taken when segments were larger.
    pub(crate) fn make_fit(&mut self, record: &Record<'_>) {
        assert!(self.open.is_empty(), "the open segment was frozen just before");
        if !self.fits(record) {
            self.open = OpenSegment::new(OpenSegment::capacity_for(record.encoded_len()));
        }
    }

    /// Whether the open segment, for which `record` is not too large, has memory for it. Where the system has none for a whole
    /// segment, it becomes one for this record alone.
    pub(crate) fn has_memory_for(&mut self, record: &Record<'_>) -> bool {
        if self.open.is_empty() && !self.open.has_memory() {
            self.open = OpenSegment::new(OpenSegment::capacity_for(record.encoded_len()));
        }
        self.open.has_memory()
    }

    /// Bytes of an open segment.
    pub fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// Seals what is open, be it nothing: recovery then begins behind everything that is logged. Nothing waits for a sync.
    pub(crate) fn seal_everything(&mut self) {
        self.freeze_at(self.log.position());
    }

    /// Takes a record back from the log; it fits.
    pub(crate) fn replay(&mut self, key: &Key, record: &Record<'_>) {
        self.open.append(key, Gate::NONE, record);
        self.number_from(record.seq);
        self.note_value_file(record);
    }

    /// What is handed back to the owner next is of the batch that begins there.
    pub(crate) fn note_replayed(&mut self, at: LogPosition) {
        self.replayed_at = at;
    }

    /// Takes back an entry that is not a record.
    pub(crate) fn replay_control(&mut self, instance: u64, entry: &Entry<'_>) {
        if instance == ALL_RANGES {
            match entry {
                Entry::Flush { watermark } => self.flush_to(*watermark),
                Entry::FlushScheduled { deadline } => self.schedule_flush(*deadline),
                _ => {}
            }
            return;
        }
        let Some(number) = self.ranges.iter().position(|range| range.mark.instance == instance) else {
            return;
        };
        let mark = self.ranges[number].mark;
        match entry {
            Entry::Flush { watermark } => self.set_flush(number, mark.flush_watermark.max(*watermark), 0),
            Entry::FlushScheduled { deadline } => self.set_flush(number, mark.flush_watermark, *deadline),
            Entry::SequenceReserved { limit } => {
                self.ranges[number].mark.last_seq = mark.last_seq.max(limit.saturating_sub(1));
            }
            Entry::Record(_) | Entry::Range(_) => unreachable!("records and the entries of owners are handled apart"),
        }
    }

    /// Goes on numbering above `floor`; returns the last number given out.
    pub(crate) fn continue_numbering(&mut self, instance: u64, floor: u64) -> u64 {
        assert!(self.ranges.iter().any(|range| range.mark.instance == instance), "the store has the manifest's ranges");
        self.number_from(floor);
        self.ranges[0].mark.last_seq
    }

    /// Recovery is over: appends go to `log` from here.
    pub(crate) fn begin_log(&mut self, log: LogWriter, room: Room) {
        self.log = log;
        self.replaying = false;
        self.note_next_flush();
        self.note_room(room);
        self.load_all();
    }
}
