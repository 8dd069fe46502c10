//! Appends, freezing, group commit and `flush_all`.

use fawn_ring::Key;

use super::Store;
use crate::api::{Appended, Batch, Committed, Gate, Refusal, Write};
use crate::flash::FlashError;
use crate::format::manifest::Emptied;
use crate::format::record::{Kind, Record};
use crate::log::{ENTRY_HEADER_BYTES, Entry, LogFull, LogPosition};
use crate::merge::value_file;

impl Store {
    /// Appends a version of `write.key`, whose position is `key`. The answer to whoever asked waits for the gate.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed.
    #[inline]
    pub fn append(&mut self, key: &Key, write: Write<'_>, now: u32) -> Result<Appended, Refusal> {
        self.now = now;
        self.fire_flushes(now);
        let range = self.ranges.of(key);
        let (instance, last_seq, epoch) = (range.mark.instance, range.mark.last_seq, range.epoch);
        let record = Record {
            kind: write.kind,
            marks: write.marks,
            epoch,
            seq: last_seq + 1,
            client_flags: write.client_flags,
            expiry: write.expiry,
            client_cas: write.client_cas,
            key: write.key,
            value: write.value,
        };
        let len = record.encoded_len();
        self.admit(write.kind, len)?;
        let gate = self.log.current_gate();
        let (bytes, superseded) = self.buffers.append(key, gate, &record);
        self.log.append_record(instance, bytes);
        self.cache.remove(key);
        self.ranges.number_from(record.seq);
        self.note_value_file(&record);
        self.write_stats.append(len, superseded);
        self.cleaner.note_put(len, write.kind == Kind::Delete);
        Ok(Appended { seq: record.seq, gate })
    }

