//! Replicated ranges: the owner of a range keeps its log and its state here, and says what of it is committed.
//!
//! A chain's log ends in records that are durable but not committed, and may yet be cut off. So a store of replicated
//! ranges logs bytes that mean nothing to it ([`log`](Replication::log)), and takes committed versions, numbered by
//! the chain, one by one ([`append`](Replication::append)): lookups and seals see only these.
//!
//! Recovery may begin only where the log says all that the owner must know. So before a seal can move the log's start,
//! the owner writes a *checkpoint*, the whole state of all of its ranges, as one group of entries
//! ([`checkpoint`](Replication::checkpoint)): the open segment freezes right behind it, and once that is sealed, recovery begins
//! with the checkpoint. A segment that fills up in between is frozen and sealed without moving the start; what recovery
//! finds in the log is then in a segment already, and is put in once more. A seal waits until everything that was logged
//! before it froze is durable: no segment holds what a crash could take out of the log.
//!
//! A stretch of keys that is emptied is void for ever, whatever its records are numbered (a copy brings old numbers back):
//! records are told apart by the age of their segment.

use fawn_ring::{Interval, Key};

use crate::Store;
use crate::api::{FinishedRead, Gate, Lookup, Read, Refusal};
use crate::buffers::UNLOGGED;
use crate::format::manifest::EmptiedInterval;
use crate::format::page::Page;
use crate::format::record::Record;
use crate::log::{ENTRY_HEADER_BYTES, Entry, LogFull, LogPosition};
use crate::work::{MaintenanceWork, ScanFilter, Versions};

/// Why a store stops whose log has records that its memory has no room for.
const NO_MEMORY: &str = "the system has no memory for the committed records: give the process more, and start it again";

/// A store of replicated ranges, as their owner uses it: [`Store::replication`]. See the module's text.
pub struct Replication<'a>(&'a mut Store);

impl Store {
    /// The store as the owner of replicated ranges uses it.
    #[inline]
    pub fn replication(&mut self) -> Replication<'_> {
        Replication(self)
    }
}

impl<'a> Replication<'a> {
    /// Bytes that an entry of a range takes in the log beside its own.
    pub const ENTRY_BYTES: usize = ENTRY_HEADER_BYTES;

    /// Somebody waits for what is in the log by now to be durable: it does not [rest](crate::Options::rest_ms) until then.
    pub fn end_rest(&mut self) {
        self.0.writes.log.end_rest();
    }

    /// Appends what the owner of a range writes to the log. It is durable once
    /// [`logged`](crate::log::GroupCommit::logged) reaches the gate. A [`checkpoint`](Self::checkpoint) of as many bytes
    /// as the first of `reserves`, headers of entries included, will still find room, and after a restart one of the
    /// second.
    ///
    /// # Errors
    /// [`Refusal::Busy`] until a batch is written or a checkpoint sealed, [`Refusal::NoSpace`] while that seal waits for
    /// space on the device, [`Refusal::TooLarge`], [`Refusal::Stopped`].
    pub fn log(
        &mut self,
        instance: u64,
        bytes: &[u8],
        (reserve, after_restart): (usize, usize),
    ) -> Result<Gate, Refusal> {
        let writes = &mut self.0.writes;
        writes.check_running()?;
        let entry = Entry::Range(bytes);
        let len = entry.encoded_len();
        let log = writes.log.writer();
        let logged = log.fits_beside(len, reserve).and_then(|()| log.fits_apart(len, after_restart));
        let logged = logged.and_then(|()| writes.log.append_together(&[(instance, entry)]));
        logged.map(Gate).map_err(|full| match full {
            LogFull::TooLarge if bytes.len() <= self.0.log().longest_entry() => Refusal::Busy,
            full => self.refusal(full),
        })
    }

    /// Writes the whole state of all ranges to the log, and freezes the open segment: once that is sealed, recovery
    /// begins here.
    ///
    /// # Errors
    /// As [`log`](Self::log); nothing has changed.
    pub fn checkpoint(&mut self, states: &[(u64, Vec<u8>)]) -> Result<Gate, Refusal> {
        self.0.writes.check_running()?;
        let start = self.0.writes.log.writer().position();
        let entries: Vec<_> = states.iter().map(|(instance, bytes)| (*instance, Entry::Range(bytes))).collect();
        let gate = self.0.writes.log.append_together(&entries).map_err(|full| self.refusal(full))?;
        self.give_gate(gate);
        let emptied = self.0.upkeep.take_unrecorded();
        self.freeze_behind(start, gate, emptied);
        Ok(Gate(gate))
    }

