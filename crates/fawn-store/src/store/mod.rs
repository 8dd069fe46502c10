//! The event-loop half of a store: everything that requests touch, without I/O, locks or waiting.
//!
//! A lookup goes through the open segment, the frozen segments, the record cache and the index of the key's slice, in
//! this order; the first that knows the key decides. What only flash knows comes back as a [`Read`] for the owner to
//! carry out. Appends go to the open segment and the commit log; the owner writes the log's batches.
//!
//! Everything that takes long is [`MaintenanceWork`] for [`Maintenance`](crate::Maintenance), on another thread or (in the
//! simulator) in between; its [`MaintenanceEvent`]s are installed in bounded steps.
//!
//! [`Store`] is a facade: it passes each request through parts that own their fields.
//!
//! | part | owns |
//! |---|---|
//! | `WritePath` | what is not sealed: [`WriteBuffers`], [`GroupCommit`], [`RangeTable`] |
//! | `LookupPath` | the record cache, and reads under way |
//! | [`Upkeep`] | what is sealed, the cleaner, the device's space, events to install |
//! | `WorkQueue`, [`Reports`] | work for the maintenance half; what the owner is told |
//!
//! Owners read of the parts what they decide by ([`Store::log`], [`Store::buffers`], [`Store::ranges`],
//! [`Store::upkeep`]). What only some of them ask is behind a view that borrows the store: [`Replication`] for the owner of
//! replicated ranges, [`StoreContents`] for who counts what is there, `Replay` for recovery.
//!
//! # Layout
//!
//! A file for each part and view: `write_path`, `lookup_path`, `upkeep`, `work_queue`, `reports`, `contents`;
//! `write_path/replication` and `write_path/replay`. `prefetch`: what a group of lookups touches, fetched before.
//! `stats`, `figures`: what the store reports of itself. `pending_reads`: reads under way.

mod contents;
mod figures;
mod lookup_path;
mod pending_reads;
mod prefetch;
mod reports;
mod stats;
mod upkeep;
mod work_queue;
mod write_path;

use fawn_ring::{Interval, Key};

pub use contents::{Count, CountedKeys, StoreContents};
pub use reports::Reports;
pub use stats::{
    BufferStats, CacheStats, DeviceStats, Holdings, IndexStats, LogStats, MaintenanceStats, ReadStats, SegmentTotals,
    Stats, WriteStats, WrittenBytes,
};
pub use upkeep::Upkeep;
pub use write_path::Replication;

use self::lookup_path::{LookupPath, answer_from_buffer};
use self::upkeep::turns::UpkeepContext;
use self::work_queue::WorkQueue;
use self::write_path::WritePath;
use crate::api::{Ack, AppendReceipt, Batch, FinishedRead, Gate, Lookup, Read, Refusal, Write, WrittenBatch};
use crate::buffers::WriteBuffers;
use crate::format::manifest::EmptiedInterval;
use crate::format::page::Page;
use crate::format::record::Record;
use crate::log::{GroupCommit, LogPosition, LogWriter};
use crate::options::Options;
use crate::ranges::{RangeState, RangeTable};
use crate::sealed::SealedRecords;
use crate::work::{MaintenanceEvent, MaintenanceWork, ScanFilter, Versions, View};

/// The event-loop half of one store. See the module's text.
pub struct Store {
    options: Options,
    writes: WritePath,
    reads: LookupPath,
    upkeep: Upkeep,
    work: WorkQueue,
    reports: Reports,
    /// Unix second of the last request.
    now: u32,
}

/// What opening hands to the event-loop half.
pub(crate) struct Parts {
    pub options: Options,
    pub segment_bytes: usize,
    pub ranges: Vec<RangeState>,
    /// Each with its horizon.
    pub slices: Vec<(Interval, u64)>,
    pub segments: Vec<Option<View>>,
    pub emptied: Vec<EmptiedInterval>,
    pub log_start: LogPosition,
    pub log: LogWriter,
    pub next_value: u64,
    pub written: WrittenBytes,
    pub now: u32,
}

