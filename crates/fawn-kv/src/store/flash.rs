//! The datastore of a node on flash: the logs of its ranges, and what is committed of them, in one [`Store`].
//!
//! A write goes to the store's log as bytes (`write.rs`) and is carried out on the image of its range (`images.rs`); after
//! a restart the log's writes are carried out on the images again. What is committed goes to the open segment besides, and
//! from there to segments, so that the log need not be kept: before its beginning moves on, a checkpoint puts the whole
//! state of all ranges behind it.
//!
//! The log always has room for that checkpoint beside what it takes. A write that finds no room waits, carried out already,
//! until something is written or sealed; it is durable later, that is all. If a checkpoint is written meanwhile, the write
//! comes behind one that it is part of already: carrying it out once more, with all that follow it, ends in the same state.
//!
//! Whoever owns this runs the store: batches, work, events and fetches go in and out as they do for a [`Store`].

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use fawn_ring::{Interval, Key};
use fawn_store::flash::Flash;
use fawn_store::work::{Event, Work};
use fawn_store::{Ack, Batch, Committed, Gate as LogGate, Maintenance, OpenError, Opening, Options, Refusal, Store};

use super::adopt::CasNumbers;
use super::convert::record_of;
use super::images::{Image, Images};
use super::reads::{Answer, Asked, Fetch};
use super::write::Write;
use super::{Gate, Lookup, Part, Plain, RangeStore, Recovered, Scan, Ticket};
use crate::entry::{Entry, Kept};
use crate::ids::{Attempt, ClusterId, Position, RangeId, Seq};
use crate::meta::Meta;
use std::sync::Arc;

/// Bytes of records in a part of a copy, at most, but for the last of them.
const PART_BYTES: usize = 256 << 10;

/// Bytes that are kept for the next write, at most.
const KEEP_BYTES: usize = 64 << 10;

/// What is found of a node's store when it is opened.
pub struct Opened {
    /// The store.
    pub store: FlashStore,
    /// Its other half, which blocks.
    pub maintenance: Maintenance,
    /// What opening found.
    pub opening: Opening,
    /// What it holds.
    pub ranges: BTreeMap<RangeId, Recovered>,
}

/// The datastore of a node. See the module's text.
pub struct FlashStore {
    pub(super) store: Store,
    pub(super) images: Images,
    /// What it holds, while that is of no cluster.
    pub(super) plain: Option<Plain>,
    /// What clients were told while it was not.
    pub(super) cas: CasNumbers,
    /// What the ranges' times were at a tick, and what had to be durable for them.
    times: (Gate, BTreeMap<RangeId, u32>),
    /// Writes that are carried out and not in the log yet: range instance and bytes.
    waiting: VecDeque<(u64, Vec<u8>)>,
    /// Room for the bytes of the next.
    scratch: Vec<u8>,
    /// Bytes of a checkpoint of all that is carried out or waits, at most; `None`: to be counted.
    pub(super) reserve: Option<usize>,
    /// Writes so far.
    pub(super) written: Gate,
    /// Writes in the log that are not durable yet: how many there were so far, and the log's gate.
    pub(super) logged: VecDeque<(Gate, LogGate)>,
    durable: Gate,
    /// Why nothing is written any more.
    failed: Option<Refusal>,
    /// A clean stop is being recorded: the log ends where it ends.
    closing: bool,
    pub(super) fetches: VecDeque<Fetch>,
    /// Lookups that wait for an index.
    pub(super) loading: Vec<Asked>,
    /// Scans under way, by the store's number.
    pub(super) scans: BTreeMap<u64, Ticket>,
    pub(super) answers: VecDeque<(Ticket, Answer)>,
}

impl FlashStore {
    /// Opens the store on `flash`, or makes it when there is none.
    ///
    /// # Errors
    /// Those of [`Store::open_ranges`]; [`OpenError::Plain`] for one that is to be adopted.
    pub fn open(options: Options, flash: &dyn Flash) -> Result<Opened, OpenError> {
        let opened = Self::open_any(options, flash)?;
        let FlashStore { store, images, .. } = &opened.store;
        let is_plain = images.cluster.is_none() && images.ranges.is_empty() && !store.is_blank();
        if is_plain { Err(OpenError::Plain) } else { Ok(opened) }
    }

