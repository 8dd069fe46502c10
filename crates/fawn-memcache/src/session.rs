//! One connection's parser state.

use crate::{Exptime, Request};

/// Sizes that a session enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest item in bytes, counted as memcached counts: key, value and about 60 bytes of header
    /// ([`Limits::item_size`]). A larger one is refused before any of it is buffered.
    pub item_bytes: usize,
}

impl Default for Limits {
    /// memcached's: 1 MiB.
    fn default() -> Self {
        Self { item_bytes: 1 << 20 }
    }
}

impl Limits {
    /// What memcached counts for an item: its header, cas, key with a terminator, flags when not zero, value with its
    /// line break.
    pub fn item_size(key_len: usize, flags: u32, value_len: usize) -> usize {
        48 + 8 + key_len + 1 + if flags == 0 { 0 } else { 4 } + value_len + 2
    }
}

/// What [`Session::next`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// Bytes of the input that are done with; drop them (once the event no longer borrows from them) before the next
    /// call.
    pub consumed: usize,
    /// What they say.
    pub event: Event<'a>,
}

/// What the input says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A command.
    Request(Request<'a>),
    /// Send this (after the answers to earlier requests); the command is refused.
    Reply(&'static str),
    /// The line of keys that the requests since the last [`is_last`](crate::Responder::is_last) one came from is
    /// refused as a whole: drop their answers, send this.
    Abandon(&'static str),
    /// Nothing until the input (without what is consumed now) holds at least `total` bytes.
    NeedMore {
        /// Bytes, at least 1; at most the item limit and a line more.
        total: usize,
    },
    /// Close the connection once earlier answers have left; whatever follows is ignored.
    Close,
}

/// One connection's parser state, below 300 bytes.
#[derive(Clone, Debug)]
pub struct Session {
    limits: Limits,
}

impl Session {
    /// A session that serves at once.
    pub fn new(limits: Limits) -> Self {
        let _ = Exptime::default();
        Self { limits }
    }

    /// A session that first asks for a user name and password: memcached's ASCII authentication, a `set` of any key
    /// whose value is `user password`.
    pub fn with_authentication(limits: Limits) -> Self {
        Self { limits }
    }

    /// Opens an authenticating session: the answer to [`Authenticate`](crate::Command::Authenticate) is yes. To be
    /// called before the next [`next`](Self::next).
    pub fn authenticated(&mut self) {}

    /// Parses the next command of `input`, the connection's bytes that no earlier step consumed (always from the same
    /// byte on: the session remembers what it has seen of them).
    ///
    /// The same bytes give the same events however they are split over calls, but for
    /// [`NeedMore`](Event::NeedMore).
    pub fn next<'a>(&'a mut self, input: &'a [u8]) -> Step<'a> {
        let _ = (self.limits, input);
        Step { consumed: 0, event: Event::Close }
    }
}