impl Parts {
    /// The store of these parts, whose log is still to be replayed.
    pub(crate) fn assemble(self) -> Store {
        let ages = self.segments.iter().flatten().map(|view| view.age + 1);
        let next_age = ages.chain(self.emptied.iter().map(|emptied| emptied.below)).max().unwrap_or(1);
        let buffers = WriteBuffers::new(self.segment_bytes, next_age);
        let log = GroupCommit::replaying(self.log, (self.options.ack, self.options.rest_ms), self.log_start);
        let ranges = RangeTable::new(self.ranges);
        let sealed = SealedRecords::new(self.slices, self.segments, self.emptied);
        let flushed = ranges.flushed_everywhere();
        let flushed_entries = sealed.views().map(|view| view.footer.numbered_up_to(flushed)).sum();
        let mut store = Store {
            writes: WritePath::new((buffers, log, ranges), self.written, flushed_entries, self.next_value),
            reads: LookupPath::new(self.options.memory),
            upkeep: Upkeep::new(&self.options, self.segment_bytes, sealed),
            work: WorkQueue::default(),
            reports: Reports::default(),
            now: self.now,
            options: self.options,
        };
        let (upkeep, mut context) = store.upkeep_mut();
        upkeep.begin(&mut context);
        store
    }
}

/// Parts and views.
impl Store {
    /// The options, with the hash key and the keys that the store was made for: `options().secret.position(name)` is what
    /// `key` means in every call.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The commit log: what is durable, and what waits.
    #[inline]
    pub fn log(&self) -> &GroupCommit {
        self.writes.log()
    }

    /// What is not sealed yet.
    pub fn buffers(&self) -> &WriteBuffers {
        self.writes.buffers()
    }

    /// The ranges, in key order.
    pub fn ranges(&self) -> &RangeTable {
        self.writes.ranges()
    }

    /// What is sealed, and whether merges keep up.
    #[inline]
    pub fn upkeep(&self) -> &Upkeep {
        &self.upkeep
    }

    /// What the owner was not told yet.
    pub fn reports(&mut self) -> &mut Reports {
        &mut self.reports
    }

    /// Everything that holds records, to be counted.
    pub fn contents(&self) -> StoreContents<'_> {
        StoreContents::new(self.writes.buffers(), &self.upkeep)
    }

    /// The sealed side, and what it changes of the other parts.
    fn upkeep_mut(&mut self) -> (&mut Upkeep, UpkeepContext<'_>) {
        let Self { writes, reads, work, reports, upkeep, .. } = self;
        (upkeep, UpkeepContext { writes, reads, work, reports })
    }
}

/// Requests.
impl Store {
    /// Most keys that one call of [`prefetch`](Self::prefetch) looks at: what a processor can wait for at a time, and what its
    /// first cache surely keeps until the lookups come.
    pub const PREFETCH_KEYS: usize = prefetch::MOST_KEYS;

    /// Answers whose gate is at or below this may leave.
    #[inline]
    pub fn durable(&self) -> Gate {
        self.writes.log().durable()
    }

    /// Appends a version of `write.key`, whose position is `key`. The answer to whoever asked waits for the gate.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed.
    #[inline]
    pub fn append(&mut self, key: &Key, write: Write<'_>, now: u32) -> Result<AppendReceipt, Refusal> {
        self.now = now;
        self.writes.fire_flushes(now, &self.upkeep, &mut self.work);
        let (instance, record) = self.writes.next_version(key, write);
        let len = record.encoded_len();
        self.writes.admit(write.kind, len, &self.upkeep, &mut self.work)?;
        let gate = self.writes.append(key, instance, &record, len);
        self.reads.forget(key, &record);
        self.upkeep.note_put(len);
        Ok(AppendReceipt { seq: record.seq, gate })
    }

