//! Edits: how a [`State`] becomes the next.

use fawn_ring::{Interval, Key};

use super::check::tile;
use super::codec::{Code, DecodeError, Reader, code_fields};
use super::{EmptiedInterval, Range, Segment, Slice, State};
use crate::log::LogPosition;

/// One change of the store's metadata. The edits of one commit become durable together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The store is opened for writing: its batches carry this generation, and its last stop is no longer clean.
    Opened {
        /// Larger than any before.
        generation: u64,
        /// New [`Range::seq_reserved`] by range instance.
        reserved: Vec<(u64, u64)>,
    },
    /// An open segment was sealed, and the log's start moves on.
    Sealed(Box<SealEdit>),
    /// The parts of one slice were merged.
    Merged(Box<MergeEdit>),
    /// The slice that holds the key is cut after it; both halves keep the parts whose keys reach into them. Nothing
    /// happens where a slice ends already.
    SliceCut {
        /// The last key of the left half.
        at: Key,
    },
    /// A range becomes two, which tile it; slices are cut where they meet.
    ///
    /// The log holds no unsealed entry of the old instance: recovery ignores instances that the manifest does not list.
    RangeSplit {
        /// The range that ends.
        instance: u64,
        /// The lower part, whole.
        left: Box<Range>,
        /// The upper part, whole.
        right: Box<Range>,
    },
    /// Two adjacent ranges become one. The log holds no unsealed entry of either.
    RangesMerged {
        /// Instance of the lower range.
        left: u64,
        /// Instance of the upper range.
        right: u64,
        /// The new range, whole.
        merged: Box<Range>,
    },
    /// A large value's file is complete and durable.
    ValueAdded {
        /// Number of the value's file.
        file: u64,
        /// Bytes of the value.
        bytes: u64,
    },
    /// A large value is gone; its file may be removed.
    ValueDropped {
        /// Number of the value's file.
        file: u64,
    },
    /// A stretch of keys is emptied: whatever segments of a lower age hold of it is void.
    Emptied(EmptiedInterval),
    /// The store holds more keys than before, on either side: its first range begins lower, its last one ends higher.
    Widened {
        /// Slices that tile what comes before, in key order.
        below: Vec<Interval>,
        /// Slices that tile what comes after.
        above: Vec<Interval>,
    },
    /// The log is durable up to here.
    LogReached {
        /// The place up to which the log is durable.
        at: LogPosition,
    },
    /// What a segment holds, which the same commit adds.
    SegmentContent {
        /// Number of the segment's file.
        file: u64,
        /// Checksum of the segment's pages: [`Footer::content`](crate::format::segment::Footer::content).
        content: u32,
    },
    /// The store stops, with the log synced up to its end.
    CleanStop {
        /// Logical page of the log's end.
        log_end: u64,
    },
}

/// The fields of [`Edit::Sealed`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealEdit {
    /// The new segment and its number; `None` when nothing was left to keep.
    pub segment: Option<(u16, Segment)>,
    /// New start of the log.
    pub log: LogPosition,
    /// The ranges as of the log's new start.
    pub ranges: Vec<SealedRange>,
    /// Bytes of records that users wrote since the last seal.
    pub user_bytes: u64,
    /// Bytes that the seal wrote.
    pub written_bytes: u64,
}

/// A range as of the log's new start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedRange {
    /// Instance of the range.
    pub instance: u64,
    /// New [`Range::seq_reserved`] (reservations below the new start are forgotten with the log); at least the old one.
    pub seq_reserved: u64,
    /// The range's new [`Range::last_seq`].
    pub last_seq: u64,
    /// The range's new [`Range::flush_watermark`].
    pub flush_watermark: u64,
    /// The range's new [`Range::flush_deadline`].
    pub flush_deadline: u32,
}

/// The fields of [`Edit::Merged`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeEdit {
    /// The slice that was merged, as it is now.
    pub slice: Interval,
    /// Numbers of the parts that were merged; the outputs take the place of the newest. Parts sealed meanwhile stay.
    pub removed: Vec<u16>,
    /// The slices that take its place, in key order, each with its new part, if anything was left of it.
    pub outputs: Vec<(Interval, Option<(u16, Segment)>)>,
    /// New [`Range::horizon`] by range instance; smaller ones are ignored.
    pub horizons: Vec<(u64, u64)>,
    /// Bytes that the merge wrote.
    pub written_bytes: u64,
}