    /// Makes room for a record of `len` bytes, or says why there is none.
    fn admit(&mut self, kind: Kind, len: usize) -> Result<(), Refusal> {
        if let Some(why) = &self.stopped {
            return Err(Refusal::Stopped(why.clone()));
        }
        if self.ranges.has_unlogged_flush() {
            self.log_flushes()?;
        }
        // Before a value is given a file of its own because it is too large.
        if kind != Kind::Delete {
            self.refuse_when_full()?;
        }
        if len > self.buffers.segment_bytes() / 4 {
            return Err(Refusal::TooLarge);
        }
        if !self.buffers.open().fits(len) {
            self.freeze()?;
        }
        if !self.buffers.open_mut().has_memory() {
            self.write_stats.refused_memory += 1;
            return Err(Refusal::OutOfMemory);
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
        if self.buffers.frozen_count() == 0 {
            self.freeze_at(self.log.writer().position());
        }
        self.busy_sealing()
    }

    /// Why what needs another segment sealed is refused. Without space on the device there is no telling when it will be.
    fn busy_sealing(&mut self) -> Refusal {
        if self.waits_for_space() {
            self.write_stats.refused_space += 1;
            return Refusal::NoSpace;
        }
        self.seal_awaited = true;
        Refusal::Busy
    }

    /// Logs an entry for all ranges.
    fn log_for_all(&mut self, entry: &Entry<'_>) -> Result<(), Refusal> {
        match self.log.append_for_all(entry) {
            Ok(()) => Ok(()),
            Err(LogFull::Ring) => Err(self.make_room_in_log()),
            Err(LogFull::Batch | LogFull::TooLarge) => Err(Refusal::Busy),
        }
    }

    /// A record of the open segment may name a value file that older ones name, too (the expiry of a large value was
    /// changed): the file outlives those.
    #[inline]
    pub(super) fn note_value_file(&mut self, record: &Record<'_>) {
        if let Some(file) = value_file(record) {
            self.buffers.note_value_file(file);
            self.reads.keep_value_file(file);
        }
    }

    /// Freezes the open segment, if it holds anything, and has it sealed.
    ///
    /// # Errors
    /// [`Refusal::Busy`] while as many frozen segments as are allowed wait for their seal, [`Refusal::NoSpace`] while
    /// that waits for space.
    pub fn seal(&mut self) -> Result<(), Refusal> {
        if self.buffers.open().is_empty() { Ok(()) } else { self.freeze() }
    }

    /// Somebody waits for the next seal that ends: it is urgent.
    pub fn await_seal(&mut self) {
        self.seal_awaited = self.buffers.frozen_count() > 0;
    }

    fn freeze(&mut self) -> Result<(), Refusal> {
        if self.buffers.is_full() {
            return Err(self.busy_sealing());
        }
        self.freeze_at(self.log.writer().position());
        Ok(())
    }

    /// Freezes the open segment; recovery begins at `start` once it is sealed.
    pub(crate) fn freeze_at(&mut self, start: LogPosition) {
        // What ends at `start` is durable before the manifest names it.
        self.freeze_behind(start, self.log.writer().closed(), Vec::new());
    }

    /// As [`freeze_at`](Self::freeze_at); the seal waits until the log is durable up to `gate`, and tells the manifest of
    /// what was `emptied`.
    pub(super) fn freeze_behind(&mut self, start: LogPosition, gate: u64, emptied: Vec<Emptied>) {
        self.buffers.freeze(start, gate, self.ranges.marks(), emptied);
        self.cleaner.note_freeze();
        self.log.set_start(start);
        self.work.begin_seals(&mut self.buffers, &self.log);
    }

    /// The next batch of the commit log to write, if one is due at `now_ms` (a monotonic clock). One at a time.
    pub fn take_batch(&mut self, now_ms: u64) -> Option<Batch> {
        if self.stopped.is_some() { None } else { self.log.take_batch(now_ms) }
    }

    /// The mark that the log gets when it has been idle, at once: the store has just been opened.
    pub(crate) fn take_first_mark(&mut self) -> Option<Batch> {
        if self.stopped.is_some() { None } else { self.log.take_first_mark() }
    }

    /// When [`take_batch`](Self::take_batch) becomes due, on the same clock; `None` when nothing waits for time to pass.
    pub fn batch_deadline_ms(&self) -> Option<u64> {
        self.log.batch_deadline_ms()
    }

    /// Begins a clean stop: unsynced records leave at once, whatever the interval, and in memory mode what is not sealed
    /// is.
    pub fn hurry(&mut self) {
        self.log.close();
        self.seal_to_stop();
    }

    /// In memory mode a stop seals; with all frozen segments in use, the next seal that completes comes back here.
    pub(super) fn seal_to_stop(&mut self) {
        if self.log.closes_by_sealing() {
            let _ = self.seal();
        }
    }

    /// Takes note of what a batch came to. A failure stops the store: what a failed sync left is unknown, and trying
    /// again would prove nothing.
    pub fn committed(&mut self, committed: Committed) {
        self.log.end_flight();
        match committed.result {
            Ok(()) => {
                self.log.written(committed.batch.gate, committed.batch.pages);
                self.work.begin_seals(&mut self.buffers, &self.log);
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
        let watermark = self.ranges.highest_seq();
        let entry = if deadline == 0 { Entry::Flush { watermark } } else { Entry::FlushScheduled { deadline } };
        self.log_for_all(&entry)?;
        if deadline == 0 {
            self.ranges.flush_to(watermark);
            self.ranges.note_flush_gate(self.log.current_gate(), self.log.writer().gate());
        } else {
            self.ranges.schedule_flush(deadline);
        }
        self.ranges.find_next_flush();
        if deadline == 0 {
            self.count_as_flushed();
        }
        Ok(self.log.current_gate())
    }

    /// For the figures alone: what was there is gone.
    fn count_as_flushed(&mut self) {
        self.buffers.open_mut().flush(self.ranges.highest_seq());
        self.flushed_entries = self.contents().entries_beside_open();
    }

    /// Carries out flushes whose time has come.
    #[inline]
    pub(super) fn fire_flushes(&mut self, now: u32) {
        if self.ranges.is_flush_due(now) {
            self.fire_due_flushes();
        }
    }

    #[cold]
    fn fire_due_flushes(&mut self) {
        self.ranges.fire_flush();
        self.count_as_flushed();
        self.ranges.find_next_flush();
        // When the log is full now, the next append tries again before it appends anything.
        let _ = self.log_flushes();
    }

    /// Logs the watermarks of flushes that fired; nothing is appended before they are logged, so that recovery, which
    /// fires a scheduled flush by itself, finds nothing newer that it would cover.
    fn log_flushes(&mut self) -> Result<(), Refusal> {
        let watermark = self.ranges.highest_flushed();
        self.log_for_all(&Entry::Flush { watermark })?;
        self.ranges.note_flush_is_logged();
        self.ranges.note_flush_gate(self.log.current_gate(), self.log.writer().gate());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::REFUSED;
    use crate::flash::{FileId, Flash as _};
    use crate::format::segment::tests::Memory;
    use crate::open::OpenError;
    use crate::options::Options;
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
