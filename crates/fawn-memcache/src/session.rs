//! One connection's parser state.

use memchr::{memchr, memchr2};

use crate::command_line::{CommandLine, Key, KeyBuffer};
use crate::parse;
use crate::tokens::Tokens;
use crate::{
    Command, CommandRequest, Exptime, MAX_KEY_BYTES, MAX_LINE_BYTES, Responder, SessionLimits, StoreRequest, Upcoming,
    lines, number,
};

/// First byte of a request of the binary protocol.
const BINARY_MAGIC: u8 = 0x80;

/// What [`Session::next`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStep<'a> {
    /// Bytes of the input that are done with; drop them (once the event no longer borrows from them) before the next
    /// call.
    pub consumed: usize,
    /// What they say.
    pub event: SessionEvent<'a>,
}

/// What the input says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEvent<'a> {
    /// A command.
    Request(CommandRequest<'a>),
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
    limits: SessionLimits,
    state: SessionState,
    /// No byte of the connection has been seen.
    fresh: bool,
    /// A client has to authenticate first.
    locked: bool,
    /// Bytes that the input has to hold before it is worth parsing; 0 when unknown. Reset by whatever consumes bytes.
    wanted: usize,
    /// Bytes at the input's start known to hold no line feed.
    searched: usize,
    /// A base64 key, decoded.
    decoded: KeyBuffer,
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionState {
    /// A command line.
    Line,
    /// Words of a line of keys.
    Keys(KeyLine),
    /// The rest of a refused line.
    SkipLine,
    /// So many bytes of a refused data block.
    SkipBlock(usize),
    /// A data block with user and password, of so many bytes with its line break.
    Credentials(usize),
    /// Nothing: the connection is to be closed.
    Closed,
}

/// A line of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeyLine {
    cas: bool,
    touch: Option<Exptime>,
    /// No key of the line has been given out.
    first: bool,
}

/// Why there is no line to parse.
#[derive(Clone, Copy, Debug)]
enum NoLine {
    /// Its line feed is not there: wait for so many bytes.
    Partial { wanted: usize },
    /// It has too many bytes.
    TooLong,
}

