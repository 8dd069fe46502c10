//! The manifest and the segments that it names: their views, numbers and files, and the pages given back of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use fawn_ring::{Interval, Key};

use crate::flash::{FileId, Flash, FlashError};
use crate::format::manifest::{Edit, Manifest, Range as KeyRange, SealedRange, Segment, State};
use crate::format::segment::Cursor;
use crate::index::SegmentNumber;
use crate::work::{RangeMark, Reclaim, Room, View};

/// Sequence numbers that each seal reserves beyond those given out: more than a store appends until its next seal.
pub(crate) const SEQUENCE_STRIDE: u64 = 1 << 32;

/// A segment's drained pages are given back when they are so large a part of it, or so many: each hole costs the file
/// system a transaction, and an extent to free when the file goes.
const PUNCHES_A_SEGMENT: u64 = 16;
const MOST_KEPT_PAGES: u64 = 256;

/// An interval of keys that merges have drained of a segment that other slices still use.
#[derive(Debug)]
struct DrainedKeys {
    keys: Interval,
    /// Pages of the segment below this were given back.
    given_back: u32,
}

impl DrainedKeys {
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

/// What is on flash, by the manifest.
pub(super) struct SegmentCatalog {
    manifest: Manifest,
    /// Live segments by number.
    views: BTreeMap<u16, View>,
    /// Numbers of segments that are dropped but may still be read.
    retiring: BTreeSet<u16>,
    last_number: u16,
    next_file: u64,
    /// What merges have drained of segments, by file.
    drained: BTreeMap<u64, DrainedKeys>,
    /// Bytes of the device that are to be kept for deletes and merges; 0: as many as before.
    spare: u64,
}

impl SegmentCatalog {
    /// What the manifest names, with the views of its segments. Files get numbers from `next_file` on.
    pub(super) fn new(manifest: Manifest, views: BTreeMap<u16, View>, next_file: u64) -> Self {
        Self {
            manifest,
            views,
            retiring: BTreeSet::new(),
            last_number: 0,
            // Segments have even numbers; value files, which the event-loop half numbers, odd ones.
            next_file: next_file.next_multiple_of(2),
            drained: BTreeMap::new(),
            spare: 0,
        }
    }

    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub(super) fn state(&self) -> &State {
        self.manifest.state()
    }

    /// Commits edits of the manifest; returns files that it does not name any more.
    pub(super) fn commit(&mut self, flash: &dyn Flash, edits: &[Edit]) -> Result<Vec<u64>, FlashError> {
        self.manifest.commit(flash, edits)
    }

    /// The segment with this number, which a slice names.
    pub(super) fn view(&self, number: u16) -> &View {
        &self.views[&number]
    }

    /// The segment with this number, if there is one.
    pub(super) fn find_view(&self, number: u16) -> Option<&View> {
        self.views.get(&number)
    }

    pub(super) fn insert(&mut self, number: SegmentNumber, view: View) {
        self.views.insert(number.get(), view);
    }

    /// Forgets a segment that nobody reads.
    pub(super) fn remove(&mut self, number: u16) {
        self.views.remove(&number);
    }

    /// Forgets a segment that lookups may still read: its number is free once it is reclaimed.
    pub(super) fn retire(&mut self, number: u16) {
        self.views.remove(&number);
        self.retiring.insert(number);
    }

