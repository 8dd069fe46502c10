//! Recovery's side of the store: records from the log go back to the open segment.

use super::Store;
use crate::api::Gate;
use crate::log::{Entry, LogWriter};
use crate::record::Record;
use fawn_ring::Key;

impl Store {
    /// Whether `record` still fits the open segment.
    pub(crate) fn fits(&self, record: &Record<'_>) -> bool {
        self.open.fits(record.encoded_len())
    }

    /// Bytes of an open segment.
    pub fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// Takes a record back from the log; it fits.
    pub(crate) fn replay(&mut self, key: &Key, record: &Record<'_>) {
        let number = self.range_of(key);
        self.open.append(key, Gate::NONE, record);
        let mark = &mut self.ranges[number].mark;
        mark.last_seq = mark.last_seq.max(record.seq);
    }

    /// Takes back an entry that is not a record.
    pub(crate) fn replay_control(&mut self, instance: u64, entry: &Entry<'_>) {
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
            Entry::Record(_) => unreachable!("records are replayed by key"),
        }
    }

    /// Goes on numbering above `floor`; returns the last number given out.
    pub(crate) fn continue_numbering(&mut self, instance: u64, floor: u64) -> u64 {
        let range = self.ranges.iter_mut().find(|range| range.mark.instance == instance);
        let mark = &mut range.expect("the store has the manifest's ranges").mark;
        mark.last_seq = mark.last_seq.max(floor);
        mark.last_seq
    }

    /// Recovery is over: appends go to `log` from here.
    pub(crate) fn begin_log(&mut self, log: LogWriter) {
        self.log = log;
        self.replaying = false;
        self.note_next_flush();
        self.load_all();
    }
}
