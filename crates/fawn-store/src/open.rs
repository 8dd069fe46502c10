//! Opening a store: the manifest, the segments' directories, the commit log; and making a new one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use crate::api::Damage;
use crate::flash::{FileId, Flash, FlashError};
use crate::format::manifest::{Edit, Manifest, ManifestError, State};
use crate::format::page::PAGE_BYTES;
use crate::format::record::Record;
use crate::format::segment::{Footer, SegmentError};
use crate::log::{
    Entry, LogError, LogExpectation, LogRecovery, LogWriter, ReplayEntry, recover, recover_intact, survey,
};
use crate::maintenance::{Maintenance, SEQUENCE_STRIDE, Step};
use crate::merge::value_file;
use crate::options::Options;
use crate::ranges::RangeState;
use crate::sealed::directory::PageDirectory;
use crate::store::{Parts, Store, WrittenBytes};
use crate::work::{RangeMark, View};
use fawn_ring::{Interval, Key};

/// Why a store cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The manifest cannot be read or is damaged.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The commit log cannot be replayed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The device failed.
    #[error("the store cannot be opened: {0}")]
    Flash(#[from] FlashError),
    /// A segment is damaged.
    #[error("{0}; restore this store from a replica or a copy")]
    Damage(#[from] Damage),
    /// The keys lie elsewhere than the options say.
    #[error(
        "SECRET is not the key that this store was created with, according to {manifest}: put back the file that \
        belongs to this directory, or restore the directory from a copy"
    )]
    OtherSecret {
        /// File name of the manifest.
        manifest: FileId,
    },
    /// The directory holds another store than the options say.
    #[error(
        "this store was created as number {found} of {of}, according to {manifest}, but FORMAT or the name of its \
        directory says otherwise: open the directory with its original settings, or restore it from a copy"
    )]
    Mismatch {
        /// File name of the manifest.
        manifest: FileId,
        /// Number of the store, by the manifest.
        found: u32,
        /// Number of stores of its directory.
        of: u32,
    },
    /// The log holds replicated ranges, which only their node knows how to read.
    #[error("this store holds replicated ranges: open it as a node of its cluster")]
    Replicated,
    /// It is of no cluster.
    #[error("this store belongs to no cluster, and holds data: open it as a store that a node adopts")]
    Plain,
    /// The flash failed while records from the log were sealed.
    #[error("the store stopped during its opening: {0}")]
    Stopped(String),
}

impl OpenError {
    /// Whether the commit log cannot be read, or is damaged: the rest of the store may be as it was.
    pub fn is_of_log(&self) -> bool {
        matches!(self, Self::Log(LogError::Damage { .. } | LogError::Flash(_)))
    }

    /// What is wrong with the store in this directory, by the path of the file where it is one.
    pub fn at(&self, store: impl Display) -> String {
        let begins_with_file = matches!(
            self,
            Self::Damage(_)
                | Self::Log(LogError::Damage { .. } | LogError::Newer { .. })
                | Self::Manifest(ManifestError::Damage { .. } | ManifestError::Newer { .. })
        );
        if begins_with_file { format!("{store}/{self}") } else { format!("{store}: {self}") }
    }
}

/// Takes back what the owner of replicated ranges wrote to the log: range instance and bytes; an error says what is wrong
/// with them.
pub type Owner<'a> = &'a mut dyn FnMut(&mut Store, u64, &[u8]) -> Result<(), String>;

/// What opening found, for the log of whoever opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// The store was made just now.
    pub created: bool,
    /// The store was stopped cleanly the last time.
    pub clean: bool,
    /// Entries of the commit log that were replayed.
    pub replayed: u64,
    /// Bytes of a torn tail that were cut off: writes that nobody was told of.
    pub torn_bytes: u64,
    /// Files that nothing named, left by a crash, removed.
    pub orphans: u64,
}

