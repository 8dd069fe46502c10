//! Replicated ranges: the owner of a range keeps its log and its state here, and says what of it is committed.
//!
//! A chain's log ends in records that are durable but not committed, and may yet be cut off. So a store of replicated
//! ranges logs bytes that mean nothing to it ([`log_range`](Store::log_range)), and takes committed versions, numbered by
//! the chain, one by one ([`append_committed`](Store::append_committed)): lookups and seals see only these.
//!
//! Recovery may begin only where the log says all that the owner must know. So before a seal can move the log's start,
//! the owner writes a *checkpoint*, the whole state of all of its ranges, as one group of entries
//! ([`checkpoint`](Store::checkpoint)): the open segment freezes right behind it, and once that is sealed, recovery begins
//! with the checkpoint. A segment that fills up in between is frozen and sealed without moving the start; what recovery
//! finds in the log is then in a segment already, and is put in once more. A seal waits until everything that was logged
//! before it froze is durable: no segment holds what a crash could take out of the log.
//!
//! A stretch of keys that is emptied is void for ever, whatever its records are numbered (a copy brings old numbers back):
//! records are told apart by the age of their segment.

use fawn_ring::{Interval, Key};

use super::Store;
use crate::api::{Finished, Gate, Lookup, Read, Refusal};
use crate::buffers::UNLOGGED;
use crate::cleaner::lacks_numbers;
use crate::format::page::Page;
use crate::format::record::{Kind, Record};
use crate::log::{ENTRY_HEADER_BYTES, Entry, LogFull, LogPosition};
use crate::work::{Versions, Wanted, Work};

/// Why a store stops whose log has records that its memory has no room for.
const NO_MEMORY: &str = "the system has no memory for the committed records: give the process more, and start it again";

impl Store {
    /// Appends what the owner of a range writes to the log. It is durable once [`logged`](Self::logged) reaches the gate.
    /// A [`checkpoint`](Self::checkpoint) of as many bytes as the first of `reserves`, headers of entries included, will
    /// still find room, and after a restart one of the second.
    ///
    /// # Errors
    /// [`Refusal::Busy`] until a batch is written or a checkpoint sealed, [`Refusal::NoSpace`] while that seal waits for
    /// space on the device, [`Refusal::TooLarge`], [`Refusal::Stopped`].
    pub fn log_range(
        &mut self,
        instance: u64,
        bytes: &[u8],
        (reserve, after_restart): (usize, usize),
    ) -> Result<Gate, Refusal> {
        self.refuse_when_stopped()?;
        let entry = Entry::Range(bytes);
        let len = entry.encoded_len();
        let log = self.log.writer();
        let logged = log.fits_beside(len, reserve).and_then(|()| log.fits_apart(len, after_restart));
        let logged = logged.and_then(|()| self.log.append_together(&[(instance, entry)]));
        logged.map(Gate).map_err(|full| match full {
            LogFull::TooLarge if bytes.len() <= self.longest_entry() => Refusal::Busy,
            full => self.refusal(full),
        })
    }

    /// Writes the whole state of all ranges to the log, and freezes the open segment: once that is sealed, recovery
    /// begins here.
    ///
    /// # Errors
    /// As [`log_range`](Self::log_range); nothing has changed.
    pub fn checkpoint(&mut self, states: &[(u64, Vec<u8>)]) -> Result<Gate, Refusal> {
        self.refuse_when_stopped()?;
        let start = self.log.writer().position();
        let entries: Vec<_> = states.iter().map(|(instance, bytes)| (*instance, Entry::Range(bytes))).collect();
        let gate = self.log.append_together(&entries).map_err(|full| self.refusal(full))?;
        self.give_gate(gate);
        let emptied = self.sealed.emptied_mut().take_unrecorded();
        self.freeze_behind(start, gate, emptied);
        Ok(Gate(gate))
    }

    /// Where the batch begins that is being handed back to the owner while the store opens.
    pub fn replayed_at(&self) -> LogPosition {
        self.log.replayed_at()
    }

    /// A checkpoint that the log handed back, whose batch begins at `start`, was carried out, with what came behind it:
    /// recovery begins there from now on, once what is open is sealed, unless it does so already.
    pub fn end_checkpoint(&mut self, start: LogPosition) {
        if start.page > self.log.start().page {
            let emptied = self.sealed.emptied_mut().take_unrecorded();
            self.freeze_behind(start, 0, emptied);
        }
    }

