//! The adapter of memcached's text and meta protocol: [`fawn_memcache`] is the codec.

use super::{ParserEvent, ParserOptions, ParserStep, Protocol, RequestParser, ServerRequest};
use crate::request::{
    GetView, ItemInfo, KeyAction, KeyRequest, ListingDetail, OperationReply, ReplyBody, ReplyForm, ReplyState,
    ReplyWriter, RequestError, ShownItem, StatsReport, ttl,
};
use fawn_kv::operation as kv;
use fawn_kv::operation::{Operation, Outcome};
use fawn_memcache::{
    Command, CommandOutcome, CommandRequest, CounterValue, Debug, Detail, Dump, Exptime, Hit, Mode, Responder, Session,
    SessionEvent, SessionLimits, Stats, lines, report,
};
use fawn_store::timekeeper::Time;

/// The protocol.
pub static MEMCACHED: Memcached = Memcached;

/// memcached's text and meta protocol.
#[derive(Debug)]
pub struct Memcached;

/// The parser of one connection.
#[derive(Debug)]
struct Parser(Session);

impl Protocol for Memcached {
    fn name(&self) -> &'static str {
        "memcached"
    }

    fn parser(&self, options: ParserOptions) -> Box<dyn RequestParser> {
        let limits = SessionLimits { item_bytes: options.max_item_bytes };
        let session = if options.authenticates { Session::with_authentication(limits) } else { Session::new(limits) };
        Box::new(Parser(session))
    }

    fn too_many_connections(&self) -> &'static [u8] {
        lines::TOO_MANY_CONNECTIONS.as_bytes()
    }
}

impl RequestParser for Parser {
    #[inline]
    fn next<'a>(&'a mut self, input: &'a [u8], time: &Time, out: &mut Vec<u8>) -> ParserStep<'a> {
        let step = self.0.next(input);
        let consumed = step.consumed;
        // Each event is made where the step is returned: they are large, and copying one costs as much as parsing a get.
        let event = match step.event {
            SessionEvent::Request(CommandRequest { key, command: Command::Get, responder }) => {
                let action = KeyAction::Operation(Operation::Get);
                return ParserStep {
                    consumed,
                    event: ParserEvent::Key(KeyRequest::new(key, action, form_of(responder))),
                };
            }
            SessionEvent::Request(request) => return ParserStep { consumed, event: event_of(&request, time, out) },
            SessionEvent::Reply(line) => {
                out.extend_from_slice(line.as_bytes());
                ParserEvent::Replied
            }
            SessionEvent::Abandon(line) => ParserEvent::Abandon(line.as_bytes()),
            SessionEvent::NeedMore { total } => ParserEvent::NeedMore { total },
            SessionEvent::Close => ParserEvent::Close,
        };
        ParserStep { consumed, event }
    }

    fn upcoming<'a>(&self, input: &'a [u8], visit: &mut dyn FnMut(&'a [u8]) -> bool) {
        for key in self.0.upcoming(input) {
            if !visit(key) {
                return;
            }
        }
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    fn authenticated(&mut self) {
        self.0.authenticated();
    }
}

/// The form of the replies that `responder` writes.
#[inline]
fn form_of(responder: Responder) -> ReplyForm {
    ReplyForm::new(&MEMCACHED, responder.to_bytes(), responder.is_last())
}

/// What a command asks for; those that need nothing of the server are answered into `out`.
fn event_of<'a>(request: &CommandRequest<'a>, time: &Time, out: &mut Vec<u8>) -> ParserEvent<'a> {
    let mut needs_clock = false;
    let in_seconds = |seconds| time.expiry_in(seconds);
    let mut expiry = |exptime: Exptime| {
        needs_clock |= exptime.needs_clock();
        exptime.absolute(in_seconds)
    };
    let mut view = GetView::default();
    let operation = match request.command {
        Command::Get => Operation::Get,
        Command::GetAndTouch(exptime) => Operation::GetAndTouch { expiry: expiry(exptime) },
        Command::MetaGet(get) => {
            view = GetView { value: get.wants_value, traced: !get.untraced };
            let recache = get.recache.map(|recache| kv::Recache {
                before: recache.threshold.absolute(in_seconds),
                after_touch: recache.after_touch,
            });
            let (vivify, touch) = (get.vivify.map(&mut expiry), get.touch.map(&mut expiry));
            Operation::MetaGet(kv::MetaGet { vivify, recache, touch, compare: get.compare, new_cas: get.new_cas })
        }
        Command::Store(store) => Operation::Store(kv::Store {
            mode: mode(store.mode, &mut expiry),
            value: store.value,
            flags: store.flags,
            expiry: expiry(store.exptime),
            compare: store.compare,
            new_cas: store.new_cas,
            invalidate: store.invalidate,
        }),
        Command::Touch(exptime) => Operation::Touch { expiry: expiry(exptime) },
        Command::Delete(delete) => Operation::Delete(kv::Delete {
            compare: delete.compare,
            new_cas: delete.new_cas,
            invalidate: delete.invalidate,
            expiry: delete.exptime.map(&mut expiry),
            drop_value: delete.drop_value,
            flags: delete.flags,
        }),
        Command::Arithmetic(step) => Operation::Arithmetic(kv::Arithmetic {
            decrement: step.decrement,
            delta: step.delta,
            initial: step.initial,
            vivify: step.vivify.map(&mut expiry),
            touch: step.touch.map(&mut expiry),
            compare: step.compare,
            new_cas: step.new_cas,
        }),
        _ => return other_event_of(request, time, out),
    };
    let action = KeyAction::Operation(operation);
    ParserEvent::Key(KeyRequest {
        view,
        needs_clock,
        ..KeyRequest::new(request.key, action, form_of(request.responder))
    })
}

