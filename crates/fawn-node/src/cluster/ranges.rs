//! The datastore of a seat's node on real flash: the ranges' store, the threads that work for it, and its cold reads.

use crate::shard::engines::log_troubles;
use fawn_flash::{DeviceTraffic, Engine, Files, PollOutcome, Reader, ReaderOptions, StoreHandle};
use fawn_kv::ids::{Attempt, ClusterId, Position, RangeId, Seq};
use fawn_kv::range::entry::{Entry, Kept};
use fawn_kv::range::meta::Meta;
use fawn_kv::store::{
    AdoptError, Answer, Fetch, FlashStore, Gate, Lookup, OpenedStore, Place, Plain, RangeStore, RecoveredRange, Scan,
    Ticket,
};
use fawn_ring::{Interval, Key};
use fawn_store::flash::FlashError;
use fawn_store::work::{MaintenanceEvent, MaintenanceWork};
use fawn_store::{Batch, OpenError, Opening, Options, Store, WrittenBatch};
use rustix::fd::{AsFd, BorrowedFd};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The store, as its engine runs it.
pub struct ServedStore(FlashStore);

impl StoreHandle for ServedStore {
    fn inner(&self) -> &Store {
        self.0.store()
    }

    fn tick(&mut self, _: u32, _: bool) {
        // What has expired is for the ranges' time to say.
        self.0.tick();
    }

    fn take_batch(&mut self, now_ms: u64) -> Option<Batch> {
        self.0.take_batch(now_ms)
    }

    fn committed(&mut self, committed: WrittenBatch) {
        self.0.committed(committed);
    }

    fn take_work(&mut self) -> Option<MaintenanceWork> {
        self.0.take_work()
    }

    fn handle(&mut self, event: MaintenanceEvent) {
        self.0.handle(event);
    }

    fn step(&mut self, budget: usize) -> bool {
        self.0.step(budget)
    }

    fn stopped(&self) -> Option<String> {
        self.0.stopped()
    }

    fn hurry(&mut self) {
        self.0.hurry();
    }

    fn is_idle(&self) -> bool {
        self.0.is_idle()
    }

    fn close(&mut self) {
        self.0.close();
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// The ranges of a node, on flash.
pub struct Ranges {
    engine: Engine<ServedStore>,
    reader: Reader,
    /// Reads under way; a free place is empty.
    fetches: Vec<Option<Fetch>>,
    free: Vec<u32>,
    pushed: bool,
    /// Something was written or asked for since the last turn.
    asked: bool,
}

impl Ranges {
    /// Opens the store on `files`, or makes it, and starts its threads. One that was made as a plain directory's has these
    /// keys, until it is adopted.
    ///
    /// # Errors
    /// [`AdoptError`].
    pub fn open(
        files: Arc<Files>,
        options: Options,
        plain: Option<Interval>,
    ) -> Result<(Self, Opening, BTreeMap<RangeId, RecoveredRange>), AdoptError> {
        let index = options.index;
        let OpenedStore { store, maintenance, opening, ranges } = match plain {
            Some(keys) => FlashStore::open_plain(options, &*files, keys)?,
            None => FlashStore::open(options, &*files)?,
        };
        let reader = Reader::new(Arc::clone(&files), ReaderOptions::default()).map_err(OpenError::from)?;
        let engine = Engine::start(files, ServedStore(store), maintenance, index).map_err(OpenError::from)?;
        let fetches = Vec::new();
        Ok((Self { engine, reader, fetches, free: Vec::new(), pushed: false, asked: true }, opening, ranges))
    }

    /// The store.
    pub fn flash(&self) -> &FlashStore {
        &self.engine.store_ref().0
    }

    fn store(&mut self) -> &mut FlashStore {
        self.asked = true;
        &mut self.engine.store().0
    }

    /// What was asked of the device.
    pub fn traffic(&self) -> DeviceTraffic {
        self.engine.files().traffic()
    }

    /// How flash is read, for people.
    pub fn read_path(&self) -> &'static str {
        self.reader.name()
    }

    /// Number of the file system's device.
    pub fn device(&self) -> u64 {
        self.engine.files().device()
    }

    /// Why it has stopped, if it has.
    pub fn stopped(&self) -> Option<String> {
        self.flash().stopped()
    }

    /// Lets the threads have what was written, and takes what they have done.
    pub fn poll(&mut self, unix: u32, now_ms: u64) -> PollOutcome {
        self.asked = false;
        let polled = self.engine.poll(unix, now_ms);
        log_troubles(self.flash().store().options().index, || self.engine.store().0.take_trouble());
        polled
    }

    /// Whether [`poll`](Self::poll) has something to do.
    pub fn has_work(&self, now_ms: u64) -> bool {
        self.asked || self.engine.poll_is_due(now_ms)
    }

    /// Milliseconds until [`poll`](Self::poll) is due whatever happens.
    pub fn timeout_ms(&self, now_ms: u64) -> u64 {
        self.engine.timeout_ms(now_ms)
    }

    /// Begins the reads that were asked for, together.
    ///
    /// # Errors
    /// None comes back any more.
    pub fn submit(&mut self) -> Result<(), FlashError> {
        while let Some(fetch) = self.engine.store().0.take_fetch() {
            let at = self.free.pop().unwrap_or_else(|| {
                self.fetches.push(None);
                (self.fetches.len() - 1) as u32
            });
            self.reader.push(u64::from(at), fetch.read.file, fetch.read.first, fetch.read.count);
            self.fetches[at as usize] = Some(fetch);
            self.pushed = true;
        }
        if std::mem::take(&mut self.pushed) || self.reader.holds_removed() { self.reader.submit() } else { Ok(()) }
    }

    /// Takes the reads that have come back.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn complete(&mut self) -> Result<(), FlashError> {
        let (store, fetches, free) = (&mut self.engine.store().0, &mut self.fetches, &mut self.free);
        self.reader.complete(|at, pages| {
            let fetch = fetches[at as usize].take().expect("a read comes back once");
            free.push(at as u32);
            store.fetched(fetch, pages);
        })?;
        Ok(())
    }

