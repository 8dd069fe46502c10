//! Command lines: which command, and the classic ones.

use crate::number::{i32_strict, i64_lenient, u32_lenient, u64_strict};
use crate::tokens::Tokens;
use crate::{
    Arithmetic, Command, Delete, Exptime, Limits, MAX_KEY_BYTES, Mode, Responder, Store, ValueTooLarge, admin, lines,
    meta,
};

/// What a command line says.
#[derive(Debug)]
pub enum Parsed<'a> {
    /// A whole command.
    Command { key: Key<'a>, command: Command<'a>, responder: Responder },
    /// A store whose value follows: `store.value` is still empty, `len` bytes and a line break are its data block.
    Block { key: Key<'a>, store: Store<'a>, responder: Responder, len: usize },
    /// A refused command (`None`: the client does not want to hear it); `skip` bytes of data block follow.
    Refused { line: Option<&'static str>, skip: usize },
    /// A value above the limit: the request, and the data block to skip.
    TooLarge { key: Key<'a>, command: Command<'a>, responder: Responder, skip: usize },
    /// Hang up.
    Close,
}

/// Where the key is.
#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    /// In the line.
    Plain(&'a [u8]),
    /// In the session's buffer, so many bytes.
    Decoded(usize),
}

impl Key<'_> {
    pub fn len(self) -> usize {
        match self {
            Self::Plain(key) => key.len(),
            Self::Decoded(len) => len,
        }
    }
}

/// Room for a decoded key: 3/4 of the longest key, and a whole group.
pub type KeyBuffer = [u8; 192];

impl<'a> Parsed<'a> {
    /// A fixed answer.
    pub fn reply(line: &'static str, quiet: bool) -> Self {
        Self::refuse(line, quiet, 0)
    }

    /// A fixed answer to a store, whose data block is skipped.
    pub fn refuse(line: &'static str, quiet: bool, skip: usize) -> Self {
        Self::Refused { line: (!quiet).then_some(line), skip }
    }

    /// A command without key.
    pub fn text(command: Command<'a>, quiet: bool) -> Self {
        Self::Command { key: Key::Plain(b""), command, responder: Responder::text(quiet) }
    }

    fn item(key: &'a [u8], command: Command<'a>, quiet: bool) -> Self {
        Self::Command { key: Key::Plain(key), command, responder: Responder::text(quiet) }
    }
}

/// A command line without its line break. `whole` is its length with the break.
pub fn line<'a>(line: &'a [u8], whole: usize, limits: Limits, decoded: &mut KeyBuffer) -> Parsed<'a> {
    if whole < 4 {
        return Parsed::reply(lines::BAD_FORMAT, false);
    }
    let word = line.iter().position(|byte| *byte == b' ').map_or(line, |end| &line[..end]);
    match word {
        b"set" => store(line, Mode::Set, limits),
        b"add" => store(line, Mode::Add, limits),
        b"replace" => store(line, Mode::Replace, limits),
        b"append" => store(line, Mode::Append { vivify: None }, limits),
        b"prepend" => store(line, Mode::Prepend { vivify: None }, limits),
        b"cas" => store(line, Mode::Cas, limits),
        b"delete" => delete(line),
        b"incr" => arithmetic(line, false),
        b"decr" => arithmetic(line, true),
        b"touch" => touch(line),
        b"mg" => meta::get(line, decoded),
        b"ms" => meta::store(line, limits, decoded),
        b"md" => meta::delete(line, decoded),
        b"ma" => meta::arithmetic(line, decoded),
        b"me" => meta::debug(line, decoded),
        b"mn" => Parsed::text(Command::Noop, false),
        b"version" => Parsed::text(Command::Version, false),
        b"quit" => Parsed::Close,
        b"stats" => admin::stats(line),
        b"watch" => Parsed::reply(lines::WATCH_NOT_ALLOWED, false),
        // A line of keys that ends before its first blank.
        b"get" | b"gets" | b"gat" | b"gats" => Parsed::reply(lines::BAD_FORMAT, false),
        _ => admin::parse(line).unwrap_or(Parsed::Close),
    }
}

