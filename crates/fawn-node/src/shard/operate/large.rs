//! Values with files of their own: read before the request can go on, or written before its record is appended.

use super::context::{LargeRecord, OperationContext, OperationStep, PlannedVersion, Wait};
use super::decide::{Current, apply, note_append, plan};
use super::reply::{refused, unreadable, write_outcome};
use crate::observe::counters::Counters;
use crate::request::KeyRequest;
use crate::shard::stores::Stores;
use fawn_kv::operation::Operation;
use fawn_store::large::Stub;
use fawn_store::record::{Kind, Record};
use fawn_store::{Gate, Refusal, Write};

/// Goes on with a value that was read from its file, `value` being all of it.
pub fn resume_large<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    (held, value): (&LargeRecord, &[u8]),
    context: &mut OperationContext<'_>,
    out: &mut Vec<u8>,
) -> OperationStep<S::Read> {
    let current = Current { record: held.record(request.name, value), stub: Some(held.stub.encode()) };
    let plan = plan(request, Some(current), held.gate, context, out);
    apply(stores, store, request, plan, context, out)
}

/// Appends the record of a value that has been written to its file, and answers.
pub fn finish_large<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    (planned, stub): (&PlannedVersion, &Stub),
    context: &mut OperationContext<'_>,
    out: &mut Vec<u8>,
) -> OperationStep<S::Read> {
    let PlannedVersion { marks, client_flags, expiry, client_cas, gate, .. } = *planned;
    let value = stub.encode();
    let write = Write { kind: Kind::Stub, marks, client_flags, expiry, client_cas, key: request.name, value: &value };
    match stores.append(store, &request.key, write, context.now) {
        Ok(appended) => {
            note_append(request, Kind::Stub, context);
            out.extend_from_slice(&planned.answered);
            if let Some(outcome) = &planned.outcome {
                write_outcome(request, outcome, context.cas.of_seq(appended.seq), context.now.unix, out);
            }
            OperationStep::Done { gate: gate.max(appended.gate), failed: false }
        }
        Err(Refusal::Busy) => OperationStep::Park(Wait::Busy),
        Err(refusal) => {
            stores.drop_value(store, stub);
            refused(request, &refusal, context.counters, out)
        }
    }
}

/// Whether the command needs the value that `record` only names. A meta get that does not show it needs its length
/// alone (see `blank` in `decide.rs`).
pub(super) fn wants_file(request: &KeyRequest<'_>, record: &Record<'_>) -> bool {
    record.kind == Kind::Stub
        && (request.shows_value() || !request.is_meta_get())
        && request.action.operation().is_some_and(Operation::needs_value)
}

pub(super) fn read_value<R>(
    request: &KeyRequest<'_>,
    record: &Record<'_>,
    gate: Gate,
    counters: &Counters,
    out: &mut Vec<u8>,
) -> OperationStep<R> {
    match LargeRecord::of(record, gate) {
        Some(held) => OperationStep::ReadValue(held),
        None => unreadable(request, "a record names no value file", counters, out),
    }
}
