//! The maintenance half of a store: seals, index loads, merges, scans, and the manifest.
//!
//! It blocks on flash, so it runs on a thread of its own, or step by step in the simulator. Work arrives through
//! [`Maintenance::submit`]; [`Maintenance::step`] does one bounded piece of it, the most urgent first: give back space,
//! seal, loads that lookups wait for, scans and merges in turn.
//!
//! # Layout
//!
//! `seal`, `load`, `merge`, `scan`: the jobs. `record`: what goes to the manifest. `bulk`: what does of a bulk load.

mod bulk;
mod load;
mod merge;
mod record;
mod scan;
mod seal;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fawn_ring::{Key, Secret};

use crate::flash::{Flash, FlashError};
use crate::manifest::{Edit, Manifest, State};
use crate::options::Options;
use crate::page::PAGE_BYTES;
use crate::sealed::index::SegmentNumber;
use crate::work::{Event, MergeWork, Room, View, Work};

pub(crate) use record::SEQUENCE_STRIDE;

/// The part of the memory that prefixes may take of slices that are loaded together: merges and a full cache come later.
const LOAD_SHARE: u64 = 32;

/// What a step came to.
#[allow(clippy::large_enum_variant, reason = "one exists at a time, and events are rare")]
pub enum Step {
    /// No work is left.
    Idle,
    /// The work at hand goes on with the next call.
    More,
    /// What there is to do waits for space on the device: step again a little later.
    Stalled,
    /// Something for the event-loop half; there may be more to do.
    Event(Event),
}

/// The maintenance half of one store. See the module's text.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, not a state of one machine")]
pub struct Maintenance {
    manifest: Manifest,
    secret: Secret,
    slice_bytes: u64,
    /// Pages that a merge holds of its inputs.
    read_ahead_pages: usize,
    /// Live segments by number.
    views: BTreeMap<u16, View>,
    /// Numbers of segments that are dropped but may still be read.
    retiring: BTreeSet<u16>,
    last_number: u16,
    next_file: u64,
    /// Starts of slices whose index the event-loop half has.
    loaded: BTreeSet<Key>,
    urgent: VecDeque<Work>,
    loads: VecDeque<load::Asked>,
    /// Index entries that slices may come to have that are loaded together.
    load_together: u64,
    background: VecDeque<Work>,
    sealing: Option<seal::Sealing>,
    merging: Option<merge::Merging>,
    /// Where parts of scans ended.
    readings: scan::Readings,
    /// What the device fails to read, by the start of the slice.
    doubts: BTreeMap<Key, merge::Doubts>,
    /// Value files that segments sealed since the merge began name.
    sealed_beside: BTreeSet<u64>,
    /// The seal under way waits for space until everything else is done.
    stalled: bool,
    /// The event-loop half was told that seals wait for space, and none has been done since.
    told_stalled: bool,
    /// Whether loads and merges go before seals in the next piece.
    others_turn: bool,
    events: VecDeque<Event>,
    failed: bool,
    drained: record::Drained,
    /// Slices' oldest parts are left out of their indexes.
    draining: bool,
    /// Bytes of the device that are to be kept for deletes and merges; 0: as many as before.
    spare: u64,
}

impl Maintenance {
    pub(crate) fn new(manifest: Manifest, options: &Options, views: BTreeMap<u16, View>, next_file: u64) -> Self {
        Self {
            secret: manifest.state().secret,
            manifest,
            slice_bytes: options.slice_bytes(),
            read_ahead_pages: (options.merge_bytes() / PAGE_BYTES as u64) as usize,
            views,
            retiring: BTreeSet::new(),
            last_number: 0,
            // Segments have even numbers; value files, which the event-loop half numbers, odd ones.
            next_file: next_file.next_multiple_of(2),
            loaded: BTreeSet::new(),
            urgent: VecDeque::new(),
            loads: VecDeque::new(),
            load_together: options.memory / LOAD_SHARE / size_of::<u64>() as u64,
            background: VecDeque::new(),
            sealing: None,
            merging: None,
            readings: scan::Readings::default(),
            doubts: BTreeMap::new(),
            sealed_beside: BTreeSet::new(),
            stalled: false,
            told_stalled: false,
            others_turn: false,
            events: VecDeque::new(),
            failed: false,
            drained: record::Drained::default(),
            draining: false,
            spare: 0,
        }
    }

    /// Queues work for the next calls of [`step`](Self::step).
    pub fn submit(&mut self, work: Work) {
        match work {
            Work::Load { slice, wanted, again, drained, filtered } => {
                self.draining = drained;
                if again {
                    self.loaded.remove(&slice);
                }
                let asked = load::Asked { slice, wanted, filtered };
                if wanted {
                    self.loads.push_front(asked);
                } else {
                    self.loads.push_back(asked);
                }
            }
            Work::Merge(MergeWork { drained, .. }) => {
                self.draining = drained;
                self.background.push_back(work);
            }
            Work::Scan { .. } => self.background.push_back(work),
            _ => self.urgent.push_back(work),
        }
    }

    /// Does one piece of work.
    pub fn step(&mut self, flash: &dyn Flash) -> Step {
        if let Some(event) = self.events.pop_front() {
            return Step::Event(event);
        }
        if self.failed {
            return Step::Idle;
        }
        match self.piece(flash) {
            Ok(step) => step,
            Err(error) => {
                self.failed = true;
                Step::Event(Event::Failed(error.to_string()))
            }
        }
    }

