//! Runs: what a load brings of one store, or a part of it, in the order of key positions, as merges read it.

use std::sync::Arc;

use fawn_ring::{Interval, Key, Secret};

use super::batch::{Batch, Places, SpoolRecord};
use super::spool::SpoolReader;
use crate::flash::Flash;
use crate::format::large::Stub;
use crate::format::record::{Kind, Record};
use crate::format::segment::SegmentError;

/// A sorted run of a load. A merge takes of it what lies below a limit; the next one goes on from there.
pub(crate) struct Run {
    source: Source,
    /// Sequence number of the next record.
    seq: u64,
    /// Highest key that is given out.
    limit: Key,
    /// The record that was read last is beyond the limit.
    is_held: bool,
    key: Key,
    /// The record that was read last, as a segment has it.
    record: Vec<u8>,
    /// Stubs given out and not taken yet.
    stubs: Vec<Stub>,
}

enum Source {
    Spool(SpoolReader),
    Batch(Arc<Batch>, Places),
}

impl Run {
    fn new(source: Source, seq: u64) -> Self {
        Self { source, seq, limit: Key::MIN, is_held: false, key: Key::MIN, record: Vec::new(), stubs: Vec::new() }
    }

    /// A run whose records are numbered from `seq` on.
    pub(super) fn of_spool(spool: SpoolReader, seq: u64) -> Self {
        Self::new(Source::Spool(spool), seq)
    }

    /// The records of a sorted batch that lie in `interval`, in the same way.
    pub fn of_batch(batch: Arc<Batch>, interval: &Interval, seq: u64) -> Self {
        let places = Places::of(interval);
        Self::new(Source::Batch(batch, places), seq)
    }

    /// From here on gives out records up to this key.
    pub fn set_limit(&mut self, limit: Key) {
        self.limit = limit;
    }

    /// The spool's file, and how many of its pages are not needed any more.
    pub fn spool(&self) -> Option<(u64, u64)> {
        match &self.source {
            Source::Spool(spool) => Some((spool.file(), spool.passed())),
            Source::Batch(..) => None,
        }
    }

    /// The stubs given out since the last call.
    pub fn take_stubs(&mut self) -> Vec<Stub> {
        std::mem::take(&mut self.stubs)
    }

    /// Goes to the next record; `false` when there is none up to the limit.
    pub fn advance(&mut self, flash: &dyn Flash, secret: &Secret) -> Result<bool, SegmentError> {
        if !self.is_held {
            let next = match &mut self.source {
                Source::Spool(spool) => spool.next(flash)?,
                Source::Batch(batch, places) => places.next(batch).map(|(_, record)| record),
            };
            let Some(next) = next else {
                return Ok(false);
            };
            self.key = secret.position(next.key);
            encode(&next, self.seq, &mut self.record);
            self.seq += 1;
        }
        self.is_held = self.key > self.limit;
        if !self.is_held {
            self.note_stub();
        }
        Ok(!self.is_held)
    }

    /// Position of the current record's key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The current record, as a segment has it.
    pub fn record(&self) -> &[u8] {
        &self.record
    }

    #[inline]
    fn note_stub(&mut self) {
        let record = Record::decode_trusted(&self.record).expect("it was encoded just above");
        if record.kind == Kind::Stub {
            self.stubs.extend(Stub::decode(record.value));
        }
    }
}

#[inline]
fn encode(spooled: &SpoolRecord<'_>, seq: u64, out: &mut Vec<u8>) {
    let record = spooled.record(seq);
    out.resize(record.encoded_len(), 0);
    record.encode_into(out);
}