    /// Looks `name` up; `key` is its position, `now` the Unix second.
    #[inline]
    pub fn lookup(&mut self, key: &Key, name: &[u8], now: u32) -> Lookup<'_> {
        self.reads.count_lookup();
        self.writes.fire_flushes(now, &self.upkeep, &mut self.work);
        if let Some(place) = self.writes.buffers().find(key, name) {
            return answer_from_buffer(&self.writes, place, key, now, self.upkeep.emptied());
        }
        self.reads.plan(key, name, now, &self.writes, &mut self.upkeep, &mut self.work)
    }

    /// Resumes a lookup with the pages that it asked for. What it finds is the newest version as of the lookup: what was
    /// appended since is not seen, so that a get never answers with a set that was sent after it.
    pub fn finish<'p>(
        &mut self,
        read: Read,
        pages: &'p mut [Page],
        key: &Key,
        name: &[u8],
        now: u32,
    ) -> FinishedRead<'p> {
        let is_absent = |record: &Record<'_>| self.writes.ranges().is_absent(key, record, now);
        self.reads.finish(read, pages, key, name, (&self.writes, &mut self.work), is_absent)
    }

    /// Gives a read back without finishing it.
    pub fn abandon(&mut self, read: Read) {
        self.reads.abandon(read, &mut self.work);
    }

    /// Touches what a [`lookup`](Self::lookup) of each of these keys will; answers nothing and changes nothing. Keys
    /// beyond the first [`PREFETCH_KEYS`](Self::PREFETCH_KEYS) are ignored.
    pub fn prefetch(&self, keys: &[Key]) {
        prefetch::prefetch(keys, self.writes.buffers(), self.reads.cache(), &self.upkeep.sealed);
    }

    /// Empties the store: at once (`at` 0 or past), or at Unix second `at`. Records appended later survive.
    ///
    /// # Errors
    /// [`Refusal::Busy`], [`Refusal::NoSpace`], [`Refusal::Stopped`]; nothing has changed.
    pub fn flush_all(&mut self, at: u32, now: u32) -> Result<Gate, Refusal> {
        self.writes.fire_flushes(now, &self.upkeep, &mut self.work);
        self.writes.flush_all((at > now).then_some(at), &self.upkeep, &mut self.work)
    }

    /// Begins to read the live records of `interval` in key order, `max_bytes` of records at a time; the answer
    /// appears in [`reports`](Self::reports) under the number returned. To include everything appended so far,
    /// [`seal`](Self::seal) first. A record overwritten or deleted after the seal may appear in either version.
    pub fn scan(&mut self, interval: Interval, max_bytes: usize, now: u32) -> u64 {
        let id = self.work.new_scan();
        let versions = Versions::Live(self.writes.ranges().void(vec![(Interval::ALL, now)]));
        let wanted = ScanFilter { emptied: self.upkeep.emptied().all().to_vec(), versions };
        self.work.push_behind_seals(MaintenanceWork::Scan { id, interval, max_bytes, wanted }, self.writes.buffers());
        id
    }

    /// Cuts the range that holds `at` into two, after `at`. Slices and files are untouched; both children go on
    /// numbering from the parent.
    pub fn split_range(&mut self, at: Key) {
        self.work.push_behind_seals(MaintenanceWork::SplitRange(at), self.writes.buffers());
    }

    /// Joins the range that ends at `at` to the one after it; the joined range goes on from the larger sequence number.
    ///
    /// # Errors
    /// [`Refusal::FlushedApart`] when the two were flushed at different sequence numbers, which one number cannot say.
    pub fn merge_ranges(&mut self, at: Key) -> Result<(), Refusal> {
        if !self.ranges().are_flushed_alike(&at) {
            return Err(Refusal::FlushedApart);
        }
        self.work.push_behind_seals(MaintenanceWork::MergeRanges(at), self.writes.buffers());
        Ok(())
    }

    /// A number for a new value file (see [`Stub`](crate::format::large::Stub)): write and sync the file, then append its stub.
    /// A file whose stub is not appended after all is its writer's to remove.
    pub fn new_value_file(&mut self) -> u64 {
        self.writes.new_value_file()
    }

    /// Merges every slice, in turn: the paper's Compact, by hand.
    pub fn compact(&mut self) {
        let (upkeep, mut context) = self.upkeep_mut();
        upkeep.compact(&mut context);
    }

    /// Freezes the open segment, if it holds anything, and has it sealed.
    ///
    /// # Errors
    /// [`Refusal::Busy`] while as many frozen segments as are allowed wait for their seal, [`Refusal::NoSpace`] while
    /// that waits for space.
    pub fn seal(&mut self) -> Result<(), Refusal> {
        self.writes.seal(&self.upkeep, &mut self.work)
    }

    /// Somebody waits for the next seal that ends: it is urgent.
    pub fn await_seal(&mut self) {
        self.writes.await_seal();
    }
}

