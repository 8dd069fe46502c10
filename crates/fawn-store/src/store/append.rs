//! Appends, freezing, group commit and `flush_all`.

use std::sync::Arc;

use fawn_ring::Key;

use super::{Frozen, NO_FLUSH, Store};
use crate::api::{Ack, Appended, Batch, Committed, Gate, Refusal, Write};
use crate::flash::FlashError;
use crate::log::{ClosedBatch, ENTRY_HEADER_BYTES, Entry, LogFull, LogPosition};
use crate::manifest::Emptied;
use crate::merge::value_file;
use crate::open_segment::OpenSegment;
use crate::options::MAX_FROZEN;
use crate::record::{Kind, Record};
use crate::work::{RangeMark, Work};

/// The instance under which entries for all ranges, present and to come, are logged.
pub(super) const ALL_RANGES: u64 = 0;
/// Unsynced bytes at which an interval batch leaves before its time.
const INTERVAL_BATCH_BYTES: usize = 1 << 20;

impl Store {
    /// Appends a version of `write.key`, whose position is `key`. The answer to whoever asked waits for the gate.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed.
    #[inline]
    pub fn append(&mut self, key: &Key, write: Write<'_>, now: u32) -> Result<Appended, Refusal> {
        self.now = now;
        self.fire_flushes(now);
        let number = self.range_of(key);
        let (mark, epoch) = (self.ranges[number].mark, self.ranges[number].epoch);
        let record = Record {
            kind: write.kind,
            marks: write.marks,
            epoch,
            seq: mark.last_seq + 1,
            client_flags: write.client_flags,
            expiry: write.expiry,
            client_cas: write.client_cas,
            key: write.key,
            value: write.value,
        };
        let len = record.encoded_len();
        self.admit(write.kind, len)?;
        let gate = self.current_gate();
        let (bytes, superseded) = self.open.append(key, gate, &record);
        if self.options.ack != Ack::Memory {
            let logged = self.log.append(mark.instance, &Entry::Record(bytes));
            assert!(logged.is_ok(), "an admitted record fits the log");
        }
        self.cache.remove(key);
        self.number_from(record.seq);
        self.note_value_file(&record);
        self.counters.appended(len, superseded);
        self.cleaning.deleted |= write.kind == Kind::Delete;
        self.use_credit(len);
        Ok(Appended { seq: record.seq, gate })
    }

    /// Makes room for a record of `len` bytes, or says why there is none.
    fn admit(&mut self, kind: Kind, len: usize) -> Result<(), Refusal> {
        if let Some(why) = &self.stopped {
            return Err(Refusal::Stopped(why.clone()));
        }
        if self.unlogged_flush {
            self.log_flushes()?;
        }
        // Before a value is given a file of its own because it is too large.
        if kind != Kind::Delete {
            self.refuse_when_full()?;
        }
        if len > self.segment_bytes / 4 {
            return Err(Refusal::TooLarge);
        }
        if !self.open.fits(len) {
            self.freeze()?;
        }
        if !self.open.has_memory() {
            self.counters.refused_memory += 1;
            return Err(Refusal::OutOfMemory);
        }
        if self.options.ack == Ack::Memory {
            return Ok(());
        }
        match self.log.fits(len + ENTRY_HEADER_BYTES) {
            Ok(()) => Ok(()),
            Err(LogFull::TooLarge) => Err(Refusal::TooLarge),
            Err(LogFull::Batch) => Err(Refusal::Busy),
            Err(LogFull::Ring) => Err(self.make_room_in_log()),
        }
    }

    /// The ring is full of what is not sealed yet: seals early (flushes alone fill it, too), to go on when that is done.
    fn make_room_in_log(&mut self) -> Refusal {
        if self.frozen.is_empty() {
            self.freeze_at(self.log.position());
        }
        self.busy_sealing()
    }

    /// Why what needs another segment sealed is refused. Without space on the device there is no telling when it will be.
    fn busy_sealing(&mut self) -> Refusal {
        if self.waits_for_space() {
            self.counters.refused_space += 1;
            return Refusal::NoSpace;
        }
        self.seal_awaited = true;
        Refusal::Busy
    }

    /// Logs an entry for all ranges.
    fn log_for_all(&mut self, entry: &Entry<'_>) -> Result<(), Refusal> {
        match self.log.append(ALL_RANGES, entry) {
            Ok(_) => Ok(()),
            Err(LogFull::Ring) => Err(self.make_room_in_log()),
            Err(LogFull::Batch | LogFull::TooLarge) => Err(Refusal::Busy),
        }
    }

