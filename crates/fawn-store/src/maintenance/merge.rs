//! Merges: one slice at a time, and what the manifest and the event-loop half hear of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fawn_ring::{Interval, Key};

use super::catalog::{SegmentCatalog, content_of, remove_if_there, segment_of};
use super::load::{AtHand, IndexLoader};
use super::step::Step;
use crate::api::Losses;
use crate::flash::{FileId, Flash, FlashError};
use crate::format::manifest::{Edit, MergeEdit};
use crate::format::segment::{ReadAhead, SegmentError, Unread};
use crate::log::LogPosition;
use crate::merge::Overwrites;
use crate::merge::{Input, Merge, MergeOutput, MergeProgress};
use crate::sealed::directory::PageDirectory;
use crate::sealed::index::SegmentNumber;
use crate::work::{MaintenanceEvent, MergeWork, MergedSlice, Reclaim, View};

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
struct Doubts(BTreeMap<(u64, u64), Doubt>);

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
struct Merging {
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
    /// What it frees is given back at once.
    no_space: bool,
    merge: Merge,
}

/// Merges, one at a time.
pub(super) struct Merger {
    merging: Option<Merging>,
    /// What the device fails to read, by the start of the slice.
    doubts: BTreeMap<Key, Doubts>,
    /// Value files that segments sealed since the merge began name.
    sealed_beside: BTreeSet<u64>,
    /// Bytes of records at which a slice is divided.
    slice_bytes: u64,
    /// Pages that a merge holds of its inputs.
    read_ahead_pages: usize,
}

impl Merger {
    /// One that divides slices at so many bytes, and holds so many pages of its inputs.
    pub(super) fn new(slice_bytes: u64, read_ahead_pages: usize) -> Self {
        let (doubts, sealed_beside) = (BTreeMap::new(), BTreeSet::new());
        Self { merging: None, doubts, sealed_beside, slice_bytes, read_ahead_pages }
    }

    /// Bytes of records at which a slice is divided.
    pub(super) fn slice_bytes(&self) -> u64 {
        self.slice_bytes
    }

    /// Pages that a merge holds of its inputs.
    pub(super) fn read_ahead_pages(&self) -> usize {
        self.read_ahead_pages
    }

    /// The slice that is being merged.
    pub(super) fn slice(&self) -> Option<Interval> {
        self.merging.as_ref().map(|merging| merging.slice)
    }

    /// A segment was sealed that names these value files.
    pub(super) fn note_sealed(&mut self, values: impl Iterator<Item = u64>) {
        if self.merging.is_some() {
            self.sealed_beside.extend(values);
        }
    }

    /// Begins a merge of a slice whose index the event-loop half has.
    pub(super) fn begin(
        &mut self,
        work: MergeWork,
        catalog: &mut SegmentCatalog,
        loader: &IndexLoader,
        events: &mut VecDeque<MaintenanceEvent>,
    ) {
        let MergeWork { slice: low, void, before, newest_only, drained: _, filtered, uptime, reached, no_space } = work;
        let Some(place) = catalog.slice_at(&low).filter(|_| loader.is_loaded(&low)) else {
            let why = "the slice is not loaded".to_owned();
            events.push_back(MaintenanceEvent::MergeFailed { slice: low, why, over_damage: false });
            return;
        };
        let slice = &catalog.state().slices[place];
        let interval = slice.interval;
        let all: Vec<u16> = slice.parts.iter().copied().filter(|number| catalog.view(*number).age < before).collect();
        let emptied = catalog.state().emptied.clone();
        let inputs = if newest_only { newest_parts(catalog, &interval, &all) } else { all.clone() };
        let everything = inputs.len() == all.len();
        let doubts = self.doubts.get(&low);
        let lost = |file| doubts.map_or_else(BTreeSet::new, |doubts| doubts.lost(file, uptime));
        let read = inputs_of((catalog, self.read_ahead_pages), &inputs, interval, |file| Unread::Doubtful(lost(file)));
        let first_file = catalog.new_files(MAX_OUTPUTS);
        let slice_bytes = if everything { self.slice_bytes } else { u64::MAX };
        let merge = Merge::new(interval, read, everything.then_some(void), emptied, slice_bytes, first_file);
        self.sealed_beside.clear();
        // A base that takes no part keeps its filter.
        let filtered = filtered && everything;
        let is_partial = !everything;
        self.merging =
            Some(Merging { slice: interval, uptime, inputs, is_partial, filtered, reached, no_space, merge });
    }

