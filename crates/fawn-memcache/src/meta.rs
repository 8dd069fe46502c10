//! Meta commands: `mg ms md ma me`, and their flags.

use crate::command_line::{CommandLine, Key, KeyBuffer, block_len};
use crate::number::{u32_strict, u64_strict};
use crate::reply::{Echo, ReplyFamily};
use crate::tokens::Tokens;
use crate::{
    Arithmetic, Command, Delete, Exptime, MAX_KEY_BYTES, MetaGet, MetaRecache, Mode, Responder, SessionLimits,
    StoreRequest, ValueTooLarge, base64, lines,
};

/// Most words of a meta line.
const MOST_WORDS: usize = 20;

/// The flags of one command, read.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a letter of the protocol
struct Flags {
    echo: Echo,
    quiet: bool,
    vivify: Option<Exptime>,
    touch: Option<Exptime>,
    /// `T` came after `N`: a vivified item has the expiry of `T`.
    touch_last: bool,
    recache: Option<MetaRecache>,
    compare: Option<u64>,
    new_cas: Option<u64>,
    bits: u32,
    mode: Option<u8>,
    initial: u64,
    delta: u64,
    invalidate: bool,
    untraced: bool,
    drop_value: bool,
    /// Length of the decoded key.
    decoded: Option<usize>,
    opaque_too_long: bool,
}

impl Flags {
    fn key<'a>(&self, plain: &'a [u8]) -> Key<'a> {
        self.decoded.map_or(Key::Plain(plain), Key::Decoded)
    }

    fn responder(&self, form: ReplyFamily) -> Responder {
        Responder::new(form, self.quiet, &self.echo)
    }

    /// The expiry of an item that the command makes.
    fn vivify_exptime(&self) -> Option<Exptime> {
        self.vivify.map(|vivify| self.touch.filter(|_| self.touch_last).unwrap_or(vivify))
    }
}

/// Cuts a line whose flags begin at word `first`; `None` when a flag begins with no letter or digit.
fn split(line: &[u8], first: usize) -> Option<Tokens<'_>> {
    let tokens = Tokens::split(line);
    let well_formed = (first..tokens.len()).all(|at| matches!(tokens.get(at)[0], b'A'..=b'z' | b'0'..=b'9'));
    (well_formed && tokens.len() >= first).then_some(tokens)
}

