//! Moves and copies of a value from one key to another: a read, a write and, for a move, a delete, each carried out where its
//! key is. They are no transaction. The delete is of the version that was read: if the source changes meanwhile, both keys are
//! there afterwards, and the reply says so.

use crate::protocol::{MoveRequest, ServerRequest};
use crate::request::{
    ItemInfo, KeyAction, KeyRequest, ListingDetail, MoveOutcome, ReplyBody, ReplyForm, ReplyState, ReplyWriter,
    RequestError,
};
use fawn_kv::operation::items::Items;
use fawn_kv::operation::{Delete, Mode, Operation, Outcome, Store, View, ViewKind};

/// A move or a copy under way.
#[derive(Debug)]
pub struct KeyMove {
    request: MoveRequest,
    reply: ReplyForm,
    step: MoveStep,
    /// The step has been asked for.
    pub is_asked: bool,
}

/// What is asked for.
#[derive(Debug)]
enum MoveStep {
    /// The source is read.
    Read,
    /// What was read is written.
    Write(SourceRecord),
    /// The version of the source with this cas is deleted.
    Delete(u64),
}

/// What was read.
#[derive(Debug)]
struct SourceRecord {
    value: Vec<u8>,
    flags: u32,
    expiry: u32,
    cas: u64,
}

impl SourceRecord {
    /// What [`ViewKind::Record`] shows.
    fn of(shown: &[u8]) -> Option<Self> {
        let mut items = Items::of(shown);
        let value = items.next()?.ok()??.to_vec();
        let mut number = || std::str::from_utf8(items.next()?.ok()??).ok()?.parse::<u64>().ok();
        let (flags, expiry, cas) = (number()?, number()?, number()?);
        Some(Self { value, flags: u32::try_from(flags).ok()?, expiry: u32::try_from(expiry).ok()?, cas })
    }
}

const MALFORMED: RequestError<'static> = RequestError::Server("the value to move cannot be read: report this as a bug");

impl KeyMove {
    /// A move whose reply has this form.
    pub fn new(request: MoveRequest, reply: ReplyForm) -> Self {
        Self { request, reply, step: MoveStep::Read, is_asked: false }
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        let value = if let MoveStep::Write(record) = &self.step { record.value.len() } else { 0 };
        self.request.source.len() + self.request.target.len() + value
    }

    /// What is asked next.
    pub fn next_request(&self) -> KeyRequest<'_> {
        let (name, operation) = match &self.step {
            MoveStep::Read => (&self.request.source, Operation::View(View { kind: ViewKind::Record, argument: b"" })),
            MoveStep::Write(record) => {
                let mode = if self.request.only_absent { Mode::Add } else { Mode::Set };
                let SourceRecord { value, flags, expiry, .. } = record;
                let store = Store { mode, flags: *flags, expiry: *expiry, ..Store::set(value) };
                (&self.request.target, Operation::Store(store))
            }
            MoveStep::Delete(cas) => {
                (&self.request.source, Operation::Delete(Delete { compare: Some(*cas), ..Delete::default() }))
            }
        };
        KeyRequest::new(name, KeyAction::Operation(operation), ReplyForm::new(&STEP_WRITER, [0; 48], true))
    }

    /// Takes the reply of a step. Returns false if there is another step, else the move is over and its reply in `out`.
    pub fn take(&mut self, step: &[u8], out: &mut Vec<u8>) -> bool {
        self.is_asked = false;
        let outcome = match (step.split_first(), &self.step) {
            (Some((&SHOWN, record)), MoveStep::Read) => {
                let Some(record) = SourceRecord::of(record) else { return self.fail(MALFORMED, out) };
                if self.request.source == self.request.target {
                    if self.request.only_absent { MoveOutcome::TargetExists } else { MoveOutcome::Done }
                } else {
                    self.step = MoveStep::Write(record);
                    return false;
                }
            }
            (Some((&MISSED, _)), MoveStep::Read) => MoveOutcome::NoSource,
            (Some((&STORED, _)), MoveStep::Write(record)) if self.request.deletes_source => {
                self.step = MoveStep::Delete(record.cas);
                return false;
            }
            // A source that is missing by then has expired, or somebody else has deleted it.
            (Some((&STORED, _)), MoveStep::Write(_)) | (Some((&(DELETED | MISSED), _)), MoveStep::Delete(_)) => {
                MoveOutcome::Done
            }
            (Some((&NOT_STORED, _)), MoveStep::Write(_)) => MoveOutcome::TargetExists,
            (Some((&CHANGED, _)), MoveStep::Delete(_)) => MoveOutcome::SourceChanged,
            (Some((&TOO_LARGE, _)), _) => return self.fail(RequestError::TooLarge, out),
            (Some((&OUT_OF_MEMORY, _)), _) => return self.fail(RequestError::OutOfMemory, out),
            (Some((&SERVER_ERROR, text)), _) => {
                return self.fail(RequestError::Server(&String::from_utf8_lossy(text)), out);
            }
            (Some((&CLIENT_ERROR, text)), _) => {
                return self.fail(RequestError::Client(&String::from_utf8_lossy(text)), out);
            }
            _ => return self.fail(MALFORMED, out),
        };
        self.reply.write(out, b"", &ReplyBody::Moved(outcome));
        true
    }

    /// The move is over with an error.
    pub fn fail(&self, error: RequestError<'_>, out: &mut Vec<u8>) -> bool {
        self.reply.write(out, b"", &ReplyBody::Error(error));
        true
    }
}

