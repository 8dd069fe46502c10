//! Merges: one slice at a time, and what the manifest and the event-loop half hear of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fawn_ring::{Interval, Key};

use super::load::{AtHand, cursor};
use super::record::{content_of, segment_of};
use super::seal::remove_if_there;
use super::{Maintenance, Step};
use crate::api::Losses;
use crate::flash::{FileId, Flash, FlashError};
use crate::log::LogPosition;
use crate::manifest::{Edit, Merged as MergedEdit};
use crate::merge::{Input, Merge, Merged, Passed};
use crate::sealed::directory::PageDirectory;
use crate::sealed::index::SegmentNumber;
use crate::segment::{ReadAhead, SegmentError, Unread};
use crate::work::{Event, MergeWork, MergedSlice, Overwrites, Reclaim, View};

/// Fewest and most pages that a merge reads ahead of a part: with one it could not read for several parts at once, as none
/// wants more before it has none left.
const LEAST_READ_PAGES: usize = 2;
const MOST_READ_PAGES: usize = 256;
/// A part is small when it holds at most one in this many pages of its slice.
const SMALL_SHARE: u64 = 4;
/// The event-loop half is told of a merge's progress about every so many bytes that it frees.
const TOLD_BYTES: u64 = 128 << 10;
/// What a page holds that the device fails to read is taken for lost after so many merges that came upon it, all of them, and
/// so many seconds: what passes may pass meanwhile.
const LEAST_TRIES: u32 = 16;
const LEAST_SECONDS: u64 = 600;
/// Why a merge is given up that has nothing to call its outputs by.
const NO_NUMBER: &str = "all 32,767 segment numbers are in use";
/// Most outputs of one merge.
pub(super) const MAX_OUTPUTS: u64 = 4096;

/// A new run: its number, what lookups need, the prefixes of its records.
type Run = (SegmentNumber, View, Vec<u64>);

/// A page that the device failed to read when it was last asked.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// When it failed first, in seconds as of [`MergeWork::uptime`].
    since: u64,
    /// Merges that failed over it since then.
    tries: u32,
}

impl Doubt {
    fn is_over(&self, uptime: u64) -> bool {
        self.tries >= LEAST_TRIES && uptime.saturating_sub(self.since) >= LEAST_SECONDS
    }
}

/// Pages of a slice's parts that the device fails to read, by the number of the file and of the page.
#[derive(Debug, Default)]
pub(super) struct Doubts(BTreeMap<(u64, u64), Doubt>);

impl Doubts {
    /// Pages of a file that it has failed to read for so long that they are taken for lost.
    fn lost(&self, file: u64, uptime: u64) -> BTreeSet<u64> {
        let pages = self.0.range((file, 0)..=(file, u64::MAX)).filter(|(_, doubt)| doubt.is_over(uptime));
        pages.map(|((_, page), _)| *page).collect()
    }

    /// A merge has read what these files have of the slice, all of it, but for these pages.
    fn note(&mut self, files: &[u64], unread: &BTreeSet<(u64, u64)>, uptime: u64) {
        self.0.retain(|page, _| unread.contains(page) || !files.contains(&page.0));
        for page in unread {
            self.0.entry(*page).or_insert(Doubt { since: uptime, tries: 0 }).tries += 1;
        }
    }

    /// Forgets the pages of files that a merge has read.
    fn forget(&mut self, files: &[u64]) {
        self.0.retain(|(file, _), _| !files.contains(file));
    }
}

/// A merge in progress.
pub(super) struct Merging {
    slice: Interval,
    uptime: u64,
    /// Numbers of its inputs, oldest first.
    inputs: Vec<u16>,
    /// Older parts stay behind.
    is_partial: bool,
    /// The bases among the outputs get filters.
    filtered: bool,
    /// The log was durable up to here before it began.
    reached: LogPosition,
    merge: Merge,
}

impl Merging {
    /// The slice that is being merged.
    pub(super) fn slice(&self) -> Interval {
        self.slice
    }
}

