//! What goes to the manifest beside seals and merges: ranges, value files, space given back, the clean stop.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use fawn_ring::{Interval, Key};

use super::load::AtHand;
use super::seal::remove_if_there;
use super::{Maintenance, Step};
use crate::flash::{FileId, Flash, FlashError};
use crate::log::LogPosition;
use crate::manifest::{Edit, Range as KeyRange, SealedRange, Segment};
use crate::work::{Event, RangeMark, Reclaim, SliceIndex, View};

/// Sequence numbers that each seal reserves beyond those given out: more than a store appends until its next seal.
pub(crate) const SEQUENCE_STRIDE: u64 = 1 << 32;

/// A segment's drained pages are given back when they are so large a part of it, or so many: each hole costs the file
/// system a transaction, and an extent to free when the file goes.
const PUNCHES_A_SEGMENT: u64 = 16;
const MOST_KEPT_PAGES: u64 = 256;

/// What merges have drained of segments that other slices still use, by file.
pub(super) type Drained = BTreeMap<u64, Stretch>;

/// A stretch of keys that merges have drained of a segment.
#[derive(Debug)]
pub(super) struct Stretch {
    keys: Interval,
    /// Pages of the segment below this were given back.
    given_back: u32,
}

impl Stretch {
    /// What of it is still to be given back; a page that other slices read, too, stays.
    fn rest(&self, view: &View) -> Range<u32> {
        let pages = view.drained_pages(&self.keys);
        pages.start.max(self.given_back)..pages.end
    }
}

/// A segment as the manifest records it.
pub(super) fn segment_of(view: &View) -> Segment {
    Segment { age: view.age, ..Segment::of(&view.footer) }
}

/// What the manifest is told of it beside that.
pub(super) fn content_of(view: &View) -> Option<Edit> {
    view.footer.content.map(|content| Edit::SegmentContent { file: view.footer.file, content })
}

impl Maintenance {
    /// The ranges' state as of a freeze, for the ranges that there are now.
    pub(super) fn range_marks(&self, marks: &[RangeMark]) -> Vec<SealedRange> {
        let of = |range: &KeyRange| {
            let mut new = SealedRange {
                instance: range.instance,
                seq_reserved: range.seq_reserved,
                last_seq: range.last_seq,
                flush_watermark: range.flush_watermark,
                flush_deadline: range.flush_deadline,
            };
            let overlapping = || marks.iter().filter(|mark| mark.interval.overlaps(&range.interval));
            for mark in overlapping() {
                new.seq_reserved = new.seq_reserved.max(mark.last_seq + SEQUENCE_STRIDE);
                new.flush_watermark = new.flush_watermark.max(mark.flush_watermark);
                new.flush_deadline = mark.flush_deadline;
            }
            // Recovery passes over records up to `last_seq`: of several marks (ranges joined since) the lowest is safe.
            let last = overlapping().map(|mark| mark.last_seq).min().unwrap_or(0);
            new.last_seq = new.last_seq.max(last);
            new
        };
        self.manifest.state().ranges.iter().map(of).collect()
    }

    pub(super) fn split_range(&mut self, flash: &dyn Flash, at: &Key) -> Result<Step, FlashError> {
        let state = self.manifest.state();
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
        if self.merging.as_ref().is_some_and(|merging| Some(merging.slice()) == slice) {
            let step = self.abandon_merge(flash, "its range was split", false)?;
            if let Step::Event(event) = step {
                self.events.push_back(event);
            }
        }
        self.manifest.commit(flash, &[edit])?;
        if let Some(slice) = slice.filter(|slice| slice.cut(at).is_some()) {
            self.report_cut(flash, slice, at);
        }
        Ok(self.report_ranges())
    }

    /// Tells the event-loop half that a slice was cut, with the halves' indexes, so that lookups need not wait for them.
    fn report_cut(&mut self, flash: &dyn Flash, slice: Interval, at: &Key) {
        let Some((left, right)) = slice.cut(at) else {
            return;
        };
        let was_loaded = self.loaded.remove(&slice.low);
        let filtered = self.loads.iter().any(|asked| asked.slice == slice.low && asked.filtered);
        let halves = if was_loaded { self.build_halves(flash, left, right) } else { None };
        let is_loaded = halves.is_some();
        self.events.push_back(Event::Cut { slice: slice.low, at: *at, halves });
        for half in [left, right] {
            if is_loaded {
                self.loaded.insert(half.low);
            } else if let Step::Event(event) = self.load(flash, half.low, &AtHand::new(), filtered) {
                self.events.push_back(event);
            }
        }
    }

