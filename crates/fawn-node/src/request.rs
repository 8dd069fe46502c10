//! The vocabulary of requests: what a client asks, where its reply goes, and what the reply is made of.
//!
//! Everything below a connection speaks in these terms and in those of [`fawn_kv::operation`]. Client protocols are
//! adapters at the connection ([`crate::protocol`]): they turn bytes into [`KeyRequest`]s, and a [`ReplyBody`] into bytes.
//! A request carries the [`ReplyForm`] that its adapter made, so whoever has the outcome writes the reply's bytes straight
//! into the output, on whatever core it is.

use crate::observe::latency::Stamp;
use crate::runtime::slab::Token;
use crate::shard::recency::LastUse;
use fawn_kv::operation::{Delete, Edit, EditKind, Operation, Outcome, Store, View, ViewKind};
use fawn_ring::Key;
use fawn_store::Gate;
use std::fmt;

/// Names an operation that waits.
pub type TaskTicket = u32;

/// A reply with a value up to this size may be sent to another loop without a credit: all replies that may be in flight
/// hold little together.
pub const UNRESERVED_BYTES: usize = 16 << 10;

/// A request for one key.
#[derive(Clone, Copy, Debug)]
pub struct KeyRequest<'a> {
    /// The key's position. Adapters leave it at [`Key::MIN`]; the connection's loop sets it.
    pub key: Key,
    /// The key.
    pub name: &'a [u8],
    /// What the request does.
    pub action: KeyAction<'a>,
    /// What a get shows of its item.
    pub view: GetView,
    /// The request gives an item a time to live, so it needs a clock that is set.
    pub needs_clock: bool,
    /// Writes the reply.
    pub reply: ReplyForm,
}

/// What a request does with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAction<'a> {
    /// Runs an operation of the key-value service.
    Operation(Operation<'a>),
    /// Shows what is known about the item, and not its value.
    Inspect,
    /// A store whose value exceeds the limit. The item is deleted, so that no client reads what the store was to replace.
    DeleteOversized,
}

/// What a get with conditions shows of its item. Other requests ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetView {
    /// The reply has the value.
    pub value: bool,
    /// The get counts as a use of the item.
    pub traced: bool,
}

impl Default for GetView {
    fn default() -> Self {
        Self { value: true, traced: true }
    }
}

/// The operation of [`KeyAction::DeleteOversized`].
static PLAIN_DELETE: Operation<'static> = Operation::Delete(Delete {
    compare: None,
    new_cas: None,
    invalidate: false,
    expiry: None,
    drop_value: false,
    flags: 0,
});

impl<'a> KeyAction<'a> {
    /// The operation that the action runs; `None` for [`Inspect`](Self::Inspect).
    #[inline]
    pub fn operation(&self) -> Option<&Operation<'a>> {
        match self {
            Self::Operation(operation) => Some(operation),
            Self::Inspect => None,
            Self::DeleteOversized => Some(&PLAIN_DELETE),
        }
    }

    /// Whether the action may change something.
    #[inline]
    pub fn is_write(&self) -> bool {
        match self {
            Self::Operation(operation) => !operation.is_read(),
            Self::Inspect => false,
            Self::DeleteOversized => true,
        }
    }

    /// The action without its value or argument, and these bytes.
    pub fn split(&self) -> (KeyAction<'static>, &'a [u8]) {
        let operation = match *self {
            Self::Inspect => return (KeyAction::Inspect, b""),
            Self::DeleteOversized => return (KeyAction::DeleteOversized, b""),
            Self::Operation(operation) => operation,
        };
        let operation = match operation {
            Operation::Store(store) => {
                let bare = Operation::Store(Store { value: b"", ..store });
                return (KeyAction::Operation(bare), store.value);
            }
            Operation::View(View { kind, argument }) => {
                return (KeyAction::Operation(Operation::View(View { kind, argument: b"" })), argument);
            }
            Operation::Edit(Edit { kind, argument }) => {
                return (KeyAction::Operation(Operation::Edit(Edit { kind, argument: b"" })), argument);
            }
            Operation::Get => Operation::Get,
            Operation::GetAndTouch { expiry } => Operation::GetAndTouch { expiry },
            Operation::MetaGet(get) => Operation::MetaGet(get),
            Operation::Delete(delete) => Operation::Delete(delete),
            Operation::Arithmetic(step) => Operation::Arithmetic(step),
            Operation::Touch { expiry } => Operation::Touch { expiry },
        };
        (KeyAction::Operation(operation), b"")
    }

    /// Puts the bytes back that [`split`](Self::split) took off.
    pub fn join(self, value: &'a [u8]) -> Self {
        let Self::Operation(operation) = self else { return self };
        Self::Operation(match operation {
            Operation::Store(store) => Operation::Store(Store { value, ..store }),
            Operation::View(view) => Operation::View(View { argument: value, ..view }),
            Operation::Edit(edit) => Operation::Edit(Edit { argument: value, ..edit }),
            other => other,
        })
    }
}

