//! One command on one key, from lookup to answer.
//!
//! memcached's commands become operations of the key-value service ([`fawn_kv::operation`]), which decides what is
//! appended and what is told. Everything that needs the current item takes two steps when that item is on flash:
//! [`begin`] names the read, [`resume`] goes on with its bytes.

mod large;
mod tell;

pub use large::{Held, Planned, finish_large, resume_large};
pub use tell::{
    CLOCK_NOT_SET, FLUSH_FAILED, count, hit_of, item_size, short, stopped_line, tell, tell_short, ttl, unreadable,
    unwritable,
};
#[cfg(test)]
pub use tell::{NO_SPACE, STOPPED, UNREADABLE};

use large::{blank, read_value, wants_file};
use tell::{note_unreadable, refused, show, stopped};

use crate::clock::Now;
use crate::counters::Counters;
use crate::recency::Recency;
use crate::stores::{Lookup, Stores};
use fawn_kv::operation::{self as kv, Append, Decision, Item, NewValue, Operation, Outcome, evaluate};
use fawn_memcache::{Answer, Command, Delete, Exptime, Hit, Mode, Responder, Stats, Store};
use fawn_ring::Key;
use fawn_store::large::Stub;
use fawn_store::record::{Kind, Marks, Record};
use fawn_store::timekeeper::Time;
use fawn_store::{Gate, Refusal, Write};

/// A command on one key.
#[derive(Clone, Copy, Debug)]
pub struct Keyed<'a> {
    /// The key's position.
    pub key: Key,
    /// The key.
    pub name: &'a [u8],
    /// The command.
    pub command: Command<'a>,
    /// Makes the answer's bytes.
    pub responder: Responder,
}

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

/// The command as an operation; `None` for `me`, which only looks.
pub fn operation<'a>(command: &Command<'a>, time: Time) -> Option<Operation<'a>> {
    let expiry = |exptime: Exptime| exptime.absolute(|seconds| time.expiry_in(seconds));
    Some(match command {
        Command::Get => Operation::Get,
        Command::GetAndTouch(exptime) => Operation::GetAndTouch { expiry: expiry(*exptime) },
        Command::MetaGet(get) => Operation::MetaGet(kv::MetaGet {
            vivify: get.vivify.map(expiry),
            recache: get
                .recache
                .map(|recache| kv::Recache { before: expiry(recache.threshold), after_touch: recache.after_touch }),
            touch: get.touch.map(expiry),
            compare: get.compare,
            new_cas: get.new_cas,
        }),
        Command::Store(store) => Operation::Store(kv::Store {
            mode: mode(store.mode, expiry),
            value: store.value,
            flags: store.flags,
            expiry: expiry(store.exptime),
            compare: store.compare,
            new_cas: store.new_cas,
            invalidate: store.invalidate,
        }),
        Command::ValueTooLarge(_) => Operation::Delete(kv::Delete::default()),
        Command::Touch(exptime) => Operation::Touch { expiry: expiry(*exptime) },
        Command::Delete(delete) => Operation::Delete(kv::Delete {
            compare: delete.compare,
            new_cas: delete.new_cas,
            invalidate: delete.invalidate,
            expiry: delete.exptime.map(expiry),
            drop_value: delete.drop_value,
            flags: delete.flags,
        }),
        Command::Arithmetic(step) => Operation::Arithmetic(kv::Arithmetic {
            decrement: step.decrement,
            delta: step.delta,
            initial: step.initial,
            vivify: step.vivify.map(expiry),
            touch: step.touch.map(expiry),
            compare: step.compare,
            new_cas: step.new_cas,
        }),
        Command::MetaDebug => return None,
        _ => unreachable!("commands without a key do not come here"),
    })
}

fn mode(mode: Mode, expiry: impl Fn(Exptime) -> u32) -> kv::Mode {
    match mode {
        Mode::Set => kv::Mode::Set,
        Mode::Add => kv::Mode::Add,
        Mode::Replace => kv::Mode::Replace,
        Mode::Cas => kv::Mode::Cas,
        Mode::Append { vivify } => kv::Mode::Append { vivify: vivify.map(expiry) },
        Mode::Prepend { vivify } => kv::Mode::Prepend { vivify: vivify.map(expiry) },
    }
}

impl<'a> Keyed<'a> {
    /// Whether later commands on the key must wait while this one waits for a read: it may change what it reads.
    pub fn holds_key(&self) -> bool {
        !matches!(self.command, Command::Get | Command::MetaDebug)
    }

    /// Whether it changes nothing but who was here last: what latencies of gets are told of.
    #[inline]
    pub fn only_looks(&self) -> bool {
        match self.command {
            Command::Get | Command::MetaDebug => true,
            Command::MetaGet(get) => get.vivify.is_none() && get.recache.is_none() && get.touch.is_none(),
            _ => false,
        }
    }

    /// Whether the answer to a hit has the value in it.
    pub fn shows_value(&self) -> bool {
        match self.command {
            Command::Get | Command::GetAndTouch(_) => true,
            Command::MetaGet(get) => get.wants_value,
            _ => false,
        }
    }

