//! The datastore of a node on flash: the logs of its ranges, and what is committed of them, in one [`Store`].
//!
//! A write goes to the store's log as bytes (`write.rs`) and is carried out on the image of its range (`images.rs`); after
//! a restart the log's writes are carried out on the images again. What is committed goes to the open segment besides, and
//! from there to segments, so that the log need not be kept: before its beginning moves on, a checkpoint puts the whole
//! state of all ranges behind it.
//!
//! The log always has room for that checkpoint beside what it takes, and after a restart for one of what is found then. A
//! write that finds no room waits, carried out already, until something is written or sealed, or until a checkpoint takes it
//! in; it is durable later, that is all. Nothing may build on it meanwhile that a restart would find without it: no record is
//! committed that waits, and no part of a copy ever does.
//!
//! What waits has room in the end without anything being committed, since what is not committed stays within shares of the
//! longest checkpoint. They grow along a chain ([`RangeStore::takes`]): a head stops taking first, then who is in between, then
//! the tail, which waits for nobody. So no two chains wait for room that the other one holds.
//!
//! Whoever owns this runs the store: batches, work, events and fetches go in and out as they do for a [`Store`].

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use fawn_ring::{Interval, Key};
use fawn_store::flash::{Flash, FlashError};
use fawn_store::page::Page;
use fawn_store::work::{MaintenanceEvent, MaintenanceWork};
use fawn_store::{
    Ack, Batch, Gate as LogGate, Losses, Maintenance, OpenError, Opening, Options, Refusal, Replication, Store,
    Trouble, WrittenBatch,
};

use super::cas::CasNumbers;
use super::convert::record_of;
use super::expiry_times::ExpiryTimes;
use super::images::{Image, Images};
use super::lookups::{Answer, Fetch};
use super::reads::FlashReads;
use super::write::Write;
use super::{Gate, Lookup, Part, Place, Plain, RangeStore, RecoveredRange, Scan, Ticket};
use crate::ids::{Attempt, ClusterId, Epoch, Position, RangeId, Seq};
use crate::range::entry::{Entry, Kept};
use crate::range::meta::Meta;
use std::sync::Arc;

/// Bytes of records in a part of a copy, at most, but for the last of them.
const PART_BYTES: usize = 256 << 10;

/// Shares of the longest checkpoint that records take which are not committed, at most: a tail takes another one, of one
/// share at most, while the others take one less. So a checkpoint of as much fits the log three times, if what the ranges
/// know beside their records takes a share at most.
const MOST_SHARES: usize = 4;

/// No range is committed up to here.
const LAST: Position = Position { epoch: Epoch(u32::MAX), seq: Seq(u64::MAX) };

/// Bytes that are kept for the next write, at most.
const KEEP_BYTES: usize = 64 << 10;

/// What is found of a node's store when it is opened.
pub struct OpenedStore {
    /// The store.
    pub store: FlashStore,
    /// Its other half, which blocks.
    pub maintenance: Maintenance,
    /// What opening found.
    pub opening: Opening,
    /// What it holds.
    pub ranges: BTreeMap<RangeId, RecoveredRange>,
}

/// A write that is carried out and not in the log yet.
struct Waiting {
    instance: u64,
    bytes: Vec<u8>,
    /// By how much it makes a checkpoint longer, at most.
    grows: usize,
    /// Its range's state has it while the range is not committed up to here.
    stated: Option<(RangeId, Position)>,
}

impl Waiting {
    /// Bytes that it takes in a checkpoint.
    fn len(&self) -> usize {
        self.bytes.len() + Replication::ENTRY_BYTES
    }
}