impl Store {
    /// Opens the store on `flash`, or makes it when there is none. `now` is the Unix second.
    ///
    /// # Errors
    /// [`OpenError`]; an existing store is not changed by a failed opening, but for seals of what its log holds.
    pub fn open(options: Options, flash: &dyn Flash, now: u32) -> Result<(Self, Maintenance, Opening), OpenError> {
        open_store(options, flash, now, None)
    }

    /// As [`open`](Self::open), for the owner of replicated ranges: `owner` is handed what it wrote to the log since the
    /// last checkpoint that was sealed, range instance and bytes, in order, and appends what of it is committed. A store
    /// that was made for fewer keys than `options` say holds all of those from here on.
    ///
    /// # Errors
    /// As there; [`OpenError::Damage`] also when the owner cannot make sense of what it is handed.
    pub fn open_ranges(
        options: Options,
        flash: &dyn Flash,
        now: u32,
        owner: Owner<'_>,
    ) -> Result<(Self, Maintenance, Opening), OpenError> {
        open_store(options, flash, now, Some(owner))
    }
}

fn open_store<'a>(
    options: Options,
    flash: &'a dyn Flash,
    now: u32,
    owner: Option<Owner<'a>>,
) -> Result<(Store, Maintenance, Opening), OpenError> {
    let mut opening = Opening::default();
    let (manifest, state) = match Manifest::open(flash) {
        // Made, and cut short before anything could be written to it: made anew, as the options may be others.
        Ok((manifest, state)) if state.generation == 0 => {
            knows_log(flash, &manifest)?;
            remove_log(flash)?;
            flash.remove(manifest.file())?;
            opening.created = true;
            create(&options, flash)?
        }
        Ok(found) => found,
        Err(ManifestError::NotFound) => {
            opening.created = true;
            create(&options, flash)?
        }
        Err(error) => return Err(error.into()),
    };
    if state.store != options.index || state.stores != options.count {
        return Err(OpenError::Mismatch { manifest: manifest.file(), found: state.store, of: state.stores });
    }
    if state.secret != options.secret {
        return Err(OpenError::OtherSecret { manifest: manifest.file() });
    }
    opening.clean = state.log.clean_end.is_some() || opening.created;
    let files = flash.list()?;
    let next_file = files.iter().map(|(file, _)| number_of(*file) + 1).max().unwrap_or(0).max(state.next_file);
    let views = read_views(flash, &state).or_else(|error| {
        // An older manifest names what is gone.
        knows_log(flash, &manifest)?;
        Err(error)
    })?;
    let mut state = state;
    let widened = owner.as_ref().and_then(|_| widening(&options, flash.space().ok()?.total, &state));
    if let Some(edit) = &widened {
        state.apply(edit).expect("what is added adjoins what is there");
    }
    let maintenance = Maintenance::new(manifest, &options, views.clone(), next_file);
    let salvage = options.salvage;
    let store = assemble(options, &state, views, next_file, now);
    Recovery { store, maintenance, flash, opening, owner, widened, stubs: BTreeSet::new(), failed: None }
        .run(&state, salvage)
}

/// Refuses a manifest that is older than the log beside it. Whatever else is wrong with the log is told later.
fn knows_log(flash: &dyn Flash, manifest: &Manifest) -> Result<(), LogError> {
    let state = manifest.state();
    match survey(flash, state.log_shape(), LogExpectation::of(manifest.number(), state)) {
        Err(older @ LogError::OlderManifest { .. }) => Err(older),
        _ => Ok(()),
    }
}

fn remove_log(flash: &dyn Flash) -> Result<(), FlashError> {
    match flash.remove(FileId::CommitLog) {
        Err(FlashError::NotFound(_)) => Ok(()),
        removed => removed,
    }
}

fn create(options: &Options, flash: &dyn Flash) -> Result<(Manifest, State), OpenError> {
    let ring_pages = options.log_pages();
    let slices = options.slices(flash.space()?.total);
    let instance = 1;
    let (index, count) = (options.index, options.count);
    let state = State::new(index, count, options.interval, options.secret, instance, slices, ring_pages);
    let manifest = Manifest::create(flash, state)?;
    let state = manifest.state().clone();
    Ok((manifest, state))
}

