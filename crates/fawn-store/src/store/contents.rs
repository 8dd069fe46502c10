//! Estimates of what a store holds: live keys and their bytes, in all or in some intervals of keys.
//!
//! A record is known to be superseded when it is written, or when its index entry finds an equal one. A record in a buffer
//! may supersede a sealed one, which takes a read to know. So some entries of the buffers are looked up in the index.

use std::ops::Range;

use fawn_ring::{Interval, Key};

use super::stats::Holdings;
use super::upkeep::Upkeep;
use crate::buffers::WriteBuffers;
use crate::buffers::open_segment::Entry;
use crate::format::record::Kind;
use crate::sealed::index::SegmentNumber;
use crate::sealed::{LOOKED_AT, SealedRecords};

/// So many entries of a buffer are looked at to tell how many lie in some intervals of keys.
const LOOKED_AT_BUFFERED: usize = 4096;

/// So many entries of a buffer are looked up in what is older, to tell how many are overwrites: less than a millisecond.
pub(super) const LOOKED_UP: usize = 2048;

/// An interval of keys that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedKeys {
    /// The positions of the keys.
    pub keys: Interval,
    /// What is numbered up to here is gone.
    pub flushed: u64,
}

/// A count of what lies in some intervals of keys that is made in pieces: see
/// [`StoreContents::count_on`]. It begins again if a segment is sealed or merged meanwhile.
#[derive(Debug)]
pub struct Count {
    parts: Vec<CountedKeys>,
    all: Vec<Interval>,
    /// Seals, merges and frozen buffers when it began.
    stamp: Option<(u64, u64, usize)>,
    /// The buffer that is counted next, and from which of its entries.
    next: (usize, usize),
    /// What the buffers hold of each part.
    held: Vec<Holdings>,
    /// What of it is counted twice.
    twice: Vec<Holdings>,
}

impl Count {
    /// One that begins. The intervals are those of [`StoreContents::held_in`].
    pub fn new(parts: Vec<CountedKeys>, all: Vec<Interval>) -> Self {
        Self { parts, all, stamp: None, next: (0, 0), held: Vec::new(), twice: Vec::new() }
    }
}

/// Everything that holds records: [`Store::contents`](crate::Store::contents).
#[derive(Clone, Copy)]
pub struct StoreContents<'a> {
    buffers: &'a WriteBuffers,
    sealed: &'a SealedRecords,
    /// Seals and merges so far.
    installed: (u64, u64),
}

impl<'a> StoreContents<'a> {
    pub(super) fn new(buffers: &'a WriteBuffers, upkeep: &'a Upkeep) -> Self {
        let stats = upkeep.stats();
        Self { buffers, sealed: &upkeep.sealed, installed: (stats.seals, stats.merges) }
    }

    /// Whether nothing was ever stored here that is still there in any version.
    pub fn is_blank(self) -> bool {
        self.buffers.is_empty() && self.sealed.views().next().is_none()
    }

    /// Whether values are in files of their own, be they superseded; `listed`: the manifest lists some.
    pub fn has_large_values(self, listed: bool) -> bool {
        listed || self.buffers.names_value_files()
    }

    /// What lies in each of `parts`, which lie side by side in order, of all that lies in `all`, beyond which the store has
    /// nothing: counted where little is buffered, else taken for a share of what is there, as keys are evenly spread.
    /// Overwrites are told as in [`Stats::entries`](super::Stats::entries). It takes milliseconds where much is buffered: a
    /// [`Count`] is made in pieces.
    pub fn held_in(self, parts: &[CountedKeys], all: &[Interval]) -> Vec<Holdings> {
        let mut count = Count::new(parts.to_vec(), all.to_vec());
        loop {
            if let Some(held) = self.count_on(&mut count, usize::MAX) {
                return held;
            }
        }
    }