    /// A checkpoint that the log handed back, whose batch begins at `start`, was carried out, with what came behind it:
    /// recovery begins there from now on, once what is open is sealed, unless it does so already.
    pub fn end_checkpoint(&mut self, start: LogPosition) {
        if start.page > self.0.writes.log.start().page {
            let emptied = self.0.upkeep.take_unrecorded();
            self.freeze_behind(start, 0, emptied);
        }
    }

    /// Whether a checkpoint pays, and none is on its way: so much of the log is full (half of it, or a quarter when
    /// something is `refused` already), or something was emptied.
    pub fn wants_checkpoint(&self, refused: bool) -> bool {
        let log = &self.0.writes.log;
        let pays = log.is_full_enough(refused) || self.0.upkeep.emptied().has_unrecorded();
        !log.awaits_checkpoint() && pays
    }

    /// Whether something that shows in what was taken has not found room in the log yet: what freezes meanwhile waits until
    /// it has, or until a checkpoint holds it.
    pub fn set_unlogged(&mut self, unlogged: bool) {
        self.0.writes.log.set_unlogged(unlogged);
        if !unlogged {
            self.give_gate(self.0.writes.log.gate_of_everything());
        }
    }

    /// Takes a committed version, whose bytes are in the log already: from here on it is the newest of its key. How much is
    /// taken before it is sealed is bounded by the log alone.
    ///
    /// # Errors
    /// [`Refusal::Stopped`].
    pub fn append(&mut self, key: &Key, record: &Record<'_>) -> Result<(), Refusal> {
        self.0.writes.check_running()?;
        if !self.0.writes.buffers.has_room_for(record) {
            self.freeze();
            self.0.writes.buffers.make_fit(record);
        }
        let writes = &mut self.0.writes;
        if !writes.buffers.has_memory_for(record) {
            return Err(Refusal::Stopped(NO_MEMORY.to_owned()));
        }
        let (len, (_, superseded)) = (record.encoded_len(), writes.buffers.append(key, Gate::NONE, record));
        writes.note_record(record, len, superseded);
        self.0.reads.forget(key, record);
        self.0.upkeep.note_put(len);
        Ok(())
    }

    /// Freezes the open segment, if it holds anything, without moving the log's start.
    pub fn freeze(&mut self) {
        let writes = &self.0.writes;
        if !writes.buffers.open().is_empty() {
            let log = &writes.log;
            let gate = if log.is_unlogged() { UNLOGGED } else { log.gate_of_everything() };
            let (start, gate) = (log.start(), if log.is_replaying() { 0 } else { gate });
            self.freeze_behind(start, gate, Vec::new());
        }
    }

    /// Makes everything void that was appended in `interval` before. Whoever calls this has logged why: until the next
    /// checkpoint is sealed, only the log knows.
    pub fn empty(&mut self, interval: Interval) {
        self.freeze();
        let (upkeep, mut context) = self.0.upkeep_mut();
        upkeep.empty(interval, &mut context);
    }

    /// The owner of ranges says from here on what was flushed.
    pub fn forget_flushes(&mut self) {
        let writes = &mut self.0.writes;
        writes.ranges.forget_flushes();
        writes.flushed_entries = 0;
        writes.buffers.open_mut().forget_flush();
    }

    /// By these times it is judged from now on what has expired of the intervals, as in [`tick`](Self::tick).
    pub fn judge_expiry(&mut self, times: Vec<(Interval, u32)>) {
        self.0.upkeep.sealed.set_times(times);
    }

    /// To be called about once a second, instead of [`Store::tick`]: intervals of keys have times of their own, by which
    /// it is judged what has expired of them, and others none. `None`: the same times as before.
    pub fn tick(&mut self, times: Option<Vec<(Interval, u32)>>) {
        let now = self.0.now;
        let (upkeep, mut context) = self.0.upkeep_mut();
        upkeep.tick(times, now, &mut context);
        if upkeep.take_early_seal(context.writes) {
            self.freeze();
        }
    }

