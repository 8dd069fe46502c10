//! What a bulk load does to the manifest and to the files that it replaces. No event-loop half listens.

use std::collections::BTreeSet;
use std::sync::Arc;

use fawn_ring::Interval;

use super::Maintenance;
use super::catalog::{content_of, remove_if_there, segment_of};
use super::merge::{MAX_OUTPUTS, inputs_of};
use crate::bulk::{Inputs, Run};
use crate::flash::{FileId, Flash, FlashError};
use crate::format::large::Stub;
use crate::format::manifest::{Edit, MergeEdit, SealEdit, SealedRange, Segment, Slice};
use crate::format::page::PAGE_BYTES;
use crate::format::segment::Unread;
use crate::merge::{Input, Merge, MergeOutput, Void};
use crate::sealed::directory::PageDirectory;
use crate::work::View;

/// A new run: its number in the manifest, and what is known of it.
type NumberedRun = (u16, View);

impl Maintenance {
    /// Bytes of records at which a slice is divided.
    pub(crate) fn slice_bytes(&self) -> u64 {
        self.merger.slice_bytes()
    }

    /// Bytes of pages that a slice has in its parts.
    pub(crate) fn bytes_held(&self, slice: &Slice) -> u64 {
        let pages = |number: &u16| {
            let (low, high) = (slice.interval.low.prefix(), slice.interval.high.prefix());
            let span = self.catalog.view(*number).directory.page_span(low, high);
            u64::from(span.end - span.start)
        };
        slice.parts.iter().map(pages).sum::<u64>() * PAGE_BYTES as u64
    }

    /// What was flushed of each range.
    pub(crate) fn flushed(&self) -> Vec<(Interval, u64)> {
        self.catalog.state().ranges.iter().map(|range| (range.interval, range.flush_watermark)).collect()
    }

    /// Takes `count` sequence numbers that no record has or will have, durably. Returns the first.
    pub(crate) fn reserve_numbers(&mut self, flash: &dyn Flash, count: u64) -> Result<u64, FlashError> {
        let ranges = &self.catalog.state().ranges;
        let first = ranges.iter().map(|range| range.seq_reserved).max().unwrap_or(1);
        let last = first + count - 1;
        // The log is empty: recovery has no record to take for one of these.
        let ranges = ranges.iter().map(|range| SealedRange {
            instance: range.instance,
            seq_reserved: last + 1,
            last_seq: last,
            flush_watermark: range.flush_watermark,
            flush_deadline: range.flush_deadline,
        });
        let ranges = ranges.collect();
        let reserved = self.sealed(None, ranges, 0);
        self.catalog.commit(flash, &[reserved])?;
        Ok(first)
    }

    /// That a segment was added, or nothing, as of a log that is as it was.
    fn sealed(&self, segment: Option<(u16, Segment)>, ranges: Vec<SealedRange>, user_bytes: u64) -> Edit {
        let written_bytes = segment.as_ref().map_or(0, |(_, segment)| segment.pages.total * PAGE_BYTES as u64);
        let log = self.catalog.state().log.start;
        Edit::Sealed(Box::new(SealEdit { segment, log, ranges, user_bytes, written_bytes }))
    }

    /// Begins to merge `runs`, oldest first, of `interval`: whole slices, and one alone if its parts are among the `inputs`.
    pub(crate) fn begin_bulk(
        &mut self,
        interval: Interval,
        inputs: Inputs,
        runs: Vec<Run>,
        void: Void,
        run_bytes: u64,
    ) -> Merge {
        let parts = if inputs == Inputs::All { self.parts_of(&interval) } else { Vec::new() };
        let (segments, ahead) =
            inputs_of((&self.catalog, self.merger.read_ahead_pages()), &parts, interval, |_| Unread::Fails);
        let age = self.bulk_age();
        let runs = runs.into_iter().enumerate().map(|(place, run)| (age + place as u64, Input::Run(run)));
        let all = segments.into_iter().chain(runs).collect();
        let emptied = self.catalog.state().emptied.clone();
        let first_file = self.new_files(MAX_OUTPUTS);
        let void = (inputs == Inputs::All).then_some(void);
        Merge::new(interval, (all, ahead), void, emptied, run_bytes, first_file)
    }

    /// The parts of the slice with these keys.
    fn parts_of(&self, slice: &Interval) -> Vec<u16> {
        let place = self.catalog.slice_at(&slice.low).expect("a stretch that is merged is a slice");
        self.catalog.state().slices[place].parts.clone()
    }

    /// The age of what is loaded: above that of any segment, and of whatever was emptied.
    fn bulk_age(&self) -> u64 {
        let state = self.catalog.state();
        let ages = state.segments.values().map(|segment| segment.age + 1);
        ages.chain(state.emptied.iter().map(|emptied| emptied.below)).max().unwrap_or(1)
    }

