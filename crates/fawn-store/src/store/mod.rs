//! The event-loop half of a store: everything that requests touch, without I/O, locks or waiting.
//!
//! A lookup goes through the open segment, the frozen segments, the record cache and the index of the key's slice, in
//! this order; the first that knows the key decides. What only flash knows comes back as a [`Read`] for the owner to
//! carry out. Appends go to the open segment and the commit log; the owner writes the log's batches.
//!
//! Everything that takes long is [`Work`] for [`Maintenance`](crate::Maintenance), on another thread or (in the
//! simulator) in between; its [`Event`]s are installed in bounded steps.
//!
//! # Layout
//!
//! `lookup`: lookup, finish. `warm`: what a group of lookups touches, fetched ahead. `append`: appends, freezing, group
//! commit. `ranges`: the log and the records of replicated ranges. `install`: events. `clean`: when to merge. `drain`: where DRAM cannot index every record. `replay`:
//! recovery. `stats`: figures. `sums`: what they add up to. `voided`: what was emptied, counted.

mod append;
mod clean;
mod drain;
mod install;
mod lookup;
mod ranges;
mod replay;
mod slices;
mod stats;
mod sums;
mod views;
mod voided;
mod warm;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use fawn_ring::{Interval, Key, Secret};

pub use stats::{Count, Held, Stats, Stretch, Written};

use self::slices::Slices;
use self::views::Views;
use crate::api::{Ack, Gate, Read, Refusal, Trouble};
use crate::cache::Cache;
use crate::flash::Space;
use crate::index::SegmentNumber;
use crate::log::{LogPosition, LogWriter};
use crate::manifest::Emptied;
use crate::merge::Void;
use crate::open_segment::OpenSegment;
use crate::options::Options;
use crate::work::{Event, RangeMark, Reclaim, Scanned, Versions, View, Wanted, Work};

/// Troubles that wait to be told: whoever does not ask hears of the newest alone.
const MOST_TROUBLES: usize = 64;

/// A range of the key space with its own numbering.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeState {
    pub mark: RangeMark,
    pub epoch: u32,
}

/// A full segment on its way to flash.
struct Frozen {
    segment: Arc<OpenSegment>,
    age: u64,
    /// Its seal, until the log is durable up to `gate`.
    seal: Option<Work>,
    /// Its seal tells the manifest of what was emptied.
    empties: bool,
    /// Gate of the log's batch without which its seal must not become durable.
    gate: u64,
    /// Commit-log page from which recovery reads once it is durable.
    log_start: u64,
    /// Value files that its records name, superseded ones included.
    values: BTreeSet<u64>,
}

/// A seal whose index entries are being installed.
struct Install {
    number: SegmentNumber,
    prefixes: Vec<u64>,
    next: usize,
    record_bytes: u64,
}

