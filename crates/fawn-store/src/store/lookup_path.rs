//! The lookup path: from the record cache and the index to the reads that are planned, and to what they find.

use std::ops::Range;
use std::sync::Arc;

use fawn_ring::Key;
use zerocopy::IntoBytes;

use super::pending_reads::PendingReads;
use super::stats::{CacheStats, ReadStats};
use super::upkeep::Upkeep;
use super::work_queue::WorkQueue;
use super::write_path::WritePath;
use crate::api::{Candidate, FinishedRead, Gate, Lookup, Read, Rest};
use crate::buffers::BufferPlace;
use crate::cache::Cache;
use crate::flash::FileId;
use crate::format::page::Page;
use crate::format::record::{Kind, Record};
use crate::format::segment::{LOST, RecordPlace, find, page_damage};
use crate::merge::value_file;
use crate::ranges::EmptiedIntervals;
use crate::sealed::IndexAnswer;
use crate::sealed::index::SegmentNumber;
use crate::work::Reclaim;

/// The record cache, and the reads that lookups have planned.
pub(super) struct LookupPath {
    cache: Cache,
    pending: PendingReads,
    /// Candidates of the lookup under way; kept for its memory.
    candidates: Vec<SegmentNumber>,
    stats: ReadStats,
}

impl LookupPath {
    /// One without reads; the cache may take so many bytes until [`set_cache_bytes`](Self::set_cache_bytes).
    pub(super) fn new(cache_bytes: u64) -> Self {
        Self {
            cache: Cache::new(cache_bytes),
            pending: PendingReads::default(),
            candidates: Vec::new(),
            stats: ReadStats::default(),
        }
    }

    /// Records that were read.
    pub(super) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// A lookup begins.
    #[inline]
    pub(super) fn count_lookup(&mut self) {
        self.stats.lookups += 1;
    }