/// Reads the flags from word `first` on. The error is the line to answer.
fn flags(tokens: &Tokens<'_>, first: usize, decoded: &mut KeyBuffer) -> Result<Flags, &'static str> {
    let key = tokens.get(1);
    if key.len() > MAX_KEY_BYTES {
        return Err(lines::BAD_FORMAT);
    }
    if tokens.len() > MOST_WORDS {
        return Err(lines::TOO_MANY_FLAGS);
    }
    let mut flags = Flags {
        echo: Echo::NONE,
        quiet: false,
        vivify: None,
        touch: None,
        touch_last: false,
        recache: None,
        compare: None,
        new_cas: None,
        bits: 0,
        mode: None,
        initial: 0,
        delta: 1,
        invalidate: false,
        untraced: false,
        drop_value: false,
        decoded: None,
        opaque_too_long: false,
    };
    let mut seen = 0u128;
    // A malformed argument is told at the end: a duplicate or unknown flag after it is told instead.
    let mut error = None;
    for at in first..tokens.len() {
        let (letter, argument) = (tokens.get(at)[0], &tokens.get(at)[1..]);
        let bit = 1u128 << letter;
        if seen & bit != 0 {
            return Err(lines::DUPLICATE_FLAG);
        }
        seen |= bit;
        match letter {
            b'b' => {
                flags.decoded = base64::decode(key, decoded);
                flags.echo.base64 = true;
                if flags.decoded.is_none() {
                    error = Some(lines::BAD_KEY_ENCODING);
                }
            }
            _ => flags.read(letter, argument, &mut error)?,
        }
    }
    error.map_or(Ok(flags), Err)
}

impl Flags {
    /// One flag but `b`. A malformed argument goes to `error`.
    fn read(&mut self, letter: u8, argument: &[u8], error: &mut Option<&'static str>) -> Result<(), &'static str> {
        match letter {
            b'N' => self.vivify = exptime(argument, error),
            b'T' => {
                self.touch = exptime(argument, error);
                self.touch_last = self.vivify.is_some();
            }
            b'R' => {
                let after_touch = self.touch.is_some();
                self.recache = exptime(argument, error).map(|threshold| MetaRecache { threshold, after_touch });
            }
            b'C' => self.compare = number(argument, lines::BAD_TOKEN, error),
            b'E' => self.new_cas = number(argument, lines::BAD_TOKEN, error).filter(|cas| *cas != 0),
            b'J' => self.initial = number(argument, lines::BAD_INITIAL, error).unwrap_or(0),
            b'D' => self.delta = number(argument, lines::BAD_DELTA_VALUE, error).unwrap_or(0),
            b'F' => match u32_strict(argument) {
                Some(bits) => self.bits = bits,
                // memcached names no reason of its own here.
                None => *error = error.or(Some(lines::BAD_FORMAT)),
            },
            b'M' => self.mode = Some(argument.first().copied().unwrap_or(0)),
            b'O' => match self.echo.opaque.get_mut(..argument.len()) {
                Some(opaque) => {
                    opaque.copy_from_slice(argument);
                    self.echo.opaque_len = argument.len() as u8;
                }
                None => self.opaque_too_long = true,
            },
            b'v' => self.echo.value = true,
            b'q' => self.quiet = true,
            b'x' => self.drop_value = true,
            b'I' => self.invalidate = true,
            b'u' => self.untraced = true,
            b'k' | b's' | b't' | b'c' | b'f' | b'h' | b'l' | b'P' | b'L' => {}
            _ => return Err(lines::BAD_FLAG),
        }
        if matches!(letter, b'k' | b's' | b't' | b'c' | b'f' | b'h' | b'l' | b'O' | b'T' | b'N') {
            self.echo.flags[self.echo.flag_count as usize] = letter;
            self.echo.flag_count += 1;
        }
        Ok(())
    }
}

fn exptime(argument: &[u8], error: &mut Option<&'static str>) -> Option<Exptime> {
    let exptime = Exptime::read(argument);
    if exptime.is_none() {
        *error = Some(lines::BAD_TOKEN);
    }
    exptime
}

fn number(argument: &[u8], complaint: &'static str, error: &mut Option<&'static str>) -> Option<u64> {
    let number = u64_strict(argument);
    if number.is_none() {
        *error = Some(complaint);
    }
    number
}

/// `mg <key> <flags>*`
pub fn get<'a>(line: &'a [u8], decoded: &mut KeyBuffer) -> CommandLine<'a> {
    let Some(tokens) = split(line, 2) else { return CommandLine::reply(lines::BAD_FORMAT, false) };
    let flags = match flags(&tokens, 2, decoded) {
        Ok(flags) if flags.opaque_too_long => return CommandLine::reply(lines::OPAQUE_TOO_LONG, false),
        Ok(flags) => flags,
        Err(error) => return CommandLine::reply(error, false),
    };
    let command = Command::MetaGet(MetaGet {
        vivify: flags.vivify_exptime(),
        recache: flags.recache,
        touch: flags.touch,
        compare: flags.compare,
        new_cas: flags.new_cas,
        wants_value: flags.echo.value,
        untraced: flags.untraced,
    });
    CommandLine::Command { key: flags.key(tokens.get(1)), command, responder: flags.responder(ReplyFamily::MetaGet) }
}