    /// Does a bounded piece of the merge under way.
    pub(super) fn step(
        &mut self,
        (catalog, flash): (&mut SegmentCatalog, &dyn Flash),
        loader: &mut IndexLoader,
        events: &mut VecDeque<MaintenanceEvent>,
    ) -> Result<Step, FlashError> {
        let merging = self.merging.as_mut().expect("a merge is under way");
        match merging.merge.step(flash, &catalog.state().secret) {
            Ok(None) => {
                let MergeProgress { newer, dropped } = merging.merge.passed();
                if newer + dropped < TOLD_BYTES {
                    return Ok(Step::More);
                }
                merging.merge.forget_passed();
                Ok(Step::Event(MaintenanceEvent::Merging { newer, dropped }))
            }
            Ok(Some(merged)) => {
                let merging = self.merging.take().expect("a merge is under way");
                self.record((catalog, flash), loader, events, &merging, merged)
            }
            Err(SegmentError::Damage(damage)) => {
                if let Some(pages) = merging.merge.unread_pages() {
                    let doubts = self.doubts.entry(merging.slice.low).or_default();
                    doubts.note(&merging.merge.files(), &pages, merging.uptime);
                }
                self.abandon(flash, &damage.to_string(), true)
            }
            Err(SegmentError::Flash(error @ FlashError::NoSpace)) => self.abandon(flash, &error.to_string(), false),
            Err(SegmentError::Flash(error)) => Err(error),
        }
    }

    /// Leaves the slice as it is.
    pub(super) fn abandon(&mut self, flash: &dyn Flash, why: &str, over_damage: bool) -> Result<Step, FlashError> {
        let merging = self.merging.take().expect("a merge is under way");
        drop_outputs(flash, &merging)?;
        Ok(Step::Event(MaintenanceEvent::MergeFailed { slice: merging.slice.low, why: why.to_owned(), over_damage }))
    }

    fn record(
        &mut self,
        (catalog, flash): (&mut SegmentCatalog, &dyn Flash),
        loader: &mut IndexLoader,
        events: &mut VecDeque<MaintenanceEvent>,
        merging: &Merging,
        mut merged: MergeOutput,
    ) -> Result<Step, FlashError> {
        // A record that has expired, or was flushed, may not be the newest that names its file.
        merged.dropped_values.retain(|file| !self.sealed_beside.contains(file));
        let age = merging.inputs.iter().filter_map(|number| catalog.find_view(*number)).map(|view| view.age).max();
        let mut edit_outputs = Vec::with_capacity(merged.outputs.len());
        let mut outputs = Vec::with_capacity(merged.outputs.len());
        for output in merged.outputs {
            let run = match output.written {
                Some(written) => {
                    let Some(number) = catalog.free_number() else {
                        return give_up((catalog, flash), merging, &outputs, NO_NUMBER.to_owned());
                    };
                    let directory = Arc::new(PageDirectory::new(&written.directory));
                    let view = View { age: age.expect("an output has an input"), footer: written.footer, directory };
                    catalog.insert(number, view.clone());
                    Some((number, view, written.prefixes))
                }
                None => None,
            };
            edit_outputs
                .push((output.interval, run.as_ref().map(|(number, view, _)| (number.get(), segment_of(view)))));
            outputs.push((output.interval, run));
        }
        let edit = Edit::Merged(Box::new(MergeEdit {
            slice: merging.slice,
            removed: merging.inputs.clone(),
            outputs: edit_outputs,
            horizons: catalog.horizons(&merging.slice, merged.horizon),
            written_bytes: merged.bytes_written,
        }));
        let known = &catalog.state().values;
        let values: BTreeSet<u64> =
            merged.dropped_values.iter().copied().filter(|file| known.contains_key(file)).collect();
        let mut edits = vec![Edit::LogReached { at: merging.reached }, edit];
        edits.extend(outputs.iter().filter_map(|(_, run)| content_of(&run.as_ref()?.1)));
        // With the merge, so that a crash leaves their files to nobody: the next opening removes them.
        edits.extend(values.into_iter().map(|file| Edit::ValueDropped { file }));
        match catalog.commit(flash, &edits) {
            Ok(dropped) => {
                let reclaim = reclaim_of(catalog, merging, &dropped, merged.dropped_values);
                self.report(
                    (catalog, flash),
                    loader,
                    events,
                    merging,
                    outputs,
                    (merged.overwrites, merged.bytes_written, merged.lost),
                    reclaim,
                )
            }
            Err(error @ FlashError::NoSpace) => give_up((catalog, flash), merging, &outputs, error.to_string()),
            Err(error) => Err(error),
        }
    }