fn mode(mode: Mode, expiry: &mut impl FnMut(Exptime) -> u32) -> kv::Mode {
    match mode {
        Mode::Set => kv::Mode::Set,
        Mode::Add => kv::Mode::Add,
        Mode::Replace => kv::Mode::Replace,
        Mode::Cas => kv::Mode::Cas,
        Mode::Append { vivify } => kv::Mode::Append { vivify: vivify.map(expiry) },
        Mode::Prepend { vivify } => kv::Mode::Prepend { vivify: vivify.map(expiry) },
    }
}

/// The same for commands that run no operation on a key.
fn other_event_of<'a>(request: &CommandRequest<'a>, time: &Time, out: &mut Vec<u8>) -> ParserEvent<'a> {
    let CommandRequest { key, command, responder } = *request;
    let form = form_of(responder);
    let mut answer = |answer: &CommandOutcome<'_>| {
        responder.write(out, key, answer);
        ParserEvent::Replied
    };
    let server = match command {
        Command::MetaDebug => return ParserEvent::Key(KeyRequest::new(key, KeyAction::Inspect, form)),
        Command::ValueTooLarge(too_large) if too_large.delete => {
            return ParserEvent::Key(KeyRequest::new(key, KeyAction::DeleteOversized, form));
        }
        Command::ValueTooLarge(_) => return answer(&CommandOutcome::TooLarge),
        Command::Authenticate { user, password } => return ParserEvent::Authenticate { user, password, reply: form },
        Command::Noop => return answer(&CommandOutcome::Noop),
        Command::Version => return answer(&CommandOutcome::Version(fawn_memcache::VERSION)),
        // Tools ask for a limit of memory and take a refusal for a failure. Nothing is evicted here, so no limit has to be
        // adjusted.
        Command::Verbosity { .. } | Command::MemoryLimit { .. } => return answer(&CommandOutcome::Ok),
        Command::FlushAll(delay) => {
            ServerRequest::FlushAll { at_unix: delay.flush_at(|seconds| time.expiry_in(seconds)) }
        }
        Command::Stats(stats) => match stats {
            Stats::General => ServerRequest::Stats(StatsReport::General),
            Stats::Settings => ServerRequest::Stats(StatsReport::Settings),
            Stats::Items => ServerRequest::Stats(StatsReport::Items),
            Stats::Slabs => ServerRequest::Stats(StatsReport::Slabs),
            Stats::Sizes => ServerRequest::Stats(StatsReport::Sizes),
            Stats::Connections => ServerRequest::Stats(StatsReport::Connections),
            Stats::Reset => ServerRequest::ResetCounters,
            // Nothing is counted by prefix, because that would cost every get; and nothing lies in slabs: both reports are
            // empty.
            Stats::Detail(Detail::Dump) | Stats::Cachedump { .. } => {
                out.extend_from_slice(lines::END.as_bytes());
                return ParserEvent::Replied;
            }
            Stats::Detail(_) => return answer(&CommandOutcome::Ok),
            Stats::Other(_) => return answer(&CommandOutcome::Error(lines::ERROR.trim_end())),
        },
        Command::Dump(Dump::Metadump) => ServerRequest::List(ListingDetail::Items),
        Command::Dump(Dump::Mgdump) => ServerRequest::List(ListingDetail::Keys),
        Command::RefreshCertificates => ServerRequest::RefreshCertificates,
        Command::Get
        | Command::GetAndTouch(_)
        | Command::MetaGet(_)
        | Command::Store(_)
        | Command::Touch(_)
        | Command::Delete(_)
        | Command::Arithmetic(_) => unreachable!("it runs an operation on a key"),
    };
    ParserEvent::Server(server, form)
}

