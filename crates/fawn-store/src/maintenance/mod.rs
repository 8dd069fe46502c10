//! The maintenance half of a store: seals, index loads, merges, scans, and the manifest.
//!
//! It blocks on flash, so it runs on a thread of its own, or step by step in the simulator. Work arrives through
//! [`Maintenance::submit`]; [`Maintenance::step`] does one bounded piece of it, the most urgent first: give back space,
//! seal, loads that lookups wait for, scans and merges in turn.
//!
//! [`Maintenance`] decides what is next. Each kind of work has an owner of its own: [`Sealer`], [`IndexLoader`], [`Merger`],
//! [`Scanner`]. They share the [`SegmentCatalog`], the manifest with the segments that it names.
//!
//! # Layout
//!
//! `catalog`: manifest and segments. `seal`, `load`, `merge`, `scan`: the jobs. `ranges`: cuts and joins of ranges, and the
//! clean stop. `bulk`: what a bulk load does to the manifest. `step`: what a step comes to.

mod bulk;
mod catalog;
#[cfg(test)]
mod fixture;
mod load;
mod merge;
mod ranges;
mod scan;
mod seal;
mod step;

use std::collections::{BTreeMap, VecDeque};

use self::catalog::SegmentCatalog;
use self::load::{IndexLoader, LoadRequest};
use self::merge::Merger;
use self::scan::Scanner;
use self::seal::Sealer;
use crate::flash::{Flash, FlashError};
use crate::format::manifest::{Edit, Manifest, State};
use crate::format::page::PAGE_BYTES;
use crate::options::Options;
use crate::work::{MaintenanceEvent, MaintenanceWork, MergeWork, Reclaim, Room, View};

pub(crate) use catalog::SEQUENCE_STRIDE;
pub use step::Step;

/// The part of the memory that prefixes may take of slices that are loaded together: merges and a full cache come later.
const LOAD_SHARE: u64 = 32;

/// The maintenance half of one store. See the module's text.
pub struct Maintenance {
    catalog: SegmentCatalog,
    sealer: Sealer,
    loader: IndexLoader,
    merger: Merger,
    scanner: Scanner,
    urgent: VecDeque<MaintenanceWork>,
    background: VecDeque<MaintenanceWork>,
    /// Whether loads and merges go before seals in the next piece.
    others_turn: bool,
    events: VecDeque<MaintenanceEvent>,
    failed: bool,
}

impl Maintenance {
    pub(crate) fn new(manifest: Manifest, options: &Options, views: BTreeMap<u16, View>, next_file: u64) -> Self {
        let read_ahead_pages = (options.merge_bytes() / PAGE_BYTES as u64) as usize;
        Self {
            catalog: SegmentCatalog::new(manifest, views, next_file),
            sealer: Sealer::default(),
            loader: IndexLoader::new(options.memory / LOAD_SHARE / size_of::<u64>() as u64),
            merger: Merger::new(options.slice_bytes(), read_ahead_pages),
            scanner: Scanner::new(read_ahead_pages),
            urgent: VecDeque::new(),
            background: VecDeque::new(),
            others_turn: false,
            events: VecDeque::new(),
            failed: false,
        }
    }

