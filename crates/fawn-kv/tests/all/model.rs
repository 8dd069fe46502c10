//! A server of one connection: the protocol over the operations over a map.

use fawn_kv::operation;
use fawn_kv::operation::{Append, Hit, Item, NewValue, Operation, Outcome, Recache, evaluate};
use fawn_memcache::{Command, CommandOutcome, CommandRequest, Mode, Session, SessionEvent, SessionLimits, Stats};
use std::collections::HashMap;
use std::mem;

pub struct Server {
    items: HashMap<Vec<u8>, Stored>,
    session: Session,
    /// Bytes received and not consumed.
    pending: Vec<u8>,
    /// The answers to a line of keys that is not whole yet.
    line: Vec<u8>,
    seq: u64,
    now: u32,
    closed: bool,
}

struct Stored {
    value: Vec<u8>,
    flags: u32,
    expiry: u32,
    cas: u64,
    stale: bool,
    won: bool,
}

impl Server {
    pub fn new(now: u32) -> Self {
        let session = Session::new(SessionLimits::default());
        Self { items: HashMap::new(), session, pending: Vec::new(), line: Vec::new(), seq: 0, now, closed: false }
    }

    /// Everything that comes back for more `input`, and whether the connection is closed.
    pub fn converse(&mut self, input: &[u8]) -> (Vec<u8>, bool) {
        let mut pending = mem::take(&mut self.pending);
        pending.extend_from_slice(input);
        let (mut rest, mut out) = (&pending[..], Vec::new());
        let mut session = self.session.clone();
        while !self.closed {
            let step = session.next(rest);
            rest = &rest[step.consumed..];
            match step.event {
                SessionEvent::Request(request) => {
                    self.serve(&request);
                    if request.responder.is_last() {
                        out.append(&mut self.line);
                    }
                }
                SessionEvent::Reply(line) => out.extend_from_slice(line.as_bytes()),
                SessionEvent::Abandon(line) => {
                    self.line.clear();
                    out.extend_from_slice(line.as_bytes());
                }
                SessionEvent::NeedMore { total } => {
                    assert!(total > rest.len(), "what is there is enough");
                    break;
                }
                SessionEvent::Close => self.closed = true,
            }
        }
        self.session = session;
        self.pending = rest.to_vec();
        (out, self.closed)
    }

    fn serve(&mut self, request: &CommandRequest<'_>) {
        let Some(operation) = operation(request.command, self.now) else {
            return self.serve_other(request);
        };
        let limit = SessionLimits::default().item_bytes - SessionLimits::item_size(request.key.len(), 0, 0);
        let now = self.now;
        let stored = self.items.get(request.key).filter(|_| operation.needs_current());
        let decision = evaluate(&operation, stored.map(Stored::item), now, limit);
        let old = stored.map(|stored| (stored.value.clone(), stored.flags)).unwrap_or_default();
        let (seq, old) = (
            self.seq + 1,
            if matches!(decision.outcome, Outcome::Hit(hit) if hit.created) { Default::default() } else { old },
        );
        self.append(request.key, decision.append, seq);
        request.responder.write(
            &mut self.line,
            request.key,
            &answer(&decision.outcome, request.command, &old, seq, now),
        );
    }

    fn append(&mut self, key: &[u8], append: Append<'_>, seq: u64) {
        match append {
            Append::Nothing => return,
            Append::Delete => {
                self.items.remove(key);
            }
            Append::Value(version) => {
                let value = match version.value {
                    NewValue::Given(value) => value.to_vec(),
                    NewValue::Made(value) => value,
                    NewValue::Unchanged => self.items.remove(key).unwrap().value,
                };
                let cas = version.client_cas.unwrap_or(seq);
                let (flags, expiry) = (version.flags, version.expiry);
                let stored = Stored { value, flags, expiry, cas, stale: version.stale, won: version.won };
                self.items.insert(key.to_vec(), stored);
            }
        }
        self.seq = seq;
    }

    fn serve_other(&mut self, request: &CommandRequest<'_>) {
        let answer = match request.command {
            Command::ValueTooLarge(too_large) => {
                if too_large.delete {
                    self.items.remove(request.key);
                }
                CommandOutcome::TooLarge
            }
            Command::MetaDebug => CommandOutcome::Miss,
            Command::Noop => CommandOutcome::Noop,
            Command::Version => CommandOutcome::Version("1.6.45"),
            Command::Stats(Stats::Reset) => CommandOutcome::Reset,
            Command::Stats(Stats::Other(_)) => CommandOutcome::Error("ERROR"),
            _ => CommandOutcome::Ok,
        };
        request.responder.write(&mut self.line, request.key, &answer);
    }
}

