//! Command lines: which command, and the classic ones.

use crate::command_line::{CommandLine, Key, KeyBuffer, block_len};
use crate::number::{i64_lenient, u32_lenient, u64_strict};
use crate::tokens::Tokens;
use crate::{
    Arithmetic, Command, Delete, Exptime, MAX_KEY_BYTES, Mode, Responder, SessionLimits, StoreRequest, ValueTooLarge,
    admin, lines, meta,
};

/// A command line without its line break. `whole` is its length with the break.
pub fn line<'a>(line: &'a [u8], whole: usize, limits: SessionLimits, decoded: &mut KeyBuffer) -> CommandLine<'a> {
    if whole < 4 {
        return CommandLine::reply(lines::BAD_FORMAT, false);
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
        b"mn" => CommandLine::text(Command::Noop, false),
        b"version" => CommandLine::text(Command::Version, false),
        b"quit" => CommandLine::Close,
        b"stats" => admin::stats(line),
        b"watch" => CommandLine::reply(lines::WATCH_NOT_ALLOWED, false),
        // A line of keys that ends before its first blank.
        b"get" | b"gets" | b"gat" | b"gats" => CommandLine::reply(lines::BAD_FORMAT, false),
        _ => admin::parse(line).unwrap_or(CommandLine::Close),
    }
}

/// `<command> <key> <flags> <exptime> <bytes> [<cas>] [noreply]`
fn store(line: &[u8], mode: Mode, limits: SessionLimits) -> CommandLine<'_> {
    let tokens = Tokens::split(line);
    if tokens.len() < 5 {
        return CommandLine::reply(lines::BAD_FORMAT, false);
    }
    let Some(len) = block_len(tokens.get(4)) else { return CommandLine::reply(lines::BAD_FORMAT, false) };
    let quiet = tokens.is_noreply();
    let bad = || CommandLine::refuse(lines::BAD_FORMAT, quiet, len + 2);
    let key = tokens.get(1);
    if key.len() > MAX_KEY_BYTES {
        return bad();
    }
    let (Some(flags), Some(_)) = (u32_lenient(tokens.get(2)), i64_lenient(tokens.get(3))) else { return bad() };
    let Some(exptime) = Exptime::read_lenient(tokens.get(3)) else {
        return CommandLine::refuse(lines::BAD_EXPTIME, quiet, len + 2);
    };
    let mut compare = None;
    if mode == Mode::Cas {
        compare = u64_strict(tokens.get(5));
        if compare.is_none() {
            return bad();
        }
    }
    let (key, responder) = (Key::Plain(key), Responder::text(quiet));
    if SessionLimits::item_size(key.len(), flags, len) > limits.item_bytes {
        let command = Command::ValueTooLarge(ValueTooLarge { delete: mode == Mode::Set });
        return CommandLine::TooLarge { key, command, responder, skip: len + 2 };
    }
    let store = StoreRequest { mode, value: b"", flags, exptime, compare, new_cas: None, invalidate: false };
    CommandLine::Block { key, store, responder, len }
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
fn delete(line: &[u8]) -> CommandLine<'_> {
    let (tokens, quiet) = match words(line, 2) {
        Ok(words) => words,
        Err(line) => return CommandLine::Refused { line, skip: 0 },
    };
    let more = tokens.len().saturating_sub(2 + usize::from(quiet));
    if more > 1 || (more == 1 && tokens.get(2) != b"0") {
        return CommandLine::reply(lines::BAD_DELETE, quiet);
    }
    CommandLine::item(tokens.get(1), Command::Delete(Delete::default()), quiet)
}

fn touch(line: &[u8]) -> CommandLine<'_> {
    let (tokens, quiet) = match words(line, 3) {
        Ok(words) => words,
        Err(line) => return CommandLine::Refused { line, skip: 0 },
    };
    match Exptime::read(tokens.get(2)) {
        Some(exptime) => CommandLine::item(tokens.get(1), Command::Touch(exptime), quiet),
        None => CommandLine::reply(lines::BAD_EXPTIME, quiet),
    }
}

fn arithmetic(line: &[u8], decrement: bool) -> CommandLine<'_> {
    let (tokens, quiet) = match words(line, 3) {
        Ok(words) => words,
        Err(line) => return CommandLine::Refused { line, skip: 0 },
    };
    let Some(delta) = u64_strict(tokens.get(2)) else { return CommandLine::reply(lines::BAD_DELTA, quiet) };
    let request = Arithmetic { decrement, delta, initial: 0, vivify: None, touch: None, compare: None, new_cas: None };
    CommandLine::item(tokens.get(1), Command::Arithmetic(request), quiet)
}