/// Running a store.
impl Store {
    /// To be called about once a second: looks at the device's space and at what has become due. What has expired is
    /// judged at each lookup. It is dropped only of a `settled` store: the clock may have been wrong at the opening, and be
    /// set right not long after.
    pub fn tick(&mut self, now: u32, settled: bool) {
        self.now = now;
        let times = if settled { vec![(Interval::ALL, now)] } else { Vec::new() };
        let (upkeep, mut context) = self.upkeep_mut();
        upkeep.tick(Some(times), now, &mut context);
        if upkeep.take_early_seal(context.writes) {
            // What a refusal leaves is sealed later.
            let _ = self.seal();
        }
    }

    /// Why the store has stopped, if it has: after a failed write or sync nothing more is taken or answered as durable.
    pub fn stopped(&self) -> Option<&str> {
        self.writes.stopped()
    }

    /// The next work for the maintenance half.
    pub fn take_work(&mut self) -> Option<MaintenanceWork> {
        self.work.take()
    }

    /// Takes an event. Its installation goes on in [`step`](Self::step). `true` when operations that were refused as
    /// busy or told to wait for a load should be tried again.
    pub fn handle(&mut self, event: MaintenanceEvent) -> bool {
        let (upkeep, mut context) = self.upkeep_mut();
        upkeep.handle(event, &mut context)
    }

    /// Installs about `budget` index entries; `true` when there is more to do.
    pub fn step(&mut self, budget: usize) -> bool {
        let (upkeep, mut context) = self.upkeep_mut();
        upkeep.step(budget, &mut context)
    }

    /// The next batch of the commit log to write, if one is due at `now_ms` (a monotonic clock). One at a time.
    pub fn take_batch(&mut self, now_ms: u64) -> Option<Batch> {
        self.writes.take_batch(now_ms)
    }

    /// Takes note of what a batch came to. A failure stops the store: what a failed sync left is unknown, and trying
    /// again would prove nothing.
    pub fn committed(&mut self, committed: WrittenBatch) {
        self.writes.committed(committed, &mut self.work);
    }

    /// How urgent it is that seals and merges go on, from 0, where they have all the time that there is, to 1, where something
    /// waits for them.
    pub fn urgency(&self) -> f64 {
        self.upkeep.urgency(&self.writes, &self.work)
    }

    /// Reads and batches of the log so far: for these somebody waits.
    pub fn waits(&self) -> u64 {
        self.reads.stats().reads + self.writes.log().batches()
    }

    /// Begins a clean stop: unsynced records leave at once, whatever the interval, and in memory mode what is not sealed
    /// is.
    pub fn hurry(&mut self) {
        self.writes.begin_stop(&self.upkeep, &mut self.work);
    }

    /// Whether nothing waits for a sync. In memory mode, where segments are all that is ever synced, a stop that
    /// [`hurry`](Self::hurry) began also waits for the last seal.
    pub fn is_idle(&self) -> bool {
        self.writes.is_idle()
    }

    /// Whether a stop would lose records: in memory mode only segments keep any, and there is no space for one.
    pub fn cannot_stop_cleanly(&self) -> bool {
        self.log().ack() == Ack::Memory && self.upkeep.waits_for_space() && !self.buffers().is_empty()
    }

    /// Begins a clean stop's record: everything appended is synced by the batches still to be taken; call when
    /// [`is_idle`](Self::is_idle), then keep the maintenance half running until [`is_closed`](Upkeep::is_closed).
    pub fn close(&mut self) {
        assert!(self.is_idle(), "a store is closed when nothing is unsynced");
        self.work.push(MaintenanceWork::Close { log_end: self.log().writer().position() });
    }
}