    pub(super) fn refuse_when_full(&mut self) -> Result<(), Refusal> {
        if self.index_is_full() && self.is_making_room() {
            return Err(Refusal::Busy);
        }
        if self.index_is_full() || self.lacks_numbers() {
            self.counters.refused_memory += 1;
            let failing = self.counters.last_merge_failure.as_ref().filter(|_| self.sums.slices.total().failed > 0);
            return Err(failing.map_or(Refusal::OutOfMemory, |why| Refusal::CannotMerge(why.clone())));
        }
        if self.device_is_full() && self.is_freeing_space() {
            return Err(Refusal::Busy);
        }
        if self.device_is_full() {
            self.counters.refused_space += 1;
            return Err(Refusal::NoSpace);
        }
        if self.merges_are_behind() {
            return Err(Refusal::Busy);
        }
        Ok(())
    }

    fn current_gate(&self) -> Gate {
        match self.options.ack {
            Ack::Durable => Gate(self.log.gate()),
            Ack::Interval { .. } | Ack::Memory => Gate::NONE,
        }
    }

    /// A record of the open segment may name a value file that older ones name, too (the expiry of a large value was
    /// changed): the file outlives those.
    #[inline]
    pub(super) fn note_value_file(&mut self, record: &Record<'_>) {
        if let Some(file) = value_file(record) {
            self.open_values.insert(file);
            for (_, reclaim) in &mut self.retired {
                reclaim.values.retain(|dropped| *dropped != file);
            }
        }
    }

    /// Whether a record that is not sealed yet names value file `file`.
    pub(super) fn buffers_name(&self, file: u64) -> bool {
        self.open_values.contains(&file) || self.frozen.iter().any(|frozen| frozen.values.contains(&file))
    }

    /// Freezes the open segment, if it holds anything, and has it sealed.
    ///
    /// # Errors
    /// [`Refusal::Busy`] while as many frozen segments as are allowed wait for their seal, [`Refusal::NoSpace`] while
    /// that waits for space.
    pub fn seal(&mut self) -> Result<(), Refusal> {
        if self.open.is_empty() { Ok(()) } else { self.freeze() }
    }

    /// Somebody waits for the next seal that ends: it is urgent.
    pub fn await_seal(&mut self) {
        self.seal_awaited = !self.frozen.is_empty();
    }

    fn freeze(&mut self) -> Result<(), Refusal> {
        if self.frozen.len() >= MAX_FROZEN {
            return Err(self.busy_sealing());
        }
        self.freeze_at(self.log.position());
        Ok(())
    }

    /// Freezes the open segment; recovery begins at `start` once it is sealed.
    pub(crate) fn freeze_at(&mut self, start: LogPosition) {
        // What ends at `start` is durable before the manifest names it.
        self.freeze_behind(start, self.log.closed(), Vec::new());
    }

    /// As [`freeze_at`](Self::freeze_at); the seal waits until the log is durable up to `gate`, and tells the manifest of
    /// what was `emptied`.
    pub(super) fn freeze_behind(&mut self, start: LogPosition, gate: u64, emptied: Vec<Emptied>) {
        let empty = self.spare.pop().unwrap_or_else(|| OpenSegment::new(self.segment_bytes));
        let segment = Arc::new(std::mem::replace(&mut self.open, empty));
        let values = std::mem::take(&mut self.open_values);
        self.cleaning.deleted = false;
        let ranges = self.ranges.iter().map(|range| range.mark).collect();
        let age = self.next_age;
        self.next_age += 1;
        self.log_start = start;
        let empties = !emptied.is_empty();
        let segment_to_seal = Arc::clone(&segment);
        let (log_start, reached) = (start, start);
        let seal = Some(Work::Seal { segment: segment_to_seal, age, log_start, reached, ranges, emptied });
        self.frozen.push_back(Frozen { segment, age, seal, empties, gate, log_start: start.page, values });
        self.begin_seals();
    }

    /// Hands on the seals whose gate is durable, in their order.
    pub(super) fn begin_seals(&mut self) {
        let (durable, durable_at) = (self.log.durable(), self.log.durable_at());
        for frozen in &mut self.frozen {
            if frozen.gate > durable {
                break;
            }
            let mut seal = frozen.seal.take();
            if let Some(Work::Seal { reached, .. }) = &mut seal {
                *reached = durable_at;
            }
            self.work.extend(seal);
        }
        let waiting = self.oldest_waiting_seal();
        while let Some((_, work)) = self.behind_seals.pop_front_if(|(age, _)| *age <= waiting) {
            self.work.push_back(work);
        }
    }

    /// Hands on work that builds on what was frozen so far, behind the seals of that.
    pub(super) fn push_behind_seals(&mut self, work: Work) {
        if self.oldest_waiting_seal() == u64::MAX {
            self.work.push_back(work);
        } else {
            self.behind_seals.push_back((self.next_age, work));
        }
    }

