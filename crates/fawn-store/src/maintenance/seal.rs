//! Seal: a frozen segment is sorted, written and recorded.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::catalog::{SegmentCatalog, content_of, remove_if_there, segment_of};
use super::merge::Merger;
use super::step::Step;
use crate::buffers::FETCHED_TOGETHER;
use crate::buffers::open_segment::OpenSegment;
use crate::flash::{FileId, Flash, FlashError};
use crate::format::large::Stub;
use crate::format::manifest::{Edit, EmptiedInterval, SealEdit};
use crate::format::page::PAGE_PAYLOAD_BYTES;
use crate::format::record::Kind;
use crate::format::segment::{CompleteSegment, Writer};
use crate::log::LogPosition;
use crate::merge::value_file;
use crate::sealed::directory::PageDirectory;
use crate::work::{MaintenanceEvent, RangeMark, Reclaim, View};

/// Records written in one step.
const STEP_RECORDS: usize = 4096;

/// A seal in progress.
struct Sealing {
    segment: Arc<OpenSegment>,
    age: u64,
    log_start: LogPosition,
    /// The log was durable up to here before the seal began.
    reached: LogPosition,
    ranges: Vec<RangeMark>,
    emptied: Vec<EmptiedInterval>,
    order: Vec<u32>,
    next: usize,
    writer: Option<(u64, Writer)>,
}

impl Sealing {
    fn new(
        segment: Arc<OpenSegment>,
        age: u64,
        (log_start, reached): (LogPosition, LogPosition),
        ranges: Vec<RangeMark>,
        emptied: Vec<EmptiedInterval>,
    ) -> Self {
        Self { segment, age, log_start, reached, ranges, emptied, order: Vec::new(), next: 0, writer: None }
    }

    /// What goes to the manifest before the seal: how far the log is durable, and what was emptied before any record of the
    /// segment came.
    fn before(&self) -> impl Iterator<Item = Edit> {
        let emptied = self.emptied.iter().copied().map(Edit::Emptied);
        std::iter::once(Edit::LogReached { at: self.reached }).chain(emptied)
    }
}

/// Seals, one at a time.
#[derive(Default)]
pub(super) struct Sealer {
    sealing: Option<Sealing>,
    /// The seal under way waits for space until everything else is done.
    stalled: bool,
    /// The event-loop half was told that seals wait for space, and none has been done since.
    stall_reported: bool,
}

impl Sealer {
    /// Whether a seal is under way.
    pub(super) fn is_sealing(&self) -> bool {
        self.sealing.is_some()
    }

    /// Whether the seal under way waits for space.
    pub(super) fn is_stalled(&self) -> bool {
        self.stalled
    }

    /// Everything else is done: the seal that waited for space is tried again.
    pub(super) fn end_stall(&mut self) {
        self.stalled = false;
    }

    /// Whether the event-loop half knows that seals wait for space.
    pub(super) fn has_reported_stall(&self) -> bool {
        self.stall_reported
    }

    /// Begins the seal of a frozen segment.
    pub(super) fn begin(
        &mut self,
        segment: Arc<OpenSegment>,
        age: u64,
        log: (LogPosition, LogPosition),
        ranges: Vec<RangeMark>,
        emptied: Vec<EmptiedInterval>,
    ) {
        self.sealing = Some(Sealing::new(segment, age, log, ranges, emptied));
    }

    /// Does a bounded piece of the seal under way. What it names of value files, the merge under way is told.
    pub(super) fn step(
        &mut self,
        (catalog, flash): (&mut SegmentCatalog, &dyn Flash),
        merger: &mut Merger,
        events: &mut VecDeque<MaintenanceEvent>,
    ) -> Result<Step, FlashError> {
        match self.piece((catalog, flash), merger, events) {
            Err(FlashError::NoSpace) => {
                // Begin again from the start once there is space: the records are still in the log.
                if let Some(sealing) = &mut self.sealing {
                    sealing.next = 0;
                    if let Some((file, _)) = sealing.writer.take() {
                        remove_if_there(flash, FileId::Segment(file))?;
                    }
                }
                self.stalled = true;
                if std::mem::replace(&mut self.stall_reported, true) {
                    return Ok(Step::More);
                }
                Ok(Step::Event(MaintenanceEvent::Stalled))
            }
            Ok(step @ Step::Event(MaintenanceEvent::Sealed { .. })) => {
                self.stall_reported = false;
                Ok(step)
            }
            result => result,
        }
    }