impl<'a> KeyRequest<'a> {
    /// A request for the key `name`, whose position is not known yet.
    #[inline]
    pub fn new(name: &'a [u8], action: KeyAction<'a>, reply: ReplyForm) -> Self {
        Self { key: Key::MIN, name, action, view: GetView::default(), needs_clock: false, reply }
    }

    /// Whether the request is a plain get.
    #[inline]
    pub fn is_get(&self) -> bool {
        matches!(self.action, KeyAction::Operation(Operation::Get))
    }

    /// Whether the request is a get with conditions.
    #[inline]
    pub fn is_meta_get(&self) -> bool {
        matches!(self.action, KeyAction::Operation(Operation::MetaGet(_)))
    }

    /// Whether later requests for the key must wait while this one waits for a read: it may change what it reads.
    pub fn holds_key(&self) -> bool {
        !matches!(self.action, KeyAction::Operation(Operation::Get) | KeyAction::Inspect)
    }

    /// Whether the reply to a hit has the value in it, or a part that may be as large.
    pub fn shows_value(&self) -> bool {
        match self.action {
            KeyAction::Operation(Operation::View(view)) => match view.kind {
                ViewKind::Range { .. }
                | ViewKind::Field
                | ViewKind::Fields
                | ViewKind::AllFields { .. }
                | ViewKind::Record
                | ViewKind::RandomFields { .. } => true,
                ViewKind::Type
                | ViewKind::Expiry
                | ViewKind::Length
                | ViewKind::Bit { .. }
                | ViewKind::CountBits(_)
                | ViewKind::FindBit { .. }
                | ViewKind::BitFields
                | ViewKind::CountFields
                | ViewKind::HasField
                | ViewKind::FieldLength => false,
            },
            KeyAction::Operation(Operation::Edit(edit)) => {
                matches!(edit.kind, EditKind::Put { show: true, .. } | EditKind::Take | EditKind::ShowAndExpire { .. })
            }
            KeyAction::Operation(Operation::Get | Operation::GetAndTouch { .. }) => true,
            KeyAction::Operation(Operation::MetaGet(_)) => self.view.value,
            _ => false,
        }
    }

    /// Whether the request leaves no trace in the table of last uses.
    pub fn is_untraced(&self) -> bool {
        self.is_meta_get() && !self.view.traced
    }

    /// Bytes of the value that the request stores, or of its argument.
    pub fn value_bytes(&self) -> usize {
        if let KeyAction::Operation(operation) = &self.action { operation.payload().len() } else { 0 }
    }

    /// Appends the reply.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, body: &ReplyBody<'_>) {
        self.reply.write(out, self.name, body);
    }

    /// Appends an error as the reply.
    #[cold]
    pub fn write_error(&self, out: &mut Vec<u8>, error: RequestError<'_>) {
        self.write(out, &ReplyBody::Error(error));
    }
}

/// What an adapter has to know of a request to write its reply; opaque to everybody else.
pub type ReplyState = [u8; 48];

/// How the reply to one request is written: the adapter, and what it has to know of the request. Small and without
/// allocations, so that it travels with the request to other cores.
#[derive(Clone, Copy, Debug)]
pub struct ReplyForm {
    writer: &'static dyn ReplyWriter,
    state: ReplyState,
    is_last: bool,
    join: Option<JoinParts>,
}

/// Makes one reply, the second argument, of the parts for all keys of a line, which stand one after the other in the first.
pub type JoinParts = fn(&[u8], &mut Vec<u8>);

impl ReplyForm {
    /// The form that `writer` writes with `state`. `is_last` is false for a request whose reply is followed by those of
    /// other requests of the same line: an error of any of them stands for the whole line.
    #[inline]
    pub fn new(writer: &'static dyn ReplyWriter, state: ReplyState, is_last: bool) -> Self {
        Self { writer, state, is_last, join: None }
    }

    /// The parts for all keys of the line become one reply by `join`, once all are there.
    #[must_use]
    pub fn joined(self, join: JoinParts) -> Self {
        Self { join: Some(join), ..self }
    }