    /// Looks the newest committed version of `name` up, be it a delete record or expired.
    pub fn lookup(self, key: &Key, name: &[u8]) -> Lookup<'a> {
        let store = self.0;
        store.reads.count_lookup();
        match store.writes.buffers.find(key, name) {
            Some(place) if store.writes.buffers.is_emptied(place, key, store.upkeep.emptied()) => {
                Lookup::Absent { gate: Gate::NONE }
            }
            Some(place) => Lookup::Found { record: store.writes.buffers.entry(place).record(), gate: Gate::NONE },
            None => store.reads.plan(key, name, 0, &store.writes, &mut store.upkeep, &mut store.work),
        }
    }

    /// Resumes a [`lookup`](Self::lookup), as [`Store::finish`] does.
    pub fn finish<'p>(&mut self, read: Read, pages: &'p mut [Page], key: &Key, name: &[u8]) -> FinishedRead<'p> {
        self.0.reads.finish(read, pages, key, name, (&self.0.writes, &mut self.0.work), |_| false)
    }

    /// Begins to read the newest versions in `interval`, delete records and expired ones included, in the order of key
    /// positions, those numbered above `since`; as [`Store::scan`] does. Everything that was frozen before is there, in
    /// this version or a newer one; [`freeze`](Self::freeze) before the first part of a copy.
    pub fn scan(&mut self, interval: Interval, max_bytes: usize, since: u64) -> u64 {
        let id = self.0.work.new_scan();
        let wanted = ScanFilter { emptied: self.0.upkeep.emptied().all().to_vec(), versions: Versions::Since(since) };
        self.0.work.push_scan(MaintenanceWork::Scan { id, interval, max_bytes, wanted }, &self.0.writes.buffers);
        id
    }

    fn freeze_behind(&mut self, start: LogPosition, gate: u64, emptied: Vec<EmptiedInterval>) {
        self.0.writes.freeze_behind(start, gate, emptied, &mut self.0.work);
    }

    /// Seals that waited for what was not in the log wait for this gate.
    fn give_gate(&mut self, gate: u64) {
        let writes = &mut self.0.writes;
        writes.buffers.set_gate_of_unlogged(gate);
        self.0.work.begin_seals(&mut writes.buffers, &writes.log);
    }

    /// Why an entry is not logged now.
    fn refusal(&self, full: LogFull) -> Refusal {
        match full {
            LogFull::TooLarge => Refusal::TooLarge,
            LogFull::Ring if self.0.upkeep.waits_for_space() => Refusal::NoSpace,
            LogFull::Ring | LogFull::Batch => Refusal::Busy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::{FileId, Flash as _};
    use crate::format::record::{Kind, Marks};
    use crate::format::segment::tests::Memory;
    use crate::options::Options;
    use crate::{Maintenance, WrittenBatch};
    use fawn_ring::Secret;

    fn open(flash: &Memory) -> (Store, Maintenance) {
        let sizes = Options::new(Secret([7; 32]), 8 << 20);
        let options = Options { slices: 1, log_pages: 64, segment_bytes: 1 << 16, ..sizes };
        let (store, maintenance, _) = Store::open_ranges(options, flash, 1, &mut |_, _, _| Ok(())).unwrap();
        (store, maintenance)
    }

    fn write_batch(store: &mut Store, flash: &Memory) {
        let batch = store.take_batch(0).unwrap();
        let result = flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
        store.committed(WrittenBatch { batch, result });
    }

    fn has_seal(store: &mut Store) -> bool {
        std::iter::from_fn(|| store.take_work()).any(|work| matches!(work, MaintenanceWork::Seal { .. }))
    }

    #[test]
    fn what_is_logged_is_durable_with_its_batch_and_what_is_committed_shows_at_once() {
        let flash = Memory::default();
        let (mut store, _maintenance) = open(&flash);
        let gate = store.replication().log(2, b"for its owner alone", (0, 0)).unwrap();
        assert!(store.log().logged() < gate && store.log().unbatched_bytes() > 0);
        let key = store.options().secret.position(b"key");
        let (kind, marks) = (Kind::Value, Marks::default());
        let (epoch, seq, client_flags, expiry, client_cas) = (1, 9, 0, 0, None);
        let (name, value) = (b"key", b"value");
        let record = Record { kind, marks, epoch, seq, client_flags, expiry, client_cas, key: name, value };
        store.replication().append(&key, &record).unwrap();
        let found = store.replication().lookup(&key, name);
        assert!(matches!(found, Lookup::Found { record, gate: Gate::NONE } if record.value == value));
        write_batch(&mut store, &flash);
        assert!(store.log().logged() >= gate && store.log().unbatched_bytes() == 0);
    }

    #[test]
    fn a_checkpoint_freezes_the_open_segment_whose_seal_waits_for_its_batch() {
        let flash = Memory::default();
        let (mut store, _maintenance) = open(&flash);
        let age = store.buffers().open_age();
        store.replication().checkpoint(&[(2, b"state".to_vec())]).unwrap();
        assert!(store.log().awaits_checkpoint() && !store.replication().wants_checkpoint(true));
        assert_eq!(store.buffers().open_age(), age + 1);
        assert!(!has_seal(&mut store));
        write_batch(&mut store, &flash);
        assert!(has_seal(&mut store));
    }
}
