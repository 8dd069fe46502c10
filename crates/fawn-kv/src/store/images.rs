//! The ranges of a store, as their writes made them: the same when the writes come from the protocol and when they come
//! back from the log.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fawn_ring::{Interval, Key};
use fawn_store::record::Record;
use fawn_store::{Refusal, Replication, Store};

use super::RecoveredRange;
use super::convert::{record, record_of};
use super::write::Write;
use crate::ids::{Attempt, ClusterId, Position, RangeId, Seq};
use crate::range::entry::{Change, Entry, FLUSHED_BYTES};
use crate::range::meta::Meta;
use crate::wire::encoding::append;

/// Bytes of a checkpoint for the cluster, and for a range beside its metadata and its log: its entry's header, keys, attempt,
/// lengths.
const FIXED_BYTES: usize = Replication::ENTRY_BYTES + 80;
/// What a committed record can add to the metadata, at most: a session with a request, or a fence; a flush adds more for
/// its keys. A record that is in the log counts for more, so that committing it never makes the checkpoint longer.
const META_BYTES: usize = 80;
const _: () = assert!(META_BYTES <= size_of::<Entry>());

/// What is known of one range.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) keys: Interval,
    held: Option<Attempt>,
    /// Deletions up to this number may be lacking, whatever the store has dropped itself.
    pub(super) forgotten: Seq,
    meta: Meta,
    /// Bytes of `meta` in a checkpoint, at most.
    meta_bytes: usize,
    /// What follows `meta.committed` in the log.
    suffix: VecDeque<Arc<Entry>>,
    suffix_bytes: usize,
    /// Bytes of what was committed since a write told the log up to where, and of that up to the checkpoint on its way.
    untold_bytes: (usize, usize),
    /// The open segment that holds records of the range, by its age, and the place of the first of them.
    opened: (u64, Position),
    /// Parts of a copy have come, and not its end yet.
    is_copying: bool,
}

impl Image {
    fn new(keys: Interval, store: &Store) -> Self {
        Self::of(RecoveredRange { keys, held: None, meta: Meta::default(), entries: Vec::new() }, Seq(0), store)
    }

    pub(super) fn of(state: RecoveredRange, forgotten: Seq, store: &Store) -> Self {
        Self {
            forgotten,
            keys: state.keys,
            held: state.held,
            meta_bytes: bytes_of(&state.meta),
            meta: state.meta,
            suffix_bytes: state.entries.iter().map(Entry::bytes).sum(),
            suffix: state.entries.into_iter().map(Arc::new).collect(),
            untold_bytes: (0, 0),
            // What was there before may be.
            opened: (store.buffers().open_age(), Position::default()),
            is_copying: false,
        }
    }

    /// The range as a checkpoint, a restart and an heir see it.
    pub(super) fn state(&self) -> RecoveredRange {
        RecoveredRange {
            keys: self.keys,
            held: self.held,
            meta: self.meta.clone(),
            entries: self.suffix.iter().map(|entry| (**entry).clone()).collect(),
        }
    }

    /// Bytes of its checkpoint, at most.
    pub(super) fn checkpoint_bytes(&self) -> usize {
        FIXED_BYTES + self.meta_bytes + self.suffix_bytes
    }

    /// Bytes of records that are not committed, about.
    pub(super) fn suffix_bytes(&self) -> usize {
        self.suffix_bytes
    }

    /// The Unix second up to which things have expired: the range's time. That of a copy comes with its end, and may be an
    /// earlier one than here.
    pub(super) fn expiry_time(&self) -> u32 {
        if self.is_copying { 0 } else { self.meta.alive.time }
    }

    /// The next record to be committed.
    pub(super) fn next(&self) -> Option<&Entry> {
        self.suffix.front().map(|entry| &**entry)
    }

    fn last(&self) -> Position {
        self.suffix.back().map_or(self.meta.committed, |entry| entry.position)
    }

    fn append(&mut self, entry: Arc<Entry>) {
        // After a checkpoint that a write overtook, the log has it once more.
        if entry.position > self.last() {
            self.suffix_bytes += entry.bytes();
            self.suffix.push_back(entry);
        }
    }