/// How a store comes to hold all keys that the options say, if it holds fewer. The slices that are added are as wide, about,
/// as those that a store of all these keys begins with.
fn widening(options: &Options, device_bytes: u64, state: &State) -> Option<Edit> {
    let (held, wanted) = (state.interval, options.interval);
    let slices = |low: Key, high: Option<Key>| {
        let Some(keys) = high.filter(|high| low <= *high).map(|high| Interval::new(low, high)) else {
            return Vec::new();
        };
        let width = u128::from(keys.high.prefix() - keys.low.prefix()) + 1;
        keys.divide(((width * u128::from(options.slices(device_bytes))) >> 64) as u32 + 1)
    };
    let below = slices(wanted.low, held.low.predecessor());
    let above = held.high.successor().map_or_else(Vec::new, |low| slices(low, Some(wanted.high)));
    (!below.is_empty() || !above.is_empty()).then_some(Edit::Widened { below, above })
}

fn number_of(file: FileId) -> u64 {
    match file {
        FileId::Segment(number) | FileId::Value(number) => number,
        FileId::Manifest(_) | FileId::CommitLog => 0,
    }
}

/// Reads the footers and page directories of all segments.
fn read_views(flash: &dyn Flash, state: &State) -> Result<BTreeMap<u16, View>, OpenError> {
    let mut views = BTreeMap::new();
    for (number, segment) in &state.segments {
        let read = Footer::read(flash, segment.file, segment.pages.total)
            .and_then(|footer| Ok((footer, footer.read_directory(flash)?)));
        let (footer, directory) = read.map_err(|error| match error {
            SegmentError::Flash(FlashError::NotFound(file) | FlashError::Short(file)) => {
                let what = "it is in the manifest, but missing or incomplete: was the directory copied while a \
                    server ran, or is the manifest older?";
                OpenError::Damage(Damage { file, offset: 0, what: what.to_owned() })
            }
            SegmentError::Flash(error) => OpenError::Flash(error),
            SegmentError::Damage(damage) => OpenError::Damage(damage),
        })?;
        state.verify(segment, &footer)?;
        let directory = Arc::new(PageDirectory::new(&directory));
        views.insert(*number, View { age: segment.age, footer, directory });
    }
    Ok(views)
}

fn assemble(mut options: Options, state: &State, views: BTreeMap<u16, View>, next_file: u64, now: u32) -> Store {
    options.secret = state.secret;
    options.interval = state.interval;
    // A log made for smaller segments bounds them.
    let by_log = (state.log.ring_pages * PAGE_BYTES as u64 / 4) as usize;
    let segment_bytes = options.segment_bytes().min(by_log.max(PAGE_BYTES));
    let mut segments: Vec<Option<View>> = Vec::new();
    for (number, view) in views {
        segments.resize_with(segments.len().max(usize::from(number) + 1), || None);
        segments[usize::from(number)] = Some(view);
    }
    let ranges = state.ranges.iter().map(|range| RangeState {
        mark: RangeMark {
            interval: range.interval,
            instance: range.instance,
            last_seq: range.last_seq,
            flush_watermark: range.flush_watermark,
            flush_deadline: range.flush_deadline,
        },
        epoch: range.epoch,
    });
    let start = state.log.start;
    let parts = Parts {
        segment_bytes,
        ranges: ranges.collect(),
        slices: state.slices.iter().map(|slice| (slice.interval, slice.horizon)).collect(),
        segments,
        emptied: state.emptied.clone(),
        log_start: start,
        log: LogWriter::new(state.log_shape(), state.generation, start.page, start, usize::MAX),
        // Value files have odd numbers.
        next_value: next_file | 1,
        written: WrittenBytes {
            user: state.counters.user_bytes,
            log: start.page * PAGE_BYTES as u64,
            sealed: state.counters.sealed_bytes,
            merged: state.counters.merged_bytes,
        },
        options,
        now,
    };
    parts.assemble()
}