impl Maintenance {
    pub(super) fn begin_merge(&mut self, work: MergeWork) {
        let MergeWork { slice: low, void, before, newest_only, drained: _, filtered, uptime, reached } = work;
        let Some(place) = self.slice_at(&low).filter(|_| self.loaded.contains(&low)) else {
            let why = "the slice is not loaded".to_owned();
            self.events.push_back(Event::MergeFailed { slice: low, why, over_damage: false });
            return;
        };
        let slice = &self.manifest.state().slices[place];
        let interval = slice.interval;
        let all: Vec<u16> = slice.parts.iter().copied().filter(|number| self.views[number].age < before).collect();
        let emptied = self.manifest.state().emptied.clone();
        let inputs = if newest_only { self.newest_parts(&interval, &all) } else { all.clone() };
        let everything = inputs.len() == all.len();
        let doubts = self.doubts.get(&low);
        let lost = |file| doubts.map_or_else(BTreeSet::new, |doubts| doubts.lost(file, uptime));
        let read = self.inputs(&inputs, interval, |file| Unread::Doubtful(lost(file)));
        let first_file = self.new_files(MAX_OUTPUTS);
        let slice_bytes = if everything { self.slice_bytes } else { u64::MAX };
        let merge = Merge::new(interval, read, everything.then_some(void), emptied, slice_bytes, first_file);
        self.sealed_beside.clear();
        // A base that takes no part keeps its filter.
        let filtered = filtered && everything;
        let is_partial = !everything;
        self.merging = Some(Merging { slice: interval, uptime, inputs, is_partial, filtered, reached, merge });
    }

    /// Parts of `interval` as a merge reads them; `unread` says for each file what becomes of pages that the device fails to
    /// read.
    ///
    /// Half of the memory takes what is read together; so much is read ahead of a part that holds most, as it is read alone
    /// most of the time. What is read ahead of the others grows with the square root of what they hold: reads are then as
    /// few as may be.
    pub(super) fn inputs(
        &self,
        parts: &[u16],
        interval: Interval,
        unread: impl Fn(u64) -> Unread,
    ) -> (Vec<(u64, Input)>, ReadAhead) {
        let together = (self.read_ahead_pages / 2).clamp(LEAST_READ_PAGES, MOST_READ_PAGES);
        let pages: Vec<u64> = parts.iter().map(|number| self.pages_in(*number, &interval)).collect();
        let roots = pages.iter().map(|pages| (*pages as f64).sqrt()).sum::<f64>().max(1.0);
        let total = pages.iter().sum::<u64>();
        let left = self.read_ahead_pages.saturating_sub(together);
        let ahead = |pages: u64| {
            let most =
                if pages * 2 > total { together } else { (left as f64 * (pages as f64).sqrt() / roots) as usize };
            // So many reads, of about the same size.
            let reads = (pages as usize).div_ceil(most.clamp(LEAST_READ_PAGES, MOST_READ_PAGES));
            (pages as usize).div_ceil(reads.max(1))
        };
        let input = |(number, pages): (&u16, u64)| {
            let view = &self.views[number];
            let cursor = cursor(view, interval, ahead(pages)).treating(unread(view.footer.file));
            (view.age, Input::Segment(cursor))
        };
        (parts.iter().zip(pages).map(input).collect(), ReadAhead::new(together))
    }

    /// The newest parts of a slice, each a small share of it; all parts when there are not even two such.
    fn newest_parts(&self, interval: &Interval, parts: &[u16]) -> Vec<u16> {
        let pages = |number: &u16| self.pages_in(*number, interval);
        let total: u64 = parts.iter().map(pages).sum();
        let small = parts.iter().rev().take_while(|number| pages(number) * SMALL_SHARE <= total).count();
        if small < 2 { parts.to_vec() } else { parts[parts.len() - small..].to_vec() }
    }

    /// Pages of a part that lie in an interval.
    fn pages_in(&self, number: u16, interval: &Interval) -> u64 {
        let span = self.views[&number].directory.page_span(interval.low.prefix(), interval.high.prefix());
        u64::from(span.end.saturating_sub(span.start))
    }