    fn truncate(&mut self, to: Position) {
        while let Some(entry) = self.suffix.pop_back_if(|entry| entry.position > to) {
            self.suffix_bytes -= entry.bytes();
        }
    }

    fn install_end(&mut self, meta: Meta, forgotten: Seq) {
        self.is_copying = false;
        self.forgotten = self.forgotten.max(forgotten);
        self.meta_bytes = bytes_of(&meta);
        self.meta = meta;
        while let Some(entry) = self.suffix.pop_front_if(|entry| entry.position <= self.meta.committed) {
            self.suffix_bytes -= entry.bytes();
        }
    }

    /// Commits the first record that is not, whose key lies there; the store shows what it does.
    pub(super) fn commit(&mut self, store: &mut Store, lies: Option<&Key>) -> Result<(), Refusal> {
        let Some(entry) = self.suffix.pop_front() else { return Ok(()) };
        self.suffix_bytes -= entry.bytes();
        self.untold_bytes.0 += entry.bytes();
        if entry.asked.is_some() || record_of(&entry).is_none() {
            self.meta_bytes += META_BYTES;
        }
        if let Change::Flush { keys, .. } = &entry.change {
            self.meta_bytes += keys.len() * FLUSHED_BYTES;
        }
        self.meta.commit(&entry);
        match record_of(&entry) {
            Some(record) => self.show(store, &record, lies, entry.position),
            None => Ok(()),
        }
    }

    /// Lookups show the record from here on; `at` is where it counts as committed.
    fn show(
        &mut self,
        store: &mut Store,
        record: &Record<'_>,
        lies: Option<&Key>,
        at: Position,
    ) -> Result<(), Refusal> {
        let lies = lies.copied().unwrap_or_else(|| store.options().secret.position(record.key));
        store.replication().append(&lies, record)?;
        let first = if self.opened.0 == store.buffers().open_age() { self.opened.1.min(at) } else { at };
        self.opened = (store.buffers().open_age(), first);
        Ok(())
    }

    /// Whether the open segment holds records of the range that were committed up to `least`.
    pub(super) fn is_open(&self, least: Position, store: &Store) -> bool {
        self.opened.0 == store.buffers().open_age() && self.opened.1 <= least
    }

    fn commit_to(&mut self, to: Position, store: &mut Store) -> Result<(), Refusal> {
        while self.next().is_some_and(|entry| entry.position <= to) {
            self.commit(store, None)?;
        }
        Ok(())
    }
}

/// All ranges of a store.
#[derive(Debug, Default)]
pub(super) struct Images {
    /// The cluster that they are of.
    pub(super) cluster: Option<ClusterId>,
    pub(super) ranges: BTreeMap<RangeId, Image>,
}

impl Images {
    /// Bytes of a checkpoint of all ranges, at most.
    pub(super) fn checkpoint_bytes(&self) -> usize {
        FIXED_BYTES + self.ranges.values().map(Image::checkpoint_bytes).sum::<usize>()
    }

    /// Bytes of records that are not committed.
    pub(super) fn uncommitted_bytes(&self) -> usize {
        self.ranges.values().map(Image::suffix_bytes).sum()
    }

    /// Bytes of records that are committed, which the log does not tell yet.
    pub(super) fn untold_bytes(&self) -> usize {
        self.ranges.values().map(|image| image.untold_bytes.0).sum()
    }

    /// A write in the log tells up to where its range is committed.
    pub(super) fn told(&mut self, range: RangeId) {
        if let Some(image) = self.ranges.get_mut(&range) {
            image.untold_bytes = (0, 0);
        }
    }

    /// A checkpoint tells it of all ranges, once it is [`sealed`](Self::sealed).
    pub(super) fn tell(&mut self) {
        for image in self.ranges.values_mut() {
            image.untold_bytes.1 = image.untold_bytes.0;
        }
    }

    /// See [`tell`](Self::tell).
    pub(super) fn sealed(&mut self) {
        for image in self.ranges.values_mut() {
            let (all, told) = image.untold_bytes;
            image.untold_bytes = (all - told, 0);
        }
    }

