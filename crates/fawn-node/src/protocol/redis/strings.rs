//! Commands on strings.

use super::arguments::{integer, word};
use super::error::{CommandError, NOT_INTEGER, SYNTAX};
use super::expiry::{TimeUnit, expiry_of};
use super::key_command::{KeyCommand, KeyContext, KeyResult};
use super::reply_state::{Late, LateError, Missing, ReplyKind};
use fawn_kv::operation::{EditKind, Mode, Operation, PutCondition, Store, ViewKind};
use fawn_resp::Words;

#[inline]
pub fn get<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::new(Operation::Get, ReplyKind::Value))
}

/// What the words behind a value of `SET`, or behind the key of `GETEX`, say.
#[derive(Debug, Default)]
struct Options<'a> {
    condition: Option<PutCondition>,
    shows: bool,
    keeps_expiry: bool,
    persists: bool,
    /// The expiry as it was written, and its unit.
    expiry: Option<(&'a [u8], TimeUnit)>,
}

impl<'a> Options<'a> {
    /// Reads the words from a place on. `is_set`: they are those of `SET`.
    fn read(words: &Words<'a>, first: usize, is_set: bool) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let mut place = first;
        while let Some(option) = words.get(place) {
            let is = |name: &str| option.eq_ignore_ascii_case(name.as_bytes());
            let has_no_end = !options.keeps_expiry && !options.persists;
            if is("NX") && is_set && options.condition != Some(PutCondition::Present) {
                options.condition = Some(PutCondition::Absent);
            } else if is("XX") && is_set && options.condition != Some(PutCondition::Absent) {
                options.condition = Some(PutCondition::Present);
            } else if is("GET") && is_set {
                options.shows = true;
            } else if is("KEEPTTL") && is_set && options.expiry.is_none() {
                options.keeps_expiry = true;
            } else if is("PERSIST") && !is_set && options.expiry.is_none() {
                options.persists = true;
            } else if let Some(unit) = TimeUnit::of_option(option)
                && let Some(text) = words.get(place + 1)
                && has_no_end
                && options.expiry.is_none_or(|(_, before)| before == unit)
            {
                options.expiry = Some((text, unit));
                place += 1;
            } else {
                return Err(SYNTAX);
            }
            place += 1;
        }
        Ok(options)
    }
}

#[inline]
pub fn set<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let value = word(words, 2);
    context.check_size(word(words, 1), value)?;
    if words.len() == 3 {
        return Ok(KeyCommand::new(Operation::Store(Store::set(value)), ReplyKind::Status));
    }
    set_with_options(words, value, context)
}

fn set_with_options<'a>(words: &Words<'a>, value: &'a [u8], context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let options = Options::read(words, 3, true)?;
    let expiry = options.expiry.map(|(text, unit)| expiry_of(text, unit, context)).transpose()?;
    let command = if options.shows || options.keeps_expiry {
        let condition = options.condition.unwrap_or(PutCondition::Always);
        let new_expiry = if options.keeps_expiry { None } else { Some(expiry.unwrap_or(0)) };
        let reply = if options.shows { ReplyKind::Value } else { ReplyKind::Status };
        KeyCommand::edit(EditKind::Put { condition, expiry: new_expiry, show: options.shows }, value, reply)
    } else {
        let mode = match options.condition {
            Some(PutCondition::Absent) => Mode::Add,
            Some(PutCondition::Present) => Mode::Replace,
            Some(PutCondition::Always) | None => Mode::Set,
        };
        store(mode, value, expiry.unwrap_or(0), ReplyKind::Status)
    };
    Ok(if expiry.is_some() { command.with_clock() } else { command })
}

fn store(mode: Mode, value: &[u8], expiry: u32, reply: ReplyKind) -> KeyCommand<'_> {
    KeyCommand::new(Operation::Store(Store { mode, expiry, ..Store::set(value) }), reply)
}

pub fn setnx<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let value = word(words, 2);
    context.check_size(word(words, 1), value)?;
    Ok(store(Mode::Add, value, 0, ReplyKind::Integer))
}

pub fn setex<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    set_expiring(words, TimeUnit::Seconds, context)
}

pub fn psetex<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    set_expiring(words, TimeUnit::Millis, context)
}

fn set_expiring<'a>(words: &Words<'a>, unit: TimeUnit, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let (expiry, value) = (expiry_of(word(words, 2), unit, context)?, word(words, 3));
    context.check_size(word(words, 1), value)?;
    Ok(store(Mode::Set, value, expiry, ReplyKind::Status).with_clock())
}

pub fn getset<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let value = word(words, 2);
    context.check_size(word(words, 1), value)?;
    let kind = EditKind::Put { condition: PutCondition::Always, expiry: Some(0), show: true };
    Ok(KeyCommand::edit(kind, value, ReplyKind::Value))
}

pub fn getdel<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::edit(EditKind::Take, b"", ReplyKind::Value))
}

pub fn getex<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let options = Options::read(words, 2, false)?;
    let expiry = match options.expiry {
        None if options.persists => {
            return Ok(KeyCommand::edit(EditKind::ShowAndExpire { expiry: 0 }, b"", ReplyKind::Value));
        }
        None => return Ok(KeyCommand::new(Operation::Get, ReplyKind::Value)),
        Some((text, unit)) => expiry_of(text, unit, context),
    };
    Ok(match expiry {
        Ok(expiry) => KeyCommand::edit(EditKind::ShowAndExpire { expiry }, b"", ReplyKind::Value).with_clock(),
        Err(why) => {
            let error = if why == NOT_INTEGER { LateError::NotInteger } else { LateError::ExpireTime };
            KeyCommand::refused_late(Late { error, missing: Missing::Null })
        }
    })
}

pub fn append<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    context.check_size(word(words, 1), word(words, 2))?;
    Ok(KeyCommand::edit(EditKind::Append, word(words, 2), ReplyKind::Integer))
}

pub fn strlen<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::view(ViewKind::Length, b"", ReplyKind::Integer))
}

pub fn getrange<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    let (first, last) = (integer(words, 2)?, integer(words, 3)?);
    Ok(KeyCommand::view(ViewKind::Range { first, last }, b"", ReplyKind::Value))
}

pub fn setrange<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let place = integer(words, 2)?;
    let place = u64::try_from(place).map_err(|_| CommandError::text("ERR offset is out of range"))?;
    context.check_size(word(words, 1), word(words, 3))?;
    Ok(KeyCommand::edit(EditKind::Overwrite { place }, word(words, 3), ReplyKind::Integer))
}

fn add<'a>(delta: i64) -> KeyCommand<'a> {
    KeyCommand::edit(EditKind::Add { delta }, b"", ReplyKind::Integer)
}

pub fn incr<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(add(1))
}

pub fn decr<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(add(-1))
}

pub fn incrby<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    integer(words, 2).map(add)
}

pub fn decrby<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    let delta = integer(words, 2)?.checked_neg();
    delta.map(add).ok_or(CommandError::text("ERR decrement would overflow"))
}

pub fn incrbyfloat<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::edit(EditKind::AddFloat, word(words, 2), ReplyKind::Value))
}
