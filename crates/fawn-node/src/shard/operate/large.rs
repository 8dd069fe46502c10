//! Values with files of their own: read before the command can go on, or written before its record is appended.

use super::reply::{refused, tell};
use super::{Bench, Current, Step, Wait, apply, note_append, plan, unreadable};
use crate::observe::counters::Counters;
use crate::request::KeyRequest;
use crate::shard::stores::Stores;
use fawn_kv::operation::Outcome;
use fawn_store::large::Stub;
use fawn_store::record::{Kind, Marks, Record};
use fawn_store::{Gate, Refusal, Write};

/// The record of a large value that is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Names the file.
    pub stub: Stub,
    marks: Marks,
    epoch: u32,
    seq: u64,
    client_flags: u32,
    expiry: u32,
    client_cas: Option<u64>,
    gate: Gate,
}

impl Held {
    /// What `record` says, but for its value; `None` when it names no file.
    fn of(record: &Record<'_>, gate: Gate) -> Option<Self> {
        let stub = Stub::decode(record.value)?;
        let Record { marks, epoch, seq, client_flags, expiry, client_cas, .. } = *record;
        Some(Self { stub, marks, epoch, seq, client_flags, expiry, client_cas, gate })
    }

    fn record<'v>(&self, name: &'v [u8], value: &'v [u8]) -> Record<'v> {
        let Self { marks, epoch, seq, client_flags, expiry, client_cas, .. } = *self;
        Record { kind: Kind::Value, marks, epoch, seq, client_flags, expiry, client_cas, key: name, value }
    }
}

impl Planned {
    /// Bytes of the value.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }
}

/// A version that waits for its value to be written.
#[derive(Debug)]
pub struct Planned {
    pub(super) value_bytes: usize,
    pub(super) marks: Marks,
    pub(super) client_flags: u32,
    pub(super) expiry: u32,
    pub(super) client_cas: Option<u64>,
    pub(super) gate: Gate,
    pub(super) outcome: Option<Outcome>,
    pub(super) answered: Vec<u8>,
}

/// Goes on with a value that was read from its file, `value` being all of it.
pub fn resume_large<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    (held, value): (&Held, &[u8]),
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    let current = Current { record: held.record(request.name, value), stub: Some(held.stub.encode()) };
    let plan = plan(request, Some(current), held.gate, bench, out);
    apply(stores, store, request, plan, bench, out)
}

/// Appends the record of a value that has been written to its file, and answers.
pub fn finish_large<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    (planned, stub): (&Planned, &Stub),
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    let Planned { marks, client_flags, expiry, client_cas, gate, .. } = *planned;
    let value = stub.encode();
    let write = Write { kind: Kind::Stub, marks, client_flags, expiry, client_cas, key: request.name, value: &value };
    match stores.append(store, &request.key, write, bench.now) {
        Ok(appended) => {
            note_append(request, Kind::Stub, bench);
            out.extend_from_slice(&planned.answered);
            if let Some(outcome) = &planned.outcome {
                tell(request, outcome, bench.cas.of_seq(appended.seq), bench.now.unix, out);
            }
            Step::Done { gate: gate.max(appended.gate), failed: false }
        }
        Err(Refusal::Busy) => Step::Park(Wait::Busy),
        Err(refusal) => {
            stores.drop_value(store, stub);
            refused(request, &refusal, bench.counters, out)
        }
    }
}

/// Whether the command needs the value that `record` only names. A meta get that does not show it needs its length
/// alone (see [`blank`]).
pub(super) fn wants_file(request: &KeyRequest<'_>, record: &Record<'_>) -> bool {
    record.kind == Kind::Stub
        && (request.shows_value() || !request.is_meta_get())
        && request.action.operation().is_some_and(|operation| operation.needs_value())
}

/// A large item that is looked at but not shown.
pub(super) struct Blank {
    stub: [u8; Stub::LEN],
    /// As long as the value; nobody looks at it, so that its memory is never touched.
    value: Vec<u8>,
}

impl Blank {
    /// The current item, whose record is `record`.
    pub(super) fn current<'a>(&'a self, record: &Record<'a>) -> Current<'a> {
        let record = Record { kind: Kind::Value, value: &self.value, ..*record };
        Current { record, stub: Some(self.stub) }
    }
}

/// In the place of the value that `current` only names, for a meta get that does not show it.
pub(super) fn blank(request: &KeyRequest<'_>, current: &Current<'_>) -> Option<Blank> {
    if current.record.kind != Kind::Stub || !request.is_meta_get() {
        return None;
    }
    let stub = Stub::decode(current.record.value)?;
    Some(Blank { stub: stub.encode(), value: vec![0; stub.bytes as usize] })
}

pub(super) fn read_value<R>(
    request: &KeyRequest<'_>,
    record: &Record<'_>,
    gate: Gate,
    counters: &Counters,
    out: &mut Vec<u8>,
) -> Step<R> {
    match Held::of(record, gate) {
        Some(held) => Step::ReadValue(held),
        None => unreadable(request, "a record names no value file", counters, out),
    }
}