    /// Builds the outputs' indexes, with what was sealed meanwhile, and tells the event-loop half.
    #[allow(clippy::too_many_arguments, reason = "one caller, which has them all")]
    fn report(
        &mut self,
        (catalog, flash): (&mut SegmentCatalog, &dyn Flash),
        loader: &mut IndexLoader,
        events: &mut VecDeque<MaintenanceEvent>,
        merging: &Merging,
        outputs: Vec<(Interval, Option<Run>)>,
        (overwrites, written_bytes, lost): (Overwrites, u64, Option<Losses>),
        reclaim: Reclaim,
    ) -> Result<Step, FlashError> {
        if let Some(doubts) = self.doubts.get_mut(&merging.slice.low) {
            doubts.forget(&merging.merge.files());
        }
        // Those of slices that are no more have come to nothing.
        self.doubts.retain(|low, doubts| !doubts.0.is_empty() && catalog.has_slice(low));
        loader.forget(&merging.slice.low);
        let mut slices = Vec::with_capacity(outputs.len());
        for (interval, run) in outputs {
            let place = catalog.slice_at(&interval.low).expect("the manifest has the outputs");
            let slice = &catalog.state().slices[place];
            let (parts, horizon) = (slice.parts.clone(), slice.horizon);
            let own = run.as_ref().map(|(number, _, prefixes)| (number.get(), prefixes.as_slice()));
            let at_hand: AtHand<'_> = own.into_iter().collect();
            let index = match loader.build((&*catalog, flash), interval, &parts, &at_hand, merging.filtered) {
                Ok((index, _)) => index,
                Err((file, error)) => {
                    return Err(FlashError::Io(format!("{file}, which was just sealed, is unreadable: {error}")));
                }
            };
            loader.note_loaded(interval.low);
            let run = run.map(|(number, view, _)| (number, view));
            slices.push(MergedSlice { interval, run, index, horizon });
        }
        let room = catalog.room(flash)?;
        events.push_back(MaintenanceEvent::Space(room));
        Ok(Step::Event(MaintenanceEvent::Merged {
            slice: merging.slice.low,
            outputs: slices,
            is_partial: merging.is_partial,
            overwrites,
            written_bytes,
            lost,
            reclaim,
        }))
    }
}

/// Parts of `interval` as a merge reads them; `unread` says for each file what becomes of pages that the device fails to
/// read.
///
/// Half of the memory takes what is read together; so much is read ahead of a part that holds most, as it is read alone
/// most of the time. What is read ahead of the others grows with the square root of what they hold: reads are then as
/// few as may be.
pub(super) fn inputs_of(
    (catalog, read_ahead_pages): (&SegmentCatalog, usize),
    parts: &[u16],
    interval: Interval,
    unread: impl Fn(u64) -> Unread,
) -> (Vec<(u64, Input)>, ReadAhead) {
    let together = (read_ahead_pages / 2).clamp(LEAST_READ_PAGES, MOST_READ_PAGES);
    let pages: Vec<u64> = parts.iter().map(|number| catalog.pages_in(*number, &interval)).collect();
    let roots = pages.iter().map(|pages| (*pages as f64).sqrt()).sum::<f64>().max(1.0);
    let total = pages.iter().sum::<u64>();
    let left = read_ahead_pages.saturating_sub(together);
    let ahead = |pages: u64| {
        let most = if pages * 2 > total { together } else { (left as f64 * (pages as f64).sqrt() / roots) as usize };
        // So many reads, of about the same size.
        let reads = (pages as usize).div_ceil(most.clamp(LEAST_READ_PAGES, MOST_READ_PAGES));
        (pages as usize).div_ceil(reads.max(1))
    };
    let input = |(number, pages): (&u16, u64)| {
        let view = catalog.view(*number);
        let cursor = catalog.cursor(*number, interval, ahead(pages)).treating(unread(view.footer.file));
        (view.age, Input::Segment(cursor))
    };
    (parts.iter().zip(pages).map(input).collect(), ReadAhead::new(together))
}

/// The newest parts of a slice, each a small share of it; all parts when there are not even two such.
fn newest_parts(catalog: &SegmentCatalog, interval: &Interval, parts: &[u16]) -> Vec<u16> {
    let pages = |number: &u16| catalog.pages_in(*number, interval);
    let total: u64 = parts.iter().map(pages).sum();
    let small = parts.iter().rev().take_while(|number| pages(number) * SMALL_SHARE <= total).count();
    if small < 2 { parts.to_vec() } else { parts[parts.len() - small..].to_vec() }
}

fn drop_outputs(flash: &dyn Flash, merging: &Merging) -> Result<(), FlashError> {
    for file in merging.merge.created() {
        remove_if_there(flash, FileId::Segment(*file))?;
    }
    Ok(())
}

