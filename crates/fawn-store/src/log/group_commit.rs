//! Group commit: when a batch of the log leaves, what waits for it, and where recovery begins.

use super::{ClosedBatch, ENTRY_HEADER_BYTES, Entry, LogFull, LogPosition, LogWriter};
use crate::api::{Ack, Batch, Gate};
use crate::format::page::{PAGE_BYTES, PageBuf};
use crate::store::LogStats;

/// Unsynced bytes at which an interval batch leaves before its time.
const INTERVAL_BATCH_BYTES: usize = 1 << 20;

/// Unsynced bytes at which the batch of a log that rests leaves before its time.
const REST_BATCH_BYTES: usize = 4 << 20;

/// The instance under which entries for all ranges, present and to come, are logged.
pub(crate) const ALL_RANGES: u64 = 0;

/// The commit log of an open store: [`Store::log`](crate::Store::log).
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, not a state of one machine")]
pub struct GroupCommit {
    writer: LogWriter,
    ack: Ack,
    /// Milliseconds for which batches wait, though answers do not go by them.
    rest_ms: u32,
    /// Somebody waits for what is in the log by now: batches do not rest.
    awaited: bool,
    in_flight: bool,
    /// Milliseconds at which the oldest unsynced record was noticed.
    pending_since_ms: Option<u64>,
    /// A clean stop has begun: batches leave at once.
    closing: bool,
    /// The log has been idle since the last tick: an empty batch may mark what is durable.
    mark_due: bool,
    /// Batches that were taken.
    batches: u64,
    /// Batches taken when the last tick came.
    batches_at_tick: u64,
    /// Empty batches beside these.
    marks: u64,
    /// Where recovery begins once all that is frozen is sealed.
    start: LogPosition,
    /// Records come from the log, whose writer is not there yet.
    replaying: bool,
    /// While the store opens, where the batch begins that is being replayed.
    replayed_at: LogPosition,
    /// Writes of ranges wait for room in the log.
    unlogged: bool,
}

impl GroupCommit {
    /// That of a store whose log is about to be replayed from `start`.
    pub(crate) fn replaying(writer: LogWriter, (ack, rest_ms): (Ack, u32), start: LogPosition) -> Self {
        Self {
            writer,
            ack,
            rest_ms,
            awaited: false,
            in_flight: false,
            pending_since_ms: None,
            closing: false,
            mark_due: false,
            batches: 0,
            batches_at_tick: 0,
            marks: 0,
            start,
            replaying: true,
            replayed_at: start,
            unlogged: false,
        }
    }

    /// Recovery is over: appends go to `writer` from here.
    pub(crate) fn begin(&mut self, writer: LogWriter) {
        self.writer = writer;
        self.replaying = false;
    }

    /// What the log's writer says of itself.
    #[inline]
    pub(crate) fn writer(&self) -> &LogWriter {
        &self.writer
    }

    #[inline]
    pub(crate) fn ack(&self) -> Ack {
        self.ack
    }

    /// Batches that were taken, empty ones left out.
    pub(crate) fn batches(&self) -> u64 {
        self.batches
    }

    /// Answers whose gate is at or below this may leave.
    #[inline]
    pub fn durable(&self) -> Gate {
        match self.ack {
            Ack::Durable => Gate(self.writer.durable()),
            Ack::Interval { .. } | Ack::Memory => Gate(u64::MAX),
        }
    }

    /// Up to here the log is durable, whatever answers wait for.
    pub fn logged(&self) -> Gate {
        Gate(self.writer.durable())
    }

    /// Bytes of entries that the next batch holds.
    pub fn unbatched_bytes(&self) -> usize {
        self.writer.pending_bytes()
    }

    /// Longest entry of a range that the log takes, in bytes.
    pub fn longest_entry(&self) -> usize {
        self.writer.longest_batch_bytes() - ENTRY_HEADER_BYTES
    }

    /// The log's figures.
    pub(crate) fn stats(&self) -> LogStats {
        LogStats {
            batches: self.batches,
            marks: self.marks,
            bytes: self.writer.ring_pages() * PAGE_BYTES as u64,
            used_bytes: (self.writer.position().page - self.writer.tail()) * PAGE_BYTES as u64,
        }
    }

    /// The gate of the answer to what is appended now.
    #[inline]
    pub(crate) fn current_gate(&self) -> Gate {
        match self.ack {
            Ack::Durable => Gate(self.writer.gate()),
            Ack::Interval { .. } | Ack::Memory => Gate::NONE,
        }
    }

    /// The gate at which everything in the log is durable.
    pub(crate) fn gate_of_everything(&self) -> u64 {
        if self.writer.pending_bytes() > 0 { self.writer.gate() } else { self.writer.gate() - 1 }
    }

