//! Answers and the bytes they become.

use crate::base64;
use crate::lines;

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutcome<'a> {
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
    Number(CounterValue),
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
    /// The same, of the server: `SERVER_ERROR ` goes before this.
    ServerError(&'a str),
    /// The same, of the client: `CLIENT_ERROR ` goes before this.
    ClientError(&'a str),
}

/// A counter after incr, decr or `ma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterValue {
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

/// Turns the [`CommandOutcome`] to one request into bytes. Knows what the request wants echoed and what it wants hidden.
///
/// A responder is plain bytes ([`to_bytes`](Self::to_bytes)), so that a server can send it from thread to thread without
/// knowing what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Responder([u8; Responder::BYTES]);

/// Bits of a responder's byte [`Responder::BITS`].
mod bit {
    /// `noreply`, or `q`.
    pub const QUIET: u8 = 1;
    /// `v`
    pub const VALUE: u8 = 2;
    /// `b`
    pub const BASE64: u8 = 4;
    /// The reply to `gets` or `gats` has cas numbers.
    pub const CAS: u8 = 8;
    /// The request is the last key of its line.
    pub const LAST: u8 = 16;
}

/// The family of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyFamily {
    /// A classic one-line answer.
    Text,
    /// One key of a line of keys.
    Get {
        cas: bool,
        last: bool,
    },
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
    /// Bytes of a responder.
    pub const BYTES: usize = 48;

    /// Where the parts are: the form, [`bit`]s, the numbers of flags and of bytes of the opaque, and these themselves.
    const FORM: usize = 0;
    const BITS: usize = 1;
    const FLAG_COUNT: usize = 2;
    const OPAQUE_LEN: usize = 3;
    const FLAGS: usize = 4;
    const OPAQUE: usize = Self::FLAGS + Echo::MOST_FLAGS;

    pub(crate) fn new(form: ReplyFamily, quiet: bool, echo: &Echo) -> Self {
        let mut responder = Self::plain(form, quiet);
        let bytes = &mut responder.0;
        bytes[Self::BITS] |= if echo.value { bit::VALUE } else { 0 };
        bytes[Self::BITS] |= if echo.base64 { bit::BASE64 } else { 0 };
        (bytes[Self::FLAG_COUNT], bytes[Self::OPAQUE_LEN]) = (echo.flag_count, echo.opaque_len);
        bytes[Self::FLAGS..][..Echo::MOST_FLAGS].copy_from_slice(&echo.flags);
        bytes[Self::OPAQUE..][..Echo::MOST_OPAQUE].copy_from_slice(&echo.opaque);
        responder
    }

    /// A responder that echoes nothing.
    #[inline]
    fn plain(form: ReplyFamily, quiet: bool) -> Self {
        let quiet = if quiet { bit::QUIET } else { 0 };
        let (form, bits) = match form {
            ReplyFamily::Text => (0, 0),
            ReplyFamily::Get { cas, last } => (1, (if cas { bit::CAS } else { 0 }) | if last { bit::LAST } else { 0 }),
            ReplyFamily::MetaGet => (2, 0),
            ReplyFamily::MetaStore => (3, 0),
            ReplyFamily::MetaDelete => (4, 0),
            ReplyFamily::MetaArithmetic => (5, 0),
            ReplyFamily::MetaDebug => (6, 0),
        };
        let mut bytes = [0; Self::BYTES];
        (bytes[Self::FORM], bytes[Self::BITS]) = (form, bits | quiet);
        Self(bytes)
    }

    /// The responder to a classic command.
    #[inline]
    pub(crate) fn text(quiet: bool) -> Self {
        Self::plain(ReplyFamily::Text, quiet)
    }

    /// The responder to one key of a line of keys.
    #[inline]
    pub(crate) fn get(cas: bool, last: bool) -> Self {
        Self::plain(ReplyFamily::Get { cas, last }, false)
    }

    /// The responder as bytes.
    #[inline]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0
    }

    /// The responder that [`to_bytes`](Self::to_bytes) has made `bytes` of. Other bytes give a responder, too, but not a
    /// useful one.
    #[inline]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        Self(*bytes)
    }

    #[inline]
    fn has(&self, bit: u8) -> bool {
        self.0[Self::BITS] & bit != 0
    }

    #[inline]
    fn form(&self) -> ReplyFamily {
        match self.0[Self::FORM] {
            1 => ReplyFamily::Get { cas: self.has(bit::CAS), last: self.has(bit::LAST) },
            2 => ReplyFamily::MetaGet,
            3 => ReplyFamily::MetaStore,
            4 => ReplyFamily::MetaDelete,
            5 => ReplyFamily::MetaArithmetic,
            6 => ReplyFamily::MetaDebug,
            _ => ReplyFamily::Text,
        }
    }

    /// Whether the client asked for no reply where nothing is wrong.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.has(bit::QUIET)
    }

    /// The flags that show in the reply, in the order given.
    fn flags(&self) -> impl Iterator<Item = u8> + '_ {
        let count = usize::from(self.0[Self::FLAG_COUNT]).min(Echo::MOST_FLAGS);
        self.0[Self::FLAGS..][..count].iter().copied()
    }

    /// The opaque token without its letter.
    fn opaque(&self) -> &[u8] {
        let len = usize::from(self.0[Self::OPAQUE_LEN]).min(Echo::MOST_OPAQUE);
        &self.0[Self::OPAQUE..][..len]
    }

    /// Appends the answer to `out`; nothing when the client asked not to hear it. `key` is the request's.
    ///
    /// # Panics
    /// An answer that the request's command cannot have (a `Hit` for a `set`) is a bug of the caller.
    pub fn write(&self, out: &mut Vec<u8>, key: &[u8], answer: &CommandOutcome<'_>) {
        match (answer, self.form()) {
            (CommandOutcome::Hit(hit), _) => {
                if self.start_hit(out, key, hit) {
                    out.extend_from_slice(hit.value);
                    out.extend_from_slice(b"\r\n");
                }
                self.finish_hit(out);
            }
            (CommandOutcome::Miss, ReplyFamily::Get { .. }) => self.finish_hit(out),
            (CommandOutcome::Miss, ReplyFamily::MetaGet) if self.is_quiet() => {}
            (CommandOutcome::Miss, ReplyFamily::MetaGet) => self.meta_line(out, key, "EN", None),
            (CommandOutcome::Miss, ReplyFamily::MetaDebug) => out.extend_from_slice(lines::EN.as_bytes()),
            (CommandOutcome::Debug(item), ReplyFamily::MetaDebug) => self.debug(out, key, item),
            (CommandOutcome::Number(number), ReplyFamily::MetaArithmetic) => self.meta_number(out, key, number),
            (CommandOutcome::Number(number), _) => self.number(out, number.value),
            (CommandOutcome::Error(line), _) => self.error(out, &[line, "\r\n"]),
            (CommandOutcome::ServerError(text), _) => self.error(out, &["SERVER_ERROR ", text, "\r\n"]),
            (CommandOutcome::ClientError(text), _) => self.error(out, &["CLIENT_ERROR ", text, "\r\n"]),
            (CommandOutcome::NonNumeric, _) => self.error(out, &[lines::NON_NUMERIC]),
            (CommandOutcome::TooLarge, _) => self.error(out, &[lines::TOO_LARGE]),
            (CommandOutcome::OutOfMemory, _) => self.error(out, &[lines::OUT_OF_MEMORY]),
            (_, ReplyFamily::MetaStore | ReplyFamily::MetaDelete | ReplyFamily::MetaArithmetic) => {
                self.meta_status(out, key, answer)
            }
            (_, ReplyFamily::Text) => self.classic(out, answer),
            _ => panic!("{answer:?} is no answer to a command of {:?}", self.form()),
        }
    }

    /// Appends what comes before a hit's value, and says whether value and `\r\n` follow; then call
    /// [`finish_hit`](Self::finish_hit). For callers that send large values without copying them; everyone else calls
    /// [`write`](Self::write).
    pub fn start_hit(&self, out: &mut Vec<u8>, key: &[u8], hit: &Hit<'_>) -> bool {
        match self.form() {
            ReplyFamily::Get { cas, .. } => {
                out.reserve(key.len() + hit.value.len() + 64);
                out.extend_from_slice(b"VALUE ");
                out.extend_from_slice(key);
                spaced(out, hit.flags);
                spaced(out, hit.value.len() as u64);
                if cas {
                    spaced(out, hit.cas);
                }
                out.extend_from_slice(b"\r\n");
                true
            }
            ReplyFamily::MetaGet => {
                let value = self.has(bit::VALUE) && !hit.hide_value;
                if value {
                    out.extend_from_slice(b"VA");
                    spaced(out, hit.value.len() as u64);
                } else {
                    out.extend_from_slice(b"HD");
                }
                self.echo_hit(out, key, hit);
                value
            }
            form => panic!("a hit is no answer to a command of {form:?}"),
        }
    }

    /// Appends what comes after a hit's value and its `\r\n`.
    pub fn finish_hit(&self, out: &mut Vec<u8>) {
        if let ReplyFamily::Get { last: true, .. } = self.form() {
            out.extend_from_slice(lines::END.as_bytes());
        }
    }

    /// Whether the value itself can show in the answer (else a lookup need not fetch it).
    pub fn wants_value(&self) -> bool {
        matches!(self.form(), ReplyFamily::Get { .. }) || self.has(bit::VALUE)
    }

    /// Whether this is the last key of a line of keys (true for every other command): no value of the line may be
    /// sent before this request is answered, as the line can still be refused as a whole.
    pub fn is_last(&self) -> bool {
        !matches!(self.form(), ReplyFamily::Get { last: false, .. })
    }

    pub(crate) fn is_meta(&self) -> bool {
        !matches!(self.form(), ReplyFamily::Get { .. } | ReplyFamily::Text)
    }

    /// An error: `noreply` hides it, `q` does not.
    fn error(&self, out: &mut Vec<u8>, parts: &[&str]) {
        if self.is_meta() || !self.is_quiet() {
            for part in parts {
                out.extend_from_slice(part.as_bytes());
            }
        }
    }

    /// A classic one-line answer.
    fn classic(&self, out: &mut Vec<u8>, answer: &CommandOutcome<'_>) {
        if self.is_quiet() {
            return;
        }
        let line = match answer {
            CommandOutcome::Stored { .. } | CommandOutcome::Authenticated => lines::STORED,
            CommandOutcome::NotStored { .. } => lines::NOT_STORED,
            CommandOutcome::Exists { .. } => lines::EXISTS,
            CommandOutcome::NotFound { .. } => lines::NOT_FOUND,
            CommandOutcome::Deleted => lines::DELETED,
            CommandOutcome::Touched => lines::TOUCHED,
            CommandOutcome::Ok => lines::OK,
            CommandOutcome::Noop => lines::MN,
            CommandOutcome::Reset => lines::RESET,
            CommandOutcome::AuthenticationFailed => lines::AUTH_FAILURE,
            CommandOutcome::Version(version) => {
                out.extend_from_slice(b"VERSION ");
                out.extend_from_slice(version.as_bytes());
                "\r\n"
            }
            other => panic!("{other:?} is no answer to a classic command"),
        };
        out.extend_from_slice(line.as_bytes());
    }

    fn number(&self, out: &mut Vec<u8>, number: u64) {
        if !self.is_quiet() {
            digits(out, number);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// `HD`, `NS`, `EX` or `NF` with what is echoed; `q` hides `HD` alone.
    fn meta_status(&self, out: &mut Vec<u8>, key: &[u8], answer: &CommandOutcome<'_>) {
        let (code, cas, size) = match *answer {
            CommandOutcome::Stored { .. } | CommandOutcome::Deleted if self.is_quiet() => return,
            CommandOutcome::Stored { cas, size } => ("HD", cas, size),
            CommandOutcome::Deleted => ("HD", 0, 0),
            CommandOutcome::NotStored { size } => ("NS", 0, size),
            CommandOutcome::Exists { size } => ("EX", 0, size),
            CommandOutcome::NotFound { size } => ("NF", 0, size),
            other => panic!("{other:?} is no answer to a meta command of {:?}", self.form()),
        };
        self.meta_line(out, key, code, (self.form() == ReplyFamily::MetaStore).then_some((cas, size)));
    }

    /// A code with opaque and key, and for a store cas and size.
    fn meta_line(&self, out: &mut Vec<u8>, key: &[u8], code: &str, stored: Option<(u64, usize)>) {
        out.extend_from_slice(code.as_bytes());
        for flag in self.flags() {
            match (flag, stored) {
                (b'c', Some((cas, _))) => flagged(out, b'c', cas),
                (b's', Some((_, size))) => flagged(out, b's', size as u64),
                _ => self.echo_name(out, flag, key),
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    fn meta_number(&self, out: &mut Vec<u8>, key: &[u8], number: &CounterValue) {
        if self.is_quiet() {
            return;
        }
        let mut buffer = itoa::Buffer::new();
        let text = buffer.format(number.value).as_bytes();
        if self.has(bit::VALUE) {
            out.extend_from_slice(b"VA");
            spaced(out, text.len() as u64);
        } else {
            out.extend_from_slice(b"HD");
        }
        let mut ttl = number.ttl_before;
        for flag in self.flags() {
            match flag {
                b'c' => flagged(out, b'c', number.cas),
                b't' => remaining(out, ttl),
                b'T' => ttl = number.ttl,
                b'N' if number.created => ttl = number.ttl,
                _ => self.echo_name(out, flag, key),
            }
        }
        out.extend_from_slice(b"\r\n");
        if self.has(bit::VALUE) {
            out.extend_from_slice(text);
            out.extend_from_slice(b"\r\n");
        }
    }

    fn echo_hit(&self, out: &mut Vec<u8>, key: &[u8], hit: &Hit<'_>) {
        let mut ttl = hit.ttl_before;
        for flag in self.flags() {
            match flag {
                b's' => flagged(out, b's', hit.value.len() as u64),
                b't' => remaining(out, ttl),
                b'c' => flagged(out, b'c', hit.cas),
                b'f' => flagged(out, b'f', hit.flags),
                b'l' => flagged(out, b'l', hit.idle),
                b'h' => flagged(out, b'h', u8::from(hit.fetched)),
                b'T' => ttl = hit.ttl,
                b'N' if hit.created => ttl = hit.ttl,
                _ => self.echo_name(out, flag, key),
            }
        }
        for (mark, set) in [(b" Z", hit.already_won), (b" X", hit.stale), (b" W", hit.won)] {
            if set {
                out.extend_from_slice(mark);
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    /// The flags that every answer echoes: opaque and key.
    fn echo_name(&self, out: &mut Vec<u8>, flag: u8, key: &[u8]) {
        match flag {
            b'O' => {
                out.extend_from_slice(b" O");
                out.extend_from_slice(self.opaque());
            }
            b'k' => {
                out.extend_from_slice(b" k");
                if self.has(bit::BASE64) {
                    base64::encode(key, out);
                    out.extend_from_slice(b" b");
                } else {
                    out.extend_from_slice(key);
                }
            }
            _ => {}
        }
    }

    /// The answer to `me`.
    fn debug(&self, out: &mut Vec<u8>, key: &[u8], item: &Debug) {
        out.extend_from_slice(b"ME ");
        if self.has(bit::BASE64) {
            base64::encode(key, out);
        } else {
            out.extend_from_slice(key);
        }
        out.push(b' ');
        item.write(out);
        out.extend_from_slice(b"\r\n");
    }
}

impl Debug {
    /// `exp=… la=… cas=… fetch=… cls=… size=…`
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"exp=");
        match self.expiry {
            Some(expiry) => digits(out, expiry),
            None => out.extend_from_slice(b"-1"),
        }
        out.extend_from_slice(b" la=");
        digits(out, self.access);
        out.extend_from_slice(b" cas=");
        digits(out, self.cas);
        out.extend_from_slice(if self.fetched { b" fetch=yes cls=" } else { b" fetch=no cls=" });
        digits(out, self.class);
        out.extend_from_slice(b" size=");
        digits(out, self.size);
    }
}

pub(crate) fn digits(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn spaced(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.push(b' ');
    digits(out, number);
}

fn flagged(out: &mut Vec<u8>, flag: u8, number: impl itoa::Integer) {
    out.extend_from_slice(&[b' ', flag]);
    digits(out, number);
}

/// ` t` and the seconds left.
fn remaining(out: &mut Vec<u8>, ttl: Option<u32>) {
    match ttl {
        Some(seconds) => flagged(out, b't', seconds),
        None => out.extend_from_slice(b" t-1"),
    }
}
