//! Lookup: plan, read, finish.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use fawn_ring::Key;

use super::{Frozen, Store};
use crate::api::{Candidate, Finished, Gate, Lookup, Read, Rest};
use crate::flash::FileId;
use crate::index::SegmentNumber;
use crate::open_segment::Entry;
use crate::page::Page;
use crate::record::{Kind, Record};
use crate::segment::{LOST, Sought, find, page_damage};
use crate::work::View;
use zerocopy::IntoBytes;

/// Where in DRAM the newest version is.
pub(super) enum Place {
    Open(u32),
    Frozen(usize, u32),
}

impl Store {
    /// Looks `name` up; `key` is its position, `now` the Unix second.
    #[inline]
    pub fn lookup(&mut self, key: &Key, name: &[u8], now: u32) -> Lookup<'_> {
        self.counters.lookups += 1;
        self.fire_flushes(now);
        if let Some(place) = self.buffered(key, name) {
            return self.answer_from_buffer(&place, key, now);
        }
        self.plan(key, name, now)
    }

    /// The buffer that holds the newest version, if one does.
    #[inline]
    pub(super) fn buffered(&self, key: &Key, name: &[u8]) -> Option<Place> {
        if let Some(handle) = self.open.find(key, name) {
            return Some(Place::Open(handle));
        }
        let find = |(number, frozen): (usize, &Frozen)| Some(Place::Frozen(number, frozen.segment.find(key, name)?));
        self.frozen.iter().enumerate().rev().find_map(find)
    }

    pub(super) fn in_buffer(&self, place: &Place) -> Entry<'_> {
        match place {
            Place::Open(handle) => self.open.entry(*handle),
            Place::Frozen(number, handle) => self.frozen[*number].segment.entry(*handle),
        }
    }

    /// Whether the key was emptied since this was appended.
    pub(super) fn is_emptied_in_buffer(&self, place: &Place, key: &Key) -> bool {
        match place {
            Place::Open(_) => false,
            Place::Frozen(number, _) => self.is_emptied(key, self.frozen[*number].age),
        }
    }

    fn answer_from_buffer(&self, place: &Place, key: &Key, now: u32) -> Lookup<'_> {
        let entry = self.in_buffer(place);
        let record = entry.record();
        if self.is_absent(key, &record, now) || self.is_emptied_in_buffer(place, key) {
            Lookup::Absent { gate: entry.gate.max(self.flush_gate) }
        } else {
            Lookup::Found { record, gate: entry.gate }
        }
    }

    /// Answers from the cache, or plans the read.
    pub(super) fn plan(&mut self, key: &Key, name: &[u8], now: u32) -> Lookup<'_> {
        if self.cache.get(key, name).is_some() {
            return self.answer_from_cache(key, name, now);
        }
        let number = self.slices.find(key);
        let slice = self.slices.get_mut(number);
        let Some(table) = &slice.table else {
            if let Some(damage) = &slice.damage {
                return Lookup::Damaged(damage.clone());
            }
            if !slice.wanted {
                slice.wanted = true;
                let low = slice.interval.low;
                let work = self.load_work(low, true, false);
                self.work.push_front(work);
            }
            return Lookup::Loading;
        };
        self.candidates.clear();
        table.candidates(key.prefix(), &mut self.candidates);
        // A key on a slice's border may have a slot in both slices; the segment may have left this one since.
        let (segments, emptied) = (&self.segments, &self.emptied);
        let may_hold = |number: &SegmentNumber| {
            let view = segments.get(usize::from(number.get())).and_then(Option::as_ref);
            view.is_some_and(|view| {
                let is_void = emptied.iter().any(|emptied| emptied.voids(key, view.age));
                key.prefix() >= view.footer.low.prefix() && !is_void
            })
        };
        self.candidates.retain(may_hold);
        let base = slice.base.map(|base| base.number);
        let base = base.filter(|base| may_hold(base) && live(segments, *base).footer.high.prefix() >= key.prefix());
        // What is newer than the base is looked at first: only without it the filter alone decides.
        let alone = self.candidates.is_empty();
        let refused = base.is_some() && slice.filter.as_ref().is_some_and(|filter| !filter.may_hold(key.prefix()));
        let filtered = base.is_some() && slice.filter.is_some() && alone;
        self.counters.filter_refused += u64::from(refused && alone);
        self.candidates.extend(base.filter(|_| !refused));
        match self.candidates.len() {
            0 => Lookup::Absent { gate: Gate::NONE },
            1 => Lookup::Read(self.read_first(key, Vec::new(), filtered)),
            _ => {
                self.candidates.sort_unstable_by_key(|number| Reverse(age(segments, *number)));
                self.candidates.dedup();
                let older = self.candidates[1..].iter().rev();
                let rest = older.map(|number| {
                    let view = live(segments, *number);
                    Candidate { file: view.footer.file, directory: Arc::clone(&view.directory) }
                });
                let rest = rest.collect();
                Lookup::Read(self.read_first(key, rest, false))
            }
        }
    }

    fn answer_from_cache(&mut self, key: &Key, name: &[u8], now: u32) -> Lookup<'_> {
        let flushed = self.ranges[self.range_of(key)].mark.flush_watermark;
        let bytes = self.cache.peek(key).filter(|_| !name.is_empty());
        let record = bytes.map(|bytes| Record::decode_trusted(bytes).expect("the cache holds whole records"));
        match record {
            Some(record) if !record.is_expired(now) && record.seq > flushed => {
                Lookup::Found { record, gate: Gate::NONE }
            }
            _ => Lookup::Absent { gate: self.flush_gate },
        }
    }

    /// The read of the newest candidate, the first; it pins the current view.
    fn read_first(&mut self, key: &Key, rest: Vec<Candidate>, filtered: bool) -> Read {
        let view = live(&self.segments, self.candidates[0]);
        let (file, pages) = (view.footer.file, view.directory.locate(key.prefix()));
        let rest = Rest { candidates: rest, view: self.views.pin(), filtered, reads: 1 };
        self.read(file, pages, rest)
    }

    /// A read of `pages` of segment file `file`.
    fn read(&mut self, file: u64, pages: Range<u32>, rest: Rest) -> Read {
        self.counters.reads += 1;
        self.counters.pages_read += u64::from(pages.end - pages.start);
        Read { file: FileId::Segment(file), first: u64::from(pages.start), count: pages.end - pages.start, rest }
    }

    /// Resumes a lookup with the pages that it asked for. What it finds is the newest version as of the lookup: what was
    /// appended since is not seen, so that a get never answers with a set that was sent after it.
    pub fn finish<'p>(&mut self, read: Read, pages: &'p mut [Page], key: &Key, name: &[u8], now: u32) -> Finished<'p> {
        self.finish_as(read, pages, key, name, |store, record| store.is_absent(key, record, now))
    }

    /// As [`finish`](Self::finish); `is_absent` says which versions are as good as none.
    pub(super) fn finish_as<'p>(
        &mut self,
        read: Read,
        pages: &'p mut [Page],
        key: &Key,
        name: &[u8],
        is_absent: impl FnOnce(&Self, &Record<'_>) -> bool,
    ) -> Finished<'p> {
        assert!(pages.len() == read.count as usize, "a read is finished with the pages it asked for");
        let FileId::Segment(file) = read.file else {
            panic!("lookups read segments only");
        };
        let mut rest = read.rest;
        match find(pages, file, read.first, key.prefix(), name) {
            Err(damage) => {
                self.release(rest.view);
                Finished::Damaged(damage)
            }
            Ok(Sought::At(bytes)) => {
                let planned_now = rest.view == self.views.current();
                self.release(rest.view);
                let bytes = &(*pages).as_bytes()[bytes];
                let record = Record::decode_trusted(bytes).expect("find yields whole records");
                if is_absent(self, &record) {
                    return Finished::Absent { gate: self.flush_gate };
                }
                self.counters.read_hits += 1;
                self.counters.hit_reads += u64::from(rest.reads);
                if planned_now && record.kind == Kind::Value && self.buffered(key, name).is_none() {
                    self.cache.insert(*key, bytes);
                }
                Finished::Found(record)
            }
            Ok(Sought::Lost(bytes)) => {
                self.release(rest.view);
                let record = Record::decode_trusted(&(*pages).as_bytes()[bytes]).expect("find yields whole records");
                if is_absent(self, &record) {
                    return Finished::Absent { gate: self.flush_gate };
                }
                Finished::Damaged(page_damage(read.file, read.first, LOST))
            }
            Ok(Sought::Absent) => {
                self.counters.false_reads += 1;
                self.counters.filter_passed += u64::from(rest.filtered);
                let Some(next) = rest.candidates.pop() else {
                    self.release(rest.view);
                    return Finished::Absent { gate: Gate::NONE };
                };
                rest.reads += 1;
                Finished::Read(self.read(next.file, next.directory.locate(key.prefix()), rest))
            }
        }
    }

    /// Whether the newest version says that the key is absent.
    #[inline]
    fn is_absent(&self, key: &Key, record: &Record<'_>, now: u32) -> bool {
        record.kind == Kind::Delete
            || record.is_expired(now)
            || record.seq <= self.ranges[self.range_of(key)].mark.flush_watermark
    }
}

/// The segment that a slot names.
fn live(segments: &[Option<View>], number: SegmentNumber) -> &View {
    segments[usize::from(number.get())].as_ref().expect("a slot names a live segment")
}

fn age(segments: &[Option<View>], number: SegmentNumber) -> u64 {
    segments[usize::from(number.get())].as_ref().map_or(0, |view| view.age)
}
