//! Cuts and joins of ranges, cuts of slices, and the clean stop, as the manifest records them.

use fawn_ring::{Interval, Key};

use super::Maintenance;
use super::load::AtHand;
use super::step::Step;
use crate::flash::{Flash, FlashError};
use crate::format::manifest::{Edit, Range as KeyRange};
use crate::log::LogPosition;
use crate::work::{MaintenanceEvent, SliceIndex};

impl Maintenance {
    pub(super) fn split_range(&mut self, flash: &dyn Flash, at: &Key) -> Result<Step, FlashError> {
        let state = self.catalog.state();
        let found = state.ranges.iter().find_map(|range| range.interval.cut(at).map(|halves| (*range, halves)));
        let Some((range, (left, right))) = found else {
            return Ok(self.report_ranges());
        };
        let instance = state.ranges.iter().map(|range| range.instance).max().unwrap_or(0) + 1;
        let slice = state.slice_of(at).map(|place| state.slices[place].interval);
        let edit = Edit::RangeSplit {
            instance: range.instance,
            left: Box::new(KeyRange { interval: left, instance, epoch: range.epoch + 1, ..range }),
            right: Box::new(KeyRange { interval: right, instance: instance + 1, epoch: range.epoch + 1, ..range }),
        };
        if slice.is_some() && self.merger.slice() == slice {
            let step = self.merger.abandon(flash, "its range was split", false)?;
            if let Step::Event(event) = step {
                self.events.push_back(event);
            }
        }
        self.catalog.commit(flash, &[edit])?;
        if let Some(slice) = slice.filter(|slice| slice.cut(at).is_some()) {
            self.report_cut(flash, slice, at);
        }
        Ok(self.report_ranges())
    }

    /// Cuts the slice that begins at `low` in the middle of its keys.
    pub(super) fn cut_slice(&mut self, flash: &dyn Flash, low: Key) -> Result<Step, FlashError> {
        let slice = self.catalog.slice_at(&low).map(|place| self.catalog.state().slices[place].interval);
        let failed =
            |why: String| Ok(Step::Event(MaintenanceEvent::MergeFailed { slice: low, why, over_damage: false }));
        let Some((slice, at)) = slice.and_then(|slice| Some((slice, middle(&slice)?))) else {
            return failed("the slice cannot be cut".to_owned());
        };
        match self.catalog.commit(flash, &[Edit::SliceCut { at }]) {
            Err(error @ FlashError::NoSpace) => return failed(error.to_string()),
            result => drop(result?),
        }
        self.report_cut(flash, slice, &at);
        Ok(Step::More)
    }

    /// Tells the event-loop half that a slice was cut, with the halves' indexes, so that lookups need not wait for them.
    fn report_cut(&mut self, flash: &dyn Flash, slice: Interval, at: &Key) {
        let Some((left, right)) = slice.cut(at) else {
            return;
        };
        let was_loaded = self.loader.forget(&slice.low);
        let filtered = self.loader.makes_filter(&slice.low);
        let halves = if was_loaded { self.build_halves(flash, left, right) } else { None };
        let is_loaded = halves.is_some();
        self.events.push_back(MaintenanceEvent::Cut { slice: slice.low, at: *at, halves });
        for half in [left, right] {
            if is_loaded {
                self.loader.note_loaded(half.low);
            } else if let Step::Event(event) =
                self.loader.load(&self.catalog, flash, half.low, &AtHand::new(), filtered)
            {
                self.events.push_back(event);
            }
        }
    }

    /// The indexes of a slice's halves, which keep its filter if it has one; `None` when they cannot be built.
    fn build_halves(&self, flash: &dyn Flash, left: Interval, right: Interval) -> Option<Box<[SliceIndex; 2]>> {
        let build = |half: Interval| {
            let parts = &self.catalog.state().slices[self.catalog.slice_at(&half.low)?].parts;
            self.loader.build((&self.catalog, flash), half, parts, &AtHand::new(), false).ok().map(|(index, _)| index)
        };
        Some(Box::new([build(left)?, build(right)?]))
    }

    pub(super) fn merge_ranges(&mut self, flash: &dyn Flash, at: &Key) -> Result<Step, FlashError> {
        let ranges = &self.catalog.state().ranges;
        let found = ranges.windows(2).find(|pair| pair[0].interval.high == *at).map(|pair| (pair[0], pair[1]));
        if let Some((left, right)) = found {
            let instance = ranges.iter().map(|range| range.instance).max().unwrap_or(0) + 1;
            let merged = KeyRange {
                instance,
                interval: Interval::new(left.interval.low, right.interval.high),
                epoch: left.epoch.max(right.epoch) + 1,
                seq_reserved: left.seq_reserved.max(right.seq_reserved),
                // Recovery passes over records up to this; numbering goes on from what is reserved.
                last_seq: left.last_seq.min(right.last_seq),
                flush_watermark: left.flush_watermark.max(right.flush_watermark),
                flush_deadline: left.flush_deadline.max(right.flush_deadline),
                horizon: left.horizon.max(right.horizon),
            };
            let edit = Edit::RangesMerged { left: left.instance, right: right.instance, merged: Box::new(merged) };
            self.catalog.commit(flash, &[edit])?;
        }
        Ok(self.report_ranges())
    }

    fn report_ranges(&mut self) -> Step {
        let ranges = self.catalog.state().ranges.iter();
        let ranges = ranges.map(|range| (range.instance, range.interval, range.epoch)).collect();
        self.events.push_back(MaintenanceEvent::Ranges(ranges));
        Step::More
    }

    pub(super) fn close(&mut self, flash: &dyn Flash, log_end: LogPosition) -> Result<Step, FlashError> {
        let edits = [Edit::LogReached { at: log_end }, Edit::CleanStop { log_end: log_end.page }];
        match self.catalog.commit(flash, &edits) {
            // The next opening looks for the log's end, as after a crash.
            Err(FlashError::NoSpace) => {}
            result => drop(result?),
        }
        Ok(Step::Event(MaintenanceEvent::Closed))
    }
}

/// The last key of the lower half of a slice; `None` for one of a single prefix, which belongs to one slice.
fn middle(slice: &Interval) -> Option<Key> {
    (slice.low.prefix() < slice.high.prefix()).then(|| slice.divide(2)[0].high)
}