    /// Whether nothing is left but seals and merges under way, and nobody waits for another piece.
    pub fn may_rest(&self) -> bool {
        let is_scan = |work: &Work| matches!(work, Work::Scan { .. });
        (self.sealing.is_some() || self.merging.is_some())
            && self.loads.is_empty()
            && self.urgent.is_empty()
            && self.events.is_empty()
            && !self.background.iter().any(is_scan)
    }

    /// One piece of the most urgent work. An error is final.
    fn piece(&mut self, flash: &dyn Flash) -> Result<Step, FlashError> {
        // Seals that follow each other without end leave every other piece to loads and merges. Scans wait for the seals
        // that were asked for before them.
        self.others_turn = !self.others_turn;
        if self.others_turn {
            if !self.loads.is_empty() {
                return Ok(self.load_next(flash));
            }
            if self.merging.is_some() {
                return self.merge_step(flash);
            }
            if matches!(self.background.front(), Some(Work::Merge(_))) {
                let work = self.background.pop_front().expect("seen just above");
                return Ok(self.begin_background(flash, work));
            }
        }
        if self.sealing.is_some() && !self.stalled {
            return self.seal_step(flash);
        }
        if let Some(place) = self.next_urgent() {
            let work = self.urgent.remove(place).expect("the place is within the queue");
            return self.do_urgent(flash, work);
        }
        if !self.loads.is_empty() {
            return Ok(self.load_next(flash));
        }
        if self.merging.is_some() {
            return self.merge_step(flash);
        }
        if let Some(work) = self.background.pop_front() {
            return Ok(self.begin_background(flash, work));
        }
        if self.stalled {
            self.stalled = false;
            let step = self.seal_step(flash)?;
            return Ok(if self.stalled { Step::Stalled } else { step });
        }
        Ok(Step::Idle)
    }

    /// The first urgent work that may be done now: little may pass a seal under way, and it may wait for space.
    fn next_urgent(&self) -> Option<usize> {
        if self.sealing.is_none() {
            return (!self.urgent.is_empty()).then_some(0);
        }
        // A clean stop does not wait for space: what is not sealed is in the log.
        let may_pass = |work: &Work| match work {
            Work::Close { .. } => self.told_stalled,
            work => matches!(work, Work::Reclaim(_) | Work::Space { .. }),
        };
        self.urgent.iter().position(may_pass)
    }

    fn do_urgent(&mut self, flash: &dyn Flash, work: Work) -> Result<Step, FlashError> {
        match work {
            Work::Seal { segment, age, log_start, reached, ranges, emptied } => {
                // Slices have one part more behind it: scans begin anew.
                self.readings.clear();
                self.sealing = Some(seal::Sealing::new(segment, age, (log_start, reached), ranges, emptied));
                Ok(Step::More)
            }
            Work::Reclaim(reclaim) => self.reclaim(flash, &reclaim),
            Work::SplitRange(at) => self.split_range(flash, &at),
            Work::MergeRanges(at) => self.merge_ranges(flash, &at),
            Work::Close { log_end } => self.close(flash, log_end),
            Work::Space { spare } => {
                self.spare = spare;
                Ok(Step::Event(Event::Space(self.room(flash)?)))
            }
            Work::Load { .. } | Work::Merge(_) | Work::Scan { .. } => unreachable!("queued elsewhere"),
        }
    }

    fn begin_background(&mut self, flash: &dyn Flash, work: Work) -> Step {
        match work {
            Work::Merge(work) => {
                self.begin_merge(work);
                Step::More
            }
            Work::Scan { id, interval, max_bytes, wanted } => {
                Step::Event(Event::Scanned(self.scan(flash, id, interval, max_bytes, &wanted)))
            }
            _ => unreachable!("queued elsewhere"),
        }
    }

    /// The space on the device as it is now.
    pub(crate) fn room(&mut self, flash: &dyn Flash) -> Result<Room, FlashError> {
        let spare = flash.keep_spare(self.spare);
        Ok(Room { device: flash.space()?, spare, manifest_bytes: self.manifest.next_file_bytes() })
    }

    /// A segment number that no slot can name.
    fn free_number(&mut self) -> Option<SegmentNumber> {
        let max = SegmentNumber::MAX.get();
        for _ in 0..max {
            self.last_number = if self.last_number >= max { 1 } else { self.last_number + 1 };
            if !self.views.contains_key(&self.last_number) && !self.retiring.contains(&self.last_number) {
                return SegmentNumber::new(self.last_number);
            }
        }
        None
    }

    /// Numbers for `count` new segment files.
    pub(crate) fn new_files(&mut self, count: u64) -> u64 {
        let first = self.next_file;
        self.next_file += 2 * count;
        first
    }

    /// Whether the manifest lists values in files of their own, be they superseded.
    pub fn lists_values(&self) -> bool {
        !self.manifest.state().values.is_empty()
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub(crate) fn state(&self) -> &State {
        self.manifest.state()
    }

    pub(crate) fn commit(&mut self, flash: &dyn Flash, edits: &[Edit]) -> Result<(), FlashError> {
        self.manifest.commit(flash, edits).map(|_| ())
    }

    /// The place in the manifest of the slice that begins at `low`, if there is one.
    fn slice_at(&self, low: &Key) -> Option<usize> {
        let slices = &self.manifest.state().slices;
        slices.binary_search_by(|slice| slice.interval.low.cmp(low)).ok()
    }
}
