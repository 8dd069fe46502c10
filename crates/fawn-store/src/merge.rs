//! Merge: everything of one slice becomes one sorted run (the paper's Compact, slice by slice).
//!
//! All parts of the slice are read in key order at once; the newest version of each key wins. When *everything* sealed
//! of the slice takes part, nothing older is left that a delete record has to contradict: delete records, expired and
//! flushed records are dropped, and a slice that has grown is divided: each output is a slice of its own. A merge of the
//! newest parts alone keeps them, and the slice whole.
//!
//! Damage is carried on: where pages of a part cannot be read, a lost record stands for each version that was in them, as
//! far as what is newer does not supersede it. It supersedes what is older, so that nobody is answered with that.
//!
//! Where the device fails to read pages that it may read another time, the merge is *in doubt*: it writes nothing more, but
//! reads what is left, so that whoever asked for it knows [all such pages](Merge::unread_pages); then it fails. It also fails, and
//! at once, when more than half of its pages cannot be read, and more than a few: that is the device, or the file.

use std::cmp::{Ordering, Reverse};
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap};

use fawn_ring::{Interval, Key, Secret};

use crate::api::{Damage, Losses};
use crate::bulk::Run;
use crate::flash::{Flash, FlashError};
use crate::format::large::Stub;
use crate::format::manifest::EmptiedInterval;
use crate::format::record::{Kind, Record, lost_name};
use crate::format::segment::{CompleteSegment, Cursor, CursorStep, ReadAhead, SegmentError, Writer};

/// Records handled in one step.
const STEP_RECORDS: usize = 2048;
/// A merge fails when more than half of its pages cannot be read, if that is more than so many.
const FEW_BAD_PAGES: u64 = 64;
/// It also fails when the device fails to read so many pages: 4 MiB. Each may take it seconds.
pub(crate) const MOST_UNREAD_PAGES: usize = 1024;

/// Which records are void whatever their age, for the ranges that overlap the slice.
#[derive(Clone, Debug, Default)]
pub struct Void {
    /// For each range: its interval and the sequence number up to which `flush_all` emptied it.
    pub flushed: Vec<(Interval, u64)>,
    /// Of these keys, records that expire no later than at this Unix second are gone.
    pub times: Vec<(Interval, u32)>,
}

impl Void {
    /// Whether the record at `key` is absent for every reader from now on.
    pub fn covers(&self, key: &Key, record: &Record<'_>) -> bool {
        self.times.iter().any(|(interval, now)| record.is_expired(*now) && interval.contains(key))
            || self.flushed.iter().any(|(interval, watermark)| record.seq <= *watermark && interval.contains(key))
    }
}

/// Of records that are newer than a slice's base, how many supersede one of it: told by looking at some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overwrites {
    /// Keys that were looked at: all are newer than the base.
    pub newer: u64,
    /// Of these, keys that the base has as well.
    pub superseding: u64,
}

/// One output of a merge: a slice and the run that holds all of it, or nothing.
pub struct Output {
    /// The positions of the output's keys.
    pub interval: Interval,
    /// The run of the slice; `None` when no record survived.
    pub written: Option<CompleteSegment>,
}

/// What a finished merge made.
#[derive(Default)]
pub struct MergeOutput {
    /// The outputs, in key order; they tile the slice that was merged.
    pub outputs: Vec<Output>,
    /// Highest sequence number of a delete, expired or flushed record that was dropped.
    pub horizon: u64,
    /// Bytes read and written.
    pub bytes_written: u64,
    /// File numbers of values whose stub was dropped.
    pub dropped_values: Vec<u64>,
    /// Keys of all inputs but the oldest, and those of them that the oldest has, too.
    pub overwrites: Overwrites,
    /// Lost records in the outputs that were in none of the inputs.
    pub lost: Option<Losses>,
}

/// The lost record that a merge or a scan has passed and not yet judged: it comes before all other records of its prefix, and
/// the versions that these are may be newer.
#[derive(Debug, Default)]
pub(crate) struct PendingLoss(Option<LostVersion>);

/// A version of some key that damage has taken.
#[derive(Clone, Debug)]
pub(crate) struct LostVersion {
    pub key: Key,
    pub age: u64,
    pub seq: u64,
    /// The damage that has taken it.
    pub damage: Damage,
    /// No merge has carried it on yet.
    pub is_new: bool,
}

impl LostVersion {
    /// The record that says so.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        Record::lost(&lost_name(self.key.prefix()), self.seq).encode(&mut bytes);
        bytes
    }
}

