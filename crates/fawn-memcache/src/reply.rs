//! Answers and the bytes they become.

use crate::base64;
use crate::lines;

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Stored.
    Stored {
        /// The new version's cas.
        cas: u64,
        /// Bytes of the value that is there now.
        size: usize,
    },
    /// The condition of add, replace, append or prepend did not hold.
    NotStored {
        /// Bytes of the value that was sent.
        size: usize,
    },
    /// The cas did not match.
    Exists {
        /// Bytes of the value that was sent; 0 for commands without one.
        size: usize,
    },
    /// No such key.
    NotFound {
        /// Bytes of the value that was sent; 0 for commands without one.
        size: usize,
    },
    /// Deleted, or marked stale.
    Deleted,
    /// The expiry is set.
    Touched,
    /// A counter's new value.
    Number(Number),
    /// A get's value.
    Hit(Hit<'a>),
    /// A get found nothing.
    Miss,
    /// A counter's value is no number.
    NonNumeric,
    /// The value is above the item limit.
    TooLarge,
    /// No room for the value.
    OutOfMemory,
    /// Done.
    Ok,
    /// `mn`.
    Noop,
    /// The counters are reset.
    Reset,
    /// The version, `n.n.n`.
    Version(&'a str),
    /// What `me` shows.
    Debug(Debug),
    /// User name and password are right.
    Authenticated,
    /// They are not.
    AuthenticationFailed,
    /// An error line of the server's own (`SERVER_ERROR …`), without line break.
    Error(&'a str),
}

/// A counter after incr, decr or `ma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// The new value.
    pub value: u64,
    /// The new version's cas.
    pub cas: u64,
    /// Seconds left before the command, `None` for never. (A vivified counter had none.)
    pub ttl_before: Option<u32>,
    /// Seconds left now.
    pub ttl: Option<u32>,
    /// The command made the counter.
    pub created: bool,
}

/// A value that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // six independent facts of the protocol, each a flag on the wire
pub struct Hit<'a> {
    /// The value.
    pub value: &'a [u8],
    /// The client's flags.
    pub flags: u32,
    /// The version's cas.
    pub cas: u64,
    /// Seconds left before the command, `None` for never.
    pub ttl_before: Option<u32>,
    /// Seconds left now.
    pub ttl: Option<u32>,
    /// Seconds since the last access.
    pub idle: u32,
    /// It was read before.
    pub fetched: bool,
    /// This command made it (`mg` with `N`).
    pub created: bool,
    /// The client has won the right to refresh it (`W`).
    pub won: bool,
    /// It is stale (`X`).
    pub stale: bool,
    /// Another client has won it (`Z`).
    pub already_won: bool,
    /// The client has this version already (`mg` with `C`): answer without the value.
    pub hide_value: bool,
}

impl<'a> Hit<'a> {
    /// A value with no flags, no expiry and cas 0.
    pub fn of(value: &'a [u8]) -> Self {
        Self {
            value,
            flags: 0,
            cas: 0,
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

/// What `me` and `lru_crawler metadump` tell of an item beside its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debug {
    /// `me`: seconds left, `metadump`: Unix second of expiry; `None` for never.
    pub expiry: Option<u32>,
    /// `me`: seconds since the last access, `metadump`: its Unix second.
    pub access: u32,
    /// Its cas.
    pub cas: u64,
    /// It was read since it was stored.
    pub fetched: bool,
    /// Slab class.
    pub class: u32,
    /// Bytes it takes.
    pub size: u64,
    /// The client's flags (`metadump` only).
    pub flags: u32,
}

/// Turns the [`Answer`] to one request into bytes. Knows what the request wants echoed and what it wants hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Responder {
    pub(crate) form: Form,
    /// `noreply`, or `q`.
    pub(crate) quiet: bool,
    pub(crate) echo: Echo,
}

/// The family of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One key of a line of keys.
    Get {
        cas: bool,
        last: bool,
    },
    /// A classic one-line answer.
    Text,
    MetaGet,
    MetaStore,
    MetaDelete,
    MetaArithmetic,
    MetaDebug,
}

/// What a meta command wants back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Echo {
    /// Flags that show in an answer or change what shows, in the order given.
    pub flags: [u8; Echo::MOST_FLAGS],
    pub flag_count: u8,
    pub opaque: [u8; Echo::MOST_OPAQUE],
    pub opaque_len: u8,
    /// `v`
    pub value: bool,
    /// `b`
    pub base64: bool,
}

impl Echo {
    /// s t c f l h O k, and T N, which change what a later t shows.
    pub const MOST_FLAGS: usize = 10;
    /// Bytes of an opaque token without its letter.
    pub const MOST_OPAQUE: usize = 31;
    pub const NONE: Self = Self {
        flags: [0; Self::MOST_FLAGS],
        flag_count: 0,
        opaque: [0; Self::MOST_OPAQUE],
        opaque_len: 0,
        value: false,
        base64: false,
    };
}

impl Responder {
    /// Appends the answer to `out`; nothing when the client asked not to hear it. `key` is the request's.
    ///
    /// # Panics
    /// An answer that the request's command cannot have (a `Hit` for a `set`) is a bug of the caller.
    pub fn write(&self, out: &mut Vec<u8>, key: &[u8], answer: &Answer<'_>) {
        let _ = (out, key, answer, lines::OK, base64::encode as fn(&[u8], &mut Vec<u8>));
    }

    /// Appends what comes before a hit's value, and says whether value and `\r\n` follow; then call
    /// [`finish_hit`](Self::finish_hit). For callers that send large values without copying them; everyone else calls
    /// [`write`](Self::write).
    pub fn start_hit(&self, out: &mut Vec<u8>, key: &[u8], hit: &Hit<'_>) -> bool {
        let _ = (out, key, hit);
        false
    }

    /// Appends what comes after a hit's value and its `\r\n`.
    pub fn finish_hit(&self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// Whether the value itself can show in the answer (else a lookup need not fetch it).
    pub fn wants_value(&self) -> bool {
        matches!(self.form, Form::Get { .. }) || self.echo.value
    }

    /// Whether this is the last key of a line of keys (true for every other command): no value of the line may be
    /// sent before this request is answered, as the line can still be refused as a whole.
    pub fn is_last(&self) -> bool {
        !matches!(self.form, Form::Get { last: false, .. })
    }
}