    /// Age of the oldest frozen segment whose seal waits for the log.
    fn oldest_waiting_seal(&self) -> u64 {
        self.frozen.iter().find(|frozen| frozen.seal.is_some()).map_or(u64::MAX, |frozen| frozen.age)
    }

    /// The next batch of the commit log to write, if one is due at `now_ms` (a monotonic clock). One at a time.
    pub fn take_batch(&mut self, now_ms: u64) -> Option<Batch> {
        if self.batch_in_flight || self.stopped.is_some() {
            return None;
        }
        if self.log.pending_bytes() == 0 {
            return self.take_mark();
        }
        let since = *self.pending_since_ms.get_or_insert(now_ms);
        if let Ack::Interval { ms } = self.options.ack {
            let due = now_ms >= since + u64::from(ms) || self.closing;
            if !due && self.log.pending_bytes() < INTERVAL_BATCH_BYTES {
                return None;
            }
        }
        let batch = self.log.take()?;
        // A page that goes before the batch keeps nobody waiting.
        if batch.gate > self.log.durable() {
            self.pending_since_ms = None;
        }
        self.counters.batches += 1;
        Some(self.send(batch))
    }

    fn send(&mut self, batch: ClosedBatch) -> Batch {
        self.batch_in_flight = true;
        Batch { first: batch.first, pages: batch.pages, gate: Gate(batch.gate) }
    }

    /// Once a second: when nothing was logged since the last time, the last batch gets a mark behind it, so that damage
    /// to it is not taken for a torn tail by the next opening.
    pub(super) fn mark_when_idle(&mut self) {
        let before = std::mem::replace(&mut self.batches_at_tick, self.counters.batches);
        self.mark_due = before == self.counters.batches;
    }

    /// The mark that the log gets when it has been idle, at once: the store has just been opened.
    pub(crate) fn take_first_mark(&mut self) -> Option<Batch> {
        self.mark_due = true;
        self.take_batch(0)
    }

    #[inline]
    fn take_mark(&mut self) -> Option<Batch> {
        // A clean stop records where the log ends: nothing is written behind that.
        if !std::mem::take(&mut self.mark_due) || self.closing {
            return None;
        }
        let mark = self.log.take_mark()?;
        self.counters.marks += 1;
        Some(self.send(mark))
    }

    /// When [`take_batch`](Self::take_batch) becomes due, on the same clock; `None` when nothing waits for time to pass.
    pub fn batch_deadline_ms(&self) -> Option<u64> {
        let Ack::Interval { ms } = self.options.ack else {
            return None;
        };
        (!self.batch_in_flight).then_some(self.pending_since_ms? + u64::from(ms))
    }

    /// Begins a clean stop: unsynced records leave at once, whatever the interval, and in memory mode what is not sealed
    /// is.
    pub fn hurry(&mut self) {
        self.closing = true;
        self.seal_to_stop();
    }

    /// In memory mode a stop seals; with all frozen segments in use, the next seal that completes comes back here.
    pub(super) fn seal_to_stop(&mut self) {
        if self.closing && self.options.ack == Ack::Memory {
            let _ = self.seal();
        }
    }

    /// Takes note of what a batch came to. A failure stops the store: what a failed sync left is unknown, and trying
    /// again would prove nothing.
    pub fn committed(&mut self, committed: Committed) {
        self.batch_in_flight = false;
        match committed.result {
            Ok(()) => {
                self.log.written(committed.batch.gate.0, committed.batch.pages);
                self.begin_seals();
            }
            Err(error) => self.fail("writing the commit log", &error),
        }
    }

    pub(super) fn fail(&mut self, what: &str, error: &FlashError) {
        self.stop(format!("{what} failed: {error}"));
    }

    /// Empties the store: at once (`at` 0 or past), or at Unix second `at`. Records appended later survive.
    ///
    /// # Errors
    /// [`Refusal::Busy`], [`Refusal::NoSpace`], [`Refusal::Stopped`]; nothing has changed.
    pub fn flush_all(&mut self, at: u32, now: u32) -> Result<Gate, Refusal> {
        self.fire_flushes(now);
        if let Some(why) = &self.stopped {
            return Err(Refusal::Stopped(why.clone()));
        }
        let deadline = if at <= now { 0 } else { at };
        let watermark = self.highest_seq();
        let entry = if deadline == 0 { Entry::Flush { watermark } } else { Entry::FlushScheduled { deadline } };
        self.log_for_all(&entry)?;
        if deadline == 0 {
            self.flush_to(watermark);
            self.note_flush_gate();
        } else {
            self.schedule_flush(deadline);
        }
        self.note_next_flush();
        if deadline == 0 {
            self.count_as_flushed();
        }
        Ok(self.current_gate())
    }