    fn piece(
        &mut self,
        (catalog, flash): (&mut SegmentCatalog, &dyn Flash),
        merger: &mut Merger,
        events: &mut VecDeque<MaintenanceEvent>,
    ) -> Result<Step, FlashError> {
        let sealing = self.sealing.as_mut().expect("a seal is under way");
        if sealing.segment.is_empty() {
            return self.record_empty((catalog, flash));
        }
        if sealing.order.is_empty() {
            sealing.order = sealing.segment.sorted();
        }
        if sealing.writer.is_none() {
            let reserve = (sealing.segment.live_bytes() / PAGE_PAYLOAD_BYTES + 1) as u64;
            let file = catalog.new_files(1);
            sealing.writer = Some((file, Writer::create(flash, file, reserve)?));
            return Ok(Step::More);
        }
        let (_, writer) = sealing.writer.as_mut().expect("made in the step before");
        let end = sealing.order.len().min(sealing.next + STEP_RECORDS);
        for handles in sealing.order[sealing.next..end].chunks(FETCHED_TOGETHER) {
            sealing.segment.fetch(handles);
            for handle in handles {
                let entry = sealing.segment.entry(*handle);
                writer.push(flash, &entry.key, entry.bytes)?;
            }
        }
        sealing.next = end;
        if end < sealing.order.len() {
            return Ok(Step::More);
        }
        self.finish((catalog, flash), merger, events)
    }

    /// Nothing but flushes filled the log: only its start moves on.
    fn record_empty(&mut self, (catalog, flash): (&mut SegmentCatalog, &dyn Flash)) -> Result<Step, FlashError> {
        let sealing = self.sealing.as_ref().expect("a seal is under way");
        let edit = Edit::Sealed(Box::new(SealEdit {
            segment: None,
            log: sealing.log_start,
            ranges: catalog.range_marks(&sealing.ranges),
            user_bytes: 0,
            written_bytes: 0,
        }));
        let mut edits: Vec<Edit> = sealing.before().collect();
        edits.push(edit);
        catalog.commit(flash, &edits)?;
        self.sealing = None;
        Ok(Step::Event(MaintenanceEvent::Sealed { segment: None, reclaim: Reclaim::default() }))
    }

    fn finish(
        &mut self,
        (catalog, flash): (&mut SegmentCatalog, &dyn Flash),
        merger: &mut Merger,
        events: &mut VecDeque<MaintenanceEvent>,
    ) -> Result<Step, FlashError> {
        let mut sealing = self.sealing.take().expect("a seal is under way");
        let (file, writer) = sealing.writer.take().expect("a seal has a writer");
        let written = match writer.finish(flash) {
            Ok(written) => written,
            Err(error) => {
                sealing.writer = None;
                sealing.next = 0;
                self.sealing = Some(sealing);
                remove_if_there(flash, FileId::Segment(file))?;
                return Err(error);
            }
        };
        let Some(number) = catalog.free_number() else {
            return Err(FlashError::Io(
                "all 32,767 segment numbers are in use: use more stores, or larger segments by more memory".into(),
            ));
        };
        let CompleteSegment { footer, directory, prefixes } = written;
        let view = View { age: sealing.age, footer, directory: Arc::new(PageDirectory::new(&directory)) };
        let edit = Edit::Sealed(Box::new(SealEdit {
            segment: Some((number.get(), segment_of(&view))),
            log: sealing.log_start,
            ranges: catalog.range_marks(&sealing.ranges),
            user_bytes: footer.bytes,
            written_bytes: footer.total_pages() * crate::format::page::PAGE_BYTES as u64,
        }));
        let mut edits = sealed_values(&sealing, catalog);
        edits.extend(sealing.before());
        edits.push(edit);
        edits.extend(content_of(&view));
        if let Err(error) = catalog.commit(flash, &edits) {
            if error == FlashError::NoSpace {
                self.sealing = Some(sealing);
                remove_if_there(flash, FileId::Segment(file))?;
            }
            return Err(error);
        }
        catalog.insert(number, view.clone());
        merger.note_sealed(stubs(&sealing).map(|stub| stub.file));
        let values = superseded_values(&sealing.segment);
        drop(sealing);
        let room = catalog.room(flash)?;
        events.push_back(MaintenanceEvent::Space(room));
        let reclaim = Reclaim { values, ..Reclaim::default() };
        Ok(Step::Event(MaintenanceEvent::Sealed { segment: Some((number, view, prefixes)), reclaim }))
    }
}

