//! The event-loop half of a store: everything that requests touch, without I/O, locks or waiting.
//!
//! A lookup goes through the open segment, the frozen segments, the record cache and the index of the key's slice, in
//! this order; the first that knows the key decides. What only flash knows comes back as a [`Read`] for the owner to
//! carry out. Appends go to the open segment and the commit log; the owner writes the log's batches.
//!
//! Everything that takes long is [`Work`] for [`Maintenance`](crate::Maintenance), on another thread or (in the
//! simulator) in between; its [`Event`]s are installed in bounded steps.
//!
//! [`Store`] is a facade: it passes each request through parts that own their fields.
//!
//! | part | owns |
//! |---|---|
//! | [`WriteBuffers`] | the open segment and the frozen ones |
//! | [`GroupCommit`] | the commit log's batches and gates |
//! | [`RangeTable`] | sequence numbers and flushes |
//! | [`SealedRecords`] | segments, slices with their indexes, what was emptied |
//! | [`Cleaner`] | what is merged next, and how far merges are behind |
//! | [`Cache`] | records that were read |
//! | `PendingReads`, `WorkQueue`, `DeviceSpace`, `Reports` | reads under way, work, space, reports |
//!
//! # Layout
//!
//! `lookup`: lookup, finish. `prefetch`: what a group of lookups touches, fetched before. `append`: appends, freezing,
//! group commit. `ranges`: the log and the records of replicated ranges. `install`: events. `clean`: merges, and when to
//! refuse. `replay`: recovery. `stats`, `figures`: what the store reports of itself. `contents`: estimates of what is stored. A file each for the smaller parts.

mod append;
mod clean;
mod contents;
mod device_space;
mod figures;
mod install;
mod lookup;
mod pending_reads;
mod prefetch;
pub(crate) mod ranges;
mod replay;
mod reports;
mod stats;
mod work_queue;

use std::collections::VecDeque;

use fawn_ring::{Interval, Key, Secret};

pub use contents::{Count, CountedKeys};
pub use stats::{
    BufferStats, CacheStats, DeviceStats, Held, IndexStats, LogStats, MaintenanceStats, ReadStats, SegmentTotals,
    Stats, WriteStats, Written,
};

use self::contents::StoreContents;
use self::device_space::DeviceSpace;
use self::pending_reads::PendingReads;
use self::reports::Reports;
use self::work_queue::WorkQueue;
use crate::api::{Ack, Gate, Read, Refusal, Trouble};
use crate::buffers::WriteBuffers;
use crate::cache::Cache;
use crate::cleaner::Cleaner;
use crate::flash::Space;
use crate::format::manifest::Emptied;
use crate::log::{GroupCommit, LogPosition, LogWriter};
use crate::options::Options;
use crate::ranges::{RangeState, RangeTable};
use crate::sealed::index::SegmentNumber;
use crate::sealed::{PendingEntries, SealedRecords};
use crate::work::{Event, Scanned, Versions, View, Wanted, Work};

/// The event-loop half of one store. See the module's text.
pub struct Store {
    options: Options,
    buffers: WriteBuffers,
    log: GroupCommit,
    ranges: RangeTable,
    sealed: SealedRecords,
    cleaner: Cleaner,
    cache: Cache,
    reads: PendingReads,
    /// Candidates of the lookup under way; kept for its memory.
    candidates: Vec<SegmentNumber>,
    device: DeviceSpace,
    work: WorkQueue,
    events: VecDeque<Event>,
    /// The index entries of the seal that is being installed.
    installing: Option<PendingEntries>,
    reports: Reports,
    read_stats: ReadStats,
    write_stats: WriteStats,
    maintenance_stats: MaintenanceStats,
    /// An operation waits for the seal that is under way.
    seal_awaited: bool,
    /// Entries of frozen and sealed segments that `flush_all` made void and no merge has dropped yet, about.
    flushed_entries: u64,
    /// Number of the next value file.
    next_value: u64,
    /// Unix second of the last request.
    now: u32,
    /// Seconds since it was opened: ticks.
    uptime: u64,
    /// Why the store has stopped.
    stopped: Option<String>,
    closed: bool,
}

/// So many slices and segments are looked at again once a second.
const REFRESHED_A_TICK: usize = 256;

/// What opening hands to the event-loop half.
pub(crate) struct Parts {
    pub options: Options,
    pub segment_bytes: usize,
    pub ranges: Vec<RangeState>,
    /// Each with its horizon.
    pub slices: Vec<(Interval, u64)>,
    pub segments: Vec<Option<View>>,
    pub emptied: Vec<Emptied>,
    pub log_start: LogPosition,
    pub log: LogWriter,
    pub next_value: u64,
    pub written: Written,
    pub now: u32,
}