impl From<MoveRequest> for ServerRequest {
    fn from(request: MoveRequest) -> Self {
        Self::Move(Box::new(request))
    }
}

/// What the replies of steps begin with.
const SHOWN: u8 = b'v';
const MISSED: u8 = b'm';
const STORED: u8 = b's';
const NOT_STORED: u8 = b'n';
const DELETED: u8 = b'd';
const CHANGED: u8 = b'x';
const TOO_LARGE: u8 = b'l';
const OUT_OF_MEMORY: u8 = b'o';
const SERVER_ERROR: u8 = b'e';
const CLIENT_ERROR: u8 = b'c';

/// Writes the replies of steps for [`KeyMove::take`].
#[derive(Debug)]
struct StepWriter;

static STEP_WRITER: StepWriter = StepWriter;

impl ReplyWriter for StepWriter {
    fn write(&self, _: &ReplyState, out: &mut Vec<u8>, _: &[u8], body: &ReplyBody<'_>) {
        match body {
            ReplyBody::Computed(shown) => {
                out.push(SHOWN);
                out.extend_from_slice(shown);
            }
            ReplyBody::Outcome(reply) => out.push(match reply.outcome {
                Outcome::Miss | Outcome::NotFound => MISSED,
                Outcome::Stored { .. } => STORED,
                Outcome::NotStored => NOT_STORED,
                Outcome::Deleted => DELETED,
                Outcome::Exists => CHANGED,
                other => unreachable!("no step comes to {other:?}"),
            }),
            ReplyBody::Error(error) => self.write_error(out, error),
            other => unreachable!("no step is answered with {other:?}"),
        }
    }

    fn write_error(&self, out: &mut Vec<u8>, error: &RequestError<'_>) {
        let (kind, text) = match *error {
            RequestError::TooLarge => (TOO_LARGE, ""),
            RequestError::OutOfMemory => (OUT_OF_MEMORY, ""),
            RequestError::Server(text) => (SERVER_ERROR, text),
            RequestError::Client(text) => (CLIENT_ERROR, text),
        };
        out.push(kind);
        out.extend_from_slice(text.as_bytes());
    }

    fn write_stat(&self, _: &mut Vec<u8>, _: &str, _: &str) {}

    fn stats_end(&self) -> &'static [u8] {
        b""
    }

    fn write_listed(&self, _: &mut Vec<u8>, _: &[u8], _: Option<&ItemInfo>) {}

    fn listing_end(&self, _: ListingDetail) -> &'static [u8] {
        b""
    }

    fn version(&self) -> &'static str {
        ""
    }
}