impl Stored {
    fn item(&self) -> Item<'_> {
        let Self { flags, expiry, cas, stale, won, .. } = *self;
        Item { value: &self.value, flags, expiry, cas, stale, won }
    }
}

/// A command as an operation; `None` when it is none of the item's.
fn operation(command: Command<'_>, now: u32) -> Option<Operation<'_>> {
    let absolute = |exptime: Option<fawn_memcache::Exptime>| {
        exptime.map(|exptime| exptime.absolute(|seconds| now.saturating_add(seconds)))
    };
    Some(match command {
        Command::Get => Operation::Get,
        Command::GetAndTouch(exptime) => {
            Operation::GetAndTouch { expiry: exptime.absolute(|seconds| now.saturating_add(seconds)) }
        }
        Command::Touch(exptime) => Operation::Touch { expiry: exptime.absolute(|seconds| now.saturating_add(seconds)) },
        Command::MetaGet(get) => Operation::MetaGet(operation::MetaGet {
            vivify: absolute(get.vivify),
            recache: get.recache.map(|recache| Recache {
                before: recache.threshold.absolute(|seconds| now.saturating_add(seconds)),
                after_touch: recache.after_touch,
            }),
            touch: absolute(get.touch),
            compare: get.compare,
            new_cas: get.new_cas,
        }),
        Command::Store(store) => Operation::Store(operation::Store {
            mode: match store.mode {
                Mode::Set => operation::Mode::Set,
                Mode::Add => operation::Mode::Add,
                Mode::Replace => operation::Mode::Replace,
                Mode::Cas => operation::Mode::Cas,
                Mode::Append { vivify } => operation::Mode::Append { vivify: absolute(vivify) },
                Mode::Prepend { vivify } => operation::Mode::Prepend { vivify: absolute(vivify) },
            },
            value: store.value,
            flags: store.flags,
            expiry: store.exptime.absolute(|seconds| now.saturating_add(seconds)),
            compare: store.compare,
            new_cas: store.new_cas,
            invalidate: store.invalidate,
        }),
        Command::Delete(delete) => Operation::Delete(operation::Delete {
            compare: delete.compare,
            new_cas: delete.new_cas,
            invalidate: delete.invalidate,
            expiry: absolute(delete.exptime),
            drop_value: delete.drop_value,
            flags: delete.flags,
        }),
        Command::Arithmetic(step) => Operation::Arithmetic(operation::Arithmetic {
            decrement: step.decrement,
            delta: step.delta,
            initial: step.initial,
            vivify: absolute(step.vivify),
            touch: absolute(step.touch),
            compare: step.compare,
            new_cas: step.new_cas,
        }),
        _ => return None,
    })
}

/// An outcome as an answer. `old` is the item's value and flags before.
fn answer<'a>(
    outcome: &Outcome,
    command: Command<'_>,
    old: &'a (Vec<u8>, u32),
    seq: u64,
    now: u32,
) -> CommandOutcome<'a> {
    let ttl = |expiry: u32| (expiry != 0).then(|| expiry.saturating_sub(now));
    let sent = if let Command::Store(store) = command { store.value.len() } else { 0 };
    match *outcome {
        Outcome::Stored { cas, size } => CommandOutcome::Stored { cas: cas.resolve(seq), size },
        Outcome::NotStored => CommandOutcome::NotStored { size: sent },
        Outcome::Exists => CommandOutcome::Exists { size: sent },
        Outcome::NotFound => CommandOutcome::NotFound { size: sent },
        Outcome::Deleted => CommandOutcome::Deleted,
        Outcome::Touched => CommandOutcome::Touched,
        Outcome::NonNumeric => CommandOutcome::NonNumeric,
        Outcome::Miss => CommandOutcome::Miss,
        Outcome::Number(number) => CommandOutcome::Number(fawn_memcache::CounterValue {
            value: number.value,
            cas: number.cas.resolve(seq),
            ttl_before: ttl(number.expiry_before),
            ttl: ttl(number.expiry),
            created: number.created,
        }),
        Outcome::Hit(hit) => CommandOutcome::Hit(found(hit, old, seq, ttl)),
        Outcome::Integer(_) | Outcome::Computed | Outcome::Refused(_) => {
            panic!("no command of memcached's has {outcome:?}")
        }
    }
}

fn found(hit: Hit, old: &(Vec<u8>, u32), seq: u64, ttl: impl Fn(u32) -> Option<u32>) -> fawn_memcache::Hit<'_> {
    fawn_memcache::Hit {
        flags: old.1,
        cas: hit.cas.resolve(seq),
        ttl_before: ttl(hit.expiry_before),
        ttl: ttl(hit.expiry),
        created: hit.created,
        won: hit.won,
        stale: hit.stale,
        already_won: hit.already_won,
        hide_value: hit.same_version,
        ..fawn_memcache::Hit::of(&old.0)
    }
}