    /// Live keys in frozen and sealed segments, about, flushed ones included.
    pub(super) fn entries_beside_open(self) -> u64 {
        let (slices, segments) = (self.sealed.slice_total(), self.sealed.segment_total());
        slices.live.saturating_sub(segments.deletes) + self.frozen_live().entries.round() as u64
    }

    /// Live keys in frozen segments and the bytes of their records.
    pub(super) fn frozen_live(self) -> Holdings {
        let mut held = Holdings::default();
        let emptied = self.sealed.emptied();
        for (segment, age) in self.buffers.frozen() {
            let (entries, bytes) = if emptied.may_void(age) {
                segment.held_where(LOOKED_AT, |key, _| !emptied.voids(key, age))
            } else {
                (segment.live_keys() as f64, segment.live_bytes() as f64)
            };
            held.entries += entries;
            held.bytes += bytes;
        }
        held
    }

    /// Goes on with a count, by so many entries of buffers; what it came to, once it is done.
    pub fn count_on(self, count: &mut Count, entries: usize) -> Option<Vec<Holdings>> {
        let stamp = (self.installed.0, self.installed.1, self.buffers.frozen_count());
        if count.stamp != Some(stamp) {
            let parts = count.parts.len();
            (count.stamp, count.next) = (Some(stamp), (0, 0));
            (count.held, count.twice) = (vec![Holdings::default(); parts], vec![Holdings::default(); parts]);
        }
        let parts = &count.parts;
        let part_of = |key: &Key| {
            let at = parts.partition_point(|part| part.keys.high < *key);
            parts.get(at).filter(|part| part.keys.low <= *key).map(|part| (at, part.flushed))
        };
        let (buffer, from) = count.next;
        if let Some((segment, _)) = self.buffers.all().nth(buffer) {
            let end = segment.keys().min(LOOKED_AT_BUFFERED);
            let to = from.saturating_add(entries).min(end);
            self.add_buffered(buffer, (LOOKED_AT_BUFFERED, &(from..to)), part_of, &mut count.held);
            let looked_up = from.min(LOOKED_UP)..to.min(LOOKED_UP);
            self.add_superseded(buffer, (LOOKED_UP, &looked_up), part_of, &mut count.twice);
            count.next = if to >= end { (buffer + 1, 0) } else { (buffer, to) };
            return None;
        }
        let held = count.parts.iter().zip(&count.held).zip(&count.twice);
        let held = held.map(|((part, buffered), twice)| {
            let sealed = self.sealed_in(part, &count.all);
            Holdings {
                entries: (sealed.entries + buffered.entries - twice.entries).max(0.0),
                bytes: (sealed.bytes + buffered.bytes - twice.bytes).max(0.0),
            }
        });
        Some(held.collect())
    }

    fn sealed_in(self, part: &CountedKeys, all: &[Interval]) -> Holdings {
        let (mut entries, mut bytes) = (0.0, 0.0);
        let superseding = self.sealed.superseding();
        for slice in self.sealed.slices().iter() {
            let share = share(&slice.interval.low, &slice.interval.high, &part.keys, all);
            entries += share * slice.live(superseding) as f64;
            bytes += share * slice.bytes.saturating_sub(slice.garbage(superseding)) as f64;
        }
        let emptied = self.sealed.emptied();
        for view in self.sealed.views() {
            let footer = &view.footer;
            let flushed = emptied.not_void(view, footer.numbered_up_to(part.flushed));
            let gone = flushed.max(emptied.not_void(view, footer.deletes));
            let share = share(&footer.low, &footer.high, &part.keys, all);
            entries -= share * gone as f64;
            bytes -= share * footer.bytes as f64 * flushed as f64 / footer.records.max(1) as f64;
        }
        Holdings { entries: entries.max(0.0), bytes: bytes.max(0.0) }
    }

