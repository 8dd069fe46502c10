//! Commands on keys of any type.

use super::arguments::{integer, word};
use super::error::SYNTAX;
use super::key_command::{KeyCommand, KeyContext, KeyResult};
use super::reply_state::ReplyKind;
use fawn_kv::operation::{Operation, ViewKind};
use fawn_resp::Words;

pub fn type_of<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::view(ViewKind::Type, b"", ReplyKind::Type))
}

pub fn encoding<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::new(Operation::Get, ReplyKind::Encoding))
}

pub fn refcount<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::inspect(ReplyKind::RefCount))
}

pub fn idletime<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::inspect(ReplyKind::IdleTime))
}

pub fn freq<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(KeyCommand::inspect(ReplyKind::Frequency))
}

pub fn memory_usage<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    // Samples of a hash's fields would say nothing here: all its bytes are counted.
    for place in (3..words.len()).step_by(2) {
        if !word(words, place).eq_ignore_ascii_case(b"SAMPLES") || words.get(place + 1).is_none() {
            return Err(SYNTAX);
        }
        if integer(words, place + 1)? < 0 {
            return Err(SYNTAX);
        }
    }
    Ok(KeyCommand::inspect(ReplyKind::MemoryUsage))
}