    pub(super) fn merge_step(&mut self, flash: &dyn Flash) -> Result<Step, FlashError> {
        let merging = self.merging.as_mut().expect("a merge is under way");
        match merging.merge.step(flash, &self.secret) {
            Ok(None) => {
                let Passed { newer, dropped } = merging.merge.passed();
                if newer + dropped < TOLD_BYTES {
                    return Ok(Step::More);
                }
                merging.merge.forget_passed();
                Ok(Step::Event(Event::Merging { newer, dropped }))
            }
            Ok(Some(merged)) => {
                let merging = self.merging.take().expect("a merge is under way");
                self.record_merge(flash, &merging, merged)
            }
            Err(SegmentError::Damage(damage)) => {
                if let Some(pages) = merging.merge.unread_pages() {
                    let doubts = self.doubts.entry(merging.slice.low).or_default();
                    doubts.note(&merging.merge.files(), &pages, merging.uptime);
                }
                self.abandon_merge(flash, &damage.to_string(), true)
            }
            Err(SegmentError::Flash(error @ FlashError::NoSpace)) => {
                self.abandon_merge(flash, &error.to_string(), false)
            }
            Err(SegmentError::Flash(error)) => Err(error),
        }
    }

    /// Leaves the slice as it is.
    pub(super) fn abandon_merge(
        &mut self,
        flash: &dyn Flash,
        why: &str,
        over_damage: bool,
    ) -> Result<Step, FlashError> {
        let merging = self.merging.take().expect("a merge is under way");
        Self::drop_outputs(flash, &merging)?;
        Ok(Step::Event(Event::MergeFailed { slice: merging.slice.low, why: why.to_owned(), over_damage }))
    }

    fn drop_outputs(flash: &dyn Flash, merging: &Merging) -> Result<(), FlashError> {
        for file in merging.merge.created() {
            remove_if_there(flash, FileId::Segment(*file))?;
        }
        Ok(())
    }

    fn record_merge(&mut self, flash: &dyn Flash, merging: &Merging, mut merged: Merged) -> Result<Step, FlashError> {
        // A record that has expired, or was flushed, may not be the newest that names its file.
        merged.dropped_values.retain(|file| !self.sealed_beside.contains(file));
        let age = merging.inputs.iter().filter_map(|number| self.views.get(number)).map(|view| view.age).max();
        let mut edit_outputs = Vec::with_capacity(merged.outputs.len());
        let mut outputs = Vec::with_capacity(merged.outputs.len());
        for output in merged.outputs {
            let run = match output.written {
                Some(written) => {
                    let Some(number) = self.free_number() else {
                        return self.give_up_merge(flash, merging, &outputs, NO_NUMBER.to_owned());
                    };
                    let directory = Arc::new(PageDirectory::new(&written.directory));
                    let view = View { age: age.expect("an output has an input"), footer: written.footer, directory };
                    self.views.insert(number.get(), view.clone());
                    Some((number, view, written.prefixes))
                }
                None => None,
            };
            edit_outputs
                .push((output.interval, run.as_ref().map(|(number, view, _)| (number.get(), segment_of(view)))));
            outputs.push((output.interval, run));
        }
        let edit = Edit::Merged(Box::new(MergedEdit {
            slice: merging.slice,
            removed: merging.inputs.clone(),
            outputs: edit_outputs,
            horizons: self.horizons(&merging.slice, merged.horizon),
            written_bytes: merged.bytes_written,
        }));
        let known = &self.manifest.state().values;
        let values: BTreeSet<u64> =
            merged.dropped_values.iter().copied().filter(|file| known.contains_key(file)).collect();
        let mut edits = vec![Edit::LogReached { at: merging.reached }, edit];
        edits.extend(outputs.iter().filter_map(|(_, run)| content_of(&run.as_ref()?.1)));
        // With the merge, so that a crash leaves their files to nobody: the next opening removes them.
        edits.extend(values.into_iter().map(|file| Edit::ValueDropped { file }));
        match self.manifest.commit(flash, &edits) {
            Ok(dropped) => {
                let reclaim = self.reclaim_of(merging, &dropped, merged.dropped_values);
                self.report_merge(
                    flash,
                    merging,
                    outputs,
                    (merged.overwrites, merged.bytes_written, merged.lost),
                    reclaim,
                )
            }
            Err(error @ FlashError::NoSpace) => self.give_up_merge(flash, merging, &outputs, error.to_string()),
            Err(error) => Err(error),
        }
    }