    /// Adds to `held` what a buffer holds, told from `most` entries, of which these are looked at. `part_of` says of a key to
    /// which of `held` it counts, if to any, and up to which number its versions are gone.
    fn add_buffered(
        self,
        buffer: usize,
        (most, looked_at): (usize, &Range<usize>),
        part_of: impl Fn(&Key) -> Option<(usize, u64)>,
        held: &mut [Holdings],
    ) {
        let Some((segment, age)) = self.buffers.all().nth(buffer) else { return };
        let (entries, scale) = segment.sample(most);
        let entries = entries.skip(looked_at.start).take(looked_at.len());
        for entry in entries.filter(|entry| segment.is_live(entry)) {
            let is_there = |flushed| {
                let is_emptied = age.is_some_and(|age| self.sealed.emptied().voids(&entry.key, age));
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
        self,
        buffer: usize,
        (most, looked_at): (usize, &Range<usize>),
        part_of: impl Fn(&Key) -> Option<(usize, u64)>,
        held: &mut [Holdings],
    ) {
        let Some((segment, _)) = self.buffers.all().nth(buffer) else { return };
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
    fn version_below(self, entry: &Entry<'_>, older: usize, flushed: u64, all: &mut Vec<SegmentNumber>) -> Holdings {
        let (key, name) = (&entry.key, entry.record().key);
        let emptied = self.sealed.emptied();
        for (segment, age) in self.buffers.frozen().take(older).rev() {
            if let Some(entry) = segment.get(key, name) {
                let record = entry.record();
                let is_live = record.kind != Kind::Delete && record.seq > flushed && !emptied.voids(key, age);
                let live = if is_live { 1.0 } else { 0.0 };
                return Holdings { entries: live, bytes: live * entry.bytes.len() as f64 };
            }
        }
        let slices = self.sealed.slices();
        let slice = slices.get(slices.find(key));
        let Some(table) = &slice.table else { return Holdings::default() };
        all.clear();
        table.candidates(key.prefix(), all);
        let view = |number: &SegmentNumber| {
            let view = self.sealed.view(*number)?;
            (!emptied.voids(key, view.age)).then_some(view)
        };
        let base = || {
            let base = view(&slice.base?.number)?;
            let likely = match &slice.filter {
                Some(filter) => f64::from(u8::from(filter.may_hold(key.prefix()))),
                None => self.sealed.superseding(),
            };
            Some((base, likely))
        };
        let newest = all.iter().filter_map(view).max_by_key(|view| view.age).map(|view| (view, 1.0));
        let Some((view, likely)) = newest.or_else(base) else { return Holdings::default() };
        // Which of the segment's records it is takes a read; a delete record, or one that was flushed, is not counted.
        let (footer, records) = (&view.footer, view.footer.records.max(1) as f64);
        let gone = footer.deletes.max(footer.numbered_up_to(flushed)) as f64;
        let live = likely * (1.0 - gone / records).max(0.0);
        Holdings { entries: live, bytes: live * footer.bytes as f64 / records }
    }
}

/// Of what lies from `low` to `high` and in `all`, the share that lies in `keys`.
fn share(low: &Key, high: &Key, keys: &Interval, all: &[Interval]) -> f64 {
    let width = |part: &Interval| {
        let (low, high) = (part.low.max(*low), part.high.min(*high));
        if low > high { 0.0 } else { (high.prefix() - low.prefix()) as f64 + 1.0 }
    };
    let (part, whole) = (width(keys), all.iter().map(width).sum::<f64>());
    if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_what_is_held_and_not_of_all_keys() {
        let parts = Interval::ALL.divide(4);
        let percent =
            |keys: &Interval, all: &[Interval]| (share(&Key::MIN, &Key::MAX, keys, all) * 100.0).round() as u32;
        assert_eq!((percent(&parts[0], &parts), percent(&parts[0], &parts[..2]), percent(&parts[0], &[])), (25, 50, 0));
        let of_upper = |keys: &Interval| (share(&parts[3].low, &parts[3].high, keys, &parts) * 100.0).round() as u32;
        assert_eq!((of_upper(&parts[0]), of_upper(&parts[3])), (0, 100));
    }
}
