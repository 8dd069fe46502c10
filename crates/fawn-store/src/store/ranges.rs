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
use crate::log::{ENTRY_HEADER_BYTES, Entry, LogFull, LogPosition};
use crate::manifest::Emptied;
use crate::page::Page;
use crate::record::{Kind, Record};
use crate::work::{Versions, View, Wanted, Work};

/// The gate of what waits for writes that are not in the log.
const UNLOGGED: u64 = u64::MAX;

/// Why a store stops whose log has records that its memory has no room for.
const NO_MEMORY: &str = "the system has no memory for the committed records: give the process more, and start it again";

impl Store {
    /// Bytes that an entry of a range takes in the log beside its own.
    pub const RANGE_ENTRY_BYTES: usize = ENTRY_HEADER_BYTES;

    /// Appends what the owner of a range writes to the log, if a [`checkpoint`](Self::checkpoint) of `reserve` bytes,
    /// entries' headers included, will then still find room, and after a restart one of `after_restart` bytes. It is durable
    /// once [`logged`](Self::logged) reaches the gate.
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
        let logged = self.log.fits_beside(len, reserve).and_then(|()| self.log.fits_apart(len, after_restart));
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
        let start = self.log.position();
        let entries: Vec<_> = states.iter().map(|(instance, bytes)| (*instance, Entry::Range(bytes))).collect();
        let gate = self.log.append_together(&entries).map_err(|full| self.refusal(full))?;
        self.give_gate(gate);
        let emptied = std::mem::take(&mut self.newly_emptied);
        self.freeze_behind(start, gate, emptied);
        Ok(Gate(gate))
    }

    /// Where the batch begins that is being handed back to the owner while the store opens.
    pub fn replayed_at(&self) -> LogPosition {
        self.replayed_at
    }

    /// A checkpoint that the log handed back, whose batch begins at `start`, was carried out, with what came behind it:
    /// recovery begins there from now on, once what is open is sealed, unless it does so already.
    pub fn end_checkpoint(&mut self, start: LogPosition) {
        if start.page > self.log_start.page {
            let emptied = std::mem::take(&mut self.newly_emptied);
            self.freeze_behind(start, 0, emptied);
        }
    }

    /// Whether the newest checkpoint's seal is still to come.
    pub fn awaits_checkpoint(&self) -> bool {
        self.log_start.page > self.log.tail()
    }

    /// Whether a checkpoint pays, and none is on its way: so much of the log is full (half of it, or a quarter when
    /// something is `refused` already), or something was emptied.
    pub fn wants_checkpoint(&self, refused: bool) -> bool {
        let share = if refused { 4 } else { 2 };
        let is_full = (self.log.position().page - self.log.tail()) * share > self.log.ring_pages();
        !self.awaits_checkpoint() && (is_full || !self.newly_emptied.is_empty())
    }

    /// Bytes of entries that the next batch of the log holds.
    pub fn unbatched_bytes(&self) -> usize {
        self.log.pending_bytes()
    }

    /// Up to here the log is durable, whatever answers wait for.
    pub fn logged(&self) -> Gate {
        Gate(self.log.durable())
    }

    /// Whether a record still fits the open segment, so that [`append_committed`](Self::append_committed) will not freeze
    /// it.
    pub fn has_room_for(&self, record: &Record<'_>) -> bool {
        self.fits(record)
    }

    /// Takes a committed version, whose bytes are in the log already: from here on it is the newest of its key. How much is
    /// taken before it is sealed is bounded by the log alone.
    ///
    /// # Errors
    /// [`Refusal::Stopped`].
    pub fn append_committed(&mut self, key: &Key, record: &Record<'_>) -> Result<(), Refusal> {
        self.refuse_when_stopped()?;
        if !self.fits(record) {
            self.freeze_unsealed();
            self.make_fit(record);
        }
        if !self.has_memory_for(record) {
            return Err(Refusal::Stopped(NO_MEMORY.to_owned()));
        }
        let (_, superseded) = self.open.append(key, Gate::NONE, record);
        self.cache.remove(key);
        self.note_value_file(record);
        self.cleaning.deleted |= record.kind == Kind::Delete;
        self.counters.appended(record.encoded_len(), superseded);
        self.use_credit(record.encoded_len());
        Ok(())
    }

    /// Whether nothing was ever stored here that is still there in any version.
    pub fn is_blank(&self) -> bool {
        self.open.is_empty() && self.frozen.is_empty() && self.segments.iter().flatten().next().is_none()
    }

    /// Whether values are in files of their own, be they superseded; `listed`: the manifest lists some.
    pub fn has_large_values(&self, listed: bool) -> bool {
        listed || !self.open_values.is_empty() || self.frozen.iter().any(|frozen| !frozen.values.is_empty())
    }

    /// No number above this was given out yet. It grows with every opening.
    pub fn last_number(&self) -> u64 {
        self.highest_seq()
    }

    /// Which of the directory's stores this is, and how many those are.
    pub fn place(&self) -> (u32, u32) {
        (self.options.index, self.options.count)
    }

    /// Up to which number everything was flushed, and the Unix second of a flush that is due, or 0.
    pub fn flushes(&self) -> (u64, u32) {
        let mark = self.ranges[0].mark;
        (mark.flush_watermark, mark.flush_deadline)
    }

    /// The owner of ranges says from here on what was flushed.
    pub fn forget_flushes(&mut self) {
        for range in &mut self.ranges {
            (range.mark.flush_watermark, range.mark.flush_deadline) = (0, 0);
        }
        self.unlogged_flush = false;
        self.flushed_entries = 0;
        self.open.forget_flush();
        self.note_next_flush();
    }

    /// Age of the open segment: another one after each freeze.
    pub fn open_age(&self) -> u64 {
        self.next_age
    }

    /// Whether all segments of a lower age than this are sealed: durable and indexed.
    pub fn is_sealed_below(&self, age: u64) -> bool {
        age <= self.oldest_frozen()
    }

    /// Freezes the open segment, if it holds anything, without moving the log's start.
    pub fn freeze_unsealed(&mut self) {
        if !self.open.is_empty() {
            let gate = if self.unlogged { UNLOGGED } else { self.gate_of_everything() };
            self.freeze_behind(self.log_start, if self.replaying { 0 } else { gate }, Vec::new());
        }
    }

    /// Whether something that shows in what was taken has not found room in the log yet: what freezes meanwhile waits until
    /// it has, or until a checkpoint holds it.
    pub fn set_unlogged(&mut self, unlogged: bool) {
        self.unlogged = unlogged;
        if !unlogged {
            self.give_gate(self.gate_of_everything());
        }
    }

    /// The gate at which everything in the log is durable.
    fn gate_of_everything(&self) -> u64 {
        if self.log.pending_bytes() > 0 { self.log.gate() } else { self.log.gate() - 1 }
    }

    /// Seals that waited for what was not in the log wait for this gate.
    fn give_gate(&mut self, gate: u64) {
        for frozen in self.frozen.iter_mut().filter(|frozen| frozen.gate == UNLOGGED) {
            frozen.gate = gate;
        }
        self.begin_seals();
    }

    /// Makes everything void that was appended in `interval` before. Whoever calls this has logged why: until the next
    /// checkpoint is sealed, only the log knows.
    pub fn empty(&mut self, interval: Interval) {
        self.freeze_unsealed();
        let emptied = Emptied { interval, below: self.next_age };
        let covers = |old: &Emptied| interval.low <= old.interval.low && old.interval.high <= interval.high;
        for list in [&mut self.emptied, &mut self.newly_emptied] {
            list.retain(|old| !covers(old));
            list.push(emptied);
        }
        // What comes there next may be of an earlier time.
        self.times.retain(|(keys, _)| !keys.overlaps(&interval));
        self.count_emptied(&interval);
        self.forget_emptied();
        self.cache.clear();
        // Reads that were planned before must not fill the cache any more.
        self.views.advance();
        self.reclaim();
        self.recount_all();
    }

    /// Whether the manifest has yet to be told of something that was emptied.
    pub(super) fn is_emptying(&self) -> bool {
        !self.newly_emptied.is_empty() || self.frozen.iter().any(|frozen| frozen.empties)
    }

    /// Forgets what was emptied where nothing older is left.
    pub(super) fn forget_emptied(&mut self) {
        let oldest = self.frozen.front().map_or(u64::MAX, |frozen| frozen.age);
        let segments = &self.segments;
        let matters = |emptied: &Emptied| {
            oldest < emptied.below || segments.iter().flatten().any(|view| voided_share(view, emptied) > 0.0)
        };
        self.emptied.retain(matters);
        self.newly_emptied.retain(matters);
    }

    /// Whether what a segment of this age says of the key is void.
    #[inline]
    pub(super) fn is_emptied(&self, key: &Key, age: u64) -> bool {
        self.emptied.iter().any(|emptied| emptied.voids(key, age))
    }

    /// The share of a segment that was emptied, about.
    pub(super) fn emptied_share(&self, view: &View) -> f64 {
        self.emptied.iter().map(|emptied| voided_share(view, emptied)).sum::<f64>().min(1.0)
    }

    /// Looks the newest committed version of `name` up, be it a delete record or expired.
    pub fn lookup_version(&mut self, key: &Key, name: &[u8]) -> Lookup<'_> {
        self.counters.lookups += 1;
        match self.buffered(key, name) {
            Some(place) if self.is_emptied_in_buffer(&place, key) => Lookup::Absent { gate: Gate::NONE },
            Some(place) => Lookup::Found { record: self.in_buffer(&place).record(), gate: Gate::NONE },
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
        self.next_scan += 1;
        let wanted = Wanted { emptied: self.emptied.clone(), versions: Versions::Since(since) };
        let work = Work::Scan { id: self.next_scan, interval, max_bytes, wanted };
        self.waiting_scans.push_back((self.next_age, work));
        self.begin_scans();
        self.next_scan
    }

    /// Age of the oldest segment that is not sealed yet.
    fn oldest_frozen(&self) -> u64 {
        self.frozen.front().map_or(u64::MAX, |frozen| frozen.age)
    }

    /// Hands on the scans whose segments are all sealed.
    pub(super) fn begin_scans(&mut self) {
        let oldest = self.oldest_frozen();
        while let Some((_, work)) = self.waiting_scans.pop_front_if(|(age, _)| *age <= oldest) {
            self.work.push_back(work);
        }
    }

    /// No delete record or expired record in `interval` with a number above this was ever dropped.
    pub fn horizon(&self, interval: &Interval) -> u64 {
        let slices = self.slices.iter().filter(|slice| slice.interval.overlaps(interval));
        slices.map(|slice| slice.horizon).max().unwrap_or(0)
    }

    /// Whether heads should take no more values: the device is full, or memory is. What is committed is still taken.
    pub fn is_full(&self) -> bool {
        (self.index_is_full() && !self.is_making_room())
            || self.lacks_numbers()
            || (self.device_is_full() && !self.is_freeing_space())
    }

    /// Whether merges have fallen behind, so that what is written should wait for them.
    pub fn is_behind(&self) -> bool {
        !self.is_full() && (self.merges_are_behind() || self.index_is_full() || self.device_is_full())
    }

    /// Longest entry of a range that the log takes, in bytes.
    pub fn longest_entry(&self) -> usize {
        self.log.longest_batch_bytes() - ENTRY_HEADER_BYTES
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

/// The share of a segment that is void, keys being evenly spread; above 0 when any of it may be.
fn voided_share(view: &View, emptied: &Emptied) -> f64 {
    if view.age >= emptied.below { 0.0 } else { view.footer.share_in(&emptied.interval) }
}