/// `ms <key> <bytes> <flags>*`
pub fn store<'a>(line: &'a [u8], limits: SessionLimits, decoded: &mut KeyBuffer) -> CommandLine<'a> {
    let Some(tokens) = split(line, 3) else { return CommandLine::reply(lines::BAD_FORMAT, false) };
    let Some(len) = block_len(tokens.get(2)) else { return CommandLine::reply(lines::BAD_FORMAT, false) };
    let refuse = |error| CommandLine::refuse(error, false, len + 2);
    let flags = match flags(&tokens, 3, decoded) {
        Ok(flags) => flags,
        Err(error) => return refuse(error),
    };
    let vivify = flags.vivify;
    let mode = match (flags.mode, flags.compare) {
        (None | Some(b'S' | b'R'), Some(_)) => Mode::Cas,
        (None | Some(b'S'), None) => Mode::Set,
        (Some(b'R'), None) => Mode::Replace,
        (Some(b'E'), _) => Mode::Add,
        (Some(b'A'), _) => Mode::Append { vivify },
        (Some(b'P'), _) => Mode::Prepend { vivify },
        _ => return refuse(lines::BAD_MS_MODE),
    };
    let (key, responder) = (flags.key(tokens.get(1)), flags.responder(ReplyFamily::MetaStore));
    if SessionLimits::item_size(key.len(), flags.bits, len) > limits.item_bytes {
        let command = Command::ValueTooLarge(ValueTooLarge { delete: true });
        return CommandLine::TooLarge { key, command, responder, skip: len + 2 };
    }
    if flags.opaque_too_long {
        return refuse(lines::OPAQUE_TOO_LONG);
    }
    let store = StoreRequest {
        mode,
        value: b"",
        flags: flags.bits,
        exptime: flags.touch.unwrap_or_default(),
        compare: flags.compare,
        new_cas: flags.new_cas,
        invalidate: flags.invalidate,
    };
    CommandLine::Block { key, store, responder, len }
}

/// `md <key> <flags>*`
pub fn delete<'a>(line: &'a [u8], decoded: &mut KeyBuffer) -> CommandLine<'a> {
    let Some(tokens) = split(line, 2) else { return CommandLine::reply(lines::BAD_FORMAT, false) };
    let flags = match flags(&tokens, 2, decoded) {
        Ok(flags) if flags.opaque_too_long => return CommandLine::reply(lines::OPAQUE_TOO_LONG, false),
        Ok(flags) => flags,
        Err(error) => return CommandLine::reply(error, false),
    };
    let command = Command::Delete(Delete {
        compare: flags.compare,
        new_cas: flags.new_cas,
        invalidate: flags.invalidate,
        exptime: flags.touch,
        drop_value: flags.drop_value,
        flags: flags.bits,
    });
    CommandLine::Command { key: flags.key(tokens.get(1)), command, responder: flags.responder(ReplyFamily::MetaDelete) }
}

/// `ma <key> <flags>*`
pub fn arithmetic<'a>(line: &'a [u8], decoded: &mut KeyBuffer) -> CommandLine<'a> {
    let Some(tokens) = split(line, 2) else { return CommandLine::reply(lines::BAD_FORMAT, false) };
    let Ok(flags) = flags(&tokens, 2, decoded) else { return CommandLine::reply(lines::BAD_MA_FLAGS, false) };
    let decrement = match flags.mode {
        None | Some(b'I' | b'+') => false,
        Some(b'D' | b'-') => true,
        _ => return CommandLine::reply(lines::BAD_MA_MODE, false),
    };
    if flags.opaque_too_long {
        return CommandLine::reply(lines::OPAQUE_TOO_LONG, false);
    }
    let command = Command::Arithmetic(Arithmetic {
        decrement,
        delta: flags.delta,
        initial: flags.initial,
        vivify: flags.vivify_exptime(),
        touch: flags.touch,
        compare: flags.compare.filter(|cas| *cas != 0),
        new_cas: flags.new_cas,
    });
    CommandLine::Command {
        key: flags.key(tokens.get(1)),
        command,
        responder: flags.responder(ReplyFamily::MetaArithmetic),
    }
}

/// `me <key> [b]`
pub fn debug<'a>(line: &'a [u8], decoded: &mut KeyBuffer) -> CommandLine<'a> {
    let Some(tokens) = split(line, 2) else { return CommandLine::reply(lines::BAD_FORMAT, false) };
    let plain = tokens.get(1);
    if plain.len() > MAX_KEY_BYTES {
        return CommandLine::reply(lines::BAD_FORMAT, false);
    }
    let mut echo = Echo::NONE;
    let mut key = Key::Plain(plain);
    if tokens.get(2) == b"b" {
        echo.base64 = true;
        match base64::decode(plain, decoded) {
            Some(len) => key = Key::Decoded(len),
            None => return CommandLine::reply(lines::BAD_FORMAT, false),
        }
    }
    CommandLine::Command {
        key,
        command: Command::MetaDebug,
        responder: Responder::new(ReplyFamily::MetaDebug, false, &echo),
    }
}