    /// Highest sequence number given out in any range.
    pub(super) fn highest_seq(&self) -> u64 {
        self.ranges.iter().map(|range| range.mark.last_seq).max().unwrap_or(0)
    }

    /// All ranges go on numbering above `seq`. One numbering for all keeps the order of numbers and that of the log the
    /// same, whatever ranges are cut and joined: recovery and flushes rely on it.
    #[inline]
    pub(super) fn number_from(&mut self, seq: u64) {
        for range in &mut self.ranges {
            range.mark.last_seq = range.mark.last_seq.max(seq);
        }
    }

    /// Empties all ranges up to `watermark`, which all of them number on from: one watermark then holds for every range
    /// that may yet be cut out of them or joined from them.
    pub(super) fn flush_to(&mut self, watermark: u64) {
        for range in &mut self.ranges {
            range.mark.last_seq = range.mark.last_seq.max(watermark);
            range.mark.flush_watermark = range.mark.flush_watermark.max(watermark);
            range.mark.flush_deadline = 0;
        }
    }

    pub(super) fn schedule_flush(&mut self, deadline: u32) {
        for range in &mut self.ranges {
            range.mark.flush_deadline = deadline;
        }
    }

    /// A flush was logged just now.
    fn note_flush_gate(&mut self) {
        self.flush_gate = self.current_gate();
        self.flush_logged = self.log.gate();
    }

    pub(super) fn set_flush(&mut self, number: usize, watermark: u64, deadline: u32) {
        let mark: &mut RangeMark = &mut self.ranges[number].mark;
        mark.flush_watermark = watermark;
        mark.flush_deadline = deadline;
    }

    /// For the figures alone: what was there is gone.
    fn count_as_flushed(&mut self) {
        let watermark = self.ranges.iter().map(|range| range.mark.last_seq).max().unwrap_or(0);
        self.open.flush(watermark);
        self.flushed_entries = self.entries_beside_open();
    }

    pub(super) fn note_next_flush(&mut self) {
        let deadlines = self.ranges.iter().map(|range| range.mark.flush_deadline).filter(|deadline| *deadline > 0);
        self.next_flush = deadlines.min().map_or(NO_FLUSH, u64::from);
    }

    /// Carries out flushes whose time has come.
    #[inline]
    pub(super) fn fire_flushes(&mut self, now: u32) {
        if u64::from(now) >= self.next_flush {
            self.fire_due_flushes();
        }
    }

    #[cold]
    fn fire_due_flushes(&mut self) {
        self.flush_to(self.highest_seq());
        self.unlogged_flush = true;
        self.count_as_flushed();
        self.note_next_flush();
        // When the log is full now, the next append tries again before it appends anything.
        let _ = self.log_flushes();
    }

    /// Logs the watermarks of flushes that fired; nothing is appended before they are logged, so that recovery, which
    /// fires a scheduled flush by itself, finds nothing newer that it would cover.
    fn log_flushes(&mut self) -> Result<(), Refusal> {
        let watermark = self.ranges.iter().map(|range| range.mark.flush_watermark).max().unwrap_or(0);
        self.log_for_all(&Entry::Flush { watermark })?;
        self.unlogged_flush = false;
        self.note_flush_gate();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::REFUSED;
    use crate::flash::{FileId, Flash as _};
    use crate::open::OpenError;
    use crate::options::Options;
    use crate::segment::tests::Memory;
    use fawn_ring::Secret;

    #[test]
    fn a_put_that_finds_no_memory_is_refused_and_the_next_one_asks_again() {
        let flash = Memory::default();
        let sizes = Options::new(Secret([7; 32]), 8 << 20);
        let options = Options { slices: 1, log_pages: 64, segment_bytes: 1 << 16, ..sizes };
        let (mut store, _, _) = Store::open(options.clone(), &flash, 1).unwrap();
        let key = store.secret().position(b"key");
        let put = |store: &mut Store| store.append(&key, Write::value(b"key", b"value"), 1).err();
        REFUSED.set(true);
        for _ in 0..2 {
            assert_eq!(put(&mut store), Some(Refusal::OutOfMemory));
        }
        assert!(store.stopped().is_none() && store.take_batch(0).is_none(), "nothing has changed");
        REFUSED.set(false);
        assert_eq!(put(&mut store), None);
        let batch = store.take_batch(0).unwrap();
        flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages()).unwrap();
        drop(store);
        // What the log has is not lost to an opening without memory.
        REFUSED.set(true);
        let refused = Store::open(options.clone(), &flash, 1).err();
        assert!(matches!(refused, Some(OpenError::Flash(FlashError::Transient(_)))), "{refused:?}");
        REFUSED.set(false);
        assert_eq!(Store::open(options, &flash, 1).unwrap().2.replayed, 1);
    }
}