    /// Removes what a merge that failed has written.
    pub(crate) fn drop_bulk(flash: &dyn Flash, merge: &Merge) -> Result<(), FlashError> {
        merge.created().iter().try_for_each(|file| remove_if_there(flash, FileId::Segment(*file)))
    }

    /// Has the manifest take over what [`begin_bulk`](Self::begin_bulk) began and is complete, with the `stubs` that runs gave
    /// out; and gives back what that replaces: nobody reads.
    pub(crate) fn record_bulk(
        &mut self,
        flash: &dyn Flash,
        interval: Interval,
        inputs: Inputs,
        merged: MergeOutput,
        stubs: Vec<Stub>,
    ) -> Result<(), FlashError> {
        let dropped: BTreeSet<u64> = merged.dropped_values.iter().copied().collect();
        let state = self.catalog.state();
        let is_new = |stub: &Stub| !dropped.contains(&stub.file) && !state.values.contains_key(&stub.file);
        let mut edits: Vec<Edit> = stubs
            .into_iter()
            .filter(is_new)
            .map(|stub| Edit::ValueAdded { file: stub.file, bytes: stub.bytes })
            .collect();
        let values: Vec<u64> = dropped.into_iter().filter(|file| state.values.contains_key(file)).collect();
        edits.extend(values.iter().map(|file| Edit::ValueDropped { file: *file }));
        let (horizon, written_bytes) = (merged.horizon, merged.bytes_written);
        let outputs = self.number_outputs(merged)?;
        let replaced = match inputs {
            Inputs::None => {
                edits.extend(self.added(&outputs));
                Vec::new()
            }
            Inputs::All => {
                let removed = self.parts_of(&interval);
                let runs = outputs
                    .iter()
                    .map(|(interval, run)| (*interval, run.as_ref().map(|(number, view)| (*number, segment_of(view)))));
                edits.push(Edit::Merged(Box::new(MergeEdit {
                    slice: interval,
                    removed: removed.clone(),
                    outputs: runs.collect(),
                    horizons: self.catalog.horizons(&interval, horizon),
                    written_bytes,
                })));
                removed
            }
        };
        edits.extend(outputs.iter().filter_map(|(_, run)| content_of(&run.as_ref()?.1)));
        if let Err(error) = self.commit_bulk(flash, &edits, &interval, &replaced) {
            if error == FlashError::NoSpace {
                for (_, view) in outputs.into_iter().filter_map(|(_, run)| run) {
                    remove_if_there(flash, FileId::Segment(view.footer.file))?;
                }
            }
            return Err(error);
        }
        values.iter().try_for_each(|file| remove_if_there(flash, FileId::Value(*file)))
    }

    /// Numbers the runs of a merge.
    fn number_outputs(&mut self, merged: MergeOutput) -> Result<Vec<(Interval, Option<NumberedRun>)>, FlashError> {
        let age = self.bulk_age();
        let mut outputs = Vec::with_capacity(merged.outputs.len());
        for output in merged.outputs {
            let Some(written) = output.written else {
                outputs.push((output.interval, None));
                continue;
            };
            let number = self.catalog.free_number().ok_or_else(|| {
                FlashError::Io(
                    "all 32,767 segment numbers are in use: load the rest into a directory with more stores".into(),
                )
            })?;
            let directory = Arc::new(PageDirectory::new(&written.directory));
            let view = View { age, footer: written.footer, directory };
            self.catalog.insert(number, view.clone());
            outputs.push((output.interval, Some((number.get(), view))));
        }
        Ok(outputs)
    }

    /// How runs become the newest parts of their slices. Several are of one slice, which is cut where they meet.
    fn added(&self, outputs: &[(Interval, Option<NumberedRun>)]) -> Vec<Edit> {
        let inner = outputs.len().saturating_sub(1);
        let mut edits: Vec<Edit> =
            outputs[..inner].iter().map(|(interval, _)| Edit::SliceCut { at: interval.high }).collect();
        for (number, view) in outputs.iter().filter_map(|(_, run)| run.as_ref()) {
            edits.push(self.sealed(Some((*number, segment_of(view))), Vec::new(), view.footer.bytes));
        }
        edits
    }

    /// Commits `edits`, and gives back the files of parts that they replace, or their pages of this slice.
    fn commit_bulk(
        &mut self,
        flash: &dyn Flash,
        edits: &[Edit],
        slice: &Interval,
        replaced: &[u16],
    ) -> Result<(), FlashError> {
        if edits.is_empty() {
            return Ok(());
        }
        let dropped = self.catalog.commit(flash, edits)?;
        for number in replaced {
            let Some(view) = self.catalog.find_view(*number) else {
                continue;
            };
            let file = view.footer.file;
            if dropped.contains(&file) {
                remove_if_there(flash, FileId::Segment(file))?;
                self.catalog.remove(*number);
            } else {
                let view = view.clone();
                self.catalog.give_back(flash, &view, slice, false)?;
            }
        }
        Ok(())
    }
}