    /// Makes one reply of the parts of a line, if they do not just follow each other.
    #[inline]
    pub fn join(&self) -> Option<JoinParts> {
        self.join
    }

    /// Whether this is the last request of its line, or the only one.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// Appends the reply to a request for `name`; nothing when the client asked not to hear it.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, name: &[u8], body: &ReplyBody<'_>) {
        self.writer.write(&self.state, out, name, body);
    }
}

/// The writing half of a client protocol.
pub trait ReplyWriter: fmt::Debug + Sync {
    /// Appends the reply to a request for `name`; nothing when the client asked not to hear it.
    fn write(&self, state: &ReplyState, out: &mut Vec<u8>, name: &[u8], body: &ReplyBody<'_>);

    /// Appends an error that takes the place of a whole reply whose request is not at hand any more.
    fn write_error(&self, out: &mut Vec<u8>, error: &RequestError<'_>);

    /// Appends one line of `stats`.
    fn write_stat(&self, out: &mut Vec<u8>, name: &str, value: &str);

    /// Appends one line of `stats`, for a number.
    fn write_stat_number(&self, out: &mut Vec<u8>, name: &str, value: u64) {
        self.write_stat(out, name, &value.to_string());
    }

    /// The end of `stats`.
    fn stats_end(&self) -> &'static [u8];

    /// Appends one key of a listing, with what is known about its item if the listing shows that.
    fn write_listed(&self, out: &mut Vec<u8>, name: &[u8], info: Option<&ItemInfo>);

    /// The end of a listing.
    fn listing_end(&self, detail: ListingDetail) -> &'static [u8];

    /// The release of the protocol, as `stats` shows it.
    fn version(&self) -> &'static str;
}

/// What a reply says.
#[derive(Clone, Copy, Debug)]
pub enum ReplyBody<'a> {
    /// An operation came to this outcome, which shows no item.
    Outcome(OperationReply<'a>),
    /// A get found this item.
    Item(ShownItem<'a>),
    /// An edit or a view has computed this.
    Computed(&'a [u8]),
    /// What is known about the item; `None` when there is no item.
    ItemInfo {
        /// The item.
        info: Option<ItemInfo>,
        /// The Unix second now.
        now: u32,
    },
    /// The server's figures.
    Figures(&'a ServerFigures),
    /// Keys that match a [`ScanRequest`](crate::protocol::ScanRequest).
    Keys(&'a KeyPage),
    /// A value was moved or copied to another key, or not.
    Moved(MoveOutcome),
    /// The request failed.
    Error(RequestError<'a>),
    /// A request for the server was carried out.
    Ok,
    /// The counters were reset.
    Reset,
    /// User name and password are right.
    Authenticated,
    /// User name or password is wrong.
    AuthenticationFailed,
}

/// The figures of a server, for a report in the words of a protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerFigures {
    /// Seconds since the start.
    pub uptime_s: u64,
    /// The port for clients of Redis; 0: there is none.
    pub redis_port: u64,
    /// Keys, about.
    pub keys: u64,
    /// Bytes of their records, about.
    pub live_bytes: u64,
    /// Bytes of DRAM of index, buffers and record cache.
    pub memory_bytes: u64,
    /// Bytes of DRAM that these may have.
    pub memory_limit: u64,
    /// Connections now.
    pub connections: u64,
    /// Connections that there may be.
    pub connection_limit: u64,
    /// Connections since the start.
    pub total_connections: u64,
    /// Connections that were refused.
    pub rejected_connections: u64,
    /// Operations that were answered.
    pub operations: u64,
    /// Bytes received.
    pub bytes_read: u64,
    /// Bytes sent.
    pub bytes_written: u64,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
}

/// What came of moving a value from one key to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveOutcome {
    /// The target has the value, and the source is gone if that was asked for.
    Done,
    /// There is no source.
    NoSource,
    /// The target was there already.
    TargetExists,
    /// The target has the value. The source was changed meanwhile, and is still there.
    SourceChanged,
}

/// Keys of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPage {
    /// A list of names, by [`items`](fawn_kv::operation::items).
    pub names: Vec<u8>,
    /// Number of names.
    pub count: usize,
    /// Where the next page begins; 0: this is the last.
    pub cursor: u64,
}

/// The outcome of an operation, and what a reply may say about it.
#[derive(Clone, Copy, Debug)]
pub struct OperationReply<'a> {
    /// The outcome.
    pub outcome: &'a Outcome,
    /// The cas of the record that the operation has appended, if any.
    pub appended_cas: u64,
    /// Bytes of the value that the client sent.
    pub sent_bytes: usize,
    /// The Unix second now.
    pub now: u32,
}

/// An item that a get shows.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts, each a flag of a protocol
pub struct ShownItem<'a> {
    /// The value.
    pub value: &'a [u8],
    /// The client's flags.
    pub flags: u32,
    /// The version's cas.
    pub cas: u64,
    /// Seconds left before the operation; `None` for never.
    pub ttl_before: Option<u32>,
    /// Seconds left now.
    pub ttl: Option<u32>,
    /// Seconds since the last use.
    pub idle: u32,
    /// The item was read before.
    pub fetched: bool,
    /// The operation made the item.
    pub created: bool,
    /// The client has won the right to refresh the item.
    pub won: bool,
    /// The item is stale.
    pub stale: bool,
    /// Another client has won the item.
    pub already_won: bool,
    /// The client has this version already, so the value is left out.
    pub hide_value: bool,
}

impl<'a> ShownItem<'a> {
    /// An item without an expiry, as a plain get shows it.
    #[inline]
    pub fn plain(value: &'a [u8], flags: u32, cas: u64) -> Self {
        Self {
            value,
            flags,
            cas,
            ttl_before: None,
            ttl: None,
            idle: 0,
            fetched: false,
            created: false,
            won: false,
            stale: false,
            already_won: false,
            hide_value: false,
        }
    }
}

/// What is known about an item beside its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemInfo {
    /// Unix second of the expiry; 0 for never.
    pub expiry: u32,
    /// The last use, if the table of last uses still has it.
    pub last_use: Option<LastUse>,
    /// The version's cas.
    pub cas: u64,
    /// The client's flags.
    pub flags: u32,
    /// Bytes of the value.
    pub value_bytes: usize,
}

/// Why a request failed. The texts are for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError<'a> {
    /// The value exceeds the limit.
    TooLarge,
    /// The index has no memory left for the item.
    OutOfMemory,
    /// The server cannot carry the request out.
    Server(&'a str),
    /// The client may not ask this.
    Client(&'a str),
}

/// Seconds left until an expiry; `None` for never.
pub fn ttl(expiry: u32, now: u32) -> Option<u32> {
    (expiry != 0).then(|| expiry.saturating_sub(now))
}

/// A report of `stats` that needs the figures of every loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StatsReport {
    /// `stats`
    General,
    /// `stats settings`
    Settings,
    /// `stats items`
    Items,
    /// `stats slabs`
    Slabs,
    /// `stats sizes`
    Sizes,
    /// `stats conns`
    Connections,
}

/// What a listing shows of each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingDetail {
    /// The key alone, for a [`ScanRequest`](crate::protocol::ScanRequest): it and whether its value is a hash.
    Typed,
    /// The key alone.
    Keys,
    /// The key and what is known about its item.
    Items,
}