/// The datastore of a node. See the module's text.
pub struct FlashStore {
    pub(super) store: Store,
    pub(super) images: Images,
    /// What it holds, while that is of no cluster.
    pub(super) plain: Option<Plain>,
    /// What clients were told while it was not.
    pub(super) cas: CasNumbers,
    expiry_times: ExpiryTimes,
    /// Writes that are carried out and not in the log yet.
    waiting: VecDeque<Waiting>,
    /// Room for the bytes of the next.
    scratch: Vec<u8>,
    /// Bytes of a checkpoint of all that is carried out, and of the write that just is, at most; `None`: to be counted.
    pub(super) reserve: Option<usize>,
    /// By how much the write that is being carried out makes a checkpoint longer, at most.
    applying: usize,
    /// Bytes of a checkpoint of what the log holds, as a restart finds it: what is committed may not be known, and what waits
    /// is lacking, which may be what makes it shorter. At most.
    reserve_logged: usize,
    /// The same once the checkpoint on its way is sealed.
    reserve_sealed: Option<usize>,
    /// Bytes of records that are not committed, at most.
    uncommitted: usize,
    /// Whether anything was committed or cut off since the reserve was counted for what waits.
    may_take_less: bool,
    /// Writes so far.
    pub(super) written: Gate,
    /// Writes in the log that are not durable yet: how many there were so far, and the log's gate.
    pub(super) logged: VecDeque<(Gate, LogGate)>,
    durable: Gate,
    /// Why nothing is written any more.
    failed: Option<Refusal>,
    /// A clean stop is being recorded: the log ends where it ends.
    closing: bool,
    reads: FlashReads,
}

impl FlashStore {
    /// Opens the store on `flash`, or makes it when there is none.
    ///
    /// # Errors
    /// Those of [`Store::open_ranges`]; [`OpenError::Plain`] for one that is to be adopted.
    pub fn open(options: Options, flash: &dyn Flash) -> Result<OpenedStore, OpenError> {
        let opened = Self::open_any(options, flash)?;
        let FlashStore { store, images, .. } = &opened.store;
        let is_plain = images.cluster.is_none() && images.ranges.is_empty() && !store.contents().is_blank();
        if is_plain { Err(OpenError::Plain) } else { Ok(opened) }
    }

    /// Opens the store, whatever it holds.
    pub(super) fn open_any(mut options: Options, flash: &dyn Flash) -> Result<OpenedStore, OpenError> {
        let (mut images, mut checkpoint) = (Images::default(), None);
        let mut replay = |store: &mut Store, instance: u64, bytes: &[u8]| {
            let (committed, write) = Write::decode(bytes)?;
            let range = range_of(instance).ok_or("a write is of no range")?;
            if matches!(write, Write::Join(_)) {
                checkpoint = Some(store.log().replayed_at());
            }
            let applied = images.commit_to(store, range, committed);
            applied.and_then(|()| images.apply(store, range, write)).map_err(|refusal| refusal.to_string())
        };
        // What has expired is judged by the ranges' time, which is known once they are.
        options.ack = Ack::Durable;
        let (mut store, maintenance, opening) = Store::open_ranges(options, flash, 0, &mut replay)?;
        // One that was not sealed in time is sealed now: there may be no room for another.
        if let Some(start) = checkpoint {
            store.replication().end_checkpoint(start);
        }
        let ranges = images.ranges.iter().map(|(range, image)| (*range, image.state())).collect();
        let place = (store.options().index, store.options().count);
        let cas = CasNumbers::of(place.0, place.1);
        let reserve_logged = images.checkpoint_bytes();
        let store = Self {
            cas,
            reads: FlashReads::new(cas),
            store,
            images,
            plain: None,
            waiting: VecDeque::new(),
            scratch: Vec::new(),
            reserve: None,
            applying: 0,
            reserve_logged,
            reserve_sealed: None,
            uncommitted: usize::MAX,
            may_take_less: true,
            expiry_times: ExpiryTimes::default(),
            written: Gate(0),
            logged: VecDeque::new(),
            durable: Gate(0),
            failed: None,
            closing: false,
        };
        Ok(OpenedStore { store, maintenance, opening, ranges })
    }

    /// Why the store has stopped, if it has.
    pub fn stopped(&self) -> Option<String> {
        let failed = self.failed.as_ref().map(ToString::to_string);
        self.store.stopped().map(ToOwned::to_owned).or(failed)
    }

    /// The gate of everything written so far.
    pub fn written(&self) -> Gate {
        self.written
    }

    /// The store under it, for figures.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// As [`Store::take_batch`].
    pub fn take_batch(&mut self, now_ms: u64) -> Option<Batch> {
        self.store.take_batch(now_ms)
    }

    /// As [`Store::committed`].
    pub fn committed(&mut self, committed: WrittenBatch) {
        self.store.committed(committed);
        let logged = self.store.log().logged();
        while let Some((gate, _)) = self.logged.pop_front_if(|(_, gate)| *gate <= logged) {
            self.durable = gate;
        }
        self.settle();
    }

    /// As [`Store::take_work`].
    pub fn take_work(&mut self) -> Option<MaintenanceWork> {
        self.store.take_work()
    }

