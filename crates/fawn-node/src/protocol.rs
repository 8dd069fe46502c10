//! The boundary to client protocols: bytes on one side, requests and replies on the other.
//!
//! A client protocol is an adapter: a [`Protocol`], which makes a [`RequestParser`] for each connection, and which writes
//! replies as a [`ReplyWriter`]. Nothing else of the node knows it. See `docs/decisions/0043-operations-as-currency.md`.

pub mod http;
pub mod memcached;
pub mod redis;

use crate::request::{KeyRequest, ListingDetail, ReplyForm, ReplyWriter, StatsReport};
use fawn_store::timekeeper::Time;
use std::fmt;
use std::net::SocketAddr;

/// A client protocol.
pub trait Protocol: ReplyWriter {
    /// Its name, for people.
    fn name(&self) -> &'static str;

    /// The parser of a new connection.
    fn parser(&self, options: ParserOptions) -> Box<dyn RequestParser>;

    /// What a client is sent whose connection is one too many, before the connection is closed.
    fn too_many_connections(&self) -> &'static [u8];
}

/// What a parser has to know of its server.
#[derive(Clone, Copy, Debug)]
pub struct ParserOptions {
    /// Largest item, in bytes.
    pub max_item_bytes: usize,
    /// Clients have to authenticate before anything else.
    pub authenticates: bool,
    /// Where the client is, if it has an address.
    pub peer: Option<SocketAddr>,
    /// The address of the server that the client has connected to.
    pub local: Option<SocketAddr>,
}

/// The reading half of a client protocol: the parser of one connection.
pub trait RequestParser: fmt::Debug + Send {
    /// Parses the next request of `input`, the connection's bytes that no earlier step consumed. Expiries are counted
    /// from `time`. What needs nothing of the server the parser answers itself, into `out`.
    fn next<'a>(&'a mut self, input: &'a [u8], time: &Time, out: &mut Vec<u8>) -> ParserStep<'a>;

    /// Calls `visit` for the keys that the next steps of `input` will most likely have, until it returns false. A guess:
    /// [`next`](Self::next) decides. Each key must be the very slice of the input that `next` gives out.
    fn upcoming<'a>(&self, input: &'a [u8], visit: &mut dyn FnMut(&'a [u8]) -> bool);

    /// Whether the client has yet to authenticate.
    fn is_locked(&self) -> bool;

    /// The client has authenticated.
    fn authenticated(&mut self);

    /// Bytes that the parser holds beside the connection's input.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// What a step of a parser found.
#[derive(Debug)]
pub struct ParserStep<'a> {
    /// Bytes of the input that are done with.
    pub consumed: usize,
    /// What they say.
    pub event: ParserEvent<'a>,
}

/// What the input of a connection says.
#[derive(Debug)]
pub enum ParserEvent<'a> {
    /// A request for one key. Its position is not known yet.
    Key(KeyRequest<'a>),
    /// A request for the server.
    Server(ServerRequest, ReplyForm),
    /// A user name and a password.
    Authenticate {
        /// The user's name.
        user: &'a [u8],
        /// The password.
        password: &'a [u8],
        /// Writes the reply.
        reply: ReplyForm,
    },
    /// A request that the parser has answered: the reply is in the output.
    Replied,
    /// The line of keys is refused as a whole: the replies to its requests so far are dropped, and this is sent.
    Abandon(&'static [u8]),
    /// Nothing until the input (without what is consumed now) holds at least so many bytes.
    NeedMore {
        /// Bytes, at least 1.
        total: usize,
    },
    /// The connection is to be closed once earlier replies have left; whatever follows is ignored.
    Close,
}

/// A request to move or copy a value, with its flags and its expiry, from one key to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveRequest {
    /// The key that has the value.
    pub source: Box<[u8]>,
    /// The key that is to have it.
    pub target: Box<[u8]>,
    /// A value that the target has already stays, and nothing is moved.
    pub only_absent: bool,
    /// The source is deleted afterwards.
    pub deletes_source: bool,
}

/// A request for keys that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanRequest {
    /// How many keys are wanted.
    pub extent: ScanExtent,
    /// A pattern of [`glob`](fawn_kv::operation::glob) that names have to match.
    pub pattern: Option<Box<[u8]>>,
    /// Which values keys have to have.
    pub wanted: WantedValues,
}

/// Which values the keys of a [`ScanRequest`] have to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WantedValues {
    /// Any.
    #[default]
    All,
    /// Strings.
    Strings,
    /// Hashes.
    Hashes,
    /// Values of a type that there are none of.
    None,
}

/// How many keys a [`ScanRequest`] wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanExtent {
    /// Some. The reply has the next cursor. A key that is there from a first cursor of 0 to the last is listed once at least.
    Page {
        /// Where the page begins; 0: at the first key.
        cursor: u64,
        /// About how many keys are looked at.
        count: usize,
    },
    /// All.
    All,
    /// One, near the place in the key space that these bits name.
    One(u64),
}

/// A request for the server, not for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerRequest {
    /// Everything stored so far disappears at this Unix second; 0: now.
    FlushAll {
        /// Unix second.
        at_unix: u32,
    },
    /// A report of `stats`.
    Stats(StatsReport),
    /// A report that the adapter writes of the server's figures ([`ReplyBody::Figures`](crate::request::ReplyBody::Figures)).
    Figures,
    /// Keys that match, in bounded parts ([`ReplyBody::Keys`](crate::request::ReplyBody::Keys)).
    Scan(Box<ScanRequest>),
    /// A value becomes another key's, too ([`ReplyBody::Moved`](crate::request::ReplyBody::Moved)).
    Move(Box<MoveRequest>),
    /// All counters are set to 0.
    ResetCounters,
    /// All keys are listed.
    List(ListingDetail),
    /// The TLS certificates are read again.
    RefreshCertificates,
}
