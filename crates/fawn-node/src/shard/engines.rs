//! The stores of one loop on real flash: an [`Engine`] and a [`Reader`] each, and one thread for the files of large
//! values.

use crate::observe::samples::StoreSample;
use crate::request::TaskTicket;
use crate::runtime::clock::Now;
use crate::shard::large_value_writer::ValueWriter;
use crate::shard::stores::Gates;
use crate::shard::stores::{
    LookupOutcome, LoopStats, ReadCallback, ReadExtent, ReadOutcome, Reads, StoreEvent, Stores, Turn,
};
use fawn_flash::{Engine, Reader};
use fawn_ring::{Interval, Key};
use fawn_store::flash::{FlashError, Space};
use fawn_store::large::Stub;
use fawn_store::page::Page;
use fawn_store::work::{MaintenanceEvent, ScanPart};
use fawn_store::{self as store, AppendReceipt, Gate, Refusal, Stats, Trouble, Write};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;

/// Bytes of records in one part of a scan. Each part of a listing is held twice, by the store and by its connection, so that
/// more would show in the process's memory; less would read more pages again, as every part opens its cursors anew.
const SCAN_BYTES: usize = 1 << 20;

/// The stores of one loop.
pub struct Engines {
    /// By store.
    stores: Vec<Engine>,
    values: ValueWriter,
    /// Something was asked for since the last turn.
    asked: bool,
    /// Stores whose stop has been reported.
    stopped: Vec<bool>,
    /// Scans that wait for a seal to be begun.
    scans: Vec<(usize, TaskTicket, Key)>,
    /// Scans under way: store, its number there, ticket.
    scanning: Vec<(usize, u64, TaskTicket)>,
    /// What is done, to be told in the next turn.
    news: Vec<StoreEvent>,
    steps: StepTimes,
    /// The steps among them that put a merged slice in its place.
    swaps: StepTimes,
}

/// How long the loop was at work when there was something to take in from the stores' threads: written batches, sealed
/// segments, merged slices; and when it looked at what is due. In CPU time: what other programs take is not counted.
#[derive(Debug, Default)]
struct StepTimes {
    /// Steps of up to 0.1, 1 and 10 milliseconds, and longer ones.
    counts: [u64; 4],
    longest_us: u64,
}

impl StepTimes {
    fn note(&mut self, us: u64) {
        let bucket = [100, 1000, 10_000].iter().take_while(|bound| us > **bound).count();
        self.counts[bucket] += 1;
        self.longest_us = self.longest_us.max(us);
    }

    /// `fawn_steps_to_100us` and so on, or `swaps`.
    fn figures(&self, what: &str) -> Vec<(String, u64)> {
        let bounds = ["to_100us", "to_1ms", "to_10ms", "longer"];
        let mut figures: Vec<_> =
            bounds.iter().zip(self.counts).map(|(bound, count)| (format!("fawn_{what}s_{bound}"), count)).collect();
        figures.push((format!("fawn_longest_{what}_us"), self.longest_us));
        figures
    }
}

/// CPU time of this thread, microseconds.
fn cpu_us() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000 + time.tv_nsec.cast_unsigned() / 1000
}

impl Engines {
    /// The stores of loop `number`.
    ///
    /// # Errors
    /// [`FlashError::Io`] when the system has no thread or descriptor left.
    pub fn new(number: usize, engines: Vec<Engine>) -> Result<Self, FlashError> {
        let files = engines.iter().map(|engine| Arc::clone(engine.files())).collect();
        Ok(Self {
            values: ValueWriter::start(number, files)?,
            asked: true,
            stopped: vec![false; engines.len()],
            scans: Vec::new(),
            scanning: Vec::new(),
            news: Vec::new(),
            steps: StepTimes::default(),
            swaps: StepTimes::default(),
            stores: engines,
        })
    }