    /// Whether it gives something a time to live, or a delay to what it does: a clock has to say when that is over.
    #[inline]
    pub fn sets_expiry(&self) -> bool {
        let is_to_come = |exptime: Option<Exptime>| exptime.is_some_and(Exptime::needs_clock);
        match &self.command {
            Command::GetAndTouch(exptime) | Command::Touch(exptime) => exptime.needs_clock(),
            Command::Store(store) => {
                let vivify =
                    if let Mode::Append { vivify } | Mode::Prepend { vivify } = store.mode { vivify } else { None };
                store.exptime.needs_clock() || is_to_come(vivify)
            }
            Command::MetaGet(get) => is_to_come(get.vivify) || is_to_come(get.touch),
            Command::Delete(delete) => is_to_come(delete.exptime),
            Command::Arithmetic(step) => is_to_come(step.vivify) || is_to_come(step.touch),
            _ => false,
        }
    }

    /// The command without its value, and the value.
    pub fn split(&self) -> (Command<'static>, &'a [u8]) {
        Self::split_command(&self.command)
    }

    /// `command` without its value, and the value.
    pub fn split_command(command: &Command<'a>) -> (Command<'static>, &'a [u8]) {
        let command = match *command {
            Command::Store(store) => return (Command::Store(Store { value: b"", ..store }), store.value),
            Command::Get => Command::Get,
            Command::GetAndTouch(exptime) => Command::GetAndTouch(exptime),
            Command::MetaGet(get) => Command::MetaGet(get),
            Command::ValueTooLarge(delete) => Command::ValueTooLarge(delete),
            Command::Touch(exptime) => Command::Touch(exptime),
            Command::Delete(delete) => Command::Delete(delete),
            Command::Arithmetic(step) => Command::Arithmetic(step),
            Command::MetaDebug => Command::MetaDebug,
            Command::FlushAll(exptime) => Command::FlushAll(exptime),
            Command::Dump(dump) => Command::Dump(dump),
            Command::Stats(stats) => Command::Stats(match stats {
                Stats::General => Stats::General,
                Stats::Settings => Stats::Settings,
                Stats::Items => Stats::Items,
                Stats::Slabs => Stats::Slabs,
                Stats::Sizes => Stats::Sizes,
                Stats::Connections => Stats::Connections,
                Stats::Reset | Stats::Detail(_) | Stats::Cachedump { .. } | Stats::Other(_) => {
                    unreachable!("other reports never have to wait")
                }
            }),
            _ => unreachable!("other commands never have to wait"),
        };
        (command, b"")
    }

    /// Puts the value back that [`split`](Self::split) took off.
    pub fn join(command: Command<'a>, value: &'a [u8]) -> Command<'a> {
        match command {
            Command::Store(store) => Command::Store(Store { value, ..store }),
            other => other,
        }
    }

    /// Appends the answer.
    pub fn write(&self, out: &mut Vec<u8>, answer: &Answer<'_>) {
        self.responder.write(out, self.name, answer);
    }
}

/// Starts a command; its answer is appended to `out` if it needs no read.
pub fn begin<S: Stores>(
    stores: &mut S,
    store: usize,
    keyed: &Keyed<'_>,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    let blind = matches!(keyed.command, Command::Store(Store { mode: Mode::Set, .. }));
    if blind || matches!(keyed.command, Command::ValueTooLarge(too_large) if !too_large.delete) {
        let plan = plan(keyed, None, Gate::NONE, bench, out);
        return apply(stores, store, keyed, plan, bench, out);
    }
    let plan = match stores.lookup(store, &keyed.key, keyed.name, bench.now) {
        Lookup::Found(record, gate) if wants_file(keyed, &record) => {
            return read_value(keyed, &record, gate, bench.counters, out);
        }
        Lookup::Found(record, _) if record.value.len() > bench.unasked_bytes && keyed.shows_value() => {
            return Step::Ask(record.value.len());
        }
        Lookup::Found(record, gate) if matches!(keyed.command, Command::Get) => {
            return get_now(keyed, &record, gate, bench, out);
        }
        Lookup::Found(record, gate) => plan(keyed, Some(Current { record, stub: None }), gate, bench, out),
        Lookup::Absent(gate) => plan(keyed, None, gate, bench, out),
        Lookup::Read(read) => return Step::Read(read),
        Lookup::Loading if bench.stopped => return stopped(keyed, out),
        Lookup::Loading => return Step::Park(Wait::Loading),
        Lookup::Failed(why) => return unread(stores, store, keyed, &why, bench, out),
    };
    apply(stores, store, keyed, plan, bench, out)
}

