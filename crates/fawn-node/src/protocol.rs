//! The boundary to client protocols: bytes on one side, requests and replies on the other.
//!
//! A client protocol is an adapter: a [`Protocol`], which makes a [`RequestParser`] for each connection, and which writes
//! replies as a [`ReplyWriter`]. Nothing else of the node knows it. See `docs/decisions/0043-operations-as-currency.md`.

pub mod memcached;
pub mod redis;

use crate::request::{KeyRequest, ListingDetail, ReplyForm, ReplyWriter, StatsReport};
use fawn_store::timekeeper::Time;
use std::fmt;
use std::net::SocketAddr;

/// A client protocol.
pub trait Protocol: ReplyWriter {
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
    /// All counters are set to 0.
    ResetCounters,
    /// All keys are listed.
    List(ListingDetail),
    /// The TLS certificates are read again.
    RefreshCertificates,
    /// The keys are counted. The reply is an integer.
    CountKeys,
    /// A page of the keys. The reply is computed: a list of the next cursor, in decimal, and the keys.
    Scan(Box<ScanRequest>),
    /// All keys that match a pattern. The reply is computed: a list of the keys.
    Keys {
        /// The pattern.
        pattern: Box<[u8]>,
    },
    /// A key chosen at random. The reply is computed, or a miss if there is none.
    RandomKey,
    /// A report on the server, as lines of text. The reply is computed: the text.
    Info {
        /// The names of the sections that are asked for, in small letters; none: those that are shown by default.
        sections: Vec<Box<str>>,
    },
}

/// Which page of the keys is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanRequest {
    /// Where the page begins: 0, or what the page before named.
    pub cursor: u64,
    /// Only keys that match this.
    pub pattern: Option<Box<[u8]>>,
    /// Keys that are looked at, about.
    pub count: u32,
    /// Only values of this type, in small letters.
    pub of_type: Option<Box<[u8]>>,
}
