//! What an operation works with, and how far it came.

use crate::observe::counters::Counters;
use crate::runtime::clock::Now;
use crate::shard::recency::Recency;
use fawn_kv::operation::Outcome;
use fawn_store::Gate;
use fawn_store::large::Stub;
use fawn_store::record::{Kind, Marks, Record};

/// How far a request came.
#[derive(Debug)]
pub enum OperationStep<R> {
    /// Its answer was appended to the output.
    Done {
        /// The answer may leave once this is durable.
        gate: Gate,
        /// It is an error of the server that stands for the whole line of keys.
        failed: bool,
    },
    /// It needs this read.
    Read(R),
    /// It must be tried again after the next event of the store.
    Park(Wait),
    /// It needs a value that has a file of its own.
    ReadValue(LargeRecord),
    /// Its reply needs a reservation of this many bytes; then it must be tried again.
    Ask(usize),
    /// This value needs a file of its own; then call `finish_large`.
    WriteValue(PlannedVersion, Vec<u8>),
}

/// What an operation waits for that is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The store's buffers are full.
    Busy,
    /// The index is being loaded.
    Loading,
}

/// Sequence numbers of several stores as one sequence of cas numbers: no two items of the node ever have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CasNumbers {
    /// Number of stores of the node.
    pub stores: u64,
    /// The store's, counted over the node.
    pub store: u64,
}

impl CasNumbers {
    /// The cas of the record with sequence number `seq`.
    #[inline]
    pub fn of_seq(self, seq: u64) -> u64 {
        seq * self.stores + self.store
    }

    /// The cas of `record`: its own, or the one that the client chose.
    #[inline]
    pub fn of(self, record: &Record<'_>) -> u64 {
        record.client_cas.unwrap_or_else(|| self.of_seq(record.seq))
    }
}

/// What a request works with besides its store.
#[derive(Debug)]
pub struct OperationContext<'a> {
    /// The store's cas numbers.
    pub cas: CasNumbers,
    /// The time.
    pub now: Now,
    /// Largest value, bytes.
    pub max_value_bytes: usize,
    /// Largest value that may be shown without a reservation, in bytes.
    pub unreserved_bytes: usize,
    /// The store has stopped: nothing that is parked would ever go on.
    pub stopped: bool,
    /// Records appended to the store.
    pub appends: &'a mut u64,
    /// The loop's counters.
    pub counters: &'a Counters,
    /// The store's table of last uses.
    pub recency: &'a mut Recency,
    /// For a value that is stored again as it is.
    pub scratch: &'a mut Vec<u8>,
}

/// The record of a large value that is to be read.
#[derive(Clone, Copy, Debug)]
pub struct LargeRecord {
    /// Names the file.
    pub stub: Stub,
    marks: Marks,
    epoch: u32,
    seq: u64,
    client_flags: u32,
    expiry: u32,
    client_cas: Option<u64>,
    pub(super) gate: Gate,
}

impl LargeRecord {
    /// What `record` says, but for its value; `None` when it names no file.
    pub(super) fn of(record: &Record<'_>, gate: Gate) -> Option<Self> {
        let stub = Stub::decode(record.value)?;
        let Record { marks, epoch, seq, client_flags, expiry, client_cas, .. } = *record;
        Some(Self { stub, marks, epoch, seq, client_flags, expiry, client_cas, gate })
    }

    pub(super) fn record<'v>(&self, name: &'v [u8], value: &'v [u8]) -> Record<'v> {
        let Self { marks, epoch, seq, client_flags, expiry, client_cas, .. } = *self;
        Record { kind: Kind::Value, marks, epoch, seq, client_flags, expiry, client_cas, key: name, value }
    }
}

impl PlannedVersion {
    /// Bytes of the value.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }
}

/// A version that waits for its value to be written.
#[derive(Debug)]
pub struct PlannedVersion {
    pub(super) value_bytes: usize,
    pub(super) marks: Marks,
    pub(super) client_flags: u32,
    pub(super) expiry: u32,
    pub(super) client_cas: Option<u64>,
    pub(super) gate: Gate,
    pub(super) outcome: Option<Outcome>,
    pub(super) answered: Vec<u8>,
}