impl Store {
    pub(crate) fn assemble(parts: Parts) -> Self {
        let ages = parts.segments.iter().flatten().map(|view| view.age + 1);
        let next_age = ages.chain(parts.emptied.iter().map(|emptied| emptied.below)).max().unwrap_or(1);
        let mut store = Self {
            buffers: WriteBuffers::new(parts.segment_bytes, next_age),
            log: GroupCommit::replaying(parts.log, parts.options.ack, parts.log_start),
            ranges: RangeTable::new(parts.ranges),
            sealed: SealedRecords::new(parts.slices, parts.segments, parts.emptied),
            cleaner: Cleaner::new(&parts.options, parts.segment_bytes),
            cache: Cache::new(parts.options.memory),
            reads: PendingReads::default(),
            candidates: Vec::new(),
            device: DeviceSpace::new(parts.options.count),
            work: WorkQueue::default(),
            events: VecDeque::new(),
            installing: None,
            reports: Reports::default(),
            read_stats: ReadStats::default(),
            write_stats: WriteStats::beginning_with(parts.written),
            maintenance_stats: MaintenanceStats::default(),
            seal_awaited: false,
            flushed_entries: 0,
            next_value: parts.next_value,
            now: parts.now,
            uptime: 0,
            stopped: None,
            closed: false,
            options: parts.options,
        };
        let flushed = store.ranges.flushed_everywhere();
        store.flushed_entries = store.sealed.views().map(|view| view.footer.numbered_up_to(flushed)).sum();
        store.refresh(usize::MAX / 2);
        store.cleaner.mode_mut().begin(&store.sealed);
        store
    }

    /// The hash key: `secret().position(name)` is what `key` means in every call.
    pub fn secret(&self) -> &Secret {
        &self.options.secret
    }

    /// The part of the key space that this store holds.
    pub fn interval(&self) -> Interval {
        self.options.interval
    }