    fn begin_scan(&mut self, store: usize, ticket: TaskTicket, from: Key, now: Now) {
        let engine = self.stores[store].store();
        let interval = engine.options().interval;
        if from > interval.high {
            let scanned = ScanPart { id: 0, records: Vec::new(), next: None, lost: None, error: None };
            self.news.push(StoreEvent::Scanned { ticket, scanned });
            return;
        }
        let rest = Interval::new(from.max(interval.low), interval.high);
        let id = engine.scan(rest, SCAN_BYTES, now.unix);
        self.scanning.push((store, id, ticket));
    }

    /// The answer to a scan that cannot be carried out.
    fn refuse_scan(&mut self, ticket: TaskTicket, why: String) {
        let scanned = ScanPart { id: 0, records: Vec::new(), next: None, lost: None, error: Some(why) };
        self.news.push(StoreEvent::Scanned { ticket, scanned });
    }

    /// Begins the scans that wait until everything appended so far is on its way to flash.
    fn begin_first_scans(&mut self, now: Now) {
        for (store, ticket, from) in std::mem::take(&mut self.scans) {
            let engine = self.stores[store].store();
            let stopped = engine.stopped().map(|why| Refusal::Stopped(why.to_owned()));
            match stopped.map_or_else(|| engine.seal(), Err) {
                Ok(()) => self.begin_scan(store, ticket, from, now),
                Err(Refusal::Busy) => self.scans.push((store, ticket, from)),
                Err(refusal) => self.refuse_scan(ticket, refusal.to_string()),
            }
        }
    }

    /// A store has stopped: its scans may never come to an end.
    fn end_scans(&mut self, stopped: usize, why: &str) {
        let waiting = self.scans.extract_if(.., |(store, ..)| *store == stopped).map(|(_, ticket, _)| ticket);
        let under_way = self.scanning.extract_if(.., |(store, ..)| *store == stopped).map(|(.., ticket)| ticket);
        for ticket in waiting.chain(under_way).collect::<Vec<_>>() {
            self.refuse_scan(ticket, why.to_owned());
        }
    }

    fn take_scanned(&mut self) {
        for number in 0..self.stores.len() {
            while let Some(scanned) = self.stores[number].store().reports().take_scanned() {
                let wanted = |(store, id, _): &(usize, u64, TaskTicket)| *store == number && *id == scanned.id;
                if let Some(at) = self.scanning.iter().position(wanted) {
                    let (_, _, ticket) = self.scanning.swap_remove(at);
                    self.news.push(StoreEvent::Scanned { ticket, scanned });
                }
            }
        }
    }
}

impl Gates for Engines {
    #[inline]
    fn durable(&self, store: usize) -> Gate {
        self.stores[store].store_ref().durable()
    }
}

impl Stores for Engines {
    type Read = store::Read;
    type Reads = Readers;

    fn count(&self) -> usize {
        self.stores.len()
    }

    fn prefetch(&self, store: usize, keys: &[Key]) {
        self.stores[store].store_ref().prefetch(keys);
    }