/// A recovery that is under way.
struct Recovery<'a> {
    store: Store,
    maintenance: Maintenance,
    flash: &'a dyn Flash,
    opening: Opening,
    owner: Option<Owner<'a>>,
    /// How the manifest comes to say what the store holds.
    widened: Option<Edit>,
    /// Value files that replayed records name.
    stubs: BTreeSet<u64>,
    failed: Option<OpenError>,
}

impl Recovery<'_> {
    fn run(mut self, state: &State, salvage: bool) -> Result<(Store, Maintenance, Opening), OpenError> {
        let flash = self.flash;
        if state.generation == 0 {
            // The log is made after the manifest, and nothing is written to it before the first generation is.
            remove_log(flash)?;
            flash.create(FileId::CommitLog, state.log.ring_pages)?;
            flash.sync(FileId::CommitLog)?;
            flash.sync_names()?;
        }
        let expected = LogExpectation::of(self.maintenance.manifest().number(), state);
        let found = match recover(flash, state.log_shape(), expected, |entry| self.replay(&entry, state)) {
            Err(LogError::Damage { .. } | LogError::Flash(_)) if salvage => {
                let mut end = state.log.start;
                recover_intact(flash, state.log_shape(), expected, |entry| {
                    end = entry.position;
                    self.replay(&entry, state);
                });
                // What was sealed while this was replayed ends there at most.
                LogRecovery { end, batches: 0, entries: 0, torn: None }
            }
            found => found?,
        };
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.opening.replayed = found.entries;
        self.opening.torn_bytes = found.torn.map_or(0, |torn| torn.bytes);
        self.make_room_for_page(&found)?;
        self.begin_generation(&found)?;
        self.remove_orphans()?;
        Ok((self.store, self.maintenance, self.opening))
    }

    fn replay(&mut self, replayed: &ReplayEntry<'_>, state: &State) {
        if self.failed.is_some() {
            return;
        }
        let bytes = match replayed.entry {
            Entry::Record(bytes) => bytes,
            Entry::Range(bytes) => return self.replay_range(replayed, bytes, state),
            _ => return self.store.replay().apply(replayed.range, &replayed.entry),
        };
        let record = match Record::decode(bytes) {
            Ok((record, _)) => record,
            Err(error) => {
                return self.fail(replayed, format!("{error}, in an intact batch"), state);
            }
        };
        let key = self.store.options().secret.position(record.key);
        // Sealed already, or of a range that this store does not hold any more.
        let range = state.ranges.iter().find(|range| range.interval.contains(&key));
        if range.is_none_or(|range| record.seq <= range.last_seq) {
            return;
        }
        if !self.store.buffers().has_room_for(&record) {
            self.store.replay().freeze_at(replayed.position);
            self.drive();
            self.store.replay().make_fit(&record);
        }
        if !self.store.replay().has_memory_for(&record) {
            let what = "the system has no memory for the writes in the log: give the process more".to_owned();
            self.failed = Some(FlashError::Transient(what).into());
            return;
        }
        self.stubs.extend(value_file(&record));
        self.store.replay().append(&key, &record);
    }

    fn replay_range(&mut self, replayed: &ReplayEntry<'_>, bytes: &[u8], state: &State) {
        let Some(owner) = &mut self.owner else {
            self.failed = Some(OpenError::Replicated);
            return;
        };
        self.store.replay().note_position(replayed.position);
        match owner(&mut self.store, replayed.range, bytes) {
            Ok(()) => self.drive(),
            Err(what) => self.fail(replayed, what, state),
        }
    }

    fn fail(&mut self, replayed: &ReplayEntry<'_>, what: String, state: &State) {
        let offset = replayed.position.page % state.log.ring_pages * PAGE_BYTES as u64;
        self.failed = Some(OpenError::Damage(Damage { file: FileId::CommitLog, offset, what }));
    }

    /// Runs the maintenance half until it has nothing to do.
    fn drive(&mut self) {
        while let Some(work) = self.store.take_work() {
            self.maintenance.submit(work);
        }
        loop {
            match self.maintenance.step(self.flash) {
                Step::Event(event) => {
                    self.store.handle(event);
                    while self.store.step(usize::MAX) {}
                    while let Some(work) = self.store.take_work() {
                        self.maintenance.submit(work);
                    }
                }
                Step::More => {}
                // Without space the segment stays frozen, as it would have without the restart; no more are than the
                // log holds.
                Step::Idle | Step::Stalled => break,
            }
        }
        if let Some(why) = self.store.stopped() {
            self.failed = Some(OpenError::Stopped(why.to_owned()));
        }
    }

    /// A log that is full to the last page is sealed, so that the page of this opening has room. The log of replicated ranges
    /// is left as it is: what they have written keeps room for it.
    fn make_room_for_page(&mut self, found: &LogRecovery) -> Result<(), OpenError> {
        let log = self.maintenance.state().log;
        if self.owner.is_none() && found.end.page >= log.start.page + log.ring_pages {
            self.store.replay().freeze_at(found.end);
            self.drive();
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Makes this opening durable before anything is written in its name.
    fn begin_generation(&mut self, found: &LogRecovery) -> Result<(), OpenError> {
        let state = self.maintenance.state();
        let generation = state.generation + 1;
        let mut reserved = Vec::new();
        for range in &state.ranges {
            let last = self.store.replay().continue_numbering(range.instance, range.seq_reserved.saturating_sub(1));
            reserved.push((range.instance, range.seq_reserved.max(last + SEQUENCE_STRIDE)));
        }
        let (shape, tail) = (state.log_shape(), state.log.start.page);
        let mut log = LogWriter::new(shape, generation, tail, found.end, batch_limit(&self.store));
        // Before the manifest names it: an opening that is cut short here leaves a page that the next one writes over.
        // Replicated ranges keep their room for a checkpoint, however often their node starts.
        let has_room = self.owner.is_none() || log.fits_apart(0, log.longest_batch_bytes()).is_ok();
        if has_room && let Some(page) = log.take_opening(self.flash.nonce()?) {
            self.flash.write_durably(FileId::CommitLog, page.first, page.pages.pages())?;
            log.written(page.gate, page.pages);
        }
        let opened = [Edit::Opened { generation, reserved }, Edit::LogReached { at: log.durable_at() }];
        let edits: Vec<Edit> = self.widened.take().into_iter().chain(opened).collect();
        self.maintenance.commit(self.flash, &edits)?;
        self.store.replay().finish(log, self.maintenance.room(self.flash)?);
        Ok(())
    }

    /// Removes files that nothing names: what a crash left of seals, merges and large values.
    fn remove_orphans(&mut self) -> Result<(), OpenError> {
        let state = self.maintenance.state();
        let segments: BTreeSet<u64> = state.segments.values().map(|segment| segment.file).collect();
        let mut orphans = Vec::new();
        for (file, _) in self.flash.list()? {
            let named = match file {
                FileId::Segment(number) => segments.contains(&number),
                FileId::Value(number) => state.values.contains_key(&number) || self.stubs.contains(&number),
                FileId::Manifest(_) | FileId::CommitLog => true,
            };
            if !named {
                orphans.push(file);
            }
        }
        for file in &orphans {
            self.flash.remove(*file)?;
        }
        if !orphans.is_empty() {
            self.flash.sync_names()?;
        }
        self.opening.orphans = orphans.len() as u64;
        Ok(())
    }
}

/// Entry bytes from which a batch takes no more: what one write should carry.
fn batch_limit(store: &Store) -> usize {
    (store.buffers().segment_bytes() / 4).max(1 << 20)
}