    /// Whether the newest checkpoint's seal is still to come.
    pub fn awaits_checkpoint(&self) -> bool {
        self.log.awaits_checkpoint()
    }

    /// Whether a checkpoint pays, and none is on its way: so much of the log is full (half of it, or a quarter when
    /// something is `refused` already), or something was emptied.
    pub fn wants_checkpoint(&self, refused: bool) -> bool {
        let pays = self.log.is_full_enough(refused) || self.sealed.emptied().has_unrecorded();
        !self.log.awaits_checkpoint() && pays
    }

    /// Bytes of entries that the next batch of the log holds.
    pub fn unbatched_bytes(&self) -> usize {
        self.log.writer().pending_bytes()
    }

    /// Up to here the log is durable, whatever answers wait for.
    pub fn logged(&self) -> Gate {
        Gate(self.log.writer().durable())
    }

    /// Whether a record still fits the open segment, so that [`append_committed`](Self::append_committed) will not freeze
    /// it.
    pub fn has_room_for(&self, record: &Record<'_>) -> bool {
        self.buffers.open().fits(record.encoded_len())
    }

    /// Takes a committed version, whose bytes are in the log already: from here on it is the newest of its key. How much is
    /// taken before it is sealed is bounded by the log alone.
    ///
    /// # Errors
    /// [`Refusal::Stopped`].
    pub fn append_committed(&mut self, key: &Key, record: &Record<'_>) -> Result<(), Refusal> {
        self.refuse_when_stopped()?;
        if !self.has_room_for(record) {
            self.freeze_unsealed();
            self.buffers.make_fit(record);
        }
        if !self.buffers.has_memory_for(record) {
            return Err(Refusal::Stopped(NO_MEMORY.to_owned()));
        }
        let (_, superseded) = self.buffers.append(key, Gate::NONE, record);
        self.cache.remove(key);
        self.note_value_file(record);
        self.write_stats.append(record.encoded_len(), superseded);
        self.cleaner.note_put(record.encoded_len(), record.kind == Kind::Delete);
        Ok(())
    }

    /// No number above this was given out yet. It grows with every opening.
    pub fn last_number(&self) -> u64 {
        self.ranges.highest_seq()
    }

    /// Up to which number everything was flushed, and the Unix second of a flush that is due, or 0.
    pub fn flushes(&self) -> (u64, u32) {
        self.ranges.flushes()
    }

    /// The owner of ranges says from here on what was flushed.
    pub fn forget_flushes(&mut self) {
        self.ranges.forget_flushes();
        self.flushed_entries = 0;
        self.buffers.open_mut().forget_flush();
    }

    /// Freezes the open segment, if it holds anything, without moving the log's start.
    pub fn freeze_unsealed(&mut self) {
        if !self.buffers.open().is_empty() {
            let gate = if self.log.is_unlogged() { UNLOGGED } else { self.log.gate_of_everything() };
            self.freeze_behind(self.log.start(), if self.log.is_replaying() { 0 } else { gate }, Vec::new());
        }
    }

    /// Whether something that shows in what was taken has not found room in the log yet: what freezes meanwhile waits until
    /// it has, or until a checkpoint holds it.
    pub fn set_unlogged(&mut self, unlogged: bool) {
        self.log.set_unlogged(unlogged);
        if !unlogged {
            self.give_gate(self.log.gate_of_everything());
        }
    }

    /// Makes everything void that was appended in `interval` before. Whoever calls this has logged why: until the next
    /// checkpoint is sealed, only the log knows.
    pub fn empty(&mut self, interval: Interval) {
        self.freeze_unsealed();
        self.sealed.empty(interval, self.buffers.open_age());
        self.sealed.forget_emptied(self.buffers.oldest_frozen());
        self.cache.clear();
        // Reads that were planned before must not fill the cache any more.
        self.reads.advance(&mut self.work);
        self.refresh(usize::MAX / 2);
    }

