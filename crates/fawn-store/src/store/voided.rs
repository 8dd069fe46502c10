//! What was emptied and is still there: counted apart from what was superseded, each record once.
//!
//! A stretch of keys that is emptied may be filled again with the same keys, by a copy of the same range. What lies under
//! those is void already: it is not superseded besides. So each slice counts its void slots, and of the others those that
//! newer ones supersede. Both are counted where slots come, and anew where a stretch is emptied that ends within the
//! slice, and where an index arrives that was built without knowing of what was emptied.

use fawn_ring::{Interval, Key};
use std::ops::Range;

use super::slices::Slice;
use super::{Frozen, Held, Store};
use crate::index::{SegmentNumber, Table};
use crate::manifest::Emptied;
use crate::open_segment::{Entry, OpenSegment};
use crate::record::Kind;
use crate::work::{Base, View};

/// So many slots of an index, or entries of a buffer, are looked at to tell how many are void.
const LOOKED_AT: usize = 16_384;

/// Says which slots are void: segments that are gone, keys that were emptied.
#[derive(Clone, Copy)]
pub(super) struct Voids<'a> {
    pub segments: &'a [Option<View>],
    pub emptied: &'a [Emptied],
}

impl Voids<'_> {
    /// The age of a segment; `None` for one that is gone, as it may be on the border of a slice.
    fn age(&self, number: SegmentNumber) -> Option<u64> {
        self.segments.get(usize::from(number.get()))?.as_ref().map(|view| view.age)
    }

    fn is_void(&self, key: &Key, number: SegmentNumber) -> bool {
        self.age(number).is_none_or(|age| self.emptied.iter().any(|emptied| emptied.voids(key, age)))
    }

    /// Counts a slot that was just inserted where `equal` others were.
    #[inline]
    pub(super) fn count_inserted(self, slice: &mut Slice, prefix: u64, number: SegmentNumber, equal: u32) {
        if self.emptied.is_empty() {
            slice.stale += u64::from(equal > 0);
        } else {
            self.count_beside_void(slice, prefix, number, equal);
        }
    }

    #[cold]
    fn count_beside_void(self, slice: &mut Slice, prefix: u64, number: SegmentNumber, equal: u32) {
        let key = Key::lowest_with_prefix(prefix);
        if self.is_void(&key, number) {
            slice.void += 1;
            return;
        }
        let Some(table) = slice.table.as_ref().filter(|_| equal > 0) else { return };
        let mut all = Vec::new();
        table.candidates(prefix, &mut all);
        let live = all.iter().filter(|number| !self.is_void(&key, **number)).count();
        slice.stale += u64::from(live > 1);
    }

    /// The share of a slice's base that is void, keys being evenly spread.
    fn share_of_base(self, base: Base, slice: &Interval) -> f64 {
        let Some(age) = self.age(base.number) else { return 0.0 };
        let width = |keys: &Interval| (keys.high.prefix() - keys.low.prefix()) as f64 + 1.0;
        let emptied = self.emptied.iter().filter(|emptied| age < emptied.below);
        let common = emptied.filter(|emptied| emptied.interval.overlaps(slice)).map(|emptied| {
            width(&Interval::new(emptied.interval.low.max(slice.low), emptied.interval.high.min(slice.high)))
        });
        (common.sum::<f64>() / width(slice)).min(1.0)
    }

    /// Slots of a slice that are void, and others that newer ones supersede: of all, or as many looked at tell.
    fn count(self, table: &Table) -> (u64, u64) {
        let frame = table.frame();
        let ends = |emptied: &Emptied| {
            let end = |key: &Key| frame.position(key.prefix().clamp(frame.low(), frame.high()));
            let Interval { low, high } = emptied.interval;
            let overlaps = low.prefix() <= frame.high() && high.prefix() >= frame.low();
            overlaps.then(|| (end(&low)..=end(&high), emptied.below))
        };
        let emptied: Vec<_> = self.emptied.iter().filter_map(ends).collect();
        let is_void = |position: u64, number: SegmentNumber| {
            let voids = |age| emptied.iter().any(|(keys, below)| age < *below && keys.contains(&position));
            self.age(number).is_none_or(voids)
        };
        let (mut looked_at, mut void, mut stale) = (0u64, 0u64, 0.0);
        let mut all = Vec::new();
        for (position, number) in table.sample(LOOKED_AT) {
            looked_at += 1;
            if is_void(position, number) {
                void += 1;
                continue;
            }
            all.clear();
            table.candidates_at(position, &mut all);
            let live = all.iter().filter(|number| !is_void(position, **number)).count();
            // Of as many as share the position, all but one.
            stale += 1.0 - 1.0 / live.max(1) as f64;
        }
        let scale = table.len() as f64 / looked_at.max(1) as f64;
        let void = (void as f64 * scale).round() as u64;
        let void = void.min(table.len() as u64);
        (void, ((stale * scale).round() as u64).min(table.len() as u64 - void))
    }
}

impl Store {
    /// What has just been emptied is void in all slices that it reaches into.
    pub(super) fn count_emptied(&mut self, interval: &Interval) {
        for number in self.slices.find(&interval.low)..=self.slices.find(&interval.high) {
            let slice = self.slices.get_mut(number);
            let keys = slice.interval;
            if interval.low <= keys.low && keys.high <= interval.high {
                (slice.void, slice.stale) = (slice.slots(), 0);
                slice.base_void = slice.base.map_or(0, |base| base.records);
            } else if interval.overlaps(&keys) {
                self.count_void(number);
            }
        }
    }