    /// The ranges, in key order.
    pub fn ranges(&self) -> impl Iterator<Item = Interval> + '_ {
        self.ranges.intervals()
    }

    /// Answers whose gate is at or below this may leave.
    #[inline]
    pub fn durable(&self) -> Gate {
        self.log.durable()
    }

    /// To be called about once a second: looks at the device's space and at what has become due.
    pub fn tick(&mut self, now: u32) {
        self.now = now;
        self.tick_by(Some(vec![(Interval::ALL, now)]));
        self.seal_deletes();
    }

    /// The same, for a store that was opened not long ago: what has expired is judged at each lookup, but nothing is dropped
    /// for it yet. The clock may have been wrong at the opening, and be set right now.
    pub fn tick_without_dropping(&mut self, now: u32) {
        self.now = now;
        self.tick_by(Some(Vec::new()));
        self.seal_deletes();
    }

    /// Seals deletes early where space is wanted. What a refusal leaves is sealed later.
    fn seal_deletes(&mut self) {
        if self.take_early_seal() {
            let _ = self.seal();
        }
    }

    /// The same, where intervals of keys have times of their own, and others none: what expires of them is judged by those;
    /// `None`: by the same as before.
    pub fn tick_by(&mut self, times: Option<Vec<(Interval, u32)>>) {
        if let Some(times) = times {
            self.sealed.set_times(times);
        }
        self.fire_flushes(self.now);
        self.work.push(Work::Space { spare: self.device.reserve_bytes(&self.sealed, &self.buffers) });
        self.uptime += 1;
        self.cleaner.forgive();
        // Tries the indexes again that the device failed to read.
        for low in self.sealed.take_retries() {
            self.work.push(self.cleaner.mode().load(low, true, false, &self.sealed));
        }
        self.log.mark_when_idle();
        self.refresh(REFRESHED_A_TICK);
        self.clean();
    }

    /// Why the store has stopped, if it has: after a failed write or sync nothing more is taken or answered as durable.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// The next work for the maintenance half.
    pub fn take_work(&mut self) -> Option<Work> {
        self.work.take()
    }

    /// Begins to read the live records of `interval` in key order, `max_bytes` of records at a time; the answer
    /// appears in [`take_scanned`](Self::take_scanned) under the number returned. To include everything appended so
    /// far, [`seal`](Self::seal) first. A record overwritten or deleted after the seal may appear in either version.
    pub fn scan(&mut self, interval: Interval, max_bytes: usize, now: u32) -> u64 {
        let id = self.work.new_scan();
        let versions = Versions::Live(self.ranges.void(vec![(Interval::ALL, now)]));
        let wanted = Wanted { emptied: self.sealed.emptied().all().to_vec(), versions };
        self.work.push_behind_seals(Work::Scan { id, interval, max_bytes, wanted }, &self.buffers);
        id
    }

    /// The next part of any scan.
    pub fn take_scanned(&mut self) -> Option<Scanned> {
        self.reports.take_scanned()
    }

    /// What whoever runs the store should know, and was not told yet.
    pub fn take_trouble(&mut self) -> Option<Trouble> {
        self.reports.take_trouble()
    }

    /// Cuts the range that holds `at` into two, after `at`. Slices and files are untouched; both children go on
    /// numbering from the parent.
    pub fn split_range(&mut self, at: Key) {
        self.work.push_behind_seals(Work::SplitRange(at), &self.buffers);
    }

    /// Joins the range that ends at `at` to the one after it; the joined range goes on from the larger sequence number.
    ///
    /// # Errors
    /// [`Refusal::FlushedApart`] when the two were flushed at different sequence numbers, which one number cannot say.
    pub fn merge_ranges(&mut self, at: Key) -> Result<(), Refusal> {
        if !self.ranges.are_flushed_alike(&at) {
            return Err(Refusal::FlushedApart);
        }
        self.work.push_behind_seals(Work::MergeRanges(at), &self.buffers);
        Ok(())
    }

    /// A number for a new value file (see [`Stub`](crate::format::large::Stub)): write and sync the file, then append its stub.
    /// A file whose stub is not appended after all is its writer's to remove.
    pub fn new_value_file(&mut self) -> u64 {
        let number = self.next_value;
        self.next_value += 2;
        number
    }

    /// Begins a clean stop: everything appended is synced by the batches still to be taken; call when
    /// [`is_idle`](Self::is_idle), then keep the maintenance half running until [`is_closed`](Self::is_closed).
    pub fn close(&mut self) {
        assert!(self.is_idle(), "a store is closed when nothing is unsynced");
        self.work.push(Work::Close { log_end: self.log.writer().position() });
    }

    /// Whether nothing waits for a sync. In memory mode, where segments are all that is ever synced, a stop that
    /// [`hurry`](Self::hurry) began also waits for the last seal.
    pub fn is_idle(&self) -> bool {
        let waits_for_seal = self.log.closes_by_sealing() && !self.buffers.is_empty();
        self.log.is_synced() && !waits_for_seal
    }

    /// Whether a seal waits for space that nothing under way will bring.
    pub fn waits_for_space(&self) -> bool {
        self.device.is_seal_stalled() && !self.cleaner.is_merging()
    }

    /// Whether a stop would lose records: in memory mode only segments keep any, and there is no space for one.
    pub fn cannot_stop_cleanly(&self) -> bool {
        self.log.ack() == Ack::Memory && self.waits_for_space() && !self.buffers.is_empty()
    }

    /// Space on the device, as last seen.
    pub fn space(&self) -> Option<Space> {
        self.device.seen()
    }

    /// Whether the clean stop is recorded.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Gives a read back without finishing it.
    pub fn abandon(&mut self, read: Read) {
        let Read { rest, .. } = read;
        self.reads.release(rest.view, &mut self.work);
    }

    /// Everything that holds records.
    fn contents(&self) -> StoreContents<'_> {
        StoreContents { buffers: &self.buffers, sealed: &self.sealed }
    }

    fn stop(&mut self, why: String) {
        self.stopped.get_or_insert(why);
    }

    /// Number of merges whose run is in the index.
    #[inline]
    pub fn merges(&self) -> u64 {
        self.maintenance_stats.merges
    }

    /// What lies in each of `parts`, which lie side by side in order, of all that lies in `all`, beyond which the store has
    /// nothing: counted where little is buffered, else taken for a share of what is there, as keys are evenly spread.
    /// Overwrites are told as in [`Stats::entries`]. It takes milliseconds where much is buffered: a [`Count`] is made in
    /// pieces.
    pub fn held_in(&self, parts: &[CountedKeys], all: &[Interval]) -> Vec<Held> {
        let mut count = Count::new(parts.to_vec(), all.to_vec());
        loop {
            if let Some(held) = self.count_on(&mut count, usize::MAX) {
                return held;
            }
        }
    }

    /// Goes on with a count, by so many entries of buffers; what it came to, once it is done.
    pub fn count_on(&self, count: &mut Count, entries: usize) -> Option<Vec<Held>> {
        let installed = (self.maintenance_stats.seals, self.maintenance_stats.merges);
        self.contents().count_on(count, entries, installed)
    }

    /// Bytes of the sealed segments' files, and bytes that are free on the device: without a count of what is live.
    pub fn occupancy(&self) -> (u64, u64) {
        (self.sealed.segment_total().file_bytes, self.device.seen().map_or(0, |space| space.free))
    }
}