/// A data block's length: 0 to 2³¹ − 3.
pub fn block_len(text: &[u8]) -> Option<usize> {
    i32_strict(text).filter(|len| (0..=i32::MAX - 2).contains(len)).map(|len| len as usize)
}

/// `<command> <key> <flags> <exptime> <bytes> [<cas>] [noreply]`
fn store(line: &[u8], mode: Mode, limits: Limits) -> Parsed<'_> {
    let tokens = Tokens::split(line);
    if tokens.len() < 5 {
        return Parsed::reply(lines::BAD_FORMAT, false);
    }
    let Some(len) = block_len(tokens.get(4)) else { return Parsed::reply(lines::BAD_FORMAT, false) };
    let quiet = tokens.is_noreply();
    let bad = || Parsed::refuse(lines::BAD_FORMAT, quiet, len + 2);
    let key = tokens.get(1);
    if key.len() > MAX_KEY_BYTES {
        return bad();
    }
    let (Some(flags), Some(_)) = (u32_lenient(tokens.get(2)), i64_lenient(tokens.get(3))) else { return bad() };
    let Some(exptime) = Exptime::read_lenient(tokens.get(3)) else {
        return Parsed::refuse(lines::BAD_EXPTIME, quiet, len + 2);
    };
    let mut compare = None;
    if mode == Mode::Cas {
        compare = u64_strict(tokens.get(5));
        if compare.is_none() {
            return bad();
        }
    }
    let (key, responder) = (Key::Plain(key), Responder::text(quiet));
    if Limits::item_size(key.len(), flags, len) > limits.item_bytes {
        let command = Command::ValueTooLarge(ValueTooLarge { delete: mode == Mode::Set });
        return Parsed::TooLarge { key, command, responder, skip: len + 2 };
    }
    let store = Store { mode, value: b"", flags, exptime, compare, new_cas: None, invalidate: false };
    Parsed::Block { key, store, responder, len }
}

/// The words of a line with a key, and whether it is quiet. The error is the line to answer, if any.
fn words(line: &[u8], fewest: usize) -> Result<(Tokens<'_>, bool), Option<&'static str>> {
    let tokens = Tokens::split(line);
    if tokens.len() < fewest {
        return Err(Some(lines::BAD_FORMAT));
    }
    let quiet = tokens.is_noreply();
    if tokens.get(1).len() > MAX_KEY_BYTES {
        return Err((!quiet).then_some(lines::BAD_FORMAT));
    }
    Ok((tokens, quiet))
}

/// `delete <key> [0] [noreply]`: a time to hold the key for was taken once, and must not be taken for granted.
fn delete(line: &[u8]) -> Parsed<'_> {
    let (tokens, quiet) = match words(line, 2) {
        Ok(words) => words,
        Err(line) => return Parsed::Refused { line, skip: 0 },
    };
    let more = tokens.len().saturating_sub(2 + usize::from(quiet));
    if more > 1 || (more == 1 && tokens.get(2) != b"0") {
        return Parsed::reply(lines::BAD_DELETE, quiet);
    }
    Parsed::item(tokens.get(1), Command::Delete(Delete::default()), quiet)
}

fn touch(line: &[u8]) -> Parsed<'_> {
    let (tokens, quiet) = match words(line, 3) {
        Ok(words) => words,
        Err(line) => return Parsed::Refused { line, skip: 0 },
    };
    match Exptime::read(tokens.get(2)) {
        Some(exptime) => Parsed::item(tokens.get(1), Command::Touch(exptime), quiet),
        None => Parsed::reply(lines::BAD_EXPTIME, quiet),
    }
}

fn arithmetic(line: &[u8], decrement: bool) -> Parsed<'_> {
    let (tokens, quiet) = match words(line, 3) {
        Ok(words) => words,
        Err(line) => return Parsed::Refused { line, skip: 0 },
    };
    let Some(delta) = u64_strict(tokens.get(2)) else { return Parsed::reply(lines::BAD_DELTA, quiet) };
    let request = Arithmetic { decrement, delta, initial: 0, vivify: None, touch: None, compare: None, new_cas: None };
    Parsed::item(tokens.get(1), Command::Arithmetic(request), quiet)
}