    /// The indexes of a slice's halves, which keep its filter if it has one; `None` when they cannot be built.
    fn build_halves(&self, flash: &dyn Flash, left: Interval, right: Interval) -> Option<Box<[SliceIndex; 2]>> {
        let build = |half: Interval| {
            let parts = &self.manifest.state().slices[self.slice_at(&half.low)?].parts;
            self.build(flash, half, parts, &AtHand::new(), false).ok().map(|(index, _)| index)
        };
        Some(Box::new([build(left)?, build(right)?]))
    }

    pub(super) fn merge_ranges(&mut self, flash: &dyn Flash, at: &Key) -> Result<Step, FlashError> {
        let ranges = &self.manifest.state().ranges;
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
            self.manifest.commit(flash, &[edit])?;
        }
        Ok(self.report_ranges())
    }

    fn report_ranges(&mut self) -> Step {
        let ranges = self.manifest.state().ranges.iter();
        let ranges = ranges.map(|range| (range.instance, range.interval, range.epoch)).collect();
        self.events.push_back(Event::Ranges(ranges));
        Step::More
    }

    /// Removes files and punches pages that no reader needs any more.
    pub(super) fn reclaim(&mut self, flash: &dyn Flash, reclaim: &Reclaim) -> Result<Step, FlashError> {
        for (file, keys) in &reclaim.drained {
            if let Some(view) = self.views.values().find(|view| view.footer.file == *file).cloned() {
                self.give_back(flash, &view, keys)?;
            }
        }
        for (number, file) in &reclaim.segments {
            self.drained.remove(file);
            remove_if_there(flash, FileId::Segment(*file))?;
            self.retiring.remove(&number.get());
        }
        let listed = &self.manifest.state().values;
        let known: BTreeSet<u64> = reclaim.values.iter().copied().filter(|file| listed.contains_key(file)).collect();
        let mut values = reclaim.values.clone();
        values.sort_unstable();
        values.dedup();
        let edits: Vec<Edit> = known.iter().map(|file| Edit::ValueDropped { file: *file }).collect();
        if !edits.is_empty() {
            match self.manifest.commit(flash, &edits) {
                // The merge that drops their older stubs gives them back, too.
                Err(FlashError::NoSpace) => values.retain(|file| !known.contains(file)),
                result => drop(result?),
            }
        }
        for file in &values {
            remove_if_there(flash, FileId::Value(*file))?;
        }
        // A removal that a crash undoes leaves an orphan, which the next opening removes.
        let room = self.room(flash)?;
        self.events.push_back(Event::Space(room));
        Ok(Step::More)
    }

    /// Gives back the pages of `keys`, drained of a segment, and of the keys before them that were drained just so, if
    /// those are enough to be worth it.
    pub(super) fn give_back(&mut self, flash: &dyn Flash, view: &View, keys: &Interval) -> Result<(), FlashError> {
        let file = view.footer.file;
        let punch = |pages: Range<u32>| {
            let count = u64::from(pages.end.saturating_sub(pages.start));
            flash.punch(FileId::Segment(file), u64::from(pages.start), count)
        };
        let mut stretch = match self.drained.remove(&file) {
            Some(before) if before.keys.high.successor() == Some(keys.low) => {
                Stretch { keys: Interval::new(before.keys.low, keys.high), ..before }
            }
            before => {
                if let Some(before) = before {
                    punch(before.rest(view))?;
                }
                Stretch { keys: *keys, given_back: 0 }
            }
        };
        let rest = stretch.rest(view);
        let least = (view.footer.data_pages / PUNCHES_A_SEGMENT).min(MOST_KEPT_PAGES);
        if rest.start < rest.end && u64::from(rest.end - rest.start) >= least {
            stretch.given_back = rest.end;
            punch(rest)?;
        }
        self.drained.insert(file, stretch);
        Ok(())
    }

    pub(super) fn close(&mut self, flash: &dyn Flash, log_end: LogPosition) -> Result<Step, FlashError> {
        let edits = [Edit::LogReached { at: log_end }, Edit::CleanStop { log_end: log_end.page }];
        match self.manifest.commit(flash, &edits) {
            // The next opening looks for the log's end, as after a crash.
            Err(FlashError::NoSpace) => {}
            result => drop(result?),
        }
        Ok(Step::Event(Event::Closed))
    }
}
