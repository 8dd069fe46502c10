//! Requests out of the bytes of a connection.
//!
//! A request stays in the connection's input until it is whole: its head first, then its body. What is known of it
//! meanwhile is this reader's state. A refusal leaves the connection in step where the refused body's length is known, and
//! its bytes are passed over. Everything else closes the connection.

use crate::MOST_KEY_BYTES;
use crate::batch::{self, MOST_BATCH_BYTES};
use crate::chunked::{self, ChunkScan, ScanResult};
use crate::credentials;
use crate::fields::Framing;
use crate::head::{self, Method, RequestHead};
use crate::plan::{Plan, PlanResult, StoreMode, plan};
use crate::refusal::{HttpStatus, RequestRefusal};
use crate::responder::{ReplyKind, Responder};

/// What an item takes beside its key and value, as memcached counts it: with this, both protocols have the same limit.
const ITEM_BYTES: usize = 63;
/// The longest body of a refused request that is passed over. After a longer one the connection is closed.
const MOST_SKIPPED_BYTES: u64 = 64 << 20;

/// Sizes that a reader enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// The largest item, in bytes, counted as memcached counts.
    pub item_bytes: usize,
}

/// A request for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The key.
    pub key: &'a [u8],
    /// What is to be done.
    pub action: Action<'a>,
    /// Writes the reply.
    pub responder: Responder,
}

/// What is to be done with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// To show the item.
    Get,
    /// To show what is known of the item, and not its value.
    Inspect,
    /// To store a value.
    Store {
        /// What it does with an existing item.
        mode: StoreMode,
        /// The value.
        value: &'a [u8],
        /// The client's flags.
        flags: u32,
        /// Seconds until the item expires.
        max_age: Option<u32>,
    },
    /// To delete the item.
    Delete {
        /// Only the version with this cas.
        compare: Option<u64>,
    },
    /// To step a counter, which begins at 0.
    Count {
        /// By how much.
        delta: u64,
        /// Downwards, to 0 at least.
        decrement: bool,
    },
}

/// What a step found.
#[derive(Debug, PartialEq, Eq)]
pub enum ReaderEvent<'a> {
    /// A request for one key.
    Request(Request<'a>),
    /// The client says who it is, once for each request. [`RequestReader::authenticated`] says that it is so before the next step; else
    /// the request is passed over, and the reply is the caller's.
    Authenticate {
        /// The user's name.
        user: &'a [u8],
        /// The password.
        password: &'a [u8],
        /// Writes the reply to one who is not.
        responder: Responder,
    },
    /// A reply is in the output.
    Replied,
    /// Nothing until the input, without what is consumed now, has so many bytes.
    NeedMore {
        /// Bytes, at least 1.
        total: usize,
    },
    /// The connection is to be closed once replies have left.
    Close,
}

/// A step.
#[derive(Debug, PartialEq, Eq)]
pub struct ReaderStep<'a> {
    /// Bytes of the input that are done with.
    pub consumed: usize,
    /// What they say.
    pub event: ReaderEvent<'a>,
}

/// A request whose head was read.
#[derive(Debug)]
struct Pending {
    head_bytes: usize,
    framing: Framing,
    expects_continue: bool,
    planned: PlanResult,
    /// Of a refusal.
    responder: Responder,
    scan: ChunkScan,
}

/// Why there is no head.
#[derive(Debug)]
enum NoHead {
    /// It has not come as a whole.
    Partial,
    /// The connection is refused: the reply is in the output.
    Refused,
}

#[derive(Debug)]
enum ReaderState {
    /// A head is next.
    Head,
    /// The caller was asked whether the client is who it says.
    Asked(Pending),
    /// A body is next.
    Body(Pending),
    /// So many bytes of a refused request are next.
    Skip(u64),
    /// Keys of a batch are given out, from this number on; the batch has so many bytes.
    Keys { next: usize, bytes: usize, responder: Responder },
    /// The connection is to be closed.
    Over,
}