    #[inline]
    fn lookup(&mut self, store: usize, key: &Key, name: &[u8], now: Now) -> LookupOutcome<'_, store::Read> {
        match self.stores[store].store().lookup(key, name, now.unix) {
            store::Lookup::Found { record, gate } => LookupOutcome::Found(record, gate),
            store::Lookup::Absent { gate } => LookupOutcome::Absent(gate),
            store::Lookup::Read(read) => LookupOutcome::Read(read),
            store::Lookup::Loading => {
                self.asked = true;
                LookupOutcome::Loading
            }
            store::Lookup::Damaged(damage) => LookupOutcome::Failed(damage.to_string()),
        }
    }

    fn extent(read: &store::Read) -> ReadExtent {
        ReadExtent { file: read.file, first: read.first, count: read.count }
    }

    fn finish<'p>(
        &mut self,
        store: usize,
        read: store::Read,
        pages: &'p mut [Page],
        key: &Key,
        name: &[u8],
        now: Now,
    ) -> ReadOutcome<'p, store::Read> {
        match self.stores[store].store().finish(read, pages, key, name, now.unix) {
            store::FinishedRead::Found(record) => ReadOutcome::Found(record),
            store::FinishedRead::Absent { gate } => ReadOutcome::Absent(gate),
            store::FinishedRead::Read(read) => ReadOutcome::Read(read),
            store::FinishedRead::Damaged(damage) => ReadOutcome::Failed(damage.to_string()),
        }
    }

    fn abandon(&mut self, store: usize, read: store::Read) {
        self.stores[store].store().abandon(read);
    }

    #[inline]
    fn append(&mut self, store: usize, key: &Key, write: Write<'_>, now: Now) -> Result<AppendReceipt, Refusal> {
        self.asked = true;
        self.stores[store].store().append(key, write, now.unix)
    }

    fn flush_all(&mut self, store: usize, at_unix: u32, now: Now) -> Result<Gate, Refusal> {
        self.asked = true;
        self.stores[store].store().flush_all(at_unix, now.unix)
    }

    fn write_value(&mut self, store: usize, ticket: TaskTicket, value: Vec<u8>) {
        let file = self.stores[store].store().new_value_file();
        self.values.write(store, ticket, file, value);
    }

    fn drop_value(&mut self, store: usize, stub: &Stub) {
        self.values.remove(store, stub.id());
    }

    fn scan(&mut self, store: usize, ticket: TaskTicket, from: Key, first: bool, now: Now) {
        self.asked = true;
        if first {
            self.scans.push((store, ticket, from));
        } else if let Some(why) = self.stores[store].store_ref().stopped() {
            self.refuse_scan(ticket, why.to_owned());
        } else {
            self.begin_scan(store, ticket, from, now);
        }
    }

    fn wants_turn(&self) -> bool {
        self.asked || !self.news.is_empty()
    }

    fn turn(&mut self, now: Now) -> Turn {
        self.asked = false;
        self.begin_first_scans(now);
        let values = self.values.take_done();
        for (store, why) in values.failed {
            self.stores[store].store().handle(MaintenanceEvent::Failed(why));
        }
        let mut turn = Turn::default();
        for (number, engine) in self.stores.iter_mut().enumerate() {
            let before = engine.poll_is_due(now.ms).then(cpu_us);
            let polled = engine.poll(now.unix, now.ms);
            log_troubles(engine.store_ref().options().index, || engine.store().reports().take_trouble());
            if let Some(before) = before {
                let us = cpu_us() - before;
                self.steps.note(us);
                if polled.swapped {
                    self.swaps.note(us);
                }
            }
            turn.retry |= polled.retry;
            turn.more |= polled.more;
            let due_ms = now.ms + engine.timeout_ms(now.ms);
            turn.due_ms = Some(turn.due_ms.map_or(due_ms, |due| due.min(due_ms)));
            if !self.stopped[number]
                && let Some(why) = engine.store_ref().stopped()
            {
                self.stopped[number] = true;
                turn.stopped.push((number, why.to_owned()));
            }
        }
        self.take_scanned();
        for (store, why) in &turn.stopped {
            self.end_scans(*store, why);
        }
        self.news.extend(values.news);
        turn.news = std::mem::take(&mut self.news);
        turn
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.stores.iter().map(AsFd::as_fd).chain([self.values.as_fd()]).collect()
    }

    fn space(&self) -> Option<Space> {
        self.stores.iter().filter_map(|engine| engine.store_ref().upkeep().space()).max_by_key(|space| space.total)
    }

    fn stats(&self, _: Now) -> LoopStats {
        let mut figures = LoopStats::default();
        for engine in &self.stores {
            add(&mut figures, &engine.store_ref().stats());
        }
        figures.numbers.extend(self.steps.figures("step"));
        figures.numbers.extend(self.swaps.figures("swap"));
        figures
    }

    fn samples(&self) -> Vec<StoreSample> {
        let sample = |engine: &Engine| {
            let (store, traffic) = (engine.store_ref(), engine.files().traffic());
            let device = engine.files().device();
            let (number, is_full) = (u64::from(store.options().index), store.upkeep().is_full());
            StoreSample { number, stats: store.stats(), traffic, device, is_full }
        };
        self.stores.iter().map(sample).collect()
    }

    fn stop(self) -> Result<(), String> {
        drop(self.values);
        let mut result = Ok(());
        for engine in self.stores {
            result = result.and(engine.close().map_err(|error| error.to_string()));
        }
        result
    }
}

