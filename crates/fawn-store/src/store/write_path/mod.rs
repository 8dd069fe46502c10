//! The write path: a record's way from its number to the open segment, the commit log and the seal.
//!
//! [`WritePath`] owns everything that is not sealed. To *freeze* is to set the open segment aside, with the place in the
//! log at which recovery begins once it is sealed; its seal waits until the log is durable up to there.
//!
//! # Layout
//!
//! * `replication`: writes that the owner of replicated ranges has logged and numbered. `replay`: records from the log.

mod replay;
mod replication;

use fawn_ring::{Interval, Key};

pub use self::replication::Replication;
use super::contents::StoreContents;
use super::stats::{WriteStats, WrittenBytes};
use super::upkeep::Upkeep;
use super::work_queue::WorkQueue;
use crate::api::{Batch, Gate, Refusal, Write, WrittenBatch};
use crate::buffers::WriteBuffers;
use crate::format::manifest::EmptiedInterval;
use crate::format::page::PAGE_BYTES;
use crate::format::record::{Kind, Record};
use crate::log::{ENTRY_HEADER_BYTES, Entry, GroupCommit, LogFull, LogPosition};
use crate::merge::value_file;
use crate::ranges::RangeTable;

/// Everything that is written and not sealed, and how it gets there.
pub(super) struct WritePath {
    buffers: WriteBuffers,
    log: GroupCommit,
    ranges: RangeTable,
    stats: WriteStats,
    /// Something was deleted since the open segment froze last: it waits for its seal.
    deleted: bool,
    /// An operation waits for the seal that is under way.
    seal_awaited: bool,
    /// Entries of frozen and sealed segments that `flush_all` made void and no merge has dropped yet, about.
    flushed_entries: u64,
    /// Number of the next value file.
    next_value: u64,
    /// Why nothing is written any more.
    stopped: Option<String>,
}

impl WritePath {
    /// That of a store whose log is about to be replayed. So much was written before; of what is sealed,
    /// `flushed_entries` are void; value files are numbered from `next_value` on.
    pub(super) fn new(
        (buffers, log, ranges): (WriteBuffers, GroupCommit, RangeTable),
        written: WrittenBytes,
        flushed_entries: u64,
        next_value: u64,
    ) -> Self {
        Self {
            buffers,
            log,
            ranges,
            stats: WriteStats::beginning_with(written),
            deleted: false,
            seal_awaited: false,
            flushed_entries,
            next_value,
            stopped: None,
        }
    }

    /// The open segment and the frozen ones.
    #[inline]
    pub(super) fn buffers(&self) -> &WriteBuffers {
        &self.buffers
    }

    /// The commit log.
    #[inline]
    pub(super) fn log(&self) -> &GroupCommit {
        &self.log
    }

    /// Numbering and flushes.
    #[inline]
    pub(super) fn ranges(&self) -> &RangeTable {
        &self.ranges
    }

    /// Why nothing is written any more.
    pub(super) fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Nothing is written from here on; the first reason counts.
    pub(super) fn stop(&mut self, why: String) {
        self.stopped.get_or_insert(why);
    }

    /// # Errors
    /// [`Refusal::Stopped`].
    #[inline]
    pub(super) fn check_running(&self) -> Result<(), Refusal> {
        match &self.stopped {
            None => Ok(()),
            Some(why) => Err(Refusal::Stopped(why.clone())),
        }
    }

    /// The number of a new value file.
    pub(super) fn new_value_file(&mut self) -> u64 {
        let number = self.next_value;
        self.next_value += 2;
        number
    }

