//! Lookup: plan, read, finish.

use std::ops::Range;
use std::sync::Arc;

use fawn_ring::Key;

use super::Store;
use crate::api::{Candidate, Finished, Gate, Lookup, Read, Rest};
use crate::buffers::BufferPlace;
use crate::flash::FileId;
use crate::format::page::Page;
use crate::format::record::{Kind, Record};
use crate::format::segment::{LOST, Sought, find, page_damage};
use crate::sealed::IndexAnswer;
use zerocopy::IntoBytes;

impl Store {
    /// Looks `name` up; `key` is its position, `now` the Unix second.
    #[inline]
    pub fn lookup(&mut self, key: &Key, name: &[u8], now: u32) -> Lookup<'_> {
        self.read_stats.lookups += 1;
        self.fire_flushes(now);
        if let Some(place) = self.buffers.find(key, name) {
            return self.answer_from_buffer(place, key, now);
        }
        self.plan(key, name, now)
    }

    /// Whether the key was emptied since what is at this place was appended.
    #[inline]
    pub(super) fn is_emptied_at(&self, place: BufferPlace, key: &Key) -> bool {
        self.buffers.age(place).is_some_and(|age| self.sealed.emptied().voids(key, age))
    }

    fn answer_from_buffer(&self, place: BufferPlace, key: &Key, now: u32) -> Lookup<'_> {
        let entry = self.buffers.entry(place);
        let record = entry.record();
        if self.is_absent(key, &record, now) || self.is_emptied_at(place, key) {
            Lookup::Absent { gate: entry.gate.max(self.ranges.flush_gate()) }
        } else {
            Lookup::Found { record, gate: entry.gate }
        }
    }

    /// Answers from the cache, or plans the read.
    pub(super) fn plan(&mut self, key: &Key, name: &[u8], now: u32) -> Lookup<'_> {
        if self.cache.get(key, name).is_some() {
            return self.answer_from_cache(key, name, now);
        }
        let filtered = match self.sealed.find(key, &mut self.candidates) {
            IndexAnswer::Known { filtered, refused } => {
                self.read_stats.filter_refused += u64::from(refused);
                filtered
            }
            IndexAnswer::Unloaded(load) => {
                if let Some(low) = load {
                    self.work.push_first(self.cleaner.mode().load(low, true, false, &self.sealed));
                }
                return Lookup::Loading;
            }
            IndexAnswer::Damaged(damage) => return Lookup::Damaged(damage),
        };
        let Some((newest, older)) = self.candidates.split_first() else {
            return Lookup::Absent { gate: Gate::NONE };
        };
        let rest = older.iter().rev().map(|number| {
            let view = self.sealed.live_view(*number);
            Candidate { file: view.footer.file, directory: Arc::clone(&view.directory) }
        });
        let candidates = rest.collect();
        let view = self.sealed.live_view(*newest);
        let (file, pages) = (view.footer.file, view.directory.locate(key.prefix()));
        let rest = Rest { candidates, view: self.reads.pin(), filtered, reads: 1 };
        Lookup::Read(self.read(file, pages, rest))
    }

    fn answer_from_cache(&mut self, key: &Key, name: &[u8], now: u32) -> Lookup<'_> {
        let flushed = self.ranges.flushed(key);
        let bytes = self.cache.peek(key).filter(|_| !name.is_empty());
        let record = bytes.map(|bytes| Record::decode_trusted(bytes).expect("the cache holds whole records"));
        match record {
            Some(record) if !record.is_expired(now) && record.seq > flushed => {
                Lookup::Found { record, gate: Gate::NONE }
            }
            _ => Lookup::Absent { gate: self.ranges.flush_gate() },
        }
    }

    /// A read of `pages` of segment file `file`.
    fn read(&mut self, file: u64, pages: Range<u32>, rest: Rest) -> Read {
        self.read_stats.reads += 1;
        self.read_stats.pages += u64::from(pages.end - pages.start);
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
                self.reads.release(rest.view, &mut self.work);
                Finished::Damaged(damage)
            }
            Ok(Sought::At(bytes)) => {
                let planned_now = self.reads.is_current(rest.view);
                self.reads.release(rest.view, &mut self.work);
                let bytes = &(*pages).as_bytes()[bytes];
                let record = Record::decode_trusted(bytes).expect("find yields whole records");
                if is_absent(self, &record) {
                    return Finished::Absent { gate: self.ranges.flush_gate() };
                }
                self.read_stats.hits += 1;
                self.read_stats.hit_reads += u64::from(rest.reads);
                if planned_now && record.kind == Kind::Value && self.buffers.find(key, name).is_none() {
                    self.cache.insert(*key, bytes);
                }
                Finished::Found(record)
            }
            Ok(Sought::Lost(bytes)) => {
                self.reads.release(rest.view, &mut self.work);
                let record = Record::decode_trusted(&(*pages).as_bytes()[bytes]).expect("find yields whole records");
                if is_absent(self, &record) {
                    return Finished::Absent { gate: self.ranges.flush_gate() };
                }
                Finished::Damaged(page_damage(read.file, read.first, LOST))
            }
            Ok(Sought::Absent) => {
                self.read_stats.false_reads += 1;
                self.read_stats.filter_passed += u64::from(rest.filtered);
                let Some(next) = rest.candidates.pop() else {
                    self.reads.release(rest.view, &mut self.work);
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
        record.kind == Kind::Delete || record.is_expired(now) || record.seq <= self.ranges.flushed(key)
    }
}
