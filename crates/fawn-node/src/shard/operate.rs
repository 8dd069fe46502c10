//! One command on one key, from lookup to answer.
//!
//! The key-value service ([`fawn_kv::operation`]) decides what an operation appends and what it comes to. Everything that needs the current item takes two steps when that item is on flash:
//! [`begin`] names the read, [`resume`] goes on with its bytes.

mod large;
mod reply;

pub use large::{Held, Planned, finish_large, resume_large};
pub use reply::{count, info_of, short, shown_item, tell, tell_short, unreadable, unwritable};

use large::{blank, read_value, wants_file};
use reply::{note_unreadable, refused, show, stopped};

use crate::runtime::clock::Now;
use crate::observe::counters::Counters;
use crate::shard::recency::Recency;
use crate::request::{KeyAction, KeyRequest, ReplyBody, ShownItem};
use crate::shard::stores::{Lookup, Stores};
use fawn_kv::operation::{self as kv, Append, Decision, Delete, Item, NewValue, Operation, Outcome, evaluate};
use fawn_store::large::Stub;
use fawn_store::record::{Kind, Marks, Record};
use fawn_store::{Gate, Refusal, Write};

/// How far a command came.
#[derive(Debug)]
pub enum Step<R> {
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
    ReadValue(Held),
    /// Its answer needs room for this many bytes; then it must be tried again.
    Ask(usize),
    /// This value needs a file of its own; then call [`finish_large`].
    WriteValue(Planned, Vec<u8>),
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

/// What a command works with besides its store.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The store's cas numbers.
    pub cas: CasNumbers,
    /// The time.
    pub now: Now,
    /// Largest value, bytes.
    pub max_value_bytes: usize,
    /// Largest value that may be shown without asking whether there is room for it, in bytes.
    pub unasked_bytes: usize,
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

/// Starts a command; its answer is appended to `out` if it needs no read.
pub fn begin<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    if matches!(&request.action, KeyAction::Operation(operation) if !operation.needs_current()) {
        let plan = plan(request, None, Gate::NONE, bench, out);
        return apply(stores, store, request, plan, bench, out);
    }
    let plan = match stores.lookup(store, &request.key, request.name, bench.now) {
        Lookup::Found(record, gate) if wants_file(request, &record) => {
            return read_value(request, &record, gate, bench.counters, out);
        }
        Lookup::Found(record, _) if record.value.len() > bench.unasked_bytes && request.shows_value() => {
            return Step::Ask(record.value.len());
        }
        Lookup::Found(record, gate) if request.is_get() => {
            return get_now(request, &record, gate, bench, out);
        }
        Lookup::Found(record, gate) => plan(request, Some(Current { record, stub: None }), gate, bench, out),
        Lookup::Absent(gate) => plan(request, None, gate, bench, out),
        Lookup::Read(read) => return Step::Read(read),
        Lookup::Loading if bench.stopped => return stopped(request, out),
        Lookup::Loading => return Step::Park(Wait::Loading),
        Lookup::Failed(why) => return unread(stores, store, request, &why, bench, out),
    };
    apply(stores, store, request, plan, bench, out)
}

/// Goes on with a command whose item cannot be read: a delete needs nothing of it, whatever it was, and nothing else can.
pub fn unread<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    why: &str,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    let is_blind = |delete: &Delete| delete.compare.is_none() && !delete.invalidate && !delete.drop_value;
    if !matches!(&request.action, KeyAction::Operation(Operation::Delete(delete)) if is_blind(delete)) {
        return unreadable(request, why, bench.counters, out);
    }
    let outcome = Some(Outcome::Deleted);
    let (append, kind, start) = (Append::Delete, Kind::Value, out.len());
    let plan = Plan { append, outcome, counts: outcome, gate: Gate::NONE, start, kind };
    let step = apply(stores, store, request, plan, bench, out);
    if !matches!(step, Step::Park(_)) {
        note_unreadable(why, bench.counters);
    }
    step
}

/// A plain get of an item in DRAM: what nearly every request is.
#[inline]
fn get_now<R>(
    request: &KeyRequest<'_>,
    record: &Record<'_>,
    gate: Gate,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<R> {
    let item = ShownItem::plain(record.value, record.client_flags, bench.cas.of(record));
    request.write(out, &ReplyBody::Item(item));
    bench.counters.cmd_get.add(1);
    bench.counters.get_hits.add(1);
    bench.recency.fetched(&request.key, bench.now.unix);
    Step::Done { gate, failed: false }
}

/// Goes on with what the read of a command found, and what an answer that shows it waits for.
pub fn resume<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    (found, gate): (Option<Record<'_>>, Gate),
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    if let Some(record) = &found
        && wants_file(request, record)
    {
        return read_value(request, record, gate, bench.counters, out);
    }
    let current = found.map(|record| Current { record, stub: None });
    let plan = plan(request, current, gate, bench, out);
    apply(stores, store, request, plan, bench, out)
}

/// The current item.
#[derive(Clone, Copy)]
struct Current<'a> {
    /// Its record, with the value if that was wanted.
    record: Record<'a>,
    /// What the record has in the place of a value that was read from a file.
    stub: Option<[u8; Stub::LEN]>,
}