impl ReplyWriter for Memcached {
    fn write(&self, state: &ReplyState, out: &mut Vec<u8>, name: &[u8], body: &ReplyBody<'_>) {
        let responder = Responder::from_bytes(state);
        let answer = match body {
            ReplyBody::Item(item) => CommandOutcome::Hit(hit_of(item)),
            ReplyBody::Outcome(reply) => answer_of(reply),
            ReplyBody::Computed(_) | ReplyBody::Figures(_) | ReplyBody::Keys(_) | ReplyBody::Moved(_) => {
                unreachable!("memcached's commands look at whole values, and have reports of their own")
            }
            ReplyBody::ItemInfo { info: None, .. } => CommandOutcome::Miss,
            ReplyBody::ItemInfo { info: Some(info), now } => CommandOutcome::Debug(Debug {
                expiry: ttl(info.expiry, *now),
                access: info.last_use.map_or(0, |last| now.saturating_sub(last.at)),
                ..debug_of(name, info)
            }),
            ReplyBody::Error(error) => match *error {
                RequestError::TooLarge => CommandOutcome::TooLarge,
                RequestError::OutOfMemory => CommandOutcome::OutOfMemory,
                RequestError::Server(text) => CommandOutcome::ServerError(text),
                RequestError::Client(text) => CommandOutcome::ClientError(text),
            },
            ReplyBody::Ok => CommandOutcome::Ok,
            ReplyBody::Reset => CommandOutcome::Reset,
            ReplyBody::Authenticated => CommandOutcome::Authenticated,
            ReplyBody::AuthenticationFailed => CommandOutcome::AuthenticationFailed,
        };
        responder.write(out, name, &answer);
    }

    fn write_error(&self, out: &mut Vec<u8>, error: &RequestError<'_>) {
        let parts = match *error {
            RequestError::TooLarge => [lines::TOO_LARGE, "", ""],
            RequestError::OutOfMemory => [lines::OUT_OF_MEMORY, "", ""],
            RequestError::Server(text) => ["SERVER_ERROR ", text, "\r\n"],
            RequestError::Client(text) => ["CLIENT_ERROR ", text, "\r\n"],
        };
        for part in parts {
            out.extend_from_slice(part.as_bytes());
        }
    }

    fn write_stat(&self, out: &mut Vec<u8>, name: &str, value: &str) {
        report::stat(out, name, value);
    }

    fn write_stat_number(&self, out: &mut Vec<u8>, name: &str, value: u64) {
        report::stat_number(out, name, value);
    }

    fn stats_end(&self) -> &'static [u8] {
        lines::END.as_bytes()
    }

    fn write_listed(&self, out: &mut Vec<u8>, name: &[u8], info: Option<&ItemInfo>) {
        match info {
            None => report::mgdump(out, name),
            Some(info) => report::metadump(out, name, &debug_of(name, info)),
        }
    }

    fn listing_end(&self, detail: ListingDetail) -> &'static [u8] {
        match detail {
            ListingDetail::Typed => b"",
            ListingDetail::Items => lines::END.as_bytes(),
            ListingDetail::Keys => lines::EN.as_bytes(),
        }
    }

    fn version(&self) -> &'static str {
        fawn_memcache::VERSION
    }
}

/// What a listing says of an item.
fn debug_of(name: &[u8], info: &ItemInfo) -> Debug {
    Debug {
        expiry: (info.expiry != 0).then_some(info.expiry),
        access: info.last_use.map_or(0, |last| last.at),
        cas: info.cas,
        fetched: info.last_use.is_some_and(|last| last.fetched),
        class: 1,
        size: SessionLimits::item_size(name.len(), info.flags, info.value_bytes) as u64,
        flags: info.flags,
    }
}

#[inline]
fn hit_of<'i>(item: &ShownItem<'i>) -> Hit<'i> {
    Hit {
        value: item.value,
        flags: item.flags,
        cas: item.cas,
        ttl_before: item.ttl_before,
        ttl: item.ttl,
        idle: item.idle,
        fetched: item.fetched,
        created: item.created,
        won: item.won,
        stale: item.stale,
        already_won: item.already_won,
        hide_value: item.hide_value,
    }
}

/// The answer that says what an operation came to.
#[inline]
fn answer_of(reply: &OperationReply<'_>) -> CommandOutcome<'static> {
    let OperationReply { outcome, appended_cas, sent_bytes: size, now } = *reply;
    match outcome {
        Outcome::Stored { cas, size } => CommandOutcome::Stored { cas: cas.resolve(appended_cas), size: *size },
        Outcome::NotStored => CommandOutcome::NotStored { size },
        Outcome::Exists => CommandOutcome::Exists { size },
        Outcome::NotFound => CommandOutcome::NotFound { size },
        Outcome::Deleted => CommandOutcome::Deleted,
        Outcome::Touched => CommandOutcome::Touched,
        Outcome::Number(number) => CommandOutcome::Number(CounterValue {
            value: number.value,
            cas: number.cas.resolve(appended_cas),
            ttl_before: ttl(number.expiry_before, now),
            ttl: ttl(number.expiry, now),
            created: number.created,
        }),
        Outcome::NonNumeric => CommandOutcome::NonNumeric,
        Outcome::Hit(hit) => CommandOutcome::Hit(Hit {
            cas: hit.cas.resolve(appended_cas),
            ttl_before: ttl(hit.expiry_before, now),
            ttl: ttl(hit.expiry, now),
            created: hit.created,
            won: hit.won,
            ..Hit::of(b"")
        }),
        Outcome::Miss => CommandOutcome::Miss,
        Outcome::Integer(_) | Outcome::Computed | Outcome::Refused(_) => {
            unreachable!("memcached's commands look at whole values")
        }
    }
}
