//! The adapter of HTTP: [`fawn_http`] is the codec.

mod replies;

use super::{ParserEvent, ParserOptions, ParserStep, Protocol, RequestParser};
use crate::request::{KeyAction, KeyRequest, ReplyForm};
use fawn_http::{Action, ReaderEvent, ReaderLimits, Request, RequestReader, Responder, StoreMode};
use fawn_kv::operation::{Arithmetic, Delete, Mode, Operation, Store};
use fawn_store::timekeeper::Time;

/// The protocol.
pub static HTTP: Http = Http;

/// HTTP/1.1.
#[derive(Debug)]
pub struct Http;

/// The parser of one connection.
#[derive(Debug)]
struct Parser(RequestReader);

impl Protocol for Http {
    fn name(&self) -> &'static str {
        "http"
    }

    fn parser(&self, options: ParserOptions) -> Box<dyn RequestParser> {
        let limits = ReaderLimits { item_bytes: options.max_item_bytes };
        Box::new(Parser(RequestReader::new(limits, options.authenticates)))
    }

    fn too_many_connections(&self) -> &'static [u8] {
        fawn_http::TOO_MANY_CONNECTIONS.as_bytes()
    }
}

impl RequestParser for Parser {
    fn next<'a>(&'a mut self, input: &'a [u8], time: &Time, out: &mut Vec<u8>) -> ParserStep<'a> {
        let step = self.0.next(input, time.now, out);
        let event = match step.event {
            ReaderEvent::Request(request) => ParserEvent::Key(key_request(&request, time)),
            ReaderEvent::Authenticate { user, password, responder } => {
                ParserEvent::Authenticate { user, password, reply: form_of(&responder) }
            }
            ReaderEvent::Replied => ParserEvent::Replied,
            ReaderEvent::NeedMore { total } => ParserEvent::NeedMore { total },
            ReaderEvent::Close => ParserEvent::Close,
        };
        ParserStep { consumed: step.consumed, event }
    }

    /// None: a key is not in the input as it is, but percent-encoded.
    fn upcoming<'a>(&self, _: &'a [u8], _: &mut dyn FnMut(&'a [u8]) -> bool) {}

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    fn authenticated(&mut self) {
        self.0.authenticated();
    }

    fn held_bytes(&self) -> usize {
        self.0.held_bytes()
    }
}

/// The form of the replies that `responder` writes. Those of a batch are a line of keys.
fn form_of(responder: &Responder) -> ReplyForm {
    ReplyForm::new(&HTTP, responder.to_bytes(), responder.is_last)
}

fn key_request<'a>(request: &Request<'a>, time: &Time) -> KeyRequest<'a> {
    let mut needs_clock = false;
    let operation = match request.action {
        Action::Inspect => {
            return KeyRequest::new(request.key, KeyAction::Inspect, form_of(&request.responder));
        }
        Action::Get => Operation::Get,
        Action::Store { mode, value, flags, max_age } => {
            needs_clock = max_age.is_some();
            let (mode, compare) = match mode {
                StoreMode::Set => (Mode::Set, None),
                StoreMode::Add => (Mode::Add, None),
                StoreMode::Replace => (Mode::Replace, None),
                StoreMode::Cas(cas) => (Mode::Cas, Some(cas)),
            };
            let expiry = max_age.map_or(0, |seconds| time.expiry_in(seconds));
            Operation::Store(Store { mode, flags, expiry, compare, ..Store::set(value) })
        }
        Action::Delete { compare } => Operation::Delete(Delete { compare, ..Delete::default() }),
        Action::Count { delta, decrement } => Operation::Arithmetic(Arithmetic {
            decrement,
            delta,
            initial: if decrement { 0 } else { delta },
            vivify: Some(0),
            touch: None,
            compare: None,
            new_cas: None,
        }),
    };
    let action = KeyAction::Operation(operation);
    KeyRequest { needs_clock, ..KeyRequest::new(request.key, action, form_of(&request.responder)) }
}