    /// Looks the newest committed version of `name` up, be it a delete record or expired.
    pub fn lookup_version(&mut self, key: &Key, name: &[u8]) -> Lookup<'_> {
        self.read_stats.lookups += 1;
        match self.buffers.find(key, name) {
            Some(place) if self.is_emptied_at(place, key) => Lookup::Absent { gate: Gate::NONE },
            Some(place) => Lookup::Found { record: self.buffers.entry(place).record(), gate: Gate::NONE },
            None => self.plan(key, name, 0),
        }
    }

    /// Resumes a [`lookup_version`](Self::lookup_version), as [`finish`](Self::finish) does.
    pub fn finish_version<'p>(&mut self, read: Read, pages: &'p mut [Page], key: &Key, name: &[u8]) -> Finished<'p> {
        self.finish_as(read, pages, key, name, |_, _| false)
    }

    /// Begins to read the newest versions in `interval`, delete records and expired ones included, in the order of key
    /// positions, those numbered above `since`; as [`scan`](Self::scan) does. Everything that was frozen before is there,
    /// in this version or a newer one; [`freeze_unsealed`](Self::freeze_unsealed) before the first part of a copy.
    pub fn scan_versions(&mut self, interval: Interval, max_bytes: usize, since: u64) -> u64 {
        let id = self.work.new_scan();
        let wanted = Wanted { emptied: self.sealed.emptied().all().to_vec(), versions: Versions::Since(since) };
        self.work.push_scan(Work::Scan { id, interval, max_bytes, wanted }, &self.buffers);
        id
    }

    /// No delete record or expired record in `interval` with a number above this was ever dropped.
    pub fn horizon(&self, interval: &Interval) -> u64 {
        self.sealed.slices().horizon(interval)
    }

    /// Longest entry of a range that the log takes, in bytes.
    pub fn longest_entry(&self) -> usize {
        self.log.writer().longest_batch_bytes() - ENTRY_HEADER_BYTES
    }
}

impl Store {
    /// Bytes that an entry of a range takes in the log beside its own.
    pub const RANGE_ENTRY_BYTES: usize = ENTRY_HEADER_BYTES;

    /// Whether nothing was ever stored here that is still there in any version.
    pub fn is_blank(&self) -> bool {
        self.buffers.is_empty() && self.sealed.views().next().is_none()
    }

    /// Whether values are in files of their own, be they superseded; `listed`: the manifest lists some.
    pub fn has_large_values(&self, listed: bool) -> bool {
        listed || self.buffers.names_value_files()
    }

    /// Which of the directory's stores this is, and how many those are.
    pub fn place(&self) -> (u32, u32) {
        (self.options.index, self.options.count)
    }

    /// Age of the open segment: another one after each freeze.
    pub fn open_age(&self) -> u64 {
        self.buffers.open_age()
    }

    /// Whether all segments of a lower age than this are sealed: durable and indexed.
    pub fn is_sealed_below(&self, age: u64) -> bool {
        age <= self.buffers.oldest_frozen()
    }

    /// Seals that waited for what was not in the log wait for this gate.
    fn give_gate(&mut self, gate: u64) {
        self.buffers.set_gate_of_unlogged(gate);
        self.work.begin_seals(&mut self.buffers, &self.log);
    }

    /// Whether heads should take no more values: the device is full, or memory is. What is committed is still taken.
    pub fn is_full(&self) -> bool {
        (self.cleaner.index_is_full(&self.sealed) && !self.cleaner.is_making_room(&self.sealed))
            || lacks_numbers(&self.sealed)
            || (self.device.is_full() && !self.cleaner.is_freeing_space(&self.sealed))
    }

    /// Whether merges have fallen behind, so that what is written should wait for them.
    pub fn is_behind(&self) -> bool {
        !self.is_full()
            && (self.cleaner.is_behind(&self.sealed)
                || self.cleaner.index_is_full(&self.sealed)
                || self.device.is_full())
    }

    fn refuse_when_stopped(&self) -> Result<(), Refusal> {
        self.stopped.as_ref().map_or(Ok(()), |why| Err(Refusal::Stopped(why.clone())))
    }

    fn refusal(&self, full: LogFull) -> Refusal {
        match full {
            LogFull::TooLarge => Refusal::TooLarge,
            LogFull::Ring if self.waits_for_space() => Refusal::NoSpace,
            LogFull::Ring | LogFull::Batch => Refusal::Busy,
        }
    }
}