/// A step before its key is looked up in the session.
enum UnresolvedStep<'a> {
    Command {
        key: Key<'a>,
        command: Command<'a>,
        responder: Responder,
    },
    Reply(&'static str),
    Abandon(&'static str),
    NeedMore(usize),
    Close,
    /// Nothing to tell; go on.
    Silence,
}

/// Longest `user password`, in bytes.
const MOST_CREDENTIALS: u32 = 16_384;
/// Shortest line that can begin an authentication, without its line feed.
const FEWEST_AUTH: usize = 6;

impl Session {
    /// A session that serves at once.
    pub fn new(limits: SessionLimits) -> Self {
        let decoded = [0; 192];
        Self { limits, state: SessionState::Line, fresh: true, locked: false, wanted: 0, searched: 0, decoded }
    }

    /// A session that first asks for a user name and password: memcached's ASCII authentication, a `set` of any key
    /// whose value is `user password`. Until [`authenticated`](Self::authenticated) every other command is refused.
    pub fn with_authentication(limits: SessionLimits) -> Self {
        Self { locked: true, ..Self::new(limits) }
    }

    /// Opens an authenticating session: the answer to [`Authenticate`](Command::Authenticate) is yes. To be called
    /// before the next [`next`](Self::next).
    pub fn authenticated(&mut self) {
        self.locked = false;
    }

    /// Whether the client has yet to authenticate.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// Parses the next command of `input`, the connection's bytes that no earlier step consumed (always from the same
    /// byte on: the session remembers what it has seen of them).
    ///
    /// The same bytes give the same events however they are split over calls, but for
    /// [`NeedMore`](SessionEvent::NeedMore).
    #[inline]
    pub fn next<'a>(&'a mut self, input: &'a [u8]) -> SessionStep<'a> {
        let mut consumed = 0;
        let found = loop {
            let rest = &input[consumed..];
            if rest.len() < self.wanted {
                break UnresolvedStep::NeedMore(self.wanted);
            }
            let (taken, found) = self.step(rest);
            if taken > 0 {
                (self.wanted, self.searched) = (0, 0);
            }
            consumed += taken;
            match found {
                UnresolvedStep::Silence => {}
                UnresolvedStep::NeedMore(total) => {
                    self.wanted = total;
                    break found;
                }
                _ => break found,
            }
        };
        let event = match found {
            UnresolvedStep::Command { key, command, responder } => {
                let key = match key {
                    Key::Plain(key) => key,
                    Key::Decoded(len) => &self.decoded[..len],
                };
                SessionEvent::Request(CommandRequest { key, command, responder })
            }
            UnresolvedStep::Reply(line) => SessionEvent::Reply(line),
            UnresolvedStep::Abandon(line) => SessionEvent::Abandon(line),
            UnresolvedStep::NeedMore(total) => SessionEvent::NeedMore { total },
            UnresolvedStep::Close | UnresolvedStep::Silence => SessionEvent::Close,
        };
        SessionStep { consumed, event }
    }

    /// The keys that the next steps of `input` will most likely have, for whoever wants to fetch what they need ahead.
    /// A guess: what [`next`](Self::next) says counts. A key is the very slice of the input that `next` gives out,
    /// unless it was sent in base64.
    #[inline]
    pub fn upcoming<'a>(&self, input: &'a [u8]) -> Upcoming<'a> {
        Upcoming::new(input, matches!(self.state, SessionState::Keys(_)))
    }

    /// One piece of the input: bytes taken, and what they say.
    #[inline]
    fn step<'a>(&mut self, input: &'a [u8]) -> (usize, UnresolvedStep<'a>) {
        let Some(&first) = input.first() else { return (0, UnresolvedStep::NeedMore(1)) };
        match self.state {
            SessionState::Line => {
                if self.fresh && first == BINARY_MAGIC {
                    return self.close();
                }
                self.fresh = false;
                if self.locked { self.locked_line(input) } else { self.line(input) }
            }
            SessionState::Keys(keys) => self.next_key(input, keys),
            SessionState::SkipLine => match memchr(b'\n', input) {
                Some(end) => self.enter(SessionState::Line, end + 1, UnresolvedStep::Silence),
                None => (input.len(), UnresolvedStep::Silence),
            },
            SessionState::SkipBlock(len) if len > input.len() => {
                self.enter(SessionState::SkipBlock(len - input.len()), input.len(), UnresolvedStep::Silence)
            }
            SessionState::SkipBlock(len) => self.enter(SessionState::Line, len, UnresolvedStep::Silence),
            SessionState::Credentials(len) => self.credentials(input, len),
            SessionState::Closed => (input.len(), UnresolvedStep::Close),
        }
    }

    #[inline]
    fn enter<'a>(
        &mut self,
        state: SessionState,
        taken: usize,
        found: UnresolvedStep<'a>,
    ) -> (usize, UnresolvedStep<'a>) {
        self.state = state;
        (taken, found)
    }

    fn close<'a>(&mut self) -> (usize, UnresolvedStep<'a>) {
        self.enter(SessionState::Closed, 0, UnresolvedStep::Close)
    }

    /// The line at the input's start, without its break, and its length with it.
    #[inline]
    fn whole_line<'a>(&mut self, input: &'a [u8]) -> Result<(&'a [u8], usize), NoLine> {
        let window = &input[..input.len().min(MAX_LINE_BYTES + 2)];
        let Some(end) = memchr(b'\n', &window[self.searched..]).map(|at| self.searched + at) else {
            self.searched = window.len();
            let too_long = window.len() > MAX_LINE_BYTES + 1;
            return Err(if too_long { NoLine::TooLong } else { NoLine::Partial { wanted: input.len() + 1 } });
        };
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        if line.len() > MAX_LINE_BYTES {
            return Err(NoLine::TooLong);
        }
        Ok((line, end + 1))
    }

    #[inline]
    fn line<'a>(&mut self, input: &'a [u8]) -> (usize, UnresolvedStep<'a>) {
        if let Some((keys, taken)) = keys_command(input) {
            return match keys.touch {
                None if input.len() > taken => {
                    self.state = SessionState::Keys(keys);
                    let (more, found) = self.next_key(&input[taken..], keys);
                    (taken + more, found)
                }
                None => self.enter(SessionState::Keys(keys), taken, UnresolvedStep::Silence),
                Some(_) => self.touched_keys(input, keys, taken),
            };
        }
        let (line, whole) = match self.whole_line(input) {
            Ok(line) => line,
            Err(NoLine::Partial { wanted }) => return (0, UnresolvedStep::NeedMore(wanted)),
            Err(NoLine::TooLong) => return self.close(),
        };
        match parse::line(line, whole, self.limits, &mut self.decoded) {
            CommandLine::Command { key, command, responder } => {
                (whole, UnresolvedStep::Command { key, command, responder })
            }
            CommandLine::Block { key, store, responder, len } => {
                let total = whole + len + 2;
                let Some(block) = input.get(whole..total) else { return (0, UnresolvedStep::NeedMore(total)) };
                let Some(value) = block.strip_suffix(b"\r\n") else {
                    // A meta store's errors are never quiet.
                    let silent = responder.is_quiet() && !responder.is_meta();
                    return (
                        total,
                        if silent { UnresolvedStep::Silence } else { UnresolvedStep::Reply(lines::BAD_CHUNK) },
                    );
                };
                let command = Command::Store(StoreRequest { value, ..store });
                (total, UnresolvedStep::Command { key, command, responder })
            }
            CommandLine::TooLarge { key, command, responder, skip } => {
                self.enter(SessionState::SkipBlock(skip), whole, UnresolvedStep::Command { key, command, responder })
            }
            CommandLine::Refused { line, skip } => {
                let state = if skip == 0 { SessionState::Line } else { SessionState::SkipBlock(skip) };
                self.enter(state, whole, line.map_or(UnresolvedStep::Silence, UnresolvedStep::Reply))
            }
            CommandLine::Close => self.close(),
        }
    }

    /// `gat <exptime> …` up to its first key. `at` is where the command word and a blank end.
    fn touched_keys<'a>(&mut self, input: &'a [u8], keys: KeyLine, at: usize) -> (usize, UnresolvedStep<'a>) {
        let blanks = |from: usize| input[from..].iter().take_while(|byte| **byte == b' ').count();
        let start = at + blanks(at);
        let word = memchr2(b' ', b'\n', &input[start..]).map(|len| start + len);
        let key = word.filter(|end| input[*end] == b' ').map(|end| end + blanks(end));
        let (end, key) = match (word, key) {
            // The line ends with the expiry, or with blanks after it: no keys.
            (Some(end), None) => return (end + 1, UnresolvedStep::Reply(lines::BAD_FORMAT)),
            (Some(end), Some(key)) => match &input[key..] {
                [b'\n', ..] => return (key + 1, UnresolvedStep::Reply(lines::BAD_FORMAT)),
                [b'\r', b'\n', ..] => return (key + 2, UnresolvedStep::Reply(lines::BAD_FORMAT)),
                [] | [b'\r'] => return self.more_of_line(input),
                _ => (end, key),
            },
            (None, _) => return self.more_of_line(input),
        };
        if key > MAX_LINE_BYTES {
            return self.close();
        }
        match Exptime::read(&input[start..end]) {
            Some(exptime) => {
                let keys = KeyLine { touch: Some(exptime), ..keys };
                self.enter(SessionState::Keys(keys), key, UnresolvedStep::Silence)
            }
            None => self.enter(SessionState::SkipLine, key, UnresolvedStep::Reply(lines::BAD_EXPTIME)),
        }
    }

    /// Waits for more of a line whose part so far is all in `input` and should have an end.
    fn more_of_line<'a>(&mut self, input: &[u8]) -> (usize, UnresolvedStep<'a>) {
        if input.len() > MAX_LINE_BYTES { self.close() } else { (0, UnresolvedStep::NeedMore(input.len() + 1)) }
    }

    /// One key of a line of keys. It is given out once it is known whether another follows.
    #[inline]
    fn next_key<'a>(&mut self, input: &'a [u8], keys: KeyLine) -> (usize, UnresolvedStep<'a>) {
        if input[0] == b' ' {
            let blanks = input.iter().take_while(|byte| **byte == b' ').count();
            return (blanks, UnresolvedStep::Silence);
        }
        // A key, a carriage return, and what ends them.
        let window = &input[..input.len().min(MAX_KEY_BYTES + 2)];
        let Some(end) = memchr2(b' ', b'\n', window) else {
            let too_long = window.len() == MAX_KEY_BYTES + 2;
            return if too_long {
                self.refuse_keys(SessionState::SkipLine, window.len(), keys)
            } else {
                (0, UnresolvedStep::NeedMore(input.len() + 1))
            };
        };
        let (key, taken, last) = if input[end] == b'\n' {
            (input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]), end + 1, true)
        } else {
            let next = end + input[end..].iter().take_while(|byte| **byte == b' ').count();
            match &input[next..] {
                [b'\n', ..] => (&input[..end], next + 1, true),
                [b'\r', b'\n', ..] => (&input[..end], next + 2, true),
                [] | [b'\r'] if next > MAX_LINE_BYTES => return self.close(),
                [] | [b'\r'] => return (0, UnresolvedStep::NeedMore(input.len() + 1)),
                _ => (&input[..end], next, false),
            }
        };
        let after = if last { SessionState::Line } else { SessionState::SkipLine };
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return self.refuse_keys(after, taken, keys);
        }
        self.state = if last { SessionState::Line } else { SessionState::Keys(KeyLine { first: false, ..keys }) };
        let command = keys.touch.map_or(Command::Get, Command::GetAndTouch);
        (taken, UnresolvedStep::Command { key: Key::Plain(key), command, responder: Responder::get(keys.cas, last) })
    }

    fn refuse_keys<'a>(&mut self, after: SessionState, taken: usize, keys: KeyLine) -> (usize, UnresolvedStep<'a>) {
        let line = lines::BAD_FORMAT;
        self.enter(after, taken, if keys.first { UnresolvedStep::Reply(line) } else { UnresolvedStep::Abandon(line) })
    }

    /// A line before authentication.
    fn locked_line<'a>(&mut self, input: &'a [u8]) -> (usize, UnresolvedStep<'a>) {
        let (line, whole) = match self.whole_line(input) {
            Ok(line) => line,
            Err(NoLine::Partial { wanted }) => return (0, UnresolvedStep::NeedMore(wanted)),
            Err(NoLine::TooLong) => return self.close(),
        };
        if whole - 1 < FEWEST_AUTH {
            return self.close();
        }
        let tokens = Tokens::split(line);
        let size = number::u32_strict(tokens.get(4)).filter(|_| line.starts_with(b"set"));
        match size {
            None => (whole, UnresolvedStep::Reply(lines::UNAUTHENTICATED)),
            Some(size) if size > MOST_CREDENTIALS => (whole, UnresolvedStep::Reply(lines::AUTH_TOKEN_TOO_LONG)),
            Some(size) => self.enter(SessionState::Credentials(size as usize + 2), whole, UnresolvedStep::Silence),
        }
    }

    fn credentials<'a>(&mut self, input: &'a [u8], len: usize) -> (usize, UnresolvedStep<'a>) {
        let Some(block) = input.get(..len) else { return (0, UnresolvedStep::NeedMore(len)) };
        self.state = SessionState::Line;
        let Some(block) = block.strip_suffix(b"\r\n") else {
            return (len, UnresolvedStep::Reply(lines::BAD_TERMINATION));
        };
        let Some(blank) = memchr(b' ', block) else { return (len, UnresolvedStep::Reply(lines::AUTH_TOKEN_FORMAT)) };
        let command = Command::Authenticate { user: &block[..blank], password: &block[blank + 1..] };
        (len, UnresolvedStep::Command { key: Key::Plain(b""), command, responder: Responder::text(false) })
    }
}

/// Whether a line of keys begins, and how long its command word and a blank are. A touch expiry is still to be read.
#[inline]
fn keys_command(input: &[u8]) -> Option<(KeyLine, usize)> {
    let touch = Some(Exptime(0));
    let (cas, touch, len) = match input {
        [b'g', b'e', b't', b' ', ..] => (false, None, 4),
        [b'g', b'e', b't', b's', b' ', ..] => (true, None, 5),
        [b'g', b'a', b't', b' ', ..] => (false, touch, 4),
        [b'g', b'a', b't', b's', b' ', ..] => (true, touch, 5),
        _ => return None,
    };
    Some((KeyLine { cas, touch, first: true }, len))
}