    /// Opens the store, whatever it holds.
    pub(super) fn open_any(mut options: Options, flash: &dyn Flash) -> Result<Opened, OpenError> {
        let mut images = Images::default();
        let mut replay = |store: &mut Store, instance: u64, bytes: &[u8]| {
            let (committed, write) = Write::decode(bytes)?;
            let range = range_of(instance).ok_or("a write is of no range")?;
            let applied = images.commit_to(store, range, committed);
            applied.and_then(|()| images.apply(store, range, write)).map_err(|refusal| refusal.to_string())
        };
        // What has expired is judged by the ranges' time, which is known once they are.
        options.ack = Ack::Durable;
        let (store, maintenance, opening) = Store::open_ranges(options, flash, 0, &mut replay)?;
        let ranges = images.ranges.iter().map(|(range, image)| (*range, image.state())).collect();
        let place = store.place();
        let store = Self {
            cas: CasNumbers::of(place.0, place.1),
            store,
            images,
            plain: None,
            waiting: VecDeque::new(),
            scratch: Vec::new(),
            reserve: None,
            times: (Gate(0), BTreeMap::new()),
            written: Gate(0),
            logged: VecDeque::new(),
            durable: Gate(0),
            failed: None,
            closing: false,
            fetches: VecDeque::new(),
            loading: Vec::new(),
            scans: BTreeMap::new(),
            answers: VecDeque::new(),
        };
        Ok(Opened { store, maintenance, opening, ranges })
    }

    /// Whether everything that was written is in the log, durable or not.
    pub fn is_logged(&self) -> bool {
        self.waiting.is_empty()
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
    pub fn committed(&mut self, committed: Committed) {
        self.store.committed(committed);
        let logged = self.store.logged();
        while let Some((gate, _)) = self.logged.pop_front_if(|(_, gate)| *gate <= logged) {
            self.durable = gate;
        }
        self.settle();
    }

    /// As [`Store::take_work`].
    pub fn take_work(&mut self) -> Option<Work> {
        self.store.take_work()
    }

    /// As [`Store::handle`].
    pub fn handle(&mut self, event: Event) {
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
        // No range may lose what has not expired by its own time; nor by one that a power failure could take back.
        let times = (self.durable() >= self.times.0).then(|| {
            let now = self.images.ranges.iter().map(|(range, image)| (*range, image.time())).collect();
            let (_, noted) = std::mem::replace(&mut self.times, (self.written, now));
            let time = |range, image: &Image| noted.get(range).map_or(0, |noted| image.time().min(*noted));
            self.images.ranges.iter().map(|(range, image)| (image.keys, time(range, image))).collect()
        });
        self.store.tick_by(times);
        self.settle();
    }

    /// Begins a clean stop: what is written is synced by the batches still to be taken.
    pub fn hurry(&mut self) {
        self.store.hurry();
    }

    /// Whether everything that was written is durable, and nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.store.is_idle()
    }

    /// Ends a clean stop, when [`is_idle`](Self::is_idle), as [`Store::close`] does.
    pub fn close(&mut self) {
        self.closing = true;
        self.store.close();
    }

    /// Whether the clean stop is recorded.
    pub fn is_closed(&self) -> bool {
        self.store.is_closed()
    }

    /// Goes on with what waited.
    fn settle(&mut self) {
        self.drain();
        self.checkpoint_when_due();
        self.look_again();
        self.take_parts();
    }

    /// Logs and carries out a write.
    fn write(&mut self, range: RangeId, write: Write<'_>) -> Gate {
        self.written.0 += 1;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let bytes = write.encode_into(scratch, self.images.committed(range));
        self.reserve = self.reserve.map(|reserve| reserve + grows(&bytes));
        self.waiting.push_back((instance_of(range), bytes));
        // Not before it is carried out: a checkpoint behind it holds it.
        self.drain();
        let applied = self.images.apply(&mut self.store, range, write);
        self.note(applied);
        self.checkpoint_when_due();
        self.written
    }

    fn checkpoint_when_due(&mut self) {
        if self.plain.is_none() && self.store.wants_checkpoint(false) {
            self.checkpoint();
        }
    }

    /// Puts what waits into the log.
    fn drain(&mut self) {
        self.log_what_fits();
        self.store.set_unlogged(!self.waiting.is_empty());
    }

    fn log_what_fits(&mut self) {
        while let Some((instance, bytes)) = self.waiting.front() {
            let (is_counted, reserve) = if let Some(reserve) = self.reserve {
                (false, reserve)
            } else {
                let waits: usize = self.waiting.iter().map(|(_, bytes)| grows(bytes)).sum();
                (true, *self.reserve.insert(self.images.checkpoint_bytes() + waits))
            };
            match self.store.log_range(*instance, bytes, reserve) {
                Ok(gate) => {
                    let (_, bytes) = self.waiting.pop_front().expect("it was just there");
                    if bytes.capacity() <= KEEP_BYTES {
                        self.scratch = bytes;
                    }
                    let written = Gate(self.written.0 - self.waiting.len() as u64);
                    match self.logged.back_mut() {
                        Some((last, same)) if *same == gate => *last = written,
                        _ => self.logged.push_back((written, gate)),
                    }
                }
                Err(Refusal::Busy | Refusal::NoSpace) if self.failed.is_none() => {
                    // What was committed since takes less.
                    if !is_counted || self.images.count_again() {
                        self.reserve = None;
                        continue;
                    }
                    if !self.store.wants_checkpoint(true) || self.checkpoint().is_none() {
                        return;
                    }
                }
                Err(refusal) => return self.note(Err(refusal)),
            }
        }
    }