    /// As [`Store::handle`].
    pub fn handle(&mut self, event: MaintenanceEvent) {
        self.store.handle(event);
        self.settle();
    }

    /// As [`Store::step`].
    pub fn step(&mut self, budget: usize) -> bool {
        let more = self.store.step(budget);
        self.settle();
        more
    }

    /// To be called about once a second.
    pub fn tick(&mut self) {
        self.expiry_times.tick((self.durable(), self.written), &self.images, &mut self.store);
        self.settle();
    }

    /// Begins a clean stop: what is written is synced by the batches still to be taken.
    pub fn hurry(&mut self) {
        self.store.hurry();
    }

    /// Whether everything that was written is durable, and nothing is on its way. What waits for space on the device is
    /// durable for nobody, and a stop does not wait for it.
    pub fn is_idle(&self) -> bool {
        (self.waiting.is_empty() || self.store.upkeep().waits_for_space()) && self.store.is_idle()
    }

    /// Ends a clean stop, when [`is_idle`](Self::is_idle), as [`Store::close`] does.
    pub fn close(&mut self) {
        self.closing = true;
        self.store.close();
    }

    /// Whether the clean stop is recorded.
    pub fn is_closed(&self) -> bool {
        self.store.upkeep().is_closed()
    }

    /// The next read to carry out.
    pub fn take_fetch(&mut self) -> Option<Fetch> {
        self.reads.take_fetch()
    }

    /// Takes the pages of a read, exactly those asked for, or why they cannot be read.
    pub fn fetched(&mut self, fetch: Fetch, pages: Result<&mut [Page], FlashError>) {
        self.reads.fetched(fetch, pages, &mut self.store);
    }

    /// The next answer to a lookup or a scan that had to wait.
    pub fn take_answer(&mut self) -> Option<(Ticket, Answer)> {
        self.reads.take_answer()
    }

    /// As [`fawn_store::Reports::take_trouble`].
    pub fn take_trouble(&mut self) -> Option<Trouble> {
        self.store.reports().take_trouble()
    }

    /// From now on scans leave out what cannot be read, instead of failing: for whoever wants what there is of a damaged copy,
    /// never for a chain, which has other copies.
    pub fn pass_over_lost(&mut self) {
        self.reads.pass_over_lost();
    }

    /// What scans have left out.
    pub fn passed_over(&self) -> Option<&Losses> {
        self.reads.passed_over()
    }

    /// Goes on with what waited.
    fn settle(&mut self) {
        self.note_sealed();
        self.drain();
        self.checkpoint_when_due();
        self.reads.look_again(&mut self.store);
        self.reads.take_parts(&mut self.store);
    }

    /// Logs and carries out a write.
    fn write(&mut self, range: RangeId, write: Write<'_>) -> Gate {
        let waiting = self.encode(range, &write);
        self.written.0 += 1;
        let is_append = matches!(write, Write::Append(_));
        self.may_take_less |= !is_append;
        if let Write::Append(entry) = &write {
            self.uncommitted = self.uncommitted.saturating_add(entry.bytes());
        }
        self.applying = waiting.grows;
        self.reserve = self.reserve.map(|reserve| reserve + waiting.grows);
        // Before it is carried out, since then it may freeze what is open; and without a checkpoint in between, which would
        // be behind it and not hold it.
        if !self.waiting.is_empty() || !self.logs_new(&waiting) {
            self.waiting.push_back(waiting);
            self.store.replication().set_unlogged(true);
        } else {
            self.keep_buffer(waiting);
            self.images.told(range);
        }
        let applied = self.images.apply(&mut self.store, range, write);
        if !is_append {
            self.expiry_times.judge(&self.images, &mut self.store);
        }
        self.applying = 0;
        self.note(applied);
        self.drain();
        self.checkpoint_when_due();
        self.written
    }

    /// Logs and carries out a part of a copy, or does neither: it is asked for again.
    fn write_part(&mut self, range: RangeId, write: Write<'_>) -> Option<Gate> {
        self.drain();
        if !self.waiting.is_empty() {
            return None;
        }
        let waiting = self.encode(range, &write);
        self.written.0 += 1;
        let mut is_logged = self.logs_new(&waiting) || self.makes_room() && self.logs_new(&waiting);
        is_logged = is_logged || self.logs_tightly(&waiting);
        self.keep_buffer(waiting);
        if !is_logged {
            self.written.0 -= 1;
            self.end_rest();
            return None;
        }
        self.images.told(range);
        let applied = self.images.apply(&mut self.store, range, write);
        self.expiry_times.judge(&self.images, &mut self.store);
        self.note(applied);
        self.checkpoint_when_due();
        Some(self.written)
    }