/// Reads the requests of one connection.
#[derive(Debug)]
pub struct RequestReader {
    limits: ReaderLimits,
    /// Clients have to say who they are.
    authenticates: bool,
    /// The client has done so once.
    is_known: bool,
    /// The client of the request at hand is who it says.
    is_admitted: bool,
    state: ReaderState,
    key: Vec<u8>,
    /// What the chunks of the last body carried.
    body: Vec<u8>,
    keys: Vec<String>,
    user: (Vec<u8>, Vec<u8>),
}

impl RequestReader {
    /// The reader of a new connection.
    pub fn new(limits: ReaderLimits, authenticates: bool) -> Self {
        Self {
            limits,
            authenticates,
            is_known: !authenticates,
            is_admitted: false,
            state: ReaderState::Head,
            key: Vec::new(),
            body: Vec::new(),
            keys: Vec::new(),
            user: Default::default(),
        }
    }

    /// Whether the client has yet to say who it is.
    pub fn is_locked(&self) -> bool {
        !self.is_known
    }

    /// The client is who it says.
    pub fn authenticated(&mut self) {
        (self.is_known, self.is_admitted) = (true, true);
    }

    /// Bytes that the reader holds beside the connection's input.
    pub fn held_bytes(&self) -> usize {
        self.body.capacity() + self.keys.iter().map(String::len).sum::<usize>()
    }

    /// Reads the next request of `input`, which no earlier step has consumed. `now` is the Unix second, 0 if the clock was
    /// never set. What needs nothing of the server is answered into `out`.
    pub fn next<'a>(&'a mut self, input: &'a [u8], now: u32, out: &mut Vec<u8>) -> ReaderStep<'a> {
        // What the last request held. An idle connection holds nothing.
        if !self.body.is_empty() {
            self.body = Vec::new();
        }
        if !self.keys.is_empty() && !matches!(self.state, ReaderState::Keys { .. }) {
            self.keys = Vec::new();
        }
        if !matches!(self.state, ReaderState::Head) {
            self.user = Default::default();
        }
        loop {
            match std::mem::replace(&mut self.state, ReaderState::Over) {
                ReaderState::Over => return ReaderStep { consumed: input.len(), event: ReaderEvent::Close },
                ReaderState::Skip(bytes) => {
                    let here = bytes.min(input.len() as u64);
                    if here < bytes || input.len() as u64 == bytes {
                        self.state = if here < bytes { ReaderState::Skip(bytes - here) } else { ReaderState::Head };
                        return ReaderStep { consumed: here as usize, event: ReaderEvent::NeedMore { total: 1 } };
                    }
                    let step = self.after_skip(&input[here as usize..], now, out);
                    return ReaderStep { consumed: here as usize + step.consumed, event: step.event };
                }
                ReaderState::Head => match self.head(input, now, out) {
                    Ok(pending) if self.authenticates => return self.ask(pending, out),
                    Ok(pending) => self.state = ReaderState::Body(pending),
                    Err(NoHead::Partial) => {
                        self.state = ReaderState::Head;
                        let event = ReaderEvent::NeedMore { total: input.len() + 1 };
                        return ReaderStep { consumed: 0, event };
                    }
                    Err(NoHead::Refused) => {
                        return ReaderStep { consumed: input.len(), event: ReaderEvent::Replied };
                    }
                },
                ReaderState::Asked(pending) if self.is_admitted => self.state = ReaderState::Body(pending),
                ReaderState::Asked(pending) => {
                    // The caller has refused the request.
                    let consumed = self.pass_over(&pending);
                    return ReaderStep { consumed, event: ReaderEvent::Replied };
                }
                ReaderState::Body(pending) => return self.body(pending, input, out),
                ReaderState::Keys { next, bytes, responder } => return self.next_key(next, bytes, responder),
            }
        }
    }

    /// What follows a body that was passed over.
    fn after_skip<'a>(&'a mut self, input: &'a [u8], now: u32, out: &mut Vec<u8>) -> ReaderStep<'a> {
        self.state = ReaderState::Head;
        self.next(input, now, out)
    }