/// Adds a store's figures to the loop's.
pub fn add(figures: &mut LoopStats, stats: &Stats) {
    for (name, number) in [
        ("fawn_stores", 1),
        ("fawn_entries", stats.entries),
        ("fawn_buffered_entries", stats.buffered_entries),
        ("fawn_sealed_entries", stats.sealed_entries),
        ("fawn_live_bytes", stats.live_bytes),
        ("fawn_sealed_bytes", stats.sealed.bytes),
        ("fawn_garbage_bytes", stats.sealed.garbage_bytes),
        ("fawn_segment_file_bytes", stats.sealed.file_bytes),
        ("fawn_segments", stats.sealed.segments),
        ("fawn_slices", stats.index.slices),
        ("fawn_slices_loaded", stats.index.slices_loaded),
        ("fawn_index_slots", stats.index.slots),
        ("fawn_index_bytes", stats.index.bytes),
        ("fawn_index_directory_bytes", stats.index.directory_bytes),
        ("fawn_filter_bytes", stats.index.filter_bytes),
        ("fawn_stores_drained", u64::from(stats.index.draining)),
        ("fawn_sealed_records", stats.sealed.records),
        ("fawn_open_index_bytes", stats.buffers.index_bytes),
        ("fawn_buffer_bytes", stats.buffers.bytes),
        ("fawn_cache_bytes", stats.cache.bytes),
        ("fawn_cache_entries", stats.cache.entries),
        ("fawn_cache_hits", stats.cache.hits),
        ("fawn_cache_misses", stats.cache.misses),
        ("fawn_lookups", stats.reads.lookups),
        ("fawn_reads", stats.reads.reads),
        ("fawn_pages_read", stats.reads.pages),
        ("fawn_false_reads", stats.reads.false_reads),
        ("fawn_read_hits", stats.reads.hits),
        ("fawn_hit_reads", stats.reads.hit_reads),
        ("fawn_filter_refused", stats.reads.filter_refused),
        ("fawn_filter_passed", stats.reads.filter_passed),
        ("fawn_appends", stats.writes.appends),
        ("fawn_appended_bytes", stats.writes.bytes),
        ("fawn_written_user_bytes", stats.writes.written.user),
        ("fawn_written_log_bytes", stats.writes.written.log),
        ("fawn_written_sealed_bytes", stats.writes.written.sealed),
        ("fawn_written_merged_bytes", stats.writes.written.merged),
        ("fawn_written_before_user_bytes", stats.writes.written_before.user),
        ("fawn_written_before_log_bytes", stats.writes.written_before.log),
        ("fawn_written_before_sealed_bytes", stats.writes.written_before.sealed),
        ("fawn_written_before_merged_bytes", stats.writes.written_before.merged),
        ("fawn_batches", stats.log.batches),
        ("fawn_log_marks", stats.log.marks),
        ("fawn_seals", stats.maintenance.seals),
        ("fawn_merges", stats.maintenance.merges),
        ("fawn_merge_failures", stats.maintenance.merge_failures),
        ("fawn_lost_records", stats.maintenance.lost_records),
        ("fawn_refused_memory", stats.writes.refused_memory),
        ("fawn_refused_space", stats.writes.refused_space),
        // One device: the same for every store.
        ("fawn_device_bytes_max", stats.device.bytes),
        ("fawn_device_free_bytes_max", stats.device.free_bytes),
    ] {
        match figures.numbers.iter_mut().find(|(held, _)| held == name) {
            Some((_, held)) if name.ends_with("_max") => *held = number.max(*held),
            Some((_, held)) => *held += number,
            None => figures.numbers.push((name.to_owned(), number)),
        }
    }
    if let Some(why) = &stats.maintenance.last_merge_failure {
        figures.texts.push(("fawn_last_merge_failure".into(), why.clone()));
    }
}