/// The event-loop half of one store. See the module's text.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, not a state of one machine")]
pub struct Store {
    options: Options,
    segment_bytes: usize,
    ranges: Vec<RangeState>,
    slices: Slices,
    /// Sealed segments by number; index 0 is never used.
    segments: Vec<Option<View>>,
    open: OpenSegment,
    /// Value files that records of the open segment name, superseded ones included.
    open_values: BTreeSet<u64>,
    /// Full segments that wait for their seal, oldest first.
    frozen: VecDeque<Frozen>,
    /// An operation waits for the seal that is under way.
    seal_awaited: bool,
    /// Emptied open segments, kept for their memory: giving it back and taking it anew costs the event loop milliseconds.
    spare: Vec<OpenSegment>,
    /// Age that the open segment will have.
    next_age: u64,
    /// Stretches of keys of which what is older is void.
    emptied: Vec<Emptied>,
    /// Those that the next checkpoint's seal tells the manifest of.
    newly_emptied: Vec<Emptied>,
    /// Where recovery begins once all that is frozen is sealed.
    log_start: LogPosition,
    /// While the store opens, where the batch begins that is being replayed.
    replayed_at: LogPosition,
    log: LogWriter,
    /// Records come from the log, whose writer is not there yet.
    replaying: bool,
    /// Writes of ranges wait for room in the log.
    unlogged: bool,
    batch_in_flight: bool,
    /// Batches taken when the last tick came.
    batches_at_tick: u64,
    /// The log has been idle since the last tick: an empty batch may mark what is durable.
    mark_due: bool,
    /// Milliseconds at which the oldest unsynced record was noticed.
    pending_since_ms: Option<u64>,
    cache: Cache,
    /// What the cache may take; its capacity is more while it has yet to become smaller.
    cache_target: u64,
    work: VecDeque<Work>,
    /// Work that comes after the seals of all segments below this age, some of which wait for the log.
    behind_seals: VecDeque<(u64, Work)>,
    events: VecDeque<Event>,
    installing: Option<Install>,
    sums: sums::Sums,
    views: Views,
    retired: VecDeque<(u64, Reclaim)>,
    scanned: VecDeque<Scanned>,
    /// The newest of them, at most [`MOST_TROUBLES`].
    troubles: VecDeque<Trouble>,
    next_scan: u64,
    /// Scans that wait until all segments below this age are sealed.
    waiting_scans: VecDeque<(u64, Work)>,
    next_value: u64,
    cleaning: clean::Cleaning,
    draining: drain::Draining,
    space: Option<Space>,
    stopped: Option<String>,
    closed: bool,
    /// A clean stop has begun: batches leave at once.
    closing: bool,
    /// Unix second of the earliest scheduled flush. A clock can show any second of 32 bits: [`NO_FLUSH`] is none of them.
    next_flush: u64,
    /// A flush fired that is not in the log yet.
    unlogged_flush: bool,
    /// Entries of frozen and sealed segments that `flush_all` made void and no merge has dropped yet, about.
    flushed_entries: u64,
    /// Only the device's reserve is left.
    no_space: bool,
    /// A seal waits for space on the device.
    seal_stalled: bool,
    /// When the last flush is durable.
    flush_gate: Gate,
    /// Gate of the log's batch that holds the last flush, whatever the acknowledgement.
    flush_logged: u64,
    /// Unix second of the last request.
    now: u32,
    /// Seconds since it was opened: ticks.
    uptime: u64,
    /// By which records are judged that nobody asked for to have expired: stretches of keys, each with its Unix second.
    times: Vec<(Interval, u32)>,
    /// Candidates of the lookup under way; kept for its memory.
    candidates: Vec<SegmentNumber>,
    counters: stats::Counters,
}

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

/// The second of no flush.
const NO_FLUSH: u64 = u64::MAX;

impl Store {
    pub(crate) fn assemble(parts: Parts) -> Self {
        let slices = parts.slices.into_iter().map(|(interval, horizon)| slices::Slice::unloaded(interval, horizon));
        let ages = parts.segments.iter().flatten().map(|view| view.age + 1);
        let next_age = ages.chain(parts.emptied.iter().map(|emptied| emptied.below)).max().unwrap_or(1);
        let mut store = Self {
            open: OpenSegment::new(parts.segment_bytes),
            cache: Cache::new(parts.options.memory),
            cache_target: parts.options.memory,
            options: parts.options,
            segment_bytes: parts.segment_bytes,
            ranges: parts.ranges,
            slices: Slices::new(slices.collect()),
            segments: parts.segments,
            open_values: BTreeSet::new(),
            frozen: VecDeque::new(),
            seal_awaited: false,
            spare: Vec::new(),
            next_age,
            emptied: parts.emptied,
            newly_emptied: Vec::new(),
            log_start: parts.log_start,
            replayed_at: parts.log_start,
            log: parts.log,
            replaying: true,
            unlogged: false,
            batch_in_flight: false,
            batches_at_tick: 0,
            mark_due: false,
            pending_since_ms: None,
            work: VecDeque::new(),
            behind_seals: VecDeque::new(),
            events: VecDeque::new(),
            installing: None,
            sums: sums::Sums::default(),
            views: Views::default(),
            retired: VecDeque::new(),
            scanned: VecDeque::new(),
            troubles: VecDeque::new(),
            next_scan: 0,
            waiting_scans: VecDeque::new(),
            next_value: parts.next_value,
            cleaning: clean::Cleaning::default(),
            draining: drain::Draining::default(),
            space: None,
            stopped: None,
            closed: false,
            closing: false,
            next_flush: NO_FLUSH,
            unlogged_flush: false,
            flushed_entries: 0,
            no_space: false,
            seal_stalled: false,
            flush_gate: Gate::NONE,
            flush_logged: 0,
            now: parts.now,
            uptime: 0,
            times: Vec::new(),
            candidates: Vec::new(),
            counters: stats::Counters::beginning_with(parts.written),
        };
        store.note_next_flush();
        store.flushed_entries = store.flushed_records();
        store.recount_all();
        let records = store.segments.iter().flatten().map(|view| view.footer.records).sum();
        store.drain_from_the_start(records);
        store
    }

