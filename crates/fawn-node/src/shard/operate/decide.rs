//! What an operation appends and what it comes to.

use super::context::{OperationContext, OperationStep, PlannedVersion};
use super::reply::{count, refused, show, shown_item, write_outcome};
use crate::request::{KeyAction, KeyRequest, ReplyBody};
use crate::shard::stores::Stores;
use fawn_kv::operation as kv;
use fawn_kv::operation::{Append, Decision, Item, NewValue, Operation, Outcome, evaluate};
use fawn_store::large::Stub;
use fawn_store::record::{Kind, Marks, Record};
use fawn_store::{Gate, Refusal, Write};

/// The current item.
#[derive(Clone, Copy)]
pub(super) struct Current<'a> {
    /// Its record, with the value if that was wanted.
    pub(super) record: Record<'a>,
    /// What the record has in the place of a value that was read from a file.
    pub(super) stub: Option<[u8; Stub::LEN]>,
}

/// A decision on its way into the log.
pub(super) struct WritePlan<'a> {
    pub(super) append: Append<'a>,
    pub(super) outcome: Option<Outcome>,
    /// What the command is counted as, once it is done.
    pub(super) counts: Option<Outcome>,
    pub(super) gate: Gate,
    /// Where the answer begins in the output.
    pub(super) start: usize,
    /// Kind of the record that holds the current value.
    pub(super) kind: Kind,
}

/// Decides, and writes those answers that show the current item while it can be seen.
pub(super) fn plan<'a>(
    request: &KeyRequest<'a>,
    current: Option<Current<'_>>,
    gate: Gate,
    context: &mut OperationContext<'_>,
    out: &mut Vec<u8>,
) -> WritePlan<'a> {
    let blank = current.and_then(|current| blank(request, &current));
    let current = current.map(|current| blank.as_ref().map_or(current, |blank| blank.current(&current.record)));
    let kind =
        current.map_or(Kind::Value, |current| if current.stub.is_some() { Kind::Stub } else { current.record.kind });
    let (start, now) = (out.len(), context.now.unix);
    let Some(operation) = request.action.operation() else {
        show(request, current.map(|current| current.record).as_ref(), context, out);
        return WritePlan { append: Append::Nothing, outcome: None, counts: None, gate, start, kind };
    };
    let item = current.map(|Current { record, .. }| Item {
        value: record.value,
        flags: record.client_flags,
        expiry: record.expiry,
        cas: context.cas.of(&record),
        stale: record.marks.stale,
        won: record.marks.won,
    });
    let Decision { append, outcome, shown } = evaluate(operation, item, now, context.max_value_bytes);
    if matches!(append, Append::Value(kv::Version { value: NewValue::Unchanged, .. })) {
        context.scratch.clear();
        match &current {
            Some(Current { stub: Some(stub), .. }) => context.scratch.extend_from_slice(stub),
            current => context.scratch.extend_from_slice(current.map_or(b"", |current| current.record.value)),
        }
    }
    let counts = Some(outcome);
    let mut outcome = Some(outcome);
    if let (Some(Outcome::Hit(hit)), Some(item)) = (outcome, item)
        && !hit.created
    {
        let last = if request.is_meta_get() { context.recency.get(&request.key) } else { None };
        request.write(out, &ReplyBody::Item(shown_item(&item, &hit, context.now.unix, last)));
        if !request.is_untraced() {
            context.recency.fetched(&request.key, now);
        }
        outcome = None;
    }
    if outcome == Some(Outcome::Computed) {
        request.write(out, &ReplyBody::Computed(&shown));
        outcome = None;
    }
    WritePlan { append, outcome, counts, gate, start, kind }
}

/// Appends what was decided and writes the answer.
pub(super) fn apply<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    WritePlan { append, outcome, counts, gate, start, kind }: WritePlan<'_>,
    context: &mut OperationContext<'_>,
    out: &mut Vec<u8>,
) -> OperationStep<S::Read> {
    let write = match &append {
        Append::Nothing => None,
        Append::Delete => Some(Write::delete(request.name)),
        Append::Value(version) => Some(Write {
            kind: if version.value == NewValue::Unchanged { kind } else { Kind::Value },
            marks: Marks { stale: version.stale, won: version.won },
            client_flags: version.flags,
            expiry: version.expiry,
            client_cas: version.client_cas,
            key: request.name,
            value: match &version.value {
                NewValue::Given(value) => value,
                NewValue::Made(value) => value,
                NewValue::Unchanged => context.scratch,
            },
        }),
    };
    let (mut cas, mut gate) = (0, gate);
    if let Some(write) = write {
        let appended = stores.append(store, &request.key, write, context.now);
        if !matches!(appended, Err(Refusal::Busy)) {
            count(request, counts.as_ref(), context.counters);
        }
        match appended {
            Ok(appended) => {
                (cas, gate) = (context.cas.of_seq(appended.seq), gate.max(appended.gate));
                note_append(request, write.kind, context);
            }
            Err(Refusal::TooLarge) if write.kind == Kind::Value => {
                let Write { marks, client_flags, expiry, client_cas, .. } = write;
                let answered = out.split_off(start);
                let value_bytes = write.value.len();
                let planned =
                    PlannedVersion { value_bytes, marks, client_flags, expiry, client_cas, gate, outcome, answered };
                return OperationStep::WriteValue(planned, write.value.to_vec());
            }
            Err(refusal) => {
                out.truncate(start);
                return refused(request, &refusal, context.counters, out);
            }
        }
    } else {
        count(request, counts.as_ref(), context.counters);
    }
    if let Some(outcome) = outcome {
        write_outcome(request, &outcome, cas, context.now.unix, out);
    }
    OperationStep::Done { gate, failed: false }
}

pub(super) fn note_append(request: &KeyRequest<'_>, kind: Kind, context: &mut OperationContext<'_>) {
    *context.appends += 1;
    if kind != Kind::Delete
        && !matches!(
            request.action,
            KeyAction::Operation(Operation::Touch { .. } | Operation::GetAndTouch { .. } | Operation::MetaGet(_))
        )
    {
        context.counters.total_items.add(1);
        context.recency.stored(&request.key, context.now.unix);
    }
}

/// A large item that is looked at but not shown.
struct Blank {
    stub: [u8; Stub::LEN],
    /// As long as the value; nobody looks at it, so that its memory is never touched.
    value: Vec<u8>,
}

impl Blank {
    /// The current item, whose record is `record`.
    fn current<'a>(&'a self, record: &Record<'a>) -> Current<'a> {
        let record = Record { kind: Kind::Value, value: &self.value, ..*record };
        Current { record, stub: Some(self.stub) }
    }
}

/// In the place of the value that `current` only names, for a meta get that does not show it.
fn blank(request: &KeyRequest<'_>, current: &Current<'_>) -> Option<Blank> {
    if current.record.kind != Kind::Stub || !request.is_meta_get() {
        return None;
    }
    let stub = Stub::decode(current.record.value)?;
    Some(Blank { stub: stub.encode(), value: vec![0; stub.bytes as usize] })
}