    /// Whether a record whose entry takes `len` bytes would be logged now. In memory mode none is.
    ///
    /// # Errors
    /// [`LogFull`].
    #[inline]
    pub(crate) fn fits(&self, len: usize) -> Result<(), LogFull> {
        if self.ack == Ack::Memory { Ok(()) } else { self.writer.fits(len) }
    }

    /// Logs a record that [`fits`](Self::fits).
    #[inline]
    pub(crate) fn append_record(&mut self, instance: u64, bytes: &[u8]) {
        if self.ack != Ack::Memory {
            let logged = self.writer.append(instance, &Entry::Record(bytes));
            assert!(logged.is_ok(), "an admitted record fits the log");
        }
    }

    /// Logs an entry of all ranges.
    ///
    /// # Errors
    /// [`LogFull`]; nothing has changed.
    pub(crate) fn append_for_all(&mut self, entry: &Entry<'_>) -> Result<(), LogFull> {
        self.writer.append(ALL_RANGES, entry).map(|_| ())
    }

    /// Logs entries that stay together in one batch; returns their gate.
    ///
    /// # Errors
    /// [`LogFull`]; nothing has changed.
    pub(crate) fn append_together(&mut self, entries: &[(u64, Entry<'_>)]) -> Result<u64, LogFull> {
        self.writer.append_together(entries)
    }

    /// The next batch to write, if one is due at `now_ms` (a monotonic clock). One at a time.
    pub(crate) fn take_batch(&mut self, now_ms: u64) -> Option<Batch> {
        if self.in_flight {
            return None;
        }
        if self.writer.pending_bytes() == 0 {
            return self.take_mark();
        }
        let since = *self.pending_since_ms.get_or_insert(now_ms);
        let (waits_ms, most_bytes) = self.wait();
        let due = now_ms >= since + u64::from(waits_ms) || self.closing || self.awaited;
        if !due && self.writer.pending_bytes() < most_bytes {
            return None;
        }
        let batch = self.writer.take()?;
        self.awaited &= self.writer.pending_bytes() > 0;
        // A page that goes before the batch keeps nobody waiting.
        if batch.gate > self.writer.durable() {
            self.pending_since_ms = None;
        }
        self.batches += 1;
        Some(self.send(batch))
    }

    /// For how many milliseconds a batch waits, and at how many bytes it leaves nevertheless.
    fn wait(&self) -> (u32, usize) {
        match self.ack {
            Ack::Interval { ms } => (ms, INTERVAL_BATCH_BYTES),
            Ack::Durable | Ack::Memory => (self.rest_ms, REST_BATCH_BYTES.min(self.writer.longest_batch_bytes() / 2)),
        }
    }

    /// Somebody waits for what is in the log by now to be durable: it does not rest until then.
    pub(crate) fn end_rest(&mut self) {
        self.awaited = self.writer.pending_bytes() > 0;
    }

    fn send(&mut self, batch: ClosedBatch) -> Batch {
        self.in_flight = true;
        Batch { first: batch.first, pages: batch.pages, gate: Gate(batch.gate) }
    }

    #[inline]
    fn take_mark(&mut self) -> Option<Batch> {
        // A clean stop records where the log ends: nothing is written behind that.
        if !std::mem::take(&mut self.mark_due) || self.closing {
            return None;
        }
        let mark = self.writer.take_mark()?;
        self.marks += 1;
        Some(self.send(mark))
    }

    /// Once a second: when nothing was logged since the last time, the last batch gets a mark behind it, so that damage
    /// to it is not taken for a torn tail by the next opening.
    pub(crate) fn mark_when_idle(&mut self) {
        let before = std::mem::replace(&mut self.batches_at_tick, self.batches);
        self.mark_due = before == self.batches;
    }

    /// The mark that the log gets when it has been idle, at once: the store has just been opened.
    pub(crate) fn take_first_mark(&mut self) -> Option<Batch> {
        self.mark_due = true;
        self.take_batch(0)
    }

    /// When [`Store::take_batch`](crate::Store::take_batch) becomes due, on the same clock; `None` when nothing waits for time to
    /// pass.
    pub fn batch_deadline_ms(&self) -> Option<u64> {
        let (ms, _) = self.wait();
        (ms > 0 && !self.in_flight && !self.awaited).then_some(self.pending_since_ms? + u64::from(ms))
    }

    /// The batch in flight came back, durable or not.
    pub(crate) fn end_flight(&mut self) {
        self.in_flight = false;
    }

    /// The batch that came back is durable.
    pub(crate) fn written(&mut self, gate: Gate, pages: PageBuf) {
        self.writer.written(gate.0, pages);
    }

    /// Whether nothing waits for a sync.
    pub(crate) fn is_synced(&self) -> bool {
        !self.in_flight && self.writer.pending_bytes() == 0
    }

    /// Begins a clean stop.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether a clean stop has begun that only seals complete: in memory mode nothing else is ever synced.
    pub(crate) fn closes_by_sealing(&self) -> bool {
        self.closing && self.ack == Ack::Memory
    }

    /// Where recovery begins once all that is frozen is sealed.
    pub(crate) fn start(&self) -> LogPosition {
        self.start
    }

    /// Recovery begins at `start` once all that is frozen is sealed.
    pub(crate) fn set_start(&mut self, start: LogPosition) {
        self.start = start;
    }

    /// A seal is durable: gives the pages below `tail` back.
    pub(crate) fn recycle_to(&mut self, tail: u64) {
        if !self.replaying {
            self.writer.recycle_to(tail);
        }
    }

    pub(crate) fn is_replaying(&self) -> bool {
        self.replaying
    }

    /// Where the batch begins that is being handed back to the owner while the store opens.
    pub fn replayed_at(&self) -> LogPosition {
        self.replayed_at
    }

    /// What is replayed next is of the batch that begins there.
    pub(crate) fn note_replayed(&mut self, at: LogPosition) {
        self.replayed_at = at;
    }

    /// Whether the newest checkpoint's seal is still to come.
    pub fn awaits_checkpoint(&self) -> bool {
        self.start.page > self.writer.tail()
    }

    /// Whether so much of the log is full that a checkpoint pays: half of it, or a quarter when something is `refused`.
    pub(crate) fn is_full_enough(&self, refused: bool) -> bool {
        let share = if refused { 4 } else { 2 };
        (self.writer.position().page - self.writer.tail()) * share > self.writer.ring_pages()
    }

    /// Whether writes of ranges wait for room in the log.
    pub(crate) fn is_unlogged(&self) -> bool {
        self.unlogged
    }

    pub(crate) fn set_unlogged(&mut self, unlogged: bool) {
        self.unlogged = unlogged;
        if unlogged {
            // It waits for room, which comes with a checkpoint, and that with the batch of what is in the log.
            self.end_rest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogShape;

    fn log(ack: Ack) -> GroupCommit {
        resting_log(ack, 0)
    }

    fn resting_log(ack: Ack, rest_ms: u32) -> GroupCommit {
        let writer = || LogWriter::new(LogShape { ring_pages: 64, salt: 1 }, 1, 0, LogPosition::default(), usize::MAX);
        let mut log = GroupCommit::replaying(writer(), (ack, rest_ms), LogPosition::default());
        log.begin(writer());
        log
    }

    #[test]
    fn a_log_that_rests_keeps_batches_until_somebody_waits_for_them() {
        let mut log = resting_log(Ack::Durable, 1000);
        log.append_for_all(&Entry::Flush { watermark: 1 }).unwrap();
        assert!(log.take_batch(100).is_none() && log.batch_deadline_ms() == Some(1100));
        log.end_rest();
        assert_eq!(log.batch_deadline_ms(), None, "it is due");
        let batch = log.take_batch(101).unwrap();
        log.end_flight();
        log.written(batch.gate, batch.pages);
        assert!(log.durable() >= batch.gate);
        log.append_for_all(&Entry::Flush { watermark: 2 }).unwrap();
        assert!(log.take_batch(200).is_none(), "it was awaited once");
        assert!(log.take_batch(1200).is_some());
    }

    #[test]
    fn an_interval_batch_leaves_when_it_is_due_or_the_store_stops() {
        let mut log = log(Ack::Interval { ms: 10 });
        log.append_for_all(&Entry::Flush { watermark: 1 }).unwrap();
        assert!(log.take_batch(100).is_none() && log.batch_deadline_ms() == Some(110));
        assert!(log.take_batch(109).is_none());
        let batch = log.take_batch(110).unwrap();
        assert!(log.take_batch(200).is_none(), "one at a time");
        log.end_flight();
        log.written(batch.gate, batch.pages);
        assert!(log.is_synced());
        log.append_for_all(&Entry::Flush { watermark: 2 }).unwrap();
        log.close();
        assert!(log.take_batch(111).is_some() && log.batches() == 2);
    }

    #[test]
    fn an_idle_log_is_marked_once() {
        let mut log = log(Ack::Durable);
        log.append_for_all(&Entry::Flush { watermark: 1 }).unwrap();
        assert_eq!(log.current_gate(), Gate(1));
        let batch = log.take_batch(0).unwrap();
        log.end_flight();
        log.written(batch.gate, batch.pages);
        assert_eq!(log.durable(), Gate(1));
        log.mark_when_idle();
        assert!(log.take_batch(0).is_none(), "a batch was taken since the tick before");
        log.mark_when_idle();
        let mark = log.take_batch(0).unwrap();
        log.end_flight();
        log.written(mark.gate, mark.pages);
        log.mark_when_idle();
        assert!(log.take_batch(0).is_none() && log.stats().marks == 1);
    }
}