    /// Asks for every slice's index, in key order; lookups bring theirs forward.
    fn load_all(&mut self) {
        let lows: Vec<Key> = self.slices.iter().map(|slice| slice.interval.low).collect();
        for low in lows {
            let work = self.load_work(low, false, false);
            self.work.push_back(work);
        }
    }

    /// The hash key: `secret().position(name)` is what `key` means in every call.
    pub fn secret(&self) -> &Secret {
        &self.options.secret
    }

    /// The stretch of the key space that this store holds.
    pub fn interval(&self) -> Interval {
        self.options.interval
    }

    /// The ranges, in key order.
    pub fn ranges(&self) -> impl Iterator<Item = Interval> + '_ {
        self.ranges.iter().map(|range| range.mark.interval)
    }

    /// Answers whose gate is at or below this may leave.
    #[inline]
    pub fn durable(&self) -> Gate {
        match self.options.ack {
            Ack::Durable => Gate(self.log.durable()),
            Ack::Interval { .. } | Ack::Memory => Gate(u64::MAX),
        }
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

    /// The same, where stretches of keys have times of their own, and others none: what expires of them is judged by those;
    /// `None`: by the same as before.
    pub fn tick_by(&mut self, times: Option<Vec<(Interval, u32)>>) {
        if let Some(times) = times {
            self.times = times;
        }
        self.fire_flushes(self.now);
        self.work.push_back(Work::Space { spare: self.reserve_bytes() });
        self.uptime += 1;
        self.cleaning.failures = 0;
        self.load_again();
        self.mark_when_idle();
        self.recount_by_time();
        self.clean();
    }

    /// Tries the indexes again that the device failed to read.
    fn load_again(&mut self) {
        if self.sums.slices.total().retry == 0 {
            return;
        }
        for number in 0..self.slices.len() {
            let slice = self.slices.get_mut(number);
            if std::mem::take(&mut slice.retry) {
                let low = slice.interval.low;
                let work = self.load_work(low, true, false);
                self.work.push_back(work);
                self.count_slice(number);
            }
        }
    }

    /// Why the store has stopped, if it has: after a failed write or sync nothing more is taken or answered as durable.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// The next work for the maintenance half.
    pub fn take_work(&mut self) -> Option<Work> {
        self.work.pop_front()
    }

    /// Begins to read the live records of `interval` in key order, `max_bytes` of records at a time; the answer
    /// appears in [`take_scanned`](Self::take_scanned) under the number returned. To include everything appended so
    /// far, [`seal`](Self::seal) first. A record overwritten or deleted after the seal may appear in either version.
    pub fn scan(&mut self, interval: Interval, max_bytes: usize, now: u32) -> u64 {
        self.next_scan += 1;
        let wanted =
            Wanted { emptied: self.emptied.clone(), versions: Versions::Live(self.void(vec![(Interval::ALL, now)])) };
        self.push_behind_seals(Work::Scan { id: self.next_scan, interval, max_bytes, wanted });
        self.next_scan
    }

    /// The next part of any scan.
    pub fn take_scanned(&mut self) -> Option<Scanned> {
        self.scanned.pop_front()
    }

    /// What whoever runs the store should know of, and was not told yet.
    pub fn take_trouble(&mut self) -> Option<Trouble> {
        self.troubles.pop_front()
    }

    fn note_trouble(&mut self, trouble: Trouble) {
        if self.troubles.len() == MOST_TROUBLES {
            self.troubles.pop_front();
        }
        self.troubles.push_back(trouble);
    }

    /// Cuts the range that holds `at` into two, after `at`. Slices and files are untouched; both children go on
    /// numbering from the parent.
    pub fn split_range(&mut self, at: Key) {
        self.push_behind_seals(Work::SplitRange(at));
    }

    /// Joins the range that ends at `at` to the one after it; the joined range goes on from the larger sequence number.
    ///
    /// # Errors
    /// [`Refusal::FlushedApart`] when the two were flushed at different sequence numbers, which one number cannot say.
    pub fn merge_ranges(&mut self, at: Key) -> Result<(), Refusal> {
        let flushed = |range: &RangeState| (range.mark.flush_watermark, range.mark.flush_deadline);
        let pair = self.ranges.windows(2).find(|pair| pair[0].mark.interval.high == at);
        if pair.is_some_and(|pair| flushed(&pair[0]) != flushed(&pair[1])) {
            return Err(Refusal::FlushedApart);
        }
        self.push_behind_seals(Work::MergeRanges(at));
        Ok(())
    }

    /// A number for a new value file (see [`Stub`](crate::large::Stub)): write and sync the file, then append its stub.
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
        self.work.push_back(Work::Close { log_end: self.log.position() });
    }

    /// Whether nothing waits for a sync. In memory mode, where segments are all that is ever synced, a stop that
    /// [`hurry`](Self::hurry) began also waits for the last seal.
    pub fn is_idle(&self) -> bool {
        let unsealed = self.closing && self.options.ack == Ack::Memory && self.holds_unsealed();
        !self.batch_in_flight && self.log.pending_bytes() == 0 && !unsealed
    }

    /// Whether a seal waits for space that nothing under way will bring.
    pub fn waits_for_space(&self) -> bool {
        self.seal_stalled && !self.cleaning.merging
    }

    /// Whether a stop would lose records: in memory mode only segments keep any, and there is no space for one.
    pub fn cannot_stop_cleanly(&self) -> bool {
        self.options.ack == Ack::Memory && self.waits_for_space() && self.holds_unsealed()
    }

    fn holds_unsealed(&self) -> bool {
        !self.open.is_empty() || !self.frozen.is_empty()
    }

    /// Space on the device, as last seen.
    pub fn space(&self) -> Option<Space> {
        self.space
    }

    /// Whether the clean stop is recorded.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Gives a read back without finishing it.
    pub fn abandon(&mut self, read: Read) {
        let Read { rest, .. } = read;
        self.release(rest.view);
    }

    fn release(&mut self, view: u64) {
        self.views.release(view);
        self.reclaim();
    }

    /// Hands on what no reader needs any more.
    fn reclaim(&mut self) {
        while self.retired.front().is_some_and(|(view, _)| self.views.is_over(*view)) {
            if let Some((_, reclaim)) = self.retired.pop_front() {
                self.work.push_back(Work::Reclaim(reclaim));
            }
        }
    }

    /// Which records are void at these times.
    fn void(&self, times: Vec<(Interval, u32)>) -> Void {
        let flushed = |range: &RangeState| (range.mark.interval, range.mark.flush_watermark);
        Void {
            flushed: self.ranges.iter().filter(|range| range.mark.flush_watermark > 0).map(flushed).collect(),
            times,
        }
    }

    /// Number of the range that holds `key`.
    #[inline]
    fn range_of(&self, key: &Key) -> usize {
        if self.ranges.len() == 1 {
            return 0;
        }
        self.ranges.partition_point(|range| range.mark.interval.low <= *key).saturating_sub(1)
    }

    fn stop(&mut self, why: String) {
        self.stopped.get_or_insert(why);
    }
}