    /// The next version of a key, and the instance of its range.
    #[inline]
    pub(super) fn next_version<'w>(&self, key: &Key, write: Write<'w>) -> (u64, Record<'w>) {
        let range = self.ranges.of(key);
        let record = Record {
            kind: write.kind,
            marks: write.marks,
            epoch: range.epoch,
            seq: range.mark.last_seq + 1,
            client_flags: write.client_flags,
            expiry: write.expiry,
            client_cas: write.client_cas,
            key: write.key,
            value: write.value,
        };
        (range.mark.instance, record)
    }

    /// Makes room for a record of `len` bytes, or says why there is none.
    pub(super) fn admit(
        &mut self,
        kind: Kind,
        len: usize,
        upkeep: &Upkeep,
        work: &mut WorkQueue,
    ) -> Result<(), Refusal> {
        self.check_running()?;
        if self.ranges.has_unlogged_flush() {
            self.log_flushes(upkeep, work)?;
        }
        // Before a value is given a file of its own because it is too large.
        if kind != Kind::Delete {
            upkeep.check_put().inspect_err(|refusal| self.stats.refuse(refusal))?;
        }
        if len > self.buffers.segment_bytes() / 4 {
            return Err(Refusal::TooLarge);
        }
        if !self.buffers.open().fits(len) {
            self.freeze_when_free(upkeep, work)?;
        }
        if !self.buffers.open_mut().has_memory() {
            self.stats.refuse(&Refusal::OutOfMemory);
            return Err(Refusal::OutOfMemory);
        }
        match self.log.fits(len + ENTRY_HEADER_BYTES) {
            Ok(()) => Ok(()),
            Err(LogFull::TooLarge) => Err(Refusal::TooLarge),
            Err(LogFull::Batch) => Err(Refusal::Busy),
            Err(LogFull::Ring) => Err(self.make_room_in_log(upkeep, work)),
        }
    }

    /// Appends a record of `len` bytes that was [admitted](Self::admit) to the open segment and, under its range's
    /// `instance`, to the log.
    /// Returns the gate of the answer.
    #[inline]
    pub(super) fn append(&mut self, key: &Key, instance: u64, record: &Record<'_>, len: usize) -> Gate {
        let gate = self.log.current_gate();
        let (bytes, superseded) = self.buffers.append(key, gate, record);
        self.log.append_record(instance, bytes);
        self.ranges.number_from(record.seq);
        self.note_record(record, len, superseded);
        gate
    }

    #[inline]
    fn note_record(&mut self, record: &Record<'_>, len: usize, superseded: bool) {
        // Older records may name the file, too (the expiry of a large value was changed): it outlives those.
        if let Some(file) = value_file(record) {
            self.buffers.note_value_file(file);
        }
        self.stats.append(len, superseded);
        self.deleted |= record.kind == Kind::Delete;
    }

    /// The ring is full of what is not sealed yet: seals early (flushes alone fill it, too), to go on when that is done.
    fn make_room_in_log(&mut self, upkeep: &Upkeep, work: &mut WorkQueue) -> Refusal {
        if self.buffers.frozen_count() == 0 {
            self.freeze_at(self.log.writer().position(), work);
        }
        self.busy_sealing(upkeep)
    }

    /// Why what needs another segment sealed is refused. Without space on the device there is no telling when it will be.
    fn busy_sealing(&mut self, upkeep: &Upkeep) -> Refusal {
        if upkeep.waits_for_space() {
            self.stats.refuse(&Refusal::NoSpace);
            return Refusal::NoSpace;
        }
        self.seal_awaited = true;
        Refusal::Busy
    }

    /// Whether something was deleted since the open segment froze last.
    pub(super) fn holds_deletes(&self) -> bool {
        self.deleted
    }

    /// Freezes the open segment, if it holds anything.
    ///
    /// # Errors
    /// [`Refusal::Busy`] while as many frozen segments as are allowed wait for their seal, [`Refusal::NoSpace`] while
    /// that waits for space.
    pub(super) fn seal(&mut self, upkeep: &Upkeep, work: &mut WorkQueue) -> Result<(), Refusal> {
        if self.buffers.open().is_empty() { Ok(()) } else { self.freeze_when_free(upkeep, work) }
    }

    fn freeze_when_free(&mut self, upkeep: &Upkeep, work: &mut WorkQueue) -> Result<(), Refusal> {
        if self.buffers.is_full() {
            return Err(self.busy_sealing(upkeep));
        }
        self.freeze_at(self.log.writer().position(), work);
        Ok(())
    }

    /// Freezes the open segment; recovery begins at `start` once it is sealed.
    pub(super) fn freeze_at(&mut self, start: LogPosition, work: &mut WorkQueue) {
        // What ends at `start` is durable before the manifest names it.
        self.freeze_behind(start, self.log.writer().closed(), Vec::new(), work);
    }

    /// As [`freeze_at`](Self::freeze_at); the seal waits until the log is durable up to `gate`, and tells the manifest of
    /// what was `emptied`.
    pub(super) fn freeze_behind(
        &mut self,
        start: LogPosition,
        gate: u64,
        emptied: Vec<EmptiedInterval>,
        work: &mut WorkQueue,
    ) {
        self.buffers.freeze(start, gate, self.ranges.marks(), emptied);
        self.deleted = false;
        self.log.set_start(start);
        work.begin_seals(&mut self.buffers, &self.log);
    }

    /// The next seal that ends is urgent.
    pub(super) fn await_seal(&mut self) {
        self.seal_awaited = self.buffers.frozen_count() > 0;
    }

    /// Whether an operation waits for the seal that is under way.
    pub(super) fn awaits_seal(&self) -> bool {
        self.seal_awaited
    }

    /// A seal has written so many bytes.
    pub(super) fn note_seal(&mut self, bytes: u64) {
        self.seal_awaited = false;
        self.stats.written.sealed += bytes;
    }

    /// The oldest frozen segment is durable and indexed: drops it and recycles the log.
    pub(super) fn drop_sealed(&mut self) {
        self.log.recycle_to(self.buffers.drop_sealed());
    }

    /// A merge has written so many bytes.
    pub(super) fn note_merge(&mut self, bytes: u64) {
        self.stats.written.merged += bytes;
    }

    /// Begins a clean stop: batches leave at once, and in memory mode what is not sealed is.
    pub(super) fn begin_stop(&mut self, upkeep: &Upkeep, work: &mut WorkQueue) {
        self.log.close();
        self.seal_to_stop(upkeep, work);
    }

    /// In memory mode a stop seals; with all frozen segments in use, the next seal that completes comes back here.
    pub(super) fn seal_to_stop(&mut self, upkeep: &Upkeep, work: &mut WorkQueue) {
        if self.log.closes_by_sealing() {
            let _ = self.seal(upkeep, work);
        }
    }

    /// Whether nothing waits for a sync, nor a stop for a seal.
    pub(super) fn is_idle(&self) -> bool {
        let waits_for_seal = self.log.closes_by_sealing() && !self.buffers.is_empty();
        self.log.is_synced() && !waits_for_seal
    }

    /// The next batch to write, if one is due at `now_ms`.
    pub(super) fn take_batch(&mut self, now_ms: u64) -> Option<Batch> {
        if self.stopped.is_some() { None } else { self.log.take_batch(now_ms) }
    }

    /// Takes note of what a batch came to. A failure stops the store: what a failed sync left is unknown, and trying
    /// again would prove nothing.
    pub(super) fn committed(&mut self, committed: WrittenBatch, work: &mut WorkQueue) {
        self.log.end_flight();
        match committed.result {
            Ok(()) => {
                self.log.written(committed.batch.gate, committed.batch.pages);
                work.begin_seals(&mut self.buffers, &self.log);
            }
            Err(error) => self.stop(format!("writing the commit log failed: {error}")),
        }
    }

    /// To be called about once a second: what the log has been idle for gets a mark.
    pub(super) fn mark_when_idle(&mut self) {
        self.log.mark_when_idle();
    }

    /// Carries out flushes whose time has come.
    #[inline]
    pub(super) fn fire_flushes(&mut self, now: u32, upkeep: &Upkeep, work: &mut WorkQueue) {
        if self.ranges.is_flush_due(now) {
            self.fire_due_flushes(upkeep, work);
        }
    }

    #[cold]
    fn fire_due_flushes(&mut self, upkeep: &Upkeep, work: &mut WorkQueue) {
        self.ranges.fire_flush();
        self.count_as_flushed(upkeep);
        self.ranges.find_next_flush();
        // When the log is full now, the next append tries again before it appends anything.
        let _ = self.log_flushes(upkeep, work);
    }

    /// Logs the watermarks of flushes that fired; nothing is appended before they are logged, so that recovery, which
    /// fires a scheduled flush by itself, finds nothing newer that it would cover.
    fn log_flushes(&mut self, upkeep: &Upkeep, work: &mut WorkQueue) -> Result<(), Refusal> {
        let watermark = self.ranges.highest_flushed();
        self.log_for_all(&Entry::Flush { watermark }, upkeep, work)?;
        self.ranges.note_flush_is_logged();
        self.ranges.note_flush_gate(self.log.current_gate(), self.log.writer().gate());
        Ok(())
    }

    /// Logs an entry for all ranges.
    fn log_for_all(&mut self, entry: &Entry<'_>, upkeep: &Upkeep, work: &mut WorkQueue) -> Result<(), Refusal> {
        match self.log.append_for_all(entry) {
            Ok(()) => Ok(()),
            Err(LogFull::Ring) => Err(self.make_room_in_log(upkeep, work)),
            Err(LogFull::Batch | LogFull::TooLarge) => Err(Refusal::Busy),
        }
    }

    /// Makes everything that was appended void, at once or at Unix second `deadline`. Returns the gate of the answer.
    ///
    /// # Errors
    /// [`Refusal::Busy`], [`Refusal::NoSpace`], [`Refusal::Stopped`]; nothing has changed.
    pub(super) fn flush_all(
        &mut self,
        deadline: Option<u32>,
        upkeep: &Upkeep,
        work: &mut WorkQueue,
    ) -> Result<Gate, Refusal> {
        self.check_running()?;
        if let Some(deadline) = deadline {
            self.log_for_all(&Entry::FlushScheduled { deadline }, upkeep, work)?;
            self.ranges.schedule_flush(deadline);
            self.ranges.find_next_flush();
        } else {
            let watermark = self.ranges.highest_seq();
            self.log_for_all(&Entry::Flush { watermark }, upkeep, work)?;
            self.ranges.flush_to(watermark);
            self.ranges.note_flush_gate(self.log.current_gate(), self.log.writer().gate());
            self.ranges.find_next_flush();
            self.count_as_flushed(upkeep);
        }
        Ok(self.log.current_gate())
    }

    /// For the figures alone: what was there is gone.
    fn count_as_flushed(&mut self, upkeep: &Upkeep) {
        self.buffers.open_mut().flush(self.ranges.highest_seq());
        self.flushed_entries = StoreContents::new(&self.buffers, upkeep).entries_beside_open();
    }

    /// Entries of frozen and sealed segments that `flush_all` made void and no merge has dropped yet, about.
    pub(super) fn flushed_entries(&self) -> u64 {
        self.flushed_entries
    }

    /// A merge has dropped so many entries, or a seal has superseded so many that were flushed.
    pub(super) fn note_dropped(&mut self, entries: u64) {
        self.flushed_entries = self.flushed_entries.saturating_sub(entries);
    }

    /// The ranges as they now are: instance, keys, epoch.
    pub(super) fn replace_ranges(&mut self, ranges: &[(u64, Interval, u32)]) {
        self.ranges.replace(ranges);
    }

    /// Appends and what was written to the device.
    pub(super) fn stats(&self) -> WriteStats {
        let written = self.stats.written;
        WriteStats {
            written: WrittenBytes {
                user: written.user + self.stats.bytes,
                log: written.log.max(self.log.writer().position().page * PAGE_BYTES as u64),
                ..written
            },
            ..self.stats.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::buffers::REFUSED;
    use crate::flash::{FileId, Flash as _, FlashError};
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
        let key = store.options().secret.position(b"key");
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