    /// Leaves the slice as it is: its outputs are nobody's.
    fn give_up_merge(
        &mut self,
        flash: &dyn Flash,
        merging: &Merging,
        outputs: &[(Interval, Option<Run>)],
        why: String,
    ) -> Result<Step, FlashError> {
        for (number, ..) in outputs.iter().filter_map(|(_, run)| run.as_ref()) {
            self.views.remove(&number.get());
        }
        Self::drop_outputs(flash, merging)?;
        Ok(Step::Event(Event::MergeFailed { slice: merging.slice.low, why, over_damage: false }))
    }

    /// Builds the outputs' indexes, with what was sealed meanwhile, and tells the event-loop half.
    fn report_merge(
        &mut self,
        flash: &dyn Flash,
        merging: &Merging,
        outputs: Vec<(Interval, Option<Run>)>,
        (overwrites, written_bytes, lost): (Overwrites, u64, Option<Losses>),
        reclaim: Reclaim,
    ) -> Result<Step, FlashError> {
        if let Some(doubts) = self.doubts.get_mut(&merging.slice.low) {
            doubts.forget(&merging.merge.files());
        }
        // Those of slices that are no more have come to nothing.
        let slices = &self.manifest.state().slices;
        let is_there = |low: &Key| slices.binary_search_by(|slice| slice.interval.low.cmp(low)).is_ok();
        self.doubts.retain(|low, doubts| !doubts.0.is_empty() && is_there(low));
        self.loaded.remove(&merging.slice.low);
        let mut slices = Vec::with_capacity(outputs.len());
        for (interval, run) in outputs {
            let place = self.slice_at(&interval.low).expect("the manifest has the outputs");
            let slice = &self.manifest.state().slices[place];
            let (parts, horizon) = (slice.parts.clone(), slice.horizon);
            let own = run.as_ref().map(|(number, _, prefixes)| (number.get(), prefixes.as_slice()));
            let at_hand: AtHand<'_> = own.into_iter().collect();
            let index = match self.build(flash, interval, &parts, &at_hand, merging.filtered) {
                Ok((index, _)) => index,
                Err((file, error)) => {
                    return Err(FlashError::Io(format!("{file}, which was just sealed, is unreadable: {error}")));
                }
            };
            self.loaded.insert(interval.low);
            let run = run.map(|(number, view, _)| (number, view));
            slices.push(MergedSlice { interval, run, index, horizon });
        }
        let room = self.room(flash)?;
        self.events.push_back(Event::Space(room));
        Ok(Step::Event(Event::Merged {
            slice: merging.slice.low,
            outputs: slices,
            is_partial: merging.is_partial,
            overwrites,
            written_bytes,
            lost,
            reclaim,
        }))
    }

    /// What the merge freed: whole files, and the pages of its slice in files that other slices still use.
    fn reclaim_of(&mut self, merging: &Merging, dropped: &[u64], values: Vec<u64>) -> Reclaim {
        let mut reclaim = Reclaim { values, ..Reclaim::default() };
        for number in &merging.inputs {
            let Some(view) = self.views.get(number) else {
                continue;
            };
            let file = view.footer.file;
            if dropped.contains(&file) {
                reclaim.segments.push((SegmentNumber::new(*number).expect("live numbers are valid"), file));
                self.views.remove(number);
                self.retiring.insert(*number);
            } else {
                reclaim.drained.push((file, merging.slice));
            }
        }
        reclaim
    }

    /// New horizons of the ranges that overlap a merged slice.
    pub(super) fn horizons(&self, slice: &Interval, horizon: u64) -> Vec<(u64, u64)> {
        if horizon == 0 {
            return Vec::new();
        }
        let ranges = self.manifest.state().ranges.iter();
        ranges.filter(|range| range.interval.overlaps(slice)).map(|range| (range.instance, horizon)).collect()
    }
}
