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

    fn flags(&self) -> impl Iterator<Item = u8> + '_ {
        self.flags[..self.flag_count as usize].iter().copied()
    }
}

impl Responder {
    /// Appends the answer to `out`; nothing when the client asked not to hear it. `key` is the request's.
    ///
    /// # Panics
    /// An answer that the request's command cannot have (a `Hit` for a `set`) is a bug of the caller.
    pub fn write(&self, out: &mut Vec<u8>, key: &[u8], answer: &Answer<'_>) {
        match (answer, self.form) {
            (Answer::Hit(hit), _) => {
                if self.start_hit(out, key, hit) {
                    out.extend_from_slice(hit.value);
                    out.extend_from_slice(b"\r\n");
                }
                self.finish_hit(out);
            }
            (Answer::Miss, Form::Get { .. }) => self.finish_hit(out),
            (Answer::Miss, Form::MetaGet) if self.quiet => {}
            (Answer::Miss, Form::MetaGet) => self.meta_line(out, key, "EN", None),
            (Answer::Miss, Form::MetaDebug) => out.extend_from_slice(lines::EN.as_bytes()),
            (Answer::Debug(item), Form::MetaDebug) => self.debug(out, key, item),
            (Answer::Number(number), Form::MetaArithmetic) => self.meta_number(out, key, number),
            (Answer::Number(number), _) => self.number(out, number.value),
            (Answer::Error(line), _) => self.error(out, &[line, "\r\n"]),
            (Answer::NonNumeric, _) => self.error(out, &[lines::NON_NUMERIC]),
            (Answer::TooLarge, _) => self.error(out, &[lines::TOO_LARGE]),
            (Answer::OutOfMemory, _) => self.error(out, &[lines::OUT_OF_MEMORY]),
            (_, Form::MetaStore | Form::MetaDelete | Form::MetaArithmetic) => self.meta_status(out, key, answer),
            (_, Form::Text) => self.classic(out, answer),
            _ => panic!("{answer:?} is no answer to a command of {:?}", self.form),
        }
    }

    /// Appends what comes before a hit's value, and says whether value and `\r\n` follow; then call
    /// [`finish_hit`](Self::finish_hit). For callers that send large values without copying them; everyone else calls
    /// [`write`](Self::write).
    pub fn start_hit(&self, out: &mut Vec<u8>, key: &[u8], hit: &Hit<'_>) -> bool {
        match self.form {
            Form::Get { cas, .. } => {
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
            Form::MetaGet => {
                let value = self.echo.value && !hit.hide_value;
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
        if let Form::Get { last: true, .. } = self.form {
            out.extend_from_slice(lines::END.as_bytes());
        }
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

    pub(crate) fn is_meta(&self) -> bool {
        !matches!(self.form, Form::Get { .. } | Form::Text)
    }

    /// An error: `noreply` hides it, `q` does not.
    fn error(&self, out: &mut Vec<u8>, parts: &[&str]) {
        if self.is_meta() || !self.quiet {
            for part in parts {
                out.extend_from_slice(part.as_bytes());
            }
        }
    }

    /// A classic one-line answer.
    fn classic(&self, out: &mut Vec<u8>, answer: &Answer<'_>) {
        if self.quiet {
            return;
        }
        let line = match answer {
            Answer::Stored { .. } | Answer::Authenticated => lines::STORED,
            Answer::NotStored { .. } => lines::NOT_STORED,
            Answer::Exists { .. } => lines::EXISTS,
            Answer::NotFound { .. } => lines::NOT_FOUND,
            Answer::Deleted => lines::DELETED,
            Answer::Touched => lines::TOUCHED,
            Answer::Ok => lines::OK,
            Answer::Noop => lines::MN,
            Answer::Reset => lines::RESET,
            Answer::AuthenticationFailed => lines::AUTH_FAILURE,
            Answer::Version(version) => {
                out.extend_from_slice(b"VERSION ");
                out.extend_from_slice(version.as_bytes());
                "\r\n"
            }
            other => panic!("{other:?} is no answer to a classic command"),
        };
        out.extend_from_slice(line.as_bytes());
    }

    fn number(&self, out: &mut Vec<u8>, number: u64) {
        if !self.quiet {
            digits(out, number);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// `HD`, `NS`, `EX` or `NF` with what is echoed; `q` hides `HD` alone.
    fn meta_status(&self, out: &mut Vec<u8>, key: &[u8], answer: &Answer<'_>) {
        let (code, cas, size) = match *answer {
            Answer::Stored { .. } | Answer::Deleted if self.quiet => return,
            Answer::Stored { cas, size } => ("HD", cas, size),
            Answer::Deleted => ("HD", 0, 0),
            Answer::NotStored { size } => ("NS", 0, size),
            Answer::Exists { size } => ("EX", 0, size),
            Answer::NotFound { size } => ("NF", 0, size),
            other => panic!("{other:?} is no answer to a meta command of {:?}", self.form),
        };
        self.meta_line(out, key, code, (self.form == Form::MetaStore).then_some((cas, size)));
    }

    /// A code with opaque and key, and for a store cas and size.
    fn meta_line(&self, out: &mut Vec<u8>, key: &[u8], code: &str, stored: Option<(u64, usize)>) {
        out.extend_from_slice(code.as_bytes());
        for flag in self.echo.flags() {
            match (flag, stored) {
                (b'c', Some((cas, _))) => flagged(out, b'c', cas),
                (b's', Some((_, size))) => flagged(out, b's', size as u64),
                _ => self.echo_name(out, flag, key),
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    fn meta_number(&self, out: &mut Vec<u8>, key: &[u8], number: &Number) {
        if self.quiet {
            return;
        }
        let mut buffer = itoa::Buffer::new();
        let text = buffer.format(number.value).as_bytes();
        if self.echo.value {
            out.extend_from_slice(b"VA");
            spaced(out, text.len() as u64);
        } else {
            out.extend_from_slice(b"HD");
        }
        let mut ttl = number.ttl_before;
        for flag in self.echo.flags() {
            match flag {
                b'c' => flagged(out, b'c', number.cas),
                b't' => remaining(out, ttl),
                b'T' => ttl = number.ttl,
                b'N' if number.created => ttl = number.ttl,
                _ => self.echo_name(out, flag, key),
            }
        }
        out.extend_from_slice(b"\r\n");
        if self.echo.value {
            out.extend_from_slice(text);
            out.extend_from_slice(b"\r\n");
        }
    }

    fn echo_hit(&self, out: &mut Vec<u8>, key: &[u8], hit: &Hit<'_>) {
        let mut ttl = hit.ttl_before;
        for flag in self.echo.flags() {
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
                out.extend_from_slice(&self.echo.opaque[..self.echo.opaque_len as usize]);
            }
            b'k' => {
                out.extend_from_slice(b" k");
                if self.echo.base64 {
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
        if self.echo.base64 {
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