/// Leaves the slice as it is: its outputs are nobody's.
fn give_up(
    (catalog, flash): (&mut SegmentCatalog, &dyn Flash),
    merging: &Merging,
    outputs: &[(Interval, Option<Run>)],
    why: String,
) -> Result<Step, FlashError> {
    for (number, ..) in outputs.iter().filter_map(|(_, run)| run.as_ref()) {
        catalog.remove(number.get());
    }
    drop_outputs(flash, merging)?;
    Ok(Step::Event(MaintenanceEvent::MergeFailed { slice: merging.slice.low, why, over_damage: false }))
}

/// What the merge freed: whole files, and the pages of its slice in files that other slices still use.
fn reclaim_of(catalog: &mut SegmentCatalog, merging: &Merging, dropped: &[u64], values: Vec<u64>) -> Reclaim {
    let mut reclaim = Reclaim { values, at_once: merging.no_space, ..Reclaim::default() };
    for number in &merging.inputs {
        let Some(view) = catalog.find_view(*number) else {
            continue;
        };
        let file = view.footer.file;
        if dropped.contains(&file) {
            reclaim.segments.push((SegmentNumber::new(*number).expect("live numbers are valid"), file));
            catalog.retire(*number);
        } else {
            reclaim.drained.push((file, merging.slice));
        }
    }
    reclaim
}

#[cfg(test)]
mod tests {
    use super::super::fixture::JobFixture;
    use super::super::load::LoadRequest;
    use super::*;
    use crate::merge::Void;

    fn begin(fixture: &mut JobFixture, newest_only: bool) {
        let void = Void { flushed: Vec::new(), times: Vec::new() };
        let (slice, before, reached) = (Key::MIN, u64::MAX, LogPosition::default());
        let (drained, filtered, no_space) = (false, false, false);
        let work = MergeWork { slice, void, before, newest_only, drained, filtered, uptime: 0, reached, no_space };
        fixture.merger.begin(work, &mut fixture.catalog, &fixture.loader, &mut fixture.events);
    }

    fn load(fixture: &mut JobFixture) {
        fixture.loader.request(LoadRequest { slice: Key::MIN, wanted: false, filtered: false }, false);
        assert!(matches!(fixture.load_next(), Step::Event(MaintenanceEvent::Loaded { .. })));
    }

    fn finish(fixture: &mut JobFixture) -> MaintenanceEvent {
        loop {
            let JobFixture { catalog, flash, loader, merger, events, .. } = fixture;
            if let Step::Event(event) = merger.step((catalog, flash), loader, events).unwrap() {
                return event;
            }
        }
    }

    #[test]
    fn a_merge_keeps_the_newest_versions_in_one_run_and_gives_its_inputs_back() {
        let mut fixture = JobFixture::new(1);
        let inputs =
            [fixture.seal(1, &[("a", "old"), ("b", "1"), ("c", "2")]), fixture.seal(2, &[("a", "new"), ("c", "")])];
        load(&mut fixture);
        begin(&mut fixture, false);
        assert_eq!(fixture.merger.slice(), Some(Interval::ALL));
        let MaintenanceEvent::Merged { outputs, is_partial, reclaim, .. } = finish(&mut fixture) else {
            panic!("a merge of sound segments succeeds");
        };
        let [MergedSlice { run: Some((number, view)), horizon, .. }] = &outputs[..] else {
            panic!("a small slice is not divided")
        };
        assert_eq!((view.footer.records, *horizon, is_partial), (2, 5, false), "the delete record is dropped");
        let reclaimed: Vec<u16> = reclaim.segments.iter().map(|(number, _)| number.get()).collect();
        assert_eq!(reclaimed, inputs);
        assert_eq!(fixture.catalog.state().slices[0].parts, [number.get()]);
        assert!(fixture.merger.slice().is_none() && fixture.loader.is_loaded(&Key::MIN));
    }

    #[test]
    fn a_slice_that_is_not_loaded_is_not_merged() {
        let mut fixture = JobFixture::new(1);
        fixture.seal(1, &[("a", "1")]);
        fixture.events.clear();
        begin(&mut fixture, false);
        assert!(matches!(fixture.events.pop_front(), Some(MaintenanceEvent::MergeFailed { over_damage: false, .. })));
        assert!(fixture.merger.slice().is_none());
    }

    #[test]
    fn a_merge_without_space_leaves_the_slice_as_it_is() {
        let mut fixture = JobFixture::new(1);
        let inputs = [fixture.seal(1, &[("a", "1")]), fixture.seal(2, &[("b", "2")])];
        load(&mut fixture);
        begin(&mut fixture, false);
        fixture.flash.set_full(true);
        let failed = finish(&mut fixture);
        assert!(matches!(failed, MaintenanceEvent::MergeFailed { over_damage: false, .. }));
        assert_eq!(fixture.catalog.state().slices[0].parts, inputs);
    }
}