    fn encode(&mut self, range: RangeId, write: &Write<'_>) -> Waiting {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let bytes = write.encode_into(scratch, self.images.committed(range));
        let longer = bytes.len() + size_of::<Entry>();
        let (stated, grows) = match write {
            Write::Append(entry) => (Some((range, entry.position)), longer),
            // Not so what cuts records off: those of them that wait would come back.
            Write::Hold(_) => (Some((range, LAST)), longer),
            // It goes to segments.
            Write::Install(_) => (None, 0),
            _ => (None, longer),
        };
        Waiting { instance: instance_of(range), bytes, grows, stated }
    }

    /// Keeps the buffer for the next write.
    fn keep_buffer(&mut self, written: Waiting) {
        if written.bytes.capacity() <= KEEP_BYTES {
            self.scratch = written.bytes;
        }
    }

    fn checkpoint_when_due(&mut self) {
        if self.plain.is_none() && self.store.replication().wants_checkpoint(false) {
            self.checkpoint();
        }
    }

    /// Puts what waits into the log, itself or in a checkpoint.
    fn drain(&mut self) {
        while let Some(first) = self.waiting.pop_front() {
            if self.logs(&first) {
                self.keep_buffer(first);
                continue;
            }
            self.waiting.push_front(first);
            if self.failed.is_some() || self.makes_room() {
                break;
            }
            let first = self.waiting.pop_front().expect("it was just there");
            if !self.logs_tightly(&first) {
                self.waiting.push_front(first);
                break;
            }
            self.keep_buffer(first);
        }
        self.store.replication().set_unlogged(!self.waiting.is_empty());
    }

    /// Whether a checkpoint is on its way now that makes room. Where a batch is, that may be room enough.
    fn makes_room(&mut self) -> bool {
        (self.store.is_idle() || self.store.replication().wants_checkpoint(true)) && self.checkpoint().is_some()
    }

    /// Logs what is carried out and does not wait any more, if there is room.
    fn logs(&mut self, write: &Waiting) -> bool {
        if self.fits_log(write) {
            return true;
        }
        // What was committed since takes less. To count that is dear where every write asks for it.
        if !std::mem::take(&mut self.may_take_less) {
            return false;
        }
        self.images.count_again();
        self.reserve = None;
        self.fits_log(write)
    }

    /// Logs what finds no room beside what may yet come, where there is none to be made: what ranges know beside their
    /// records is so much, or the log is so short.
    fn logs_tightly(&mut self, write: &Waiting) -> bool {
        if !self.store.is_idle() || self.store.log().awaits_checkpoint() {
            return false;
        }
        self.reserve = Some(self.checkpoint_bytes());
        let is_logged = self.fits_log(write);
        self.reserve = None;
        is_logged
    }

    /// Bytes of the next checkpoint, at most.
    fn checkpoint_bytes(&self) -> usize {
        let besides = self.waiting.iter().filter(|waiting| waiting.stated.is_none());
        self.images.checkpoint_bytes() + self.applying + besides.map(Waiting::len).sum::<usize>()
    }

    /// Logs what is not carried out yet, if there is room; nothing waits.
    fn logs_new(&mut self, write: &Waiting) -> bool {
        if self.fits_log(write) {
            return true;
        }
        self.images.count_again();
        self.reserve = None;
        self.reserve_logged = self.images.checkpoint_bytes() + self.images.untold_bytes();
        self.fits_log(write)
    }

    fn fits_log(&mut self, write: &Waiting) -> bool {
        let reserve = self.reserve.unwrap_or_else(|| {
            // Records that find no room wait in the next checkpoint.
            let to_come = self.shares(MOST_SHARES).saturating_sub(self.images.uncommitted_bytes());
            self.checkpoint_bytes() + to_come
        });
        self.reserve = Some(reserve);
        let after_restart = self.reserve_logged.max(self.reserve_sealed.unwrap_or(0)) + write.grows;
        match self.store.replication().log(write.instance, &write.bytes, (reserve, after_restart)) {
            Ok(gate) => {
                self.reserve_logged += write.grows;
                self.reserve_sealed = self.reserve_sealed.map(|reserve| reserve + write.grows);
                let written = Gate(self.written.0 - self.waiting.len() as u64);
                match self.logged.back_mut() {
                    Some((last, same)) if *same == gate => *last = written,
                    _ => self.logged.push_back((written, gate)),
                }
                return true;
            }
            Err(Refusal::Busy | Refusal::NoSpace) => {}
            Err(refusal) => self.note(Err(refusal)),
        }
        false
    }