    /// Queues work for the next calls of [`step`](Self::step).
    pub fn submit(&mut self, work: MaintenanceWork) {
        match work {
            MaintenanceWork::Load { slice, wanted, again, drained, filtered } => {
                self.loader.set_draining(drained);
                self.loader.request(LoadRequest { slice, wanted, filtered }, again);
            }
            MaintenanceWork::Merge(MergeWork { drained, .. }) => {
                self.loader.set_draining(drained);
                self.background.push_back(work);
            }
            MaintenanceWork::CutSlice(_) | MaintenanceWork::Scan { .. } => self.background.push_back(work),
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
                Step::Event(MaintenanceEvent::Failed(error.to_string()))
            }
        }
    }

    /// Whether nothing is left but seals and merges under way, and nobody waits for another piece.
    pub fn may_rest(&self) -> bool {
        let is_awaited =
            |work: &MaintenanceWork| matches!(work, MaintenanceWork::Scan { .. } | MaintenanceWork::CutSlice(_));
        (self.sealer.is_sealing() || self.merger.slice().is_some())
            && self.loader.is_idle()
            && self.urgent.is_empty()
            && self.events.is_empty()
            && !self.background.iter().any(is_awaited)
    }

    /// One piece of the most urgent work. An error is final.
    fn piece(&mut self, flash: &dyn Flash) -> Result<Step, FlashError> {
        // Seals that follow each other without end leave every other piece to loads and merges. Scans wait for the seals
        // that were asked for before them.
        self.others_turn = !self.others_turn;
        if self.others_turn {
            if !self.loader.is_idle() {
                return Ok(self.loader.load_next(&self.catalog, flash, &mut self.events));
            }
            if self.merger.slice().is_some() {
                return self.merger.step((&mut self.catalog, flash), &mut self.loader, &mut self.events);
            }
            // What a merge has freed is given back before the next one takes space.
            let is_reclaim = |work: &MaintenanceWork| matches!(work, MaintenanceWork::Reclaim(_));
            if let Some(place) = self.urgent.iter().position(is_reclaim) {
                let work = self.urgent.remove(place).expect("the place is within the queue");
                return self.do_urgent(flash, work);
            }
            if matches!(self.background.front(), Some(MaintenanceWork::Merge(_) | MaintenanceWork::CutSlice(_))) {
                let work = self.background.pop_front().expect("seen just above");
                return self.begin_background(flash, work);
            }
        }
        if self.sealer.is_sealing() && !self.sealer.is_stalled() {
            return self.seal_step(flash);
        }
        if let Some(place) = self.next_urgent() {
            let work = self.urgent.remove(place).expect("the place is within the queue");
            return self.do_urgent(flash, work);
        }
        if !self.loader.is_idle() {
            return Ok(self.loader.load_next(&self.catalog, flash, &mut self.events));
        }
        if self.merger.slice().is_some() {
            return self.merger.step((&mut self.catalog, flash), &mut self.loader, &mut self.events);
        }
        if let Some(work) = self.background.pop_front() {
            return self.begin_background(flash, work);
        }
        if self.sealer.is_stalled() {
            self.sealer.end_stall();
            let step = self.seal_step(flash)?;
            return Ok(if self.sealer.is_stalled() { Step::Stalled } else { step });
        }
        Ok(Step::Idle)
    }

    fn seal_step(&mut self, flash: &dyn Flash) -> Result<Step, FlashError> {
        self.sealer.step((&mut self.catalog, flash), &mut self.merger, &mut self.events)
    }

    /// The first urgent work that may be done now: little may pass a seal under way, and it may wait for space.
    fn next_urgent(&self) -> Option<usize> {
        if !self.sealer.is_sealing() {
            return (!self.urgent.is_empty()).then_some(0);
        }
        // A clean stop does not wait for space: what is not sealed is in the log.
        let may_pass = |work: &MaintenanceWork| match work {
            MaintenanceWork::Close { .. } => self.sealer.has_reported_stall(),
            work => matches!(work, MaintenanceWork::Reclaim(_) | MaintenanceWork::Space { .. }),
        };
        self.urgent.iter().position(may_pass)
    }

    fn do_urgent(&mut self, flash: &dyn Flash, work: MaintenanceWork) -> Result<Step, FlashError> {
        match work {
            MaintenanceWork::Seal { segment, age, log_start, reached, ranges, emptied } => {
                // Slices have one part more behind it: scans begin anew.
                self.scanner.clear();
                self.sealer.begin(segment, age, (log_start, reached), ranges, emptied);
                Ok(Step::More)
            }
            MaintenanceWork::Reclaim(reclaim) => self.reclaim(flash, &reclaim),
            MaintenanceWork::SplitRange(at) => self.split_range(flash, &at),
            MaintenanceWork::MergeRanges(at) => self.merge_ranges(flash, &at),
            MaintenanceWork::Close { log_end } => self.close(flash, log_end),
            MaintenanceWork::Space { spare } => {
                self.catalog.keep_spare(spare);
                Ok(Step::Event(MaintenanceEvent::Space(self.room(flash)?)))
            }
            MaintenanceWork::Load { .. }
            | MaintenanceWork::Merge(_)
            | MaintenanceWork::CutSlice(_)
            | MaintenanceWork::Scan { .. } => {
                unreachable!("queued elsewhere")
            }
        }
    }

    fn begin_background(&mut self, flash: &dyn Flash, work: MaintenanceWork) -> Result<Step, FlashError> {
        match work {
            MaintenanceWork::Merge(work) => {
                self.merger.begin(work, &mut self.catalog, &self.loader, &mut self.events);
                Ok(Step::More)
            }
            MaintenanceWork::CutSlice(low) => self.cut_slice(flash, low),
            MaintenanceWork::Scan { id, interval, max_bytes, wanted } => {
                let part = self.scanner.scan((&self.catalog, flash), id, interval, max_bytes, &wanted);
                Ok(Step::Event(MaintenanceEvent::Scanned(part)))
            }
            _ => unreachable!("queued elsewhere"),
        }
    }

    /// Removes files and punches pages that no reader needs any more.
    fn reclaim(&mut self, flash: &dyn Flash, reclaim: &Reclaim) -> Result<Step, FlashError> {
        self.catalog.reclaim(flash, reclaim)?;
        let room = self.room(flash)?;
        self.events.push_back(MaintenanceEvent::Space(room));
        Ok(Step::More)
    }

    /// The space on the device as it is now.
    pub(crate) fn room(&mut self, flash: &dyn Flash) -> Result<Room, FlashError> {
        self.catalog.room(flash)
    }

    /// Numbers for `count` new segment files.
    pub(crate) fn new_files(&mut self, count: u64) -> u64 {
        self.catalog.new_files(count)
    }

    /// Whether the manifest lists values in files of their own, be they superseded.
    pub fn lists_values(&self) -> bool {
        !self.catalog.state().values.is_empty()
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        self.catalog.manifest()
    }

    pub(crate) fn state(&self) -> &State {
        self.catalog.state()
    }

    pub(crate) fn commit(&mut self, flash: &dyn Flash, edits: &[Edit]) -> Result<(), FlashError> {
        self.catalog.commit(flash, edits).map(|_| ())
    }
}