/// A decision on its way into the log.
struct Plan<'a> {
    append: Append<'a>,
    outcome: Option<Outcome>,
    /// What the command is counted as, once it is done.
    counts: Option<Outcome>,
    gate: Gate,
    /// Where the answer begins in the output.
    start: usize,
    /// Kind of the record that holds the current value.
    kind: Kind,
}

/// Decides, and writes those answers that show the current item while it can be seen.
fn plan<'a>(
    request: &KeyRequest<'a>,
    current: Option<Current<'_>>,
    gate: Gate,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Plan<'a> {
    let blank = current.and_then(|current| blank(request, &current));
    let current = current.map(|current| blank.as_ref().map_or(current, |blank| blank.current(&current.record)));
    let kind =
        current.map_or(Kind::Value, |current| if current.stub.is_some() { Kind::Stub } else { current.record.kind });
    let (start, now) = (out.len(), bench.now.unix);
    let Some(operation) = request.action.operation() else {
        show(request, current.map(|current| current.record).as_ref(), bench, out);
        return Plan { append: Append::Nothing, outcome: None, counts: None, gate, start, kind };
    };
    let item = current.map(|Current { record, .. }| Item {
        value: record.value,
        flags: record.client_flags,
        expiry: record.expiry,
        cas: bench.cas.of(&record),
        stale: record.marks.stale,
        won: record.marks.won,
    });
    let Decision { append, outcome } = evaluate(&operation, item, now, bench.max_value_bytes);
    if matches!(append, Append::Value(kv::Version { value: NewValue::Unchanged, .. })) {
        bench.scratch.clear();
        match &current {
            Some(Current { stub: Some(stub), .. }) => bench.scratch.extend_from_slice(stub),
            current => bench.scratch.extend_from_slice(current.map_or(b"", |current| current.record.value)),
        }
    }
    let counts = Some(outcome);
    let mut outcome = Some(outcome);
    if let (Some(Outcome::Hit(hit)), Some(item)) = (outcome, item)
        && !hit.created
    {
        let last = if request.is_meta_get() { bench.recency.get(&request.key) } else { None };
        request.write(out, &ReplyBody::Item(shown_item(&item, &hit, bench.now.unix, last)));
        if !request.is_untraced() {
            bench.recency.fetched(&request.key, now);
        }
        outcome = None;
    }
    Plan { append, outcome, counts, gate, start, kind }
}

/// Appends what was decided and writes the answer.
fn apply<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    Plan { append, outcome, counts, gate, start, kind }: Plan<'_>,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
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
                NewValue::Unchanged => bench.scratch,
            },
        }),
    };
    let (mut cas, mut gate) = (0, gate);
    if let Some(write) = write {
        let appended = stores.append(store, &request.key, write, bench.now);
        if !matches!(appended, Err(Refusal::Busy)) {
            count(request, counts.as_ref(), bench.counters);
        }
        match appended {
            Ok(appended) => {
                (cas, gate) = (bench.cas.of_seq(appended.seq), gate.max(appended.gate));
                note_append(request, write.kind, bench);
            }
            Err(Refusal::TooLarge) if write.kind == Kind::Value => {
                let Write { marks, client_flags, expiry, client_cas, .. } = write;
                let answered = out.split_off(start);
                let value_bytes = write.value.len();
                let planned = Planned { value_bytes, marks, client_flags, expiry, client_cas, gate, outcome, answered };
                return Step::WriteValue(planned, write.value.to_vec());
            }
            Err(refusal) => {
                out.truncate(start);
                return refused(request, &refusal, bench.counters, out);
            }
        }
    } else {
        count(request, counts.as_ref(), bench.counters);
    }
    if let Some(outcome) = outcome {
        tell(request, &outcome, cas, bench.now.unix, out);
    }
    Step::Done { gate, failed: false }
}

fn note_append(request: &KeyRequest<'_>, kind: Kind, bench: &mut Bench<'_>) {
    *bench.appends += 1;
    if kind != Kind::Delete
        && !matches!(
            request.action,
            KeyAction::Operation(Operation::Touch { .. } | Operation::GetAndTouch { .. } | Operation::MetaGet(_))
        )
    {
        bench.counters.total_items.add(1);
        bench.recency.stored(&request.key, bench.now.unix);
    }
}