    /// Writes a checkpoint, unless one is on its way already or there is no room.
    pub(super) fn checkpoint(&mut self) -> Option<LogGate> {
        if self.closing || self.store.awaits_checkpoint() {
            return None;
        }
        let state = |(range, image): (&RangeId, &Image)| {
            let write = Write::State(Cow::Owned(image.state()), image.forgotten);
            (instance_of(*range), write.encode(self.images.committed(*range)))
        };
        let join = |cluster| (instance_of(OF_ALL), Write::Join(cluster).encode(Position::default()));
        let states: Vec<_> =
            self.images.cluster.map(join).into_iter().chain(self.images.ranges.iter().map(state)).collect();
        self.images.count_again();
        self.reserve = None;
        self.store.checkpoint(&states).ok()
    }

    fn note(&mut self, result: Result<(), Refusal>) {
        if let Err(refusal) = result {
            self.failed.get_or_insert(refusal);
        }
    }

    /// Bytes of records in one write of a copy.
    fn part_bytes(&self) -> usize {
        PART_BYTES.min(self.longest_record())
    }
}

/// No range has this name: it stands for the whole store.
const OF_ALL: RangeId = RangeId(0);

/// By how much a write makes a checkpoint longer, at most, of which it becomes part.
fn grows(write: &[u8]) -> usize {
    write.len() + size_of::<Entry>()
}

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

    fn adopt(&mut self, cluster: ClusterId, range: RangeId) -> Option<Recovered> {
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

    fn install(&mut self, range: RangeId, kept: &[Kept]) -> Gate {
        let (mut rest, most) = (kept, self.part_bytes());
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take_while(|kept| {
                bytes += kept.bytes();
                bytes <= most
            });
            let (part, after) = rest.split_at(fits.count().max(1));
            self.write(range, Write::Install(Cow::Borrowed(part)));
            rest = after;
        }
        self.written
    }

    fn install_end(&mut self, range: RangeId, meta: &Meta, forgotten: Seq) -> Gate {
        self.write(range, Write::InstallEnd(Cow::Borrowed(meta), forgotten))
    }

    fn commit(&mut self, range: RangeId, entry: &Entry, lies: &Key) {
        let Some(image) = self.images.ranges.get(&range) else { return };
        let next = image.next().map(|next| next.position);
        assert_eq!(next, Some(entry.position), "the first record that is not committed is committed next");
        let record = record_of(entry);
        if record.is_some_and(|record| !self.store.has_room_for(&record)) {
            self.checkpoint();
        }
        if let Some(image) = self.images.ranges.get_mut(&range) {
            let committed = image.commit(&mut self.store, Some(lies));
            self.note(committed);
        }
    }

    fn inherit(&mut self, over: &[RangeId], ranges: &[(RangeId, Recovered)]) -> Gate {
        let named = over.first().copied().unwrap_or_default();
        let over: Vec<_> = over.iter().map(|range| (*range, self.images.committed(*range))).collect();
        self.write(named, Write::Inherit(Cow::Owned(over), Cow::Borrowed(ranges)))
    }

    fn drop_range(&mut self, range: RangeId) -> Gate {
        self.write(range, Write::Drop)
    }

    fn lookup(&mut self, range: RangeId, key: &[u8], ticket: Ticket) -> Lookup {
        if self.images.ranges.contains_key(&range) { self.look(key, ticket) } else { Lookup::Known(None) }
    }

    fn scan(&mut self, range: RangeId, from: Option<Key>, since: Seq, least: Position, ticket: Ticket) -> Scan {
        let Some(image) = self.images.ranges.get(&range) else { return Scan::Known(Part::default()) };
        let keys = image.keys;
        if image.is_open(least, &self.store) {
            self.store.freeze_unsealed();
        }
        let keys = Interval::new(from.unwrap_or(keys.low).clamp(keys.low, keys.high), keys.high);
        let id = self.store.scan_versions(keys, self.part_bytes(), since.0);
        self.scans.insert(id, ticket);
        Scan::Later
    }

    fn longest_record(&self) -> usize {
        self.store.longest_entry() / 4
    }

    /// The log takes writes, merges keep up, and what waits to be committed of the range stays within its share of the log.
    fn ready(&mut self, range: RangeId) -> bool {
        let share = self.store.longest_entry() / 4 / self.images.ranges.len().max(1);
        let in_share = self.images.ranges.get(&range).is_none_or(|image| image.suffix_bytes() <= share);
        in_share && self.waiting.is_empty() && !self.has_failed() && !self.store.is_behind()
    }

    fn is_full(&self) -> bool {
        self.store.is_full()
    }

    fn has_failed(&self) -> bool {
        self.failed.is_some() || self.store.stopped().is_some()
    }

    fn forgotten(&self, range: RangeId) -> Seq {
        let Some(image) = self.images.ranges.get(&range) else { return Seq(0) };
        image.forgotten.max(Seq(self.store.horizon(&image.keys)))
    }

    fn durable(&self) -> Gate {
        self.durable
    }
}