    /// Writes a checkpoint, unless one is on its way already, or there is no room, or its batch should rather go first.
    pub(super) fn checkpoint(&mut self) -> Option<LogGate> {
        // The log's start moves to the batch that holds it, with whatever else does.
        if self.closing || self.store.log().awaits_checkpoint() || self.store.log().unbatched_bytes() > self.shares(1) {
            return None;
        }
        let state = |(range, image): (&RangeId, &Image)| {
            let write = Write::State(Cow::Owned(image.state()), image.forgotten);
            (instance_of(*range), write.encode(self.images.committed(*range)))
        };
        let join = |cluster| (instance_of(OF_ALL), Write::Join(cluster).encode(Position::default()));
        // What waits is in the log with it, unless the states have it.
        let is_in_state =
            |waiting: &Waiting| waiting.stated.is_some_and(|(range, at)| at > self.images.committed(range));
        let waiting = self.waiting.iter().filter(|waiting| !is_in_state(waiting));
        let waiting = waiting.map(|waiting| (waiting.instance, waiting.bytes.clone()));
        let states = self.images.cluster.map(join).into_iter().chain(self.images.ranges.iter().map(state));
        let group: Vec<_> = waiting.chain(states).collect();
        self.images.count_again();
        self.reserve = None;
        let gate = self.store.replication().checkpoint(&group).ok()?;
        self.reserve_sealed = Some(self.images.checkpoint_bytes());
        self.images.tell();
        if !self.waiting.is_empty() {
            self.waiting.clear();
            self.logged.push_back((self.written, gate));
        }
        Some(gate)
    }

    /// From here on a restart finds the last checkpoint.
    fn note_sealed(&mut self) {
        if !self.store.log().awaits_checkpoint()
            && let Some(reserve) = self.reserve_sealed.take()
        {
            self.reserve_logged = reserve;
            self.images.sealed();
        }
    }

    /// So many shares of the longest checkpoint.
    fn shares(&self, count: usize) -> usize {
        self.store.log().longest_entry() / 8 * count
    }

    fn note(&mut self, result: Result<(), Refusal>) {
        if let Err(refusal) = result {
            self.failed.get_or_insert(refusal);
        }
    }
}

/// No range has this name: it stands for the whole store.
const OF_ALL: RangeId = RangeId(0);

/// The log's number of a range; 0 means all.
fn instance_of(range: RangeId) -> u64 {
    u64::from(range.0) + 1
}

fn range_of(instance: u64) -> Option<RangeId> {
    u32::try_from(instance.checked_sub(1)?).ok().map(RangeId)
}

impl RangeStore for FlashStore {
    fn cluster(&self) -> Option<ClusterId> {
        self.images.cluster
    }

    fn join(&mut self, cluster: ClusterId) -> Gate {
        self.write(OF_ALL, Write::Join(cluster))
    }

    fn plain(&self) -> Option<Plain> {
        self.plain
    }

    fn adopt(&mut self, cluster: ClusterId, range: RangeId) -> Option<RecoveredRange> {
        self.adopt_as(cluster, range)
    }

    fn create(&mut self, range: RangeId, keys: Interval) -> Gate {
        let overlaps = self.images.ranges.values().any(|image| image.keys.overlaps(&keys));
        assert!(!overlaps, "what a range holds is told by its keys alone: those of a node never overlap");
        self.write(range, Write::Create(keys))
    }

    fn append(&mut self, range: RangeId, entry: &Arc<Entry>) -> Gate {
        self.write(range, Write::Append(Arc::clone(entry)))
    }

    fn truncate(&mut self, range: RangeId, to: Position) -> Gate {
        self.write(range, Write::Truncate(to))
    }

    fn hold(&mut self, range: RangeId, attempt: Attempt) -> Gate {
        self.write(range, Write::Hold(attempt))
    }

    fn reset(&mut self, range: RangeId) -> Gate {
        self.write(range, Write::Reset)
    }