    /// Counts anew what [`checkpoint_bytes`](Self::checkpoint_bytes) has counted up, whatever was forgotten since.
    pub(super) fn count_again(&mut self) {
        for image in self.ranges.values_mut() {
            image.meta_bytes = bytes_of(&image.meta);
        }
    }

    /// Learns up to where a range was committed when its next write was made.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn commit_to(&mut self, store: &mut Store, range: RangeId, to: Position) -> Result<(), Refusal> {
        self.ranges.get_mut(&range).map_or(Ok(()), |image| image.commit_to(to, store))
    }

    /// Up to where a range is committed.
    pub(super) fn committed(&self, range: RangeId) -> Position {
        self.ranges.get(&range).map_or_else(Position::default, |image| image.meta.committed)
    }

    /// Carries out a write that is in the log, or is on its way there. What concerns a range that the log has not told of
    /// yet is in the checkpoint that will.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn apply(&mut self, store: &mut Store, range: RangeId, write: Write<'_>) -> Result<(), Refusal> {
        match write {
            Write::Join(cluster) => {
                self.cluster = Some(cluster);
                // What a plain store was flushed of, the range that it became knows.
                store.replication().forget_flushes();
            }
            Write::Create(keys) => drop(self.ranges.insert(range, Image::new(keys, store))),
            Write::Inherit(over, ranges) => self.inherit(store, &over, ranges.into_owned())?,
            Write::State(state, forgotten) => {
                self.ranges.insert(range, Image::of(state.into_owned(), forgotten, store));
            }
            Write::Drop => {
                if let Some(image) = self.ranges.remove(&range) {
                    store.replication().empty(image.keys);
                }
            }
            write => {
                if let Some(image) = self.ranges.get_mut(&range) {
                    change(image, store, write)?;
                }
            }
        }
        Ok(())
    }

    fn inherit(
        &mut self,
        store: &mut Store,
        over: &[(RangeId, Position)],
        ranges: Vec<(RangeId, RecoveredRange)>,
    ) -> Result<(), Refusal> {
        let mut forgotten = Seq(0);
        for (range, committed) in over {
            let Some(mut image) = self.ranges.remove(range) else { continue };
            image.commit_to(*committed, store)?;
            forgotten = forgotten.max(image.forgotten);
            let mut rest = vec![image.keys];
            for (_, heir) in &ranges {
                rest = rest.into_iter().flat_map(|keys| without(keys, heir.keys)).collect();
            }
            for keys in rest {
                store.replication().empty(keys);
            }
        }
        self.ranges.extend(ranges.into_iter().map(|(range, state)| (range, Image::of(state, forgotten, store))));
        Ok(())
    }
}

/// A write that concerns one range and leaves it there.
fn change(image: &mut Image, store: &mut Store, write: Write<'_>) -> Result<(), Refusal> {
    match write {
        Write::Append(entry) => image.append(entry),
        Write::Truncate(to) => image.truncate(to),
        Write::Hold(attempt) => image.held = Some(attempt),
        Write::Reset => {
            store.replication().empty(image.keys);
            *image = Image::new(image.keys, store);
        }
        Write::Install(kept) => {
            image.is_copying = true;
            for kept in kept.iter() {
                let record = record(&kept.key, kept.position, kept.version.as_ref());
                image.show(store, &record, None, Position::default())?;
            }
        }
        Write::InstallEnd(meta, forgotten) => image.install_end(meta.into_owned(), forgotten),
        Write::Join(_) | Write::Create(_) | Write::Inherit(..) | Write::State(..) | Write::Drop => {
            unreachable!("ranges that begin and end are dealt with before")
        }
    }
    Ok(())
}

/// What is left of `keys` without `other`.
fn without(keys: Interval, other: Interval) -> impl Iterator<Item = Interval> {
    let below = other.low.predecessor().map(|end| (keys.low, end.min(keys.high)));
    let above = other.high.successor().map(|begin| (begin.max(keys.low), keys.high));
    [below, above].into_iter().flatten().filter(|(low, high)| low <= high).map(|(low, high)| Interval::new(low, high))
}

/// Bytes of the metadata in a checkpoint.
fn bytes_of(meta: &Meta) -> usize {
    let mut bytes = Vec::new();
    append(&mut bytes, meta);
    bytes.len()
}