impl PendingLoss {
    /// The one held, if it stands: no newer record of its prefix has come, and a record at `key` does not have it. `None` for
    /// the end.
    pub fn standing(&mut self, key: Option<&Key>) -> Option<LostVersion> {
        self.0.take_if(|lost| key.is_none_or(|key| key.prefix() != lost.key.prefix()))
    }

    /// Holds a lost record; of several of a prefix, the first is the newest.
    pub fn hold(&mut self, lost: LostVersion) {
        self.0.get_or_insert(lost);
    }

    /// Whether the record at a key, of this age, may be superseded by the one held; if it is newer, that is held no more.
    pub fn supersedes(&mut self, key: &Key, age: u64) -> bool {
        let Some(lost) = self.0.as_ref().filter(|lost| lost.key.prefix() == key.prefix()) else {
            return false;
        };
        let supersedes = lost.age > age;
        if !supersedes {
            self.0 = None;
        }
        supersedes
    }
}

/// Bytes of records that a merge has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeProgress {
    /// Bytes of records of all inputs except the oldest.
    pub newer: u64,
    /// Bytes of records that were superseded or void.
    pub dropped: u64,
}

/// Where records of a merge come from.
#[allow(clippy::large_enum_variant, reason = "all inputs but those of a bulk load are of the large kind")]
pub(crate) enum Input {
    /// A part of the slice.
    Segment(Cursor),
    /// A sorted run of a bulk load.
    Run(Run),
}

impl Input {
    fn advance(&mut self, flash: &dyn Flash, secret: &Secret) -> Result<CursorStep, SegmentError> {
        match self {
            Self::Segment(cursor) => cursor.advance(secret),
            Self::Run(run) => Ok(if run.advance(flash, secret)? { CursorStep::Record } else { CursorStep::End }),
        }
    }

    fn cursor(&mut self) -> Option<&mut Cursor> {
        match self {
            Self::Segment(cursor) => Some(cursor),
            Self::Run(_) => None,
        }
    }

    fn of_segment(&self) -> Option<&Cursor> {
        match self {
            Self::Segment(cursor) => Some(cursor),
            Self::Run(_) => None,
        }
    }

    fn key(&self) -> &Key {
        match self {
            Self::Segment(cursor) => cursor.key(),
            Self::Run(run) => run.key(),
        }
    }

    fn record(&self) -> &[u8] {
        match self {
            Self::Segment(cursor) => cursor.record(),
            Self::Run(run) => run.record(),
        }
    }

    fn is_lost(&self) -> bool {
        matches!(self, Self::Segment(cursor) if cursor.is_lost())
    }

    fn rank(&self, age: u64) -> Rank {
        rank(*self.key(), self.is_lost(), age)
    }
}

/// The order in which records are judged: by position, lost ones first, as their names are not known, and then the newest
/// first.
pub(crate) type Rank = (Key, Reverse<bool>, Reverse<u64>);

/// The rank of a record of this age.
pub(crate) fn rank(key: Key, is_lost: bool, age: u64) -> Rank {
    (key, Reverse(is_lost), Reverse(age))
}

/// An input of a merge, or of a scan, that is on a record.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    /// When the record is judged.
    pub rank: Rank,
    /// Number of the input.
    pub index: usize,
}

impl Source {
    fn key(&self) -> &Key {
        &self.rank.0
    }

    fn age(&self) -> u64 {
        self.rank.2.0
    }
}

