//! Commands on hashes.

use super::arguments::{integer, integer_in, word};
use super::error::{CommandError, INVALID_CURSOR, OUT_OF_RANGE, SYNTAX};
use super::key_command::{KeyCommand, KeyContext, KeyResult};
use super::reply_state::{Late, LateError, Missing, ReplyKind};
use super::scan::cursor;
use fawn_kv::operation::{EditKind, ViewKind, float, items};
use fawn_resp::Words;
use std::hash::{BuildHasher, RandomState};

/// The words from a place on, as a list.
fn list(words: &Words<'_>, first: usize, argument: &mut Vec<u8>) {
    for word in words.iter().skip(first) {
        items::push(argument, Some(word));
    }
}

fn set<'a>(words: &Words<'a>, context: &mut KeyContext<'_>, reply: ReplyKind) -> KeyResult<'a> {
    if !words.len().is_multiple_of(2) {
        return Err(CommandError::arity(context.name));
    }
    list(words, 2, context.argument);
    Ok(KeyCommand::edit(EditKind::SetFields { only_absent: false }, b"", reply).with_made_argument())
}

pub fn hset<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    set(words, context, ReplyKind::Integer)
}

pub fn hmset<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    set(words, context, ReplyKind::Status)
}

pub fn hsetnx<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    list(words, 2, context.argument);
    Ok(KeyCommand::edit(EditKind::SetFields { only_absent: true }, b"", ReplyKind::Integer).with_made_argument())
}

pub fn hget<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::view(ViewKind::Field, word(words, 2), ReplyKind::Value))
}

pub fn hmget<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    list(words, 2, context.argument);
    Ok(KeyCommand::view(ViewKind::Fields, b"", ReplyKind::List).with_made_argument())
}

fn all<'a>(names: bool, values: bool, reply: ReplyKind) -> KeyCommand<'a> {
    KeyCommand::view(ViewKind::AllFields { names, values }, b"", reply)
}

pub fn hgetall<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(all(true, true, ReplyKind::Map))
}

pub fn hkeys<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(all(true, false, ReplyKind::List))
}

pub fn hvals<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(all(false, true, ReplyKind::List))
}

pub fn hdel<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    list(words, 2, context.argument);
    Ok(KeyCommand::edit(EditKind::RemoveFields, b"", ReplyKind::Integer).with_made_argument())
}

pub fn hlen<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::view(ViewKind::CountFields, b"", ReplyKind::Integer))
}

pub fn hexists<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::view(ViewKind::HasField, word(words, 2), ReplyKind::Integer))
}

pub fn hstrlen<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::view(ViewKind::FieldLength, word(words, 2), ReplyKind::Integer))
}

pub fn hincrby<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    let delta = integer(words, 3)?;
    Ok(KeyCommand::edit(EditKind::AddToField { delta }, word(words, 2), ReplyKind::Integer))
}

pub fn hincrbyfloat<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let increment = word(words, 3);
    if float::is_infinite(increment) {
        return Err(CommandError::text("ERR value is NaN or Infinity"));
    }
    list(words, 2, context.argument);
    Ok(KeyCommand::edit(EditKind::AddFloatToField, b"", ReplyKind::Value).with_made_argument())
}

/// All of a hash in one step, whatever the cursor: so Redis scans small ones.
pub fn hscan<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    cursor(word(words, 2)).ok_or(INVALID_CURSOR)?;
    let late = |error| Ok(KeyCommand::refused_late(Late { error, missing: Missing::EmptyScan }));
    let (mut pattern, mut at) = (&b""[..], 3);
    while let Some(option) = words.get(at) {
        let Some(argument) = words.get(at + 1) else { return late(LateError::HashSyntax) };
        if option.eq_ignore_ascii_case(b"COUNT") {
            match integer(words, at + 1) {
                Err(_) => return late(LateError::HashNotInteger),
                Ok(count) if count < 1 => return late(LateError::HashSyntax),
                Ok(_) => {}
            }
        } else if option.eq_ignore_ascii_case(b"MATCH") {
            pattern = if argument == b"*" { b"" } else { argument };
        } else {
            return late(LateError::HashSyntax);
        }
        at += 2;
    }
    Ok(KeyCommand::view(ViewKind::AllFields { names: true, values: true }, pattern, ReplyKind::Scan))
}

/// Fields that a client may ask for, of which some may be the same.
const MOST_RANDOM_FIELDS: i64 = 1 << 20;

pub fn hrandfield<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    let seed = RandomState::new().hash_one(word(words, 1));
    let view = |count, values, reply| Ok(KeyCommand::view(ViewKind::RandomFields { count, values, seed }, b"", reply));
    if words.len() == 2 {
        return view(1, false, ReplyKind::First);
    }
    let count = integer_in(words, 2, -i64::MAX..=i64::MAX)?;
    let values = match words.get(3) {
        None => false,
        Some(option) if words.len() == 4 && option.eq_ignore_ascii_case(b"WITHVALUES") => true,
        Some(_) => return Err(SYNTAX),
    };
    if values && !(-i64::MAX / 2..=i64::MAX / 2).contains(&count) {
        return Err(OUT_OF_RANGE);
    }
    if count < -MOST_RANDOM_FIELDS {
        return Err(CommandError::text("ERR at most 1048576 fields can be drawn at a time: ask again for more"));
    }
    view(count, values, if values { ReplyKind::Pairs } else { ReplyKind::List })
}
