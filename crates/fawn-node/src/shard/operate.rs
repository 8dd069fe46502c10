//! One request for one key, from lookup to reply.
//!
//! The key-value service ([`fawn_kv::operation`]) decides what an operation appends and what it comes to. Everything that
//! needs the current item takes two steps when that item is on flash: [`begin`] names the read, [`resume`] goes on with
//! its bytes.

mod context;
mod decide;
mod large;
mod reply;

pub use context::{CasNumbers, LargeRecord, OperationContext, OperationStep, PlannedVersion, Wait};
pub use large::{finish_large, resume_large};
pub use reply::{count, info_of, log_short, short, shown_item, unreadable, unwritable, write_outcome};

use crate::request::{KeyAction, KeyRequest, ReplyBody, ShownItem, ttl};
use crate::shard::stores::{LookupOutcome, Stores};
use decide::{Current, WritePlan, apply, plan};
use fawn_kv::operation::{Append, Delete, Operation, Outcome};
use fawn_store::Gate;
use fawn_store::record::{Kind, Record};
use large::{read_value, wants_file};
use reply::{log_unreadable, stopped};

/// Starts a command; its answer is appended to `out` if it needs no read.
pub fn begin<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    context: &mut OperationContext<'_>,
    out: &mut Vec<u8>,
) -> OperationStep<S::Read> {
    if matches!(&request.action, KeyAction::Operation(operation) if !operation.needs_current()) {
        let plan = plan(request, None, Gate::NONE, context, out);
        return apply(stores, store, request, plan, context, out);
    }
    let plan = match stores.lookup(store, &request.key, request.name, context.now) {
        LookupOutcome::Found(record, gate) if wants_file(request, &record) => {
            return read_value(request, &record, gate, context.counters, out);
        }
        LookupOutcome::Found(record, _) if record.value.len() > context.unreserved_bytes && request.shows_value() => {
            return OperationStep::Ask(record.value.len());
        }
        LookupOutcome::Found(record, gate) if request.is_get() => {
            return get_now(request, &record, gate, context, out);
        }
        LookupOutcome::Found(record, gate) => plan(request, Some(Current { record, stub: None }), gate, context, out),
        LookupOutcome::Absent(gate) => plan(request, None, gate, context, out),
        LookupOutcome::Read(read) => return OperationStep::Read(read),
        LookupOutcome::Loading if context.stopped => return stopped(request, out),
        LookupOutcome::Loading => return OperationStep::Park(Wait::Loading),
        LookupOutcome::Failed(why) => return unread(stores, store, request, &why, context, out),
    };
    apply(stores, store, request, plan, context, out)
}

/// Goes on with a command whose item cannot be read: a delete needs nothing of it, whatever it was, and nothing else can.
pub fn unread<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    why: &str,
    context: &mut OperationContext<'_>,
    out: &mut Vec<u8>,
) -> OperationStep<S::Read> {
    let is_blind = |delete: &Delete| delete.compare.is_none() && !delete.invalidate && !delete.drop_value;
    if !matches!(&request.action, KeyAction::Operation(Operation::Delete(delete)) if is_blind(delete)) {
        return unreadable(request, why, context.counters, out);
    }
    let outcome = Some(Outcome::Deleted);
    let (append, kind, start) = (Append::Delete, Kind::Value, out.len());
    let plan = WritePlan { append, outcome, counts: outcome, gate: Gate::NONE, start, kind };
    let step = apply(stores, store, request, plan, context, out);
    if !matches!(step, OperationStep::Park(_)) {
        log_unreadable(why, context.counters);
    }
    step
}

/// A plain get of an item in DRAM: what nearly every request is.
#[inline]
fn get_now<R>(
    request: &KeyRequest<'_>,
    record: &Record<'_>,
    gate: Gate,
    context: &mut OperationContext<'_>,
    out: &mut Vec<u8>,
) -> OperationStep<R> {
    let plain = ShownItem::plain(record.value, record.client_flags, context.cas.of(record));
    let item = ShownItem { ttl: ttl(record.expiry, context.now.unix), ..plain };
    request.write(out, &ReplyBody::Item(item));
    context.counters.cmd_get.add(1);
    context.counters.get_hits.add(1);
    context.recency.fetched(&request.key, context.now.unix);
    OperationStep::Done { gate, failed: false }
}

/// Goes on with what the read of a command found, and what an answer that shows it waits for.
pub fn resume<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    (found, gate): (Option<Record<'_>>, Gate),
    context: &mut OperationContext<'_>,
    out: &mut Vec<u8>,
) -> OperationStep<S::Read> {
    if let Some(record) = &found
        && wants_file(request, record)
    {
        return read_value(request, record, gate, context.counters, out);
    }
    let current = found.map(|record| Current { record, stub: None });
    let plan = plan(request, current, gate, context, out);
    apply(stores, store, request, plan, context, out)
}