impl Ord for Source {
    /// The heap's greatest is the lowest rank.
    fn cmp(&self, other: &Self) -> Ordering {
        other.rank.cmp(&self.rank)
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Source {}

/// A merge in progress.
pub struct Merge {
    interval: Interval,
    inputs: Vec<Input>,
    ahead: ReadAhead,
    /// Each input that has a record left.
    heap: BinaryHeap<Source>,
    /// Inputs, each with its age, that are on no record: the last goes to its next one.
    advancing: Vec<(u64, usize)>,
    /// Pages of the inputs that may be unreadable.
    most_bad_pages: u64,
    /// The device fails to read pages that it may read another time: what is left is only read.
    is_in_doubt: bool,
    /// All that is left was read.
    is_over: bool,
    /// Which records are dropped; `None` when older parts stay behind.
    void: Option<Void>,
    /// What was emptied; dropped in any case.
    emptied: Vec<EmptiedInterval>,
    /// Output bytes at which a slice is closed and the next begun.
    slice_bytes: u64,
    /// Start of the output slice under construction.
    low: Key,
    writer: Option<Writer>,
    next_file: u64,
    last: Option<Key>,
    /// Names already decided at the position `last`, the first `decided_names` of these, each with the value file that its
    /// winner names. The others are kept for their memory.
    decided: Vec<(Vec<u8>, Option<u64>)>,
    decided_names: usize,
    held: PendingLoss,
    /// Prefix of the last key written.
    last_written: u64,
    /// Numbers of the files made so far.
    created: Vec<u64>,
    passed: MergeProgress,
    done: MergeOutput,
}

impl Merge {
    /// A merge of `inputs` (age and input, the oldest first) of the slice `interval`, read by `ahead`. With `void` they are
    /// everything sealed of the slice, and what is void is dropped; without, they are its newest parts. Of what was `emptied`
    /// nothing is kept either way. Output files are numbered `first_file`, `first_file + 2`, …; `slice_bytes` is the size at which
    /// the output is divided.
    pub(crate) fn new(
        interval: Interval,
        (inputs, ahead): (Vec<(u64, Input)>, ReadAhead),
        void: Option<Void>,
        emptied: Vec<EmptiedInterval>,
        slice_bytes: u64,
        first_file: u64,
    ) -> Self {
        let advancing = inputs.iter().enumerate().map(|(index, (age, _))| (*age, index)).collect();
        let inputs: Vec<Input> = inputs.into_iter().map(|(_, input)| input).collect();
        let pages: u64 = inputs.iter().filter_map(Input::of_segment).map(Cursor::pages_left).sum();
        Self {
            low: interval.low,
            interval,
            heap: BinaryHeap::with_capacity(inputs.len()),
            inputs,
            ahead,
            advancing,
            most_bad_pages: FEW_BAD_PAGES.max(pages / 2),
            is_in_doubt: false,
            is_over: false,
            void,
            emptied,
            slice_bytes,
            writer: None,
            next_file: first_file,
            last: None,
            decided: Vec::new(),
            decided_names: 0,
            held: PendingLoss::default(),
            last_written: 0,
            created: Vec::new(),
            passed: MergeProgress::default(),
            done: MergeOutput::default(),
        }
    }

    /// Handles some records, fewer where the device fails at reading. `Some` once the merge is complete and its outputs are
    /// durable.
    ///
    /// # Errors
    /// The device's, or damage to an input; the merge is then abandoned, its output files are nobody's.
    pub fn step(&mut self, flash: &dyn Flash, secret: &Secret) -> Result<Option<MergeOutput>, SegmentError> {
        for _ in 0..STEP_RECORDS {
            while let Some((age, index)) = self.advancing.last().copied() {
                match self.inputs[index].advance(flash, secret)? {
                    CursorStep::Record => {
                        self.advancing.pop();
                        self.heap.push(Source { rank: self.inputs[index].rank(age), index });
                    }
                    CursorStep::End => drop(self.advancing.pop()),
                    CursorStep::Starved => {
                        self.ahead.fill(flash, self.inputs.iter_mut().filter_map(Input::cursor))?;
                        self.judge_bad_pages()?;
                        if self.ahead.has_failed() {
                            return Ok(None);
                        }
                    }
                }
            }
            let Some(top) = self.heap.peek().copied() else {
                return self.end(flash).map(Some);
            };
            if !self.is_in_doubt {
                self.decide(flash, &top)?;
            }
            self.go_on(&top, flash, secret)?;
        }
        Ok(None)
    }

    /// Goes to the next record of the input that is at the top, if it has been read.
    fn go_on(&mut self, top: &Source, flash: &dyn Flash, secret: &Secret) -> Result<(), SegmentError> {
        let advanced = self.inputs[top.index].advance(flash, secret)?;
        let mut place = self.heap.peek_mut().expect("it is at the top");
        match advanced {
            CursorStep::Record => place.rank = self.inputs[top.index].rank(top.age()),
            CursorStep::End => drop(PeekMut::pop(place)),
            CursorStep::Starved => {
                PeekMut::pop(place);
                self.advancing.push((top.age(), top.index));
            }
        }
        Ok(())
    }

    /// Looks whether the merge goes on over the pages that could not be read so far.
    fn judge_bad_pages(&mut self) -> Result<(), SegmentError> {
        let cursors = || self.inputs.iter().filter_map(Input::of_segment);
        let bad: u64 = cursors().map(|cursor| cursor.bad_pages().len() as u64).sum();
        let unread: usize = cursors().map(|cursor| cursor.unread_pages().len()).sum();
        if bad > self.most_bad_pages || unread > MOST_UNREAD_PAGES {
            let last = cursors().find_map(|cursor| cursor.bad_pages().last()).expect("some are bad");
            return Err(last.clone().into());
        }
        self.is_in_doubt |= cursors().any(Cursor::is_in_doubt);
        Ok(())
    }

    fn end(&mut self, flash: &dyn Flash) -> Result<MergeOutput, SegmentError> {
        self.is_over = true;
        if self.is_in_doubt {
            let mut doubtful = self.inputs.iter().filter_map(Input::of_segment).filter(|cursor| cursor.is_in_doubt());
            let damage = doubtful.find_map(|cursor| cursor.bad_pages().last()).expect("something is in doubt");
            return Err(damage.clone().into());
        }
        Ok(self.finish(flash)?)
    }

    /// Once the merge has failed because it was in doubt: each page that the device failed to read, with its file.
    pub fn unread_pages(&self) -> Option<BTreeSet<(u64, u64)>> {
        let cursors = self.inputs.iter().filter_map(Input::of_segment);
        let pages = cursors.flat_map(|cursor| cursor.unread_pages().iter().map(|page| (cursor.file_number(), *page)));
        (self.is_over && self.is_in_doubt).then(|| pages.collect())
    }

    /// Numbers of the files that it reads.
    pub fn files(&self) -> Vec<u64> {
        self.inputs.iter().filter_map(Input::of_segment).map(Cursor::file_number).collect()
    }

    /// What was passed since the start, or since this was last forgotten.
    pub fn passed(&self) -> MergeProgress {
        self.passed
    }

    /// Begins to count what is passed anew.
    pub fn forget_passed(&mut self) {
        self.passed = MergeProgress::default();
    }

    /// The runs among the inputs, in the order given, behind what was merged of them.
    pub(crate) fn into_runs(self) -> Vec<Run> {
        let run = |input| match input {
            Input::Run(run) => Some(run),
            Input::Segment(_) => None,
        };
        self.inputs.into_iter().filter_map(run).collect()
    }

    /// Numbers of the files made so far; nobody's if the merge is abandoned.
    pub fn created(&self) -> &[u64] {
        &self.created
    }

    /// Writes or drops the record that `top` points at.
    fn decide(&mut self, flash: &dyn Flash, top: &Source) -> Result<(), SegmentError> {
        if let Some(lost) = self.held.standing(Some(top.key())) {
            self.keep_lost(flash, &lost)?;
        }
        let bytes = self.inputs[top.index].record();
        let record = Record::decode_trusted(bytes).expect("a cursor yields whole records");
        let (len, is_newer) = (bytes.len() as u64, top.index > 0);
        self.passed.newer += if is_newer { len } else { 0 };
        if let (Kind::Lost, Input::Segment(cursor)) = (record.kind, &self.inputs[top.index]) {
            let (damage, is_new) = (cursor.damage(), cursor.is_in_gap());
            self.held.hold(LostVersion { key: *top.key(), age: top.age(), seq: record.seq, damage, is_new });
            return Ok(());
        }
        if self.held.supersedes(top.key(), top.age()) {
            self.passed.dropped += len;
            self.done.dropped_values.extend(value_file(&record));
            return Ok(());
        }
        if self.last == Some(*top.key()) {
            if let Some((_, winner)) = self.decided[..self.decided_names].iter().find(|(name, _)| name == record.key) {
                self.passed.dropped += len;
                self.done.overwrites.superseding += u64::from(!is_newer);
                // A record that recovery replayed may be here twice: its value file is still named.
                if *winner != value_file(&record) {
                    self.done.dropped_values.extend(value_file(&record));
                }
                return Ok(());
            }
        } else {
            self.decided_names = 0;
            self.last = Some(*top.key());
        }
        self.done.overwrites.newer += u64::from(is_newer);
        if self.decided.len() == self.decided_names {
            self.decided.push((Vec::new(), None));
        }
        let (name, winner) = &mut self.decided[self.decided_names];
        name.clear();
        name.extend_from_slice(record.key);
        *winner = value_file(&record);
        self.decided_names += 1;
        if self.is_dropped(top.key(), top.age(), &record) {
            let (seq, value) = (record.seq, value_file(&record));
            self.drop_newest(top.key(), top.age(), seq);
            self.done.dropped_values.extend(value);
            self.passed.dropped += len;
            return Ok(());
        }
        self.make_room(flash, top.key().prefix())?;
        let writer = self.writer.as_mut().expect("there is room");
        writer.push(flash, top.key(), self.inputs[top.index].record())?;
        Ok(())
    }

    /// Writes a lost record, unless it is void.
    fn keep_lost(&mut self, flash: &dyn Flash, lost: &LostVersion) -> Result<(), FlashError> {
        let bytes = lost.encode();
        let record = Record::decode_trusted(&bytes).expect("encoded just above");
        if self.is_dropped(&lost.key, lost.age, &record) {
            self.drop_newest(&lost.key, lost.age, lost.seq);
            return Ok(());
        }
        if lost.is_new {
            Losses::add(&mut self.done.lost, 1, &lost.damage);
        }
        self.make_room(flash, lost.key.prefix())?;
        self.writer.as_mut().expect("there is room").push(flash, &lost.key, &bytes)
    }

    /// Whether the newest version of a key goes.
    fn is_dropped(&self, key: &Key, age: u64, record: &Record<'_>) -> bool {
        let is_void = |void: &Void| record.kind == Kind::Delete || void.covers(key, record);
        self.is_emptied(key, age) || self.void.as_ref().is_some_and(is_void)
    }

    fn is_emptied(&self, key: &Key, age: u64) -> bool {
        self.emptied.iter().any(|emptied| emptied.voids(key, age))
    }

    /// The newest version of a key, numbered `seq`, has gone.
    fn drop_newest(&mut self, key: &Key, age: u64, seq: u64) {
        if !self.is_emptied(key, age) {
            self.done.horizon = self.done.horizon.max(seq);
        }
    }

    /// Sees to the output that takes the next record, of a key with this prefix.
    fn make_room(&mut self, flash: &dyn Flash, prefix: u64) -> Result<(), FlashError> {
        let full = self.writer.as_ref().is_some_and(|writer| writer.bytes() >= self.slice_bytes);
        if full && self.last_written < prefix {
            // Slices end where prefixes do, so that a prefix belongs to one of them.
            self.close(flash, Key::highest_with_prefix(prefix - 1))?;
        }
        self.last_written = prefix;
        if self.writer.is_none() {
            let file = self.next_file;
            self.next_file += 2;
            self.created.push(file);
            self.writer = Some(Writer::create(flash, file, 0)?);
        }
        Ok(())
    }

    fn close(&mut self, flash: &dyn Flash, high: Key) -> Result<(), FlashError> {
        let written = self.writer.take().map(|writer| writer.finish(flash)).transpose()?;
        self.done.bytes_written +=
            written.as_ref().map_or(0, |written| written.footer.total_pages() * crate::format::page::PAGE_BYTES as u64);
        self.done.outputs.push(Output { interval: Interval::new(self.low, high), written });
        if let Some(next) = high.successor() {
            self.low = next;
        }
        Ok(())
    }

    fn finish(&mut self, flash: &dyn Flash) -> Result<MergeOutput, FlashError> {
        if let Some(lost) = self.held.standing(None) {
            self.keep_lost(flash, &lost)?;
        }
        self.close(flash, self.interval.high)?;
        Ok(std::mem::take(&mut self.done))
    }
}

/// The value file that a record names.
#[inline]
pub(crate) fn value_file(record: &Record<'_>) -> Option<u64> {
    (record.kind == Kind::Stub).then(|| Stub::decode(record.value).map(|stub| stub.file)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record::Marks;

    #[test]
    fn what_has_expired_is_judged_by_the_time_of_its_own_keys() {
        let record = Record {
            kind: Kind::Value,
            marks: Marks::default(),
            epoch: 1,
            seq: 7,
            client_flags: 0,
            expiry: 1000,
            client_cas: None,
            key: b"key",
            value: b"value",
        };
        let (lower, upper) = Interval::ALL.cut(&Key([0x7f; 20])).unwrap();
        let void = Void { times: vec![(lower, 1000), (upper, 999)], ..Void::default() };
        assert!(void.covers(&Key([1; 20]), &record));
        assert!(!void.covers(&Key([0xf0; 20]), &record), "a range that is late keeps it");
        let of_one = Void { times: vec![(lower, 1000)], ..Void::default() };
        assert!(!of_one.covers(&Key([0xf0; 20]), &record), "keys without a time keep it");
        assert!(!void.covers(&Key([1; 20]), &Record { expiry: 0, ..record }), "it never expires");
    }
}