    /// Counts anew what is void and what is superseded of a slice into which something reaches that was emptied.
    pub(super) fn count_void(&mut self, number: usize) {
        let slice = self.slices.get_mut(number);
        if !self.emptied.iter().any(|emptied| emptied.interval.overlaps(&slice.interval)) {
            return;
        }
        let voids = Voids { segments: &self.segments, emptied: &self.emptied };
        if let Some(table) = &slice.table {
            (slice.void, slice.stale) = voids.count(table);
        }
        if let Some(base) = slice.base {
            let share = voids.share_of_base(base, &slice.interval);
            slice.base_void = (base.records as f64 * share).round() as u64;
        }
    }

    /// Live keys in frozen segments and the bytes of their records.
    pub(super) fn frozen_live(&self) -> Held {
        let mut held = Held::default();
        for Frozen { segment, age, .. } in &self.frozen {
            let (entries, bytes) = if self.emptied.iter().any(|emptied| *age < emptied.below) {
                segment.held_where(LOOKED_AT, |key, _| !self.is_emptied(key, *age))
            } else {
                (segment.live_keys() as f64, segment.live_bytes() as f64)
            };
            held.entries += entries;
            held.bytes += bytes;
        }
        held
    }

    /// The buffers, oldest first, and the ages of those that are frozen.
    pub(super) fn buffers(&self) -> impl Iterator<Item = (&OpenSegment, Option<u64>)> {
        let frozen = self.frozen.iter().map(|frozen| (&*frozen.segment, Some(frozen.age)));
        frozen.chain([(&self.open, None)])
    }

    /// Adds to `held` what a buffer holds, told from `most` entries, of which these are looked at. `part_of` says of a key to
    /// which of `held` it counts, if to any, and up to which number its versions are gone.
    pub(super) fn add_buffered(
        &self,
        buffer: usize,
        (most, looked_at): (usize, &Range<usize>),
        part_of: impl Fn(&Key) -> Option<(usize, u64)>,
        held: &mut [Held],
    ) {
        let Some((segment, age)) = self.buffers().nth(buffer) else { return };
        let (entries, scale) = segment.sample(most);
        let entries = entries.skip(looked_at.start).take(looked_at.len());
        for entry in entries.filter(|entry| segment.is_live(entry)) {
            let is_there = |flushed| {
                let is_emptied = age.is_some_and(|age| self.is_emptied(&entry.key, age));
                entry.record().seq > flushed && !is_emptied
            };
            if let Some((part, _)) = part_of(&entry.key).filter(|(_, flushed)| is_there(*flushed)) {
                held[part].entries += scale;
                held[part].bytes += scale * entry.bytes.len() as f64;
            }
        }
    }

    /// Adds to `held` versions of keys that a newer one in a buffer supersedes and that are still counted as live, with the
    /// bytes of their records. The rest is as for [`add_buffered`](Self::add_buffered).
    pub(super) fn add_superseded(
        &self,
        buffer: usize,
        (most, looked_at): (usize, &Range<usize>),
        part_of: impl Fn(&Key) -> Option<(usize, u64)>,
        held: &mut [Held],
    ) {
        let Some((segment, _)) = self.buffers().nth(buffer) else { return };
        let mut candidates = Vec::new();
        let (entries, scale) = segment.sample(most);
        for entry in entries.skip(looked_at.start).take(looked_at.len()) {
            let Some((part, flushed)) = part_of(&entry.key) else { continue };
            let below = self.version_below(&entry, buffer, flushed, &mut candidates);
            held[part].entries += below.entries * scale;
            held[part].bytes += below.bytes * scale;
        }
    }

    /// What is counted as live of the version that a buffer's entry supersedes, which the first `older` frozen segments or the
    /// sealed ones may hold: of a sealed one only its position is known.
    fn version_below(&self, entry: &Entry<'_>, older: usize, flushed: u64, all: &mut Vec<SegmentNumber>) -> Held {
        let (key, name) = (&entry.key, entry.record().key);
        for Frozen { segment, age, .. } in self.frozen.iter().take(older).rev() {
            if let Some(entry) = segment.get(key, name) {
                let record = entry.record();
                let is_live = record.kind != Kind::Delete && record.seq > flushed && !self.is_emptied(key, *age);
                let live = if is_live { 1.0 } else { 0.0 };
                return Held { entries: live, bytes: live * entry.bytes.len() as f64 };
            }
        }
        let slice = self.slices.get(self.slices.find(key));
        let Some(table) = &slice.table else { return Held::default() };
        all.clear();
        table.candidates(key.prefix(), all);
        let view = |number: &SegmentNumber| {
            let view = self.segments.get(usize::from(number.get()))?.as_ref()?;
            (!self.is_emptied(key, view.age)).then_some(view)
        };
        let base = || {
            let base = view(&slice.base?.number)?;
            let likely = match &slice.filter {
                Some(filter) => f64::from(u8::from(filter.may_hold(key.prefix()))),
                None => self.draining.superseding(),
            };
            Some((base, likely))
        };
        let newest = all.iter().filter_map(view).max_by_key(|view| view.age).map(|view| (view, 1.0));
        let Some((view, likely)) = newest.or_else(base) else { return Held::default() };
        // Which of the segment's records it is takes a read; a delete record, or one that was flushed, is not counted.
        let (footer, records) = (&view.footer, view.footer.records.max(1) as f64);
        let gone = footer.deletes.max(footer.numbered_up_to(flushed)) as f64;
        let live = likely * (1.0 - gone / records).max(0.0);
        Held { entries: live, bytes: live * footer.bytes as f64 / records }
    }

    /// Of so many records of a segment, about how many are not void, keys being evenly spread.
    pub(super) fn not_emptied(&self, view: &View, records: u64) -> u64 {
        if records == 0 {
            return 0;
        }
        (records as f64 * (1.0 - self.emptied_share(view))).round() as u64
    }
}