/// How the lines of a listing are written.
#[derive(Clone, Copy, Debug)]
pub struct ListingForm {
    /// Writes the lines.
    pub writer: &'static dyn ReplyWriter,
    /// What each line shows.
    pub detail: ListingDetail,
}

/// A part of a reply that its connection waits for, as the connection's loop knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplySlot {
    /// The connection.
    pub connection: Token,
    /// The reply's number in the connection.
    pub answer: u64,
    /// The part's number in the reply.
    pub part: u32,
    /// When the request came.
    pub stamp: Stamp,
}

/// Where a reply goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyTo {
    /// The loop of the connection.
    pub home: u16,
    /// The part of a reply that is waited for there.
    pub slot: ReplySlot,
    /// Bytes that the request took on its way; returned with the reply.
    pub request_bytes: u32,
}

/// How far the execution of a request came at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// The reply was appended to the output.
    Done {
        /// The reply may leave once this is durable.
        gate: Gate,
        /// The reply is an error that stands for a whole line of keys.
        failed: bool,
    },
    /// The request waits; its [`ReplyTo`] is to be assigned to this ticket.
    Later(TaskTicket),
}

/// How a request ended that had to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionStatus {
    /// The reply is written.
    Done,
    /// The reply is written; it is an error that stands for a whole line of keys.
    Failed,
    /// The store has stopped before the reply's record was durable; the connection writes the error.
    StoreStopped,
    /// Some keys were not flushed; the connection writes the error.
    FlushFailed(RequestError<'static>),
}