/// Goes on with a command whose item cannot be read: a delete needs nothing of it, whatever it was, and nothing else can.
pub fn unread<S: Stores>(
    stores: &mut S,
    store: usize,
    keyed: &Keyed<'_>,
    why: &str,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    let is_blind = |delete: &Delete| delete.compare.is_none() && !delete.invalidate && !delete.drop_value;
    if !matches!(&keyed.command, Command::Delete(delete) if is_blind(delete)) {
        return unreadable(keyed, why, bench.counters, out);
    }
    let outcome = Some(Outcome::Deleted);
    let (append, kind, start) = (Append::Delete, Kind::Value, out.len());
    let plan = Plan { append, outcome, counts: outcome, gate: Gate::NONE, start, kind };
    let step = apply(stores, store, keyed, plan, bench, out);
    if !matches!(step, Step::Park(_)) {
        note_unreadable(why, bench.counters);
    }
    step
}

/// A plain get of an item in DRAM: what nearly every request is.
#[inline]
fn get_now<R>(keyed: &Keyed<'_>, record: &Record<'_>, gate: Gate, bench: &mut Bench<'_>, out: &mut Vec<u8>) -> Step<R> {
    let cas = bench.cas.of(record);
    keyed.write(out, &Answer::Hit(Hit { flags: record.client_flags, cas, ..Hit::of(record.value) }));
    bench.counters.cmd_get.add(1);
    bench.counters.get_hits.add(1);
    bench.recency.fetched(&keyed.key, bench.now.unix);
    Step::Done { gate, failed: false }
}

/// Goes on with what the read of a command found, and what an answer that shows it waits for.
pub fn resume<S: Stores>(
    stores: &mut S,
    store: usize,
    keyed: &Keyed<'_>,
    (found, gate): (Option<Record<'_>>, Gate),
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    if let Some(record) = &found
        && wants_file(keyed, record)
    {
        return read_value(keyed, record, gate, bench.counters, out);
    }
    let current = found.map(|record| Current { record, stub: None });
    let plan = plan(keyed, current, gate, bench, out);
    apply(stores, store, keyed, plan, bench, out)
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
    keyed: &Keyed<'a>,
    current: Option<Current<'_>>,
    gate: Gate,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Plan<'a> {
    let blank = current.and_then(|current| blank(keyed, &current));
    let current = current.map(|current| blank.as_ref().map_or(current, |blank| blank.current(&current.record)));
    let kind =
        current.map_or(Kind::Value, |current| if current.stub.is_some() { Kind::Stub } else { current.record.kind });
    let (start, now) = (out.len(), bench.now.unix);
    if matches!(keyed.command, Command::ValueTooLarge(too_large) if !too_large.delete) {
        let outcome = Some(Outcome::NotFound);
        return Plan { append: Append::Nothing, outcome, counts: None, gate, start, kind };
    }
    let Some(operation) = operation(&keyed.command, bench.now.time) else {
        show(keyed, current.map(|current| current.record).as_ref(), bench, out);
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
        let meta = matches!(keyed.command, Command::MetaGet(_));
        let last = if meta { bench.recency.get(&keyed.key) } else { None };
        keyed.write(out, &Answer::Hit(hit_of(&item, &hit, bench.now.unix, last)));
        if !matches!(keyed.command, Command::MetaGet(get) if get.untraced) {
            bench.recency.fetched(&keyed.key, now);
        }
        outcome = None;
    }
    Plan { append, outcome, counts, gate, start, kind }
}

/// Appends what was decided and writes the answer.
fn apply<S: Stores>(
    stores: &mut S,
    store: usize,
    keyed: &Keyed<'_>,
    Plan { append, outcome, counts, gate, start, kind }: Plan<'_>,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    let write = match &append {
        Append::Nothing => None,
        Append::Delete => Some(Write::delete(keyed.name)),
        Append::Value(version) => Some(Write {
            kind: if version.value == NewValue::Unchanged { kind } else { Kind::Value },
            marks: Marks { stale: version.stale, won: version.won },
            client_flags: version.flags,
            expiry: version.expiry,
            client_cas: version.client_cas,
            key: keyed.name,
            value: match &version.value {
                NewValue::Given(value) => value,
                NewValue::Made(value) => value,
                NewValue::Unchanged => bench.scratch,
            },
        }),
    };
    let (mut cas, mut gate) = (0, gate);
    if let Some(write) = write {
        let appended = stores.append(store, &keyed.key, write, bench.now);
        if !matches!(appended, Err(Refusal::Busy)) {
            count(keyed, counts.as_ref(), bench.counters);
        }
        match appended {
            Ok(appended) => {
                (cas, gate) = (bench.cas.of_seq(appended.seq), gate.max(appended.gate));
                note_append(keyed, write.kind, bench);
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
                return refused(keyed, &refusal, bench.counters, out);
            }
        }
    } else {
        count(keyed, counts.as_ref(), bench.counters);
    }
    if let Some(outcome) = outcome {
        tell(keyed, &outcome, cas, bench.now.unix, out);
    }
    Step::Done { gate, failed: false }
}

fn note_append(keyed: &Keyed<'_>, kind: Kind, bench: &mut Bench<'_>) {
    *bench.appends += 1;
    if kind != Kind::Delete
        && !matches!(keyed.command, Command::Touch(_) | Command::GetAndTouch(_) | Command::MetaGet(_))
    {
        bench.counters.total_items.add(1);
        bench.recency.stored(&keyed.key, bench.now.unix);
    }
}