    fn install(&mut self, range: RangeId, kept: &[Kept]) -> Option<Gate> {
        let (mut rest, most) = (kept, PART_BYTES.min(self.longest_record()));
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take_while(|kept| {
                bytes += kept.bytes();
                bytes <= most
            });
            let (part, after) = rest.split_at(fits.count().max(1));
            self.write_part(range, Write::Install(Cow::Borrowed(part)))?;
            rest = after;
        }
        Some(self.written)
    }

    fn install_end(&mut self, range: RangeId, meta: &Meta, forgotten: Seq) -> Gate {
        self.write(range, Write::InstallEnd(Cow::Borrowed(meta), forgotten))
    }

    fn commit(&mut self, range: RangeId, entry: &Entry, lies: &Key) {
        let Some(image) = self.images.ranges.get(&range) else { return };
        let next = image.next().map(|next| next.position);
        assert_eq!(next, Some(entry.position), "the first record that is not committed is committed next");
        if record_of(entry).is_some_and(|record| !self.store.buffers().has_room_for(&record)) {
            self.checkpoint();
        }
        if let Some(image) = self.images.ranges.get_mut(&range) {
            let before = image.expiry_time();
            let committed = image.commit(&mut self.store, Some(lies));
            if image.expiry_time() < before {
                self.expiry_times.judge(&self.images, &mut self.store);
            }
            self.may_take_less = true;
            self.note(committed);
        }
    }

    fn inherit(&mut self, over: &[RangeId], ranges: &[(RangeId, RecoveredRange)]) -> Gate {
        let named = over.first().copied().unwrap_or_default();
        let over: Vec<_> = over.iter().map(|range| (*range, self.images.committed(*range))).collect();
        self.write(named, Write::Inherit(Cow::Owned(over), Cow::Borrowed(ranges)))
    }

    fn drop_range(&mut self, range: RangeId) -> Gate {
        self.write(range, Write::Drop)
    }

    fn lookup(&mut self, range: RangeId, key: &[u8], ticket: Ticket) -> Lookup {
        if self.images.ranges.contains_key(&range) {
            self.reads.look(key, ticket, &mut self.store)
        } else {
            Lookup::Known(None)
        }
    }

    fn scan(&mut self, range: RangeId, from: Option<Key>, since: Seq, least: Position, ticket: Ticket) -> Scan {
        let Some(image) = self.images.ranges.get(&range) else { return Scan::Known(Part::default()) };
        let keys = image.keys;
        if image.is_open(least, &self.store) {
            self.store.replication().freeze();
        }
        let keys = Interval::new(from.unwrap_or(keys.low).clamp(keys.low, keys.high), keys.high);
        let most = PART_BYTES.min(self.longest_record());
        let id = self.store.replication().scan(keys, most, since.0);
        self.reads.begin_scan(id, ticket);
        Scan::Later
    }

    fn longest_record(&self) -> usize {
        self.shares(1)
    }

    /// The log takes writes, and merges keep up.
    fn ready(&mut self) -> bool {
        self.waiting.is_empty() && !self.has_failed() && !self.store.upkeep().is_behind()
    }

    fn is_logged(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What is not committed stays within the place's shares of the log, and of the range within the range's.
    fn takes(&mut self, range: RangeId, place: Place) -> bool {
        let most = self.shares(match place {
            Place::Head => 1,
            Place::Between => 2,
            Place::Tail => MOST_SHARES - 1,
            // Any more, and no checkpoint holds it.
            Place::Silent => 6,
        });
        if self.uncommitted > most {
            self.uncommitted = self.images.uncommitted_bytes();
        }
        let share = self.shares(2) / self.images.ranges.len().max(1);
        let is_in_share = || self.images.ranges.get(&range).is_none_or(|image| image.suffix_bytes() <= share);
        self.uncommitted <= most && (place != Place::Head || is_in_share())
    }

    fn is_full(&self) -> bool {
        self.store.upkeep().is_full()
    }

    fn has_failed(&self) -> bool {
        self.failed.is_some() || self.store.stopped().is_some()
    }

    fn forgotten(&self, range: RangeId) -> Seq {
        let Some(image) = self.images.ranges.get(&range) else { return Seq(0) };
        image.forgotten.max(Seq(self.store.upkeep().horizon(&image.keys)))
    }

    fn end_rest(&mut self) {
        self.store.replication().end_rest();
    }

    fn durable(&self) -> Gate {
        self.durable
    }
}