/// Logs what whoever runs the node should know of a store.
pub(crate) fn log_troubles(number: u32, take: impl FnMut() -> Option<Trouble>) {
    for trouble in std::iter::from_fn(take) {
        tracing::error!("store {number}: {trouble}");
    }
}

/// The reads of one loop: a reader a store.
#[derive(Debug)]
pub struct Readers {
    readers: Vec<Reader>,
    /// Readers with reads pushed since the last submit.
    pushed: Vec<bool>,
}

impl Readers {
    /// `readers` in the order of their stores.
    pub fn new(readers: Vec<Reader>) -> Self {
        Self { pushed: vec![false; readers.len()], readers }
    }
}

impl Reads for Readers {
    fn push(&mut self, store: usize, ticket: TaskTicket, extent: ReadExtent) {
        let ReadExtent { file, first, count } = extent;
        self.readers[store].push(u64::from(ticket), file, first, count);
        self.pushed[store] = true;
    }

    fn submit(&mut self) -> Result<(), String> {
        for (reader, pushed) in self.readers.iter_mut().zip(&mut self.pushed) {
            if std::mem::take(pushed) || reader.holds_removed() {
                reader.submit().map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    fn complete(&mut self, done: ReadCallback<'_>) -> Result<(), String> {
        for reader in &mut self.readers {
            let came = |ticket: u64, pages: Result<&mut [Page], FlashError>| done(ticket as TaskTicket, pages);
            reader.complete(came).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.readers.iter().map(AsFd::as_fd).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_flash::{Caching, Directory};

    fn now() -> Now {
        Now::at(1_700_000_000, 1)
    }

    /// Two stores, neither of which has had a turn.
    fn two(dir: &std::path::Path) -> Engines {
        let directory = Directory::open(dir, 2).unwrap();
        let open = |index| {
            let files = Arc::new(directory.files(index, Caching::Auto).unwrap());
            let options = store::Options {
                index: index as u32,
                count: 2,
                interval: directory.interval(index),
                ..store::Options::new(directory.secret(), 8 << 20)
            };
            Engine::open(files, options, now().unix).unwrap().0
        };
        Engines::new(0, vec![open(0), open(1)]).unwrap()
    }

    fn low(engines: &Engines, store: usize) -> Key {
        engines.stores[store].store_ref().options().interval.low
    }

    #[test]
    fn stores_that_stop_in_one_turn_are_all_told_of_and_so_are_their_scans() {
        let dir = tempfile::tempdir().unwrap();
        let mut engines = two(dir.path());
        // One scan is under way on each, one waits for a seal, one comes after the stop.
        for store in [0, 1] {
            engines.begin_scan(store, 10 + store as TaskTicket, low(&engines, store), now());
            engines.scan(store, 20 + store as TaskTicket, low(&engines, store), true, now());
            engines.stores[store].store().handle(MaintenanceEvent::Failed(format!("{store} told to fail")));
        }
        let turn = engines.turn(now());
        assert_eq!(turn.stopped, [(0, "0 told to fail".into()), (1, "1 told to fail".into())]);
        engines.scan(0, 30, low(&engines, 0), true, now());
        engines.scan(1, 31, low(&engines, 1), false, now());
        let later = engines.turn(now());
        assert!(later.stopped.is_empty(), "once each");
        let mut ended: Vec<TaskTicket> = Vec::new();
        for news in turn.news.into_iter().chain(later.news) {
            let StoreEvent::Scanned { ticket, scanned } = news else { panic!("{news:?}") };
            assert!(scanned.error.is_some());
            ended.push(ticket);
        }
        ended.sort_unstable();
        assert_eq!(ended, [10, 11, 20, 21, 30, 31]);
        assert!(engines.stop().is_err());
    }

    #[test]
    fn steps_are_counted_by_their_length() {
        let mut steps = StepTimes::default();
        for us in [0, 100, 101, 1000, 5000, 10_001] {
            steps.note(us);
        }
        assert_eq!((steps.counts, steps.longest_us), ([2, 2, 1, 1], 10_001));
    }
}