    /// The next lookup or scan that is answered.
    pub fn take_answer(&mut self) -> Option<(Ticket, Answer)> {
        self.engine.store().0.take_answer()
    }

    /// What becomes readable when there is something to [`poll`](Self::poll) for, and when reads come back.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.engine.as_fd(), self.reader.as_fd()]
    }

    /// Stops cleanly. Blocks.
    ///
    /// # Errors
    /// What the device said.
    pub fn close(self) -> Result<(), FlashError> {
        self.engine.close()
    }
}

impl std::fmt::Debug for Ranges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ranges").finish_non_exhaustive()
    }
}

impl RangeStore for Ranges {
    fn cluster(&self) -> Option<ClusterId> {
        self.flash().cluster()
    }

    fn join(&mut self, cluster: ClusterId) -> Gate {
        self.store().join(cluster)
    }

    fn plain(&self) -> Option<Plain> {
        self.flash().plain()
    }

    fn adopt(&mut self, cluster: ClusterId, range: RangeId) -> Option<RecoveredRange> {
        self.store().adopt(cluster, range)
    }

    fn create(&mut self, range: RangeId, keys: Interval) -> Gate {
        self.store().create(range, keys)
    }

    fn append(&mut self, range: RangeId, entry: &Arc<Entry>) -> Gate {
        self.store().append(range, entry)
    }

    fn truncate(&mut self, range: RangeId, to: Position) -> Gate {
        self.store().truncate(range, to)
    }

    fn hold(&mut self, range: RangeId, attempt: Attempt) -> Gate {
        self.store().hold(range, attempt)
    }

    fn reset(&mut self, range: RangeId) -> Gate {
        self.store().reset(range)
    }

    fn install(&mut self, range: RangeId, kept: &[Kept]) -> Option<Gate> {
        self.store().install(range, kept)
    }

    fn install_end(&mut self, range: RangeId, meta: &Meta, forgotten: Seq) -> Gate {
        self.store().install_end(range, meta, forgotten)
    }

    fn commit(&mut self, range: RangeId, entry: &Entry, lies: &Key) {
        self.store().commit(range, entry, lies);
    }

    fn inherit(&mut self, over: &[RangeId], ranges: &[(RangeId, RecoveredRange)]) -> Gate {
        self.store().inherit(over, ranges)
    }

    fn drop_range(&mut self, range: RangeId) -> Gate {
        self.store().drop_range(range)
    }

    fn lookup(&mut self, range: RangeId, key: &[u8], ticket: Ticket) -> Lookup {
        let found = self.engine.store().0.lookup(range, key, ticket);
        self.asked |= found == Lookup::Later;
        found
    }

    fn scan(&mut self, range: RangeId, from: Option<Key>, since: Seq, least: Position, ticket: Ticket) -> Scan {
        self.store().scan(range, from, since, least, ticket)
    }

    fn ready(&mut self) -> bool {
        self.engine.store().0.ready()
    }

    fn is_logged(&self) -> bool {
        self.flash().is_logged()
    }

    fn takes(&mut self, range: RangeId, place: Place) -> bool {
        self.engine.store().0.takes(range, place)
    }

    fn is_full(&self) -> bool {
        self.flash().is_full()
    }

    fn has_failed(&self) -> bool {
        self.flash().has_failed()
    }

    fn longest_record(&self) -> usize {
        self.flash().longest_record()
    }

    fn forgotten(&self, range: RangeId) -> Seq {
        self.flash().forgotten(range)
    }

    fn end_rest(&mut self) {
        // Each step of a node says so: only what has to be written is something to look after.
        if self.flash().store().log().unbatched_bytes() > 0 {
            self.store().end_rest();
        }
    }

    fn durable(&self) -> Gate {
        self.flash().durable()
    }
}