impl CompletionStatus {
    /// Whether the reply is an error.
    pub fn is_failure(self) -> bool {
        self != Self::Done
    }

    /// The error that the connection has to write.
    pub fn unwritten(self) -> Option<RequestError<'static>> {
        match self {
            Self::Done | Self::Failed => None,
            Self::StoreStopped => Some(STOPPED),
            Self::FlushFailed(error) => Some(error),
        }
    }
}

/// The reply to a request that had to wait.
#[derive(Debug)]
pub struct Completion {
    /// Where the reply goes.
    pub to: ReplyTo,
    /// The reply's bytes.
    pub bytes: Vec<u8>,
    /// How the request ended.
    pub status: CompletionStatus,
    /// The client hears nothing, whatever becomes of the request.
    pub silent: bool,
    /// Bytes that the reply was granted credit for.
    pub granted: u32,
}

impl Completion {
    /// The reply `bytes` for `to`.
    pub fn of(to: ReplyTo, bytes: Vec<u8>) -> Self {
        Self { to, bytes, status: CompletionStatus::Done, silent: false, granted: 0 }
    }

    /// The reply `bytes` to a request of `form`. No bytes are silence, except for a key in the middle of a line: there
    /// they are a miss.
    pub fn to(form: &ReplyForm, to: ReplyTo, bytes: Vec<u8>, failed: bool) -> Self {
        let status = if failed { CompletionStatus::Failed } else { CompletionStatus::Done };
        Self { status, silent: bytes.is_empty() && form.is_last(), ..Self::of(to, bytes) }
    }

    /// The completion as an error, because its store has stopped; silence stays silence.
    pub fn failed_by_stop(self) -> Self {
        let status = if self.silent { CompletionStatus::Failed } else { CompletionStatus::StoreStopped };
        Self { bytes: Vec::new(), status, ..self }
    }
}

/// What comes before the lines of one part of a listing, between loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListingPart {
    /// Where the store's next part begins.
    pub next: Option<Key>,
    /// The listing cannot go on.
    pub failed: bool,
    /// Keys of this part that cannot be read.
    pub lost: u64,
}

impl ListingPart {
    const BYTES: usize = 1 + Key::LEN + 8;

    /// The part's head as bytes, which lines may follow.
    pub fn encode(self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.next.is_some()) | u8::from(self.failed) << 1];
        bytes.extend_from_slice(&self.next.unwrap_or(Key::MIN).0);
        bytes.extend_from_slice(&self.lost.to_le_bytes());
        bytes
    }

    /// The part's head, and the lines.
    pub fn decode(bytes: &[u8]) -> (Self, &[u8]) {
        let (head, lines) = bytes.split_at(Self::BYTES);
        let mut key = Key::MIN;
        key.0.copy_from_slice(&head[1..=Key::LEN]);
        let mut lost = [0; 8];
        lost.copy_from_slice(&head[1 + Key::LEN..]);
        let (next, failed) = ((head[0] & 1 != 0).then_some(key), head[0] & 2 != 0);
        (Self { next, failed, lost: u64::from_le_bytes(lost) }, lines)
    }
}

/// A put that finds only the reserve left.
pub const NO_SPACE: RequestError<'static> =
    RequestError::Server("no space left on the device, delete something or enlarge it");

/// A put that finds the index full of what merges cannot take out of it.
pub const CANNOT_MERGE: RequestError<'static> =
    RequestError::Server("out of memory since merges fail, see the server's log");

/// A put to a store that has stopped.
pub const STOPPED: RequestError<'static> =
    RequestError::Server("the store has stopped after a failed write, see the server's log");

/// A request that gives something a time to live, on a machine whose clock was never set.
pub const CLOCK_NOT_SET: RequestError<'static> =
    RequestError::Server("the server's clock is not set, so items cannot have a time to live: set the clock");

/// A flush that some stores did not take.
pub const FLUSH_FAILED: RequestError<'static> = RequestError::Server("flush_all failed, see the server's log");

/// A get whose pages cannot be read or are damaged.
pub const UNREADABLE: RequestError<'static> =
    RequestError::Server("the item cannot be read from flash, see the server's log");

/// A request whose item is not read, because the system is short of something.
pub const SHORT: RequestError<'static> =
    RequestError::Server("the server is short of file descriptors or memory, try again");

/// A large value that could not be written.
pub const UNWRITABLE: RequestError<'static> =
    RequestError::Server("the value cannot be written to flash, see the server's log");