    /// Answers from the cache, or plans the read.
    pub(super) fn plan<'a>(
        &'a mut self,
        key: &Key,
        name: &[u8],
        now: u32,
        writes: &WritePath,
        upkeep: &mut Upkeep,
        work: &mut WorkQueue,
    ) -> Lookup<'a> {
        if self.cache.get(key, name).is_some() {
            return self.answer_from_cache(key, name, now, writes);
        }
        let filtered = match upkeep.find(key, &mut self.candidates) {
            IndexAnswer::Known { filtered, refused } => {
                self.stats.filter_refused += u64::from(refused);
                filtered
            }
            IndexAnswer::Unloaded(load) => {
                if let Some(low) = load {
                    work.push_first(upkeep.load(low, true, false));
                }
                return Lookup::Loading;
            }
            IndexAnswer::Damaged(damage) => return Lookup::Damaged(damage),
        };
        let Some((newest, older)) = self.candidates.split_first() else {
            return Lookup::Absent { gate: Gate::NONE };
        };
        let sealed = &upkeep.sealed;
        let rest = older.iter().rev().map(|number| {
            let view = sealed.live_view(*number);
            Candidate { file: view.footer.file, directory: Arc::clone(&view.directory) }
        });
        let candidates = rest.collect();
        let view = sealed.live_view(*newest);
        let (file, pages) = (view.footer.file, view.directory.locate(key.prefix()));
        let rest = Rest { candidates, view: self.pending.pin(), filtered, reads: 1 };
        Lookup::Read(self.read(file, pages, rest))
    }

    fn answer_from_cache(&self, key: &Key, name: &[u8], now: u32, writes: &WritePath) -> Lookup<'_> {
        let flushed = writes.ranges().flushed(key);
        let bytes = self.cache.peek(key).filter(|_| !name.is_empty());
        let record = bytes.map(|bytes| Record::decode_trusted(bytes).expect("the cache holds whole records"));
        match record {
            Some(record) if !record.is_expired(now) && record.seq > flushed => {
                Lookup::Found { record, gate: Gate::NONE }
            }
            _ => Lookup::Absent { gate: writes.ranges().flush_gate() },
        }
    }

    /// A read of `pages` of segment file `file`.
    fn read(&mut self, file: u64, pages: Range<u32>, rest: Rest) -> Read {
        self.stats.reads += 1;
        self.stats.pages += u64::from(pages.end - pages.start);
        Read { file: FileId::Segment(file), first: u64::from(pages.start), count: pages.end - pages.start, rest }
    }

    /// Resumes a lookup with the pages that it asked for; `is_absent` says which versions are as good as none.
    pub(super) fn finish<'p>(
        &mut self,
        read: Read,
        pages: &'p mut [Page],
        key: &Key,
        name: &[u8],
        (writes, work): (&WritePath, &mut WorkQueue),
        is_absent: impl FnOnce(&Record<'_>) -> bool,
    ) -> FinishedRead<'p> {
        assert!(pages.len() == read.count as usize, "a read is finished with the pages it asked for");
        let FileId::Segment(file) = read.file else {
            panic!("lookups read segments only");
        };
        let mut rest = read.rest;
        match find(pages, file, read.first, key.prefix(), name) {
            Err(damage) => {
                self.pending.release(rest.view, work);
                FinishedRead::Damaged(damage)
            }
            Ok(RecordPlace::At(bytes)) => {
                let planned_now = self.pending.is_current(rest.view);
                self.pending.release(rest.view, work);
                let bytes = &(*pages).as_bytes()[bytes];
                let record = Record::decode_trusted(bytes).expect("find yields whole records");
                if is_absent(&record) {
                    return FinishedRead::Absent { gate: writes.ranges().flush_gate() };
                }
                self.stats.hits += 1;
                self.stats.hit_reads += u64::from(rest.reads);
                if planned_now && record.kind == Kind::Value && writes.buffers().find(key, name).is_none() {
                    self.cache.insert(*key, bytes);
                }
                FinishedRead::Found(record)
            }
            Ok(RecordPlace::Lost(bytes)) => {
                self.pending.release(rest.view, work);
                let record = Record::decode_trusted(&(*pages).as_bytes()[bytes]).expect("find yields whole records");
                if is_absent(&record) {
                    return FinishedRead::Absent { gate: writes.ranges().flush_gate() };
                }
                FinishedRead::Damaged(page_damage(read.file, read.first, LOST))
            }
            Ok(RecordPlace::Absent) => {
                self.stats.false_reads += 1;
                self.stats.filter_passed += u64::from(rest.filtered);
                let Some(next) = rest.candidates.pop() else {
                    self.pending.release(rest.view, work);
                    return FinishedRead::Absent { gate: Gate::NONE };
                };
                rest.reads += 1;
                FinishedRead::Read(self.read(next.file, next.directory.locate(key.prefix()), rest))
            }
        }
    }

    /// Gives a read back without finishing it.
    pub(super) fn abandon(&mut self, read: Read, work: &mut WorkQueue) {
        let Read { rest, .. } = read;
        self.pending.release(rest.view, work);
    }

    /// A record was written: what the cache has of its key is not the newest version any more.
    #[inline]
    pub(super) fn forget(&mut self, key: &Key, record: &Record<'_>) {
        self.cache.remove(key);
        if let Some(file) = value_file(record) {
            self.keep_value_file(file);
        }
    }

    /// A record that was just put names value file `file`, too: the file outlives older records that name it.
    pub(super) fn keep_value_file(&mut self, file: u64) {
        self.pending.keep_value_file(file);
    }

    /// Begins a new view: reads planned before must not fill the cache any more.
    pub(super) fn advance(&mut self, work: &mut WorkQueue) {
        self.pending.advance(work);
    }

    /// As [`advance`](Self::advance); what `reclaim` names is given back once no read that was planned before is left.
    pub(super) fn retire(&mut self, reclaim: Reclaim, work: &mut WorkQueue) {
        self.pending.retire(reclaim, work);
    }

    /// Forgets every cached record, and those that reads which were planned before will find.
    pub(super) fn clear_cache(&mut self, work: &mut WorkQueue) {
        self.cache.clear();
        self.pending.advance(work);
    }

    /// The cache may take so many bytes, from the next [`shrink_cache`](Self::shrink_cache) on.
    pub(super) fn set_cache_bytes(&mut self, bytes: u64) {
        self.cache.set_target(bytes);
    }

    /// Gives some memory back that the cache may not take any more; `true` when there is more to give.
    pub(super) fn shrink_cache(&mut self) -> bool {
        self.cache.shrink()
    }

    /// Lookups since the opening, and the reads that they asked for.
    pub(super) fn stats(&self) -> &ReadStats {
        &self.stats
    }

    /// The record cache's figures.
    pub(super) fn cache_stats(&self) -> CacheStats {
        CacheStats {
            bytes: self.cache.bytes(),
            entries: self.cache.len() as u64,
            hits: self.cache.hits,
            misses: self.cache.misses,
        }
    }
}

/// What the newest version says, which is at this place in a buffer.
pub(super) fn answer_from_buffer<'a>(
    writes: &'a WritePath,
    place: BufferPlace,
    key: &Key,
    now: u32,
    emptied: &EmptiedIntervals,
) -> Lookup<'a> {
    let entry = writes.buffers().entry(place);
    let record = entry.record();
    if writes.ranges().is_absent(key, &record, now) || writes.buffers().is_emptied(place, key, emptied) {
        Lookup::Absent { gate: entry.gate.max(writes.ranges().flush_gate()) }
    } else {
        Lookup::Found { record, gate: entry.gate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record::Marks;

    #[test]
    fn a_write_takes_its_key_out_of_the_cache() {
        let mut lookups = LookupPath::new(1 << 20);
        let record = Record {
            kind: Kind::Value,
            marks: Marks::default(),
            epoch: 1,
            seq: 1,
            client_flags: 0,
            expiry: 0,
            client_cas: None,
            key: b"key",
            value: b"value",
        };
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        lookups.cache.insert(Key::MIN, &bytes);
        assert!(lookups.cache.peek(&Key::MIN).is_some() && lookups.cache_stats().entries == 1);
        lookups.forget(&Key::MIN, &record);
        assert!(lookups.cache.peek(&Key::MIN).is_none() && lookups.cache_stats().entries == 0);
    }
}