/// An edit that does not fit the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the edit does not fit the manifest: {0}")]
pub struct Inconsistent(pub &'static str);

impl State {
    /// Applies `edit`. Returns the numbers of the files that nothing names any more: the caller removes them, once
    /// the edit is durable and no reader holds them.
    ///
    /// # Errors
    /// [`Inconsistent`]; then the state is unusable.
    pub fn apply(&mut self, edit: &Edit) -> Result<Vec<u64>, Inconsistent> {
        match edit {
            Edit::Opened { generation, reserved } => {
                ensure(*generation > self.generation, "a generation is larger than all before")?;
                self.generation = *generation;
                self.log.clean_end = None;
                for (instance, limit) in reserved {
                    self.reserve(*instance, *limit)?;
                }
            }
            Edit::Sealed(sealed) => self.apply_sealed(sealed)?,
            Edit::Merged(merged) => return self.apply_merged(merged),
            Edit::SliceCut { at } => self.cut_slice(at)?,
            Edit::RangeSplit { instance, left, right } => {
                self.cut_slice(&left.interval.high)?;
                self.replace_ranges(&[*instance], &[**left, **right])?;
            }
            Edit::RangesMerged { left, right, merged } => self.replace_ranges(&[*left, *right], &[**merged])?,
            Edit::ValueAdded { file, bytes } => {
                ensure(self.values.insert(*file, *bytes).is_none(), "a file number is used once")?;
                self.use_file(*file)?;
            }
            Edit::ValueDropped { file } => {
                ensure(self.values.remove(file).is_some(), "a value that is dropped was added")?;
                return Ok(vec![*file]);
            }
            Edit::Emptied(emptied) => self.empty(*emptied),
            Edit::Widened { below, above } => self.widen(below, above)?,
            // What is sealed while a store opens knows of no place beyond those that were read.
            Edit::LogReached { at } if at.page <= self.bonds.reached.page => {}
            Edit::LogReached { at } => self.bonds.reached = *at,
            Edit::SegmentContent { file, content } => {
                let is_first = self.bonds.contents.insert(*file, *content).is_none();
                ensure(is_first, "a segment's content is told once")?;
            }
            Edit::CleanStop { log_end } => {
                ensure(*log_end >= self.log.start.page, "the log ends after its start")?;
                self.log.clean_end = Some(*log_end);
            }
        }
        Ok(Vec::new())
    }

    fn apply_sealed(&mut self, sealed: &SealEdit) -> Result<(), Inconsistent> {
        ensure(sealed.log.page >= self.log.start.page, "the log's start moves forward")?;
        ensure(self.log.clean_end.is_none_or(|end| sealed.log.page <= end), "the log's start is within the log")?;
        self.log.start = sealed.log;
        if let Some((number, segment)) = &sealed.segment {
            self.add_segment(*number, *segment)?;
            for slice in slices_of(&mut self.slices, segment.interval()) {
                slice.parts.push(*number);
            }
        }
        for new in &sealed.ranges {
            self.reserve(new.instance, new.seq_reserved)?;
            let range = self.range_mut(new.instance)?;
            ensure(new.last_seq >= range.last_seq, "sequence numbers grow")?;
            range.last_seq = new.last_seq;
            range.flush_watermark = new.flush_watermark;
            range.flush_deadline = new.flush_deadline;
        }
        self.counters.user_bytes = self.counters.user_bytes.saturating_add(sealed.user_bytes);
        self.counters.sealed_bytes = self.counters.sealed_bytes.saturating_add(sealed.written_bytes);
        Ok(())
    }

    fn apply_merged(&mut self, merged: &MergeEdit) -> Result<Vec<u64>, Inconsistent> {
        let found = self.slices.binary_search_by(|slice| slice.interval.cmp(&merged.slice));
        let index = found.map_err(|_| Inconsistent("the slice that was merged is still there"))?;
        ensure(
            tile(merged.outputs.iter().map(|(interval, _)| *interval), merged.slice),
            "the outputs of a merge tile the slice",
        )?;
        let dropped = merged.horizons.iter().map(|(_, horizon)| *horizon).max().unwrap_or(0);
        let horizon = self.slices[index].horizon.max(dropped);
        let old = std::mem::take(&mut self.slices[index].parts);
        let newest = old.iter().rposition(|part| merged.removed.contains(part));
        ensure(
            merged.removed.iter().all(|number| old.contains(number)),
            "the parts that were merged are parts of the slice",
        )?;
        let (before, after) = old.split_at(newest.map_or(0, |newest| newest + 1));
        let kept: Vec<u16> = before.iter().copied().filter(|number| !merged.removed.contains(number)).collect();
        let mut slices = Vec::with_capacity(merged.outputs.len());
        for (interval, output) in &merged.outputs {
            let mut parts = self.overlapping(&kept, *interval);
            if let Some((number, segment)) = output {
                ensure(newest.is_some(), "a merge with an output has an input")?;
                ensure(
                    interval.contains(&segment.low) && interval.contains(&segment.high),
                    "the output of a merge stays in its slice",
                )?;
                self.add_segment(*number, *segment)?;
                parts.push(*number);
            }
            parts.extend(self.overlapping(after, *interval));
            slices.push(Slice { interval: *interval, parts, horizon });
        }
        self.slices.splice(index..=index, slices);
        for (instance, horizon) in &merged.horizons {
            let range = self.range_mut(*instance)?;
            range.horizon = range.horizon.max(*horizon);
        }
        self.counters.merged_bytes = self.counters.merged_bytes.saturating_add(merged.written_bytes);
        let dropped = self.drop_unnamed(&merged.removed);
        self.forget_emptied();
        dropped
    }

    fn widen(&mut self, below: &[Interval], above: &[Interval]) -> Result<(), Inconsistent> {
        let Interval { low, high } = self.interval;
        let whole = Interval {
            low: below.first().map_or(low, |first| first.low),
            high: above.last().map_or(high, |last| last.high),
        };
        let all = below.iter().copied().chain([self.interval]).chain(above.iter().copied());
        ensure(tile(all, whole), "what a store is widened by adjoins it")?;
        let new = |slices: &[Interval]| slices.iter().copied().map(Slice::empty).collect::<Vec<_>>();
        self.slices.splice(0..0, new(below));
        self.slices.extend(new(above));
        self.interval = whole;
        let missing = Inconsistent("a store has a range");
        self.ranges.first_mut().ok_or(missing)?.interval.low = whole.low;
        self.ranges.last_mut().ok_or(missing)?.interval.high = whole.high;
        Ok(())
    }

    fn empty(&mut self, emptied: EmptiedInterval) {
        let Interval { low, high } = emptied.interval;
        let covers =
            |old: &EmptiedInterval| low <= old.interval.low && old.interval.high <= high && old.below <= emptied.below;
        self.emptied.retain(|old| !covers(old));
        self.emptied.push(emptied);
        self.forget_emptied();
    }

    /// Forgets what was emptied where nothing older is left.
    fn forget_emptied(&mut self) {
        let segments = &self.segments;
        self.emptied.retain(|emptied| {
            let is_void =
                |segment: &Segment| segment.age < emptied.below && segment.interval().overlaps(&emptied.interval);
            segments.values().any(is_void)
        });
    }

    /// Drops those of `numbers` that no slice names. Returns their files.
    fn drop_unnamed(&mut self, numbers: &[u16]) -> Result<Vec<u64>, Inconsistent> {
        let mut files = Vec::new();
        for number in numbers {
            let segment = self.segments.get(number).ok_or(Inconsistent("every part of a slice is a segment"))?;
            let mut slices = slices_of(&mut self.slices, segment.interval()).iter();
            if !slices.any(|slice| slice.parts.contains(number)) {
                self.bonds.contents.remove(&segment.file);
                files.push(segment.file);
                self.segments.remove(number);
            }
        }
        Ok(files)
    }

    fn add_segment(&mut self, number: u16, segment: Segment) -> Result<(), Inconsistent> {
        ensure(segment.low <= segment.high, "a segment's keys are in order")?;
        ensure(
            self.interval.contains(&segment.low) && self.interval.contains(&segment.high),
            "a segment's keys are the store's",
        )?;
        ensure(self.segments.insert(number, segment).is_none(), "a segment's number is free")?;
        self.use_file(segment.file)
    }

    fn use_file(&mut self, file: u64) -> Result<(), Inconsistent> {
        let next = file.checked_add(1).ok_or(Inconsistent("file numbers do not run out"))?;
        self.next_file = self.next_file.max(next);
        Ok(())
    }

    fn cut_slice(&mut self, at: &Key) -> Result<(), Inconsistent> {
        let index = self.slice_of(at).ok_or(Inconsistent("a slice is cut within the store's interval"))?;
        if let Some((left, right)) = self.slices[index].interval.cut(at) {
            let horizon = self.slices[index].horizon;
            let parts = std::mem::take(&mut self.slices[index].parts);
            let halves =
                [left, right].map(|half| Slice { interval: half, parts: self.overlapping(&parts, half), horizon });
            self.slices.splice(index..=index, halves);
        }
        Ok(())
    }

    /// Those of `numbers` whose keys reach into `interval`.
    fn overlapping(&self, numbers: &[u16], interval: Interval) -> Vec<u16> {
        let reaches =
            |number: &u16| self.segments.get(number).is_some_and(|segment| segment.interval().overlaps(&interval));
        numbers.iter().copied().filter(reaches).collect()
    }

    fn replace_ranges(&mut self, old: &[u64], new: &[Range]) -> Result<(), Inconsistent> {
        let first = self.ranges.iter().position(|range| range.instance == old[0]);
        let first = first.ok_or(Inconsistent("a range that is replaced exists"))?;
        let replaced = self.ranges.get(first..first + old.len()).unwrap_or_default();
        ensure(
            replaced.iter().map(|range| range.instance).eq(old.iter().copied()),
            "ranges that are merged are adjacent, in key order",
        )?;
        let whole = Interval { low: replaced[0].interval.low, high: replaced[old.len() - 1].interval.high };
        ensure(tile(new.iter().map(|range| range.interval), whole), "new ranges tile the old ones")?;
        let is_new = |new: &Range| self.ranges.iter().all(|range| range.instance != new.instance);
        ensure(new.iter().all(is_new), "a range instance is used once")?;
        self.ranges.splice(first..first + old.len(), new.iter().copied());
        Ok(())
    }

    fn reserve(&mut self, instance: u64, limit: u64) -> Result<(), Inconsistent> {
        let range = self.range_mut(instance)?;
        ensure(limit >= range.seq_reserved, "reserved sequence numbers stay reserved")?;
        range.seq_reserved = limit;
        Ok(())
    }

    fn range_mut(&mut self, instance: u64) -> Result<&mut Range, Inconsistent> {
        let range = self.ranges.iter_mut().find(|range| range.instance == instance);
        range.ok_or(Inconsistent("the range exists"))
    }
}

/// The slices that overlap `interval`.
fn slices_of(slices: &mut [Slice], interval: Interval) -> &mut [Slice] {
    let from = slices.partition_point(|slice| slice.interval.high < interval.low);
    let to = slices.partition_point(|slice| slice.interval.low <= interval.high);
    &mut slices[from..to]
}

fn ensure(holds: bool, what: &'static str) -> Result<(), Inconsistent> {
    if holds { Ok(()) } else { Err(Inconsistent(what)) }
}

code_fields!(SealEdit { segment, log, ranges, user_bytes, written_bytes });
code_fields!(SealedRange { instance, seq_reserved, last_seq, flush_watermark, flush_deadline });
code_fields!(MergeEdit { slice, removed, outputs, horizons, written_bytes });

impl<T: Code> Code for Box<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        (**self).encode(out);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        T::decode(from).map(Self::new)
    }
}

/// Encodes an enum as the number of its kind and its fields.
macro_rules! code_edit {
    ($($kind:literal $name:ident { $($field:tt $as:ident),+ }),+ $(,)?) => {
        impl Code for Edit {
            fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$name { $($field: $as),+ } => {
                        out.push($kind);
                        $($as.encode(out);)+
                    })+
                }
            }

            fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(match u8::decode(from)? {
                    $($kind => Self::$name { $($field: Code::decode(from)?),+ },)+
                    _ => return Err(DecodeError::Unknown),
                })
            }
        }
    };
}

code_edit! {
    1 Opened { generation generation, reserved reserved },
    2 Sealed { 0 sealed },
    3 Merged { 0 merged },
    4 SliceCut { at at },
    5 RangeSplit { instance instance, left left, right right },
    6 RangesMerged { left left, right right, merged merged },
    7 Emptied { 0 emptied },
    9 ValueAdded { file file, bytes bytes },
    10 ValueDropped { file file },
    11 CleanStop { log_end log_end },
    13 Widened { below below, above above },
    14 LogReached { at at },
    15 SegmentContent { file file, content content },
}