    /// Reads a head.
    fn head(&mut self, input: &[u8], now: u32, out: &mut Vec<u8>) -> Result<Pending, NoHead> {
        let broken = Responder { close: true, ..Responder::new(ReplyKind::Value, now) };
        let head_bytes = match head::find_end(input) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(NoHead::Partial),
            Err(refusal) => return Err(close(&broken, &refusal, out)),
        };
        let head = head::parse(&input[..head_bytes]).map_err(|refusal| close(&broken, &refusal, out))?;
        let RequestHead { method, is_old, ref fields, .. } = head;
        let is_head = method == Some(Method::Head);
        let responder = Responder { close: fields.close, is_old, is_head, ..Responder::new(ReplyKind::Value, now) };
        let takes_body = matches!(method, None | Some(Method::Put | Method::Post | Method::Other));
        if !takes_body && !matches!(fields.framing, Framing::Absent | Framing::Length(0)) {
            let refusal = RequestRefusal::malformed("a request of this method has no body");
            return Err(close(&Responder { close: true, ..responder }, &refusal, out));
        }
        let credentials = fields.authorization.filter(|_| self.authenticates).and_then(credentials::parse);
        self.user = credentials.unwrap_or_default();
        self.is_admitted = false;
        let planned = plan(&head, &mut self.key, responder);
        let (framing, expects_continue) = (fields.framing, fields.expects_continue);
        Ok(Pending { head_bytes, framing, expects_continue, planned, responder, scan: ChunkScan::default() })
    }

    /// Asks whether the client is who it says.
    fn ask(&mut self, pending: Pending, out: &mut Vec<u8>) -> ReaderStep<'_> {
        if self.user.0.is_empty() {
            let text = "say who you are: Authorization: Basic or Bearer, and the base64 of user:password";
            return self.refuse(&pending, &RequestRefusal::new(HttpStatus::Unauthorized, text), out);
        }
        let close = pending.responder.close || !is_in_step(&pending);
        let responder = Responder { kind: ReplyKind::Authentication, close, ..pending.responder };
        self.state = ReaderState::Asked(pending);
        let (user, password) = (&self.user.0[..], &self.user.1[..]);
        ReaderStep { consumed: 0, event: ReaderEvent::Authenticate { user, password, responder } }
    }

    /// Refuses a request whose body is next.
    fn refuse(&mut self, pending: &Pending, refusal: &RequestRefusal, out: &mut Vec<u8>) -> ReaderStep<'static> {
        let close = pending.responder.close || !is_in_step(pending);
        Responder { close, ..pending.responder }.refuse(out, refusal);
        let consumed = self.pass_over(pending);
        ReaderStep { consumed, event: ReaderEvent::Replied }
    }

    /// What follows a refused request. Returns how many bytes are done with.
    fn pass_over(&mut self, pending: &Pending) -> usize {
        self.state = match pending.framing {
            _ if pending.responder.close || !is_in_step(pending) => ReaderState::Over,
            Framing::Length(bytes @ 1..) => ReaderState::Skip(bytes),
            _ => ReaderState::Head,
        };
        pending.head_bytes
    }

    /// Goes on with a request whose head was read.
    fn body<'a>(&'a mut self, mut pending: Pending, input: &'a [u8], out: &mut Vec<u8>) -> ReaderStep<'a> {
        let (plan, responder) = match pending.planned {
            Ok(planned) => planned,
            Err(refusal) => return self.refuse(&pending, &refusal, out),
        };
        let most = match plan {
            Plan::Store { .. } => self.limits.item_bytes.saturating_sub(ITEM_BYTES + self.key.len()),
            Plan::Batch => MOST_BATCH_BYTES,
            _ => 0,
        };
        let rest = &input[pending.head_bytes..];
        let needed = match pending.framing {
            Framing::Absent => 0,
            Framing::Length(bytes) if bytes > most as u64 => {
                return self.refuse(&pending, &too_large(plan), out);
            }
            Framing::Length(bytes) => bytes as usize,
            Framing::Chunked => match pending.scan.go_on(rest, most) {
                Ok(ScanResult::Whole { encoded, bytes }) => {
                    self.body = Vec::with_capacity(bytes);
                    chunked::decode(&rest[..encoded], &mut self.body);
                    encoded
                }
                Ok(ScanResult::NeedMore(total)) => total,
                Err(refusal) => return self.refuse(&pending, &refusal, out),
            },
        };
        if rest.len() < needed {
            let total = pending.head_bytes + needed;
            let says_continue = std::mem::take(&mut pending.expects_continue) && rest.is_empty();
            self.state = ReaderState::Body(pending);
            if says_continue {
                out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                return ReaderStep { consumed: 0, event: ReaderEvent::Replied };
            }
            return ReaderStep { consumed: 0, event: ReaderEvent::NeedMore { total } };
        }
        let consumed = pending.head_bytes + needed;
        self.state = if responder.close { ReaderState::Over } else { ReaderState::Head };
        let is_chunked = pending.framing == Framing::Chunked;
        let action = match plan {
            Plan::Options(allow) => {
                responder.options(out, allow);
                return ReaderStep { consumed, event: ReaderEvent::Replied };
            }
            Plan::Batch => {
                let keys = batch::keys(if is_chunked { &self.body } else { &rest[..needed] });
                return self.batch(keys, consumed, responder, out);
            }
            Plan::Get => Action::Get,
            Plan::Inspect => Action::Inspect,
            Plan::Store { mode, flags, max_age } => {
                let value = if is_chunked { &self.body[..] } else { &rest[..needed] };
                Action::Store { mode, value, flags, max_age }
            }
            Plan::Delete { compare } => Action::Delete { compare },
            Plan::Count { delta, decrement } => Action::Count { delta, decrement },
        };
        assert!(self.key.len() <= MOST_KEY_BYTES, "a longer key was refused");
        ReaderStep { consumed, event: ReaderEvent::Request(Request { key: &self.key, action, responder }) }
    }

    /// Begins to give out the keys of a batch.
    fn batch(
        &mut self,
        keys: Result<Vec<String>, RequestRefusal>,
        bytes: usize,
        responder: Responder,
        out: &mut Vec<u8>,
    ) -> ReaderStep<'_> {
        match keys {
            Ok(keys) if keys.is_empty() => responder.empty_batch(out),
            Ok(keys) => {
                self.keys = keys;
                return self.next_key(0, bytes, responder);
            }
            Err(refusal) => responder.refuse(out, &refusal),
        }
        ReaderStep { consumed: bytes, event: ReaderEvent::Replied }
    }

    /// Gives out a key of a batch. Its bytes are done with after the last one.
    fn next_key(&mut self, number: usize, bytes: usize, responder: Responder) -> ReaderStep<'_> {
        let is_last = number + 1 == self.keys.len();
        self.state = match (is_last, responder.close) {
            (false, _) => ReaderState::Keys { next: number + 1, bytes, responder },
            (true, true) => ReaderState::Over,
            (true, false) => ReaderState::Head,
        };
        let consumed = if is_last { bytes } else { 0 };
        if number > 0 {
            // The name before was given out.
            self.keys[number - 1] = String::new();
        }
        let responder = Responder { is_first: number == 0, is_last, ..responder };
        let request = Request { key: self.keys[number].as_bytes(), action: Action::Get, responder };
        ReaderStep { consumed, event: ReaderEvent::Request(request) }
    }
}

/// Whether the next request can be found after this one, if it is refused. A client that waits for `100 Continue` may leave its
/// body out then, or not.
fn is_in_step(pending: &Pending) -> bool {
    !pending.expects_continue && !matches!(pending.framing, Framing::Chunked | Framing::Length(MOST_SKIPPED_BYTES..))
}

/// Why a body is refused that is longer than `plan` has it.
fn too_large(plan: Plan) -> RequestRefusal {
    match plan {
        Plan::Store { .. } => RequestRefusal::new(HttpStatus::ContentTooLarge, "the value exceeds --max-item-size"),
        Plan::Batch => RequestRefusal::new(HttpStatus::ContentTooLarge, "a batch has at most 256 KiB: send several"),
        _ => RequestRefusal::malformed("this request takes no body"),
    }
}

/// Refuses whatever else the connection has.
fn close(responder: &Responder, refusal: &RequestRefusal, out: &mut Vec<u8>) -> NoHead {
    responder.refuse(out, refusal);
    NoHead::Refused
}