/// Tells the manifest of the value files that the segment names: until it is sealed, the log does.
fn sealed_values(sealing: &Sealing, catalog: &SegmentCatalog) -> Vec<Edit> {
    let known = &catalog.state().values;
    let new = stubs(sealing).filter(|stub| !known.contains_key(&stub.file));
    new.map(|stub| Edit::ValueAdded { file: stub.file, bytes: stub.bytes }).collect()
}

/// The large values that the records to be sealed name.
fn stubs(sealing: &Sealing) -> impl Iterator<Item = Stub> {
    sealing.order.iter().filter_map(|handle| {
        let record = sealing.segment.entry(*handle).record();
        (record.kind == Kind::Stub).then(|| Stub::decode(record.value)).flatten()
    })
}

/// Value files that only superseded records of the segment name.
fn superseded_values(segment: &OpenSegment) -> Vec<u64> {
    let named: BTreeSet<u64> = segment.all().filter_map(|entry| value_file(&entry.record())).collect();
    if named.is_empty() {
        return Vec::new();
    }
    let live = |entry: &crate::buffers::open_segment::Entry<'_>| {
        segment.get(&entry.key, entry.record().key).and_then(|newest| value_file(&newest.record()))
    };
    let still: BTreeSet<u64> = segment.all().filter_map(|entry| live(&entry)).collect();
    named.difference(&still).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{JobFixture, position};
    use super::*;

    fn begin(fixture: &mut JobFixture, records: &[(&str, &str)]) -> Sealer {
        let mut sealer = Sealer::default();
        let segment = fixture.frozen(records);
        let emptied = EmptiedInterval { interval: fawn_ring::Interval::ALL, below: 3 };
        sealer.begin(segment, 3, (LogPosition::default(), LogPosition::default()), Vec::new(), vec![emptied]);
        sealer
    }

    #[test]
    fn a_seal_writes_the_newest_versions_in_key_order_and_the_manifest_names_them() {
        let mut fixture = JobFixture::new(1);
        let mut sealer = begin(&mut fixture, &[("a", "old"), ("b", "1"), ("a", "new")]);
        assert!(matches!(fixture.seal_step(&mut sealer), Step::More) && sealer.is_sealing());
        let Step::Event(MaintenanceEvent::Sealed { segment: Some((number, view, prefixes)), .. }) =
            fixture.seal_step(&mut sealer)
        else {
            panic!("a small segment is sealed in two steps");
        };
        let mut expected = [position("a").prefix(), position("b").prefix()];
        expected.sort_unstable();
        assert_eq!((prefixes.as_slice(), view.age, view.footer.records), (&expected[..], 3, 2));
        assert_eq!(fixture.catalog.state().slices[0].parts, [number.get()]);
        assert!(!sealer.is_sealing() && fixture.catalog.find_view(number.get()).is_some());
        assert!(matches!(fixture.events.pop_front(), Some(MaintenanceEvent::Space(_))));
    }

    #[test]
    fn a_seal_without_space_reports_that_once_and_begins_again() {
        let mut fixture = JobFixture::new(1);
        let mut sealer = begin(&mut fixture, &[("a", "1")]);
        fixture.flash.set_full(true);
        assert!(matches!(fixture.seal_step(&mut sealer), Step::Event(MaintenanceEvent::Stalled)));
        assert!(sealer.is_stalled() && sealer.has_reported_stall());
        sealer.end_stall();
        assert!(matches!(fixture.seal_step(&mut sealer), Step::More) && sealer.is_stalled(), "it was reported");
        sealer.end_stall();
        fixture.flash.set_full(false);
        while sealer.is_sealing() {
            fixture.seal_step(&mut sealer);
        }
        assert!(!sealer.has_reported_stall() && fixture.catalog.state().slices[0].parts.len() == 1);
    }

    #[test]
    fn a_segment_without_records_moves_the_logs_start_alone() {
        let mut fixture = JobFixture::new(1);
        let older = fixture.seal(1, &[("a", "1")]);
        let mut sealer = begin(&mut fixture, &[]);
        let step = fixture.seal_step(&mut sealer);
        assert!(matches!(step, Step::Event(MaintenanceEvent::Sealed { segment: None, .. })));
        let state = fixture.catalog.state();
        assert_eq!((&state.slices[0].parts[..], state.emptied.len()), (&[older][..], 1), "it empties what is older");
    }
}