    /// A segment number that no slot can name.
    pub(super) fn free_number(&mut self) -> Option<SegmentNumber> {
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
    pub(super) fn new_files(&mut self, count: u64) -> u64 {
        let first = self.next_file;
        self.next_file += 2 * count;
        first
    }

    /// The place in the manifest of the slice that begins at `low`, if there is one.
    pub(super) fn slice_at(&self, low: &Key) -> Option<usize> {
        let slices = &self.manifest.state().slices;
        slices.binary_search_by(|slice| slice.interval.low.cmp(low)).ok()
    }

    /// Whether a slice begins at `low`.
    pub(super) fn has_slice(&self, low: &Key) -> bool {
        self.slice_at(low).is_some()
    }

    /// Start of the slice after the one that starts at `slice`.
    pub(super) fn slice_after(&self, slice: &Key) -> Option<Key> {
        let slices = &self.manifest.state().slices;
        slices.get(self.slice_at(slice)? + 1).map(|next| next.interval.low)
    }

    /// Pages of a part that lie in an interval.
    pub(super) fn pages_in(&self, number: u16, interval: &Interval) -> u64 {
        let span = self.views[&number].directory.page_span(interval.low.prefix(), interval.high.prefix());
        u64::from(span.end.saturating_sub(span.start))
    }

    /// A cursor over the records of `interval` in a segment.
    pub(super) fn cursor(&self, number: u16, interval: Interval, read_pages: usize) -> Cursor {
        cursor(&self.views[&number], interval, read_pages)
    }

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

    /// New horizons of the ranges that overlap a merged slice.
    pub(super) fn horizons(&self, slice: &Interval, horizon: u64) -> Vec<(u64, u64)> {
        if horizon == 0 {
            return Vec::new();
        }
        let ranges = self.manifest.state().ranges.iter();
        ranges.filter(|range| range.interval.overlaps(slice)).map(|range| (range.instance, horizon)).collect()
    }

    /// Keeps so many bytes of the device for deletes and merges; 0: as many as before.
    pub(super) fn keep_spare(&mut self, spare: u64) {
        self.spare = spare;
    }

    /// The space on the device as it is now.
    pub(super) fn room(&mut self, flash: &dyn Flash) -> Result<Room, FlashError> {
        let spare = flash.keep_spare(self.spare);
        Ok(Room { device: flash.space()?, spare, manifest_bytes: self.manifest.next_file_bytes() })
    }

    /// Removes files and punches pages that no reader needs any more.
    pub(super) fn reclaim(&mut self, flash: &dyn Flash, reclaim: &Reclaim) -> Result<(), FlashError> {
        for (file, keys) in &reclaim.drained {
            if let Some(view) = self.views.values().find(|view| view.footer.file == *file).cloned() {
                self.give_back(flash, &view, keys, reclaim.at_once)?;
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
        Ok(())
    }

    /// Gives back the pages of `keys`, drained of a segment, and of the keys before them that were drained just so, if
    /// those are enough to be worth it, or space is wanted `at_once`.
    pub(super) fn give_back(
        &mut self,
        flash: &dyn Flash,
        view: &View,
        keys: &Interval,
        at_once: bool,
    ) -> Result<(), FlashError> {
        let file = view.footer.file;
        let punch = |pages: Range<u32>| {
            let count = u64::from(pages.end.saturating_sub(pages.start));
            flash.punch(FileId::Segment(file), u64::from(pages.start), count)
        };
        let mut drained = match self.drained.remove(&file) {
            Some(before) if before.keys.high.successor() == Some(keys.low) => {
                DrainedKeys { keys: Interval::new(before.keys.low, keys.high), ..before }
            }
            before => {
                if let Some(before) = before {
                    punch(before.rest(view))?;
                }
                DrainedKeys { keys: *keys, given_back: 0 }
            }
        };
        let rest = drained.rest(view);
        let least = if at_once { 1 } else { (view.footer.data_pages / PUNCHES_A_SEGMENT).min(MOST_KEPT_PAGES) };
        if rest.start < rest.end && u64::from(rest.end - rest.start) >= least {
            drained.given_back = rest.end;
            punch(rest)?;
        }
        self.drained.insert(file, drained);
        Ok(())
    }
}

/// A cursor over the records of `interval` in a segment.
pub(super) fn cursor(view: &View, interval: Interval, read_pages: usize) -> Cursor {
    let pages = view.directory.page_span(interval.low.prefix(), interval.high.prefix());
    Cursor::new(&view.footer, pages, interval, read_pages)
}

pub(super) fn remove_if_there(flash: &dyn Flash, file: FileId) -> Result<(), FlashError> {
    match flash.remove(file) {
        Err(FlashError::NotFound(_)) => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::JobFixture;
    use super::*;

    #[test]
    fn a_dropped_segments_number_is_free_once_it_is_reclaimed() {
        let mut fixture = JobFixture::new(1);
        let number = fixture.seal(1, &[("a", "1")]);
        let file = fixture.catalog.view(number).footer.file;
        let free = |fixture: &mut JobFixture| -> BTreeSet<u16> {
            (0..SegmentNumber::MAX.get()).filter_map(|_| Some(fixture.catalog.free_number()?.get())).collect()
        };
        assert!(!free(&mut fixture).contains(&number), "a segment has it");
        fixture.catalog.retire(number);
        assert!(
            fixture.catalog.find_view(number).is_none() && !free(&mut fixture).contains(&number),
            "lookups read it"
        );
        let segments = vec![(SegmentNumber::new(number).unwrap(), file)];
        fixture.catalog.reclaim(&fixture.flash, &Reclaim { segments, ..Reclaim::default() }).unwrap();
        assert!(free(&mut fixture).contains(&number));
        assert!(!fixture.flash.list().unwrap().iter().any(|(left, _)| *left == FileId::Segment(file)));
    }

    #[test]
    fn files_of_segments_have_even_numbers_of_their_own() {
        let mut fixture = JobFixture::new(1);
        let (first, next) = (fixture.catalog.new_files(3), fixture.catalog.new_files(1));
        assert_eq!((first % 2, next), (0, first + 6));
    }

    #[test]
    fn a_seals_marks_reserve_numbers_for_the_ranges_that_there_are() {
        let fixture = JobFixture::new(1);
        let mark =
            |interval, last_seq| RangeMark { interval, instance: 9, last_seq, flush_watermark: 2, flush_deadline: 0 };
        let halves = Interval::ALL.divide(2);
        let marks = fixture.catalog.range_marks(&[mark(halves[0], 5), mark(halves[1], 7)]);
        let [range] = &marks[..] else { panic!("the manifest has one range") };
        assert_eq!((range.last_seq, range.flush_watermark), (5, 2), "the lower number of ranges that were joined");
        assert_eq!(range.seq_reserved, 7 + SEQUENCE_STRIDE);
    }
}
